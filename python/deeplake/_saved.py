"""Views under a name, and views as datasets of their own."""

from __future__ import annotations

import base64
import datetime
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake import _native, _storage, _uri, tql
from deeplake._errors import CorruptError, NotFoundError, UnsupportedError
from deeplake._names import check_text, suggest
from deeplake._query import Answer, Question, native_params
from deeplake._source import Pinned, Version, open_native

if TYPE_CHECKING:
    from deeplake._storage import Storage, Stores


@dataclass(frozen=True)
class SavedView:
    """What is known of a view that was saved.

    Attributes:
        name: its name.
        query: what was asked, "" for rows that were selected in another way.
        rows: how many rows it has; None where the query is asked again when it is loaded.
        commit: id of the version that it is of.
        version: number of that version.
        author: who saved it.
        time: when.
    """

    name: str
    query: str
    rows: int | None
    commit: str
    version: int
    author: str
    time: datetime.datetime
    _about: dict[str, Any] = field(repr=False, compare=False)


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
            # fromisoformat of Python 3.10 takes neither Z nor nine digits.
            datetime.datetime.fromisoformat(about["time"].rstrip("Z")[:26].split(".")[0] + "+00:00"),
            about,
        )
        for about in handle.views() or ()
    ]


def save(pinned: Pinned, name: str, *, replace: bool) -> None:
    """Saves a view under a name."""
    check_text("save view", "name", name)
    version = pinned.version
    params: list[Any] = []
    if isinstance(version, Answer):
        if version.of is None:
            raise UnsupportedError(
                f'save view "{name}": it is of no single dataset; ask it by ds.query, or materialize it'
            )
        params = [_written(value) for value in version.question.params]
        if version.commits:
            params.append({"commits": dict(version.commits)})
    handle = version.handle()
    if handle is None:
        handle = open_native(version.uri, version.storage)
    _native.save_view(handle, pinned.view(), name, {"params": params, "replace": replace})


def load(handle: _native.Dataset, name: str, uri: str, branch: str, storage: Stores) -> Pinned:
    """Loads a saved view. One that computes is computed again."""
    check_text("load view", "name", name)
    views = {view.name: view for view in saved_views(handle)}
    if name not in views:
        raise NotFoundError(f'load view "{name}" of "{uri}": there is none of that name{suggest(name, list(views))}')
    about = views[name]._about
    params, commits = _params(name, uri, about["params"])
    question = Question(about["query"], tuple(params), about["seed"], stored=True)
    options = question.options(storage, commits)
    view, told = _native.load_view(handle, name, native_params(question.params), tql.registered(), options)
    of = Version(uri, about["commit"], None, storage, branch=branch)
    if not question.text:
        return Pinned(of, view.rows())
    return Pinned(Answer(Pinned(of, None), question, storage, commits, ready=(view, told)), None)


def materialize(
    pinned: Pinned, uri: Any, *, overwrite: bool, message: str, threads: int | None, storage: Storage | None
) -> str:
    """Copies rows into a new dataset; returns where it lies."""
    _storage.check(storage)
    check_text("materialize", "message", message)
    place = _uri.resolve(uri)
    options = {"overwrite": overwrite, "message": message, "threads": threads, **_storage.reach(storage)}
    _native.materialize(pinned.view(), place, options)
    return place


def _written(value: Any) -> Any:
    """Returns a parameter as JSON from which `_read` makes it again."""
    if value is None or isinstance(value, str | bool | int | float):
        return value if not isinstance(value, float) or np.isfinite(value) else {"number": repr(value)}
    if isinstance(value, tql.Each):
        return {"each": _written(value.values)}
    if isinstance(value, dict):
        return {"json": value}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, datetime.datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    if isinstance(value, datetime.timedelta):
        return {"interval": value // datetime.timedelta(microseconds=1)}
    if hasattr(value, "detach"):  # torch
        value = value.detach().cpu()
    array = np.asarray(value)
    if array.dtype.kind in "mM":
        return {"time": int(array.astype(np.int64)), "dtype": str(array.dtype)}
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"array": data, "dtype": array.dtype.str, "shape": list(array.shape)}


# Dtypes that `_written` writes of arrays of numbers, and of times. Text has its size in bytes
# behind the letter.
_NUMBERS = frozenset(np.dtype(name).str for name in "?bBhHiIqQefdFD")
_TEXT = re.compile(r"[<|][US][1-9]\d{0,9}")
_TIME = re.compile(r"(datetime64|timedelta64)(\[\d{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?")


def _params(name: str, uri: str, written: Any) -> tuple[list[Any], dict[str, str] | None]:
    """Returns the parameters of a saved view, and the commits that its query reads.

    Raises:
        CorruptError: `_written` does not write such a parameter.
    """
    commits = None
    number = 0
    try:
        written = list(written or ())
        if written and isinstance(written[-1], dict) and "commits" in written[-1]:
            commits = written.pop()["commits"]
            if not isinstance(commits, dict) or not all(isinstance(v, str) for v in commits.values()):
                raise ValueError(f"commits is a {type(commits).__name__}, want an object of texts")
        params = []
        for number, value in enumerate(written, 1):  # noqa: B007
            params.append(_read(value))
    except (ArithmeticError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise CorruptError(
            f'load view "{name}" of "{uri}": parameter {number} cannot be read ({error!r:.200}); save the view again'
        ) from error
    return params, commits


def _read(value: Any, *, inner: bool = False) -> Any:
    if not isinstance(value, dict):
        return value
    if "number" in value:
        return float(value["number"])
    if "each" in value and not inner:
        return tql.Each(_read(value["each"], inner=True))
    if "json" in value:
        return value["json"]
    if "bytes" in value:
        return base64.b64decode(value["bytes"])
    if "timestamp" in value:
        return datetime.datetime.fromisoformat(value["timestamp"])
    if "date" in value:
        return datetime.date.fromisoformat(value["date"])
    if "interval" in value:
        return datetime.timedelta(microseconds=value["interval"])
    if "time" in value:
        if not isinstance(value["dtype"], str) or not _TIME.fullmatch(value["dtype"]):
            raise ValueError(f"dtype is {value['dtype']!r:.80}, want one of dates or times")
        return np.array(value["time"], np.int64).astype(value["dtype"])[()]
    return _array(base64.b64decode(value["array"]), value["dtype"], value["shape"])


def _array(data: bytes, name: Any, shape: Any) -> Any:
    """Returns an array of a saved parameter. It takes no more memory than its data."""
    text = isinstance(name, str) and _TEXT.fullmatch(name)
    if text and int(name[2:]) * (4 if name[1] == "U" else 1) > max(len(data), 1 << 16):
        raise ValueError(f"dtype is {name}, want at most the {len(data)} bytes of the data")
    if not text and name not in _NUMBERS:
        raise ValueError(f"dtype is {name!r:.80}, want one of numbers or text")
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"shape is {shape!r:.80}, want a list of sizes")
    dtype = np.dtype(name)
    want = math.prod(shape) * dtype.itemsize
    if want != len(data):
        raise ValueError(f"shape and dtype want {want} bytes, and the data has {len(data)}")
    return np.frombuffer(data, dtype).reshape(shape).copy() if data else np.empty(shape, dtype)
