"""How everything here is measured: contenders take turns in one run, each in a process of its own.

A contender is an object whose methods do one round of work; it lives in a subprocess (see contender.py), so that its
memory and CPU time are its own. `race` lets all of them do a round, and again in another order, at least five times:
whatever disturbs the machine meets all alike, and what counts are the ratios of one round, never figures of different
runs. A watch on /proc/stat says how much of the machine others used; results with more than 5 % are marked.
"""

from __future__ import annotations

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import machine

HERE = Path(__file__).resolve().parent
DISTURBED = 0.05
RESAMPLES = 2000  # of the bootstrap
Interval = tuple[float, float]


class ContenderError(Exception):
    """The contender `name` raised; the message is its traceback."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        self.name = name


def _environment() -> dict[str, str]:
    """The environment of this process, without the switch that forbids Python to store bytecode: installed
    packages have theirs, and a checkout would be compiled anew in every process."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


class Contender:
    """One contender in its process. A context manager."""

    def __init__(
        self,
        name: str,
        module: str,
        factory: str,
        /,
        *,
        python: str = sys.executable,
        environment: Mapping[str, str] | None = None,
        limit: float | None = None,
        **arguments: Any,
    ) -> None:
        """Starts the process and waits until it is ready. A call that takes longer than `limit` seconds ends it."""
        self.name = name
        self._limit, self._late = limit, False
        self._process = subprocess.Popen(
            [python, str(HERE / "contender.py"), module, factory, json.dumps(arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=HERE,
            env=_environment() | dict(environment or {}),
        )
        ready = self._read()
        self.baseline, self.tree_baseline = int(ready["baseline"]), int(ready["tree"])

    @property
    def pid(self) -> int:
        """The process of the contender."""
        return self._process.pid

    def call(self, call: str, /, **arguments: Any) -> dict[str, Any]:
        """Calls a method there. Returns `seconds`, `cpu`, `before`, `peak`, `value`, and `others`, `stolen`."""
        with machine.alone():
            return self._call(call, arguments)

    def _call(self, call: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        watch = machine.Watch()
        assert self._process.stdin is not None
        timer = threading.Timer(self._limit, self._end) if self._limit else None
        if timer is not None:
            timer.start()
        try:
            self._process.stdin.write(json.dumps({"call": call, "args": arguments}) + "\n")
            self._process.stdin.flush()
            answer = self._read()
        except BrokenPipeError as error:
            raise ContenderError(self.name, "it has ended; its output says why") from error
        finally:
            if timer is not None:
                timer.cancel()
        return answer | watch.stop(answer["cpu"])

    def peak(self, call: str, /, **arguments: Any) -> int:
        """Calls a method and returns the most bytes that its process tree held above the baseline.

        Looking takes time, so this is never done in a measured round.
        """
        most, done = [0], threading.Event()

        def look() -> None:
            while not done.wait(0.05):
                most[0] = max(most[0], machine.tree_memory(self._process.pid))

        looker = threading.Thread(target=look)
        looker.start()
        try:
            self.call(call, **arguments)
        finally:
            done.set()
            looker.join()
        return most[0] - self.tree_baseline

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _end(self) -> None:
        self._late = True
        for pid in reversed(machine.tree(self._process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if self._late:
            raise ContenderError(self.name, f"ended after {self._limit:.0f} s without an answer")
        if not line:
            raise ContenderError(self.name, f"ended with status {self._process.wait()}; its output says why")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ContenderError(self.name, f"\n{answer['error']}")
        return answer

    def __enter__(self) -> Contender:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass
class Turn:
    """The rounds of one contender, a list element for each."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)
    stolen: list[float] = field(default_factory=list)
    peak: int = 0  # resident bytes of the process itself, over its baseline
    tree_peak: int | None = None  # of the whole tree, over its baseline
    values: list[dict[str, Any]] = field(default_factory=list)

    def add(self, answer: Mapping[str, Any], baseline: int) -> None:
        for name in ("seconds", "cpu", "others", "stolen"):
            getattr(self, name).append(answer[name])
        self.peak = max(self.peak, answer["peak"] - baseline)
        self.values.append(answer["value"])

    def extend(self, other: Turn) -> None:
        """Appends the rounds of another turn of the same contender."""
        for name in ("seconds", "cpu", "others", "stolen", "values"):
            getattr(self, name).extend(getattr(other, name))


@dataclass(frozen=True)
class Spread:
    """The median of several measurements, with the least and the most."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Entry:
    """A contender and the arguments of its call."""

    contender: Contender
    arguments: Mapping[str, Any] = field(default_factory=dict)


def race(
    entries: Mapping[str, Entry],
    *,
    call: str = "run",
    rounds: int = 5,
    warm_up: bool = True,
    before: Callable[[], None] | None = None,
) -> dict[str, Turn]:
    """Lets contenders take turns.

    Args:
        entries: by name; the order rotates from round to round.
        call: the method to call.
        rounds: how often each has its turn.
        warm_up: an extra round for each, which does not count.
        before: called before every turn, outside the measured time.
    """
    names = list(entries)
    turns = {name: Turn() for name in names}
    for number in range(-1 if warm_up else 0, rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            if before is not None:
                before()
            entry = entries[name]
            answer = entry.contender.call(call, **entry.arguments)
            if number >= 0:
                turns[name].add(answer, entry.contender.baseline)
                _say(f"  round {number + 1} {name}: {answer['seconds']:.3f} s, {answer['cpu']:.2f} CPU-s")
    return turns


def faster(ours: Turn, other: Turn) -> Spread:
    """Returns how many times faster ours is, by the ratios within each round."""
    return Spread.of(_rates(ours, other))


def _rates(ours: Turn, other: Turn) -> list[float]:
    return [b / a for a, b in zip(ours.seconds, other.seconds, strict=True)]


def thriftier(ours: Turn, other: Turn) -> Spread:
    """Returns how many times less CPU time ours takes, by the ratios within each round.

    Others disturb this less than the ratio of times.
    """
    return Spread.of(_thrifts(ours, other))


def _thrifts(ours: Turn, other: Turn) -> list[float]:
    return [b / max(a, 1e-3) for a, b in zip(ours.cpu, other.cpu, strict=True)]


def intervals(ours: Turn, other: Turn) -> tuple[Interval, Interval]:
    """Returns the 95 % intervals of the medians of `faster` and `thriftier`, by the percentile bootstrap
    (Efron and Tibshirani, 1993, chapter 13) over rounds.
    """
    return _interval(_rates(ours, other)), _interval(_thrifts(ours, other))


def _interval(values: list[float]) -> Interval:
    draws = random.Random(1)
    medians = sorted(statistics.median(draws.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[RESAMPLES // 40], medians[-RESAMPLES // 40 - 1]


@dataclass
class Line:
    """One contender in a table."""

    name: str
    rate: Spread
    cpu: float | None = None  # seconds for `cpu_per` units
    memory: int | None = None  # bytes over the baseline
    note: str = ""


@dataclass
class Table:
    """Contenders side by side."""

    title: str
    unit: str  # of `rate`
    cpu_unit: str = ""
    lines: list[Line] = field(default_factory=list)
    better: str = "more"


@dataclass
class Figure:
    """A figure that has something to reach."""

    what: str
    value: Spread
    want: float | None  # None: only told
    better: str = "more"
    unit: str = ""

    @property
    def reached(self) -> bool:
        if self.want is None:
            return True
        return self.value.median >= self.want if self.better == "more" else self.value.median <= self.want


@dataclass
class Result:
    """Everything that a module found out."""

    name: str
    title: str
    rounds: int
    full: bool
    packages: tuple[str, ...] = ()
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)  # verified facts
    notes: list[str] = field(default_factory=list)
    others: list[float] = field(default_factory=list)
    stolen: list[float] = field(default_factory=list)

    def watch(self, turns: Mapping[str, Turn]) -> None:
        """Takes in how much others disturbed."""
        for turn in turns.values():
            self.others += turn.others
            self.stolen += turn.stolen

    @property
    def disturbance(self) -> float:
        """The median over all turns of the share of other processes: a few bad rounds do not move a median."""
        return statistics.median(self.others) if self.others else 0.0

    def as_json(self) -> dict[str, Any]:
        whole = asdict(self)
        for figure, plain in zip(self.figures, whole["figures"], strict=True):
            plain["reached"] = figure.reached
        del whole["others"], whole["stolen"], whole["packages"]
        return whole | {
            "machine": machine.describe(),
            "commit": machine.commit(),
            "date": machine.today(),
            "versions": machine.versions("numpy", *self.packages),
            "others": {"median": self.disturbance, "most": max(self.others, default=0.0)},
            "stolen": max(self.stolen, default=0.0),
            "disturbed": self.disturbance > DISTURBED,
        }


def contenders(stack: ExitStack, made: Mapping[str, Contender]) -> dict[str, Contender]:
    """Closes the contenders with the stack."""
    for contender in made.values():
        stack.enter_context(contender)
    return dict(made)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
