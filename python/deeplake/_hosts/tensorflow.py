"""TensorFlow as a host: a tf.data.Dataset whose elements are finished batches. Only this module
imports tensorflow.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from deeplake._errors import ClosedError, InvalidArgumentError
from deeplake._lazy import unusable
from deeplake._load.assemble import Assembly, NumPy
from deeplake._load.loader import Passes, describe
from deeplake._load.plan import Options, Plan
from deeplake._rows.source import Pinned

try:
    import tensorflow as tf
except Exception as err:
    raise unusable(
        "load with tensorflow", "tensorflow", "pip install deeplake[tensorflow], or tensorflow-cpu", err
    ) from err

from deeplake._hosts.signature import flat, pack, signature, unpack


class _Stream(Passes):
    """One pass after the other, with batches in the form that tf.data takes without a copy.

    It does not refer to the dataset, so that both are freed with the last reference to the dataset.
    """

    def __init__(self, plan: Plan, element_spec: Any) -> None:
        self._plan = plan
        # tf.data reads NumPy arrays where they lie, if they are aligned as batches of the core are.
        self._assembly = Assembly(plan, NumPy())
        self.leaves = signature(plan, element_spec)

    @property
    def begun(self) -> int:
        """Where in its epoch the next iteration begins, in samples: not at 0 where a state was
        loaded.
        """
        return self._start

    def go_on(self, epoch: int, start: int) -> None:
        """Says where the next iteration begins."""
        self._epoch, self._start = epoch, start

    def generate(self, counted: bool) -> Iterator[Any]:
        """Yields the rest of the current epoch. `counted`: TensorFlow expects a whole epoch."""
        if counted and self.begun:
            raise InvalidArgumentError(
                "iterate: a state was loaded after this tf.data pipeline was derived from the dataset, and there are "
                "fewer batches left than the pipeline was told; load the state first, then map, prefetch or zip"
            )
        for batch in self._pass():
            yield pack(self.leaves, batch)
            del batch


class TensorFlowDataset(tf.data.Dataset):  # type: ignore[misc,unused-ignore]
    """Batches of TensorFlow tensors, from `View.tensorflow`, for `model.fit`, `map` and plain
    loops.

    Each iteration is one epoch; several may run at once, and leaving one early stops the reading.
    `map`, `prefetch` and `zip` return plain datasets of tf.data: ask this one for states and
    figures.
    """

    def __init__(self, plan: Plan, element_spec: Any = None) -> None:
        self._plan = plan
        self._given = element_spec
        self._stream = _Stream(plan, element_spec)
        self._open = _pipeline(self._stream, None)
        # With skipped rows the number of batches is unknown.
        skips = plan.options.on_error == "skip"
        self._counted = self._open if skips else _pipeline(self._stream, len(self._stream))
        super().__init__(self._counted._variant_tensor)

    @property
    def _variant_tensor(self) -> Any:
        """The graph of the next iteration; the one that goes on in the middle of an epoch has fewer
        batches.
        """
        return (self._open if self._stream.begun else self._counted)._variant_tensor

    def _inputs(self) -> list[Any]:
        return [self._counted]

    @property
    def element_spec(self) -> Any:
        """The types of a batch: see `View.tensorflow`."""
        return self._counted.element_spec

    def __reduce__(self) -> tuple[Any, ...]:
        return _dataset, (self._plan, self._given, self.epoch, self._stream.begun)

    def __len__(self) -> int:
        """The number of batches of an epoch; fewer come where `on_error="skip"` empties some."""
        return len(self._stream)

    @property
    def epoch(self) -> int:
        """The epoch that the next iteration goes through."""
        return self._stream.epoch

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch of the next iteration, which begins at its start."""
        self._stream.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Returns the progress of the newest iteration; see `Batches.state_dict`.

        It counts the batches that TensorFlow took. Behind `prefetch` the loop has received fewer.
        """
        return self._stream.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from a state; see `Batches.load_state_dict`. Call it before `map` or
        `prefetch`.

        The iteration over the rest of an epoch has fewer batches. Until it begins, the cardinality
        is unknown.
        """
        self._stream.load_state_dict(state)

    def stats(self, *, flat: bool = False) -> dict[str, Any]:
        """Returns the figures of the newest iteration: see `Batches.stats`."""
        return self._stream.stats(flat=flat)

    def prometheus(self, **labels: str) -> str:
        """Returns the figures in Prometheus' text format: see `Batches.prometheus`."""
        return self._stream.prometheus(**labels)

    def __repr__(self) -> str:
        return describe("TensorFlowDataset", self._plan, self.epoch)


def dataset(source: Pinned, options: Options, element_spec: Any = None) -> TensorFlowDataset:
    """Returns the tf.data.Dataset of some rows."""
    return TensorFlowDataset(Plan(source, text_of_json(source, options)), element_spec)


def text_of_json(source: Pinned, options: Options) -> Options:
    """Returns the options with JSON delivered as the text it is stored as, where Python has nothing
    to do with it.
    """
    recipe = options.recipe
    if recipe.row is not None or callable(options.collate):
        return options
    given = options.decode if isinstance(options.decode, Mapping) else {}
    touched = recipe.names
    names = options.tensors if options.tensors is not None else source.names()
    text = {
        name: "bytes"
        for name in names
        if name not in given and name not in touched and source.require(name)["dtype"] == "json"
    }
    return replace(options, decode={**given, **text}) if text else options


def _dataset(plan: Plan, element_spec: Any, epoch: int, start: int) -> TensorFlowDataset:
    made = TensorFlowDataset(plan, element_spec)
    made._stream.go_on(epoch, start)
    return made


def _pipeline(stream: _Stream, batches: int | None) -> Any:
    """Returns the tf.data.Dataset over a stream, with its cardinality where it is known."""
    generate = functools.partial(_generate, weakref.ref(stream), batches is not None)
    made = tf.data.Dataset.from_generator(generate, output_signature=flat(stream.leaves))
    if batches is not None:
        made = made.apply(tf.data.experimental.assert_cardinality(batches))
    leaves = stream.leaves
    if not _are_flat(leaves):
        made = made.map(lambda *element: unpack(leaves, element[0] if len(element) == 1 else element))
    # TensorFlow would take one batch ahead of the loop, which states then counted. The loader
    # itself is ahead.
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return made.with_options(options)


def _generate(of: weakref.ref[_Stream], counted: bool) -> Iterator[Any]:
    """Yields the batches of a pass. TensorFlow never frees its callables, so this one holds no
    loader.

    Iterators and derived datasets keep their dataset alive, and that its stream.
    """
    stream = of()
    if stream is None:
        raise ClosedError(
            "iterate: the dataset that this graph was made from is gone; keep what ds.tensorflow returned"
        )
    yield from stream.generate(counted)


def _are_flat(leaves: Any) -> bool:
    """Returns whether no column is a RaggedTensor: such batches enter TensorFlow unchanged."""
    if isinstance(leaves, Mapping):
        return all(map(_are_flat, leaves.values()))
    if isinstance(leaves, tuple):
        return all(map(_are_flat, leaves))
    return not leaves.ragged
