"""Epochs over five columns of numbers, and over embeddings with a label, in batches of 1,024.

python benchmarks/test_rows.py [--full]
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import data
import numpy as np
import query_data
import report
from protocol import Contender, Entry, Figure, Line, Result, Spread, Table, contenders, faster, race

BATCH = 1_024
ORDERS: dict[str, Any] = {"in order": False, "shuffle=True": True, 'shuffle="full"': "full"}
WANT = {"in order": 4.0, "shuffle=True": 3.0, 'shuffle="full"': 2.0}  # million rows a second
AXES = 768


def measure(full: bool = False) -> Result:
    """Measures 10 million rows and 200,000 embeddings; short: 1 million and 50,000."""
    result = Result(
        "rows",
        "Small samples, batches of 1,024 torch tensors, warm",
        rounds=5 if full else 3,
        full=full,
        packages=("torch",),
    )
    rows = 10_000_000 if full else 1_000_000
    _one(result, f"five columns of {rows:,} rows", query_data.numbers_lake(rows), min(rows, 4_000_000), WANT)
    count = 200_000 if full else 50_000
    _one(
        result,
        f"embeddings of {AXES} float32 with a label, {count:,} rows",
        _embeddings(count),
        count,
        {"shuffle=True": 0.6},
    )
    result.notes.append(
        '"torch tensors in memory" holds all columns in memory, and takes each batch by one part of a permutation; '
        "drawing the permutation is part of its time."
    )
    return result


def _one(result: Result, what: str, lake: Path, most: int, want: dict[str, float]) -> None:
    shared: dict[str, Any] = {"uri": str(lake), "batch_size": BATCH}
    with ExitStack() as stack:
        made = contenders(
            stack,
            {name: Contender(name, "rows", "Ours", **shared, shuffle=shuffle) for name, shuffle in ORDERS.items()}
            | {"torch tensors in memory": Contender("memory", "rows", "InMemory", **shared, shuffle=True)},
        )
        turns = race({name: Entry(one, {"most": most}) for name, one in made.items()}, rounds=result.rounds)
    result.watch(turns)
    rates = {
        name: Spread.of([value["count"] / seconds for value, seconds in zip(turn.values, turn.seconds, strict=True)])
        for name, turn in turns.items()
    }
    lines = [Line(name, rate, cpu=Spread.of(turns[name].cpu).median / most * 1e6) for name, rate in rates.items()]
    result.tables.append(Table(what, "rows/s", "1,000,000", lines))
    for name in ORDERS:
        values = [
            value["count"] / seconds / 1e6
            for value, seconds in zip(turns[name].values, turns[name].seconds, strict=True)
        ]
        result.figures.append(Figure(f"{what}, {name}: million rows a second", Spread.of(values), want.get(name)))
    memory = turns["torch tensors in memory"]
    result.figures.append(
        Figure(f"{what}, shuffle=True: part of torch tensors in memory", faster(turns["shuffle=True"], memory), None)
    )


def _embeddings(count: int) -> Path:
    import deeplake

    def build(folder: Path) -> None:
        drawn = np.random.default_rng(0)
        with deeplake.create(folder) as ds:
            ds.create_tensor("vectors", "embedding", dtype="float32")
            ds.create_tensor("labels", "class_label")
            for at in range(0, count, 10_000):
                part = min(10_000, count - at)
                ds.extend(
                    {"vectors": drawn.standard_normal((part, AXES), np.float32), "labels": drawn.integers(0, 100, part)}
                )
            ds.commit("embeddings")

    return data.dataset(data.CACHE / f"embeddings-{count}", build)


def test_rows(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
