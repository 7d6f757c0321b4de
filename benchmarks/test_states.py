"""What a row costs in a dataset that was changed, against a new dataset of the same rows.

python benchmarks/test_states.py [--full]
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import remote
import report
from protocol import Figure, Line, Result, Spread, Table

ROUNDS, BATCH, PART, WIDTH, TARGET = 5, 1024, 40_000, 16, 1.5
STATES = ("every second row", "a third deleted", "a third updated", "in ten commits", "a year of commits")
NUMBERS = list("abcde")
Dataset = Any  # deeplake.Dataset or a view


def measure(full: bool = False) -> Result:
    """Reads 200,000 rows in each state; with full also from the object store."""
    rows = 200_000
    result = Result("states", f"Datasets that were changed: {rows:,} rows, a row against a new one", ROUNDS, full)
    with tempfile.TemporaryDirectory() as folder:
        made = {name: _make(Path(folder), name, rows) for name in ("new", *STATES[1:])}
        views: dict[str, Dataset] = {name: deeplake.open(place) for name, place in made.items()}
        views[STATES[0]] = views["new"][::2]
        result.tables += _local(views)
        if full:
            result.tables += _far(made)
    states = result.tables[1 : 1 + len(STATES)]
    state, worst = max(((t, line) for t in states for line in t.lines), key=lambda found: found[1].rate.median)
    what = f"the costliest row against a new one: {worst.name}, {state.title}"
    result.figures.append(Figure(what, worst.rate, TARGET, better="less"))
    result.notes.append(
        f"Five numbers, a text and {WIDTH} floats a row. The queries prune nothing. A year of commits updates 1 % of "
        "the rows in each of 100. A query costs 0.2 to 0.4 ms by itself, most of the sum of a new dataset."
    )
    if full:
        result.notes.append("From the object store, whose first byte takes 25 ms, each round reads in a new process.")
    return result


def _make(folder: Path, state: str, rows: int) -> Path:
    place = folder / state.replace(" ", "-")
    ds = deeplake.create(place)
    for name in NUMBERS:
        ds.create_tensor(name, dtype="float32" if name < "d" else "int64")
    ds.create_tensor("text", htype="text")
    ds.create_tensor("vector", htype="embedding")
    draw = np.random.default_rng(0)
    for first in range(0, rows, PART):
        n = min(PART, rows - first)
        numbers = {c: draw.normal(size=n).astype("f4") if c < "d" else draw.permutation(n) + first for c in NUMBERS}
        texts = [f"word {k % 97} and {k}" for k in range(first, first + n)]
        ds.extend({**numbers, "text": texts, "vector": draw.normal(size=(n, WIDTH)).astype("f4")})
    ds.commit("new")
    third = np.arange(0, rows, 3)
    parts = {"a third updated": [third], "in ten commits": [third[k::10] for k in range(10)]}
    parts["a year of commits"] = [draw.choice(rows, rows // 100, replace=False) for _ in range(100)]
    if state == "a third deleted":
        ds.delete(third)
        ds.commit(state)
    for part in parts.get(state, ()):
        part = np.sort(part)
        ds.update(part, {"a": draw.normal(size=len(part)).astype("f4"), "text": [f"new {k}" for k in part],
                         "vector": draw.normal(size=(len(part), WIDTH)).astype("f4")})  # fmt: skip
        ds.commit(state)
    return place


def _epoch(view: Dataset, **options: Any) -> int:
    return sum(len(batch["a"]) for batch in view.batches(batch_size=BATCH, **options))


def _query(text: str, *parameters: Any) -> Callable[[Dataset], int]:
    def run(view: Dataset) -> int:
        len(view.query(text, *parameters))
        return len(view)

    return run


WORK: dict[str, Callable[[Dataset], int]] = {
    "five numbers in order": lambda v: _epoch(v, tensors=NUMBERS),
    "five numbers shuffled": lambda v: _epoch(v, tensors=NUMBERS, shuffle=True),
    "all tensors shuffled": lambda v: _epoch(v, shuffle=True),
    "a column": lambda v: len(v["a"][:]),
    "the texts": lambda v: len(v["text"][:]),
    "SUM": _query("SELECT SUM(a) AS s"),
    "WHERE": _query("SELECT * WHERE a > 0.5 AND d % 7 = 1"),
    "LIKE": _query("SELECT * WHERE text LIKE '%word 13%'"),
    "GROUP BY": _query("SELECT d % 100 AS g, COUNT(*) AS n GROUP BY g"),
    "ORDER BY LIMIT": _query("SELECT d ORDER BY a LIMIT 10"),
    "nearest vectors": _query("SELECT d ORDER BY L2_NORM(vector - ?) LIMIT 10", np.zeros(WIDTH, "f4")),
}


def _local(views: dict[str, Dataset]) -> list[Table]:
    new = Table("a new dataset", "ns a row", better="less")
    tables = {state: Table(state, "times the new one", better="less") for state in STATES}
    for work, run in WORK.items():
        costs: dict[str, list[float]] = {name: [] for name in views}
        for _ in range(ROUNDS + 1):
            for name, view in views.items():
                start = time.perf_counter()
                rows = run(view)
                costs[name].append((time.perf_counter() - start) / rows * 1e9)
        new.lines.append(Line(work, Spread.of(costs["new"][1:])))
        for state, table in tables.items():
            ratios = [a / b for a, b in zip(costs[state][1:], costs["new"][1:], strict=True)]
            table.lines.append(Line(work, Spread.of(ratios)))
    return [new, *tables.values()]


REMOTE = {
    "all tensors shuffled": WORK["all tensors shuffled"],
    "two columns": lambda v: min(len(v["a"][:]), len(v["d"][:])),
    "SUM": WORK["SUM"],
}


def _far(made: dict[str, Path]) -> list[Table]:
    tables = {name: Table(f"{name}, from S3 at 25 ms", "s", better="less") for name in made}
    with remote.Servers("s3") as servers:
        store = servers["s3"]
        bucket = store.bucket()
        direct = deeplake.Storage(**store.settings(direct=True))
        for place in made.values():
            deeplake.copy(place, f"s3://{bucket}/{place.name}", dst_storage=direct)
        for work in REMOTE:
            for name, place in made.items():
                seconds, counts = [], {}
                for _ in range(ROUNDS):
                    store.reset()
                    uri = f"s3://{bucket}/{place.name}"
                    command = [sys.executable, __file__, "--remote", uri, repr(store.settings()), work]
                    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
                    seconds.append(float(answer[0]))
                    counts = store.counts()
                note = f"{counts['requests']} requests, {counts['bytes_out'] / 1e6:.1f} MB for {int(answer[1]):,} rows"
                tables[name].lines.append(Line(work, Spread.of(seconds), note=note))
    return list(tables.values())


def _measure_remote(uri: str, settings: str, work: str) -> None:
    ds = deeplake.open(uri, storage=deeplake.Storage(**ast.literal_eval(settings)))
    start = time.perf_counter()
    rows = REMOTE[work](ds)
    print(time.perf_counter() - start, rows)


def test_states(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--remote"]:
        _measure_remote(*sys.argv[2:])
    else:
        report.main(measure)
