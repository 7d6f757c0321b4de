"""Passes over a view, epoch after epoch, and batches of NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

from deeplake._assemble import Assembly, NumPy
from deeplake._plan import Options, Plan, check_int
from deeplake._source import Pinned, check_bfloat16


class Passes:
    """Epoch after epoch over a view, for any host. What is made of a batch is up to `_assembly`."""

    _plan: Plan
    _assembly: Assembly
    _epoch: int

    @property
    def epoch(self) -> int:
        """The epoch that the next iteration goes through."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Says which epoch the next iteration goes through."""
        check_int("epoch", epoch, 0)
        self._epoch = epoch

    def stats(self) -> dict[str, Any]:
        """Returns the figures of the newest iteration.

        Rates, the time that each stage was busy and waited, memory, and rows that `on_error="skip"` left out;
        `bottleneck` says in one sentence what the others waited for. Times are in seconds.
        """
        return self._plan.native().stats()

    def _pass(self) -> Generator[Any, None, None]:
        number = self._epoch
        epoch = self._plan.native().start(number)
        try:
            # Nothing here holds on to a batch: its memory is used again as soon as the consumer lets go of it.
            yield from self._watched(map(self._assembly, epoch))
        finally:
            epoch.close()
        if self._epoch == number:
            self._epoch = number + 1

    def _watched(self, batches: Iterator[Any]) -> Iterator[Any]:
        if self._plan.options.progress:
            from deeplake._progress import tracked

            return tracked(batches, len(self._plan.native()), f"epoch {self._epoch}")
        return batches


class Batches(Passes):
    """Batches of NumPy arrays, from `View.batches`. Iterate over it once for each epoch; several at once are fine."""

    def __init__(self, source: Pinned, options: Options) -> None:
        self._plan = Plan(source, options)
        check_bfloat16(source.tensors(), self._plan.names)
        self._assembly = Assembly(self._plan, NumPy())
        self._epoch = 0

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _batches, (self._plan.source, self._plan.options, self._epoch)

    def __len__(self) -> int:
        """The number of batches of an epoch; fewer come where `on_error="skip"` empties some."""
        return len(self._plan.native())

    def __iter__(self) -> Generator[Any, None, None]:
        return self._pass()

    def __repr__(self) -> str:
        return describe("Batches", self._plan, self._epoch)


def _batches(source: Pinned, options: Options, epoch: int) -> Batches:
    batches = Batches(source, options)
    batches.set_epoch(epoch)
    return batches


def describe(kind: str, plan: Plan, epoch: int) -> str:
    """Returns what a loader is, in one line."""
    rows, size = plan.source.length(), plan.options.batch_size
    order = f"shuffle={plan.options.shuffle!r}, seed={plan.options.seed}, " if plan.options.shuffle else ""
    names = ", ".join(plan.names)
    return f"{kind}({rows:,} rows of {plan.source.uri} in batches of {size}: {names}; {order}epoch {epoch})"
