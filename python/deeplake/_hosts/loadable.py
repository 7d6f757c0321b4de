"""The loader methods that datasets, views and mixtures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake._load.loader import Batches
from deeplake._load.options import DeviceOptions, LoaderOptions, takes
from deeplake._load.plan import Options
from deeplake._rows.source import Source

if TYPE_CHECKING:
    # Type checkers know the module; Python 3.10 lacks typing.Unpack, and nothing evaluates it.
    from typing_extensions import Unpack

    from deeplake._hosts.jax import JaxBatches
    from deeplake._hosts.tensorflow import TensorFlowDataset
    from deeplake._hosts.torch import TorchLoader


class Loadable:
    """Base of objects that loaders read. `pytorch` documents the arguments of every loader."""

    __slots__ = ()

    _source: Source

    @takes(DeviceOptions)
    def pytorch(self, batch_size: int = 1, **options: Unpack[DeviceOptions]) -> TorchLoader:
        """Returns a `torch.utils.data.DataLoader` whose batches are dicts of torch tensors by
        tensor name.

        The loader reads the rows as they are at this call. Threads of the core do the work: there
        are no worker processes, and torch's own `num_workers` stays 0. Tensors are writable views
        of the memory that the batch was decoded into; a batch stays valid as long as a reference to
        it exists. Images are uint8 of shape (batch, height, width, channels), class labels int64.
        Text is a list of str, json a list of objects, and sequences are lists of lists.

        The order depends on `seed`, the epoch and the version of the dataset alone, never on
        `num_workers`. A complete iteration moves on to the next epoch, so a plain loop sees a new
        order every time. `loader.set_epoch(n)` chooses the next epoch.

        Args:
            batch_size: rows of a batch. The last batch has the remaining rows, unless `drop_last`.
            shuffle: True mixes rows over a window of `shuffle_bytes`, and reads the store in large
                pieces; "full" draws from all rows.
            seed: the seed of order, draws and transforms.
            num_workers: decode threads; None takes one for each core. With 0 one thread makes each
                batch while `next()` waits, and `prefetch` has no effect. Bytes of a store are
                prefetched all the same.
            drop_last: leave out the rows that do not fill a batch.
            tensors: names of the tensors to load; None loads all.
            transform: a dict from tensor names to a transform or a list of them, a
                `transforms.Joint`, a callable that takes and returns a row as a dict, or a list of
                these. The core carries out transforms of `deeplake.transforms` while it decodes.
                Callables follow: they get one sample as a NumPy array, scalar or str (or as
                `decode` says). They run in the thread that iterates, or in `python_workers`. A
                callable on the row may return None, which leaves the row out, or a list of dicts,
                which become several rows. Tensors without a transform pass through.
            collate: "stack" wants one shape for all samples of a tensor; "pad" fills up with zeros
                and adds `<name>_shape`, int64 of shape (batch, axes); "list" gives lists of
                tensors, None for a hole. `deeplake.pad` pads with another value, or to a fixed
                length. A dict gives tensors a form each; tensors that it does not name are
                stacked. "stack" and "pad" in a dict make one tensor of sequences, too: (batch,
                time, ...). A callable gets the rows of a batch, a list of dicts, and returns the
                batch.
            device: None or "cpu", "cuda", "cuda:1" or a torch.device. Arrays of a batch then lie on
                the GPU; text stays on the CPU. The core copies them on a stream of its own, and
                the current stream waits for the copy. With a Python callable, and for devices
                other than CUDA, torch moves the batches.
            exact: False lets a GPU decode JPEG files alone by nvJPEG, beside the CPU. Their pixels
                may differ from libjpeg-turbo's, and damage in them may show as wrong pixels.
            decode: the form of each tensor, True or a dict from names: "numpy" decodes (True
                decodes all), "bytes" gives the stored bytes, "pil" a PIL image.
            apply_exif_orientation: True, or names of image tensors, to turn the images of files as
                the orientation in their Exif data says. Boxes and masks are not turned. The loader
                reads the head of each file once more, which a tensor created with
                `apply_exif_orientation` saves.
            prefetch: batches that are made ahead.
            shuffle_bytes: stored bytes of a window of `shuffle=True`; 512 MiB by default.
            fetch_bytes: bytes of memory for prefetched objects of a store, by default 2.5 *
                `shuffle_bytes`. If all rows fit, later epochs request nothing.
                `loader.stats()["fetch"]` counts the requests.
            on_error: "raise", "skip" to leave out rows that cannot be read, or "accept" to take
                the pixels of damaged JPEG files as far as they can be read, with gray for the
                others, as Pillow does with LOAD_TRUNCATED_IMAGES. Other errors are raised with
                "accept" too. `loader.stats()` counts such rows and shows the first.
            return_index: add "_index", int64 of shape (batch,): the row numbers in the dataset.
            progress: show a line with the rate and the bottleneck, on a terminal only.
            trace: a path. The end of an iteration writes a file with the work of each thread over
                time, in the JSON of Perfetto and chrome://tracing. Each rank writes a file of its
                own.
            cache: bytes of memory, or a `deeplake.Cache`, for decoded images. Later epochs fetch
                and decode only images that it lacks.
            rank, world_size: the number of this process, and the number of processes that share the
                rows of an epoch. All ranks take the same number of batches, and every row comes
                once. The default is torch.distributed's at the start of an iteration, else that of
                Ray Train, else RANK and WORLD_SIZE of the environment, else 0 of 1. `batch_size`
                counts the rows of one rank.
            tail: the treatment of the last rows, if they are fewer than all ranks take in one step.
                "exact" spreads them, so that batches differ by one row at most; a rank without a
                row repeats one, and the batches of that step have "_valid", bool, false for
                repeated rows. "drop" leaves them out, as `drop_last` does. "pad" fills up with rows
                from the start of the epoch; every batch then has "_valid".
            weights: the relative probability of each row: one finite number >= 0 for each row, of
                any sum, or the name of a tensor of such numbers. Rows of weight 0 never come. Draws
                are independent (alias method: Walker, 1977), as in torch's WeightedRandomSampler.
                With shuffle=True they are stratified: each row comes as often as its weight says,
                rounded up or down, and mixed over windows that a store delivers in large pieces.
            replacement: False draws each row at most once, by weight among the remaining rows
                (Efraimidis and Spirakis, 2006).
            python_workers: processes that run the Python callables, PIL decoding and a collate
                function; "auto" takes one for each core, 0 none. Batches are the same for any
                number. Before a callable gets a row, `random`, NumPy's and torch's generators are
                seeded by (`seed`, epoch, row), and so are objects with `set_random_seed` that it
                names. A loader starts its workers once, at its first iteration. Linux only.
            worker_start: "forkserver" imports the modules of the callables once, and forks the
                workers from there; "spawn" starts an interpreter for each; "fork" forks this
                process, at once and without pickling, which is unsafe if its threads hold locks.
            batched: the callables in `transform` take all samples of a batch at once: lists, in
                the dict of `transform` or of the row. They return a list or an array with an entry
                for each row, by name.
            length: draws of an epoch. None takes the number of rows, without replacement the number
                of rows with a weight above 0.

        Raises:
            InvalidArgumentError: an option is wrong, or two contradict each other.
            NotFoundError: a tensor does not exist.
            TensorTypeError: while iterating: samples of a tensor differ in shape under "stack".
            CorruptError: while iterating: a sample cannot be decoded. The message names row and
                tensor.
            WorkerError: while iterating: a worker process was killed, or could not start.

        Example:
            for batch in ds.pytorch(batch_size=256, shuffle=True, tensors=["images", "labels"]):
                loss = step(batch["images"], batch["labels"])
        """
        from deeplake._hosts.torch import TorchLoader

        return TorchLoader(self._source.pinned(), Options(batch_size=batch_size, **options))

    @takes(DeviceOptions)
    def batches(self, batch_size: int = 1, **options: Unpack[DeviceOptions]) -> Batches:
        """Returns an iterable of batches as dicts of NumPy arrays. Arguments, order and errors are
        those of `pytorch`.

        With device="cuda" or "cuda:1" the arrays lie on the GPU: objects with `__dlpack__` and
        `__cuda_array_interface__`, for CuPy, Numba and others. Python callables are refused there.
        """
        return Batches(self._source.pinned(), Options(batch_size=batch_size, **options))

    @takes(LoaderOptions)
    def tensorflow(
        self, batch_size: int = 1, *, element_spec: Any = None, **options: Unpack[LoaderOptions]
    ) -> TensorFlowDataset:
        """Returns a `tf.data.Dataset` whose elements are batches: dicts of TensorFlow tensors by
        tensor name.

        Arguments, order and states are those of `pytorch`, without `device`: TensorFlow moves
        batches itself. The dataset also has `set_epoch`, `state_dict`, `load_state_dict`, `stats`
        and `len`. Its cardinality is known, so `model.fit` knows its steps. Each iteration is a new
        epoch in a new order. Numbers cross into TensorFlow without a copy; strings, lists and
        RaggedTensors are copied.

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
            element_spec: the types of a transform's results: a dict of `tf.TensorSpec` or
                `tf.RaggedTensorSpec` by name. Without it the transform runs on the first and the
                last row, and axes that agree count as fixed. For a collate function it is the whole
                structure of dicts and tuples; without it the function runs on one row and on two.

        Raises:
            UnsupportedError: tensorflow is not installed.
            TensorTypeError: TensorFlow has no type for a tensor.
            tf.errors.OpError: while iterating, for every error. Its message has the class and the
                message of the original.
        """
        from deeplake._hosts.tensorflow import dataset

        return dataset(self._source.pinned(), Options(batch_size=batch_size, **options), element_spec)

    @takes(DeviceOptions)
    def jax(self, batch_size: int = 1, *, sharding: Any = None, **options: Unpack[DeviceOptions]) -> JaxBatches:
        """Returns an iterable of batches as dicts of `jax.Array`. Arguments, order and states are
        those of `pytorch`.

        On the CPU, and on the device of `device="cuda"`, arrays are views of the memory of the
        batch; other devices get copies. Lists (`collate="list"`, sequences) hold NumPy arrays, text
        is a list of str, json a list of objects, since JAX has no such arrays. While
        `jax_enable_x64` is off, int64 becomes int32 and float64 float32, as everywhere in JAX. An
        integer that does not fit is an error.

        Args:
            sharding: a `jax.sharding.Sharding` for every array, or a dict of them by name. In a run
                of several processes (`jax.distributed`) each process reads its share of the rows,
                unless `rank` and `world_size` say otherwise, and a batch is the global array. All
                shares must then be equal: set `drop_last` or `tail="pad"`.

        Raises:
            UnsupportedError: jax is not installed, or lacks the device.
            InvalidArgumentError: while iterating: its devices cannot share a batch.
            TensorTypeError: while iterating: an int64 exceeds int32.
        """
        from deeplake._hosts.jax import JaxBatches

        return JaxBatches(self._source.pinned(), Options(batch_size=batch_size, **options), sharding)
