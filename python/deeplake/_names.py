"""Names that were not found, and the ones that were probably meant."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar

from deeplake._errors import InvalidArgumentError

_P = ParamSpec("_P")
_R = TypeVar("_R")


def suggest(name: object, known: Iterable[str]) -> str:
    """Returns `; did you mean "x"?` for the nearest known name, or "" when none is close."""
    import difflib

    near = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.65)
    return f'; did you mean "{near[0]}"?' if near else ""


def quoted(names: Iterable[object]) -> str:
    """Returns `"a", "b"`."""
    return ", ".join(f'"{name}"' for name in names)


def checks_keywords(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Makes an unknown keyword argument an InvalidArgumentError that offers the nearest one."""
    code = function.__code__
    called = function.__qualname__.removesuffix(".__init__") if function.__name__ == "__init__" else function.__name__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(function)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        check_keywords(called, kwargs, known)
        return function(*args, **kwargs)

    return checked


def check_keywords(called: str, given: Iterable[Any], known: Collection[str]) -> None:
    """Refuses an unknown name of an argument."""
    for name in given:
        if name not in known:
            raise InvalidArgumentError(f'{called}: unknown argument "{name}"{suggest(name, known)}')


def known_columns(columns: Iterable[str], names: Sequence[Any]) -> list[str]:
    """Returns the columns to take, each of which is one of the names of the source."""
    wanted = list(columns)
    for name in wanted:
        if name not in names:
            known = [str(one) for one in names]
            raise InvalidArgumentError(
                f'ingest: the source has no column "{name}"{suggest(name, known)}; it has {", ".join(known[:16])}'
            )
        if names.count(name) > 1:
            raise InvalidArgumentError(f'ingest: the source has two columns "{name}"; rename one of them')
    return wanted
