"""The figures of a loader in other forms: plain numbers by name, Prometheus' text; and the trace
file.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import perf_counter, time_ns
from typing import Any

from deeplake import _native
from deeplake._files import write_file

# Spans of Python's own work that a trace holds at most.
_SPANS = 1 << 16
# Notes of rows that were left out, and of accepted ones, those of the core among them; the counts
# go on.
_NOTES = 16
# If Python takes more than this share of the loop's time, it is the bottleneck.
_MUCH = 0.5
_WAYS = (
    'python_workers="auto" runs them in processes; operations on whole batches, or transforms of the core, are faster'
)
# Seconds of an iteration before callables that take much of its time are worth a warning.
_LATE = 3.0


class Work:
    """The work of Python on the batches of an iteration, in the thread of the loop: its time, and
    the rows that it left out.
    """

    def __init__(self) -> None:
        self._seconds = 0.0
        # makes batches without Python, and takes the time itself
        self._stream: _native.Stream | None = None
        # (nanoseconds since 1970, seconds, worker or -1 for the thread of the loop), for a trace
        self.spans: list[tuple[int, float, int]] | None = None
        self.skipped = 0  # rows
        self.emptied = 0  # batches of which every row was left out
        self.notes: list[dict[str, Any]] = []
        self.last = ""  # why the last of them was left out
        self.accepted = 0  # rows of damaged files
        self.accepted_notes: list[dict[str, Any]] = []
        self.workers = 0  # processes
        # about callables that take much of the time: whether it may, and whether it has
        self.warns = self.warned = False
        self._began = perf_counter()
        self.pickled = 0  # arrays that workers had no place for in shared memory

    @property
    def seconds(self) -> float:
        """The time until now."""
        return self._seconds + (0.0 if self._stream is None else self._stream.seconds)

    def follow(self, stream: _native.Stream) -> _native.Stream:
        """Counts the time of `stream`, which is returned, as well."""
        self._stream = stream
        return stream

    def settle(self) -> None:
        """Lets go of the stream; its time stays counted."""
        self._seconds, self._stream = self.seconds, None

    def skip(self, row: int, tensor: str, failure: Exception) -> None:
        """Notes that a row was left out."""
        self.skipped += 1
        self.last = str(failure)
        if len(self.notes) < _NOTES:
            self.notes.append({"row": row, "tensor": tensor, "error": self.last})

    def accept(self, row: int, tensor: str, error: str) -> None:
        """Notes that a row of a damaged file was accepted."""
        self.accepted += 1
        if len(self.accepted_notes) < _NOTES:
            self.accepted_notes.append({"row": row, "tensor": tensor, "error": error})

    def add(self, worker: int, began: int, seconds: float, refused: int) -> None:
        """Counts the time of a worker for its share of a batch, and the arrays that it pickled.

        Args:
            began: nanoseconds since 1970.
        """
        self._seconds += seconds
        self.pickled += refused
        self._span(began, seconds, worker)

    def _span(self, began: int, seconds: float, worker: int) -> None:
        if self.spans is not None and len(self.spans) < _SPANS:
            self.spans.append((began, seconds, worker))

    def timed(self, make: Any) -> Any:
        """Returns `make` with its time taken."""

        def timed(batch: Any) -> Any:
            began = perf_counter()
            try:
                return make(batch)
            finally:
                took = perf_counter() - began
                self._seconds += took
                self._span(time_ns() - int(took * 1e9), took, -1)
                if self.warns:
                    self._warn()

        return timed

    def _warn(self) -> None:
        """Warns once if the callables hold up the loop."""
        passed = perf_counter() - self._began
        if passed < _LATE:
            return
        self.warns = False
        if self._seconds > _MUCH * passed:
            self.warned = True
            share = self._seconds / passed
            warnings.warn(f"load: the Python callables took {share:.0%} of the time; {_WAYS}", stacklevel=2)


def with_work(stats: dict[str, Any], work: Work | None) -> dict[str, Any]:
    """Returns the figures of the core with those of Python; Python may be the bottleneck."""
    seconds = 0.0 if work is None else work.seconds
    workers = 0 if work is None else work.workers
    share = seconds / max(stats["seconds"], 1e-9) / max(workers, 1)
    stats["python"] = {"workers": workers, "busy_seconds": seconds}
    if work is not None and workers:
        stats["python"]["pickled_arrays"] = work.pickled
    if work is not None and work.skipped:
        stats["rows"] -= work.skipped
        stats["batches"] -= work.emptied
        stats["skipped"] += work.skipped
        stats["first_skips"] = (stats["first_skips"] + work.notes)[:_NOTES]
    if work is not None and work.accepted:
        stats["accepted"] += work.accepted
        stats["first_accepted"] = (stats["first_accepted"] + work.accepted_notes)[:_NOTES]
    if share > _MUCH and stats["rows"]:
        stats["bottleneck"] = (
            f"python: the callables took {share:.0%} of the time of {workers} workers; more cores and workers, "
            "operations on whole batches (batched=True), or transforms of the core are faster"
            if workers
            else f"python: the callables took {share:.0%} of the time, in the thread of the loop; {_WAYS}"
        )
    return stats


def flat(stats: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Returns the numbers among the figures, those of "decode" as "decode/busy_seconds"."""
    numbers: dict[str, float] = {}
    for name, value in stats.items():
        if isinstance(value, Mapping):
            numbers.update(flat(value, f"{prefix}{name}/"))
        elif isinstance(value, int | float):
            numbers[f"{prefix}{name}"] = value
    return numbers


def prometheus(stats: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Returns the figures in the text format that Prometheus collects."""
    pairs = [f'{_name(name)}="{_escaped(str(value))}"' for name, value in labels.items()]
    where = f"{{{','.join(pairs)}}}" if pairs else ""
    return "".join(f"{line}\n" for line in _lines(stats, where))


def _lines(stats: Mapping[str, Any], where: str) -> Iterator[str]:
    for name, value in flat(stats).items():
        metric = f"deeplake_loader_{_name(name)}"
        yield f"# TYPE {metric} gauge"
        yield f"{metric}{where} {float(value)!r}"


def _name(text: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_]", "_", text)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def write_trace(path: str, trace: bytes, work: Work, rank: int, world_size: int) -> None:
    """Writes the trace of the core with Python's own spans; each rank writes a file of its own."""
    file = json.loads(trace)
    began = file["otherData"]["began_ns"]
    events = file["traceEvents"]
    events.append({"name": "process_name", "ph": "M", "pid": 0, "tid": 0, "ts": 0, "args": {"name": "python"}})
    spans = work.spans or []
    for number in sorted({-1, *(worker for *_, worker in spans)}):
        name = "assemble" if number < 0 else f"worker {number}"
        thread = {"name": "thread_name", "ph": "M", "pid": 0, "tid": number + 2, "ts": 0, "args": {"name": name}}
        events.append(thread)
    for at, took, worker in spans:
        name = "assemble" if worker < 0 else "callables"
        place = {"name": name, "cat": "python", "ph": "X", "pid": 0, "tid": worker + 2}
        events.append({**place, "ts": (at - began) / 1e3, "dur": took * 1e6})
    target = Path(path)
    if world_size > 1:
        target = target.with_name(f"{target.stem}.{rank}{target.suffix}")
    write_file("write trace", target, json.dumps(file).encode())
