"""Progress bars: on a terminal only, on standard error, and nothing is imported for them elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

_T = TypeVar("_T")
Advance = Callable[..., None]


def on_terminal() -> bool:
    """Returns whether somebody is looking at standard error."""
    return bool(getattr(sys.stderr, "isatty", bool)())


def tracked(batches: Iterator[_T], total: int, label: str) -> Iterator[_T]:
    """Yields the batches, with a bar of how many there were."""
    with bar(label, total=total, unit="batches") as advance:
        for count, batch in enumerate(batches):
            advance(count)
            yield batch
            del batch
        advance(total)


@contextmanager
def bar(label: str, *, total: int | None = None, unit: str = "rows") -> Iterator[Advance]:
    """Shows a bar; the value is a function that takes the new count, and maybe `total` and `text`."""
    if not on_terminal():
        yield lambda count, **_: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TextColumn("{task.fields[text]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(label, total=total, text="")

        def advance(count: int, **fields: Any) -> None:
            progress.update(task, completed=count, **fields)

        yield advance
