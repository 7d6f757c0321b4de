"""Files of this machine that users name: reading and writing with errors of the package."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from deeplake._errors import InvalidArgumentError, NotFoundError, StorageError


class MissingFileError(NotFoundError, FileNotFoundError):
    """A file to read, or the folder of one to write, is not there."""


def check_regular(called: str, path: str | Path) -> None:
    """Refuses pipes and devices, which a reader may wait for without end. Whoever reads the path
    says what else is wrong with it.
    """
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        what = "named pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
        raise InvalidArgumentError(f"{called}: not a regular file but a {what}; copy what it gives into a file first")


def read_file(called: str, path: str) -> bytes:
    """Returns the bytes of a file. `called` names the path."""
    check_regular(called, path)
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise MissingFileError(f"{called}: there is no such file") from None
    except OSError as err:
        raise StorageError(f"{called}: {err.strerror}") from err
    except ValueError as err:
        raise InvalidArgumentError(f"{called}: {err}, want the path of a file") from None


def write_file(verb: str, path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file, such as `verb` "save video"."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidArgumentError(f"{verb}: path is a {type(path).__name__}, want the path of a file")
    called = f'{verb} to "{os.fspath(path)}"'
    try:
        Path(path).write_bytes(data)
    except FileNotFoundError:
        raise MissingFileError(
            f'{called}: there is no folder "{Path(path).parent}"; make it, or name another path'
        ) from None
    except OSError as err:
        raise StorageError(f"{called}: {err.strerror}") from err
    except (TypeError, ValueError) as err:
        raise InvalidArgumentError(f"{called}: {err}, want the path of a file") from None
