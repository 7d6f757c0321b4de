"""Samples that are files already: encoded images that are stored as they are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt

from deeplake import _native
from deeplake._errors import InvalidArgumentError, NotFoundError, StorageError, UnsupportedError


class _MissingFileError(NotFoundError, FileNotFoundError):
    """A file to read is not there."""


def read(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview,
    *,
    compression: Literal["jpeg", "png", "webp"] | None = None,
) -> Sample:
    """Returns an encoded image, as it is in a file or in memory, to be appended or updated.

    A tensor whose compression is that of the file stores the bytes verbatim, after a look at the
    header; any other decodes and encodes them anew. The file is read now and not kept.

    Args:
        source: a path, or the bytes of a file.
        compression: the codec that the bytes must have; None takes what they are.
    Raises:
        NotFoundError: there is no such file; it is a FileNotFoundError too.
        InvalidArgumentError: the bytes are of another codec than `compression`.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        sample = Sample(bytes(source))
    else:
        sample = Sample(_file(source), name=os.fspath(source))
    if compression is not None and sample.codec != compression:
        raise InvalidArgumentError(f'read {sample._name}: it is encoded as "{sample.codec}", want "{compression}"')
    return sample


def _file(path: str | os.PathLike[str]) -> bytes:
    try:
        text = os.fspath(path)
    except TypeError:
        raise InvalidArgumentError(f"read sample: got {type(path).__name__}, want a path or bytes") from None
    if "://" in str(text):
        raise UnsupportedError(f'read "{text}": samples are read from files only; fetch it and pass its bytes')
    try:
        return Path(text).read_bytes()
    except FileNotFoundError:
        raise _MissingFileError(f'read "{text}": there is no such file') from None
    except OSError as err:
        raise StorageError(f'read "{text}": {err.strerror}') from err


class Sample:
    """An encoded image: what `deeplake.read` returns. Its header is looked at when something asks
    for it.
    """

    __slots__ = ("__deeplake_encoded__", "_header", "_name")

    # The native append recognises samples that are files by this attribute.
    __deeplake_encoded__: bytes

    def __init__(self, data: bytes, *, name: str | None = None) -> None:
        self.__deeplake_encoded__ = data
        self._name = "sample" if name is None else f'"{name}"'
        self._header: dict[str, Any] | None = None

    @property
    def codec(self) -> str:
        """What the file is: "jpeg", "png" or "webp"."""
        return str(self._look()["codec"])

    @property
    def dtype(self) -> str:
        """The type of an element by its NumPy name."""
        return str(self._look()["dtype"])

    @property
    def shape(self) -> tuple[int, ...]:
        """Height, width and channels."""
        return tuple(self._look()["shape"])

    @property
    def array(self) -> npt.NDArray[Any]:
        """The decoded image; each look at it decodes."""
        return _native.decode(self.__deeplake_encoded__)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("a copy cannot be avoided: the image has to be decoded")
        return self.array if dtype is None else self.array.astype(dtype, copy=False)

    def __bytes__(self) -> bytes:
        return self.__deeplake_encoded__

    def __len__(self) -> int:
        """The bytes of the encoded file."""
        return len(self.__deeplake_encoded__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sample) and self.__deeplake_encoded__ == other.__deeplake_encoded__

    def __hash__(self) -> int:
        return hash(self.__deeplake_encoded__)

    def __reduce__(self) -> tuple[Any, ...]:
        return Sample, (self.__deeplake_encoded__,)

    def __repr__(self) -> str:
        return f"Sample({self._name}, {self.codec}, {self.dtype}, {self.shape}, {len(self)} bytes)"

    def _look(self) -> dict[str, Any]:
        if self._header is None:
            self._header = _native.inspect(self.__deeplake_encoded__)
        return self._header
