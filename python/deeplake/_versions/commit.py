"""Commits as users see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from deeplake._text import printable


@dataclass(frozen=True)
class Renumbered:
    """Labels that a commit or merge gave other numbers, as other classes came first.

    Attributes:
        tensor: the name of the tensor.
        classes: the classes whose numbers changed.
        rows: the number of rows that were written again.
    """

    tensor: str
    classes: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class Commit:
    """One version of a dataset.

    Attributes:
        id: its id, 32 hexadecimal digits.
        version: its number on its branch.
        time: its time, in UTC.
        author: the user that made it: DEEPLAKE_AUTHOR as it was when the process first used
            deeplake, else the name and address in the configuration of git, else the account.
        message: its message.
        rows: the number of rows.
        renumbered: the labels to which this `commit` or `merge` gave other numbers; empty of older
            commits.
    """

    id: str
    version: int
    time: datetime
    author: str
    message: str
    rows: int
    renumbered: tuple[Renumbered, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        when = self.time.isoformat()
        return f'Commit({self.version}, {self.id[:8]}, {when}, {self.rows:,} rows, "{printable(self.message)}")'


def time_of(text: str) -> datetime:
    """Returns the time that the core writes as text."""
    # Python 3.10 reads at most six digits of a second, and no Z.
    seconds, _, fraction = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{seconds}.{(fraction + '000000')[:6]}").replace(tzinfo=timezone.utc)


def commit_of(entry: Mapping[str, Any]) -> Commit:
    """Returns the commit that the core describes."""
    time = time_of(entry["time"])
    moved = tuple(
        Renumbered(one["tensor"], tuple(one["classes"]), one["rows"]) for one in entry.get("renumbered") or ()
    )
    return Commit(entry["commit"], entry["version"], time, entry["author"], entry["message"], entry["rows"], moved)
