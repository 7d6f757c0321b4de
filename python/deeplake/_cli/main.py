"""The command line `deeplake`. Each command prints for people, or with --json one JSON value.

A command imports its modules when it runs, so that `create` starts at once.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from deeplake import _native
from deeplake._cli.bench import bench
from deeplake._cli.complete import PLACE, completion
from deeplake._cli.create import Interrupted, create
from deeplake._cli.export import export
from deeplake._cli.head import head
from deeplake._cli.listing import describe, exists, list_, tensor_table
from deeplake._cli.output import at_option, json_option, show, size
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


@cli.command()
@click.argument("uri", required=False, type=PLACE)
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
    about = describe(uri, at)
    head = about["head"]
    lines = [
        f"{about['uri']}",
        f"  rows     {about['rows']:,}",
        f"  version  {head['version']} ({head['commit'][:8]}, {head['time']})",
        f"  stored   {size(sum(tensor['bytes'] for tensor in about['tensors']))}",
    ]
    show(about, as_json, [*lines, *tensor_table(about["tensors"])])


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
@click.argument("uri", type=PLACE)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@json_option
def remove(uri: str, yes: bool, as_json: bool) -> None:
    """Delete a dataset with all its versions."""
    place = _uri.resolve(uri)
    if not exists(place):
        raise click.ClickException(f'delete dataset "{place}": there is no dataset')
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("nobody is there to be asked; give --yes to delete")
        if not click.confirm(f"Delete {place} with all its versions?", err=True):
            raise click.ClickException(f"{place} is not deleted")
    _native.delete(place, store=_storage.reach(None))
    show({"deleted": place}, as_json, [f"deleted {place}"])


cli.add_command(create)
cli.add_command(export)
cli.add_command(bench)
cli.add_command(completion)
cli.add_command(head)
cli.add_command(list_)
cli.add_command(query)
cli.add_command(visualize)
register(cli)


if __name__ == "__main__":
    main()
