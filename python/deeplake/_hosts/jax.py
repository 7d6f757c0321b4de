"""JAX as a host: batches of jax.Array, sharded over devices and processes. Only this module imports
jax.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from deeplake import _native
from deeplake._errors import InvalidArgumentError, TensorTypeError, UnsupportedError
from deeplake._lazy import unusable
from deeplake._load.assemble import Assembly, NumPy
from deeplake._load.device import device_of
from deeplake._load.loader import Passes, describe
from deeplake._load.plan import Options, Plan
from deeplake._rows.source import Pinned

try:
    import jax
    import jax.numpy as jnp
except Exception as err:
    raise unusable("load with jax", "jax", "pip install deeplake[jax]", err) from err

_NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


class Jax(NumPy):
    """JAX as a host: arrays of whole batches are jax's, arrays in lists NumPy's."""

    def columns(self, batch: _native.Batch) -> dict[str, Any]:
        return {name: self._column(value) for name, value in batch.columns().items()}

    def stream(self, epoch: _native.Epoch, position: int) -> _native.Stream | None:
        return None

    def _column(self, value: Any) -> Any:
        # An Array unchanged: placing gives it to JAX by DLPack.
        return _lists(value) if isinstance(value, list) else value


def _lists(value: Any) -> Any:
    if isinstance(value, list):
        return [_lists(item) for item in value]
    return value.numpy() if isinstance(value, _native.Array) else value


class JaxBatches(Passes):
    """Batches of jax arrays, from `View.jax`. Each iteration is an epoch."""

    def __init__(self, source: Pinned, options: Options, sharding: Any = None) -> None:
        self._device = _device_of_jax(options)
        # JAX narrows them, and a device would have to wait for that.
        wide = [] if self._device is None or jax.config.jax_enable_x64 else list(_NARROW)
        self._plan = Plan(source, _ranked(options), wide)
        if self._device is not None and self._plan.device is None:
            raise UnsupportedError(
                f"load on device {options.device}: a Python function makes the samples on the CPU; leave device out, "
                "and JAX copies the batches"
            )
        self._assembly = Assembly(self._plan, Jax())
        self._sharding = sharding
        self._check_sharding()

    def __iter__(self) -> Generator[Any, None, None]:
        return self._pass()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self._sharding is not None:
            raise UnsupportedError(
                "pickle JAX batches: a sharding belongs to the devices of its process; make it there"
            )
        return _batches, (self._plan.source, self._plan.options, self.epoch, self._start)

    def __repr__(self) -> str:
        return describe("JaxBatches", self._plan, self.epoch)

    def _watched(self, batches: Iterator[Any]) -> Iterator[Any]:
        return super()._watched(map(self._placed, batches))

    def _placed(self, batch: Any) -> Any:
        """Returns the batch on its devices. The results of a collate function do not move."""
        if callable(self._plan.options.collate):
            return batch
        return {name: self._place(name, value) for name, value in batch.items()}

    def _place(self, name: str, value: Any) -> Any:
        if not _is_numeric(value):
            return value
        array = _given(name, value)
        sharding = self._sharding.get(name) if isinstance(self._sharding, Mapping) else self._sharding
        if sharding is None:
            return _at_home(array, self._device)
        try:
            if sharding.is_fully_addressable:
                return jax.device_put(array, sharding)
            return jax.make_array_from_process_local_data(sharding, np.asarray(array))
        except ValueError as err:
            raise InvalidArgumentError(
                f'load tensor "{name}": a batch of shape {tuple(array.shape)} does not suit {sharding}: {err}; choose '
                "a batch_size that the devices can share, with drop_last=True"
            ) from err

    def _check_sharding(self) -> None:
        given = self._sharding
        parts = list(given.values()) if isinstance(given, Mapping) else [] if given is None else [given]
        for name in given if isinstance(given, Mapping) else ():
            self._plan.source.require(name)
        for part in parts:
            if not isinstance(part, jax.sharding.Sharding):
                raise InvalidArgumentError(
                    f"load: sharding is a {type(part).__name__}, want a jax.sharding.Sharding, or a dict of them"
                )
            options = self._plan.options
            if not part.is_fully_addressable and not options.drop_last and options.tail == "exact":
                raise InvalidArgumentError(
                    "load: a sharding over several processes wants shares of one size in every batch; give "
                    'drop_last=True, or tail="pad"'
                )


def _batches(source: Pinned, options: Options, epoch: int, start: int) -> JaxBatches:
    batches = JaxBatches(source, options)
    batches._epoch, batches._start = epoch, start
    return batches


def _device_of_jax(options: Options) -> Any:
    """Returns the device of JAX for the option `device`, None without one."""
    device = device_of(options.device)
    if device is None:
        return None
    if device.kind != "cuda":
        raise UnsupportedError(f"load on device {device}: JAX arrays of it are copies; use a sharding, and no device")
    try:
        found = jax.local_devices(backend="cuda")
    except RuntimeError as err:
        raise UnsupportedError(
            f"load on device {device}: JAX has no CUDA here ({err}); pip install jax[cuda12], or leave device out"
        ) from err
    for one in found:  # their ids count the devices of all processes
        if one.local_hardware_id == (device.index or 0):
            return one
    raise UnsupportedError(f"load on device {device}: JAX has {len(found)} CUDA devices: {found}")


def _ranked(options: Options) -> Options:
    """Returns the options with the rank of this process, if JAX runs in several and the options
    name no rank.
    """
    if options.rank is not None or options.world_size is not None:
        return options
    if not jax.distributed.is_initialized():
        return options
    return replace(options, rank=jax.process_index(), world_size=jax.process_count())


def _is_numeric(value: Any) -> bool:
    if isinstance(value, _native.Array):
        return True
    return isinstance(value, np.ndarray) and (value.dtype.kind in "biufc" or value.dtype.name == "bfloat16")


def _given(name: str, value: Any) -> Any:
    """Returns an array that JAX takes: its own in the memory of the batch, or NumPy's where a type
    is narrowed.
    """
    if isinstance(value, _native.Array) and value.device != "cpu":
        return jnp.from_dlpack(value)
    if jax.config.jax_enable_x64 or str(value.dtype) not in _NARROW:
        return _shared(value)
    wide = np.asarray(value)
    with np.errstate(over="ignore"):
        narrow = wide.astype(_NARROW[str(wide.dtype)])
    fits = np.array_equal(narrow, wide) if wide.dtype.kind in "iu" else np.array_equal(np.isinf(narrow), np.isinf(wide))
    if not fits:
        raise TensorTypeError(
            f'load tensor "{name}": a batch has {wide.dtype} values that are no {narrow.dtype}, and JAX has no 64-bit '
            'types now; jax.config.update("jax_enable_x64", True) turns them on'
        )
    return narrow


def _shared(value: Any) -> Any:
    """Returns a jax.Array in the memory of the value, or a NumPy array without a CPU backend."""
    if isinstance(value, np.ndarray):
        return value
    try:
        return jnp.from_dlpack(value)
    except RuntimeError:
        return value.numpy()


def _at_home(array: Any, device: Any) -> Any:
    """Returns the array on a device; None: JAX's default."""
    device = device or jax.config.jax_default_device or jax.local_devices()[0]
    if isinstance(array, jax.Array) and array.devices() == {device}:
        return array
    return jax.device_put(array, device)
