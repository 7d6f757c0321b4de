"""Where a dataset lies: names (`deeplake://org/name`), paths and addresses."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from deeplake._errors import InvalidArgumentError
from deeplake._names import suggest

SCHEME = "deeplake://"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def resolve(uri: str | os.PathLike[str]) -> str:
    """Returns the place that a URI names: an absolute path, or an address with a scheme as it is.

    `deeplake://org/name` is looked up in `roots()`. A path may begin with `~`. Nothing is read but
    the configuration.
    """
    try:
        text = os.fspath(uri)
    except TypeError:
        raise InvalidArgumentError(f"resolve uri: got {type(uri).__name__}, want a str or a path") from None
    if not isinstance(text, str):
        raise InvalidArgumentError("resolve uri: got bytes, want a str or a path")
    if not text or "\0" in text:
        raise InvalidArgumentError(f'resolve uri "{text!r}": empty, or with a null character; give a path or a URI')
    if text.startswith(SCHEME):
        org, name = split_name(text)
        return f"{root_of(org).rstrip('/')}/{name}"
    if "://" in text:
        return text
    return str(Path(os.path.abspath(os.path.expanduser(text))))  # noqa: PTH100, PTH111 - Path would keep ".."


def org_of(uri: str) -> str | None:
    """Returns the organisation of `deeplake://org` or `deeplake://org/`, None for anything else."""
    org = uri.removeprefix(SCHEME).rstrip("/")
    return org if uri.startswith(SCHEME) and _NAME.fullmatch(org) else None


def split_name(uri: str) -> tuple[str, str]:
    """Returns the organisation and the name of `deeplake://org/name`."""
    parts = uri[len(SCHEME) :].split("/")
    if len(parts) != 2 or not all(_NAME.fullmatch(part) for part in parts):
        raise InvalidArgumentError(
            f'resolve uri "{uri}": want deeplake://org/name, both of letters, digits, ".", "_" and "-", '
            "beginning with a letter or digit; deeplake ls deeplake://org/ shows the names"
        )
    return parts[0], parts[1]


def root_of(org: str) -> str:
    """Returns the storage root of an organisation, which is a folder of the user's where nothing
    else is said.
    """
    root = roots().get(org)
    return _place(root) if root is not None else str(data_folder() / org)


def roots() -> dict[str, str]:
    """Returns the storage roots by organisation: those of the configuration file, overruled by
    DEEPLAKE_ROOTS.

    DEEPLAKE_ROOTS reads `org=root;other=root`; the file is `~/.config/deeplake/config.toml` with a
    table `[roots]`. A root is a folder, or a place in a store like `s3://bucket/path` or
    `gs://bucket`.
    """
    found = _file_roots()
    for entry in os.environ.get("DEEPLAKE_ROOTS", "").split(";"):
        if not entry.strip():
            continue
        org, equals, root = (part.strip() for part in entry.partition("="))
        if not equals or not root or not _NAME.fullmatch(org):
            raise InvalidArgumentError(f'read DEEPLAKE_ROOTS: got "{entry}", want org=root, separated by ";"')
        found[org] = root
    return found


def config_file() -> Path:
    """Returns where the configuration is, whether or not it exists."""
    return _user_folder("XDG_CONFIG_HOME", ".config") / "deeplake" / "config.toml"


def data_folder() -> Path:
    """Returns the folder of the organisations that have no root of their own."""
    return _user_folder("XDG_DATA_HOME", ".local/share") / "deeplake"


def _user_folder(variable: str, default: str) -> Path:
    # The XDG rules: a relative path counts as unset.
    value = os.environ.get(variable, "")
    return Path(value) if os.path.isabs(value) else Path.home() / default  # noqa: PTH117


def _place(root: str) -> str:
    if "://" in root:
        return root
    path = Path(root).expanduser()
    if not path.is_absolute():
        raise InvalidArgumentError(f'read storage root "{root}": want an absolute path or a URI')
    return str(path)


def _file_roots() -> dict[str, str]:
    path = config_file()
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as err:
        raise InvalidArgumentError(f'read configuration "{path}": {err.strerror}') from err
    table = _parse(text, path)
    for key in table:
        if key != "roots":
            raise InvalidArgumentError(f'read configuration "{path}": unknown key "{key}"{suggest(key, ["roots"])}')
    found = table.get("roots", {})
    if not isinstance(found, dict) or not all(
        isinstance(root, str) and root and _NAME.fullmatch(org) for org, root in found.items()
    ):
        raise InvalidArgumentError(f'read configuration "{path}": want lines like name = "/folder" under [roots]')
    return dict(found)


def _parse(text: str, path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table: dict[str, Any] = tomllib.loads(text)
        return table
    except tomllib.TOMLDecodeError as err:
        raise InvalidArgumentError(f'read configuration "{path}": {err}') from err
