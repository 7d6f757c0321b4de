"""The TensorFlow types of a batch, known before the first batch is read.

Types come from the schema for tensors that are loaded as they are stored. A transform or a collate
function runs once on up to two rows of the view to show its types.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from deeplake._errors import InvalidArgumentError, TensorTypeError, UnsupportedError
from deeplake._load.assemble import Assembly, NumPy
from deeplake._load.plan import Options, Plan
from deeplake._names import quoted, suggest
from deeplake._rows.tensor import shape_of

_TEXT = ("string", "json", "bytes")
_EVERYTHING = "*"  # no name of a tensor
_WAY_OUT = "give element_spec={...} what a batch looks like"


@dataclass(frozen=True)
class Leaf:
    """One tensor of a batch: its name, its type, and how many of its axes are ragged (0: a dense
    tensor).
    """

    name: str
    shape: tuple[int | None, ...] | None  # the rows first; None: any
    dtype: Any
    ragged: int = 0
    sequence: bool = False
    text: bool = False  # any value that is no text is delivered as JSON

    def flat(self) -> Any:
        """Returns the types of the tensors that it crosses into TensorFlow as."""
        if not self.ragged:
            return tf.TensorSpec(self.shape, self.dtype)
        assert self.shape is not None
        splits = tuple(tf.TensorSpec([None], tf.int64) for _ in range(self.ragged))
        return tf.TensorSpec((None, *self.shape[self.ragged + 1 :]), self.dtype), splits

    def pack(self, value: Any) -> Any:
        """Returns the arrays of one batch."""
        if self.ragged:
            return self._pack_ragged(value)
        if self.text:
            entries = value if isinstance(value, list) else np.asarray(value, object)
            flat = entries if isinstance(entries, list) else entries.ravel().tolist()
            out = np.empty(len(flat), object)
            out[:] = [self._encoded(entry) for entry in flat]
            return out if isinstance(entries, list) else out.reshape(entries.shape)
        if isinstance(value, list):
            value = self._stacked(value)
        array = np.asarray(value)
        if array.dtype != self.dtype.as_numpy_dtype or not _fits(array.shape, self.shape):
            raise TensorTypeError(
                f'load tensor "{self.name}": a batch has dtype {array.dtype} and shape {array.shape}, and TensorFlow '
                f"was told {self.dtype.name} and {self.shape}; {_WAY_OUT}"
            )
        return array

    def unpack(self, value: Any) -> Any:
        """Returns the tensor, in a graph."""
        if not self.ragged:
            return value
        values, splits = value
        return tf.RaggedTensor.from_nested_row_splits(values, splits, validate=False)

    def _stacked(self, entries: list[Any]) -> Any:
        for place, entry in enumerate(entries):
            if entry is None:
                raise TensorTypeError(
                    f'load tensor "{self.name}": sample {place} of a batch is a hole, which a tensor of shape '
                    f"{self.shape} has no place for; select the rows that have a sample"
                )
        if not entries:
            return np.zeros([axis or 0 for axis in self.shape or (0,)], self.dtype.as_numpy_dtype)
        return np.stack(entries)

    def _encoded(self, entry: Any) -> Any:
        if isinstance(entry, str | bytes):
            return entry
        return "" if entry is None else json.dumps(entry, ensure_ascii=False)

    def _pack_ragged(self, rows: list[Any]) -> Any:
        """Returns the values of all rows in one array, and for each ragged axis where its rows
        begin and end.
        """
        lengths: list[Any] = []
        entries = rows
        if self.sequence:
            lengths.append([0 if row is None else len(row) for row in rows])
            entries = [entry for row in rows if row is not None for entry in row]
        axes = self.ragged - len(lengths)
        if self.text:
            values = np.array([self._encoded(entry) for entry in entries], object)
        else:
            arrays = [entry for entry in entries if entry is not None]
            shapes = [(0,) * axes if entry is None else entry.shape[:axes] for entry in entries]
            assert self.shape is not None
            inner = self.shape[self.ragged + 1 :]
            for axis in range(axes):
                repeats = [int(np.prod(shape[:axis])) for shape in shapes]
                lengths.append(np.repeat([shape[axis] for shape in shapes], repeats))
            kind = self.dtype.as_numpy_dtype
            wanted = [self._flattened(array, axes, inner, kind) for array in arrays]
            values = np.concatenate(wanted) if wanted else np.zeros((0, *(axis or 0 for axis in inner)), kind)
        return values, tuple(np.concatenate([[0], np.cumsum(part)]).astype(np.int64) for part in lengths)

    def _flattened(self, array: Any, axes: int, inner: tuple[int | None, ...], kind: Any) -> Any:
        array = np.asarray(array)
        if array.dtype != kind or not _fits(array.shape[axes:], inner):
            raise TensorTypeError(
                f'load tensor "{self.name}": a sample has dtype {array.dtype} and shape {array.shape}, and TensorFlow '
                f"was told {self.dtype.name} and {self.shape}; {_WAY_OUT}"
            )
        return array.reshape(-1, *array.shape[axes:])


def signature(plan: Plan, given: Any) -> Any:
    """Returns the leaves of a batch: a dict by name, or the results of a collate function."""
    if callable(plan.options.collate):
        return _of_spec("batch", given) if given is not None else _of_collate(plan)
    if given is not None and not isinstance(given, Mapping):
        raise InvalidArgumentError(
            f"load: element_spec is a {type(given).__name__}, want a dict from tensor names to TensorFlow's types"
        )
    wanted = dict(given or {})
    leaves: dict[str, Any] = {}
    touched = _touched(plan)
    seen = None if touched <= set(wanted) else [_first_batch(plan, [row]) for row in _places(plan)]
    for name in plan.names if seen is None else seen[0]:
        if name in wanted:
            leaves[name] = _of_spec(name, wanted.pop(name), plan.source.tensors().get(name))
        elif seen is not None and _in(touched, name):
            leaves[name] = _of_values(plan, name, [batch[name] for batch in seen])
        elif name not in leaves:
            leaves.update(_of_schema(plan, name))
    if plan.options.return_index:
        for name in ("_index", *plan.source.marks):
            leaves[name] = Leaf(name, (_rows(plan),), tf.int64)
    if marks(plan):
        leaves["_valid"] = Leaf("_valid", (_rows(plan),), tf.bool)
    padded = [f"{name}_shape" for name in leaves if plan.forms.of(name).mode == "pad"]
    for name, spec in wanted.items():
        if name not in leaves and name not in padded:
            raise InvalidArgumentError(
                f'load: element_spec has "{name}", which batches do not have (they have {quoted(leaves)})'
                f"{suggest(name, leaves)}"
            )
        leaves[name] = _of_spec(name, spec)
    return leaves


def flat(leaves: Any) -> Any:
    """Returns the TensorFlow types of the results of `pack`."""
    return _each(leaves, lambda leaf: leaf.flat())


def unpack(leaves: Any, element: Any) -> Any:
    """Returns the batch that an element of these types is."""
    return _each(leaves, lambda leaf, value: leaf.unpack(value), element)


def marks(plan: Plan) -> bool:
    """Returns whether batches may say which rows count; to TensorFlow then all of them do."""
    if callable(plan.options.collate):
        return False
    tail = "drop" if plan.options.drop_last else plan.options.tail
    return tail == "pad" or (tail == "exact" and plan.options.ranks()[1] > 1)


def pack(leaves: Any, batch: Any) -> Any:
    """Returns a batch as NumPy arrays of the types of `flat`."""
    if isinstance(leaves, Mapping) and "_valid" in leaves and "_valid" not in batch:
        batch["_valid"] = np.ones(len(next(iter(batch.values()))), np.bool_)
    return _each(leaves, lambda leaf, value: leaf.pack(value), batch)


def _each(leaves: Any, function: Callable[..., Any], *batch: Any) -> Any:
    if isinstance(leaves, Leaf):
        return function(leaves, *batch)
    if isinstance(leaves, Mapping):
        for value in batch:
            if not isinstance(value, Mapping) or value.keys() != leaves.keys():
                raise TensorTypeError(f"load: a batch is {_about(value)}, and TensorFlow was told {sorted(leaves)}")
        return {name: _each(leaf, function, *(value[name] for value in batch)) for name, leaf in leaves.items()}
    for value in batch:
        if not isinstance(value, tuple) or len(value) != len(leaves):
            raise TensorTypeError(f"load: a batch is {_about(value)}, and TensorFlow was told {len(leaves)} values")
    return tuple(_each(leaf, function, *(value[i] for value in batch)) for i, leaf in enumerate(leaves))


def _about(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"a dict of {sorted(value)}"
    return f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, tuple) else "")


def _rows(plan: Plan) -> int | None:
    """Returns how many rows every batch has, where all have as many."""
    options = plan.options
    whole = options.drop_last or options.tail in ("drop", "pad")
    return options.batch_size if whole and options.on_error != "skip" else None


def _of_schema(plan: Plan, name: str) -> dict[str, Leaf]:
    """Returns the column of a tensor without transforms, and the shapes that padding adds."""
    about, rows = plan.source.require(name), _rows(plan)
    sequence = bool(about["sequence"])
    if about["dtype"] in _TEXT or plan.decode(name) == "bytes":
        texts = (rows, None) if sequence else (rows,)
        return {name: Leaf(name, texts, tf.string, int(sequence), sequence, text=True)}
    if not about["dtype"]:
        raise InvalidArgumentError(
            f'load tensor "{name}": it has neither samples nor a dtype, which TensorFlow wants to know; {_WAY_OUT}'
        )
    dtype, shape = tf.dtypes.as_dtype(about["dtype"]), shape_of(about)
    if name in plan.turned and not about.get("apply_exif_orientation") and shape is not None:
        shape = shape if shape[0] == shape[1] else (None, None, *shape[2:])
    form = plan.forms.of(name)
    if sequence and form.named and form.mode != "list":
        shape = None if shape is None else (None, *shape)
    elif sequence or form.mode == "list":
        return {name: _ragged(name, shape, dtype, rows, sequence)}
    if form.padding is not None and form.padding.length is not None and shape is not None:
        fixed = dict(enumerate(form.padding.lengths))
        shape = tuple(fixed.get(axis) or length for axis, length in enumerate(shape))
    leaves = {name: Leaf(name, None if shape is None else (rows, *shape), dtype)}
    if form.mode == "pad" and shape != ():
        padded = f"{name}_shape"
        leaves[padded] = Leaf(padded, (rows, None if shape is None else len(shape)), tf.int64)
    return leaves


def _ragged(name: str, shape: tuple[int | None, ...] | None, dtype: Any, rows: int | None, sequence: bool) -> Leaf:
    if shape is None:
        raise TensorTypeError(
            f'load tensor "{name}": samples differ in their number of axes, for which TensorFlow has no type; choose '
            "others with tensors=, or make them equal with a transform"
        )
    # Axes are ragged up to the last one that varies.
    varying = max((axis for axis, length in enumerate(shape, 1) if length is None), default=0)
    inner: tuple[int | None, ...] = (None,) * varying + shape[varying:]
    if sequence:
        return Leaf(name, (rows, None, *inner), dtype, varying + 1, True)
    return Leaf(name, (rows, *inner), dtype, varying)


def _touched(plan: Plan) -> set[str]:
    """Returns the columns whose results the schema does not describe."""
    if plan.recipe.row is not None:
        return {_EVERYTHING}
    touched = set(plan.recipe.names)
    for name in plan.names:
        if plan.decode(name) == "pil" and name not in touched:
            raise UnsupportedError(
                f'load tensor "{name}": TensorFlow has no PIL images; leave decode out, or add a transform'
            )
    return touched


def _in(touched: set[str], name: str) -> bool:
    return _EVERYTHING in touched or name in touched or name.removesuffix("_shape") in touched


def _places(plan: Plan) -> list[int]:
    length = plan.source.length()
    if length == 0:
        raise InvalidArgumentError(
            f'load "{plan.source.uri}": there is no row to see what the transform makes of it; {_WAY_OUT}'
        )
    return sorted({0, length - 1})


def _first_batch(plan: Plan, rows: list[int]) -> Any:
    given = plan.options
    options = Options(
        batch_size=len(rows), num_workers=1, prefetch=1, tensors=given.tensors, transform=given.transform,
        collate=given.collate, decode=given.decode, rank=0, world_size=1,
    )  # fmt: skip
    few = Plan(plan.source.select(np.array(rows, np.int64)), options)
    epoch = few.native().start(0)
    try:
        return Assembly(few, NumPy())(next(epoch))
    finally:
        epoch.close()


def _of_values(plan: Plan, name: str, seen: list[Any]) -> Leaf:
    """Returns the column of which batches of one row were seen."""
    tensors, rows = plan.source.tensors(), _rows(plan)
    value = seen[0]
    if isinstance(value, np.ndarray):
        dtype = tf.dtypes.as_dtype(value.dtype)
        # Under "stack" the samples of a batch have one shape, hence those of all batches, unless a
        # batch is one row.
        form = plan.forms.of(name)
        certain = form.mode == "stack" and plan.options.batch_size > 1
        inner = _agreed([batch.shape[1:] for batch in seen], certain)
        if form.padding is not None and not name.endswith("_shape"):
            fixed = dict(enumerate(form.padding.lengths))
            inner = tuple(fixed.get(axis) for axis in range(len(inner)))
        return Leaf(name, (rows, *inner), dtype)
    entry = value[0]
    if isinstance(entry, np.ndarray):
        axes = _agreed([batch[0].shape for batch in seen], True)
        return _ragged(name, (None, *axes[1:]) if axes else axes, tf.dtypes.as_dtype(entry.dtype), rows, False)
    if isinstance(entry, str | bytes) or tensors.get(name, {}).get("dtype") == "json":
        return Leaf(name, (rows,), tf.string, text=True)
    raise TensorTypeError(
        f'load tensor "{name}": the transform makes a {type(entry).__name__} of a sample, which TensorFlow has no type '
        "for; return a NumPy array, a number or text"
    )


def _agreed(shapes: list[tuple[int, ...]], certain: bool) -> tuple[int | None, ...]:
    if len({len(shape) for shape in shapes}) != 1:
        raise TensorTypeError(f"load: a transform makes samples of shapes {shapes}; {_WAY_OUT}")
    return tuple(axes[0] if certain and len(set(axes)) == 1 else None for axes in zip(*shapes, strict=True))


def _of_collate(plan: Plan) -> Any:
    """Returns the types of a collate function's results on batches of one row and of two."""
    places = _places(plan)
    return _of_batches("batch", [_first_batch(plan, rows) for rows in ([places[0]], [places[0], places[-1]])])


def _of_batches(name: str, seen: list[Any]) -> Any:
    first = seen[0]
    if isinstance(first, Mapping):
        return {key: _of_batches(str(key), [batch[key] for batch in seen]) for key in first}
    if isinstance(first, tuple):
        return tuple(_of_batches(f"{name}[{i}]", [batch[i] for batch in seen]) for i in range(len(first)))
    arrays = [np.asarray(value) for value in seen]
    if arrays[0].dtype.kind in "USO":
        return Leaf(name, (None,) * arrays[0].ndim, tf.string, text=True)
    return Leaf(name, _agreed([array.shape for array in arrays], True), tf.dtypes.as_dtype(arrays[0].dtype))


def _of_spec(name: str, spec: Any, about: Mapping[str, Any] | None = None) -> Any:
    """Returns the leaves of a type that the user gave."""
    if isinstance(spec, Mapping):
        return {key: _of_spec(str(key), part) for key, part in spec.items()}
    if isinstance(spec, tuple):
        return tuple(_of_spec(f"{name}[{i}]", part) for i, part in enumerate(spec))
    if isinstance(spec, tf.RaggedTensorSpec):
        sequence = bool(about and about["sequence"])
        return Leaf(name, tuple(spec.shape), spec.dtype, spec.ragged_rank, sequence, text=spec.dtype == tf.string)
    if isinstance(spec, tf.TensorSpec):
        shape = None if spec.shape.rank is None else tuple(spec.shape)
        return Leaf(name, shape, spec.dtype, text=spec.dtype == tf.string)
    raise InvalidArgumentError(
        f'load: element_spec of "{name}" is a {type(spec).__name__}, want a tf.TensorSpec or a tf.RaggedTensorSpec'
    )


def _fits(shape: tuple[int, ...], want: tuple[int | None, ...] | None) -> bool:
    if want is None:
        return True
    return len(shape) == len(want) and all(axis is None or axis == got for axis, got in zip(want, shape, strict=True))
