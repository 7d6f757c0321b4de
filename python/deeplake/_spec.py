"""Descriptions of tensors, as the core takes them: the arguments of `create_tensor`, checked."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Any

from deeplake._errors import InvalidArgumentError
from deeplake._names import check_dict, check_keywords, check_text


def tensor_spec(
    name: str,
    htype: str = "generic",
    *,
    dtype: Any = None,
    shape: Sequence[int | None] | None = None,
    compression: str | None = None,
    quality: int | None = None,
    subsampling: str | None = None,
    class_names: Sequence[str] | None = None,
    chunk_bytes: int | None = None,
    downsample: tuple[int, int] | None = None,
    exist_ok: bool = False,
    info: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Returns the spec of a tensor. The arguments are those of `Dataset.create_tensor`."""
    check_text("create_tensor", "name", name)
    called = f'create tensor "{name}"'
    texts = {"htype": htype, "compression": compression, "subsampling": subsampling}
    for what, text in texts.items():
        if text is not None:
            check_text(called, what, text)
    numbers = {"quality": quality, "chunk_bytes": chunk_bytes}
    return {
        "name": name,
        "dtype": _dtype(called, dtype),
        "shape": None if shape is None else [_axis(called, shape, axis) for axis in _items(called, "shape", shape)],
        "class_names": None if class_names is None else _class_names(called, class_names),
        "downsample": None
        if downsample is None
        else [_whole(called, "downsample", n) for n in _items(called, "downsample", downsample)],
        "exist_ok": bool(exist_ok),
        "info": None if info is None else check_dict(called, "info", info),
        **texts,
        **{what: None if n is None else _whole(called, what, n) for what, n in numbers.items()},
    }


_ARGUMENTS = [name for name in inspect.signature(tensor_spec).parameters if name != "name"]


def schema_specs(schema: Mapping[str, str | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the specs of a schema: for each name an htype, or arguments of `create_tensor`."""
    if not isinstance(schema, Mapping):
        raise InvalidArgumentError(f"create: schema is a {type(schema).__name__}, want a dict by name of tensor")
    specs = []
    for name, given in schema.items():
        arguments = {"htype": given} if isinstance(given, str) else given
        if not isinstance(arguments, Mapping):
            raise InvalidArgumentError(
                f'create: schema["{name}"] is a {type(given).__name__}, want an htype or a dict of arguments'
            )
        check_keywords(f'create: schema["{name}"]', arguments, _ARGUMENTS)
        specs.append(tensor_spec(name, **arguments))
    return specs


def _items(called: str, what: str, given: Any) -> Iterable[Any]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidArgumentError(f"{called}: {what} is {given!r}, want a sequence")
    return given


def _whole(called: str, what: str, given: Any) -> int:
    try:
        return index(given)
    except TypeError:
        raise InvalidArgumentError(f"{called}: {what} is {given!r}, want an int") from None


def _axis(called: str, shape: Any, axis: Any) -> int:
    """Returns an axis of a shape; -1 is one that varies."""
    try:
        return -1 if axis is None else index(axis)
    except TypeError:
        raise InvalidArgumentError(f"{called}: shape is {shape!r}, want ints, and None where an axis varies") from None


def _class_names(called: str, names: Any) -> list[str]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidArgumentError(f"{called}: class_names is {names!r}, want a list of names")
    listed = list(names)
    for name in listed:
        if not isinstance(name, str):
            raise InvalidArgumentError(f"{called}: class_names has {name!r}, want texts")
    return [str(name) for name in listed]


def _dtype(called: str, dtype: Any) -> str | None:
    """Returns the name of a dtype given as a name, a Python type, or one of NumPy or torch."""
    if dtype is None:
        return None
    if isinstance(dtype, str):
        return str(dtype)
    names = {str: "string", bytes: "bytes", bool: "bool", int: "int64", float: "float64", complex: "complex128"}
    if isinstance(dtype, type) and dtype in names:
        return names[dtype]
    text = str(dtype)
    if text.startswith("torch."):
        return text[len("torch.") :]
    import numpy as np

    try:
        return str(np.dtype(dtype).name)
    except TypeError:
        raise InvalidArgumentError(f"{called}: dtype is {dtype!r}, want a name or a dtype of NumPy") from None
