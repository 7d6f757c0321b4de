"""The process that one contender runs in: `python contender.py MODULE FACTORY ARGUMENTS`.

It imports MODULE, calls FACTORY with the arguments (JSON), and says so. Its memory at this moment is the baseline.
After that each line of standard input, `{"call": name, "args": {...}}`, calls a method of the returned object. One line
answers: the value of the method, its seconds (its own figure if it returns `seconds`), the CPU time of the process
tree, and resident memory before and at the peak.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path

import machine


def main() -> None:
    _pin()
    # Libraries print to standard error: only answers go through the pipe.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    module, factory, arguments = sys.argv[1:]
    work = getattr(importlib.import_module(module), factory)(**json.loads(arguments))
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak of the imports
    print(json.dumps({"baseline": machine.memory()["now"], "tree": machine.tree_memory(os.getpid())}), file=answers)
    # Not by iterating sys.stdin, whose buffer a forked worker would inherit.
    while line := sys.stdin.readline():
        request = json.loads(line)
        print(json.dumps(_answer(work, request)), file=answers)


def _pin() -> None:
    """Keeps the process and its children on the first cores, as many as DEEPLAKE_BENCH_CORES says."""
    cores = os.environ.get("DEEPLAKE_BENCH_CORES")
    if cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(cores)])


def _answer(work: object, request: dict[str, object]) -> dict[str, object]:
    pid = os.getpid()
    before, cpu, begin = machine.memory(), machine.cpu_seconds(pid), time.perf_counter()
    try:
        value = getattr(work, request["call"])(**request["args"]) or {}
    except Exception:
        return {"error": traceback.format_exc()}
    seconds = time.perf_counter() - begin
    return {
        "seconds": value.pop("seconds", seconds),
        "wall": seconds,
        "cpu": value.pop("cpu", machine.cpu_seconds(pid) - cpu),
        "before": before["now"],
        "peak": machine.memory()["peak"],
        "value": value,
    }


if __name__ == "__main__":
    main()
