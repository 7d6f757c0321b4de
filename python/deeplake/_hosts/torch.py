"""torch as a host: the DataLoader, and a map-style dataset for other DataLoaders. Only this module
imports torch.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deeplake import _native
from deeplake._errors import InvalidArgumentError, UnsupportedError
from deeplake._index import one
from deeplake._lazy import unusable
from deeplake._load.assemble import EMPTY, Assembly
from deeplake._load.collate import check_fill
from deeplake._load.device import Device, device_of
from deeplake._load.loader import Passes, describe
from deeplake._load.plan import Options, Plan
from deeplake._names import suggest
from deeplake._rows.source import Pinned

try:
    import torch
    from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
except Exception as err:
    raise unusable("load with torch", "torch", "pip install deeplake[torch]", err) from err

_END = object()
_INT64 = 1 << 63

# torch.from_dlpack without its checks, which take longer than all the rest.
_from_capsule: Callable[[Any], torch.Tensor] = getattr(torch._C, "_from_dlpack", torch.from_dlpack)


def _current_stream(index: int) -> int:
    """Returns the handle of torch's current stream of a device, 0 for its default stream."""
    return int(torch.cuda.current_stream(index).cuda_stream)


class Torch:
    """torch as a host. `device` is that of its batches."""

    def __init__(self, device: Device | None = None) -> None:
        self._current: Callable[[], int] | None = None
        if device is not None:
            self._current = functools.partial(_current_stream, device.index or 0)

    def columns(self, batch: _native.Batch) -> dict[str, Any]:
        return batch.columns(self.array)

    def stream(self, epoch: _native.Epoch, position: int) -> _native.Stream | None:
        return epoch.stream(position, _from_capsule, self._current)

    def array(self, array: _native.Array) -> Any:
        # The array API standard has no 0: there 1 is the default stream.
        stream = None if self._current is None else self._current() or 1
        return _from_capsule(array.__dlpack__(stream=stream))

    def value(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value
        if isinstance(value, np.ndarray | np.generic):
            if value.dtype.kind not in "biufc":
                return value  # text, times and objects stay as they are
            native = np.asarray(value, value.dtype.newbyteorder("="))
            try:
                # torch takes neither negative strides nor memory that may not be written.
                return torch.from_numpy(np.require(native, requirements=["C", "W"]))
            except TypeError:  # a dtype that torch does not have
                return value
        if isinstance(value, bool | complex) or (isinstance(value, int) and -_INT64 <= value < _INT64):
            return torch.tensor(value)
        # As NumPy and torch's own collate do; torch.tensor would round it to float32.
        return torch.tensor(value, dtype=torch.float64) if isinstance(value, float) else value

    def is_array(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    def take(self, array: Any, places: list[int]) -> Any:
        return array[torch.tensor(places, dtype=torch.int64)]

    def stack(self, arrays: list[Any]) -> Any:
        return torch.stack(arrays)

    def pad(self, arrays: list[Any], shape: Sequence[int], value: bool | int | float) -> tuple[Any, Any]:
        dtype = functools.reduce(torch.promote_types, (array.dtype for array in arrays))
        fractions = dtype.is_floating_point or dtype.is_complex
        bounds = None if fractions or dtype == torch.bool else torch.iinfo(dtype)
        check_fill(value, dtype, None if fractions else (0, 1) if bounds is None else (bounds.min, bounds.max))
        padded = arrays[0].new_full((len(arrays), *shape), value, dtype=dtype)
        sizes = [[min(pair) for pair in zip(array.shape, shape, strict=True)] for array in arrays]
        for i, array in enumerate(arrays):
            corner = tuple(map(slice, sizes[i]))
            place = (i, *corner)
            padded[place] = array[corner]
        return padded, torch.tensor(sizes, dtype=torch.int64).reshape(len(arrays), -1)


def _torch_device(options: Options) -> torch.device | None:
    device = device_of(options.device)
    if device is None:
        return None
    try:
        found = torch.device(str(device))
    except RuntimeError:
        near = suggest(device.kind.lower(), ("cpu", "cuda"))
        raise InvalidArgumentError(
            f'load: device is {str(device)!r}, which torch does not know; want None, "cpu", "cuda", "cuda:1", or '
            f"another device of torch{near}"
        ) from None
    try:
        torch.empty(0, device=found)
    except Exception as err:  # each kind has an exception of its own
        why = str(err).partition("\n")[0]
        raise UnsupportedError(f"load on device {device}: torch {torch.__version__} cannot use it here: {why}") from err
    return found


def _settled(options: Options) -> Options:
    """Returns the options with torch's current CUDA device, if they name no number."""
    device = device_of(options.device)
    if device is None or device.kind != "cuda":
        return options
    if not torch.cuda.is_available():
        raise UnsupportedError(
            f"load on device {device}: torch {torch.__version__} sees no CUDA device; `deeplake info --device` says "
            "what this machine has"
        )
    return replace(options, device=f"cuda:{torch.cuda.current_device()}") if device.index is None else options


def _moved(value: Any, device: torch.device) -> Any:
    """Returns a batch with its tensors on a device, in the containers that DataLoader's collate
    makes.
    """
    if isinstance(value, torch.Tensor):
        pinned = value.pin_memory() if device.type == "cuda" and value.device.type == "cpu" else value
        return pinned.to(device, non_blocking=True)
    if isinstance(value, dict):
        return {name: _moved(part, device) for name, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_moved(part, device) for part in value))
    if isinstance(value, list | tuple):
        return type(value)(_moved(part, device) for part in value)
    return value


class _Stream(Passes, IterableDataset):
    """The dataset of a loader: one pass over it is one epoch of finished batches.

    It does the work, and knows nothing of the loader: without a cycle of references, the memory of
    a loader is free as soon as the loader is.
    """

    # Accelerate's GradientState reads these of the active loader.
    end_of_dataloader = False
    remainder = -1

    _of_loader = True

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._assembly = Assembly(plan, Torch(plan.device))
        # where torch moves the batches, because the core does not
        self._target = _torch_device(plan.options) if plan.device is None else None

    def __iter__(self) -> Generator[Any, None, None]:
        if get_worker_info() is not None:
            raise UnsupportedError(
                "iterate in a worker process: every worker would give all rows; iterate over ds.pytorch(...) itself, "
                "or give ds.torch_dataset() to a DataLoader of your own"
            )
        # The DataLoader of another library. Accelerate's skip_first_batches makes one, and counts
        # from the start of the epoch, whatever state the loader was given; torchdata's
        # StatefulDataLoader gives this dataset its state.
        return self._pass(whole=self._of_loader)

    def load_state_dict(self, state: Mapping[str, Any], *, of_loader: bool = False) -> None:
        """Resumes from a state: the loader's iterations, or those of this dataset too."""
        super().load_state_dict(state)
        self._of_loader = of_loader

    def begin(self) -> Generator[Any, None, None]:
        """Yields the batches of one iteration of the loader: from where a loaded state says."""
        return self._pass()

    def __len__(self) -> int:
        """The number of rows."""
        return self._plan.source.length()

    def _is_watched(self) -> bool:
        return super()._is_watched() or self._target is not None or "accelerate.state" in sys.modules

    def _watched(self, batches: Iterator[Any]) -> Iterator[Any]:
        if self._target is not None:
            batches = map(functools.partial(_moved, device=self._target), batches)
        batches = super()._watched(batches)
        accelerate = sys.modules.get("accelerate.state")
        return batches if accelerate is None else self._accelerated(batches, accelerate.GradientState())

    def _accelerated(self, batches: Iterator[Any], gradients: Any) -> Iterator[Any]:
        """Tells Accelerate of the last batch, so that it applies accumulated gradients."""
        self.end_of_dataloader = False
        self.remainder = self._uneven()
        gradients._add_dataloader(self)
        try:
            batch = next(batches, _END)
            while batch is not _END:
                # One batch ahead: how many come is not known beforehand where rows may be skipped.
                failure: Exception | None = None
                try:
                    following = next(batches, _END)
                    self.end_of_dataloader = following is _END
                except Exception as err:
                    failure = err  # of the batch that comes then, not of this one
                yield batch
                if failure is not None:
                    raise failure
                batch = following
        finally:
            gradients._remove_dataloader(self)

    def _uneven(self) -> int:
        """Returns how many rows of the last step count, those of all ranks together; 0: all of
        them.

        Accelerate's `gather_for_metrics` drops later rows.
        """
        options, newest = self._plan.options, self._newest
        _, world_size = options.ranks()
        rows = self._plan.native().state(0, 0)["order"]["rows"]
        left = (rows - (0 if newest is None else newest.position)) % (options.batch_size * world_size)
        if options.drop_last or options.tail == "drop" or (options.tail == "exact" and left >= world_size):
            return 0
        return int(left)


class _EpochSampler:
    """The sampler for Lightning, which calls `loader.sampler.set_epoch` alone."""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    def set_epoch(self, epoch: int) -> None:
        self._stream.set_epoch(epoch)

    def __iter__(self) -> Iterator[None]:
        raise UnsupportedError("iterate over the sampler: the loader draws its own order; set_epoch is all there is")


class TorchLoader(DataLoader):
    """Batches of torch tensors, from `View.pytorch`: a DataLoader that Lightning, Accelerate and
    plain loops take.

    Iterate over it once for each epoch; several iterations at once are fine. Leaving a loop early
    stops the reading.
    """

    # Accelerate would put a DataLoaderDispatcher around a loader over an IterableDataset, which
    # reads on one rank alone. It leaves a loader with this mark unchanged.
    _is_accelerate_prepared = True

    def __init__(self, source: Pinned, options: Options) -> None:
        self._plan = Plan(source, _settled(options))
        self._stream = _Stream(self._plan)
        super().__init__(self._stream, batch_size=None, num_workers=0)
        # DataLoader takes no sampler with an IterableDataset, and none after its construction.
        object.__setattr__(self, "sampler", _EpochSampler(self._stream))

    # Accelerate's save_state and load_state keep the state of a loader with this mark.
    use_stateful_dataloader = True

    def __reduce__(self) -> tuple[Any, ...]:
        return _loader, (self._plan.source, self._plan.options, self.epoch, self._stream._start)

    def __len__(self) -> int:
        """Returns the number of batches of an epoch, the same on every rank. `on_error="skip"` may
        drop some.
        """
        return self._stream.steps()

    def __iter__(self) -> Generator[Any, None, None]:
        return self._stream.begin()

    def __getitem__(self, index: Any) -> Any:
        """Refuses: a DataLoader around this one would take it for a dataset."""
        raise UnsupportedError(
            "index a loader: its batches come in an order of its own; iterate over it, or give ds.torch_dataset() to "
            "a DataLoader of your own"
        )

    @property
    def epoch(self) -> int:
        """The epoch of the next iteration."""
        return self._stream.epoch

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch of the next iteration; see `Batches.set_epoch`."""
        self._stream.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Returns the progress of the newest iteration; see `Batches.state_dict`."""
        return self._stream.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from a state; see `Batches.load_state_dict`."""
        self._stream.load_state_dict(state, of_loader=True)

    def stats(self, *, flat: bool = False) -> dict[str, Any]:
        """Returns the figures of the newest iteration; see `Batches.stats`."""
        return self._stream.stats(flat=flat)

    def prometheus(self, **labels: str) -> str:
        """Returns the figures in Prometheus' text format; see `Batches.prometheus`."""
        return self._stream.prometheus(**labels)

    def __repr__(self) -> str:
        return describe("TorchLoader", self._plan, self.epoch)


def _loader(source: Pinned, options: Options, epoch: int, start: int) -> TorchLoader:
    loader = TorchLoader(source, options)
    loader._stream._epoch, loader._stream._start = epoch, start
    return loader


class MapDataset(Dataset):
    """Rows as dicts of torch tensors, for a user's DataLoader: `View.torch_dataset`."""

    def __init__(self, source: Pinned, options: Options) -> None:
        self._plan = Plan(source, options)
        self._assembly = Assembly(self._plan, Torch())

    def __reduce__(self) -> tuple[Any, ...]:
        return MapDataset, (self._plan.source, self._plan.options)

    def __len__(self) -> int:
        return self._plan.source.length()

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: list[int]) -> list[dict[str, Any]]:
        """Returns several rows, read with one call of the core."""
        length = len(self)
        rows = np.array([one(index, length) for index in indices], np.int64)
        wanted = {name: "bytes" for name in self._plan.names if self._plan.decode(name) != "numpy"}
        options = {
            "tensors": self._plan.names,
            "collate": "list",
            "decode": wanted,
            "apply_exif_orientation": self._plan.turned,
            "return_index": bool(self._plan.in_python),
            **self._plan.recipe.options(),
        }
        if self._plan.recipe.options():
            # As the transforms of torchvision: from torch's own generator, which DataLoader seeds
            # in each worker.
            options |= {"seed": self._plan.options.seed, "epoch": int(torch.randint(1 << 62, ()))}
        columns = self._assembly(self._plan.source.view().read(rows, options))
        if columns is EMPTY or any(len(column) != len(rows) for column in columns.values()):
            raise InvalidArgumentError(
                "load: a transform of torch_dataset() made no row of one, or several; return one dict for each row"
            )
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
