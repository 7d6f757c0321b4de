"""The writing half of a dataset: tensors, rows, and the commit that makes both durable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, overload

from deeplake import _index
from deeplake._checks import check_dict, check_text
from deeplake._data.committing import Committing
from deeplake._data.extending import Matched, Unmatched, Upserted, extend, upsert
from deeplake._data.reading import Reading
from deeplake._data.spec import check_names, tensor_spec
from deeplake._errors import InvalidArgumentError
from deeplake._names import checks_keywords
from deeplake._rows.tensor import Tensor
from deeplake._samples.frames import is_column, samples_of
from deeplake._versions.commit import Commit, commit_of


class Writing(Committing):
    """The methods of `Dataset` that write. They need its source alone."""

    __slots__ = ()

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
        """Whether the dataset refuses writes."""
        return self._source.read_only

    @property
    def dirty(self) -> bool:
        """Whether some changes are not committed."""
        return bool(self._source.handle().describe()["dirty"])

    @property
    def info(self) -> Mapping[str, Any]:
        """The user's description of the dataset, a JSON object. Assign another dict to change it,
        then commit.
        """
        return MappingProxyType(self._source.handle().describe()["info"] or {})

    @info.setter
    def info(self, info: Mapping[str, Any]) -> None:
        wanted = check_dict("set info", "info", info)
        self._source.write(lambda handle: handle.set_info(wanted))

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
        add_classes: bool = False,
        chunk_bytes: int | None = None,
        downsample: tuple[int, int] | None = None,
        apply_exif_orientation: bool = False,
        exist_ok: bool = False,
        info: Mapping[str, Any] | None = None,
    ) -> Tensor:
        """Adds a tensor. Existing rows become holes in it.

        Args:
            name: the name; "a/b" lies in group a.
            htype: the meaning of samples: "image", "class_label", "bbox", "text" and others, or
                "sequence[...]" of one. docs/htypes.md lists them.
            dtype: the type of an element: a NumPy name or dtype, "string", "json" or "bytes". None
                takes the htype's own, or that of the first sample.
            shape: the shape of a sample, None for an axis that varies. None allows any shape.
            compression: "none", "lz4" or "zstd"; for numbers also "shuffle", for masks "png", for
                images "jpeg", "png" and "webp". None takes the default of the htype, and for images
                and masks the codec of the first file. docs/htypes.md lists the defaults.
            quality: the quality of "jpeg", 1 to 100.
            subsampling: the chroma subsampling of "jpeg": "4:4:4", "4:2:2" or "4:2:0".
            class_names: the names of classes 0, 1 and so on of a class_label or segment_mask.
                A class_label without them takes names as they come.
            add_classes: let labels by other names add classes to `class_names`. Otherwise such a
                label is an error, and `add_classes()` adds classes.
            chunk_bytes: the size that chunks aim at, in bytes.
            downsample: (factor, layers) of images of uint8 or uint16: each picture is also stored
                smaller by factor, by its square and so on, for viewers. Hidden tensors hold these.
            apply_exif_orientation: turn the images of files as the orientation in their Exif data
                says, in every way of reading; shapes are those of the turned images. The files are
                stored unchanged.
            exist_ok: return an existing tensor of the same kind.
            info: the user's description of the tensor, a JSON object.

        Returns:
            The tensor, which `commit` makes durable.

        Raises:
            AlreadyExistsError: a tensor has that name, and `exist_ok` is False or its kind differs.
            InvalidArgumentError: arguments contradict each other or the htype.

        Example:
            ds.create_tensor("labels", "class_label", class_names=["cat", "dog"])
        """
        given = {
            "htype": htype,
            "dtype": dtype,
            "shape": shape,
            "compression": compression,
            "quality": quality,
            "subsampling": subsampling,
            "class_names": class_names,
            "add_classes": add_classes,
            "chunk_bytes": chunk_bytes,
            "downsample": downsample,
            "apply_exif_orientation": apply_exif_orientation,
            "exist_ok": exist_ok,
            "info": info,
        }
        spec = tensor_spec(name, given)
        self._source.write(lambda handle: handle.create_tensor(spec), types=True)
        return Tensor(self._source, name)

    def rename_tensor(self, old: str, new: str) -> None:
        """Renames a tensor, or a group of tensors.

        Args:
            old: the present name.
            new: the new name.

        Raises:
            NotFoundError: no tensor or group has the old name.
            AlreadyExistsError: a tensor has the new name.
        """
        self._source.write(lambda handle: handle.rename_tensor(old, new), types=True)

    def add_classes(self, tensor: str, classes: Sequence[str]) -> None:
        """Adds classes behind the others.

        Args:
            tensor: the full name of a tensor with class names.
            classes: their names.

        Raises:
            NotFoundError: there is no such tensor.
            InvalidArgumentError: a class exists already.
        """
        self._classes(tensor, {"add": check_names("add classes", "classes", classes)})

    def rename_class(self, tensor: str, old: str, new: str) -> None:
        """Gives a class another name. Labels keep their numbers.

        Args:
            tensor: the full name of a tensor with class names.
            old: the present name of the class.
            new: its new name.

        Raises:
            NotFoundError: there is no such tensor or class.
            InvalidArgumentError: another class has the new name; `merge_classes` joins them.

        Example:
            ds.rename_class("labels", "kat", "cat")
        """
        for what, name in (("old", old), ("new", new)):
            check_text("rename class", what, name)
        self._classes(tensor, {"rename": old, "into": new})

    def merge_classes(self, tensor: str, classes: Sequence[str], into: str) -> None:
        """Gives all labels of some classes one class, and removes the others of these classes.

        The labels of all rows are read, and those whose numbers change are updated. The classes
        behind a removed one get smaller numbers.

        Args:
            tensor: the full name of a tensor with class names.
            classes: the classes to join.
            into: the class that their labels get. If it is new, it takes the place of the first
                of `classes`.

        Raises:
            NotFoundError: there is no such tensor or class.

        Example:
            ds.merge_classes("labels", ["kitten", "tomcat"], "cat")
        """
        check_text("merge classes", "into", into)
        self._classes(tensor, {"merge": check_names("merge classes", "classes", classes), "into": into})

    def remove_class(self, tensor: str, name: str) -> None:
        """Removes a class that no label has. The classes behind it get smaller numbers: the labels
        of all rows are read, and those whose numbers change are updated.

        Args:
            tensor: the full name of a tensor with class names.
            name: the class.

        Raises:
            NotFoundError: there is no such tensor or class.
            InvalidArgumentError: a label has the class.
        """
        check_text("remove class", "name", name)
        self._classes(tensor, {"remove": name})

    def _classes(self, tensor: str, change: dict[str, Any]) -> None:
        self._source.write(lambda handle: handle.change_classes(tensor, change), types=True)

    def delete_tensor(self, name: str) -> None:
        """Deletes a tensor. Older versions keep it.

        Args:
            name: the full name.

        Raises:
            NotFoundError: no tensor has that name.
        """
        self._source.write(lambda handle: handle.delete_tensor(name), types=True)

    def append(self, row: Mapping[str, Any]) -> None:
        """Adds one row.

        Args:
            row: a dict with a sample for each tensor, None for a hole.

        Raises:
            TensorTypeError: a sample does not suit its tensor.

        Example:
            ds.append({"images": deeplake.read("cat.jpg"), "labels": "cat"})
        """
        _check_row("append", row)
        if not row:
            raise InvalidArgumentError("append: the row is empty; give None for tensors without a sample")
        self._source.append({name: [sample] for name, sample in row.items()})

    @overload
    def extend(self, rows: Mapping[str, Any] | Iterable[Mapping[str, Any]] | Any) -> None: ...

    @overload
    def extend(
        self,
        rows: Mapping[str, Any] | Iterable[Mapping[str, Any]] | Any,
        *,
        on: str,
        matched: Matched = "update",
        unmatched: Unmatched = "append",
    ) -> Upserted: ...

    @checks_keywords
    def extend(
        self,
        rows: Mapping[str, Any] | Iterable[Mapping[str, Any]] | Any,
        *,
        on: str | None = None,
        matched: Matched = "update",
        unmatched: Unmatched = "append",
    ) -> Upserted | None:
        """Adds rows, all or none of them.

        Args:
            rows: a dict from each tensor name to its samples, a sequence of rows as dicts, or a
                table of pandas, Arrow or polars. Samples are a sequence, an array of shape
                (rows, ...) or a column of a table. The dict is the fast form.
            on: a tensor of integers or text that identifies rows. A row whose key is in the dataset
                replaces the samples of the tensors that it names. New rows may leave tensors out.
            matched: of a row whose key is in the dataset: "update", "skip" it, or "error".
            unmatched: of a row with a new key: "append", "skip" it, or "error".

        Returns:
            With `on`, the numbers of rows that were updated, appended and skipped.

        Raises:
            TensorTypeError: a sample does not suit its tensor. The message names tensor and row.
            InvalidArgumentError: columns differ in length, or a tensor has no column. Or two rows
                have the same key, in `rows` or in the dataset.

        Example:
            ds.extend({"x": np.zeros((100, 3), np.float32), "labels": [0] * 100})
            ds.extend({"id": [7, 8], "score": [0.5, None]}, on="id")
        """
        if on is not None:
            return upsert(self, rows, on, matched, unmatched)
        if (matched, unmatched) != ("update", "append"):
            raise InvalidArgumentError("extend: matched and unmatched need on=, the tensor that identifies rows")
        extend(self, rows)
        return None

    def update(self, index: Any, row: Mapping[str, Any]) -> None:
        """Replaces samples, all or none of them.

        Args:
            index: an int, a slice, ints or a boolean mask. Negative ints count from the end. Or a
                view of any version of the dataset: its rows, wherever they lie now.
            row: the new sample of each tensor to change; for several rows a sequence of samples, or
                one sample for all. A number fills samples of a fixed shape. None takes a sample
                away. Other tensors keep their samples.

        Raises:
            OutOfRangeError: a row does not exist, or a row of the view was deleted since.
            InvalidArgumentError: the view is of another dataset, or of rows that the present
                version lacks.
            TensorTypeError: a sample does not suit its tensor.

        Example:
            ds.update(ds.query("SELECT * WHERE score > 0.9"), {"labels": "sure"})
        """
        _check_row("update", row)
        if isinstance(index, Reading):
            view = index._source.pinned()
            columns = self._source.spread(self._samples("update", row), view.length())
            self._source.update_rows_of(view, columns)
            return
        picked = _index.parse(index, self._source.length())
        if isinstance(picked, int):
            self._source.update(range(picked, picked + 1), {name: [sample] for name, sample in row.items()})
        else:
            self._source.update(picked, self._source.spread(self._samples("update", row), len(picked)))

    def delete(self, rows: Any) -> None:
        """Deletes rows. Later rows move up.

        Args:
            rows: an int, a slice, ints or a boolean mask. Or a view of any version of the dataset:
                its rows, wherever they lie now. Those that were deleted since stay deleted.

        Raises:
            OutOfRangeError: a row does not exist.
            InvalidArgumentError: the view is of another dataset, or of rows that the present
                version lacks.

        Example:
            ds.delete(ds.filter(lambda row: row["image"] is None))
        """
        if isinstance(rows, Reading):
            self._source.delete_rows_of(rows._source.pinned())
            return
        picked = _index.parse(rows, self._source.length())
        wanted = _index.as_array(range(picked, picked + 1) if isinstance(picked, int) else picked)
        self._source.write(lambda handle: handle.delete_rows(wanted))

    def _samples(self, called: str, columns: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns columns with samples in the place of columns of pandas, Arrow and polars."""
        if not any(map(is_column, columns.values())):
            return columns
        described = {about["name"]: about for about in self._source.handle().describe()["tensors"]}
        return {
            name: samples_of(called, name, values, described.get(name)) if is_column(values) else values
            for name, values in columns.items()
        }


def _check_row(called: str, row: Any) -> None:
    if not isinstance(row, Mapping):
        raise InvalidArgumentError(f"{called}: got {type(row).__name__}, want a dict from tensor names to samples")
