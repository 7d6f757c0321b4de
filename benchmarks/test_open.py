"""Opening a dataset of ten million rows.

python benchmarks/test_open.py [--full]
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import data
import machine
import numpy as np
import report
from protocol import Contender, Figure, Line, Result, Spread, Table, Turn

ROWS = 10_000_000


class Open:
    """Opens a dataset in a process that has the core loaded."""

    def __init__(self, folder: str) -> None:
        import deeplake

        self._deeplake, self._folder = deeplake, folder
        self._kept: list[Any] = []
        deeplake.create("mem://loaded").close()

    def open(self) -> dict[str, Any]:
        """Opens it and asks for the number of rows."""
        before = machine.memory()["now"]
        begin = time.perf_counter()
        ds = self._deeplake.open(self._folder)
        rows = len(ds)
        seconds = time.perf_counter() - begin
        self._kept.append(ds)
        return {"seconds": seconds, "rows": rows, "grown": machine.memory()["now"] - before}

    def one_sample(self, row: int) -> dict[str, Any]:
        """Reads one sample of the last one opened."""
        ds = self._kept[-1]
        begin = time.perf_counter()
        value = int(np.asarray(ds["labels"][row]).reshape(()))
        return {"seconds": time.perf_counter() - begin, "label": value}


def measure(full: bool = False) -> Result:
    """Opens it in a fresh process for each round; full and short differ in rounds alone."""
    result = Result("open", "Open a dataset of 10,000,000 rows, core loaded", 21 if full else 7, full)
    folder = lake()
    opened, again, sample = Turn(), Turn(), Turn()
    grown = []
    for number in range(result.rounds):
        with Contender("deeplake", "test_open", "Open", folder=str(folder)) as one:
            answer = one.call("open")
            assert answer["value"]["rows"] == ROWS, answer["value"]
            grown.append(answer["value"]["grown"] / 1e6)
            opened.add(answer, one.baseline)
            row = (number + 1) * 476_191 % 10_000_000
            answer = one.call("one_sample", row=row)
            assert answer["value"]["label"] == row % 1000, f"row {row} has label {answer['value']['label']}"
            sample.add(answer, one.baseline)
            again.add(one.call("open"), one.baseline)
    named = {"open": opened, "open again": again, "first sample": sample}
    result.watch(named)
    lines = [Line(f"deeplake: {name}", Spread.of([1000 * s for s in turn.seconds])) for name, turn in named.items()]
    result.tables.append(Table("from the call to the number of rows", "ms", lines=lines, better="less"))
    result.figures.append(
        Figure("open 10,000,000 rows", Spread.of([1000 * s for s in opened.seconds]), 50, "less", "ms")
    )
    result.figures.append(Figure("memory grown by it", Spread.of(grown), 20, "less", "MB"))
    chunks = sum(1 for path in folder.rglob("*") if path.is_file())
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    result.notes.append(
        f"Rows are a class label and 8 bytes of ragged text; the text is in small chunks, so that there are as many "
        f"({chunks:,} files, {size:,.0f} MB) as ten million photographs would have."
    )
    return result


def lake() -> Path:
    import deeplake

    def build(folder: Path) -> None:
        with deeplake.create(folder) as ds:
            ds.create_tensor("labels", "class_label")
            ds.create_tensor("names", "text", chunk_bytes=16 << 10)
            step = 500_000
            for start in range(0, ROWS, step):
                rows = np.arange(start, start + step)
                ds.extend({"labels": rows % 1000, "names": [f"row {row}" for row in rows.tolist()]})
                ds.commit(f"rows to {start + step}")

    return data.dataset(data.CACHE / "ten-million", build)


def test_open(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
