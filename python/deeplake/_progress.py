"""Progress bars: on standard error, for terminals only. Elsewhere they import nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeVar

_T = TypeVar("_T")
Advance = Callable[..., None]
# Seconds between two looks at the figures.
_EVERY = 0.5


def on_terminal() -> bool:
    """Returns whether standard error is a terminal."""
    return bool(getattr(sys.stderr, "isatty", bool)())


def tracked(
    batches: Iterator[_T], total: int, label: str, stats: Callable[[], dict[str, Any]] | None = None
) -> Iterator[_T]:
    """Yields the batches and shows their number, their rate and the bottleneck in one line."""
    with bar(label, total=total, unit="batches") as advance:
        shown = monotonic()
        for count, batch in enumerate(batches):
            now = monotonic()
            if stats is not None and now - shown >= _EVERY:
                shown = now
                advance(count, text=_speed(stats()))
            else:
                advance(count)
            yield batch
            del batch
        advance(total, **({} if stats is None else {"text": _speed(stats())}))


def _speed(stats: dict[str, Any]) -> str:
    """Returns rows a second and the bottleneck, in a few words."""
    stage = stats["bottleneck"].split(":", 1)[0]
    remedy = " (see python_workers)" if stage == "python" and not stats["python"]["workers"] else ""
    return f"{stats['rows_per_second']:,.0f} rows/s, {stage}-bound{remedy}"


@contextmanager
def bar(label: str, *, total: int | None = None, unit: str = "rows") -> Iterator[Advance]:
    """Shows a bar. Yields a function that takes the new count, and maybe `total` and `text`."""
    if not on_terminal():
        yield lambda count, **_: None
        return
    try:
        import rich  # noqa: F401
    except ImportError:
        try:
            yield _plain(label, total, unit)
        finally:
            print(file=sys.stderr)
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


def _plain(label: str, total: int | None, unit: str) -> Advance:
    """Returns a function that shows a line without rich."""
    started, shown = monotonic(), 0.0

    def advance(count: int, *, total: int | None = total, text: str = "") -> None:
        nonlocal shown
        now = monotonic()
        if now - shown < _EVERY and count != total:
            return
        shown = now
        of = "" if total is None else f"/{total}"
        print(f"\r\x1b[K{label} {count}{of} {unit} {text} {now - started:.0f} s", end="", file=sys.stderr, flush=True)

    return advance
