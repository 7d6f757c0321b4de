"""Names that were not found, and the ones that were probably meant."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from deeplake._errors import InvalidArgumentError

_P = ParamSpec("_P")
_R = TypeVar("_R")

_NESTED = (dict, list, tuple)  # of JSON


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


def check_text(called: str, what: str, text: Any) -> None:
    """Refuses text that C cannot take: no str, text with a NUL, or half of a surrogate pair."""
    if not isinstance(text, str):
        raise InvalidArgumentError(f"{called}: {what} is a {type(text).__name__}, want a str")
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidArgumentError(f"{called}: {what} is {text!r}, want text without NUL and without half a character")


def check_dict(called: str, what: str, given: Any) -> dict[str, Any]:
    """Returns a mapping as a dict, and refuses anything else."""
    if not isinstance(given, Mapping):
        raise InvalidArgumentError(f"{called}: {what} is a {type(given).__name__}, want a dict")
    made = dict(given)
    if keys := same_keys(made):
        raise InvalidArgumentError(f"{called}: {what} {keys}")
    return made


def same_keys(value: Any) -> str:
    """Returns which keys of a dict within a value are one text in JSON, "" if none are."""
    try:
        clash = _clash(value)
    except RecursionError:  # json refuses it too
        return ""
    if clash is None:
        return ""
    return f"has the keys {clash[0]!r} and {clash[1]!r} in one dict, which are one text in JSON; rename one of them"


def _clash(value: Any) -> tuple[Any, Any] | None:
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                texts: dict[str, Any] = {}
                for one in value:
                    if (other := texts.setdefault(_text_of(one), one)) is not one:
                        return other, one
                break
        value = value.values()
    for item in value:
        if isinstance(item, _NESTED) and (clash := _clash(item)):
            return clash
    return None


def _text_of(key: Any) -> str:
    """Returns a key as `json.dumps` writes it."""
    if isinstance(key, str):
        return str(key)
    return str(key).lower() if isinstance(key, bool) else "null" if key is None else repr(key)


def check_floats(called: str, what: str, given: Any) -> list[float]:
    """Returns numbers as floats, and refuses anything else."""
    try:
        return [float(number) for number in given]
    except (TypeError, ValueError):
        raise InvalidArgumentError(f"{called}: {what} is {given!r}, want a list of numbers") from None


def check_ints(called: str, what: str, given: Any) -> list[int]:
    """Returns integers of 64 bits as a list, and refuses anything else."""
    try:
        numbers = [operator.index(number) for number in given]
    except TypeError:
        raise InvalidArgumentError(f"{called}: {what} is {given!r}, want integers") from None
    for number in numbers:
        if not -(1 << 63) <= number < 1 << 63:
            raise InvalidArgumentError(f"{called}: {what} has {number}, which is beyond 64 bits")
    return numbers


def check_names(called: str, names: Any, what: str = "tensors") -> None:
    """Refuses anything but None and collections of names. An iterator would be used up by the
    check.
    """
    listed = names is None or (isinstance(names, Collection) and not isinstance(names, str | bytes))
    if not listed or not all(isinstance(name, str) for name in (() if names is None else names)):
        raise InvalidArgumentError(f"{called}: {what} is {names!r}, want a list of names")


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
