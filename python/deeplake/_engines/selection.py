"""Rows of one commit, in a form that tasks on other machines can open."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deeplake._errors import InvalidArgumentError, UnsupportedError
from deeplake._index import Rows
from deeplake._names import quoted
from deeplake._query.query import Answer, Question, answer
from deeplake._rows.source import COMMIT_FIRST, Pinned, Version
from deeplake._stores.carried import Carried
from deeplake._stores.storage import Stores

# Functions of a row alone: a condition of them has one answer, whichever rows stand beside it.
_OF_A_ROW = {
    "ABS", "AND", "CONTAINS", "ENDS_WITH", "IN", "ISFINITE", "ISINF", "ISNAN", "LENGTH", "LOWER", "NOT", "OR", "SHAPE",
    "STARTS_WITH", "UPPER", "WHERE",
}  # fmt: skip
_LITERAL = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_CALL = re.compile(r"(\w+) ?\(")
_WORD = re.compile(r"[A-Za-z_]+")
# A column of such a name sends the query to the driver, too.
_OF_MANY_ROWS = {
    "ACROSS", "ARRANGE", "AS", "BY", "DISTINCT", "EXCEPT", "EXPAND", "FROM", "GROUP", "HAVING", "INTERSECT", "JOIN",
    "LIMIT", "OFFSET", "ORDER", "OVER", "SAMPLE", "SPLIT", "UNGROUP", "UNION",
}  # fmt: skip
_WAY_OUT = "copy the result by materialize(uri), and read that"


@dataclass(frozen=True)
class Selection:
    """Rows of one commit, and conditions on them that the tasks check.

    Attributes:
        number: the number of the commit on its branch, by which opening takes few requests.
        rows: numbers of rows of the dataset, in the order in which they are read.
        names: the tensors of the rows.
        wheres: queries of the form SELECT ... WHERE, each on the rows that the one before it keeps.
    """

    uri: str
    commit: str
    branch: str
    number: int
    stores: Carried
    rows: Rows
    names: tuple[str, ...]
    wheres: tuple[Question, ...] = ()

    def part(self, start: int, stop: int) -> Selection:
        """Returns the rows at some positions, for one task."""
        return replace(self, rows=_as_range(self.rows[start:stop]))

    def opened(self) -> Pinned:
        """Opens the rows that meet the conditions. A process opens a dataset once."""
        version = _version(self.uri, self.commit, self.branch, self.number, self.stores.stores)
        pinned = Pinned(version, self.rows)
        for question in self.wheres:
            pinned = answer(pinned, question, pinned.version.storage)
        return pinned


def _as_range(rows: Rows) -> Rows:
    if isinstance(rows, range) or not len(rows) or np.any(np.diff(rows) != 1):
        return rows
    return range(int(rows[0]), int(rows[0]) + len(rows))


@functools.lru_cache(maxsize=4)
def _version(uri: str, commit: str, branch: str, number: int, stores: Stores) -> Version:
    """Returns a version, which the tasks of a process share."""
    return Version(uri, commit, None, stores, branch=branch, number=number)


def selected(called: str, pinned: Pinned) -> Selection:
    """Returns the rows of a dataset, a view, or a query's result.

    Raises:
        UnsupportedError: they are not committed, lie in memory, or are no rows of one dataset.
    """
    version, rows, names = pinned.version, pinned.rows, tuple(pinned.names())
    if version.uncommitted:
        raise UnsupportedError(f'{called}: some rows of "{version.uri}" are not committed yet; {COMMIT_FIRST}')
    if isinstance(version, Answer):
        try:
            rows = _as_range(pinned.numbers())
        except (InvalidArgumentError, UnsupportedError) as err:
            raise UnsupportedError(f"{called}: {err}; {_WAY_OUT}") from err
    while isinstance(version, Answer):
        _check_stored(called, version)
        if version.of is None:
            place = version.origin
            commits = {uri.removeprefix("file://"): commit for uri, commit in version.about["commits"].items()}
            version = Version(place, commits[place], None, version.storage)
        else:
            version = version.of.version
    if version.uri.startswith("mem://"):
        raise UnsupportedError(
            f'{called}: "{version.uri}" lies in the memory of this process; use a dataset on a disk or in a store'
        )
    number = version.number
    if number is None:
        number = version.root().describe()["head"]["version"]
    return Selection(version.uri, version.commit, version.branch, number, Carried(version.storage), rows, names)


def asked(called: str, pinned: Pinned, text: str, params: Sequence[Any] | Mapping[str, Any]) -> Selection:
    """Returns the rows that a query selects. Tasks check a plain WHERE on their parts; any other
    query runs here, once.
    """
    question = Question(text, (params,) if isinstance(params, Mapping) else tuple(params))
    storage = pinned.version.storage
    none = answer(pinned.select(range(0)), question, storage)
    none.version.root()
    assert isinstance(none.version, Answer)
    if not _is_of_a_row(str(none.version.about.get("query", ""))):
        return selected(called, answer(pinned, question, storage))
    _check_stored(called, none.version)
    whole = selected(called, pinned)
    return replace(whole, names=tuple(none.names()), wheres=(question,))


def _check_stored(called: str, version: Answer) -> None:
    """Refuses a query whose columns are not those of the dataset."""
    version.root()
    computed = [about["name"] for about in version.about["outputs"] if about["computed"]]
    if computed:
        raise UnsupportedError(f"{called}: the query computes {quoted(computed)}; {_WAY_OUT}")
    if re.search(r"\bAS\b", _LITERAL.sub("", str(version.about.get("query", "")))):
        raise UnsupportedError(
            f"{called}: the query renames columns; leave out AS, and rename the columns of the result"
        )


def _is_of_a_row(query: str) -> bool:
    """Returns whether a query only keeps rows by a condition, which sees one row at a time."""
    bare = _LITERAL.sub(" x ", query)
    words = [word.upper() for word in _WORD.findall(bare)]
    return (
        words.count("SELECT") == 1
        and words.count("WHERE") == 1
        and not _OF_MANY_ROWS.intersection(words)
        and {name.upper() for name in _CALL.findall(bare)} <= _OF_A_ROW
    )
