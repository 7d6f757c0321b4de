"""`deeplake bench`: whole epochs, and the limits of this machine beside each stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deeplake._cli.complete import PLACE
from deeplake._cli.output import at_option, json_option, show, size, table
from deeplake._progress import bar

if TYPE_CHECKING:
    from deeplake._data.view import Dataset

# The bounds of a measurement: bytes, rows, seconds.
_BYTES = 64 << 20
_ROWS = 512
_SECONDS = 1.0


@click.command()
@click.argument("uri", type=PLACE)
@click.option("--batch-size", type=click.IntRange(min=1), default=256, show_default=True)
@click.option("--workers", type=click.IntRange(min=1), help="Decode threads; all cores by default.")
@click.option("--epochs", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--tensor", "tensors", multiple=True, help="Load this tensor; may be given several times.")
@click.option("--in-order", is_flag=True, help="Do not shuffle.")
@click.option("--no-limits", is_flag=True, help="Leave out what the machine could do.")
@at_option
@json_option
def bench(
    uri: str,
    batch_size: int,
    workers: int | None,
    epochs: int,
    tensors: tuple[str, ...],
    in_order: bool,
    no_limits: bool,
    at: str,
    as_json: bool,
) -> None:
    """Load whole epochs and show their speed beside the limits of this machine."""
    from deeplake._data.dataset import open as open_dataset

    dataset = open_dataset(uri, at=at or None, read_only=True)
    loader = dataset.batches(
        batch_size, shuffle=not in_order, num_workers=workers, tensors=tensors or None, collate="list", on_error="skip"
    )
    results = [_epoch(loader) for _ in range(epochs)]
    threads = loader.stats()["decode"]["threads"]
    limits = {} if no_limits else _limits(dataset, list(tensors) or list(dataset.tensors), threads)
    lines = [*_epochs(results), *_beside(results[-1], limits, threads), f"  {results[-1]['bottleneck']}"]
    if skipped := results[-1]["skipped"]:
        what = "1 row" if skipped == 1 else f"{skipped:,} rows"
        lines.append(f"  skipped {what} that cannot be read, the first: {results[-1]['first_skip']}")
    show({"epochs": results, "threads": threads, "limits": limits}, as_json, lines)


def _epochs(results: list[dict[str, Any]]) -> list[str]:
    head = ["epoch", "rows", "time", "rows/s", "delivered/s", "CPU s/1,000 rows", "first batch", "p99 gap", "decoding"]
    cells = [
        [
            str(r["epoch"]),
            f"{r['rows']:,}",
            f"{r['seconds']:.2f} s",
            f"{r['rows_per_second']:,.0f}",
            size(r["bytes_per_second"]),
            f"{r['cpu_seconds_per_1000_rows']:.3f}",
            f"{r['first_batch_seconds'] * 1000:.0f} ms",
            f"{r['p99_gap_seconds'] * 1000:.0f} ms",
            f"{r['decode_share']:.0%}",
        ]
        for r in results
    ]
    return table(head, cells)


def _beside(result: dict[str, Any], limits: dict[str, float], threads: int) -> list[str]:
    """Returns the table of stages: the rates of the last epoch and the limits of this machine."""
    stages = [
        ("read", "read_bytes_per_second", "stored_bytes_per_second", "one thread, warm"),
        ("decode", "decode_rows_per_second", "rows_per_second", f"{threads} threads"),
        ("copy", "copy_bytes_per_second", "bytes_per_second", "one thread"),
    ]
    cells = [
        [stage, _rate(reached, result), _rate(limit, limits), f"{result[reached] / limits[limit]:.0%}", how]
        for stage, limit, reached, how in stages
        if limits.get(limit)
    ]
    return table(["stage", "this run", "this machine could", "share", "measured on"], cells) if cells else []


def _rate(name: str, figures: dict[str, Any]) -> str:
    return f"{figures[name]:,.0f} rows/s" if "rows" in name else f"{size(figures[name])}/s"


def _epoch(loader: Any) -> dict[str, Any]:
    """Runs one epoch and returns its figures."""
    from time import perf_counter, process_time

    number, start, cpu = loader.epoch, perf_counter(), process_time()
    with bar(f"epoch {number}", total=len(loader), unit="batches") as advance:
        for count, _ in enumerate(loader, 1):
            advance(count)
    seconds, cpu = max(perf_counter() - start, 1e-9), process_time() - cpu
    stats = loader.stats()
    threads = stats["decode"]["busy_seconds"] + stats["decode"]["waiting_seconds"]
    return {
        "epoch": number,
        "rows": stats["rows"],
        "seconds": seconds,
        "rows_per_second": stats["rows"] / seconds,
        "bytes": stats["bytes"],
        "bytes_per_second": stats["bytes"] / seconds,
        "stored_bytes": stats["stored_bytes"],
        "stored_bytes_per_second": stats["stored_bytes"] / seconds,
        "cpu_seconds": cpu,
        "cpu_seconds_per_1000_rows": 1000 * cpu / max(stats["rows"], 1),
        "first_batch_seconds": stats["first_batch_seconds"],
        "p99_gap_seconds": stats["gaps"]["p99_seconds"],
        "decode_share": stats["decode"]["busy_seconds"] / max(threads, 1e-9),
        "bottleneck": stats["bottleneck"],
        "skipped": stats["skipped"],
        "first_skip": stats["first_skips"][0]["error"] if stats["first_skips"] else None,
    }


def _limits(dataset: Dataset, names: list[str], threads: int) -> dict[str, float]:
    """Measures the limits of this machine without a loader; omits limits without meaning here."""
    limits = {"copy_bytes_per_second": _copying()}
    if reading := _reading(dataset.uri):
        limits["read_bytes_per_second"] = reading
    images = [name for name in names if dataset.tensors[name].compression in ("jpeg", "png", "webp")]
    if images and len(dataset):
        limits["decode_rows_per_second"] = _decoding(dataset, images, threads)
    return limits


def _copying() -> float:
    """Returns the bytes a second that one thread copies from memory to memory that was touched
    before.
    """
    import numpy as np

    source, target = np.ones(_BYTES, np.uint8), np.ones(_BYTES, np.uint8)
    return _BYTES / min(_took(lambda: np.copyto(target, source)) for _ in range(5))


def _reading(uri: str) -> float | None:
    """Returns the bytes a second that one thread reads from the dataset's own files; None: it has
    none.
    """
    root = Path(uri.removeprefix("file://"))
    if "://" in str(uri.removeprefix("file://")) or not root.is_dir():
        return None
    files, found = [], 0
    for path in sorted(root.rglob("*"), key=lambda path: -path.stat().st_size):
        if found >= _BYTES or not path.is_file() or path.stat().st_size == 0:
            break
        files.append(path)
        found += path.stat().st_size
    if not files:
        return None
    buffer = bytearray(1 << 20)

    def read() -> int:
        total = 0
        for path in files:
            with path.open("rb", buffering=0) as file:
                while total < _BYTES and (n := file.readinto(buffer)):
                    total += n
        return total

    total = read()  # into the page cache
    return total / min(_took(read) for _ in range(3))


def _decoding(dataset: Dataset, images: list[str], threads: int) -> float:
    """Returns the rows a second that threads decode of the dataset's own pictures, which lie in
    memory.
    """
    from concurrent.futures import ThreadPoolExecutor
    from time import perf_counter

    from deeplake import _native

    rows = range(min(len(dataset), _ROWS))
    stored = [
        [data for data in dataset[name].bytes(list(rows)) if data is not None and _decodes(data)] for name in images
    ]
    end = perf_counter() + _SECONDS

    def decode(part: int) -> int:
        rounds = 0
        while True:
            for column in stored:
                for data in column[part::threads]:
                    _native.decode(data)
            rounds += 1
            if perf_counter() > end:
                return rounds * len(stored[0][part::threads])

    with ThreadPoolExecutor(threads) as pool:
        start = perf_counter()
        done = sum(pool.map(decode, range(threads)))
        return done / (perf_counter() - start)


def _decodes(data: bytes) -> bool:
    from deeplake import _native
    from deeplake._errors import Error

    try:
        _native.decode(data)
    except Error:
        return False
    return True


def _took(function: Any) -> float:
    from time import perf_counter

    start = perf_counter()
    function()
    return max(perf_counter() - start, 1e-9)
