"""Samples that stay where they are: an image in a bucket, or a part of an archive."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path

from deeplake._errors import InvalidArgumentError

# The parts of a URL that core/storage/redact.go hides in errors.
_SIGNED = re.compile(
    r"(?i)((?<=[?&;])(?:x-amz-|x-goog-|[^=&;#]*(?:sig|key|token|secret|passw|auth|credential|policy|jwt|access))[^=&;#]*=)[^&;#]+"
)
_USER = re.compile(r"^(https?://)[^/?#]*(?=@)")


def link(url: str | os.PathLike[str], *, offset: int | None = None, length: int | None = None) -> Link:
    """Returns a sample that stays outside of the dataset: a JPEG, PNG or WebP file, or a part of an
    object.

    Appending or updating reads the start of the file for its shape, and notes the version (ETag) of
    the object. A reader of the row reads the object; an object that has changed or is gone is an
    error that names it. An object in the dataset's own store is reached with the dataset's
    `storage=`. Any other one needs `link_storage=` when the dataset is opened again; see "What a
    dataset may reach" in docs/storage.md.

    A URL with a signature or a password is refused, since the dataset would store it.

    Args:
        url: `s3://bucket/name`, `gs://bucket/name`, `https://...`, `file://...` or a path.
        offset: the start of the file within the object, in bytes; 0 by default.
        length: its size in bytes; by default the rest of the object.

    Raises:
        InvalidArgumentError: the URL names no object, or a number is negative.

    Example:
        ds.append({"images": deeplake.link("s3://pictures/cat.jpg")})
    """
    return Link(url, offset=offset, length=length)


class Link:
    """A sample outside of the dataset: the result of `deeplake.link`."""

    __slots__ = ("_length", "_offset", "_url")

    def __init__(self, url: str | os.PathLike[str], *, offset: int | None = None, length: int | None = None) -> None:
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
    def __deeplake_link__(self) -> bytes:
        # The native append recognises links by this attribute.
        url = os.fsencode(self._url)
        try:
            named = {"url": url.decode()}
        except UnicodeDecodeError:  # a file whose name is in Latin-1, say
            named = {"url64": base64.b64encode(url).decode()}
        return json.dumps({**named, "offset": self._offset, "length": self._length or 0}).encode()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Link) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, int, int | None]:
        return self._url, self._offset, self._length

    def __reduce__(self) -> tuple[object, ...]:
        return _again, self._key()

    def __repr__(self) -> str:
        part = f", offset={self._offset}" if self._offset else ""
        shown = _SIGNED.sub(r"\1***", _USER.sub(r"\1***", self._url))
        return f'Link("{shown}"{part}{"" if self._length is None else f", length={self._length}"})'


def _again(url: str, offset: int, length: int | None) -> Link:
    return Link(url, offset=offset, length=length)
