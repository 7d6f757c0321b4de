"""Views under a name, and views as datasets of their own."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deeplake import _native, tql
from deeplake._checks import check_text
from deeplake._errors import UnsupportedError
from deeplake._query.query import Answer, Question
from deeplake._rows.source import Pinned, Version, open_native
from deeplake._stores import storage as _storage
from deeplake._stores import uri as _uri
from deeplake._text import printable
from deeplake._versions.commit import time_of

if TYPE_CHECKING:
    from deeplake._stores.storage import Storage, Stores


@dataclass(frozen=True)
class SavedView:
    """The description of a saved view.

    Attributes:
        name: its name.
        query: its query, "" for rows that were selected otherwise.
        rows: the number of its rows; None if loading runs the query again.
        commit: the id of its version.
        version: the number of that version.
        author: the user that saved it.
        time: the time of saving, in UTC.
    """

    name: str
    query: str
    rows: int | None
    commit: str
    version: int
    author: str
    time: datetime.datetime
    _about: dict[str, Any] = field(repr=False, compare=False)

    def __repr__(self) -> str:
        rows = "" if self.rows is None else f", {self.rows:,} rows"
        made = f"version {self.version} ({self.commit[:8]}), {self._about['time']} by {printable(self.author)}"
        return f'SavedView("{self.name}"{rows}, {made}, "{printable(self.query)}")'


def saved_views(handle: _native.Dataset) -> list[SavedView]:
    """Returns the saved views of a dataset, by name."""
    return [
        SavedView(
            about["name"],
            about["query"],
            about["rows"] if about["listed"] else None,
            about["commit"],
            about["version"],
            about["author"],
            time_of(about["time"]),
            about,
        )
        for about in handle.views() or ()
    ]


def save(pinned: Pinned, name: str, *, replace: bool) -> None:
    """Saves a view under a name, with its query and the parameters of that."""
    check_text("save view", "name", name)
    version = pinned.version
    if isinstance(version, Answer) and version.of is None:
        raise UnsupportedError(f'save view "{name}": it is of no single dataset; ask it by ds.query, or materialize it')
    handle = version.handle()
    if handle is None:
        handle = open_native(version.uri, version.storage)
    _native.save_view(handle, pinned.view(), name, {"replace": replace})


def load(handle: _native.Dataset, name: str, uri: str, branch: str, storage: Stores) -> Pinned:
    """Loads a saved view. A query with computed columns is asked again."""
    check_text("load view", "name", name)
    found = [saved._about for saved in saved_views(handle) if saved.name == name]
    options = {"stored": True, **_storage.reach(storage)}
    view, told = _native.load_view(handle, name, tql.registered(), options)
    if not found:  # it was saved after the list was read
        return load(handle, name, uri, branch, storage)
    about = found[0]
    question = Question(about["query"], seed=about["seed"], stored=True, saved=about["params"])
    of = Version(uri, about["commit"], None, storage, branch=branch, number=about.get("version"))
    if not question.text:
        return Pinned(of, view.rows())
    return Pinned(Answer(Pinned(of, None), question, storage, told.get("commits"), ready=(view, told)), None)


def materialize(
    pinned: Pinned, uri: Any, *, overwrite: bool, message: str, threads: int | None, storage: Storage | None
) -> str:
    """Copies rows into a new dataset; returns its place."""
    _storage.check(storage)
    check_text("materialize", "message", message)
    place = _uri.resolve(uri)
    options = {"overwrite": overwrite, "message": message, "threads": threads, **_storage.reach(storage)}
    _native.materialize(pinned.view(), place, options)
    return place
