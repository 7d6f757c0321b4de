"""The output of commands: tables and sizes for people, JSON for machines."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from deeplake import _text
from deeplake._text import printable, printable_json

_F = TypeVar("_F", bound=Callable[..., Any])


def json_option(function: _F) -> _F:
    """Adds --json to a command, as the argument `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def at_option(function: _F) -> _F:
    """Adds --at to a command, as the argument `at`."""
    return click.option("--at", default="", help="A branch, tag, commit, version number or time.")(function)


def show(value: Any, as_json: bool, lines: Iterable[str]) -> None:
    """Prints value as JSON, or the lines. A dataset cannot make either say anything to the
    terminal.
    """
    if as_json:
        click.echo(as_json_text(value))
        return
    for line in lines:
        click.echo(printable(line))


def as_json_text(value: Any, *, allow_nan: bool = True) -> str:
    """Returns JSON on one line. Letters stay as they are if the output is Unicode."""
    is_unicode = codecs.lookup(sys.stdout.encoding or "ascii").name.startswith("utf")
    return printable_json(json.dumps(value, ensure_ascii=not is_unicode, allow_nan=allow_nan))


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Returns the lines of a table."""
    return _text.table([head, *rows]) if rows else ["  nothing"]


def size(count: float) -> str:
    """Returns a number of bytes as people write it."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "B" or count >= 100 else f"{count:,.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"
