"""Samples that stay where they are: an image in a bucket, or a part of an archive."""

from __future__ import annotations

import base64
import json
import math
import os
import re
from numbers import Real
from pathlib import Path

from deeplake._errors import InvalidArgumentError

# The parts of a URL that core/storage/redact.go hides in errors.
_SIGNED = re.compile(
    r"(?i)((?<=[?&;])(?:x-amz-|x-goog-|[^=&;#]*(?:sig|key|token|secret|passw|auth|credential|policy|jwt|access))[^=&;#]*=)[^&;#]+"
)
_USER = re.compile(r"^(https?://)[^/?#]*(?=@)")


def link(
    url: str | os.PathLike[str],
    *,
    offset: int | None = None,
    length: int | None = None,
    begin: float | None = None,
    end: float | None = None,
) -> Link:
    """Returns a sample that stays outside of the dataset: a JPEG, PNG or WebP file, a video, or a
    part of an object.

    Appending or updating reads the start of the file for its shape, and notes the version (ETag) of
    the object. A reader of the row reads the object; an object that has changed or is gone is an
    error that names it. An object in the dataset's own store is reached with the dataset's
    `storage=`. Any other one needs `link_storage=` when the dataset is opened again; see "What a
    dataset may reach" in docs/storage.md.

    With `begin` or `end`, the sample is the frames of a video that begin at these times: frame 0 is
    the first one at `begin`, and times count from there. Its bytes are an MP4 file of these frames,
    which is made when it is read. The codec must be H.264, H.265 or AV1.

    A URL with a signature or a password is refused, since the dataset would store it.

    Args:
        url: `s3://bucket/name`, `gs://bucket/name`, `https://...`, `file://...` or a path.
        offset: the start of the file within the object, in bytes; 0 by default.
        length: its size in bytes; by default the rest of the object.
        begin: of a video, the time of the first frame, in seconds; 0 by default. Times are rounded
            to those that the file can express.
        end: of a video, the time in seconds before which the last frame begins; by default its end.

    Raises:
        InvalidArgumentError: the URL names no object, a number is negative, or `end` is not behind
            `begin`.

    Example:
        ds.append({"images": deeplake.link("s3://pictures/cat.jpg")})
        ds.append({"video": deeplake.link("s3://films/day.mp4", begin=60, end=75.5)})
    """
    return Link(url, offset=offset, length=length, begin=begin, end=end)


class Link:
    """A sample outside of the dataset: the result of `deeplake.link`."""

    __slots__ = ("_begin", "_end", "_length", "_offset", "_url")

    def __init__(
        self,
        url: str | os.PathLike[str],
        *,
        offset: int | None = None,
        length: int | None = None,
        begin: float | None = None,
        end: float | None = None,
    ) -> None:
        text = os.fspath(url) if isinstance(url, str | os.PathLike) else None
        if not isinstance(text, str) or not text:
            raise InvalidArgumentError(f"link: got {url!r}, want a URL or a path")
        if "://" not in text:
            text = f"file://{Path(text).absolute().as_posix()}"
        try:
            os.fsencode(text)
        except UnicodeEncodeError:
            raise InvalidArgumentError(
                f"link: got {text!r}, which has half a character (a lone surrogate); want a URL or a path"
            ) from None
        for name, number, least in (("offset", offset, 0), ("length", length, 1)):
            if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < least):
                raise InvalidArgumentError(f'link "{text}": {name} is {number!r}, want a number of at least {least}')
        self._begin, self._end = _seconds(text, "begin", begin), _seconds(text, "end", end)
        if self._end is not None and self._end <= (self._begin or 0.0):
            raise InvalidArgumentError(f'link "{text}": the part ends at {end!r} s and begins at {begin or 0.0!r} s')
        self._url = text
        self._offset = offset or 0
        self._length = length

    @property
    def url(self) -> str:
        """The address of the object."""
        return self._url

    @property
    def offset(self) -> int:
        """The start of the file within the object, in bytes."""
        return self._offset

    @property
    def length(self) -> int | None:
        """The size of the file in bytes; None for the rest of the object."""
        return self._length

    @property
    def begin(self) -> float | None:
        """The time at which the part of a video begins, in seconds; None for its start."""
        return self._begin

    @property
    def end(self) -> float | None:
        """The time at which the part of a video ends, in seconds; None for its end."""
        return self._end

    @property
    def __deeplake_link__(self) -> bytes:
        # The native append recognises links by this attribute.
        url = os.fsencode(self._url)
        try:
            named = {"url": url.decode()}
        except UnicodeDecodeError:  # a file whose name is in Latin-1, say
            named = {"url64": base64.b64encode(url).decode()}
        part = {name: t for name, t in (("begin", self._begin), ("end", self._end)) if t is not None}
        return json.dumps({**named, "offset": self._offset, "length": self._length or 0, **part}).encode()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Link) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, int, int | None, float | None, float | None]:
        return self._url, self._offset, self._length, self._begin, self._end

    def __reduce__(self) -> tuple[object, ...]:
        return _again, self._key()

    def __repr__(self) -> str:
        part = f", offset={self._offset}" if self._offset else ""
        shown = _SIGNED.sub(r"\1***", _USER.sub(r"\1***", self._url))
        for name, value in (("length", self._length), ("begin", self._begin), ("end", self._end)):
            part += "" if value is None else f", {name}={value}"
        return f'Link("{shown}"{part})'


def _seconds(url: str, name: str, time: object) -> float | None:
    """Returns a time as a float. Raises InvalidArgumentError if it is none, or negative."""
    if time is None:
        return None
    try:
        seconds = -1.0 if isinstance(time, bool) or not isinstance(time, Real) else float(time)
    except OverflowError:
        seconds = math.inf
    if not 0 <= seconds < math.inf:
        raise InvalidArgumentError(f'link "{url}": {name} is {time!r}, want seconds: a number of 0 or more')
    return seconds


def _again(url: str, offset: int, length: int | None, begin: float | None, end: float | None) -> Link:
    return Link(url, offset=offset, length=length, begin=begin, end=end)
