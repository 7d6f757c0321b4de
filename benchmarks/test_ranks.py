"""What ranks read of a windowed shuffle, and how well their batches are mixed.

The figures are counted on the order, nothing is timed: they are the same on every machine and at every run.

python benchmarks/test_ranks.py [--full]
"""

from __future__ import annotations

import gobench
import report
from protocol import Line, Result, Spread, Table

TABLES = (("512", "32", "512 MiB, the default"), ("512", "256", "512 MiB, the default"), ("2048", "256", "2 GiB"))
WORLDS = (1, 2, 4, 8, 16, 32, 64)


def measure(full: bool = False) -> Result:
    """The same, short or full."""
    result = Result("ranks", 'Ranks under shuffle="window": 300,000 rows of 110 kB, blocks of 2 MB', 1, full)
    found = gobench.run("./core/loader", "^BenchmarkRanksRead$", time="1x")
    for window, batch, about in TABLES:
        lines = []
        for world in WORLDS:
            figures = found[f"{window}/{batch}/{world}"][0]
            note = f"the rows of its batch come from {figures['blocks']:.0f} blocks"
            lines.append(Line(f"{world} rank{'s' * (world > 1)}", Spread.of([figures["shares"]]), note=note))
        title = f"blocks that a rank reads, batches of {batch}, shuffle_bytes {about}"
        result.tables.append(Table(title, "1/world_size of all", lines=lines, better="less"))
    result.notes.append("Counted for the rank in the middle, over one epoch.")
    return result


def test_ranks(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
