"""The writing half of a dataset: tensors, rows, and the commit that makes both durable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from deeplake import _index
from deeplake._commit import Commit, commit_of
from deeplake._errors import InvalidArgumentError
from deeplake._names import checks_keywords
from deeplake._source import Live
from deeplake._tensor import Tensor


class Writing:
    """The methods of `Dataset` that write. They need its source alone."""

    __slots__ = ()
    _source: Live

    @property
    def branch(self) -> str:
        """The branch that commits go to."""
        return str(self._source.handle().describe()["branch"])

    @property
    def head(self) -> Commit:
        """The version that the dataset is at."""
        return commit_of(self._source.handle().describe()["head"])

    @property
    def read_only(self) -> bool:
        """Whether writes are refused."""
        return self._source.read_only

    @property
    def dirty(self) -> bool:
        """Whether there is something to commit."""
        return bool(self._source.handle().describe()["dirty"])

    @property
    def info(self) -> Mapping[str, Any]:
        """What the user says of the dataset, a JSON object. Assign another dict to change it, then
        commit.
        """
        return MappingProxyType(self._source.handle().describe()["info"] or {})

    @info.setter
    def info(self, info: Mapping[str, Any]) -> None:
        self._source.write(lambda handle: handle.set_info(dict(info)))

    @checks_keywords
    def create_tensor(
        self,
        name: str,
        htype: str = "generic",
        *,
        dtype: Any = None,
        shape: Sequence[int | None] | None = None,
        compression: str | None = None,
        quality: int | None = None,
        subsampling: str | None = None,
        class_names: Sequence[str] | None = None,
        chunk_bytes: int | None = None,
        exist_ok: bool = False,
        info: Mapping[str, Any] | None = None,
    ) -> Tensor:
        """Adds a tensor; the rows there are become holes in it.

        Args:
            name: "a/b" lies in group a.
            htype: what samples mean: "image", "class_label", "bbox", "text" and others, or
                "sequence[...]" of one.
            dtype: of an element: a NumPy name or dtype, "string", "json" or "bytes"; None takes the
                htype's own, or that of the first sample.
            shape: of a sample, None for an axis that varies; None for any.
            compression: "none", "lz4", "zstd"; for images "jpeg", "png" and "webp" too.
            quality: of "jpeg", 1 to 100.
            subsampling: of "jpeg", "4:4:4", "4:2:2" or "4:2:0".
            class_names: of class_label: the names of 0, 1 and so on; appending an unknown name adds
                it.
            chunk_bytes: the size that chunks aim at.
            exist_ok: take a tensor of the same kind that is there.
            info: what the user says of the tensor, a JSON object.
        Raises:
            AlreadyExistsError: there is one of that name.
        """
        spec = {
            "name": name,
            "htype": htype,
            "dtype": _dtype(dtype),
            "shape": None if shape is None else [-1 if axis is None else int(axis) for axis in shape],
            "compression": compression,
            "quality": quality,
            "subsampling": subsampling,
            "class_names": None if class_names is None else list(class_names),
            "chunk_bytes": chunk_bytes,
            "exist_ok": exist_ok,
            "info": None if info is None else dict(info),
        }
        self._source.write(lambda handle: handle.create_tensor(spec), types=True)
        return Tensor(self._source, name)

    def rename_tensor(self, old: str, new: str) -> None:
        """Gives a tensor, or a group of tensors, another name; commit makes it last."""
        self._source.write(lambda handle: handle.rename_tensor(old, new), types=True)

    def delete_tensor(self, name: str) -> None:
        """Deletes a tensor; commit makes it last. Older versions keep it."""
        self._source.write(lambda handle: handle.delete_tensor(name), types=True)

    def append(self, row: Mapping[str, Any]) -> None:
        """Adds one row: a sample for each tensor, None for a hole."""
        if not isinstance(row, Mapping):
            raise InvalidArgumentError(f"append: got {type(row).__name__}, want a dict from tensor names to samples")
        self._source.append({name: [sample] for name, sample in row.items()})

    def extend(self, rows: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> None:
        """Adds rows, all or none of them.

        Args:
            rows: a dict from each tensor name to its samples (an array whose first axis counts the
                rows, or a sequence), or a sequence of rows. The dict is the fast form.
        Raises:
            TensorTypeError: a sample does not suit its tensor; tensor, row, got and wanted are
                named.
            InvalidArgumentError: columns of different length, or not one for every tensor.
        """
        self._source.append(rows if isinstance(rows, Mapping) else _columns(rows))

    def update(self, index: Any, row: Mapping[str, Any]) -> None:
        """Replaces samples.

        Args:
            index: an int; or a slice, ints or a mask, and then `row` has a sequence of samples for
                each tensor.
            row: the tensors to change; others stay as they are.
        """
        picked = _index.parse(index, self._source.length())
        if isinstance(picked, int):
            self._source.update(range(picked, picked + 1), {name: [sample] for name, sample in row.items()})
        else:
            self._source.update(picked, row)

    def delete(self, rows: Any) -> None:
        """Deletes rows, given as an int, a slice, ints or a mask; the rows behind them move up."""
        picked = _index.parse(rows, self._source.length())
        wanted = _index.as_array(range(picked, picked + 1) if isinstance(picked, int) else picked)
        self._source.write(lambda handle: handle.delete_rows(wanted))

    def commit(self, message: str = "") -> Commit:
        """Makes what was written durable and visible, and returns the new version.

        What other writers have committed meanwhile is taken in. With nothing written there is no
        new version.

        Raises:
            ConflictError: another writer changed the same; what was written is still here.
        """
        done = self._source.write(lambda handle: handle.commit(message), types=True)
        self._source.settled()
        return commit_of(done)

    def discard(self) -> None:
        """Drops what was written since the last commit."""
        self._source.handle().discard()
        self._source.settled()

    def refresh(self) -> None:
        """Moves to the newest version, which others may have committed."""
        self._source.handle().refresh()
        self._source.settled()


def _columns(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    listed = list(rows)
    for number, row in enumerate(listed):
        if not isinstance(row, Mapping):
            raise InvalidArgumentError(
                f"extend: row {number} is a {type(row).__name__}, want a dict from tensor names to samples"
            )
    names = dict.fromkeys(name for row in listed for name in row)
    return {name: [row.get(name) for row in listed] for name in names}


def _dtype(dtype: Any) -> str | None:
    """Returns the name of a dtype given as a name, a Python type, or one of NumPy or torch."""
    if dtype is None:
        return None
    if isinstance(dtype, str):
        return str(dtype)
    names = {str: "string", bytes: "bytes", bool: "bool", int: "int64", float: "float64", complex: "complex128"}
    if isinstance(dtype, type) and dtype in names:
        return names[dtype]
    text = str(dtype)
    if text.startswith("torch."):
        return text[len("torch.") :]
    import numpy as np

    try:
        return str(np.dtype(dtype).name)
    except TypeError:
        raise InvalidArgumentError(f"create tensor: dtype is {dtype!r}, want a name or a dtype of NumPy") from None
