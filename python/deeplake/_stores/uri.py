"""URIs of datasets: names (`deeplake://org/name`), paths and addresses. The core resolves them."""

from __future__ import annotations

import os
from typing import NamedTuple

from deeplake import _native
from deeplake._checks import check_text
from deeplake._errors import InvalidArgumentError

SCHEME = "deeplake://"

# The variables that names depend on. The core sees the environment of the time when it was loaded.
_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DEEPLAKE_ROOTS")


class Organisation(NamedTuple):
    """An organisation of `deeplake://org/name`, and the folder or address of its datasets."""

    name: str
    root: str


def resolve(uri: str | os.PathLike[str]) -> str:
    """Returns the place that a URI names: an absolute path, or an address with a scheme."""
    try:
        text = os.fspath(uri)
    except TypeError:
        raise InvalidArgumentError(f"resolve uri: got {type(uri).__name__}, want a str or a path") from None
    check_text("resolve uri", "the uri", text)
    return _native.resolve(text, _environ())


def organisation(uri: str) -> Organisation | None:
    """Returns the organisation of `deeplake://org` or `deeplake://org/`, None for any other URI."""
    check_text("resolve uri", "the uri", uri)
    found = _native.root_of(uri, _environ())
    return Organisation(found["org"], found["root"]) if found["org"] else None


def organisations() -> list[str]:
    """Returns the organisations that the configuration or the default folder names, in order."""
    return _native.orgs(_environ())


def _environ() -> dict[str, str]:
    return {name: os.environ[name] for name in _VARIABLES if name in os.environ}
