"""Everybody side by side: the tables, plots and page of the comparison with other loaders (`make bench-all`).

Ours and one other at a time take turns; so the ratios are of neighbours in time, and what one leaves in memory or on
the disk is gone before the next comes. Whoever cannot take part stands in the tables with the reason.
"""

from __future__ import annotations

import datetime
import json
import os
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import data
import environments
import machine
import suite_page
from protocol import DISTURBED, Contender, ContenderError, Spread, Turn
from roster import Entrant

PLACE = Path(__file__).resolve().parent / "results" / "peers"
SCRATCH = data.CACHE / "suite" / str(os.getpid())  # of this run alone
OURS = "deeplake"
OUR = Entrant(OURS, environments.HERE, "ours", "Ours")
LIMIT, COPY = "libjpeg-turbo in C", "memcpy in C"


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

    def add(self, name: str, part: float, cells: dict[str, str], **figures: Any) -> None:
        """Adds a line, and writes it at once: hours may be left in which something ends the run."""
        self.lines.append(Line(name, part, cells, figures, machine.commit(), today(), self.rounds))
        self.save(only=True)

    def refuse(self, entrant: Entrant, reason: Exception | str) -> None:
        """Says why somebody is not in the table: of a traceback, its last line. A failure of ours is raised again."""
        if isinstance(reason, ContenderError) and reason.name == OURS:
            raise reason
        lines = [line.strip() for line in str(reason).splitlines() if line.strip()]
        text = machine_free(lines[-1] if lines else "no reason given")
        data.say(f"  {entrant.name} is absent: {text}")
        self.absent[entrant.name] = text

    def watch(self, *turns: Turn) -> None:
        for turn in turns:
            self.others += turn.others

    def save(self, only: bool = False) -> None:
        """Writes the JSON, then the page and plots of all that is there.

        Args:
            only: some were measured; what was said of the rest before stays.
        """
        disturbance = statistics.median(self.others) if self.others else 0.0
        found = asdict(self) | {
            "others": disturbance,
            "shared": disturbance > DISTURBED,
            "date": today(),
            "machine": machine.describe(),
            "commit": machine.commit(),
        }
        PLACE.mkdir(parents=True, exist_ok=True)
        before = PLACE / f"{self.name}.json"
        if only and before.exists():
            _keep(json.loads(before.read_text()), found)
        before.write_text(json.dumps(found, indent=1) + "\n")
        suite_page.write(PLACE)


def today() -> str:
    """Returns the date, in UTC."""
    return datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()


def _keep(before: dict[str, Any], found: dict[str, Any]) -> None:
    """Adds to what was found what was said before of those who are not in it, with the commit and date of then."""
    for line in before["lines"]:
        for key in ("commit", "date", "rounds"):
            line.setdefault(key, before[key])
    here = {line["name"] for line in found["lines"]} | set(found["absent"])
    found["lines"] += [line for line in before["lines"] if line["name"] not in here]
    found["absent"] |= {name: reason for name, reason in before["absent"].items() if name not in here}
    found["notes"] = list(dict.fromkeys([*before["notes"], *found["notes"]]))
    found["versions"] = before["versions"] | found["versions"]
    found["shared"] = found["shared"] or before["shared"]
    found["others"] = max(found["others"], before["others"])


def contender(entrant: Entrant, factory: str, environment: dict[str, str] | None = None, **arguments: Any) -> Contender:
    """Starts one in its own environment.

    Raises:
        environments.MissingError: it cannot be here.
        ContenderError: it does not start.
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
        # What takes longer has failed.
        limit=float(os.environ.get("DEEPLAKE_BENCH_LIMIT_S", "1200")),
        environment=environments.QUIET | (environment or {}),
        module=entrant.module,
        factory=entrant.factory,
        options=entrant.options,
        **arguments,
    )


def versions(entrant: Entrant) -> dict[str, str]:
    """Returns what was measured, with its version, by the name of the entrant."""
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


FAILURES = (ContenderError, environments.MissingError, AssertionError)
