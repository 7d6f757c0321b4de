"""Values for json tensors: columns of pandas, and the keys of dicts."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from deeplake._checks import same_keys
from deeplake._errors import InvalidArgumentError
from deeplake._samples.column import Column

_NESTED = (dict, list, tuple)


def check_json(called: str, columns: Mapping[str, Any], types: Mapping[str, str]) -> None:
    """Refuses values for json tensors that would lose one of two keys: 1 and "1" are one in JSON.

    Args:
        called: the operation, for messages.
        columns: the samples by tensor.
        types: of tensors, as the native `append` wants them.
    """
    for name, column in columns.items():
        if types.get(name) in ("json", "sequence[json]") and isinstance(column, list | tuple):
            for row, value in enumerate(column):
                if isinstance(value, _NESTED) and (keys := same_keys(value)):
                    raise InvalidArgumentError(f'{called} tensor "{name}": row {row} {keys}')


def json_samples(what: str, values: Any, *, sequence: bool) -> Any:
    """Returns the samples of a json tensor. A str is a value, as everywhere in Python, and as
    `to_pandas` gives it.
    """
    if isinstance(values, Column) and values.__deeplake_counts__:
        return values
    if isinstance(values, Column):
        marks, values = values.__deeplake_missing__, values.__deeplake_values__
        listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
        return listed if marks is None else [None if gone else v for v, gone in zip(listed, marks, strict=True)]
    if isinstance(values, np.ndarray):
        return values.tolist()
    if not sequence and (example := _unparsed(values)):
        warnings.warn(
            f"{what} has JSON text, like {example[:80]!r}; a str of pandas is stored as a JSON string. To store the "
            "values, parse it first: frame[name].map(json.loads)",
            UserWarning,
            stacklevel=_callers_level(),
        )
    return values


def _callers_level() -> int:
    """Returns the stack level of the user's code, for a warning of the function that calls this."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("deeplake."):
        level, frame = level + 1, frame.f_back
    return level


def _unparsed(values: list[Any]) -> str:
    """Returns the first text if all samples are texts, and it is that of an object or array."""
    known = [value for value in values if value is not None]
    if not known or not all(isinstance(value, str) and value[:1] in ("{", "[") for value in known):
        return ""
    try:
        json.loads(known[0])
    except (ValueError, RecursionError):
        return ""
    return str(known[0])
