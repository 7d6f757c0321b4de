"""Videos: samples of htype video, whose frames are decoded when they are asked for."""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from deeplake import _index, _native
from deeplake._checks import integer
from deeplake._errors import Error, InvalidArgumentError, OutOfRangeError
from deeplake._files import write_file

if TYPE_CHECKING:
    from deeplake._rows.source import Pinned


class VideoInfo(NamedTuple):
    """What a video is: the result of `Video.info`."""

    codec: str
    """ "h264", "hevc", "av1", "vp8", "vp9", "mpeg4" or "mjpeg"."""
    width: int
    """Pixels of a row of a frame, as it is shown."""
    height: int
    """Rows of a frame, as it is shown."""
    frames: int
    """The number of frames."""
    key_frames: int
    """The number of packets at which decoding may begin."""
    begin: float
    """The time at which the first frame is shown, in seconds; 0 for most videos."""
    duration: float
    """The time at which the last frame ends, in seconds."""
    fps: float
    """Frames a second in the mean; 0 for a video that is shown for no time."""
    rotation: int
    """Degrees, clockwise, by which frames are turned when they are decoded: 0, 90, 180 or 270."""
    bytes: int
    """The size of the file."""


class Video:
    """One video of a tensor of htype video: `ds["video"][3]`.

    It reads nothing by itself. Each call reads the packets that its frames need, with what lies
    within their ranges of checksums and in short gaps between them.
    Frames are uint8 arrays of shape (frames, height, width, 3) in RGB, turned as the file says.
    `len(video)` is the number of frames, `video[i]` one frame of shape (height, width, 3), and
    `video[a:b:step]` several. `bytes(video)` is the file.

    Decoding needs FFmpeg's libraries: those of the system, those of PyAV (`pip install
    deeplake[video]`), or those in the folder that the environment variable DEEPLAKE_FFMPEG names.
    """

    __slots__ = ("_info", "_name", "_row", "_source")

    def __init__(self, source: Pinned, name: str, row: int) -> None:
        self._source, self._name, self._row = source, name, row
        self._info: VideoInfo | None = None

    @property
    def info(self) -> VideoInfo:
        """The codec, the size, the number of frames and more.

        Raises:
            CorruptError: what is stored is damaged.
        """
        if self._info is None:
            info = reader_of(self._source, self._name).info(self._row)
            times = {name: float(info[name]) for name in ("begin", "duration", "fps")}
            self._info = VideoInfo(**{**info, **times})
        return self._info

    @property
    def times(self) -> npt.NDArray[np.float64]:
        """The times at which frames are shown, in seconds: an array of shape (frames,), never
        falling."""
        return reader_of(self._source, self._name).times(self._row, self.info.frames)

    @overload
    def frames(self, start: int = 0, stop: int | None = None, step: int = 1) -> npt.NDArray[np.uint8]: ...
    @overload
    def frames(self, start: npt.ArrayLike) -> npt.NDArray[np.uint8]: ...
    def frames(self, start: Any = 0, stop: int | None = None, step: int = 1) -> npt.NDArray[np.uint8]:
        """Decodes frames.

        Args:
            start: the first frame; or an array of frame numbers, in any order, with repeats.
            stop: the end, which is not decoded; None is the end of the video.
            step: the distance of frames, at least 1.

        Returns:
            An array of shape (n, height, width, 3), uint8, RGB.

        Raises:
            OutOfRangeError: a number is outside of [-frames, frames). A range beyond the end is
                cut, as that of a list.
            CorruptError: stored bytes are damaged, or the file's packets are.
            UnsupportedError: FFmpeg's libraries are missing, or do not know the codec.

        Example:
            clip = ds["video"][3].frames(100, 164, step=2)
        """
        count = self.info.frames
        if isinstance(start, int | np.integer) and not isinstance(start, bool):
            whole("read frames", "step", step, least=1)
            if stop is not None:
                # Any integer is good: a range is cut.
                whole("read frames", "stop", stop, least=None)
            wanted: Any = _index.as_array(range(*slice(start, stop, step).indices(count)))
        elif stop is not None or step != 1:
            raise InvalidArgumentError("read frames: stop and step are for a range; give frame numbers alone")
        else:
            wanted = self._numbers(start)
        return reader_of(self._source, self._name).frames(self._row, wanted, self.info.height, self.info.width)

    def at(self, seconds: npt.ArrayLike) -> npt.NDArray[np.uint8]:
        """Decodes the frames that are shown at times: of each, the last one that begins then or
        earlier.

        Args:
            seconds: times, an array of shape (n,), or one number.

        Returns:
            An array of shape (n, height, width, 3), uint8, RGB; of one number, (height, width, 3).

        Raises:
            OutOfRangeError: no frame is shown at a time: it is before `info.begin`, or not before
                `info.duration`.
        """
        numbers = self.index_at(seconds)
        if np.ndim(numbers) == 0:
            return self._frame(int(numbers))
        return self.frames(numbers)

    def index_at(self, seconds: npt.ArrayLike) -> Any:
        """Returns the numbers of the frames that are shown at times: an int64 array of shape (n,),
        or an int.

        Raises:
            OutOfRangeError: as `at`.
        """
        try:
            wanted = np.asarray(seconds)
        except ValueError:
            raise InvalidArgumentError("find frames: times are lists of several lengths, want one list") from None
        if wanted.dtype.kind not in "fiu" or wanted.ndim > 1:
            raise InvalidArgumentError(
                f"find frames: times are {wanted.dtype} of shape {wanted.shape}, want numbers of shape (n,)"
            )
        found = reader_of(self._source, self._name).at(self._row, np.atleast_1d(wanted).astype(np.float64))
        return found if wanted.ndim else int(found[0])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, byte for byte.

        Raises:
            NotFoundError: the folder does not exist. It is a FileNotFoundError too.
            StorageError: the file cannot be written.
        """
        write_file("save video", path, bytes(self))

    def __len__(self) -> int:
        return self.info.frames

    def __getitem__(self, index: Any) -> npt.NDArray[np.uint8]:
        if isinstance(index, slice):
            for name in ("start", "stop", "step"):
                if getattr(index, name) is not None:
                    whole("read frames", f"the {name} of a slice", getattr(index, name), least=None)
            if index.step is not None and not operator.index(index.step):
                raise InvalidArgumentError("read frames: the step of a slice is 0, want another number")
            return self.frames(np.arange(*index.indices(len(self)), dtype=np.int64))
        if isinstance(index, int | np.integer) and not isinstance(index, bool):
            return self._frame(int(index))
        return self.frames(index)

    def _frame(self, number: int) -> npt.NDArray[np.uint8]:
        frame: npt.NDArray[np.uint8] = self.frames([number])[0]
        return frame

    def __iter__(self) -> Iterator[npt.NDArray[np.uint8]]:
        """Yields frames, decoded some at a time."""
        info = self.info
        run = max(1, _AHEAD // max(1, info.width * info.height * 3))
        for start in range(0, info.frames, run):
            yield from self.frames(start, start + run)

    def __bytes__(self) -> bytes:
        file = self._source.column(self._name).bytes(self._row)
        return bytes(file or b"")

    @property
    def __deeplake_encoded__(self) -> bytes:
        # The native append takes the file, so that a video can be appended elsewhere.
        return bytes(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Video, (self._source.select(range(self._row, self._row + 1)), self._name, 0)

    def __repr__(self) -> str:
        try:
            i = self.info
        except Error as err:
            return f"Video(unreadable: {err})"
        return f"Video({i.codec}, {i.width} x {i.height}, {i.frames} frames, {i.duration:.2f} s, {i.bytes} bytes)"

    def _numbers(self, frames: npt.ArrayLike) -> npt.NDArray[np.int64]:
        try:
            numbers = np.asarray(frames)
        except ValueError:
            raise InvalidArgumentError(
                "read frames: their numbers are lists of several lengths, want one list"
            ) from None
        if not numbers.size:
            return np.zeros(0, np.int64)
        count = self.info.frames
        huge = numbers.dtype == object and all(isinstance(n, int) for n in numbers.flat)
        if numbers.ndim != 1 or (numbers.dtype.kind not in "iu" and not huge):
            raise InvalidArgumentError(
                f"read frames: their numbers are {numbers.dtype} of shape {numbers.shape}, want integers of shape (n,)"
            )
        if bad := [int(n) for n in numbers if not -count <= int(n) < count]:
            raise OutOfRangeError(f"read frames: frame {bad[0]} is out of range, the video has {count}")
        numbers = numbers.astype(np.int64)
        return np.where(numbers < 0, numbers + count, numbers)


def whole(verb: str, name: str, value: object, *, least: int | None = -(2**63), most: int = 2**63 - 1) -> int:
    """Returns an argument that is an integer, of 64 bits unless `least` is None.

    Raises InvalidArgumentError for other values.
    """
    number = integer(value)
    if number is None:
        raise InvalidArgumentError(f"{verb}: {name} is {value!r}, want an integer")
    if least is not None and not least <= number <= most:
        raise InvalidArgumentError(f"{verb}: {name} is {number}, want {least} to {most}")
    return number


def rate(verb: str, fps: object, *, optional: bool = True) -> float:
    """Returns frames a second, 0 for None if they are optional.

    Raises InvalidArgumentError for other values than positive numbers.
    """
    if fps is None and optional:
        return 0.0
    try:
        number = -1.0 if isinstance(fps, str | bool | bytes) else float(fps)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = -1.0
    if not 0 < number < float("inf"):
        raise InvalidArgumentError(f"{verb}: fps is {fps!r}, want a number above 0")
    return number


def seconds(name: str, times: object) -> dict[str, Any]:
    """Returns the times of a tensor of windows as an option: a number is a single one.

    Raises InvalidArgumentError for other values than numbers, and lists of them.
    """
    try:
        numbers = np.asarray(times)
    except ValueError:
        numbers = np.empty((0, 0))
    if numbers.dtype.kind not in "fiu" or numbers.ndim > 1 or not np.isfinite(numbers).all():
        raise InvalidArgumentError(
            f'make windows of "{name}": times are {times!r}, want seconds: a number, or a list of numbers'
        )
    return {"name": name, "times": np.atleast_1d(numbers).astype(float).tolist(), "single": numbers.ndim == 0}


_AHEAD = 64 << 20  # bytes of frames that an iteration decodes at once


def videos(source: Pinned, rows: npt.NDArray[np.int64], name: str) -> list[Video | None]:
    """Returns the videos of rows, None for a hole."""
    if len(rows) == 1:
        one = Video(source, name, int(rows[0]))
        # Its index pages and those of its table come from a store at the same time.
        with suppress(Error):
            one.info  # noqa: B018
            return [one]
    sizes = source.column(name).sizes(rows)
    return [None if size < 0 else Video(source, name, int(row)) for row, size in zip(rows, sizes, strict=True)]


_opening = threading.Lock()


def reader_of(source: Pinned, name: str) -> _native.Videos:
    """Returns the native reader of a tensor of videos, kept with the rows it reads."""
    with _opening:
        reader = source.videos.get(name)
        if reader is None or reader.generation != _native.generation():
            reader = source.videos[name] = source.view().videos(name, {"folders": decoder_folders()})
        return reader


def decoder_folders() -> list[str]:
    """Lists the folders with the libraries of an installed PyAV, which is not imported."""
    found = find_spec("av")
    places = list(found.submodule_search_locations or []) if found is not None else []
    return [str(folder) for place in places if (folder := Path(place).parent / "av.libs").is_dir()]
