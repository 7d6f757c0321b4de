"""What a shuffled order is worth, and what it costs to plan one.

The set is ImageNet-1k as folders sort it: 1,280,000 rows of 110 kB, 1,280 of each class after the other. Our orders are
written by the core. Those of others are simulations, from what their documentation says the algorithms do; nothing of
them runs here, and each gets the memory that its line says.

python benchmarks/test_order.py [--full]
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import gobench
import numpy as np
import numpy.typing as npt
import report
from protocol import Figure, Line, Result, Spread, Table

CLASSES, ROWS, SAMPLE = 1000, 1_280_000, 110_000
WINDOW = 2 << 30
IN_MEMORY = WINDOW // SAMPLE  # rows
SEEN, BATCH = 64_000, 256

Order = npt.NDArray[np.int64]


def measure(full: bool = False) -> Result:
    """Full takes five seeds of each simulation, short takes two; ours is one order, which everybody gets."""
    result = Result("order", "Shuffled orders of 1,280,000 rows sorted by class", 5 if full else 2, full)
    orders = _ours(result)
    figures = {name: [_worth(*epochs)] for name, epochs in orders.items()}
    for name, make in SIMULATED.items():
        figures[name] = []
        for seed in range(result.rounds):
            rng = np.random.default_rng(seed)
            figures[name].append(_worth(make(rng), make(rng)))
    notes = {name: _memory(rows) for name, rows in MEMORY.items()}
    for key, title, unit, better in (
        ("seen", f"distinct classes in the first {SEEN:,} rows", f"classes of {CLASSES:,}", "more"),
        ("batch", f"distinct classes in a batch of {BATCH}, mean of the epoch", "classes", "more"),
        ("tau", "Kendall's tau of stored and visited order, without its sign", "tau", "less"),
        ("epochs", "Kendall's tau of one epoch and the next, without its sign", "tau", "less"),
    ):
        lines = [Line(name, Spread.of([one[key] for one in some]), note=notes[name]) for name, some in figures.items()]
        result.tables.append(Table(title, unit, lines=lines, better=better))
    ours = figures["deeplake, window 2 GB"][0]
    result.figures.append(
        Figure(f"classes of 1,000 in the first {SEEN:,} rows, window of 2 GB", Spread.of([ours["seen"]]), 870)
    )
    _plans(result)
    result.notes.append(
        "Lines without `deeplake` are simulations of the documented algorithms in NumPy, not runs of the libraries: "
        "torch's RandomSampler (a permutation); Deep Lake 3 (chunks of 16 MB in random order through a shuffle "
        "buffer); WebDataset (shards of 1,000 samples in random order through a shuffle buffer; its users shuffle "
        "before they write shards, which a set sorted by class was not); MosaicML (shards of 64 MiB; py1s: rows mixed "
        "within shards, 64 canonical nodes; py1br: rows mixed within blocks of random size; py1e: the rows of a shard "
        "spread over a range; block or range as the line says, 4,000,000 being the default, which is more than all "
        "rows)."
    )
    result.notes.append("Medians over seeds of the simulations; two orders by chance have a tau of about 0.0006.")
    return result


def _ours(result: Result) -> dict[str, tuple[Order, Order]]:
    names = {
        "deeplake, window 2 GB": "window-2GB",
        "deeplake, window 512 MiB (default)": "window-512MiB",
        'deeplake, shuffle="full"': "full",
    }
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        os.environ["ORDER_DIR"] = folder
        try:
            gobench.run("./core/order", "^BenchmarkOrderWritten$", time="1x")
        finally:
            del os.environ["ORDER_DIR"]
        orders = {}
        for name, word in names.items():
            epochs = [np.fromfile(Path(folder) / f"{word}-{epoch}", "<i4").astype(np.int64) for epoch in range(2)]
            for order in epochs:
                assert np.array_equal(np.sort(order), np.arange(ROWS)), f"{name}: not every row once"
            orders[name] = (epochs[0], epochs[1])
            result.checks.append(f"{name}: two epochs, each row once")
    return orders


def _plans(result: Result) -> None:
    found = gobench.run("./core/order", "^BenchmarkPlan$", count=max(result.rounds, 3), time="200x")
    names = {"window": "shuffle=True", "full": 'shuffle="full"', "mix-random": "mix, random", "mix-exact": "mix, exact"}
    lines = []
    for word, name in names.items():
        micros = Spread.of([one["ns/op"] / 1000 for one in found[word]])
        lines.append(Line(f"deeplake: {name}", micros, memory=int(found[word][0]["B/op"])))
        result.figures.append(
            Figure(f"plan of 10^9 rows, {name}: to a batch anywhere", _scaled(micros, 1e-3), 10, "less", "ms")
        )
        result.figures.append(
            Figure(f"memory of it, {name}", Spread.of([one["B/op"] / 1e6 for one in found[word]]), 1, "less", "MB")
        )
    started = time.perf_counter()
    np.random.default_rng(0).permutation(10_000_000)
    seconds = (time.perf_counter() - started) * 100
    lines.append(Line("a permutation: 100 x NumPy's of 10^7", Spread.of([seconds * 1e6]), memory=8 * 10**9))
    result.tables.append(Table("from nothing to a batch in the middle of 10^9 rows", "us", lines=lines, better="less"))


def _scaled(spread: Spread, by: float) -> Spread:
    return Spread(spread.median * by, spread.low * by, spread.high * by)


def _worth(first: Order, second: Order) -> dict[str, float]:
    classes = first // (ROWS // CLASSES)
    batches = np.sort(classes[: ROWS // BATCH * BATCH].reshape(-1, BATCH), axis=1)
    back = np.empty_like(first)
    back[first] = np.arange(ROWS)
    then = np.empty_like(second)
    then[second] = np.arange(ROWS)
    return {
        "seen": float(np.unique(classes[:SEEN]).size),
        "batch": float((1 + (np.diff(batches, axis=1) != 0).sum(axis=1)).mean()),
        "tau": abs(_tau(np.arange(ROWS), back)),
        "epochs": abs(_tau(back, then)),
    }


def _tau(a: Order, b: Order) -> float:
    """Kendall's tau of two permutations, from three million pairs."""
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, ROWS, (2, 3_000_000))
    return float(np.mean(np.sign(a[i] - a[j]) * np.sign(b[i] - b[j])))


def _pieces(rng: np.random.Generator, rows: int) -> Order:
    """Rows in stored order within pieces, the pieces in random order."""
    starts = rng.permutation(-(-ROWS // rows)) * rows
    order = (starts[:, None] + np.arange(rows)).ravel()
    return order[order < ROWS]


def _buffered(rng: np.random.Generator, order: Order, size: int) -> Order:
    """Rows through a shuffle buffer: each that comes takes the place of a random one, which goes out."""
    buffer = order[:size].tolist()
    positions = rng.integers(0, size, ROWS - size).tolist()
    out = []
    for row, position in zip(order[size:].tolist(), positions, strict=True):
        out.append(buffer[position])
        buffer[position] = row
    return np.concatenate([np.array(out, np.int64), rng.permutation(np.array(buffer, np.int64))])


def _py1s(rng: np.random.Generator) -> Order:
    """Shards in random order, rows mixed within each; 64 canonical nodes take turns."""
    nodes = 64
    order = _pieces(rng, SHARD)
    for start in range(0, ROWS, SHARD):
        rng.shuffle(order[start : start + SHARD])
    return order.reshape(nodes, -1).T.ravel()  # 64 divides the rows


def _py1br(rng: np.random.Generator, block: int) -> Order:
    """Shards in random order, rows mixed within blocks of 0.75 to 1.25 times the size."""
    order, start = _pieces(rng, SHARD), 0
    while start < ROWS:
        size = int(rng.integers(int(0.75 * block), int(1.25 * block)))
        rng.shuffle(order[start : start + size])
        start += size
    return order


def _py1e(rng: np.random.Generator, block: int) -> Order:
    """Shards in random order, each row moved by chance within a range around its shard."""
    order = _pieces(rng, SHARD)
    reach = max(block - SHARD, 0) / 2
    positions = np.arange(ROWS) + rng.uniform(-reach, reach, ROWS)
    # A range beyond either end is folded back.
    positions = np.where(positions < 0, -positions, positions)
    positions = np.where(positions > ROWS, 2 * ROWS - positions, positions)
    return order[np.argsort(positions)] if reach < ROWS else rng.permutation(order)


SHARD = (64 << 20) // SAMPLE

SIMULATED: dict[str, Callable[[np.random.Generator], Order]] = {
    "torch RandomSampler": lambda rng: rng.permutation(ROWS),
    "Deep Lake 3, buffer 2 GB": lambda rng: _buffered(rng, _pieces(rng, (16 << 20) // SAMPLE), IN_MEMORY),
    "WebDataset, shuffle(1000)": lambda rng: _buffered(rng, _pieces(rng, 1000), 1000),
    "WebDataset, buffer 2 GB": lambda rng: _buffered(rng, _pieces(rng, 1000), IN_MEMORY),
    "MosaicML py1s": _py1s,
    "MosaicML py1br, 2 GB": lambda rng: _py1br(rng, IN_MEMORY),
    "MosaicML py1br, 4,000,000": lambda rng: _py1br(rng, 4_000_000),
    "MosaicML py1e, 2 GB": lambda rng: _py1e(rng, IN_MEMORY),
    "MosaicML py1e, 4,000,000": lambda rng: _py1e(rng, 4_000_000),
}

# Rows that must lie in memory or on a disk nearby, for an order not to read pieces twice.
MEMORY = {
    "deeplake, window 2 GB": IN_MEMORY,
    "deeplake, window 512 MiB (default)": (512 << 20) // SAMPLE,
    'deeplake, shuffle="full"': ROWS,
    "torch RandomSampler": ROWS,
    "Deep Lake 3, buffer 2 GB": IN_MEMORY,
    "WebDataset, shuffle(1000)": 1000,
    "WebDataset, buffer 2 GB": IN_MEMORY,
    "MosaicML py1s": 64 * SHARD,
    "MosaicML py1br, 2 GB": IN_MEMORY,
    "MosaicML py1br, 4,000,000": ROWS,
    "MosaicML py1e, 2 GB": IN_MEMORY,
    "MosaicML py1e, 4,000,000": ROWS,
}


def _memory(rows: int) -> str:
    return "all rows" if rows >= ROWS else f"{rows * SAMPLE / 1e9:.2g} GB on hand"


def test_order(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
