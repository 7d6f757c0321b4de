"""Descriptions of tensors, as the core takes them: the arguments of `create_tensor`, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from deeplake._checks import check_dict, check_flag, check_text, integer
from deeplake._errors import InvalidArgumentError
from deeplake._names import check_keywords

# The arguments of `create_tensor`, besides the name.
_ARGUMENTS = (
    "htype", "dtype", "shape", "compression", "quality", "subsampling", "class_names", "add_classes", "chunk_bytes",
    "downsample", "apply_exif_orientation", "exist_ok", "info",
)  # fmt: skip


def tensor_spec(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the spec of a tensor from its name and the other arguments of `create_tensor`."""
    check_text("create_tensor", "name", name)
    called = f'create tensor "{name}"'
    spec: dict[str, Any] = {"name": name, "htype": "generic", "dtype": _dtype(called, given.get("dtype"))}
    spec["exist_ok"] = check_flag(called, "exist_ok", given.get("exist_ok", False))
    turn = given.get("apply_exif_orientation", False)
    if not isinstance(turn, bool):
        raise InvalidArgumentError(f"{called}: apply_exif_orientation is {turn!r}, want True or False")
    spec["apply_exif_orientation"] = turn
    spec["add_classes"] = check_flag(called, "add_classes", given.get("add_classes", False))
    for what in ("htype", "compression", "subsampling"):
        if (text := given.get(what)) is not None:
            check_text(called, what, text)
            spec[what] = text
    for what in ("quality", "chunk_bytes"):
        if (number := given.get(what)) is not None:
            spec[what] = _whole(called, what, number)
    if (shape := given.get("shape")) is not None:
        spec["shape"] = [_axis(called, shape, axis) for axis in _items(called, "shape", shape)]
    if (names := given.get("class_names")) is not None:
        spec["class_names"] = check_names(called, "class_names", names)
    if (levels := given.get("downsample")) is not None:
        spec["downsample"] = [_whole(called, "downsample", n) for n in _items(called, "downsample", levels)]
    if (info := given.get("info")) is not None:
        spec["info"] = check_dict(called, "info", info)
    return spec


def schema_specs(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
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
        specs.append(tensor_spec(name, arguments))
    return specs


def _items(called: str, what: str, given: Any) -> Iterable[Any]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0:
        raise InvalidArgumentError(f"{called}: {what} is {given!r}, want a sequence")
    return given


def _whole(called: str, what: str, given: Any) -> int:
    number = integer(given)
    if number is None:
        raise InvalidArgumentError(f"{called}: {what} is {given!r}, want an int")
    return number


def _axis(called: str, shape: Any, axis: Any) -> int:
    """Returns an axis of a shape; -1 is one that varies."""
    number = -1 if axis is None else integer(axis)
    if number is None:
        raise InvalidArgumentError(f"{called}: shape is {shape!r}, want ints, and None where an axis varies")
    return number


def check_names(called: str, what: str, names: Any) -> list[str]:
    """Returns names of classes as a list of str, and refuses anything else."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable) or getattr(names, "ndim", 1) == 0:
        raise InvalidArgumentError(f"{called}: {what} is {names!r}, want a list of names")
    listed = list(names)
    for name in listed:
        if not isinstance(name, str):
            raise InvalidArgumentError(f"{called}: {what} has {name!r}, want texts")
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
    except (TypeError, ValueError):
        raise InvalidArgumentError(f"{called}: dtype is {dtype!r}, want a name or a dtype of NumPy") from None
