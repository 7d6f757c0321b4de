"""Queries with their parameters, and their results as sources of views."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from deeplake import _index, _native, tql
from deeplake._checks import check_text, integer
from deeplake._errors import ForkedError, InvalidArgumentError
from deeplake._index import Rows
from deeplake._rows.source import Pinned, Version
from deeplake._stores import storage as _storage
from deeplake._stores.storage import Stores
from deeplake._text import printable_lines

_EPOCH = datetime.date(1970, 1, 1)
_EPOCH_TIME = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)


@dataclass(frozen=True)
class Explanation:
    """The plan of a query, and the figures of its run if there was one. Its text is a tree for
    people.

    Attributes:
        text: the tree.
        plan: the same as JSON values.
    """

    text: str
    plan: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return printable_lines(self.text)

    __repr__ = __str__


@dataclass(frozen=True)
class Question:
    """A query with all that decides its result, except the rows that it reads. It pickles."""

    text: str
    params: tuple[Any, ...] = ()
    seed: int = 0
    memory: int | None = None
    threads: int | None = None
    stored: bool = False  # the text was read from a dataset: it may not lead anywhere
    saved: Any = None  # parameters as a saved view keeps them, instead of params; the core reads them

    def __post_init__(self) -> None:
        check_text("query", "the text", self.text)
        for name, least, optional in (("seed", 0, False), ("memory", 1, True), ("threads", 1, True)):
            value = getattr(self, name)
            if optional and value is None:
                continue
            if (number := integer(value)) is None or not least <= number < 1 << 63:
                raise InvalidArgumentError(f"query: {name} is {value!r}, want an int of {least} to 2**63 - 1")
        if len(self.params) == 1 and isinstance(self.params[0], Mapping):
            object.__setattr__(self, "params", (dict(self.params[0]),))
        self._native_params()  # refuses wrong ones now

    def _given(self) -> tuple[list[str] | None, Sequence[Any]]:
        """Returns the names of the values, None for those of ?, and the values.

        A single dict has a value for each :name. In a query with ? it is a value itself.
        """
        if len(self.params) != 1 or not isinstance(self.params[0], dict):
            return None, self.params
        if "" in _native.query_parameters(self.text)["parameters"]:
            return None, self.params
        for name in self.params[0]:
            if not isinstance(name, str):
                raise InvalidArgumentError(f"query: the name of a parameter is {name!r}, want a str")
        return list(self.params[0]), list(self.params[0].values())

    def _native_params(self) -> list[tuple[str, Any, str]]:
        names, values = self._given()
        return native_params(values, names)

    def options(self, storage: Stores, commits: Mapping[str, str] | None) -> dict[str, Any]:
        names, values = self._given()
        return {
            "names": names,
            "seed": int(self.seed),
            "budget": self.memory,
            "threads": self.threads,
            "each": [number for number, value in enumerate(values) if isinstance(value, tql.Each)],
            "commits": commits,
            "stored": self.stored,
            "saved_params": self.saved,
            **_storage.reach(storage),
        }

    def ask(
        self, view: _native.View | None, storage: Stores, commits: Mapping[str, str] | None = None
    ) -> tuple[_native.View, dict[str, Any]]:
        """Returns the native view of the result, and the core's description of it."""
        return _native.query(view, self.text, self._native_params(), tql.registered(), self.options(storage, commits))

    def explain(self, view: _native.View | None, storage: Stores, *, analyze: bool) -> Explanation:
        """Returns the plan; with `analyze` the query runs, and the figures of the run are added."""
        options = {**self.options(storage, None), "analyze": analyze}
        about = _native.explain(view, self.text, self._native_params(), tql.registered(), options)
        return Explanation(about["text"], about["explanation"])


class Answer(Version):
    """The rows of a query's result. Another process runs the query again on the same rows."""

    __slots__ = ("_origin", "about", "commits", "of", "question")

    def __init__(
        self,
        of: Pinned | None,
        question: Question,
        storage: Stores,
        commits: Mapping[str, str] | None = None,
        uri: str = "",
        origin: str = "",
        *,
        ready: tuple[_native.View, dict[str, Any]] | None = None,
    ) -> None:
        base = None if of is None else of.version
        super().__init__(
            uri if base is None else base.uri,
            "" if base is None else base.commit,
            None,
            storage,
            branch="main" if base is None else base.branch,
            uncommitted=base is not None and base.uncommitted,
        )
        self.of = of
        self.commits = commits
        self.question = question
        self.about: dict[str, Any] = {}
        self._origin = origin
        if ready is not None:
            self._answered(*ready)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.uncommitted:
            return super().__reduce__()  # which refuses
        return Answer, (self.of, self.question, self.storage, self.commits, self.uri, self._origin)

    @property
    def origin(self) -> str:
        return self._origin or self.uri

    def _answered(self, root: _native.View, about: dict[str, Any]) -> None:
        self._root, self.about = root, about
        self._origin = str(about.get("origin", "")).removeprefix("file://")
        if self.of is None:
            self.uri = str(about["uri"]).removeprefix("file://")

    def root(self) -> _native.View:
        root = self._root
        if root is None or root.generation != _native.generation():
            if self.uncommitted and root is not None:
                raise ForkedError(
                    f'use the result of a query of "{self.uri}" in a forked process: some rows are not committed, and '
                    "only the parent process has them; commit, or discard, what was written first"
                )
            view = None if self.of is None else self.of.view()
            root, about = self.question.ask(view, self.storage, self.commits)
            self._answered(root, about)
            self.commits = about.get("commits")
        return root

    def handle(self) -> _native.Dataset | None:
        return None if self.of is None else self.of.version.handle()

    def numbers(self, rows: Rows) -> npt.NDArray[np.int64]:
        root = self.root()
        everything = isinstance(rows, range) and rows == range(len(root))
        return root.rows() if everything else root.select(_index.as_array(rows)).rows()


def answer(of: Pinned | None, question: Question, storage: Stores) -> Pinned:
    """Runs a query; returns the rows of its result."""
    return Pinned(Answer(of, question, storage), None)


def native_params(params: Sequence[Any], names: Sequence[str] | None = None) -> list[tuple[str, Any, str]]:
    """Returns each parameter as (unit of its number or "", value, name of its type).

    The core converts the units of NumPy. A time may name the zone in which it was written, as in
    "timestamp+02:00"; saved views keep it.
    """
    labels = [str(n + 1) for n in range(len(params))] if names is None else [f":{name}" for name in names]
    return [_native_param(label, value) for label, value in zip(labels, params, strict=True)]


def _native_param(label: str, value: Any) -> tuple[str, Any, str]:
    if isinstance(value, tql.Each):
        value = value.values
    if isinstance(value, np.datetime64 | np.timedelta64):
        return value.dtype.name, int(value.astype(np.int64)), "int64"
    if isinstance(value, datetime.datetime):
        zone = "" if value.tzinfo is None else value.isoformat()[len(value.replace(tzinfo=None).isoformat()) :]
        since = value.replace(tzinfo=value.tzinfo or datetime.timezone.utc) - _EPOCH_TIME
        return f"timestamp{zone}", since // _MICROSECOND, "int64"
    if isinstance(value, datetime.date):
        return "date", (value - _EPOCH).days, "int64"
    if isinstance(value, datetime.timedelta):
        return "interval", value // _MICROSECOND, "int64"
    if value is None or isinstance(value, str):
        return "", None if value is None else str(value), "string"
    if isinstance(value, dict):
        return "", value, "json"
    if isinstance(value, bool | int | float):
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
            raise InvalidArgumentError(f"query: parameter {label} is {value}, beyond what 64 bits hold")
        if isinstance(value, int) and value >= 1 << 63:
            return "", np.uint64(value).reshape(()), "uint64"
        return "", value, "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float64"
    if isinstance(value, bytes):
        return "", value, "bytes"
    if isinstance(value, set | frozenset):
        value = list(value)
    if hasattr(value, "detach"):  # torch
        value = value.detach().cpu()
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as err:
        raise InvalidArgumentError(f"query: parameter {label} is no array: {err}") from err
    if array.dtype.kind in "OU" and array.ndim == 1:
        items = array.tolist() if isinstance(value, np.ndarray) else list(value)
        if all(item is None or isinstance(item, str) for item in items):
            return "", items, "json"
    if array.dtype.kind not in "biuf":
        raise InvalidArgumentError(
            f"query: parameter {label} is a {type(value).__name__} of dtype {array.dtype}, want a number, a str, "
            "None, a date, a dict, an array of numbers, or a list of texts"
        )
    return "", np.ascontiguousarray(array).reshape(array.shape), array.dtype.name
