"""Ray writes into a dataset: a Datasink whose tasks return fragments, which one commit joins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from ray.data import Datasink
from ray.data.block import BlockAccessor
from ray.data.datasource import WriteResult
from ray.data.extensions import ArrowTensorType, ArrowTensorTypeV2, ArrowVariableShapedTensorType

from deeplake._errors import InternalError, InvalidArgumentError, TensorTypeError

_TASK_BYTES = 64 << 20  # of the blocks of a task, so that it fills chunks


class WriteJob(Protocol):
    """A distributed write, which pickles for its tasks. Engines do not import `_compute`."""

    def begin(self, inferred: Callable[[Collection[str]], Mapping[str, Any]]) -> None: ...
    def task(self, key: int) -> Any: ...
    def finish(self, texts: Iterable[str]) -> Any: ...
    def abandon(self) -> None: ...


class DeeplakeDatasink(Datasink):  # type: ignore[type-arg, unused-ignore]
    """The blocks of a task become one fragment. Ray runs a task again that has failed, with the
    same index: the key of the fragment.
    """

    def __init__(self, job: WriteJob, infer: Callable[[Any], Mapping[str, Any]]) -> None:
        self._job = job
        self._infer = infer
        self.commit: Any = None

    def on_write_start(self, schema: Any = None) -> None:
        def inferred(named: Collection[str]) -> Mapping[str, Any]:
            sample = _sample(schema, named)
            return self._infer(sample) if sample is not None else {}

        self._job.begin(inferred)

    def write(self, blocks: Iterable[Any], ctx: Any) -> tuple[int, str]:
        with self._job.task(ctx.task_idx) as ds:
            before, taken = len(ds), 0
            for block in blocks:
                table = BlockAccessor.for_block(block).to_arrow()
                if table.num_rows:
                    ds.extend(as_stream(table))
                    taken += table.num_rows
            fragment = ds.fragment()
            if not taken == fragment.rows == len(ds) - before:
                raise InternalError(f"write task {ctx.task_idx}: got {taken} rows, and wrote {fragment.rows}")
            return ctx.task_idx, fragment.text

    def on_write_complete(self, write_result: WriteResult[tuple[int, str]]) -> None:
        texts = dict(one for one in write_result.write_returns if one is not None)
        if len(texts) != len(write_result.write_returns):
            raise InternalError(
                f"write: got {len(texts)} fragments of {len(write_result.write_returns)} tasks; nothing is committed"
            )
        self.commit = self._job.finish(texts[task] for task in sorted(texts))

    def on_write_failed(self, error: Exception) -> None:
        # An attempt may still write: its chunks stay until a gc.
        self._job.abandon()

    @property
    def min_bytes_per_write(self) -> int:
        return _TASK_BYTES


def as_stream(table: Any) -> Any:
    """Returns a table whose tensors have Arrow's own types; the numbers are not copied."""
    if not any(_is_tensor(field.type) for field in table.schema):
        return table
    batches = [_as_batch(batch) for batch in table.to_batches()]
    return pa.RecordBatchReader.from_batches(batches[0].schema, batches)


def _is_tensor(kind: Any) -> bool:
    return isinstance(kind, ArrowTensorType | ArrowTensorTypeV2 | ArrowVariableShapedTensorType)


def _as_batch(batch: Any) -> Any:
    arrays, fields = [], []
    for field, array in zip(batch.schema, batch.columns, strict=True):
        made, metadata = _array(array) if _is_tensor(field.type) else (array, field.metadata)
        arrays.append(made)
        fields.append(pa.field(field.name, made.type, metadata=metadata))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _array(array: Any) -> tuple[Any, Mapping[str, str]]:
    """Returns tensors of Ray as `variable_shape_tensor`: storage, and the metadata of its field."""
    storage, kind = array.storage, array.type
    missing = array.is_null() if array.null_count else None
    if isinstance(kind, ArrowVariableShapedTensorType):
        axes, data = kind.ndim, storage.field("data")
        # A missing tensor may have a missing shape.
        shapes = storage.field("shape")
        if shapes.null_count:
            shapes = shapes.fill_null([0] * axes)
        sizes = shapes.flatten().cast(pa.int32())
    else:
        axes, data = len(kind.shape), storage
        sizes = pa.array(np.tile(np.array(kind.shape, np.int32), len(array)))
    if data.null_count:
        data = data.fill_null([])
    parts = [data, pa.FixedSizeListArray.from_arrays(sizes, axes)]
    tensors = pa.StructArray.from_arrays(parts, ["data", "shape"], mask=missing)
    return tensors, {"ARROW:extension:name": "arrow.variable_shape_tensor", "ARROW:extension:metadata": ""}


def _sample(schema: Any, without: Collection[str]) -> Any:
    """Returns one row of a schema, for the tensors that such rows make; None without columns."""
    if not isinstance(schema, pa.Schema):
        raise InvalidArgumentError(
            "write: the blocks of the Ray dataset have no types of Arrow; convert them by "
            '.map_batches(lambda rows: rows, batch_format="pyarrow")'
        )
    fields = [field for field in schema if field.name not in without]
    arrays = [_one(field.name, field.type) for field in fields]
    return as_stream(pa.Table.from_arrays(arrays, schema=pa.schema(fields))) if fields else None


def _one(name: str, kind: Any) -> Any:
    """Returns an array of one value of a type."""
    if isinstance(kind, ArrowTensorType | ArrowTensorTypeV2):
        return kind.wrap_array(pa.array([np.zeros(kind.shape).ravel().tolist()], kind.storage_type))
    if isinstance(kind, ArrowVariableShapedTensorType):
        return kind.wrap_array(pa.array([{"data": [], "shape": [0] * kind.ndim}], kind.storage_type))
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(pa.array([0], kind.index_type), _one(name, kind.value_type))
    try:
        return pa.array([_value(kind)], kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as err:
        raise TensorTypeError(f'write: column "{name}" has type {kind}; name its tensor in schema=: {err}') from err


def _value(kind: Any) -> Any:
    is_of = pa.types
    if is_of.is_struct(kind):
        return {field.name: _value(field.type) for field in kind}
    if is_of.is_fixed_size_list(kind):
        return [_value(kind.value_type)] * kind.list_size
    if is_of.is_list(kind) or is_of.is_large_list(kind) or is_of.is_map(kind):
        return []
    if is_of.is_string(kind) or is_of.is_large_string(kind) or is_of.is_string_view(kind):
        return ""
    if is_of.is_binary(kind) or is_of.is_large_binary(kind) or is_of.is_binary_view(kind):
        return b""
    if is_of.is_fixed_size_binary(kind):
        return bytes(kind.byte_width)
    if is_of.is_boolean(kind):
        return False
    return None if is_of.is_null(kind) else 0
