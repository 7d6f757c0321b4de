"""The native face of the core: what python/src offers, and the only thing that the package calls.

Importing this module loads no Go; the first call that needs the core does. Every function raises the classes of
`deeplake._errors`. A call that may take long runs without the GIL and answers Ctrl-C within 0.2 s; what it was doing is
then canceled in the core, and KeyboardInterrupt is raised.

A handle belongs to one generation of the core: the one loaded in this process. In a forked child the generation is
another, `alive` is False, and every method raises ForkedError; the owner of the handle then opens it again from its
spec (uri, commit, selection, options). Handles left over from the parent are never closed there, only forgotten.

Handles may be used from several threads. Dropping the last reference closes them.
"""

import builtins
from collections.abc import Callable, Iterable, Mapping
from typing import Any, final

import numpy as np
import numpy.typing as npt

def generation() -> int:
    """Returns the generation of the core that calls would use now; a forked child has another. Loads nothing."""

def loaded() -> bool:
    """Returns whether this process has loaded a core of its own."""

def version() -> str:
    """Returns the version of the core; loads it."""

def abi_version() -> tuple[int, int]:
    """Returns (major, minor) of the C ABI of the core; loads it."""

def error_table() -> list[dict[str, Any]]:
    """Returns the core's table of errors: dicts of `status`, `name`, `c`, `python`, `base`; loads the core."""

def devices() -> dict[str, Any]:
    """Returns the CUDA driver and its devices: a dict of `driver`, `version`, `devices` (dicts of `number`, `name`,
    `memory`, `compute`, `pools`) and `missing`, which says why there is no device; loads the core."""

def configure(options: Mapping[str, Any]) -> None:
    """Sets options of the core's runtime; loads it.

    Args:
        options: `gogc` (int percent, -1 is off), `memory_limit` (int bytes), `gomaxprocs` (int), `env` (dict of names
            to strings, or None to unset): the core does not see later changes of `os.environ` by itself."""

def create(
    uri: str,
    *,
    overwrite: bool = False,
    tensors: list[dict[str, Any]] = ...,
    store: Mapping[str, Any] | None = None,
    at_commit: bool = False,
) -> Dataset:
    """Makes a dataset without rows, whose first version has `tensors`: specs as for
    `Dataset.create_tensor`. Raises AlreadyExistsError, unless `overwrite`; `store` as in `open`. With `at_commit`, a
    dataset that is overwritten stays until the first commit."""

def open(
    uri: str, *, branch: str = "", at: str = "", read_only: bool = False, store: Mapping[str, Any] | None = None
) -> Dataset:
    """Opens a dataset.

    Args:
        branch: "" is main.
        uri: a path, `file://...`, `mem://name`, `s3://bucket/...`, `gs://bucket/...` or `http(s)://...`.
        at: "" is the newest version; a commit id (or at least 6 characters of it), a tag, a branch, a version number,
            "branch@number" or a time in RFC 3339 opens that version for reading.
        read_only: refuse writes.
        store: how the store is reached: `storage` (dict, as core/storage.Settings) and `environ` (dict of the
            variables that credentials and proxies are found by; without it, those that the core was loaded with)."""

def open_task(uri: str, token: str, key: str, *, store: Mapping[str, Any] | None = None) -> Dataset:
    """Opens a dataset for one task of a distributed write; store is as in `open`."""

def copy(src: str, dst: str, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Copies a dataset; options are history, branch, at, message; from and to, each as `store` of `open`."""

def exists(uri: str, *, store: Mapping[str, Any] | None = None) -> bool:
    """Returns whether a dataset is there; `store` as in `open`."""

def delete(uri: str, *, store: Mapping[str, Any] | None = None) -> None:
    """Deletes the dataset with all its versions. Raises NotFoundError; `store` as in `open`."""

def resolve(uri: str, environ: Mapping[str, str]) -> str:
    """Returns the absolute path or the address that a URI names."""

def root_of(uri: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Returns `org` and `root` of `deeplake://org/`, both "" for any other text."""

def orgs(environ: Mapping[str, str]) -> list[str]:
    """Returns the organisations that are known here, in order."""

def datasets(uri: str, *, store: Mapping[str, Any] | None = None) -> list[str]:
    """Returns the names of the datasets directly below `uri`, in order; `store` as in `open`."""

def inspect(data: bytes | bytearray | memoryview, *, channels: int = 0) -> dict[str, Any]:
    """Returns {"codec": "jpeg", "dtype": "uint8", "shape": [h, w, c], "bytes": n, "orientation": 1} of an encoded
    sample, by its header. Exif data turns the image by the orientation, 1 to 8.

    Args:
        data: the whole file.
        channels: 0 as stored, 1 gray, 3 RGB."""

def decode(data: bytes | bytearray | memoryview, *, channels: int = 0) -> npt.NDArray[Any]:
    """Decodes one encoded sample; arguments as `inspect`."""

def memory_references() -> int:
    """Returns how many references to batch memory this process holds; for tests of leaks."""

def ingest(uri: str, source: str, options: Mapping[str, Any] | None = None) -> Job:
    """Starts filling the dataset at `uri` from the folder `source` in the background.

    Args:
        options: `overwrite` (bool), `workers`, `compression` ("auto", "jpeg", "png", "webp", "none"), `checkpoint`
            (rows between commits), `message`. Keys whose value is None are left out."""

def visualize(view: View, dataset: Dataset | None = None, options: Mapping[str, Any] | None = None) -> Visualizer:
    """Starts a server of pages that show a view.

    Args:
        dataset: of the view, for other versions; None shows none.
        options: `page` (the directory of the built page), `host`, `port`, `allow_hosts`, and those of stores."""

class _Handle:
    """What stubs of handles have in common; the extension has no such class."""

    @property
    def alive(self) -> bool:
        """Whether the handle is open and of the current generation."""
    @property
    def generation(self) -> int:
        """The generation that made the handle."""
    def close(self) -> None:
        """Closes the handle. Doing so twice, or in a forked child, does nothing."""

@final
class Dataset(_Handle):
    """An open dataset: a handle, no state of its own."""

    def close(self) -> None:
        """Closes the handle; uncommitted rows are dropped. Doing so twice, or in a forked child, does nothing."""
    def branches(self) -> list[dict[str, Any]]:
        """Returns name and head (a commit) of each branch. A ref below is as `at` of `open`; "" is the present one."""
    def create_branch(self, name: str, at: str = "") -> None:
        """Makes a branch that begins at a ref."""
    def delete_branch(self, name: str) -> None:
        """Deletes a branch."""
    def checkout(self, ref: str, create: bool = False) -> None:
        """Goes to the newest version of a branch, which create makes first, or to another version for reading."""
    def tags(self) -> list[dict[str, Any]]:
        """Returns name, message, author, time and commit of each tag."""
    def create_tag(self, name: str, at: str = "", message: str = "") -> dict[str, Any]:
        """Tags a ref, and returns the tag."""
    def delete_tag(self, name: str) -> None:
        """Deletes a tag."""
    def graph(self, limit: int = 0, all: bool = False) -> list[dict[str, Any]]:
        """Returns the newest commits with their parents and names; a limit of 0 is all of them."""
    def diff(self, a: str, b: str = "") -> dict[str, Any]:
        """Returns the differences that lead from one ref to another, as core/version.Diff."""
    def history(self, row: int, limit: int = 0) -> list[dict[str, Any]]:
        """Returns the newest commits that changed a row: commit, change, tensors, and row, -1 for none."""
    def row_names(self, rows: Any) -> list[str]:
        """Returns names of rows that no commit changes."""
    def merge(self, ref: str, on_conflict: str = "error", message: str = "") -> dict[str, Any]:
        """Takes a ref into the branch. Returns commit, and merged: whether there was anything to take in."""
    def change_classes(self, name: str, change: Mapping[str, Any]) -> None:
        """Changes the classes of a tensor: {"rename", "into"}, {"merge": [...], "into"} or {"remove"}."""
    def restore(self, ref: str, message: str = "") -> dict[str, Any]:
        """Makes the branch show what a ref shows. Returns commit, and restored: whether it did not already."""
    def revert(self, ref: str, on_conflict: str = "error", message: str = "") -> dict[str, Any]:
        """Undoes the changes of the commit of a ref. Returns commit, and reverted: whether any were left."""
    def rename_tensor(self, old: str, new: str) -> None:
        """Renames a tensor or a group; commit makes it last."""
    def delete_tensor(self, name: str) -> None:
        """Deletes a tensor; commit makes it last."""
    def views(self) -> list[dict[str, Any]] | None:
        """Returns the saved views."""
    def delete_view(self, name: str) -> None:
        """Deletes a saved view."""
    def gc(
        self,
        older_than: float | None = None,
        expire: float | None = None,
        keep_last: int | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Removes what no version needs; ages are in seconds. Returns the fields of `dl_gc_report`, and dry_run."""
    def fsck(self, data: bool = True, repair: bool = False) -> dict[str, Any]:
        """Looks for missing and damaged objects. Returns core/version.FsckReport."""
    def progress(self) -> dict[str, int]:
        """Returns items, bytes, total_items and total_bytes of the gc, fsck, copy or rechunk that began last."""
    def commit_once(self, message: str, key: str) -> dict[str, Any]:
        """Commits, unless a commit of the history has the key, which is not "". Returns the commit."""
    def begin_write(self, lease: float | None = None) -> str:
        """Begins a distributed write, whose lease lasts that many seconds. Returns its token, JSON."""
    def end_write(self, token: str) -> None:
        """Ends the lease of a distributed write."""
    def fragment(self) -> str:
        """Makes the changes of a task durable. Returns what they are, JSON."""
    def rechunk(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Writes scattered samples into full chunks: tensors, chunk_bytes, all, message, start, stop.
        Returns rows, bytes, before, after, and commit or None."""
    def commit_fragments(self, token: str, fragments: list[str], options: Any = None) -> dict[str, Any]:
        """Commits fragments: message, idempotency_key, allow_missing. Returns the commit, fragments and repeated."""
    def copy_to(
        self, uri: str, history: bool = False, message: str = "", store: Mapping[str, Any] | None = None
    ) -> dict[str, int]:
        """Copies the present version, or all of them, to another place. Returns the fields of `dl_copy_report`."""
    def describe(self) -> dict[str, Any]:
        """Returns uri, read_only, dirty, rows, head, tensors (list of dicts) and info, as core/dataset.Description."""
    def create_tensor(self, spec: Mapping[str, Any]) -> None:
        """Adds a tensor.

        Args:
            spec: `name`, `htype`, `dtype`, `shape` (-1 or None: the axis varies), `compression`, `quality`,
                `subsampling`, `class_names`, `chunk_bytes`, `exist_ok`, `info`. Keys whose value is None are left
                out; an unknown key raises InvalidArgumentError."""
    def append(self, columns: Mapping[str, Any], types: Mapping[str, str] | None = None) -> int:
        """Appends rows, all or none; crosses into the core once. Returns the number of rows appended.

        A column is either an array whose first axis counts the rows (NumPy, or anything with `__dlpack__`,
        `__array__` or the buffer protocol), or a list or tuple with one sample per row. A sample is an array, a number,
        a (nested) list of numbers, a str, bytes, None for a hole, or an object whose `__deeplake_encoded__` is the
        bytes of an encoded file (stored verbatim where the tensor's codec is the same). All columns have as many rows;
        arrays of any byte order and stride are taken, and are not kept.

        Args:
            columns: tensor names and their values.
            types: for each tensor its dtype, or `sequence[dtype]`. It decides what Python literals become: numbers that
                fit are converted to the dtype, and with `json` any value is serialised. Arrays are never converted.
                In a `sequence[...]` column each row is a list of samples, or an array whose first axis counts them.
        Raises:
            InvalidArgumentError: columns of different length; a number that does not fit its dtype.
            TensorTypeError: a sample does not suit its tensor."""
    def append_stream(self, stream: Any) -> int:
        """Appends the rows of an object with `__arrow_c_stream__`, all or none, a column for each tensor. It calls
        the producer from a thread of its own, without the GIL. Returns the number of rows appended.

        Raises:
            InvalidArgumentError: the producer fails, or describes its memory wrongly; columns are missing.
            TensorTypeError: a column does not suit its tensor."""
    def update(self, rows: npt.ArrayLike, columns: Mapping[str, Any], types: Mapping[str, str] | None = None) -> None:
        """Replaces the samples of the given rows (0 <= row < rows) in the given tensors; columns as in `append`."""
    def delete_rows(self, rows: npt.ArrayLike) -> None:
        """Deletes rows; later rows move up."""
    def update_rows_of(self, view: View, columns: Mapping[str, Any], types: Mapping[str, str] | None = None) -> None:
        """Replaces the samples of the rows of a view of any version; columns as in `append`."""
    def delete_rows_of(self, view: View) -> None:
        """Deletes the rows of a view of any version, found by their identities."""
    def set_info(self, info: Mapping[str, Any]) -> None:
        """Replaces the dataset's user information, which must be JSON."""
    def commit(self, message: str = "") -> dict[str, Any]:
        """Makes what was written durable and visible. Returns the commit, as core/dataset.CommitInfo."""
    def discard(self) -> None:
        """Drops what was written since the last commit."""
    def refresh(self) -> None:
        """Moves to the newest version. Raises ConflictError when there are uncommitted changes that contradict it."""
    def log(self, limit: int = 0) -> list[dict[str, Any]]:
        """Returns the commits, newest first; 0 is all of them."""
    def at(self, ref: str) -> Dataset:
        """Opens another version of the dataset for reading; `ref` as `at` of `open`."""
    def view(self) -> View:
        """Returns all rows as they are now, uncommitted ones included. It does not change when the dataset does."""

@final
class View(_Handle):
    """Rows of one version of a dataset, in an order."""

    def __len__(self) -> int: ...
    def names(self) -> list[str]:
        """Returns the names of the tensors."""
    def describe(self) -> dict[str, Any]:
        """Returns rows, commit and tensors, as core/dataset describes a view."""
    def select(self, rows: npt.ArrayLike) -> View:
        """Returns a view of the given rows, 0 <= row < len(self), in that order; repeats are allowed."""
    def slice(self, start: int, stop: int, step: int = 1) -> View:
        """Returns the rows of range(start, stop, step), all of which must exist; step may be negative."""
    def weigh(self, weights: npt.ArrayLike) -> View:
        """Returns a view of the same rows whose `loader` draws them by weight: one float64 for each row, copied."""
    def rows(self) -> npt.NDArray[np.int64]:
        """Returns for each row its number in the dataset."""
    def outdated(self, tensor: str, row: int) -> bool:
        """Returns whether a sample may have changed since the view was made. Tensor "" is any, row -1 is any."""
    def sources(self, rows: npt.ArrayLike) -> list[str | None]:
        """Returns for each row the file from which it was imported; None: it was not."""
    def batches(self, options: Mapping[str, Any]) -> Batches:
        """Opens record batches of Arrow. Options: `tensors`, `images` ("encoded", "pixels"), `batch_rows` (0: any)."""
    def column(self, name: str) -> Column:
        """Returns one tensor of the view. Raises NotFoundError."""
    def videos(self, name: str, options: Mapping[str, Any]) -> Videos:
        """Returns a reader of a tensor of videos. Options: `folders` of FFmpeg. Raises TensorTypeError for others."""
    def clips(self, options: Mapping[str, Any], rows: npt.ArrayLike, starts: npt.ArrayLike) -> View:
        """Returns a view whose rows are clips, as `Videos.place` placed them; its options, and `folders`."""
    def place_windows(self, options: Mapping[str, Any]) -> tuple[npt.NDArray[np.int64], ...]:
        """Places windows in episodes: of each the row, the frame, and the frames of its episode. Options: `fps`,
        `step`, `tolerance` (s), `folders`, `tensors` (each `name`, `times` in s, `single`)."""
    def frame_tensors(self, options: Mapping[str, Any]) -> list[str]:
        """Lists other tensors with an entry for each frame in some rows; with the options of `place_windows`."""
    def windows(self, options: Mapping[str, Any], rows: Any, frames: Any, lengths: Any) -> View:
        """Returns a view whose rows are windows, as `place_windows` placed them; with its options."""
    def plot(self, rows: npt.ArrayLike, options: Mapping[str, Any]) -> bytes:
        """Draws rows as a PNG file. Options: `cell`, `columns` (0: as many as fit), `tensor` ("": the first)."""
    def read(self, rows: npt.ArrayLike, options: Mapping[str, Any] | None = None) -> Batch:
        """Reads and decodes rows into one piece of memory.

        Args:
            rows: row numbers in the view, any order, repeats allowed.
            options: `tensors`, `collate`, `collate_of`, `decode`, `return_index`, `num_workers`, as in `loader`."""
    def loader(self, options: Mapping[str, Any]) -> Loader:
        """Plans batches of the view.

        Args:
            options: `batch_size`; `shuffle` ("", "window", "full"), `seed`, `shuffle_bytes`; `num_workers` (threads),
                `on_demand` (one thread, and only while next waits), `prefetch` (batches), `slab_bytes`, `fetch_bytes`;
                `drop_last`, `tensors` (list of names), `return_index`; `collate` ("stack", "pad", "list") and
                `collate_of` (the same by tensor); `decode` (dict of tensor to "bytes"); `on_error` ("raise", "skip",
                "accept"). Keys whose value is None are left out; core/loader.Options says more."""

@final
class Videos(_Handle):
    """The frames of a tensor of videos. Rows are those of its view. Raises NotFoundError for a row without a video."""

    def info(self, row: int) -> dict[str, Any]:
        """Returns `codec`, `width`, `height`, `frames`, `key_frames`, `begin` and `duration` (s), `fps`, `rotation`
        (degrees) and `bytes`."""
    def times(self, row: int, frames: int) -> npt.NDArray[np.float64]:
        """Returns the times of all frames, in seconds."""
    def at(self, row: int, seconds: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Returns the numbers of the frames that are shown at times. Raises OutOfRangeError."""
    def frames(self, row: int, numbers: npt.ArrayLike, height: int, width: int) -> npt.NDArray[np.uint8]:
        """Decodes frames into an array of shape (n, height, width, 3); height and width are those of `info`."""
    def place(self, options: Mapping[str, Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Places clips in all videos: the row of each clip, and the position at which it begins. Options: `tensor`,
        `length`, `stride`, `fps` (0: all frames), `windows` ("sliding", "random"), `step` (0: clips touch), `count`,
        `seed`, `short` ("repeat", "drop"), `frames` (single frames)."""

@final
class Batches(_Handle):
    """Rows of a view as record batches of Arrow."""

    def schema(self) -> Any:
        """Returns a capsule named "arrow_schema"."""
    def next(self) -> Any:
        """Returns a capsule named "arrow_array", None behind the last batch."""
    def stream(self) -> Any:
        """Returns a capsule named "arrow_array_stream" of the batches that are left."""

class Column(_Handle):
    """One tensor of a view, for reading stored bytes fast."""

    def sizes(self, rows: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Returns the stored bytes of each sample, -1 for a hole."""
    def bytes(self, row: int) -> builtins.bytes | None:
        """Returns one sample as stored, not decoded; None for a hole. `row` is 0 <= row < len(view)."""
    def bytes_many(self, rows: npt.ArrayLike) -> list[builtins.bytes | None]:
        """Returns the samples of several rows as stored."""

@final
class Array:
    """One array in the memory of a batch, which lives as long as anything refers to it.

    Memory is of the CPU or of a device, C order, aligned to 64 bytes, and writable. It may be kept for ever; several
    arrays of one batch share one piece of memory. On a device, the stream of an export waits for the array; the memory
    is used again once these streams have passed the point at which the last array was dropped."""

    @property
    def dtype(self) -> str:
        """The dtype by its NumPy name, or "bfloat16"."""
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def device(self) -> str:
        """ "cpu", or "cuda:0"."""
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3, on the legacy default stream. Raises AttributeError on the CPU and for bfloat16."""
    def numpy(self) -> npt.NDArray[Any]:
        """Returns the array without a copy. bfloat16 needs the package ml_dtypes and is uint16 without it."""
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

@final
class Stream:
    """The rest of an epoch as dicts of columns: `Epoch.stream`."""

    @property
    def position(self) -> int:
        """`Batch.position` of the newest batch; before the first, what `Epoch.stream` was told."""
    @property
    def last(self) -> bool:
        """Whether the newest batch is the last one of its pass."""
    @property
    def seconds(self) -> float:
        """The time that making Python's objects has taken."""
    def __iter__(self) -> Stream: ...
    def __next__(self) -> dict[str, Any]: ...

@final
class Batch:
    """The samples of some rows, in one piece of memory."""

    @property
    def position(self) -> int:
        """The position in the epoch once all ranks have had this batch; 0 unless it is of a loader."""
    @property
    def last(self) -> bool:
        """Whether it is the last batch of its pass."""
    def __len__(self) -> int:
        """Returns the number of rows."""
    def names(self) -> list[str]:
        """Returns the names of the columns: tensors, and `_index`, `_valid`, `<name>_shape` where there are such."""
    def columns(self, convert: Callable[[Array], Any] | None = None) -> dict[str, Any]:
        """Returns the columns by name, with `convert` applied to every Array (`torch.from_dlpack` for one).

        A column that is stacked or padded is one Array. A ragged one (collate "list") is a list of Arrays, None for a
        hole. Text is a list of str, bytes (and what `decode` left encoded) a list of bytes, json a list of objects.
        Sequences are lists of these."""
    def numpy(self) -> dict[str, Any]:
        """Returns `columns(Array.numpy)`, without its calls."""
    @property
    def memory(self) -> Memory:
        """The memory in which the columns lie."""
    def layout(self) -> dict[str, dict[str, Any]]:
        """Returns where the columns lie: dicts of `kind` ("array", "list", "text"), `dtype`, `begin` (a byte of the
        memory), `shape` (of an array), and for the entries of the others int64 arrays: `offsets` from `begin`, `sizes`
        in bytes (-1: missing), `ndims` and the `axes` of all entries. `items` has the entries of each row of a
        sequence, -1 for a missing one; None: each row is an entry."""

@final
class Memory:
    """Memory of a batch, or of results; it lives as long as any array in it."""

    @property
    def size(self) -> int:
        """Its bytes."""
    @property
    def file(self) -> int:
        """The descriptor of the file that it is, for other processes to map; -1 without one. Do not close it."""
    @property
    def number(self) -> int:
        """A number that no other living file has. Raises UnsupportedError without a file."""
    def array(self, offset: int, dtype: str, shape: Iterable[int]) -> Array:
        """Returns the array that begins at a byte. Raises InvalidArgumentError if it ends behind the memory."""

@final
class Loader(_Handle):
    """Batches of a view, for any number of epochs."""

    def close(self) -> None:
        """Stops every epoch of the loader. Batches handed out stay valid."""
    def __len__(self) -> int:
        """Returns the number of batches of an epoch on one rank of one."""
    def batches(self, pass_: Mapping[str, int] | int | None = None) -> int:
        """Returns the number of batches of a pass, the same on every rank; `pass_` as in `start`."""
    def start(self, pass_: Mapping[str, int] | int | None = None) -> Epoch:
        """Starts a pass; reading begins at once. Several may run.

        Args:
            pass_: `epoch`, `position` (in the order of the epoch), `rank`, `world_size`; or the number of an epoch."""
    def state(self, epoch: int, position: int) -> dict[str, Any]:
        """Returns the state behind a position, as core/loader.State."""
    def resume(self, state: Mapping[str, Any]) -> tuple[int, int]:
        """Returns (epoch, position) of a state. Raises InvalidArgumentError, which says what does not fit."""
    def memory(self, size: int) -> Memory:
        """Returns memory of at least `size` bytes for results made of batches; the option `shareable` must be set."""
    def stats(self) -> dict[str, Any]:
        """Returns rates, waiting times, memory and the bottleneck, as core/loader.Stats."""
    def trace(self) -> bytes:
        """Returns what was done when, as a JSON file in the Trace Event Format; the option `trace` must be set."""

def mix(views: list[View], how: Mapping[str, Any], options: Mapping[str, Any]) -> Loader:
    """Plans batches of several views together.

    Args:
        views: they must stay open.
        how: `mode`, `weights`, `stop`, `length`, as core/loader.Blend, and `labels`, names of the views for messages.
        options: as in `View.loader`."""

def transform_row(columns: Mapping[str, Any], options: Mapping[str, Any]) -> Batch:
    """Transforms a row in memory, and returns a batch of one row.

    Args:
        columns: an array of shape (1, ...) by name.
        options: as in `View.read`, and `row`, its number, `htypes` and `infos` of columns."""

def query(
    view: View | None,
    text: str,
    params: list[tuple[str, Any, str]],
    functions: list[Any],
    options: Mapping[str, Any] | None = None,
) -> tuple[View, dict[str, Any]]:
    """Asks a query of a view, or of the datasets that it names.

    Args:
        params: for each ? what its numbers count ("", "date", "timestamp", "interval"), the value, and its dtype.
        functions: `deeplake.tql.Function`s; they live as long as the result.
        options: `seed`, `budget` (bytes), `threads`, `commits` (to open again), `storage` and `environ`.
    Returns:
        A view of the result, and `query`, `uri`, `commits`, `outputs`, `explanation`, `text`, as `dl_query` says."""

def explain(
    view: View | None,
    text: str,
    params: list[tuple[str, Any, str]],
    functions: list[Any],
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Returns what `query` would do; with the option `analyze`, what it did."""

def save_view(dataset: Dataset, view: View, name: str, options: Mapping[str, Any] | None = None) -> None:
    """Saves a view of a dataset, or the answer to a query of it, under a name; option `replace`."""

def load_view(
    dataset: Dataset,
    name: str,
    functions: list[Any],
    options: Mapping[str, Any] | None = None,
) -> tuple[View, dict[str, Any]]:
    """Loads a saved view. A query that is asked again has its saved parameters; the rest is as in `query`."""

def materialize(view: View, uri: str, options: Mapping[str, Any] | None = None) -> None:
    """Copies the rows into a new dataset; options `overwrite`, `message`, `threads`, `storage`, `environ`."""

def export(view: View, uri: str, options: Mapping[str, Any] | None = None) -> Job:
    """Starts writing the rows as files; options are those of `view.export`, and of its store."""

def check_function(name: str) -> None:
    """Refuses a name that a user's function cannot have."""

def query_parameters(text: str) -> dict[str, list[str]]:
    """Returns the `parameters` of a query in the order of the text: the name of each, "" for ?."""

def vocabulary() -> dict[str, Any]:
    """Returns the `functions` that every query knows: `name`, `signature`, `doc`; and the `words` of the language."""

@final
class Epoch(_Handle):
    """One pass over a view. It is its own iterator."""

    def __iter__(self) -> Epoch: ...
    def __next__(self) -> Batch:
        """Returns the next batch. Raises StopIteration at the end; an error of a sample at its batch."""
    def stream(
        self,
        position: int,
        convert: Callable[[Any], Any] | None = None,
        current: Callable[[], int] | None = None,
    ) -> Stream:
        """Returns an iterator over the batches as dicts, by which a batch is one call of the core.

        Args:
            position: what the stream says of itself until it has given a batch.
            convert: makes the host's array of a DLPack capsule; None gives NumPy's, on a device an Array. Columns are
                otherwise as in `Batch.columns`.
            current: returns the handle of the device's stream on which the consumer works; None stands for the legacy
                default stream."""
    def close(self) -> None:
        """Stops reading ahead. Batches handed out stay valid."""

KEY_NONE: int
KEY_ANY: int
KEY_OWN: int

@final
class Visualizer(_Handle):
    """A server of pages. Closing it ends all requests."""

    def link(self, key: int) -> dict[str, str]:
        """Returns `address` and a new `key`, for http://ADDRESS/#key=KEY. A key works once.

        key: `KEY_NONE`, `KEY_ANY` or `KEY_OWN`: for browsers of this account, "" where accounts are not known."""
    def close(self) -> None:
        """Ends the server and forgets the handle."""

@final
class Job(_Handle):
    """An import or an export that runs in the background."""

    def poll(self, timeout: float = 0.1) -> dict[str, Any]:
        """Waits until there is news, at most `timeout` seconds. Returns the progress.

        Keys of an import: `done` (bool), `rows`, `files`, `bytes`, `total_files`, `total_bytes` (0: not known), and
        `report`, a dict when done; of an export: `done`, `rows`, `total` and `report`. Raises what the job failed with,
        CanceledError after `cancel`."""
    def cancel(self) -> None:
        """Asks the job to stop; `poll` says when it has."""
    def close(self) -> None:
        """Cancels, waits and forgets."""
