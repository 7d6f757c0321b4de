"""Arrays in files of NumPy, `.npy` and `.npz`, a block of rows at a time. Nothing is unpickled."""

from __future__ import annotations

import ast
import math
import os
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import numpy as np

from deeplake._errors import CorruptError, InvalidArgumentError

_MAGIC = b"\x93NUMPY"
_LONGEST = 1 << 20  # bytes of a header
_PIECE = 1 << 20  # bytes that are read at once
_DEFLATE = 1100  # bytes that one byte of deflate can stand for, and some more
_LONG = re.compile(r"(\d)L\b")  # a number as Python 2 writes it


class Found(NamedTuple):
    """An array of a source.

    Attributes:
        name: within the source, like "group/name"; "" for the only array of its source.
        dtype: of NumPy; its metadata says what objects are, as h5py writes it.
        shape: the first axis counts rows.
        chunk: rows that are stored together, at least 1.
        read: returns an array of the rows from start to stop. Calls come in order.
        info: attributes that JSON can hold.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    chunk: int
    read: Callable[[int, int], Any]
    info: dict[str, Any]


class _Header(NamedTuple):
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    is_fortran: bool
    size: int  # of the header in bytes

    def needs(self) -> int:
        """Returns the bytes of the header and the array."""
        elements: int = math.prod(self.shape)
        return self.size + elements * self.dtype.itemsize


def npy_array(called: str, path: Path, stack: ExitStack) -> Found:
    """Returns the array of a file .npy. The stack closes the file."""
    file = stack.enter_context(path.open("rb"))
    head = _header(called, file)
    size = os.fstat(file.fileno()).st_size
    if size < head.needs():
        raise _cut(called, size, head)
    return Found("", head.dtype, head.shape, 1, _reader(called, head, file, lambda: (file, head.size)), {})


def npz_arrays(called: str, archive: zipfile.ZipFile, stack: ExitStack) -> Iterator[Found | str]:
    """Yields the arrays of an archive .npz, and names of members that are no arrays."""
    members = archive.infolist()
    counts = Counter(member.filename.removesuffix(".npy") for member in members)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise InvalidArgumentError(
            f'{called}: the archive has {counts[twice[0]]} members "{twice[0]}", want one of each name; '
            "write it again by numpy.savez"
        )
    for member in members:
        if not member.filename.endswith(".npy"):
            yield member.filename
            continue
        name = member.filename.removesuffix(".npy")
        inside = f'{called}: member "{name}"'
        with archive.open(member) as file:
            head = _header(inside, file)
        if member.file_size < head.needs():
            raise _cut(inside, member.file_size, head)
        if member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            most = member.compress_size * (_DEFLATE if member.compress_type == zipfile.ZIP_DEFLATED else 1)
            if head.needs() > most:
                raise CorruptError(
                    f"{inside}: {head.needs():,} bytes are said to be in {member.compress_size:,} compressed ones, "
                    "which cannot be; the archive is damaged: copy or write it again"
                )

        def again(member: zipfile.ZipInfo = member, head: _Header = head) -> tuple[Any, int]:
            file = stack.enter_context(archive.open(member))
            if not head.is_fortran:
                file.seek(head.size)
                return file, head.size
            spool = stack.enter_context(TemporaryFile())  # noqa: SIM115
            shutil.copyfileobj(file, spool, 1 << 20)
            spool.flush()
            return spool, head.size

        yield Found(name, head.dtype, head.shape, 1, _reader(inside, head, None, again), {})


def _cut(called: str, got: int, head: _Header) -> CorruptError:
    return CorruptError(
        f"{called}: it has {got:,} bytes, want {head.needs():,} for {head.dtype} of shape {head.shape}; it is cut: "
        "copy or write it again"
    )


def _reader(called: str, head: _Header, whole: Any, opened: Callable[[], tuple[Any, int]]) -> Callable[[int, int], Any]:
    """Returns the function that reads rows: of a file `whole` at any place, of others in order."""
    file: Any = None
    mapped: Any = None
    inner: Any = head.shape[1:]
    row: int = math.prod(inner) * head.dtype.itemsize

    def read(start: int, stop: int) -> Any:
        nonlocal file, mapped
        if file is None:
            file, offset = opened()
            if head.is_fortran and 0 not in (*head.shape, head.dtype.itemsize):
                mapped = np.memmap(file, head.dtype, "r", offset, head.shape, "F")
        if mapped is not None:
            return np.array(mapped[start:stop])
        if row == 0:
            return np.zeros((stop - start, *inner), head.dtype)
        if whole is not None:
            file.seek(head.size + start * row)
        memory: Any = np.empty((stop - start) * row, np.uint8)
        left = memoryview(memory)
        while left:
            if not (count := file.readinto(left[:_PIECE])):
                raise CorruptError(
                    f"{called}: it ends {len(left):,} bytes before row {stop:,}; it is cut: copy or write it again"
                )
            left = left[count:]
        return memory.view(head.dtype).reshape(stop - start, *inner)

    return read


def _header(called: str, file: Any) -> _Header:
    """Reads the header of an array, of all versions of the format."""
    begin = file.read(8)
    if begin[:6] != _MAGIC:
        raise CorruptError(f"{called}: it begins with {begin[:6]!r}, want {_MAGIC!r}; it is no array of NumPy")
    wide = begin[6:7] != b"\x01"
    if begin[6:7] not in (b"\x01", b"\x02", b"\x03"):
        raise CorruptError(f"{called}: version {begin[6:]!r} of the format is unknown, want 1 to 3; write it again")
    field = file.read(4 if wide else 2)
    length = int.from_bytes(field, "little")
    text = file.read(length) if length <= _LONGEST else b""
    if len(text) != length or not field:
        raise CorruptError(f"{called}: its header has {len(text):,} bytes, want {length:,}; it is cut or damaged")
    try:
        decoded = text.decode("utf-8" if begin[6:7] == b"\x03" else "latin-1")
        about = ast.literal_eval(_LONG.sub(r"\1", decoded).strip())
        shape, descr, is_fortran = about["shape"], about["descr"], about["fortran_order"]
        dtype = np.lib.format.descr_to_dtype(descr)
    except Exception as err:
        raise CorruptError(f"{called}: its header {text[:200]!r} cannot be read: {err}; write it again") from err
    if not isinstance(shape, tuple) or not all(type(axis) is int and axis >= 0 for axis in shape):
        raise CorruptError(f"{called}: its shape is {shape!r}, want a tuple of ints from 0; write it again")
    if dtype.hasobject:
        raise InvalidArgumentError(
            f"{called}: it holds Python objects ({dtype}), and pickles are not read: they can run code; save numbers "
            'or texts, as by array.astype("U") or array.astype("float64")'
        )
    return _Header(dtype, shape, bool(is_fortran) and len(shape) > 1, len(begin) + len(field) + length)
