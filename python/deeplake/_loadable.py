"""The loader methods that datasets, views and mixtures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake._loader import Batches
from deeplake._options import DeviceOptions, LoaderOptions, takes
from deeplake._plan import Options
from deeplake._source import Source

if TYPE_CHECKING:
    # Type checkers know the module; Python 3.10 lacks typing.Unpack, and nothing evaluates it.
    from typing_extensions import Unpack

    from deeplake._jax import JaxBatches
    from deeplake._tensorflow import TensorFlowDataset
    from deeplake._torch import TorchLoader


class Loadable:
    """Rows that loaders are made of. The docstrings of their arguments are those of `pytorch`."""

    __slots__ = ()

    _source: Source

    @takes(DeviceOptions)
    def pytorch(self, batch_size: int = 1, **options: Unpack[DeviceOptions]) -> TorchLoader:
        """Returns a `torch.utils.data.DataLoader` whose batches are dicts of torch tensors by
        tensor name.

        It reads the rows as they are now. Threads of the core do the work: there are no worker
        processes, and torch's own `num_workers` stays 0. Tensors are views of the memory that the
        batch was decoded into (nothing is copied), writable, and may be kept for ever. Images are
        uint8, height x width x channels; class labels int64; text is a list of str, json a list of
        objects, sequences are lists of lists.

        The order depends on `seed`, the epoch and the version of the dataset alone, never on
        `num_workers`. Each iteration that runs to its end moves on to the next epoch, so a plain
        loop sees another order every time; `loader.set_epoch(n)` says which epoch comes next.

        Args:
            batch_size: rows of a batch; the last one has what is left, unless `drop_last`.
            shuffle: True mixes rows over a window of `shuffle_bytes`, which reads the store in
                large pieces; "full" draws from all rows.
            num_workers: decode threads; None takes one for each core. 0 decodes nothing ahead: each
                batch is made on one thread while `next()` waits for it, and `prefetch` has no
                effect. Bytes of a store are fetched ahead all the same.
            tensors: the tensors to load; None loads all.
            transform: a dict from tensor names to a transform or a list of them, a
                `transforms.Joint`, one callable that takes and returns the row, a dict, or a list
                of these. A transform is a native one of `deeplake.transforms`, which the core
                carries out while it decodes, or, after those, a callable on one sample. Tensors
                that are not named pass through. Callables get NumPy arrays (scalars, str, what
                `decode` says) and run in the thread that iterates, one sample after the other: a
                slow one is what the loop then waits for.
            collate: "stack" wants one shape for all samples of a tensor; "pad" fills up with zeros
                and adds `<name>_shape`, int64 of shape (batch, axes); "list" gives lists of
                tensors, None for a hole; a callable gets the rows of a batch, a list of dicts, and
                what it returns is the batch.
            device: None or "cpu".
            decode: how to deliver a tensor: "numpy" decodes (the same as True for all), "bytes"
                gives the bytes as they are stored, "pil" a PIL image.
            prefetch: batches that are made ahead.
            fetch_bytes: memory for what is fetched ahead from an object store, 2.5 *
                `shuffle_bytes` by default. Where all rows fit, later epochs ask for nothing.
                `loader.stats()["fetch"]` says what was asked for.
            on_error: "skip" leaves out rows that cannot be read; `loader.stats()` counts them and
                shows the first.
            return_index: add "_index", int64, the row numbers in the dataset.
            progress: show a line with the rate and what it is bound by, on a terminal only.
            trace: a file that is written when an iteration ends, with what each thread did and
                when, in the JSON that Perfetto and chrome://tracing show; with ranks a file for
                each.
            cache: bytes of memory, or a `deeplake.Cache`, for decoded images: later epochs decode
                (and fetch) only what it does not hold.
            rank, world_size: this process and how many share the rows of an epoch; all of them take
                the same number of batches, and every row comes once. By default as
                torch.distributed says when an iteration begins, or else RANK and WORLD_SIZE in the
                environment, or else 0 of 1. `batch_size` is that of one rank.
            tail: what becomes of the last rows, fewer than all ranks take in one step. "exact"
                spreads them, so that batches differ by one row at most; a rank that would get none
                repeats one, and the batches of that step have "_valid", bool, false for what is
                repeated. "drop" leaves them out, as `drop_last` does. "pad" fills up with rows from
                the start of the epoch; every batch has "_valid".
            weights: how likely each row is to be drawn, as torch's WeightedRandomSampler does: one
                finite number >= 0 for each row, of any sum, or the name of a tensor that has them.
                Rows of weight 0 never come. Draws are independent of each other (Walker's alias
                table, 1977); with shuffle=True they are stratified instead (each row comes as often
                as its weight says, to a whole number or its neighbour) and mixed over windows,
                which an object store delivers in large pieces.
            replacement: False draws a row once at most: by weight among the rows that are left
                (Efraimidis, Spirakis, 2006).
            length: draws of an epoch; None takes the number of rows, without replacement that of
                weights above 0.
        Raises:
            TensorTypeError: while iterating: samples of different shapes under "stack", which names
                the tensor.
            CorruptError: while iterating: a sample cannot be decoded; row and tensor are named.
        """
        from deeplake._torch import TorchLoader

        return TorchLoader(self._source.pinned(), Options(batch_size=batch_size, **options))

    @takes(DeviceOptions)
    def batches(self, batch_size: int = 1, **options: Unpack[DeviceOptions]) -> Batches:
        """Returns an iterable of batches as dicts of NumPy arrays; arguments and order are those of
        `pytorch`.
        """
        return Batches(self._source.pinned(), Options(batch_size=batch_size, **options))

    @takes(LoaderOptions)
    def tensorflow(
        self, batch_size: int = 1, *, element_spec: Any = None, **options: Unpack[LoaderOptions]
    ) -> TensorFlowDataset:
        """Returns a `tf.data.Dataset` whose elements are batches, dicts of TensorFlow tensors by
        tensor name.

        Arguments, order and states are those of `pytorch`; there is no `device`, TensorFlow moves
        batches itself. The dataset also has `set_epoch`, `state_dict`, `load_state_dict`, `stats`
        and `len`; its cardinality is known, so `model.fit` knows its steps. Each iteration is
        another epoch, in another order. Numbers cross into TensorFlow without a copy; strings,
        lists and RaggedTensors are copied.

        | samples | under "stack" and "pad" | under `collate="list"` |
        |---|---|---|
        | of one shape | (batch, ...), dense | (batch, ...), dense |
        | of several shapes | "pad": (batch, ...), and `<name>_shape` | RaggedTensor, empty holes |
        | sequences | RaggedTensor | RaggedTensor |
        | text, `decode="bytes"` | tf.string | tf.string, a hole is "" |
        | json | tf.string, the JSON text | tf.string |

        The first axis is None, because the last batch may be smaller; with `drop_last` it is
        `batch_size`.

        Args:
            element_spec: a dict of `tf.TensorSpec` or `tf.RaggedTensorSpec` by name for what a
                transform makes. Without it the transform is called on the first and the last row,
                and axes that agree are taken for fixed. For a collate function the whole structure,
                of dicts and tuples; without it, it is called on one row and on two.
        Raises:
            UnsupportedError: tensorflow is not installed.
            TensorTypeError: there is no TensorFlow type for a tensor.
            tf.errors.OpError: while iterating, for every error: its message has the class and the
                message of ours.
        """
        from deeplake._tensorflow import dataset

        return dataset(self._source.pinned(), Options(batch_size=batch_size, **options), element_spec)

    @takes(LoaderOptions)
    def jax(self, batch_size: int = 1, *, sharding: Any = None, **options: Unpack[LoaderOptions]) -> JaxBatches:
        """Returns an iterable of batches as dicts of `jax.Array`; arguments, order and states are
        those of `pytorch`.

        On the CPU arrays are views of the memory that the batch was decoded into; for another
        device they are copied to it. Lists (`collate="list"`, sequences) hold NumPy arrays, text is
        a list of str, json a list of objects: JAX has no arrays of these. While `jax_enable_x64` is
        off JAX has no 64-bit types: int64 becomes int32 and float64 float32, as everywhere in JAX,
        but an integer that does not fit is an error here.

        Args:
            sharding: a `jax.sharding.Sharding` for every array, or a dict of them by name. In a run
                of several processes (`jax.distributed`) each one reads its share of the rows,
                unless `rank` and `world_size` say otherwise, and a batch is the global array of all
                of them; `drop_last` or `tail="pad"` is then needed, because all shares must be as
                large.
        Raises:
            UnsupportedError: jax is not installed.
            InvalidArgumentError: while iterating: a batch that its devices cannot share.
            TensorTypeError: while iterating: an int64 that is no int32.
        """
        from deeplake._jax import JaxBatches

        return JaxBatches(self._source.pinned(), Options(batch_size=batch_size, **options), sharding)
