"""The tables, plots and page of the comparison with other loaders (`make bench-all`).

Ours and one other at a time take turns: the ratios are of neighbours in time, and each leaves nothing in memory or on
the disk for the next. The tables name the reason for every absent loader.
"""

from __future__ import annotations

import json
import os
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import data
import environments
import machine
import shown
import suite_page
from protocol import DISTURBED, Contender, ContenderError, Spread, Turn
from roster import Entrant

FOLDER = Path(__file__).resolve().parent / "results" / "peers"
SCRATCH = data.CACHE / "suite" / str(os.getpid())  # of this run alone
OURS = "deeplake"
OUR = Entrant(OURS, environments.HERE, "ours", "Ours")
HOUR = 55 * 60.0  # seconds after which no entrant of a chapter begins
LIMIT, COPY = "libjpeg-turbo in C", "memcpy in C"


class UnpublishedError(Exception):
    """An entrant gets no row; the message is the reason, for the tables."""


class HourOverError(UnpublishedError):
    """The chapter has no time left for an entrant."""


@dataclass
class Line:
    """One contender: cells by the names of columns, and the figure that the plot shows.

    That is the rate as a multiple of ours in the same turns: others disturb ratios less than rates.
    """

    name: str
    part: float
    cells: dict[str, str]
    figures: dict[str, Any]
    commit: str  # of which this was measured, and when
    date: str
    rounds: int
    about: str  # the set, with its size


@dataclass
class Chapter:
    """One table."""

    name: str  # a key of suite_page.TITLES, then the set
    about: str
    unit: str
    columns: list[str]
    lines: list[Line] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)  # name to reason
    notes: list[str] = field(default_factory=list)
    others: list[float] = field(default_factory=list)
    rounds: int = 0
    versions: dict[str, str] = field(default_factory=dict)
    limit: float = 0.0  # the rate of the limit as a multiple of ours; 0: not measured
    unmeasured: list[str] = field(default_factory=list)  # absent in this run alone: their earlier lines stay
    began: float = field(default_factory=machine.clock)

    def begin(self) -> None:
        """Begins with another entrant.

        Raises:
            HourOverError: the hour of the chapter is over. One table must not mix the hours of a day.
        """
        if machine.clock() - self.began > HOUR:
            raise HourOverError(f"not measured: the chapter had run for {HOUR / 60:.0f} minutes; use --only")

    def publish(self, entrant: Entrant, part: float) -> None:
        """Lets a row be published if it comes near the figures that others show of it.

        Args:
            entrant: of the row.
            part: its rate as a multiple of ours.

        Raises:
            UnpublishedError: it does not.
        """
        reason = shown.withdrawn(self.name, entrant.name, part / self.limit) if self.limit else ""
        if reason:
            raise UnpublishedError(reason)
        why = shown.EXPLAINED.get(self.name, {}).get(entrant.name)
        if why:
            self.notes.append(f"{entrant.name}: {why}")

    def add(self, name: str, part: float, cells: dict[str, str], **figures: Any) -> None:
        """Adds a line, and writes it at once: something may end the run before its end."""
        self.lines.append(Line(name, part, cells, figures, machine.commit(), machine.today(), self.rounds, self.about))
        self.save(only=True)

    def refuse(self, entrant: Entrant, reason: Exception | str) -> None:
        """Notes the reason of an absent entrant: of a traceback, its last line. A failure of ours is raised again."""
        if isinstance(reason, ContenderError) and reason.name == OURS:
            raise reason
        lines = [line.strip() for line in str(reason).splitlines() if line.strip()]
        text = machine_free(lines[-1] if lines else "no reason given")
        data.say(f"  {entrant.name} is absent: {text}")
        self.absent[entrant.name] = text
        if isinstance(reason, HourOverError | environments.MissingError):
            self.unmeasured.append(entrant.name)

    def watch(self, *turns: Turn) -> None:
        for turn in turns:
            self.others += turn.others

    def save(self, only: bool = False) -> None:
        """Writes the JSON of this chapter, then the page and plots of all chapters.

        Args:
            only: some were measured; the earlier lines of all others stay, with their dates. Otherwise those
                of entrants stay that this machine or this hour could not measure.
        """
        disturbance = statistics.median(self.others) if self.others else 0.0
        found = asdict(self) | {
            "minutes": round((machine.clock() - self.began) / 60),
            "others": disturbance,
            "shared": disturbance > DISTURBED,
            "date": machine.today(),
            "machine": machine.describe(),
            "commit": machine.commit(),
        }
        del found["began"], found["unmeasured"]
        FOLDER.mkdir(parents=True, exist_ok=True)
        before = FOLDER / f"{self.name}.json"
        if before.exists():
            _keep(json.loads(before.read_text()), found, self.unmeasured, only)
        before.write_text(json.dumps(found, indent=1) + "\n")
        suite_page.write(FOLDER)


def _keep(before: dict[str, Any], found: dict[str, Any], unmeasured: list[str], only: bool) -> None:
    """Keeps the earlier lines of entrants that were not measured now, with their commits, dates and sets.

    Args:
        before: the earlier results of the chapter.
        found: the results of this run; gets the earlier lines.
        unmeasured: the entrants that this run could not measure.
        only: whether the entrants that are in neither keep their lines, too.
    """
    for line in before["lines"]:
        for key in ("commit", "date", "rounds", "about"):
            line.setdefault(key, before[key])
    here = {line["name"] for line in found["lines"]} | set(found["absent"])
    here |= {loader for loader, format_ in suite_page.NAMES.items() if format_ in here}
    kept = [line for line in before["lines"] if line["name"] in unmeasured or (only and line["name"] not in here)]
    found["lines"] += kept
    for line in kept:
        found["absent"].pop(line["name"], None)
    if only:
        found["absent"] |= {name: reason for name, reason in before["absent"].items() if name not in here}
    if kept or only:
        found["notes"] = list(dict.fromkeys([*before["notes"], *found["notes"]]))
        found["versions"] = before["versions"] | found["versions"]
        found["shared"] = found["shared"] or before["shared"]
        found["others"] = max(found["others"], before["others"])


def contender(entrant: Entrant, factory: str, environment: dict[str, str] | None = None, **arguments: Any) -> Contender:
    """Starts an entrant in its own environment.

    Raises:
        environments.MissingError: the environment cannot be made here.
        ContenderError: the process does not start.
    """
    # a folder with another build of ours than the installed one
    build = os.environ.get("DEEPLAKE_BENCH_OURS")
    if build and entrant is OUR:
        environment = {**(environment or {}), "PYTHONPATH": build}
    return Contender(
        entrant.name,
        "peers",
        factory,
        python=environments.python(entrant.environment),
        # A call that takes longer has failed.
        limit=float(os.environ.get("DEEPLAKE_BENCH_LIMIT_S", "1200")),
        environment=environments.QUIET | (environment or {}),
        module=entrant.module,
        factory=entrant.factory,
        options=entrant.options,
        **arguments,
    )


def versions(entrant: Entrant) -> dict[str, str]:
    """Returns the measured package with its version, by the name of the entrant."""
    if entrant.environment != environments.HERE:
        pinned = environments.versions(entrant.environment)
        return {entrant.name: " ".join(f"{package} {version}" for package, version in pinned.items())}
    names = {"tensorflow": "tensorflow-cpu", "tensorstore": "tensorstore", "files": "torch", "memmap": "torch"}
    if entrant.module not in names:
        return {}
    package = names[entrant.module]
    return {entrant.name: f"{package} {machine.versions(package)[package]}"}


def machine_free(text: str) -> str:
    """Returns a text without the folders of this machine."""
    return text.replace(str(data.CACHE), "build/bench").replace(str(machine.ROOT), ".")[:300]


def spread(values: list[float]) -> str:
    """Returns the median, with the least and the most in brackets."""
    found = Spread.of(values)
    if len(values) == 1:
        return number(found.median)
    return f"{number(found.median)} ({number(found.low)}-{number(found.high)})"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == 0 else f"{value:.3g}"


FAILURES = (UnpublishedError, ContenderError, environments.MissingError, AssertionError)
