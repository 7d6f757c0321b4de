"""Columns of Ray's blocks: Arrow's types, and Ray's tensors for arrays and decoded pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from ray.data.extensions import ArrowTensorTypeV2, ArrowVariableShapedTensorType

from deeplake._engines.ray_filter import Scalar
from deeplake._rows import arrow
from deeplake._rows.source import Pinned

_SAMPLES = 8  # rows that are read for an estimate of the bytes of a row
_MASKS = ("binary_mask", "segment_mask", "instance_label")


@dataclass(frozen=True)
class Column:
    """One column of the blocks.

    Attributes:
        field: the field of Arrow's schema.
        picture: whether the loader decodes the samples, instead of Arrow's reader.
        shape: the axes of an array, None where they differ; None: no array.
        scalar: what a condition needs to know, None if none may name the column.
        row_bytes: the bytes of a row in a block, about.
    """

    field: Any
    picture: bool
    shape: tuple[int | None, ...] | None
    scalar: Scalar | None
    row_bytes: float

    @property
    def fixed(self) -> bool:
        return self.shape is not None and None not in self.shape


def columns_of(pinned: Pinned, names: list[str]) -> dict[str, Column]:
    """Returns the columns of some tensors. It reads a few rows of those whose size is not known."""
    pictures = [name for name in names if _is_picture(pinned.require(name))]
    plain = [name for name in names if name not in pictures]
    types = {field.name: field.type for field in arrow.to_arrow(pinned.select(range(0)), plain, "encoded").schema}
    made = {name: _column(name, pinned.require(name), types.get(name)) for name in names}
    unsized = [name for name in names if math.isnan(made[name].row_bytes)]
    if unsized and pinned.length():
        rows = np.unique(np.linspace(0, pinned.length() - 1, _SAMPLES).astype(np.int64))
        some = pinned.select(rows)
        table = arrow.to_arrow(some, [name for name in unsized if name in plain], "encoded")
        for name in unsized:
            if name in plain:
                total = table.column(name).nbytes
            else:
                total = sum(getattr(value, "nbytes", 0) for value in some.read(range(len(rows)), name, "list"))
            made[name] = _sized(made[name], total / len(rows))
    return {name: _sized(column, 0.0) if math.isnan(column.row_bytes) else column for name, column in made.items()}


def _sized(column: Column, row_bytes: float) -> Column:
    return Column(column.field, column.picture, column.shape, column.scalar, row_bytes)


def _is_picture(about: Mapping[str, Any]) -> bool:
    return about["htype"].startswith(("image", *_MASKS)) and not about["sequence"]


def _column(name: str, about: Mapping[str, Any], of_arrow: Any) -> Column:
    low, high = about.get("min_shape"), about.get("max_shape")
    if of_arrow is None:
        shape: tuple[int | None, ...] | None = _axes(low, high, len(high or about["shape"] or ()))
        leaf = pa.from_numpy_dtype(np.dtype(about["dtype"]))
    else:
        shape, leaf = (None, of_arrow) if about["sequence"] else _array_of(of_arrow)
    if shape is None:
        size = math.nan
        if pa.types.is_primitive(leaf):
            size = leaf.bit_width / 8
        elif pa.types.is_dictionary(leaf):
            size = 4.0
        return Column(pa.field(name, leaf), False, None, _scalar_of(about, leaf), size)
    if None in shape:
        # Lists without elements do not say their inner axes.
        shape = _axes(low, high, len(shape))
        shape = shape if None in shape else (None, *shape[1:])
        kind: Any = ArrowVariableShapedTensorType(leaf, len(shape))
        size = math.nan
    else:
        kind = ArrowTensorTypeV2(shape, leaf)
        size = math.prod(int(axis or 0) for axis in shape) * leaf.bit_width / 8
    return Column(pa.field(name, kind), of_arrow is None, shape, None, size)


def _axes(low: Any, high: Any, axes: int) -> tuple[int | None, ...]:
    """Returns the axes of the samples of a tensor, None where they differ."""
    if not low or not high or len(low) != axes:
        return (None,) * axes
    return tuple(most if least == most else None for least, most in zip(low, high, strict=True))


def _array_of(kind: Any) -> tuple[tuple[int | None, ...] | None, Any]:
    """Returns the axes and the numbers' type of nested lists; (None, kind) for other types."""
    axes: list[int | None] = []
    leaf = kind
    while pa.types.is_fixed_size_list(leaf) or pa.types.is_large_list(leaf):
        axes.append(leaf.list_size if pa.types.is_fixed_size_list(leaf) else None)
        leaf = leaf.value_type
    numbers = pa.types.is_integer(leaf) or pa.types.is_floating(leaf) or pa.types.is_boolean(leaf)
    if not axes or not numbers:
        return None, kind
    return tuple(axes) if None not in axes else (None,) * len(axes), leaf


def _scalar_of(about: Mapping[str, Any], kind: Any) -> Scalar | None:
    if about["htype"] == "class_label" and pa.types.is_dictionary(kind):
        return Scalar("label", tuple(about["class_names"]))
    if pa.types.is_boolean(kind):
        return Scalar("bool")
    if pa.types.is_integer(kind) and str(kind) != "uint64":
        return Scalar("int")
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return Scalar("float32" if pa.types.is_float32(kind) else "float")
    return Scalar("text") if about["htype"] == "text" else None


def tensors_of(column: Column, lists: Any) -> Any:
    """Returns nested lists of Arrow as an array of Ray's tensors; the numbers are not copied."""
    if column.shape is None:
        return lists
    kind = column.field.type
    missing = lists.is_null() if lists.null_count else None
    if column.fixed:
        size = math.prod(int(axis or 0) for axis in column.shape)
        values, start, stop = lists, lists.offset, lists.offset + len(lists)
        for axis in column.shape:
            # A list of lists has an offset of its own.
            values = values.values
            start, stop = start * int(axis or 0) + values.offset, stop * int(axis or 0) + values.offset
        values = _aligned(values, start - values.offset, stop - values.offset)
        return _dense(kind, values, len(lists), size, missing)
    rows = len(lists)
    shapes = np.zeros((rows, len(column.shape)), np.int64)
    ends = np.arange(rows + 1, dtype=np.int64)
    values = lists
    for axis in range(len(column.shape)):
        offsets = values.offsets.to_numpy()
        firsts, filled = ends[:-1], np.ones(rows, bool) if axis == 0 else shapes[:, axis - 1] > 0
        shapes[~filled, axis] = column.shape[axis] or 0
        shapes[filled, axis] = offsets[firsts[filled] + 1] - offsets[firsts[filled]]
        ends = offsets[ends]
        # Positions count from the first value that the offsets name.
        values, ends = values.values.slice(int(ends[0]), int(ends[-1] - ends[0])), ends - ends[0]
    return _ragged(kind, _aligned(values, 0, len(values)), ends, shapes, missing)


def _aligned(values: Any, start: int, stop: int) -> Any:
    """Returns some values as an array whose buffer begins with them, as Ray reads it."""
    part = values.slice(start, stop - start)
    if part.offset == 0 or pa.types.is_boolean(part.type):
        return part if part.offset == 0 else pa.array(part.to_numpy(zero_copy_only=False))
    width = part.type.bit_width // 8
    data = part.buffers()[1].slice(part.offset * width, len(part) * width)
    return pa.Array.from_buffers(part.type, len(part), [None, data])


def _dense(kind: Any, values: Any, rows: int, size: int, missing: Any) -> Any:
    """Returns an array of tensors of one shape, which have `size` numbers each."""
    ends = pa.array(np.arange(rows + 1, dtype=np.int64) * size)
    return kind.wrap_array(pa.LargeListArray.from_arrays(ends, values, mask=missing))


def _ragged(kind: Any, values: Any, ends: npt.NDArray[np.int64], shapes: npt.NDArray[np.int64], missing: Any) -> Any:
    """Returns an array of tensors whose shapes differ. A missing one has axes of length 0."""
    axes = pa.array(np.arange(len(shapes) + 1, dtype=np.int32) * shapes.shape[1])
    parts = [
        pa.LargeListArray.from_arrays(pa.array(ends), values),
        pa.ListArray.from_arrays(axes, pa.array(shapes.reshape(-1))),
    ]
    return kind.wrap_array(pa.StructArray.from_arrays(parts, ["data", "shape"], mask=missing))


def pictures_of(column: Column, samples: Any) -> Any:
    """Returns decoded pictures as Ray's tensors: one array of all, or a list of arrays and None."""
    kind = column.field.type
    if isinstance(samples, np.ndarray):
        flat = np.ascontiguousarray(samples).reshape(-1)
        return _dense(kind, pa.array(flat), len(samples), len(flat) // max(1, len(samples)), None)
    missing = np.array([sample is None for sample in samples])
    axes = 0 if column.shape is None else len(column.shape)
    shapes = np.zeros((len(samples), axes), np.int64)
    for row, sample in enumerate(samples):
        if sample is not None:
            shapes[row] = sample.shape
    parts = [sample.reshape(-1) for sample in samples if sample is not None]
    values = np.concatenate(parts) if parts else np.zeros(0, np.uint8)
    ends = np.concatenate([[0], np.cumsum(np.prod(shapes, axis=1) * ~missing)]).astype(np.int64)
    leaf = kind.storage_type["data"].type.value_type
    return _ragged(kind, pa.array(values, leaf), ends, shapes, pa.array(missing) if missing.any() else None)
