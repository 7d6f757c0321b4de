"""The samples of datasets as files, for fsspec: deeplake://org/name/images/00000003.jpg."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake._data.dataset import open as open_dataset
from deeplake._errors import NotFoundError, UnsupportedError
from deeplake._lazy import package

if TYPE_CHECKING:
    from deeplake._data.view import Dataset

    AbstractFileSystem = Any  # fsspec has no types
else:
    AbstractFileSystem = package("open files of a dataset", "fsspec.spec", "pip install fsspec").AbstractFileSystem

_SCHEME = "deeplake://"
_NAME = re.compile(r"(\d{8,18})(\.[a-z]+)?")
_IMAGES = {"jpeg": ".jpg", "png": ".png", "webp": ".webp"}
_TEXTS = {"string": ".txt", "json": ".json", "bytes": ".bin"}
_WITHIN = 2  # parts of a path that name the dataset: org/name


class _File(io.BytesIO):
    """The content of a file."""

    @property
    def size(self) -> int:
        return len(self.getbuffer())


class DeeplakeFileSystem(AbstractFileSystem):
    """A read-only file system. A dataset is a folder, with a folder for each tensor and a file for
    each sample: the stored JPEG, PNG or WebP file, `.txt`, `.json` or `.bin`, else a `.npy` file.

    Args:
        uri: a dataset, as in `deeplake.open`: paths are then below it. None takes the dataset from
            each path, deeplake://org/name/...
        at: the version, as in `deeplake.open`.
        storage: settings of the dataset's store.

    Example:
        with fsspec.open("deeplake://me/flowers/images/00000003.jpg") as file:
            picture = PIL.Image.open(file)
        files = fsspec.filesystem("deeplake", uri="s3://bucket/flowers")
        files.get("labels", "./labels", recursive=True)
    """

    protocol = "deeplake"
    root_marker = ""

    def __init__(self, uri: str | None = None, at: Any = None, storage: Any = None, **options: Any) -> None:
        super().__init__(uri=uri, at=at, storage=storage, **options)
        self._uri, self._at, self._storage = uri, at, storage
        self._opened: dict[str, Dataset] = {}

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        return str(path).removeprefix(_SCHEME).strip("/")

    def _dataset(self, path: str) -> tuple[Dataset, str, str]:
        """Returns the dataset of a path, the path of the dataset, and the part below it."""
        parts = path.split("/") if path else []
        if self._uri is not None:
            uri, base, rest = self._uri, "", path
        elif len(parts) < _WITHIN:
            raise FileNotFoundError(f'"{_SCHEME}{path}" is no dataset; want {_SCHEME}org/name/...')
        else:
            base, rest = "/".join(parts[:_WITHIN]), "/".join(parts[_WITHIN:])
            uri = _SCHEME + base
        if uri not in self._opened:
            try:
                self._opened[uri] = open_dataset(uri, at=self._at, read_only=True, storage=self._storage)
            except NotFoundError as err:
                raise FileNotFoundError(str(err)) from err
        return self._opened[uri], base, rest

    def _extension(self, ds: Dataset, name: str) -> str:
        about = ds.schema[name]
        if about["htype"].startswith("sequence["):
            return ""  # lists are no files
        found = _IMAGES.get(about.get("compression", "")) or _TEXTS.get(str(about.get("dtype")))
        return found or ".npy"

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """Lists a folder: tensors of a dataset, or samples of a tensor, without missing ones."""
        path = self._strip_protocol(path)
        ds, base, rest = self._dataset(path)
        begin = f"{base}/" if base else ""
        if rest in ds.tensors:
            return self._samples(ds, begin + rest, rest, detail)
        folder = f"{rest}/" if rest else ""
        below = {name[len(folder) :].split("/")[0] for name in ds.tensors if name.startswith(folder)}
        if not below:
            info = self.info(path)
            return [info] if detail else [info["name"]]
        names = [begin + folder + name for name in sorted(below)]
        return [_folder(name) for name in names] if detail else names

    def _samples(self, ds: Dataset, path: str, name: str, detail: bool) -> list[Any]:
        extension = self._extension(ds, name)
        if not extension:
            return []
        if str(ds.schema[name].get("dtype")).startswith("complex"):
            missing = {row for row in range(len(ds)) if ds[name].bytes(row) is None}  # queries have no such numbers
        else:
            missing = set(ds.query(f'SELECT "{name}" WHERE "{name}" IS NULL').indices.tolist())
        rows = [row for row in range(len(ds)) if row not in missing]
        names = [f"{path}/{row:08d}{extension}" for row in rows]
        if not detail:
            return names
        return [{"name": one, "size": None, "type": "file"} for one in names]

    def _sample(self, path: str) -> bytes:
        """Returns the content of a file."""
        ds, _, rest = self._dataset(path)
        name, _, file = rest.rpartition("/")
        found = _NAME.fullmatch(file)
        if name not in ds.tensors or not found or int(found[1]) >= len(ds):
            raise FileNotFoundError(f'"{path}": there is no such sample; files are named like images/00000003.jpg')
        extension = self._extension(ds, name)
        if (found[2] or extension) != extension or not extension:
            raise FileNotFoundError(f'"{path}": samples of tensor "{name}" end with "{extension}"')
        row = int(found[1])
        if extension != ".npy":
            stored = ds[name].bytes(row)
            if stored is None:
                raise FileNotFoundError(f'"{path}": row {row} has no sample')
            return bytes(stored)
        value = ds[name][row]
        if value is None:
            raise FileNotFoundError(f'"{path}": row {row} has no sample')
        array = np.asarray(value)
        if str(ds.schema[name].get("dtype")) == "bfloat16":
            array = array.astype(np.float32)  # NumPy's files have no bfloat16
        out = io.BytesIO()
        np.save(out, array, allow_pickle=False)
        return out.getvalue()

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Returns name, type and size of a file or folder. The size of a file costs reading it."""
        path = self._strip_protocol(path)
        ds, _base, rest = self._dataset(path)
        if not rest or rest in ds.tensors or any(name.startswith(f"{rest}/") for name in ds.tensors):
            return _folder(path)
        return {"name": path, "size": len(self._sample(path)), "type": "file"}

    def exists(self, path: str, **_: Any) -> bool:
        """Reports whether there is a file or folder. Faults of the store are errors, not False."""
        try:
            self.info(path)
        except FileNotFoundError:
            return False
        return True

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        """Returns the content of a file, or bytes [start, end) of it."""
        return self._sample(self._strip_protocol(path))[start:end]

    def invalidate_cache(self, path: str | None = None) -> None:
        """Opens datasets anew, with the rows that they have then."""
        self._opened.clear()
        super().invalidate_cache(path)

    def _refuse(self, *paths: Any, **_: Any) -> Any:
        raise UnsupportedError(f"write files of a dataset ({paths}): they are read-only; use deeplake.open")

    mkdir = makedirs = rmdir = rm = rm_file = _rm = cp_file = mv = touch = put_file = _refuse

    def _open(self, path: str, mode: str = "rb", **_: Any) -> _File:
        if mode != "rb":
            raise UnsupportedError(f'open "{path}": mode is "{mode}", want "rb"; datasets are written by deeplake.open')
        return _File(self._sample(path))


def _folder(path: str) -> dict[str, Any]:
    return {"name": path, "size": 0, "type": "directory"}
