"""The command line `deeplake`. Each command prints for people, or with --json one JSON value.

A command imports its modules when it runs, so that `create` starts at once.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from deeplake import _native
from deeplake._cli.bench import bench
from deeplake._cli.create import Interrupted, create
from deeplake._cli.head import head
from deeplake._cli.output import at_option, json_option, show, size, table
from deeplake._cli.query import query
from deeplake._cli.versions import register
from deeplake._cli.visualize import visualize
from deeplake._errors import Error
from deeplake._load.device import nvjpeg
from deeplake._stores import storage as _storage
from deeplake._stores import uri as _uri
from deeplake._text import printable
from deeplake._version import __version__

_F = TypeVar("_F", bound=Callable[..., Any])
_INTERRUPTED = 130


def main() -> None:
    """Runs the command line. Exit codes: 1 an error, 2 wrong usage, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # of a terminal that lacks letters
    try:
        cli.main(prog_name="deeplake", standalone_mode=False)
    except click.exceptions.Exit as err:
        sys.exit(err.exit_code)
    except click.UsageError as err:
        err.show()
        sys.exit(err.exit_code)
    except click.ClickException as err:
        _fail(err.format_message(), err.exit_code)
    except Interrupted:
        _fail("interrupted; run the same command again to go on", _INTERRUPTED)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted", _INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has seen enough. Python would complain when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Error as err:
        _fail(str(err), 1)


def _fail(message: str, code: int) -> None:
    """Ends the program with a message. It keeps its lines: a query is shown with the place of the
    fault under it.
    """
    lines = [printable(line.replace("\t", " ")).rstrip() for line in message.split("\n")]
    print("deeplake:", "\n".join(line for line in lines if line).lstrip(), file=sys.stderr)
    sys.exit(code)


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.version_option(__version__, "--version", prog_name="deeplake")
def cli() -> None:
    """Versioned datasets that stream into training.

    URI is a path, file://..., s3://bucket/path, gs://bucket/path, https://... or
    deeplake://org/name.
    """


@cli.command("ls")
@click.argument("uri", required=False)
@json_option
def list_(uri: str | None, as_json: bool) -> None:
    """List the datasets of a folder, of a place in a store or of deeplake://org/, or the tensors of
    a dataset.

    With no URI: all datasets that deeplake:// names.
    """
    if uri is None:
        found = [entry for org in _uri.organisations() for entry in _datasets_of(org)]
    elif (org := _uri.organisation(uri)) is not None:
        found = _datasets_in_org(org)
    elif _exists(place := _uri.resolve(uri)):
        tensors = _describe(uri)["tensors"]
        show(tensors, as_json, _tensor_table(tensors))
        return
    else:
        found = _datasets_in(place)
    show(found, as_json, table(["dataset", "rows"], [[entry["uri"], _rows_or_error(entry)] for entry in found]))
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
    from concurrent.futures import ThreadPoolExecutor

    place = place.removeprefix("file://").rstrip("/")
    if "://" in place:
        names = _native.datasets(place, store=_storage.reach(None))
    elif (folder := Path(place or "/")).is_dir():
        names = [path.name for path in sorted(folder.iterdir()) if path.is_dir() and _exists(str(path))]
    elif missing_ok:
        names = []
    else:
        raise click.ClickException(f'list "{folder}": there is no dataset and no folder')
    uris = [f"{place}/{name}" for name in names]
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(_listed, uris))


def _listed(uri: str) -> dict[str, Any]:
    """Returns the line of a dataset in a list; one that cannot be read hides no other."""
    try:
        return {"uri": uri, "rows": int(_describe(uri)["rows"])}
    except Error as err:
        return {"uri": uri, "rows": None, "error": str(err)}


def _exists(place: str) -> bool:
    return _native.exists(place, store=_storage.reach(None))


@cli.command()
@click.argument("uri", required=False)
@click.option("--device", is_flag=True, help="Show the CUDA driver and devices of this machine instead.")
@at_option
@json_option
def info(uri: str | None, device: bool, at: str, as_json: bool) -> None:
    """Show the rows, the version and the tensors of a dataset."""
    if device == (uri is not None):
        raise click.UsageError("give the URI of a dataset, or --device")
    if uri is None:
        _show_devices(as_json)
        return
    about = _describe(uri, at)
    head = about["head"]
    lines = [
        f"{about['uri']}",
        f"  rows     {about['rows']:,}",
        f"  version  {head['version']} ({head['commit'][:8]}, {head['time']})",
        f"  stored   {size(sum(tensor['bytes'] for tensor in about['tensors']))}",
    ]
    show(about, as_json, [*lines, *_tensor_table(about["tensors"])])


def _show_devices(as_json: bool) -> None:
    about = _native.devices()
    lines = [f"driver   {about['driver']}, CUDA {about['version']}"] if about["driver"] else []
    for device in about["devices"] or ():
        lines.append(
            f"cuda:{device['number']}   {device['name']}, {size(device['memory'])}, compute capability "
            f"{device['compute']}{'' if device['pools'] else ', no memory pools'}"
        )
    if about["missing"]:
        lines.append(f"missing  {about['missing']}")
    about["nvjpeg"] = next(iter(nvjpeg()), about["nvjpeg"])
    lines.append(f"nvjpeg   {about['nvjpeg'] or 'not found; exact=False needs it: pip install deeplake[cuda]'}")
    show(about, as_json, lines)


@cli.command("rm")
@click.argument("uri")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@json_option
def remove(uri: str, yes: bool, as_json: bool) -> None:
    """Delete a dataset with all its versions."""
    place = _uri.resolve(uri)
    if not _exists(place):
        raise click.ClickException(f'delete dataset "{place}": there is no dataset')
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("nobody is there to be asked; give --yes to delete")
        if not click.confirm(f"Delete {place} with all its versions?", err=True):
            raise click.ClickException(f"{place} is not deleted")
    _native.delete(place, store=_storage.reach(None))
    show({"deleted": place}, as_json, [f"deleted {place}"])


def _describe(uri: str, at: str = "") -> dict[str, Any]:
    place = _uri.resolve(uri)
    return _native.open(place, at=at, read_only=True, store=_storage.reach(None)).describe()


def _tensor_table(tensors: Sequence[dict[str, Any]]) -> list[str]:
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


cli.add_command(create)
cli.add_command(bench)
cli.add_command(head)
cli.add_command(query)
cli.add_command(visualize)
register(cli)


if __name__ == "__main__":
    main()
