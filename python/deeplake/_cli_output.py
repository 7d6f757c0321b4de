"""How commands print: tables and sizes for people, JSON for machines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])


def json_option(function: _F) -> _F:
    """Adds --json to a command, as the argument `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def show(value: Any, as_json: bool, lines: Iterable[str]) -> None:
    """Prints value as JSON, or the lines."""
    if as_json:
        click.echo(json.dumps(value, ensure_ascii=False))
        return
    for line in lines:
        click.echo(line)


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Returns the lines of a table."""
    from deeplake._view import table as lines_of

    return lines_of([head, *rows]) if rows else ["  nothing"]


def size(count: float) -> str:
    """Returns a number of bytes as people write it."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "B" or count >= 100 else f"{count:,.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"
