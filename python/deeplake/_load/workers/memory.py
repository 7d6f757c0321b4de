"""Arrays in memory that processes share: reading samples, and writing results to their places."""

from __future__ import annotations

import json
import mmap
import pickle
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from cloudpickle import CloudPickler

# Smaller arrays travel within the message.
_SMALL = 512
_ALIGN = 64
_DTYPES = {"bool", "float16", "float32", "float64", "complex64", "complex128"} | {
    f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)
}
_INT64 = 1 << 63


def aligned(size: int) -> int:
    """Returns the bytes that an array of `size` bytes takes."""
    return -(-size // _ALIGN) * _ALIGN


class Spec(NamedTuple):
    """The form of the values of a column."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """The bytes of one value."""
        return np.dtype(self.dtype).itemsize * int(np.prod(self.shape, dtype=np.int64))


@dataclass
class Target:
    """The places for the results of some rows in the memory of a batch."""

    # by column: the form of its values, and the byte of the first one; the others follow
    columns: dict[str, tuple[Spec, int]] = field(default_factory=dict)
    begin: int = 0  # bytes for arrays that have no place of their own
    end: int = 0


def samples_of(memory: Any, column: Mapping[str, Any]) -> list[Any]:
    """Returns the samples of a column, as `Batch.layout` describes it: NumPy arrays in `memory`,
    scalars, str, bytes, or the values of JSON; lists of these for a sequence.
    """
    begin, dtype = column["begin"], column["dtype"]
    offsets, sizes = column["offsets"].tolist(), column["sizes"].tolist()
    if column["kind"] == "text":
        read = _TEXT[dtype]
        view = memoryview(memory)
        entries = [
            None if size < 0 else read(bytes(view[begin + at : begin + at + size]))
            for at, size in zip(offsets, sizes, strict=True)
        ]
    else:
        entries = _arrays(memory, begin, np.dtype(dtype), offsets, sizes, column)
    if column["items"] is None:
        return entries
    rows: list[Any] = []
    at = 0
    for count in column["items"].tolist():
        rows.append(None if count < 0 else entries[at : at + count])
        at += max(count, 0)
    return rows


def _arrays(
    memory: Any, begin: int, dtype: Any, offsets: list[int], sizes: list[int], column: Mapping[str, Any]
) -> list[Any]:
    axes, at = column["axes"].tolist(), 0
    entries: list[Any] = []
    for offset, size, ndim in zip(offsets, sizes, column["ndims"].tolist(), strict=True):
        if size < 0:
            entries.append(None)
        elif ndim == 0:
            entries.append(np.frombuffer(memory, dtype, 1, begin + offset)[0])
        else:
            shape = axes[at : at + ndim]
            entries.append(np.ndarray(shape, dtype, memory, begin + offset))
        at += ndim
    return entries


def part_of(column: Mapping[str, Any], rows: slice) -> dict[str, Any]:
    """Returns the description of some rows of a column."""
    part = dict(column)
    entries = rows
    if column["items"] is not None:
        items = np.maximum(column["items"], 0)
        ends = np.concatenate([[0], np.cumsum(items)])
        entries = slice(int(ends[rows.start]), int(ends[rows.stop]))
        part["items"] = column["items"][rows]
    part["offsets"], part["sizes"] = column["offsets"][entries], column["sizes"][entries]
    if column["kind"] == "list":
        ends = np.concatenate([[0], np.cumsum(column["ndims"])])
        part["ndims"] = column["ndims"][entries]
        part["axes"] = column["axes"][int(ends[entries.start]) : int(ends[entries.stop])]
    return part


def is_dense(column: Mapping[str, Any], values: Sequence[Any]) -> bool:
    """Returns whether the samples of a column are arrays of one form that lie end to end.

    Args:
        values: the samples.
    """
    first = values[0] if values and column["items"] is None and column["kind"] != "text" else None
    if not isinstance(first, np.ndarray) or first.dtype.name not in _DTYPES:
        return False
    steps = column["offsets"] - column["offsets"][0]
    return bool(np.array_equal(steps, np.arange(len(values)) * first.nbytes)) and all(
        isinstance(value, np.ndarray) and value.shape == first.shape and value.flags.c_contiguous for value in values
    )


def _text(data: bytes) -> str:
    return data.decode()


_TEXT: dict[str, Callable[[bytes], Any]] = {"string": _text, "json": json.loads, "bytes": bytes}


def spec_of(value: Any) -> Spec | None:
    """Returns the form of a value as an array; None: it is none, or its dtype is not shared."""
    if isinstance(value, np.ndarray | np.generic):
        return Spec(value.dtype.name, value.shape) if value.dtype.name in _DTYPES and value.dtype.isnative else None
    if isinstance(value, bool):
        return Spec("bool", ())
    if isinstance(value, int):
        return Spec("int64", ()) if -_INT64 <= value < _INT64 else None
    if isinstance(value, float):
        return Spec("float64", ())
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        name = str(value.dtype)[len("torch.") :]
        plain = value.device.type == "cpu" and value.layout == torch.strided
        return Spec(name, tuple(value.shape)) if plain and name in _DTYPES else None
    return None


def common_spec(values: Sequence[Any]) -> Spec | None:
    """Returns the form that all values of a column have; None: they differ, or there are none."""
    if not isinstance(values, list) or not values:
        return None
    first = spec_of(values[0])
    return first if first is not None and all(spec_of(value) == first for value in values) else None


def write(memory: Any, begin: int, spec: Spec, values: list[Any]) -> None:
    """Writes values of one form, one behind the other."""
    fill(np.ndarray((len(values), *spec.shape), np.dtype(spec.dtype), memory, begin), values)


def fill(places: npt.NDArray[Any], values: list[Any]) -> None:
    """Writes arrays, numbers and tensors to the items of an array, which have their form."""
    tensors: Any = None
    for place, value in enumerate(values):
        if isinstance(value, np.ndarray | np.generic | int | float):
            places[place] = value
            continue
        if tensors is None:
            tensors = _tensor(places)
        tensors[place].copy_(value.detach())


def dump(value: Any, memory: Any, target: Target) -> tuple[bytes, int, int]:
    """Returns a pickle of a value whose arrays lie in the places of `target`.

    Returns:
        The pickle, the bytes of all arrays that are not small, and the number of those within the
        pickle because there was no place for them.
    """
    out = BytesIO()
    pickler = _Pickler(out, memory, target)
    pickler.dump(value)
    return out.getvalue(), pickler.wanted, pickler.refused


def load(data: bytes, array: Callable[[int, str, tuple[int, ...]], Any]) -> Any:
    """Returns the value of a pickle of `dump`.

    Args:
        array: returns the NumPy array at an offset, of a dtype and a shape.
    """
    _context.array = array
    try:
        return pickle.loads(data)
    finally:
        del _context.array


class _Pickler(CloudPickler):
    def __init__(self, out: BytesIO, memory: Any, target: Target) -> None:
        super().__init__(out, 5)
        self._memory, self._target, self._next = memory, target, target.begin
        self.wanted = self.refused = 0

    def reducer_override(self, value: Any) -> Any:
        torch = sys.modules.get("torch")
        is_tensor = torch is not None and isinstance(value, torch.Tensor)
        spec = spec_of(value) if type(value) is np.ndarray or is_tensor else None
        if is_tensor:
            return _reduced(value, spec is not None)
        if spec is None:
            return super().reducer_override(value)
        size = spec.nbytes
        if size < _SMALL:
            return NotImplemented
        self.wanted += aligned(size)
        if self._next + size > self._target.end:
            self.refused += 1
            return NotImplemented
        at = self._next
        self._next += aligned(size)
        write(self._memory, at, spec, [value])
        return _placed, (at, spec.dtype, spec.shape)


_context = threading.local()


def _placed(offset: int, dtype: str, shape: tuple[int, ...]) -> Any:
    return _context.array(offset, dtype, shape)


def _reduced(tensor: Any, shared: bool) -> Any:
    """Returns what pickle needs for a tensor, or for one of torchvision's tv_tensors.

    Args:
        shared: NumPy has its dtype and layout.
    """
    import torch

    if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_quantized or tensor.is_nested:
        return tensor.detach().__reduce_ex__(5)
    plain = tensor.detach().as_subclass(torch.Tensor)
    if isinstance(tensor, torch.nn.Parameter):
        return _parameter, (plain, tensor.requires_grad)
    if type(tensor) is not torch.Tensor:
        return _subclass, (plain, type(tensor), dict(vars(tensor)))
    if shared:
        return _tensor, (plain.resolve_conj().resolve_neg().numpy(),)
    # bfloat16, float8 and others that NumPy lacks, some of which torch cannot pickle: as bytes
    raw = plain.contiguous().reshape(-1).view(torch.uint8).numpy()
    return _viewed, (raw, str(plain.dtype).removeprefix("torch."), tuple(plain.shape))


def _viewed(raw: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    import torch

    return torch.from_numpy(np.require(raw, requirements="W")).view(getattr(torch, dtype)).reshape(shape)


def _parameter(tensor: Any, gradient: bool) -> Any:
    import torch

    return torch.nn.Parameter(tensor, gradient)


def _subclass(tensor: Any, kind: type, attributes: dict[str, Any]) -> Any:
    made = tensor.as_subclass(kind)
    vars(made).update(attributes)
    return made


def _tensor(array: Any) -> Any:
    import torch

    return torch.from_numpy(array)


class Maps:
    """The files of a process that it has mapped, by their numbers."""

    def __init__(self) -> None:
        self._maps: dict[int, mmap.mmap] = {}

    def add(self, number: int, file: int, size: int) -> None:
        """Maps a file."""
        self._maps[number] = mmap.mmap(file, size)

    def forget(self, numbers: Sequence[int]) -> None:
        """Lets go of files. Their mappings end with the last array in them."""
        for number in numbers:
            self._maps.pop(number, None)

    def __getitem__(self, number: int) -> mmap.mmap:
        return self._maps[number]
