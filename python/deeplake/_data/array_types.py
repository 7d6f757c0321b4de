"""The tensors that arrays become, by their dtype."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from deeplake._errors import TensorTypeError
from deeplake._samples.column import count

_NUMBERS = ("bool", "float16", "float32", "float64", "complex64", "complex128")


def typed(
    where: str, dtype: np.dtype[Any], axes: int, asked: Mapping[str, Any]
) -> tuple[dict[str, Any], Callable[[Any, int], Any]]:
    """Returns the spec of a tensor for values of a dtype, and the function that converts them."""
    meta: Mapping[str, Any] = dtype.metadata or {}
    inner = meta.get("vlen")
    if inner in (str, bytes) or dtype.kind in "UST":
        if axes > 2:
            raise TensorTypeError(f"{where} is an array of texts with {axes} axes, want 1 or 2; reshape it")
        if asked.get("dtype") == "bytes":
            return {}, lambda values, start: values.tolist()
        return {"htype": "text" if axes == 1 else "sequence[text]"}, lambda values, start: _texts(where, values, start)
    if inner is not None and axes == 1 and _is_plain(np.dtype(inner)):
        native = np.dtype(inner).newbyteorder("=")
        return {"dtype": native.name}, lambda values, start: [np.asarray(value, native) for value in values]
    names = meta.get("enum")
    if names is not None and axes <= 2 and asked.get("htype", "class_label") == "class_label" and "dtype" not in asked:
        return _classes(where, names)
    native = dtype.newbyteorder("=")
    if dtype.kind in "iu" or dtype.name in _NUMBERS:
        return {"dtype": native.name}, lambda values, start: np.ascontiguousarray(values, native)
    if dtype.kind in "mM":
        time = count(np.zeros(0, native)).__deeplake_counts__
        return {"dtype": time}, lambda values, start: np.ascontiguousarray(values, native)
    if dtype.kind in "fc":
        raise TensorTypeError(
            f'{where} has dtype {dtype}, which tensors cannot hold; cast it, as by .astype("float64"), or leave it out '
            "by columns="
        )
    what = "references" if "ref" in meta else "lists of other types" if inner is not None else "opaque bytes"
    raise TensorTypeError(
        f"{where} holds {'Python objects' if dtype.kind == 'O' and not meta else what} ({dtype}), want numbers, texts "
        "or lists of numbers; leave it out by columns="
    )


def _is_plain(inner: np.dtype[Any]) -> bool:
    """Returns whether lists of a dtype become samples. h5py does not swap bytes in lists."""
    return inner.kind in "biufc" and not inner.metadata and inner.isnative


def _texts(where: str, values: Any, start: int) -> Any:
    """Returns texts as str: bytes are UTF-8."""
    rows = values.tolist()
    try:
        for at, row in enumerate(rows):
            if isinstance(row, list):
                rows[at] = [item.decode() if isinstance(item, bytes) else item for item in row]
            elif isinstance(row, bytes):
                rows[at] = row.decode()
    except UnicodeDecodeError as err:
        name = where.rpartition('"')[0].rpartition('"')[2]
        raise TensorTypeError(
            f'{where}: row {start + at:,} is no UTF-8: {err.object[:40]!r}; schema={{"{name}": {{"dtype": "bytes"}}}} '
            "takes bytes"
        ) from err
    return rows


def _classes(where: str, names: Mapping[str, int]) -> tuple[dict[str, Any], Callable[[Any, int], Any]]:
    """Returns the spec of an enum: labels count its names in the order of their numbers."""
    ordered = sorted(names, key=lambda name: int(names[name]))
    numbers = np.array([int(names[name]) for name in ordered])

    def convert(values: Any, start: int) -> Any:
        at = np.minimum(np.searchsorted(numbers, values), len(numbers) - 1)
        if len(wrong := np.argwhere(numbers[at] != values)):
            row = int(wrong[0][0])
            raise TensorTypeError(
                f"{where}: row {start + row:,} is {values[tuple(wrong[0])]}, and the enum has {numbers.tolist()[:16]}; "
                "schema= with a dtype takes the numbers"
            )
        return at.astype(np.int64)

    return {"htype": "class_label", "class_names": ordered}, convert
