"""Random numbers of Python callables: the generators of `random`, NumPy and torch, seeded by row.

A callable then draws the same numbers for a row, whichever process runs it, in whichever order.
"""

from __future__ import annotations

import _random
import functools
import inspect
import random
import sys
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

_MASK = (1 << 64) - 1


def row_seeds(seed: int, epoch: int, rows: npt.NDArray[np.int64], sources: npt.NDArray[np.int64] | None) -> list[int]:
    """Returns a seed of 64 bits for each row.

    They are splitmix64 (Steele, Lea and Flood, 2014) of the seed, the epoch, the source of the row
    in a mixture, and its number.
    """
    start = _mixed(np.array([seed & _MASK], np.uint64))
    start = _mixed(start + np.uint64(epoch & _MASK))
    state = np.broadcast_to(start, rows.shape)
    if sources is not None:
        state = _mixed(state + sources.astype(np.uint64))
    return [int(value) for value in _mixed(state + rows.astype(np.uint64))]


def _mixed(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        z = state + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed: npt.NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return mixed


class Generators:
    """The generators that callables draw from. `seed` sets them all.

    As a context it restores the generators of the process at its end: a training loop draws the
    same numbers with and without a transform beside it.
    """

    def __init__(self, callables: Iterable[Any] = ()) -> None:
        """
        Args:
            callables: objects with a method `set_random_seed` among them, or among the objects that
                they name, as albumentations' Compose is, are seeded too.
        """
        self._own = [found.set_random_seed for found in _seedable(callables)]
        self._before: tuple[Any, Any, Any] | None = None

    def seed(self, seed: int) -> None:
        """Seeds all generators, with 64 bits; NumPy's takes 32."""
        _seed_python(seed)
        np.random.seed(seed & 0xFFFFFFFF)
        torch = _torch()
        if torch is not None:
            torch.default_generator.manual_seed(seed)
        for set_seed in self._own:
            set_seed(seed & 0xFFFFFFFF)

    def __enter__(self) -> Generators:
        torch = _torch()
        state = None if torch is None else torch.default_generator.get_state()
        self._before = random.getstate(), np.random.get_state(), state
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._before is not None
        python, numpy, state = self._before
        random.setstate(python)
        np.random.set_state(numpy)
        torch = _torch()
        if torch is not None and state is not None:
            torch.default_generator.set_state(state)
        self._before = None


def _seed_python(seed: int) -> None:
    """Does as random.seed does with an int, in a third of the time."""
    shared = getattr(random, "_inst", None)
    if shared is None:
        random.seed(seed)
        return
    _random.Random.seed(shared, seed)
    shared.gauss_next = None


def _torch() -> Any:
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "default_generator") else None  # a half imported module has none


def _seedable(callables: Iterable[Any]) -> list[Any]:
    """Returns the objects with generators of their own that callables are, or name."""
    found: dict[int, Any] = {}
    for one in callables:
        for part in _named(one):
            if not isinstance(part, type) and callable(getattr(part, "set_random_seed", None)):
                found[id(part)] = part
    return list(found.values())


def _named(one: Any) -> Iterator[Any]:
    """Yields a callable, its own parts, and what its code names in closure and globals."""
    yield one
    if isinstance(one, functools.partial):
        yield from _named(one.func)
        yield from one.args
        yield from one.keywords.values()
        return
    owner = getattr(one, "__self__", None)
    if owner is not None and not inspect.ismodule(owner):
        yield owner
        yield from getattr(owner, "__dict__", {}).values()
    function = getattr(one, "__func__", one)
    if not hasattr(function, "__code__"):  # an object that can be called
        yield from getattr(one, "__dict__", {}).values()
        function = getattr(type(one), "__call__", None)  # noqa: B004 - its code is wanted
    code = getattr(function, "__code__", None)
    if function is None or code is None:
        return
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue  # it is not set yet
    names = function.__globals__
    for name in code.co_names:
        if name in names:
            yield names[name]
