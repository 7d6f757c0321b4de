"""The work that a loader gives to a worker, and its result."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from deeplake._load.seeds import Generators
from deeplake._load.workers.memory import Spec, Target


@dataclass
class Task:
    """Rows of a batch, and the places for their results."""

    number: int
    memory: int  # the number of the file of the batch
    columns: dict[str, dict[str, Any]]  # as `Batch.layout` describes them
    marks: dict[str, Any]
    epoch: int
    skips: bool  # rows that cannot be read are left out
    results: int | None = None  # the number of the file for results
    target: Target = field(default_factory=Target)
    files: list[tuple[int, int]] = field(default_factory=list)  # new files: their numbers and sizes
    forget: list[int] = field(default_factory=list)  # files that are not used again


class Job(ABC):
    """Work on tasks of any kind, which a worker process does one after the other. It pickles.

    Attributes:
        called: the function that starts the processes, for messages.
        generators: the generators of random numbers that its callables draw from.
    """

    called = "run"
    generators: Generators

    @abstractmethod
    def do(self, task: Any) -> Any:
        """Returns the result of a task."""


@dataclass
class Result:
    """The result of a task. Its value is a pickle of `Part`, or the failure."""

    number: int
    began: int  # nanoseconds since 1970
    seconds: float  # in the steps
    data: bytes = b""
    wanted: int = 0  # bytes of the arrays that no column has a place for
    refused: int = 0  # arrays that had no place, and came within the pickle
    kept: bool = False  # the callables keep arrays in the memory of the batch
    copies: bytes = b""  # if kept: a pickle of the columns that are unchanged samples
    failure: Failure | None = None


@dataclass
class Part:
    """The results for the rows of a task."""

    columns: dict[str, Any]  # of the names without a place: lists, or results of batched callables
    same: dict[str, str]  # the tensor of columns that are its samples, all of them, as the task has them
    names: list[str]  # of all columns, in order
    specs: dict[str, Spec | None]  # the form of all values of a column
    places: list[int] | None
    collated: bool
    value: Any
    skipped: list[tuple[int, str, Exception]]
    accepted: list[tuple[int, str, str]]


@dataclass
class Failure:
    """An exception of a callable."""

    pickled: bytes | None  # None: it does not pickle
    summary: str
    traceback: str
    notes: list[str]


def common_specs(parts: list[Part]) -> dict[str, Spec]:
    """Returns the columns whose values all had one form, with it."""
    specs = {name: spec for name, spec in parts[0].specs.items() if spec is not None}
    for part in parts[1:]:
        specs = {name: spec for name, spec in specs.items() if part.specs.get(name) == spec}
    return specs


def divided(begin: int, end: int, parts: int) -> list[slice]:
    """Divides rows into at most `parts` shares, whose sizes differ by at most one."""
    count = end - begin
    parts = min(parts, count)
    bounds = [begin + count * i // parts for i in range(parts + 1)] if parts else []
    return [slice(a, b) for a, b in itertools.pairwise(bounds)]
