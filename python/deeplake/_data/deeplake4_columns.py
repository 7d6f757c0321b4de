"""The columns of a dataset of Deep Lake 4 as columns of Arrow.

Part of `deeplake4_reader.py`: it runs in the interpreter of that package, and imports nothing of
this one.
"""

from __future__ import annotations

import importlib
import json
from typing import Any, Callable, NamedTuple  # noqa: UP035  (the other package has wheels for 3.9)

_FREE = (1 << 64) - 1  # the size of an axis that varies
_TENSOR = {"ARROW:extension:name": "arrow.variable_shape_tensor", "ARROW:extension:metadata": "{}"}
_NUMBERS = {*(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float16", "float32", "float64"}
_FILES = {"jpeg": "jpeg", "jpg": "jpeg", "png": "png"}


class ReaderError(Exception):
    """A reason to stop: the kind of it, and the text."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class TooLargeError(Exception):
    """A batch has more elements than Arrow's offsets count."""


class Plan(NamedTuple):
    """How a column becomes one of Arrow: its tensor here, and a function that reads rows [a, b)."""

    name: str
    spec: dict[str, Any]
    read: Callable[[int, int], Any]


def metadata_of(of: Any) -> dict[str, Any]:
    found = getattr(of, "metadata", None)
    return {} if found is None else {key: found[key] for key in found.keys()}  # noqa: SIM118


def plain(value: Any) -> Any:
    """Returns a value of the package as JSON has it."""
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise ReaderError("read", f"a value of type {type(value).__name__} is no JSON")


def plan_of(pa: Any, column: Any, definition: Any) -> Plan | str:
    """Returns the plan of a column, or the reason for which it has none."""
    return _Maker(pa, column, definition).plan()


class _Maker:
    """Makes the plan of a column."""

    def __init__(self, pa: Any, column: Any, definition: Any) -> None:
        self.np = importlib.import_module("numpy")
        importlib.import_module("pyarrow.compute")
        self.pa, self.column, self.name = pa, column, definition.name
        kind = definition.dtype
        self.text = " ".join(str(kind).split())
        self.is_nullable = bool(getattr(kind, "is_nullable", False))
        self.is_link = bool(kind.is_link)
        self.dtype = str(kind.id)
        self.shape = [None if axis == _FREE else int(axis) for axis in kind.shape or ()]
        self.codec = getattr(kind, "sample_compression", None)
        self.inner = self.text[len("nullable[") : -1] if self.text.startswith("nullable[") else self.text
        self.axes = len(self.shape)  # of the tensors, until the first rows say otherwise
        self.is_settled = False
        self.info = {key: one for key, one in metadata_of(column).items() if key != "class_names"}

    def plan(self) -> Plan | str:
        """Returns the plan, or the reason for which there is none."""
        found = self._found()
        if isinstance(found, str):
            return found
        spec, read = found
        if self.info:
            spec = {**spec, "info": plain(self.info)}
        return Plan(self.name, spec, read)

    def _found(self) -> tuple[dict[str, Any], Callable[[int, int], Any]] | str:
        inner, dtype = self.inner, self.dtype
        if ": " in dtype:  # a struct, whose text lists its fields
            return {"htype": "json"}, self.documents
        if self.is_link or inner.startswith("kind=link"):
            return "links that may be missing are not readable" if self.is_nullable else ({"htype": "text"}, self.texts)
        if inner.startswith("sequence["):
            return self._sequence(inner[len("sequence[") :])
        if inner.startswith("text"):
            return {"htype": "text"}, self.texts
        if inner == "bytes" or inner.startswith(("kind=audio", "medical", "mesh")):
            if self.is_nullable and inner != "bytes":
                return "its package gives no bytes of files that may be missing"
            return {"dtype": "bytes"}, self.blobs
        if inner == "dict":
            return {"htype": "json"}, self.documents
        if inner.startswith("kind="):
            return self._annotations(inner[len("kind=") :].split(",")[0])
        if inner == "polygon":
            return {"htype": "polygon"}, self.polygons
        if inner == "point":
            return {"htype": "point", "dtype": dtype}, self.tensors
        if dtype not in _NUMBERS and dtype != "bool":
            return f"its type {self.text} has no counterpart"
        if inner.startswith("embedding") and len(self.shape) == 1 and self.shape[0]:
            return {"htype": "embedding", "dtype": dtype}, self.vectors
        return {"dtype": dtype}, self.tensors if inner.startswith(("array", "embedding")) else self.numbers

    def _annotations(self, kind: str) -> tuple[dict[str, Any], Callable[[int, int], Any]] | str:
        """Returns how pictures, masks, boxes and labels are read."""
        file = None if self.is_nullable else _FILES.get(self.codec or "")
        if kind == "image" and file:
            return {"htype": "image", "dtype": self.dtype, "compression": file}, self.files
        if kind == "image":
            # Its package decodes pictures that may be missing: PNG keeps the pixels.
            compression = {"compression": "png"} if self.codec else {}
            return {"htype": "image", "dtype": self.dtype, **compression}, self.tensors
        if kind == "smask" and file == "png":
            return {"htype": "segment_mask", "dtype": self.dtype, "compression": file}, self.files
        if kind in ("smask", "bmask"):
            return {"htype": "segment_mask" if kind == "smask" else "binary_mask", "dtype": self.dtype}, self.tensors
        if kind == "video":
            return "its package gives no files of videos"
        if kind == "bbox":
            self.axes = 2
            return {"htype": "bbox", "dtype": self.dtype}, self.tensors
        return self._labels() if kind == "class_label" else f"its type {self.text} has no counterpart"

    def _sequence(self, item: str) -> tuple[dict[str, Any], Callable[[int, int], Any]] | str:
        file = None if self.is_nullable else _FILES.get(self.codec or "")
        if item.startswith("kind=image") and file:
            return {"htype": "sequence[image]", "dtype": self.dtype, "compression": file}, self.file_lists
        if self.axes == 1 and (self.dtype in _NUMBERS or self.dtype == "bool"):
            return {"dtype": self.dtype}, self.tensors
        return "sequences of this type are not readable"

    def _labels(self) -> tuple[dict[str, Any], Callable[[int, int], Any]]:
        given = metadata_of(self.column).get("class_names")
        names = [str(name) for name in given] if isinstance(given, (list, tuple)) else []
        spec: dict[str, Any] = {"htype": "class_label", **({"class_names": names} if names else {})}
        if self.dtype == "text":
            return {**spec, "add_classes": True} if names else spec, self.texts
        read = self.label_lists if self.axes else self.numbers

        def named(a: int, b: int) -> Any:
            array, metadata = read(a, b)
            return (self._named(array, names) if names else array), metadata

        return spec, named

    def _named(self, array: Any, names: list[str]) -> Any:
        """Returns numbers of classes with their names: other datasets may number them otherwise."""
        pa = self.pa
        is_list = pa.types.is_list(array.type)
        numbers = array.values if is_list else array
        wrong = [one for one in pa.compute.min_max(numbers).as_py().values() if one is not None]
        wrong = [one for one in wrong if not 0 <= one < len(names)]
        if wrong:
            raise ReaderError(
                "read", f'column "{self.name}": class {wrong[0]} has no name; there are {len(names)} names'
            )
        coded = pa.DictionaryArray.from_arrays(numbers, pa.array(names, pa.string()))
        if not is_list:
            return coded
        nulls = array.is_null() if array.null_count else None
        return pa.ListArray.from_arrays(pa.array(array.offsets.to_numpy(), pa.int32()), coded, mask=nulls)

    def _bytes(self, a: int, b: int) -> list[Any]:
        """Returns the stored bytes of rows, None where a row has none.

        The package refuses ranges that hold rows from before the column: they are halved.
        """
        try:
            found = self.column.get_bytes(slice(a, b))
        except RuntimeError:
            if b - a > 1:
                half = (a + b) // 2
                return self._bytes(a, half) + self._bytes(half, b)
            if self.column[a] is not None:
                raise
            return [None]
        return list(found)

    def _values(self, a: int, b: int) -> Any:
        return self.column[a:b]

    def files(self, a: int, b: int) -> Any:
        """Reads encoded files, byte for byte. A file without bytes is a missing one."""
        return self.pa.array([one or None for one in self._bytes(a, b)], self.pa.large_binary()), None

    def file_lists(self, a: int, b: int) -> Any:
        """Reads lists of encoded files, row by row: the package joins the lists of a range."""
        rows: list[Any] = []
        for row in range(a, b):
            value = self.column[row]
            # `get_bytes` refuses an empty list.
            rows.append(None if value is None else self.column.get_bytes(row) if len(value) else [])
        return self.pa.array(rows, self.pa.list_(self.pa.binary())), None

    def texts(self, a: int, b: int) -> Any:
        """Reads texts. The package gives None for an empty text, but its bytes."""
        found = self._values(a, b) if self.is_nullable else self._bytes(a, b)
        found = [one.decode() if isinstance(one, bytes) else one for one in found]
        return self.pa.array(found, self.pa.large_string()), None

    def blobs(self, a: int, b: int) -> Any:
        """Reads bytes."""
        found = self._values(a, b) if self.is_nullable else self._bytes(a, b)
        return self.pa.array(list(found), self.pa.large_binary()), None

    def documents(self, a: int, b: int) -> Any:
        """Reads JSON: the stored text where the package gives it."""
        if self.inner == "dict" and not self.is_nullable:
            found = [one.decode() if one else None for one in self._bytes(a, b)]
        else:
            found = [None if one is None else json.dumps(plain(one)) for one in self._values(a, b)]
        return self.pa.array(found, self.pa.large_string()), None

    def numbers(self, a: int, b: int) -> Any:
        """Reads numbers and bools."""
        found, np = self._values(a, b), self.np
        if isinstance(found, np.ndarray) and found.dtype == self.dtype:
            return self.pa.array(found.reshape(-1)), None
        mask = np.array([one is None for one in found])
        filled = np.array([0 if one is None else np.asarray(one).item() for one in found], self.dtype)
        return self.pa.array(filled, mask=mask), None

    def vectors(self, a: int, b: int) -> Any:
        """Reads vectors of one length."""
        found, np, size = self._values(a, b), self.np, self.shape[0]
        mask = None
        if not isinstance(found, np.ndarray):
            mask = self.pa.array([one is None for one in found])
            found = np.stack([np.zeros(size, self.dtype) if one is None else one for one in found])
        flat = self.pa.array(found.astype(self.dtype, copy=False).reshape(-1))
        return self.pa.FixedSizeListArray.from_arrays(flat, size, mask=mask), None

    def _arrays(self, found: Any) -> list[Any]:
        return [None if one is None else self.np.asarray(one).astype(self.dtype, copy=False) for one in found]

    def _flat(self, arrays: list[Any]) -> tuple[Any, Any]:
        """Returns the elements of all arrays, and the offsets of each."""
        np = self.np
        sizes = [0 if one is None else one.size for one in arrays]
        offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        if offsets[-1] > (1 << 31) - 1:
            raise TooLargeError
        parts = [one.reshape(-1) for one in arrays if one is not None and one.size]
        flat = np.concatenate(parts) if parts else np.zeros(0, self.dtype)
        return self.pa.array(flat), self.pa.array(offsets.astype(np.int32))

    def _shaped(self, row: int, one: Any) -> Any:
        """Returns an array with the axes of the column: pictures and masks may lack the last."""
        if one is None or one.ndim == self.axes:
            return one
        if one.size == 0:
            return one.reshape((0,) * self.axes)
        if self.inner.startswith(("kind=image", "kind=smask", "kind=bmask")):
            if one.ndim < self.axes:
                return one.reshape(one.shape + (1,) * (self.axes - one.ndim))
            if all(axis == 1 for axis in one.shape[self.axes :]):
                return one.reshape(one.shape[: self.axes])
        if self.inner.startswith("kind=bbox") and one.ndim == 1:
            return one.reshape(1, -1)
        raise ReaderError("read", f'column "{self.name}": row {row} has {one.ndim} axes, and others {self.axes}')

    def tensors(self, a: int, b: int) -> Any:
        """Reads arrays of any shape as Arrow's tensors. The first rows decide the axes."""
        pa, np = self.pa, self.np
        arrays = self._arrays(self._values(a, b))
        if not self.is_settled:
            seen = [one.ndim for one in arrays if one is not None and one.size]
            if seen and not self.inner.startswith(("kind=bbox", "kind=image")):
                self.axes = max(seen)
            self.is_settled = bool(seen)
        arrays = [self._shaped(a + at, one) for at, one in enumerate(arrays)]
        flat, offsets = self._flat(arrays)
        sizes = np.array([(0,) * self.axes if one is None else one.shape for one in arrays], np.int32)
        shapes = pa.FixedSizeListArray.from_arrays(pa.array(sizes.reshape(-1)), self.axes)
        kind = pa.struct([("data", pa.list_(flat.type)), ("shape", shapes.type)])
        mask = pa.array([one is None for one in arrays])
        data = pa.ListArray.from_arrays(offsets, flat)
        struct = pa.StructArray.from_arrays([data, shapes], fields=list(kind), mask=mask)
        return struct, _TENSOR

    def label_lists(self, a: int, b: int) -> Any:
        """Reads lists of numbers."""
        arrays = self._arrays(self._values(a, b))
        flat, offsets = self._flat(arrays)
        mask = self.pa.array([one is None for one in arrays])
        return self.pa.ListArray.from_arrays(offsets, flat, mask=mask if mask.true_count else None), None

    def polygons(self, a: int, b: int) -> Any:
        """Reads lists of polygons: a row is a list of arrays, or one array of polygons alike."""
        pa, np = self.pa, self.np
        rows = list(self._values(a, b))
        parts = [part for row in rows if row is not None for part in row]
        counts = [0 if row is None else len(row) for row in rows]
        arrays = self._arrays(parts)
        flat, _ = self._flat(arrays)
        points = [one.shape[1] for one in arrays for _ in range(one.shape[0])]
        inner = pa.ListArray.from_arrays(_offsets(pa, np, points), flat)
        middle = pa.ListArray.from_arrays(_offsets(pa, np, [one.shape[0] for one in arrays]), inner)
        mask = pa.array([row is None for row in rows])
        return pa.ListArray.from_arrays(
            _offsets(pa, np, counts), middle, mask=mask if mask.true_count else None), None  # fmt: skip


def _offsets(pa: Any, np: Any, counts: list[int]) -> Any:
    return pa.array(np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int32))
