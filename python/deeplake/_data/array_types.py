"""The tensors that arrays become, by their dtype."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from deeplake._errors import TensorTypeError
from deeplake._samples.column import count
from deeplake._samples.sample import Sample

_FILES = ("image", "image.rgb", "image.gray")
_TEXTS = ("text", "json", "list", "tag")
_MASKS = ("binary_mask", "segment_mask", "instance_label")
_MEANT = (*_FILES, *_MASKS, "class_label", "bbox", "point", "keypoints_coco", "embedding", "intrinsics")  # numbers
_NUMBERS = ("bool", "float16", "float32", "float64", "complex64", "complex128")


def typed(
    where: str, dtype: np.dtype[Any], axes: int, asked: Mapping[str, Any]
) -> tuple[dict[str, Any], Callable[[Any, int], Any]]:
    """Returns the spec of a tensor for values of a dtype, and the function that converts them."""
    meta: Mapping[str, Any] = dtype.metadata or {}
    inner = meta.get("vlen")
    if inner is bytes and _takes_files(asked.get("htype")):
        return {}, lambda values, start: [Sample(value) for value in values.tolist()]
    if inner in (str, bytes) or dtype.kind in "UST":
        if axes > 2:
            raise TensorTypeError(f"{where} is an array of texts with {axes} axes, want 1 or 2; reshape it")
        if asked.get("dtype") == "bytes":
            return {}, lambda values, start: values.tolist()
        if asked.get("htype") in _TEXTS[1:] and axes == 1:
            return {}, lambda values, start: _documents(where, _texts(where, values, start), start)
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


def stated(info: Mapping[str, Any], dtype: np.dtype[Any]) -> dict[str, Any]:
    """Returns the tensor that the attributes of an array state, as exports write them: `htype`,
    `class_names` and `dtype`. {} for attributes of other programs.
    """
    meta: Mapping[str, Any] = dtype.metadata or {}
    htype, inner = info.get("htype"), meta.get("vlen")
    if inner is bytes:
        return {"htype": htype} if _takes_files(htype) else {"dtype": "bytes"} if info.get("dtype") == "bytes" else {}
    if inner is str or dtype.kind in "UT":
        return {"htype": htype} if htype in _TEXTS else {}
    if htype not in _MEANT or (dtype.kind not in "iu" and dtype.name not in _NUMBERS):
        return {}
    out = {"htype": htype, "dtype": dtype.newbyteorder("=").name}
    names = info.get("class_names")
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        out["class_names"] = names
    return out


def _takes_files(htype: Any) -> bool:
    """Returns whether samples of an htype are files."""
    return isinstance(htype, str) and (htype == "video" or htype in _FILES)


def _documents(where: str, texts: Sequence[str], start: int) -> list[Any]:
    """Returns the values of texts of JSON."""
    out = []
    for at, text in enumerate(texts):
        try:
            out.append(json.loads(text))
        except ValueError as err:
            raise TensorTypeError(f"{where}: row {start + at:,} is no JSON: {err}") from err
    return out


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
