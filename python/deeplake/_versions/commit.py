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
        idempotency_key: the name that `commit` gave the change; None without one.
        added, updated, deleted: the numbers of rows that it changed against the version before it.
            Only commits of `log()` and `history()` have them; else they are None.
    """

    id: str
    version: int
    time: datetime
    author: str
    message: str
    rows: int
    renumbered: tuple[Renumbered, ...] = field(default=(), compare=False)
    idempotency_key: str | None = field(default=None, compare=False)
    added: int | None = field(default=None, compare=False)
    updated: int | None = field(default=None, compare=False)
    deleted: int | None = field(default=None, compare=False)
    _time: str = field(default="", repr=False, compare=False)  # with the digits that datetime lacks

    def __repr__(self) -> str:
        changed = f" (+{self.added:,} ~{self.updated:,} -{self.deleted:,})" if self.added is not None else ""
        said = f'{self.rows:,} rows{changed}, "{printable(self.message)}" by {printable(self.author)}'
        return f"Commit({self.version}, {self.id[:8]}, {self._time or text_of(self.time)}, {said})"


def text_of(time: datetime) -> str:
    """Returns a time as it is printed everywhere, in UTC."""
    return time.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def time_of(text: str) -> datetime:
    """Returns the time that the core writes as text."""
    # Python 3.10 reads at most six digits of a second, and no Z.
    seconds, _, fraction = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{seconds}.{(fraction + '000000')[:6]}").replace(tzinfo=timezone.utc)


def commit_of(entry: Mapping[str, Any]) -> Commit:
    """Returns the commit that the core describes."""
    moved = tuple(
        Renumbered(one["tensor"], tuple(one["classes"]), one["rows"]) for one in entry.get("renumbered") or ()
    )
    return Commit(
        entry["commit"], entry["version"], time_of(entry["time"]), entry["author"], entry["message"], entry["rows"],
        renumbered=moved, idempotency_key=entry.get("idempotency_key"), **entry.get("changes", {}), _time=entry["time"],
    )  # fmt: skip
