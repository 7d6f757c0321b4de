"""From opening a dataset to the first batch of 256 images, in a process that has its libraries imported.

python benchmarks/test_first_batch.py [--full]
"""

from __future__ import annotations

import data
import machine
import report
from protocol import Contender, Figure, Line, Result, Spread, Table, Turn

BATCH = 256


def measure(full: bool = False) -> Result:
    """Measures in a fresh process for each round: the first time, which loads the core, and the second."""
    result = Result(
        "first_batch",
        "Time to the first batch of 256 images, process already up",
        rounds=9 if full else 5,
        full=full,
        packages=("torch", "opencv-python-headless"),
    )
    files = data.jpegs("noise-q75", 20_000 if full else 3_000)
    lake, workers = data.make_lake(files), machine.cores()
    first, second, torch = Turn(), Turn(), Turn()
    for _ in range(result.rounds):
        with Contender("deeplake", "loaders", "Ours", uri=str(lake), batch_size=BATCH, workers=workers) as ours:
            for turn in (first, second):
                turn.add(ours.call("first"), ours.baseline)
        with Contender(
            "torch", "loaders", "TorchFiles", name=files.name, count=files.count, batch_size=BATCH, decoder="OpenCV"
        ) as peer:
            torch.add(peer.call("first", workers=workers), peer.baseline)
    named = {"deeplake, first use": first, "deeplake, again": second, "torch + OpenCV": torch}
    result.watch(named)
    lines = [
        Line(name, Spread.of([1000 * seconds for seconds in turn.seconds]), note=f"{workers} workers")
        for name, turn in named.items()
    ]
    result.tables.append(Table(f"open to first batch, {files.name}", "ms", lines=lines, better="less"))
    alone = BATCH / _decode_rate(files, workers)
    result.figures.append(
        Figure("time to the first batch, core not loaded yet", Spread.of(first.seconds), 0.15, "less", "s")
    )
    result.figures.append(Figure("time to the first batch, again", Spread.of(second.seconds), None, "less", "s"))
    result.notes.append(f"Decoding the 256 images alone takes {1000 * alone:.0f} ms on {workers} threads.")
    return result


def _decode_rate(files: data.JpegSet, threads: int) -> float:
    with Contender("limit", "loaders", "jpeg_loop", name=files.name, count=files.count, threads=threads) as limit:
        return files.count / min(limit.call("run")["seconds"] for _ in range(3))


def test_first_batch(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
