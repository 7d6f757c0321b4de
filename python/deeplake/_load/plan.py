"""The checked arguments of a loader, and the plan that the core carries out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from deeplake import _native
from deeplake._checks import check_choice, check_names, check_text, integer
from deeplake._errors import InvalidArgumentError
from deeplake._load.cache import cache_of
from deeplake._load.collate import Forms
from deeplake._load.device import Device, device_of, native, nvjpeg
from deeplake._load.ranks import settled
from deeplake._load.recipe import Recipe, recipe_of
from deeplake._load.steps import Steps
from deeplake._names import suggest
from deeplake._rows.source import Pinned
from deeplake._rows.tensor import shape_of

_SHUFFLES = {False: "", True: "window", "full": "full", "window": "window"}
_DECODES = ("numpy", "bytes", "pil")
STARTS = ("forkserver", "spawn", "fork")
_NUMBERS = ("bool", *(f"{kind}{bits}" for kind in ("uint", "int", "float") for bits in (8, 16, 32, 64)))


@dataclass(frozen=True)
class Options:
    """The arguments of `View.pytorch` and `View.batches`.

    The core checks names, bounds and contradictions when it opens the loader. Python checks only
    properties that the core cannot see:

    - Python types: JSON keeps neither a bool from an int nor None from a missing option.
    - Numbers of which 0 is the core's word for the default.
    - Values with a meaning in Python alone: callables, "pil", devices, ranks of a process group.
    """

    batch_size: int = 1
    shuffle: Any = False
    seed: int = 0
    num_workers: int | None = None
    drop_last: bool = False
    tensors: Sequence[str] | None = None
    transform: Any = None
    collate: Any = "stack"
    decode: Any = True
    apply_exif_orientation: Any = False
    prefetch: int = 2
    shuffle_bytes: int | None = None
    fetch_bytes: int | None = None
    on_error: str = "raise"
    return_index: bool = False
    progress: bool = False
    device: Any = None
    exact: bool = True
    cache: Any = None
    rank: int | None = None
    world_size: int | None = None
    tail: str = "exact"
    weights: Any = None
    replacement: bool = True
    length: int | None = None
    trace: Any = None
    python_workers: int | str = 0
    worker_start: str = "forkserver"
    batched: bool = False

    # Batches that the consumer holds at once, beside the newest: no argument of users.
    held: ClassVar[int] = 0

    def __post_init__(self) -> None:
        for name, least in (("batch_size", 1), ("seed", 0), ("prefetch", 1)):
            check_int(name, getattr(self, name), least)
        check_int("num_workers", self.num_workers, 0, optional=True)
        for name in ("shuffle_bytes", "fetch_bytes", "length"):
            check_int(name, getattr(self, name), 1, optional=True)
        if not isinstance(self.python_workers, str) or self.python_workers != "auto":
            check_int("python_workers", self.python_workers, 0)
        check_choice("load", "worker_start", self.worker_start, STARTS)
        for name in ("drop_last", "return_index", "progress", "replacement", "exact", "batched"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidArgumentError(f"load: {name} is {getattr(self, name)!r}, want True or False")
        for name in ("on_error", "tail"):
            check_text("load", name, getattr(self, name))
        if not callable(self.collate):
            Forms(self.collate)
        if not isinstance(self.shuffle, bool | str) or self.shuffle not in _SHUFFLES:
            raise InvalidArgumentError(f'load: shuffle is {self.shuffle!r}, want False, True or "full"')
        # lists: the caller may change theirs, and an array does not compare
        object.__setattr__(self, "tensors", check_names("load", self.tensors))
        cache_of(self.cache)
        self._check_trace()
        self._check_decode()
        if not isinstance(given := self.apply_exif_orientation, bool):
            if given is None or isinstance(given, Mapping):
                raise InvalidArgumentError(
                    f"load: apply_exif_orientation is {given!r}, want True, False or a list of names"
                )
            names = check_names("load", given, "apply_exif_orientation")
            object.__setattr__(self, "apply_exif_orientation", names)
        recipe_of(self.transform)
        self._check_ranks()
        device = device_of(self.device)
        if not self.exact and (device is None or device.kind != "cuda"):
            raise InvalidArgumentError('load: exact is False, which only a GPU can be: give device="cuda" as well')

    def _check_decode(self) -> None:
        if isinstance(self.decode, Mapping):
            for how in self.decode.values():
                check_choice("load", "decode", how, _DECODES)
        elif self.decode is not True:
            raise InvalidArgumentError(
                f'load: decode is {self.decode!r}, want True or a dict from tensor names to "numpy", "bytes" or "pil"'
            )

    @property
    def recipe(self) -> Recipe:
        """The parts of `transform`."""
        return recipe_of(self.transform)

    def _check_ranks(self) -> None:
        check_int("rank", self.rank, 0, optional=True)
        check_int("world_size", self.world_size, 1, optional=True)
        if (self.rank is None) != (self.world_size is None):
            raise InvalidArgumentError(
                f"load: rank is {self.rank} and world_size is {self.world_size}; give both, or neither"
            )
        if self.rank is not None and self.world_size is not None and self.rank >= self.world_size:
            raise InvalidArgumentError(
                f"load: rank is {self.rank}, want 0 to {self.world_size - 1}, as world_size is {self.world_size}"
            )

    def _check_trace(self) -> None:
        if self.trace is None:
            return
        if not isinstance(self.trace, str | os.PathLike):
            raise InvalidArgumentError(f"load: trace is a {type(self.trace).__name__}, want the path of a file or None")
        check_text("load", "trace", os.fspath(self.trace))
        if Path(self.trace).is_dir():
            raise InvalidArgumentError(f'load: trace is "{self.trace}", a folder; want the path of a file in it')
        if not Path(self.trace).parent.is_dir():
            raise InvalidArgumentError(f'load: trace is "{self.trace}": there is no folder "{Path(self.trace).parent}"')

    def ranks(self) -> tuple[int, int]:
        """Returns (rank, world size) as they are now."""
        return settled(self.rank, self.world_size)


class Plan:
    """The tensors, order and form of a loader's batches. It pickles, and reopens its loader in a
    fork.
    """

    def __init__(self, source: Pinned, options: Options, host_dtypes: Sequence[str] = ()) -> None:
        """
        Args:
            host_dtypes: the dtypes of arrays that stay on the CPU though others go to a device.
        """
        self.source = source
        self.options = options
        self.host_dtypes = list(host_dtypes)
        names = source.names() if options.tensors is None else list(options.tensors)
        self.names = names
        self.recipe = options.recipe
        self.forms = Forms(options.collate)
        # A callable on the row names the columns of a batch itself.
        collated = self.forms.named if self.recipe.row is None else set()
        for what in (options.decode, self.recipe.names, collated):
            for name in what if isinstance(what, Mapping | set) else ():
                if name not in names:
                    source.require(name)
                    raise InvalidArgumentError(f'load: "{name}" is not among tensors={names}{suggest(name, names)}')
        for name in names:
            source.require(name)
            for part in self._parts if self.decode(name) == "pil" else ():
                about = part.require(name)
                if about["compression"] not in ("jpeg", "png", "webp"):
                    raise InvalidArgumentError(
                        f'load tensor "{name}": decode="pil" needs image files, and the tensor of "{part.uri}" has the '
                        f'htype {about["htype"]} and the compression "{about["compression"]}"; leave it out of decode'
                    )
        self._row_weights = self._weights()
        self._loader: _native.Loader | None = None
        self.native()

    def __reduce__(self) -> tuple[Any, ...]:
        return Plan, (self.source, self.options, self.host_dtypes)

    def decode(self, name: str) -> str:
        """Returns how a tensor is delivered: "numpy", "bytes" or "pil"."""
        how = self.options.decode
        return str(how.get(name, "numpy")) if isinstance(how, Mapping) else "numpy"

    @property
    def turned(self) -> list[str]:
        """The tensors whose images are turned as their Exif data says."""
        given = self.options.apply_exif_orientation
        if not isinstance(given, bool):
            return list(given)
        return [name for name in self.names if given and "image" in self.source.require(name)["htype"]]

    @property
    def _parts(self) -> Sequence[Pinned]:
        """The views of a mixture, or the source itself."""
        return getattr(self.source, "parts", [self.source])

    def _htypes(self, name: str) -> tuple[str, ...]:
        """Returns the htype of images for `shown`, of each view of a mixture."""
        turned = name in self.turned
        found = [part.require(name) for part in self._parts]
        return tuple(
            str(about["htype"]) + "+exif" * bool(turned or about.get("apply_exif_orientation")) for about in found
        )

    @property
    def device(self) -> Device | None:
        """The device on which the core delivers batches; None: the CPU. Python sees samples on the
        CPU alone.
        """
        device = device_of(self.options.device)
        return None if self.in_python or native(device) is None else device

    @property
    def in_python(self) -> set[str]:
        """The tensors whose samples Python has to see one by one before they become a batch."""
        options = self.options
        if self.recipe.row is not None or callable(options.collate):
            return set(self.names)
        return set(self.recipe.steps) | {name for name in self.names if self.decode(name) == "pil"}

    @property
    def steps(self) -> Steps:
        """The work of Python on each batch."""
        options = self.options
        return Steps(
            self.source.uri,
            {name: self._htypes(name) for name in self.names if self.decode(name) == "pil"},
            self.recipe.steps,
            self.recipe.row,
            options.collate if callable(options.collate) else None,
            options.batched,
            options.return_index,
            options.seed,
            options.on_error == "accept",
        )

    @property
    def times(self) -> dict[str, str]:
        """What the numbers of the tensors count, of those that count time."""
        tensors = self.source.tensors()
        found = {name: tensors.get(name, {}).get("time") for name in self.names if self.decode(name) == "numpy"}
        return {name: time for name, time in found.items() if time}

    @property
    def workers(self) -> int:
        """The number of processes for the work of Python, 0 for none."""
        given = self.options.python_workers
        if not self.in_python:
            return 0
        return cores() if given == "auto" else int(given)

    @property
    def ahead(self) -> int:
        """The batches that are with the workers at once: as many as keep all of them at work."""
        workers = self.workers
        if not workers:
            return 0
        shares = 1 if self.steps.whole else min(workers, self.options.batch_size)
        return max(self.options.prefetch, -(-2 * workers // shares))

    @property
    def skips_in_python(self) -> bool:
        """Whether Python, and not the core alone, may leave out rows: those that cannot be read, or
        those of which a callable makes none.
        """
        return self.recipe.row is not None or (self.options.on_error == "skip" and bool(self.in_python))

    def native(self) -> _native.Loader:
        """Returns the native loader of this process."""
        loader = self._loader
        if loader is None or loader.generation != _native.generation():
            loader = self._loader = self.source.loader(self._native_options(), self._row_weights)
        return loader

    def _weights(self) -> npt.NDArray[np.float64] | None:
        """Returns one weight for each row, float64; the core checks them."""
        weights = self.options.weights
        if weights is None:
            return None
        if self.source.marks:
            raise InvalidArgumentError(
                "load a mixture: its rows cannot have weights; give deeplake.mix weights of views"
            )
        if isinstance(weights, str):
            about = self.source.require(weights)
            if about["sequence"] or about["dtype"] not in _NUMBERS or shape_of(about) != ():
                raise InvalidArgumentError(
                    f'load: weights are tensor "{weights}", a {about["htype"]}; want one of a number for each row'
                )
            weights = self.source.read(range(self.source.length()), weights, "stack")
        try:
            given = np.asarray(weights)
            check_real(given)
            # a copy: later changes are nothing to us
            values: npt.NDArray[np.float64] = given.astype(np.float64)
        except (TypeError, ValueError, RuntimeError) as err:
            raise InvalidArgumentError(
                f"load: weights is a {type(weights).__name__}, want one number for each row, or the name of a tensor: "
                f"{err}"
            ) from err
        if values.shape != (self.source.length(),):
            raise InvalidArgumentError(
                f"load: weights have the shape {values.shape}, want one for each row: ({self.source.length()},)"
            )
        return values

    def _native_device(self) -> dict[str, Any] | None:
        device = native(self.device)
        if device is not None and not self.options.exact:
            device["nvjpeg"] = nvjpeg()
        return device

    def _native_options(self) -> dict[str, Any]:
        options, in_python = self.options, self.in_python
        cache = cache_of(options.cache)
        return {
            "batch_size": options.batch_size,
            "shuffle": _SHUFFLES[options.shuffle],
            "seed": options.seed,
            "num_workers": options.num_workers or None,
            "on_demand": options.num_workers == 0,
            "drop_last": options.drop_last,
            "tail": options.tail,
            "tensors": self.names,
            **self.forms.options(self.names, in_python),
            "decode": {name: "bytes" for name in self.names if self.decode(name) != "numpy"},
            "apply_exif_orientation": self.turned,
            "prefetch": options.prefetch,
            "shuffle_bytes": options.shuffle_bytes,
            "fetch_bytes": options.fetch_bytes,
            # Messages about a transform say which row it was.
            "return_index": options.return_index or bool(in_python),
            "on_error": options.on_error,
            "trace": options.trace is not None,
            "length": options.length,
            "distinct": not options.replacement,
            "device": self._native_device(),
            "inexact": not options.exact,
            "host_dtypes": self.host_dtypes,
            "cache": None if cache is None else cache.options(),
            "shareable": self.workers > 0,
            "held": self.ahead + options.held,
            **self.recipe.options(),
        }


def cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_real(values: npt.NDArray[Any]) -> None:
    """Refuses values that NumPy would convert to numbers silently: numerals, dates, imaginary
    parts.
    """
    if values.dtype.kind in "SUcmM":
        raise TypeError(f"got {values.dtype.name}")
    for value in values.ravel() if values.dtype.kind == "O" else ():
        if isinstance(value, str | bytes | complex | np.complexfloating):
            raise TypeError(f"got {value!r}")


def check_int(name: str, value: Any, least: int, *, optional: bool = False) -> None:
    """Refuses anything but an int of at least `least`."""
    if optional and value is None:
        return
    number = integer(value)
    if number is None or not least <= number < 1 << 63:
        raise InvalidArgumentError(
            f"load: {name} is {value!r}, want an int of {least} to 2**63 - 1{' or None' if optional else ''}"
        )
