"""What a row costs in a dataset that was changed: python benchmarks/states.py [--rows N] [--check RATIO]

The peer is a new dataset of the same rows. Local work takes turns with it, on a warm disk, five rounds; from the
object store, whose first byte takes 25 ms, each dataset is read once in a new process, so that nothing is cached.
Writes benchmarks/results/states.md. With --check, exits with 1 if a median is above the ratio.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deeplake
import machine
import numpy as np
import remote

RESULTS = Path(__file__).parent / "results/states.md"
ROUNDS, BATCH, PART, WIDTH = 5, 1024, 40_000, 16
STATES = ("every second row", "a third deleted", "a third updated", "in ten commits", "a year of commits")
NUMBERS = list("abcde")
Dataset = Any  # deeplake.Dataset or a view


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--check", type=float)
    parser.add_argument("--remote", nargs=3, metavar=("URI", "STORAGE", "WORK"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.remote:
        _measure_remote(*arguments.remote)
        return
    with tempfile.TemporaryDirectory() as folder:
        made = {name: _make(Path(folder), name, arguments.rows) for name in ("fresh", *STATES[1:])}
        views: dict[str, Dataset] = {name: deeplake.open(place) for name, place in made.items()}
        views[STATES[0]] = views["fresh"][::2]
        local, worst = _local(views)
        far = _far(Path(folder), made)
    head = [
        "# Datasets that were changed",
        "",
        f"{datetime.date.today()}, commit {machine.commit()}, {machine.cores()} cores, {arguments.rows:,} rows of five",
        f"numbers, a text and {WIDTH} floats. `python benchmarks/states.py` writes this page. Ratio: the time a row by",
        f"that of a new dataset, the median of {ROUNDS} rounds in turn; the target is 1.5. The queries prune nothing.",
        "A year of commits updates 1 % of the rows in each of 100.",
        "",
        f"| on a disk | new, ns a row | {' | '.join(STATES)} |",
        "|---|---|" + "---|" * len(STATES),
    ]
    RESULTS.write_text("\n".join(head + local + far) + "\n")
    print(f"the worst ratio on a disk is {worst[0]:.2f}: {worst[1]}")
    if arguments.check and worst[0] > arguments.check:
        sys.exit(1)


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


def _local(views: dict[str, Dataset]) -> tuple[list[str], tuple[float, str]]:
    lines, worst = [], (0.0, "")
    for work, run in WORK.items():
        costs: dict[str, list[float]] = {name: [] for name in views}
        for _ in range(ROUNDS + 1):
            for name, view in views.items():
                start = time.perf_counter()
                rows = run(view)
                costs[name].append((time.perf_counter() - start) / rows * 1e9)
        ratios = {
            s: statistics.median(a / b for a, b in list(zip(costs[s], costs["fresh"], strict=True))[1:]) for s in STATES
        }
        worst = max(worst, *((ratio, f"{work}, {state}") for state, ratio in ratios.items()))
        fresh = statistics.median(costs["fresh"][1:])
        lines.append(f"| {work} | {fresh:.1f} | " + " | ".join(f"{ratios[s]:.2f}" for s in STATES) + " |")
        print(lines[-1], flush=True)
    return lines, worst


REMOTE = {
    "all tensors shuffled": WORK["all tensors shuffled"],
    "two columns": lambda v: len(v["a"][:]) + 0 * len(v["d"][:]),
    "SUM": WORK["SUM"],
}


def _far(folder: Path, made: dict[str, Path]) -> list[str]:
    lines = ["", "Each in a new process: seconds / requests / MB, and their ratios by the row.", ""]
    lines += [f"| from S3 at 25 ms | new | {' | '.join(STATES[1:])} |", "|---|---|" + "---|" * (len(STATES) - 1)]
    with remote.Servers("s3") as servers:
        store = servers["s3"]
        bucket = store.bucket()
        for name, place in made.items():
            direct = deeplake.Storage(**store.settings(direct=True))
            deeplake.copy(place, f"s3://{bucket}/{place.name}", dst_storage=direct)
            print(f"copied {name}", flush=True)
        for work in REMOTE:
            found = {}
            for name, place in made.items():
                store.reset()
                uri = f"s3://{bucket}/{place.name}"
                command = [sys.executable, __file__, "--remote", uri, repr(store.settings()), work]
                answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
                counts = store.counts()
                found[name] = (float(answer[0]), counts["requests"], counts["bytes_out"] / 1e6, int(answer[1]))
            fresh = found["fresh"]
            cells = [f"{fresh[0]:.2f} / {fresh[1]} / {fresh[2]:.1f}"]
            for name in STATES[1:]:
                one = found[name]
                by = [one[i] / one[3] / (fresh[i] / fresh[3]) for i in range(3)]
                cells.append(f"{one[0]:.2f} / {one[1]} / {one[2]:.1f}: {by[0]:.2f} / {by[1]:.2f} / {by[2]:.2f}")
            lines.append(f"| {work} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    return lines


def _measure_remote(uri: str, settings: str, work: str) -> None:
    import ast

    ds = deeplake.open(uri, storage=deeplake.Storage(**ast.literal_eval(settings)))
    start = time.perf_counter()
    rows = REMOTE[work](ds)
    print(time.perf_counter() - start, rows)


if __name__ == "__main__":
    main()
