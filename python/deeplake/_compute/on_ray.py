"""The tasks of a transform on the actors of a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deeplake._compute.work import Done, Part, Work
from deeplake._lazy import package

_RETRIES = 2  # of a task whose actor died


def done_by_ray(work: Work, parts: list[Part], count: int) -> Iterator[tuple[Part, Done]]:
    """Yields tasks with their results, as they are done.

    Args:
        count: actors, at least one. Each keeps the object of a function that is a class.
    """
    ray: Any = package("transform", "ray", 'pip install "ray>=2.60"')
    actor = ray.remote(max_restarts=-1, max_task_retries=_RETRIES)(_Actor)
    actors = [actor.remote(work) for _ in range(max(1, min(count, len(parts))))]
    try:
        waiting = iter(parts)
        doing: dict[Any, tuple[Any, Part]] = {}
        for one in actors:
            _give(one, waiting, doing)
        while doing:
            (done,), _ = ray.wait(list(doing), num_returns=1)
            one, part = doing.pop(done)
            result = ray.get(done)
            _give(one, waiting, doing)
            yield part, result
    finally:
        for one in actors:
            ray.kill(one)


def _give(actor: Any, waiting: Iterator[Part], doing: dict[Any, tuple[Any, Part]]) -> None:
    part = next(waiting, None)
    if part is not None:
        doing[actor.do.remote(part)] = (actor, part)


class _Actor:
    """A worker of a Ray cluster."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def do(self, part: Part) -> Done:
        """Returns the result of a task."""
        return self._work.do(part)
