"""`import deeplake` against `import numpy`.

python benchmarks/test_import.py [--full]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import machine
import report
from protocol import Figure, Line, Result, Spread, Table, Turn, faster

OURS, NUMPY, NOTHING = "import deeplake", "import numpy", "nothing imported"
LOADED = """
import json, sys
import deeplake
from pathlib import Path
maps = Path("/proc/self/maps").read_text()
print(json.dumps({"core": "libdeeplake" in maps, "modules": [m for m in ("torch", "numpy", "rich", "click")
                                                            if m in sys.modules]}))
"""


def measure(full: bool = False) -> Result:
    """Starts fresh interpreters, taking turns."""
    result = Result("import", "Import of the package in a fresh interpreter", 41 if full else 20, full)
    commands = {OURS: "import deeplake", NUMPY: "import numpy", NOTHING: "pass"}
    turns = {name: Turn() for name in commands}
    for number in range(-1, result.rounds):
        for name, command in commands.items():
            watch, before = machine.Watch(), os.times()
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", command], check=True)
            seconds, after = time.perf_counter() - begin, os.times()
            cpu = after.children_user + after.children_system - before.children_user - before.children_system
            shares = watch.stop(cpu)
            if number >= 0:
                turns[name].seconds.append(seconds)
                turns[name].cpu.append(cpu)
                turns[name].others.append(shares["others"])
                turns[name].stolen.append(shares["stolen"])
    result.watch(turns)
    found = json.loads(subprocess.run([sys.executable, "-c", LOADED], check=True, capture_output=True).stdout)
    assert not found["core"], "import deeplake loads libdeeplake"
    assert "torch" not in found["modules"], "import deeplake imports torch"
    result.checks.append(f"import deeplake loads no Go and no torch (of others: {found['modules'] or 'none'})")
    lines = [
        Line(name, Spread.of([1000 * s for s in turn.seconds]), cpu=Spread.of(turn.cpu).median)
        for name, turn in turns.items()
    ]
    result.tables.append(Table("from the start of the interpreter to its end", "ms", "run", lines, "less"))
    result.figures.append(
        Figure(
            "import deeplake: times import numpy, interpreter included", faster(turns[NUMPY], turns[OURS]), 1.3, "less"
        )
    )
    return result


def test_import(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
