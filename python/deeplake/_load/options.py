"""The options that every loader takes: one list of names and types, which signatures show."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from os import PathLike
from typing import Any, Literal, NamedTuple, ParamSpec, TypedDict, TypeVar

import numpy.typing as npt

from deeplake._errors import InvalidArgumentError
from deeplake._load.collate import Padding
from deeplake._load.plan import Options
from deeplake._names import suggest
from deeplake.transforms import Joint, Native

Decode = bool | Mapping[str, Literal["numpy", "bytes", "pil"]]
Form = Literal["stack", "pad", "list"] | Padding
# Values of a mapping are of Form. Type checkers infer dict[str, str] for a variable, which is no
# Mapping[str, Form].
Collate = Form | Mapping[str, Any] | Callable[[list[dict[str, Any]]], Any]
Step = Native | Callable[[Any], Any]
Part = Callable[[dict[str, Any]], Any] | Mapping[str, Step | Sequence[Step]] | Joint
Transform = Part | Sequence[Part]

_P = ParamSpec("_P")
_R = TypeVar("_R")


class LoaderOptions(TypedDict, total=False):
    """The keyword arguments of every loader. `Loadable.pytorch` documents them.

    `Options` holds the default and the check of each. `python/tests/test_options.py` compares them.
    """

    shuffle: bool | Literal["full"]
    seed: int
    num_workers: int | None
    drop_last: bool
    tensors: Sequence[str] | None
    transform: Transform | None
    collate: Collate
    decode: Decode
    apply_exif_orientation: bool | Sequence[str]
    prefetch: int
    shuffle_bytes: int | None
    fetch_bytes: int | None
    on_error: Literal["raise", "skip", "accept"]
    cache: Any
    rank: int | None
    world_size: int | None
    tail: Literal["exact", "drop", "pad"]
    return_index: bool
    weights: npt.ArrayLike | str | None
    replacement: bool
    length: int | None
    progress: bool
    trace: str | PathLike[str] | None
    python_workers: int | Literal["auto"]
    worker_start: Literal["forkserver", "spawn", "fork"]
    batched: bool


class DeviceOptions(LoaderOptions, total=False):
    """The keyword arguments of loaders that take a device too."""

    device: Any
    exact: bool


class _Foreign(NamedTuple):
    """An argument of torch's DataLoader that loaders do not have."""

    harmless: tuple[Any, ...]  # values that change nothing
    ours: str  # the way to the others


# docs/loading.md has this table; python/tests/test_options.py compares them.
FOREIGN = {
    "sampler": _Foreign((None,), "shuffle=, weights= or rank= choose the rows; ds[rows] has rows in an order of yours"),
    "batch_sampler": _Foreign((None,), "batch_size= and drop_last= cut the batches; torch_dataset() takes a sampler"),
    "collate_fn": _Foreign((None,), "collate= takes the function"),
    "pin_memory": _Foreign((False, None), 'device="cuda" puts batches on the GPU, through pinned memory'),
    "pin_memory_device": _Foreign(("", None), 'device="cuda" puts batches on the GPU, through pinned memory'),
    "persistent_workers": _Foreign((True, False, None), "python_workers= are started once"),
    "prefetch_factor": _Foreign((None,), "prefetch= is the number of batches that are made ahead"),
    "timeout": _Foreign((0, None), "a loader waits for its threads; Storage(...) bounds the requests of a store"),
    "worker_init_fn": _Foreign((None,), "seed= seeds the callables before each row, in python_workers= too"),
    "multiprocessing_context": _Foreign((None,), "worker_start= is the start method of python_workers="),
    "generator": _Foreign((None,), "seed= and set_epoch() decide the order"),
    "in_order": _Foreign((True, None), "batches come in the order of the epoch"),
}


def _foreign(called: str, name: str, value: Any) -> bool:
    """Returns whether an argument of torch's DataLoader has a value that changes nothing.

    Raises:
        InvalidArgumentError: it has another value. The message names the argument to use instead.
    """
    found = FOREIGN.get(name)
    if found is None:
        return False
    if any(value is same or (value == same and type(value) is type(same)) for same in found.harmless):
        return True
    raise InvalidArgumentError(f'{called}: "{name}" is an argument of torch\'s DataLoader; here {found.ours}')


def takes(options: type) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Returns a decorator for a method whose last parameter is `**options: Unpack[...]`.

    `inspect.signature` and `help` then show each option with its type and default. An unknown
    keyword is an InvalidArgumentError that offers the nearest one.
    """
    defaults = {field.name: field.default for field in fields(Options)}
    listed = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults[name],
            # TypedDict wraps an annotation that is text.
            annotation=getattr(kind, "__forward_arg__", kind),
        )
        for name, kind in options.__annotations__.items()
    ]

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        own = inspect.signature(function)
        first = [p for p in own.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        last = [p for p in own.parameters.values() if p.kind is p.KEYWORD_ONLY]
        shown = own.replace(parameters=[*first, *listed, *last])
        known = tuple(shown.parameters)

        @functools.wraps(function)
        def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            for name in [name for name in kwargs if name not in known]:
                if not _foreign(function.__name__, name, kwargs[name]):
                    raise InvalidArgumentError(f'{function.__name__}: unknown argument "{name}"{suggest(name, known)}')
                del kwargs[name]
            return function(*args, **kwargs)

        checked.__signature__ = shown  # type: ignore[attr-defined]
        return checked

    return decorate
