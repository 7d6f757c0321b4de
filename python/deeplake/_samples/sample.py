"""Samples that are files already: encoded images and videos that are stored as they are."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy.typing as npt

from deeplake import _native
from deeplake._errors import Error, InvalidArgumentError, UnsupportedError
from deeplake._files import read_file


def read(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview,
    *,
    compression: Literal["jpeg", "png", "webp"] | None = None,
) -> Sample:
    """Reads an encoded image or a video from a file or from memory, to append it or update with it.

    A tensor whose compression is that of the file stores the bytes unchanged, after a look at the
    header. Any other tensor of images decodes and encodes them anew. A tensor of htype video stores
    the file of a video unchanged.

    Args:
        source: a path, or the bytes of a file.
        compression: the codec that the bytes must have: "jpeg", "png" or "webp". None takes any of
            them.

    Raises:
        NotFoundError: the file does not exist. It is a FileNotFoundError too.
        InvalidArgumentError: the bytes have another codec than `compression`, or the path is that
            of a pipe or a device.

    Example:
        ds.append({"images": deeplake.read("cat.jpg"), "labels": "cat"})
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
    return read_file(f'read "{text}"', text)


class Sample:
    """An encoded image, or a video: the result of `deeplake.read`. Its properties read the header
    of an image on first access.
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
        """The codec of the file: "jpeg", "png" or "webp"."""
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
        """The decoded image, an array of shape (height, width, channels). Each access decodes."""
        return _native.decode(self.__deeplake_encoded__)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("a copy cannot be avoided: the image has to be decoded")
        return self.array if dtype is None else self.array.astype(dtype, copy=False)

    def __bytes__(self) -> bytes:
        return self.__deeplake_encoded__

    def __len__(self) -> int:
        """Returns the size of the file in bytes."""
        return len(self.__deeplake_encoded__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sample) and self.__deeplake_encoded__ == other.__deeplake_encoded__

    def __hash__(self) -> int:
        return hash(self.__deeplake_encoded__)

    def __reduce__(self) -> tuple[Any, ...]:
        return Sample, (self.__deeplake_encoded__,)

    def __repr__(self) -> str:
        try:
            about = f"{self.codec}, {self.dtype}, {self.shape}, "
        except Error:  # a video, or a file that is cut
            about = ""
        return f"Sample({self._name}, {about}{len(self)} bytes)"

    def _look(self) -> dict[str, Any]:
        if self._header is None:
            self._header = _native.inspect(self.__deeplake_encoded__)
        return self._header
