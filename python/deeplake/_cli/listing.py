"""The command `ls`: the datasets of a place, or the tensors of a dataset."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from deeplake import _native
from deeplake._cli.complete import PLACE
from deeplake._cli.output import json_option, show, size, table
from deeplake._errors import Error
from deeplake._stores import storage as _storage
from deeplake._stores import uri as _uri
from deeplake._text import printable

_DEPTH = 4  # levels of folders that ls searches
_SEARCHED = 1000  # folders of folders that it searches
_NEAR = 10  # datasets that it names where there are none


@click.command("ls")
@click.argument("uri", required=False, type=PLACE)
@json_option
def list_(uri: str | None, as_json: bool) -> None:
    """List the datasets of a folder, of a place in a store or of deeplake://org/, or the tensors of
    a dataset.

    With no URI: all datasets that deeplake:// names. On a disk, datasets in folders of the folder
    are listed too.
    """
    beside: list[str] = []
    if uri is None:
        found = [entry for org in _uri.organisations() for entry in _datasets_of(org)]
    elif (org := _uri.organisation(uri)) is not None:
        found = _datasets_in_org(org)
    elif exists(place := _uri.resolve(uri)):
        tensors = describe(uri)["tensors"]
        show(tensors, as_json, tensor_table(tensors))
        return
    else:
        found, beside = _datasets_below(place)
    lines = table(["dataset", "rows"], [[entry["uri"], _rows_or_error(entry)] for entry in found])
    show(found, as_json, [*lines, *beside])
    if any("error" in entry for entry in found):
        sys.exit(1)


def _rows_or_error(entry: dict[str, Any]) -> str:
    return entry["error"] if "error" in entry else f"{entry['rows']:,}"


def _datasets_of(name: str) -> list[dict[str, Any]]:
    """Returns the datasets of an organisation; warns of a root that cannot be listed."""
    try:
        org = _uri.organisation(f"{_uri.SCHEME}{name}/")
        return [] if org is None else _datasets_in_org(org)
    except Error as err:
        print(f"deeplake: {_uri.SCHEME}{name}/ is left out: {printable(str(err))}", file=sys.stderr)
        return []


def _datasets_in_org(org: _uri.Organisation) -> list[dict[str, Any]]:
    found = _datasets_in(org.root, missing_ok=True)
    return [{**entry, "uri": f"{_uri.SCHEME}{org.name}/{entry['uri'].rpartition('/')[2]}"} for entry in found]


def _datasets_in(place: str, *, missing_ok: bool = False) -> list[dict[str, Any]]:
    """Returns the datasets directly in a place."""
    place = place.removeprefix("file://").rstrip("/")
    if "://" in place:
        return _listed_all([f"{place}/{name}" for name in _native.datasets(place, store=_storage.reach(None))])
    if missing_ok and not Path(place or "/").is_dir():
        return []
    return _listed_all(_local_datasets(place, depth=1)[0])


def _datasets_below(place: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns the datasets of a place, on a disk those below it too, and lines of advice."""
    local = place.removeprefix("file://").rstrip("/")
    if "://" in local:
        return _datasets_in(place), []
    uris, skipped = _local_datasets(local, depth=_DEPTH)
    if skipped:
        return _listed_all(uris), [f"  not all folders were searched; `deeplake ls {skipped}` goes on there"]
    if uris or not local:
        return _listed_all(uris), []
    above = local.rpartition("/")[0]
    near = _local_datasets(above, depth=1)[0] if os.access(above or "/", os.R_OK | os.X_OK) else []
    return [], [f"  datasets beside it: {', '.join(near[:_NEAR])}"] if near else []


def _local_datasets(place: str, *, depth: int) -> tuple[list[str], str]:
    """Returns the datasets in a folder and in folders of it, by path, and the first folder that was
    not searched, "" if all were.

    It does not look into datasets, hidden folders, and links to folders.
    """
    if not Path(place or "/").is_dir():
        raise click.ClickException(f'list "{place or "/"}": there is no dataset and no folder')
    found, searched, level, skipped = [], 0, [place], ""
    for step in range(depth):
        below: list[str] = []
        for folder in level:
            if step > 0 and searched >= _SEARCHED:
                skipped = skipped or folder
                continue
            searched += 1
            try:
                entries = sorted(Path(folder or "/").iterdir())
            except OSError:
                if step == 0:
                    raise
                continue
            for path in entries:
                if not path.is_dir():
                    continue
                if exists(str(path)):
                    found.append(f"{folder}/{path.name}")
                elif not path.name.startswith(".") and not path.is_symlink():
                    below.append(f"{folder}/{path.name}")
        level = below
    return sorted(found), skipped


def _listed_all(uris: list[str]) -> list[dict[str, Any]]:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(_listed, uris))


def _listed(uri: str) -> dict[str, Any]:
    """Returns the line of a dataset in a list; one that cannot be read hides no other."""
    try:
        return {"uri": uri, "rows": int(describe(uri)["rows"])}
    except Error as err:
        return {"uri": uri, "rows": None, "error": str(err)}


def exists(place: str) -> bool:
    """Reports whether a dataset lies in a place."""
    return _native.exists(place, store=_storage.reach(None))


def describe(uri: str, at: str = "") -> dict[str, Any]:
    """Returns the description of a dataset at a version."""
    place = _uri.resolve(uri)
    return _native.open(place, at=at, read_only=True, store=_storage.reach(None)).describe()


def tensor_table(tensors: Sequence[dict[str, Any]]) -> list[str]:
    """Returns the lines of a table of tensors."""
    from deeplake._rows.tensor import shape_text

    rows = [
        [
            t["name"],
            t["htype"],
            t.get("time") or t["dtype"] or "-",
            shape_text(t),
            t["compression"],
            f"{t['chunks']:,}",
            size(t["bytes"]),
        ]
        for t in tensors
    ]
    rows += [
        [f"{t['name']} / {level['factor']}", "", "", "", "", f"{level['chunks']:,}", size(level["bytes"])]
        for t in tensors
        for level in t.get("levels", ())
    ]
    return table(["tensor", "htype", "dtype", "shape", "compression", "chunks", "stored"], rows)
