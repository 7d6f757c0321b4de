"""Arrays of HDF5 and Zarr, which h5py and zarr read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from deeplake._data.npy import Found
from deeplake._errors import CorruptError, InvalidArgumentError, UnsupportedError
from deeplake._lazy import package

_NOTES = ("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_NCProperties")  # of libraries
_LARGEST = 1 << 16  # bytes of an attribute
_SPARSE = 1100  # bytes of an array for one that is stored
_FLOOR = 1 << 20  # bytes that an array may always be thought to have
_LISTED = 1 << 30  # bytes of an array of Zarr whose chunks are counted


def open_hdf5(called: str, path: Path, stack: ExitStack) -> Any:
    """Returns an h5py.File, which the stack closes."""
    h5py = package("ingest of HDF5", "h5py", "pip install h5py")
    if path.is_dir():
        raise InvalidArgumentError(f"{called}: it is a folder, want a file of HDF5; give its files one at a time")
    return stack.enter_context(h5py.File(path, "r"))


def open_zarr(called: str, path: Path) -> Any:
    """Returns a zarr.Group or zarr.Array."""
    zarr = package("ingest of Zarr", "zarr", "pip install zarr")
    if path.suffix == ".n5" and not hasattr(zarr, "N5Store"):
        raise UnsupportedError(f'{called}: zarr {zarr.__version__} reads no N5; pip install "zarr<3" in Python 3.10')
    return zarr.open(str(path), mode="r")


def is_array(node: Any) -> bool:
    """Returns whether a node is an array. The attributes of a group of zarr 2 are its members."""
    return any(one.__name__ in ("Array", "Dataset") for one in type(node).__mro__)


def info_of(node: Any) -> dict[str, Any]:
    """Returns the attributes of an array or a group that JSON can hold."""
    info = {}
    for name in list(node.attrs):
        if name in _NOTES:
            continue
        try:
            value = _plain(node.attrs[name])
            if len(json.dumps(value, allow_nan=False)) <= _LARGEST:
                info[str(name)] = value
        except Exception:
            continue
    return info


def _plain(value: Any) -> Any:
    """Returns a value without types of NumPy."""
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def hdf5_arrays(called: str, node: Any) -> Iterator[Found | str]:
    """Yields the arrays below a node of h5py. Links to other files are not followed."""
    if is_array(node):
        yield _dataset(called, "", node)
        return
    names: list[str] = []
    node.visititems(lambda name, one: names.append(name) if is_array(one) else None)
    for name in names:
        if node[name].shape is None:
            yield f'"{name}", which is empty,'
        else:
            yield _dataset(called, name, node[name])


def _dataset(called: str, name: str, node: Any) -> Found:
    where = f'{called}: "{name or node.name}"'
    if node.external:
        raise UnsupportedError(
            f"{where} has its bytes in other files, like {node.external[0][0]}, which an import does not open; read it "
            "with h5py, and give the rows"
        )
    if node.is_virtual:
        here = Path(node.file.filename).parent
        for part in node.virtual_sources():
            if part.file_name != "." and "%" not in part.file_name and not (here / part.file_name).exists():
                raise CorruptError(
                    f"{where} is virtual, and its part {part.file_name} is missing; put it beside the file"
                )
    else:
        _check_stored(where, node.nbytes, node.id.get_storage_size())
    chunk = node.chunks[0] if node.chunks else 1
    dtype = node.dtype
    inner = (dtype.metadata or {}).get("vlen")
    if not isinstance(inner, np.dtype) or inner.isnative:
        return Found(name, dtype, node.shape, chunk, lambda start, stop: node[start:stop], info_of(node))
    is_swapped = _swaps_lists()

    def read(start: int, stop: int) -> Any:
        rows = node[start:stop]
        if not is_swapped:
            for at, row in enumerate(rows):
                rows[at] = row.byteswap()
        return rows

    dtype = np.dtype("O", metadata={"vlen": inner.newbyteorder("=")})
    return Found(name, dtype, node.shape, chunk, read, info_of(node))


def _swaps_lists() -> bool:
    """Returns whether h5py swaps the bytes of lists that are not in the order of this machine.
    h5py 3.14 does not, and returns wrong numbers.
    """
    h5py = package("ingest of HDF5", "h5py", "pip install h5py")
    other = np.dtype("i4").newbyteorder("S")
    with h5py.File("swaps", "w", driver="core", backing_store=False) as file:
        lists = file.create_dataset("lists", (1,), h5py.vlen_dtype(other))
        lists[0] = np.array([1], other)
        return bool(lists[0][0] == 1)


def zarr_arrays(called: str, node: Any) -> Iterator[Found | str]:
    """Yields the arrays below a node of zarr."""
    if is_array(node):
        yield _array(called, "", node)
        return
    yield from _below(called, "", node)


def _below(called: str, prefix: str, group: Any) -> Iterator[Found]:
    for name, array in sorted(group.arrays(), key=lambda pair: str(pair[0])):
        yield _array(called, prefix + name, array)
    for name, inner in sorted(group.groups(), key=lambda pair: str(pair[0])):
        yield from _below(called, f"{prefix}{name}/", inner)


def _array(called: str, name: str, node: Any) -> Found:
    where = f'{called}: "{name or node.name or "data"}"'
    size = math.prod(node.shape) * node.dtype.itemsize
    if size > _LISTED:
        stored = node.nbytes_stored
        _check_stored(where, size, stored() if callable(stored) else stored)
    if node.dtype.kind != "O" and node.fill_value is None and hasattr(node, "initialized"):
        _check_whole(where, node)
    try:
        chunk = (getattr(node, "shards", None) or node.chunks)[0] if node.shape else 1
    except Exception:
        chunk = 1  # chunks of several lengths
    return Found(
        name, _dtype(where, node), node.shape, max(1, chunk), lambda start, stop: node[start:stop], info_of(node)
    )


def _dtype(where: str, node: Any) -> np.dtype[Any]:
    """Returns the dtype of an array, with what its objects are."""
    filters = getattr(node, "filters", None) or ()
    others = ("compressors", "serializer") if hasattr(node, "compressors") else ("compressor",)  # zarr 3, zarr 2
    if "pickle" in repr((filters, *(getattr(node, name) for name in others))).lower():
        raise InvalidArgumentError(
            f"{where} holds pickles, which are not read: they can run code; store texts or numbers"
        )
    dtype: np.dtype[Any] = node.dtype
    if dtype.kind != "O":
        return dtype
    codecs = [getattr(codec, "codec_id", "") for codec in filters]
    for codec, inner in (("vlen-utf8", str), ("vlen-bytes", bytes)):
        if codec in codecs:
            return np.dtype("O", metadata={"vlen": inner})
    for codec in filters:
        if getattr(codec, "codec_id", "") == "vlen-array":
            return np.dtype("O", metadata={"vlen": np.dtype(codec.dtype)})
    kind = type(getattr(getattr(node, "metadata", None), "dtype", None)).__name__
    items = {"VariableLengthUTF8": str, "VariableLengthBytes": bytes}.get(kind)
    return np.dtype("O") if items is None else np.dtype("O", metadata={"vlen": items})


def _check_whole(where: str, node: Any) -> None:
    """Refuses missing chunks without a fill value, whose numbers would be those of other memory."""
    if node.nchunks_initialized < node.nchunks:
        raise CorruptError(
            f"{where} lacks {node.nchunks - node.nchunks_initialized:,} of {node.nchunks:,} chunks, and has no fill "
            "value; copy or write it again"
        )


def _check_stored(where: str, size: int, stored: int) -> None:
    if size > _SPARSE * max(stored, _FLOOR):
        raise InvalidArgumentError(
            f"{where} has {size:,} bytes, of which {stored:,} are stored: nearly all are its fill value; give the rows "
            "that are there, as dicts from a generator"
        )
