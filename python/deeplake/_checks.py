"""Checks of arguments. Each refuses a value of another type, with the argument's name."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from typing import Any, overload

from deeplake._errors import InvalidArgumentError
from deeplake._names import suggest

_MASK = "; np.flatnonzero(mask) has the numbers of a mask"

_NESTED = (dict, list, tuple)  # of JSON


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
        return [float(number) for number in _listed(given)]
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgumentError(f"{called}: {what} is {given!r}, want a list of numbers") from None


def integer(value: Any) -> int | None:
    """Returns an integer of Python, NumPy or torch as an int; None for anything else, which bools
    and arrays are.
    """
    # torch makes an int of an array with one element, and of a bool
    axes, dtype = getattr(value, "ndim", None), getattr(value, "dtype", "")
    if isinstance(value, bool) or axes or str(dtype).endswith("bool"):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def check_ints(called: str, what: str, given: Any) -> list[int]:
    """Returns integers of 64 bits as a list, and refuses anything else."""
    try:
        listed = list(_listed(given))
    except TypeError:
        raise InvalidArgumentError(f"{called}: {what} is {given!r}, want integers") from None
    numbers = []
    for item in listed:
        number = integer(item)
        if number is None:
            raise InvalidArgumentError(f"{called}: {what} is {given!r}, want integers{_MASK * _is_bool(item)}")
        if not -(1 << 63) <= number < 1 << 63:
            raise InvalidArgumentError(f"{called}: {what} has {number}, which is beyond 64 bits")
        numbers.append(number)
    return numbers


def check_flag(called: str, what: str, value: Any) -> bool:
    """Returns True or False, and refuses anything else, such as arrays, whose truth is an error."""
    if not _is_bool(value):
        raise InvalidArgumentError(f"{called}: {what} is {value!r}, want True or False")
    return bool(value)


def check_choice(called: str, what: str, value: Any, choices: Sequence[str]) -> None:
    """Refuses anything but one of some words. A value of another type, such as an array, may not
    compare.
    """
    if not isinstance(value, str) or value not in choices:
        *first, last = (f'"{choice}"' for choice in choices)
        raise InvalidArgumentError(
            f"{called}: {what} is {value!r}, want {', '.join(first)} or {last}{suggest(value, choices)}"
        )


@overload
def check_names(called: str, names: None, what: str = "tensors") -> None: ...
@overload
def check_names(called: str, names: Collection[str], what: str = "tensors") -> list[str]: ...
@overload
def check_names(called: str, names: Any, what: str = "tensors") -> list[str] | None: ...
def check_names(called: str, names: Any, what: str = "tensors") -> list[str] | None:
    """Returns a collection of names as a list, None for None, and refuses anything else.

    Arrays and columns of names are collections, whose truth nobody may ask. An iterator is refused,
    since a loader that is made twice would find it used up.
    """
    if names is None:
        return None
    try:
        listed = list(_listed(names)) if isinstance(names, Collection) else [None]
    except TypeError:  # an array without axes
        listed = [None]
    if not all(isinstance(name, str) for name in listed):
        raise InvalidArgumentError(f"{called}: {what} is {names!r}, want a list of names")
    return [str(name) for name in listed]


def _is_bool(value: Any) -> bool:
    return type(value).__name__ in ("bool", "bool_")  # NumPy 1 has the other name


def _listed(given: Any) -> Any:
    """Refuses text and bytes, whose items nobody means."""
    if isinstance(given, str | bytes | bytearray | memoryview):
        raise TypeError
    return given
