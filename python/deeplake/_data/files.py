"""The formats of files that the core takes in, by their names."""

from __future__ import annotations

import json
import os
import re
import struct
from itertools import islice
from pathlib import Path

from deeplake._errors import InvalidArgumentError, NotFoundError
from deeplake._files import check_regular
from deeplake._rows.lance import LANCE, is_lance

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
    ".csv": "csv",
    ".tsv": "csv",
    ".mds": "mds",
    ".beton": "ffcv",
    ".tfrecord": "tfrecord",
    ".tfrecords": "tfrecord",
    ".tfrec": "tfrecord",
    ".jsonl": "json",
    ".ndjson": "json",
}
_PACKED = (".gz", ".zst", ".bz2", ".lz4")  # of csv and json files
IMAGES = (".jpg", ".jpeg", ".png", ".webp")
VIDEOS = (".mp4", ".m4v", ".mov", ".mkv", ".webm")
_OTHERS = (*IMAGES, *VIDEOS, ".tar", ".tgz")  # what else an import takes in
ARRAYS = ("npy", "npz", "hdf5", "zarr")  # which NumPy, h5py and zarr read
_ARRAYS = {".npy": "npy", ".npz": "npz", ".h5": "hdf5", ".hdf5": "hdf5", ".he5": "hdf5", ".zarr": "zarr", ".n5": "zarr"}
_BEGIN = {b"\x93NUMPY": "npy", b"\x89HDF\r\n\x1a\n": "hdf5"}  # of a file
_NODES = (".zarray", ".zgroup", ".zmetadata", "zarr.json")  # of a folder of Zarr
FORMATS = ("parquet", "feather", "csv", "json", "tfrecord", "mds", "litdata", "ffcv")
_PART = re.compile(r"-\d{5,}-of-\d{5,}$")  # of the name of a part, as TensorFlow writes it
_CHUNK = re.compile(r"chunk-\d+-\d+(\.[a-z0-9]+(:\d+)?)?\.bin")  # the name of a chunk of LitData
EPISODES = "lerobot"  # a folder with the episodes of robots
_EPISODES = Path("meta", "info.json")  # which it has
_BESIDE = ("meta/episodes", "meta/episodes.jsonl", "meta/tasks.jsonl", "meta/tasks.parquet")
FOLDER4 = "_deeplake_log"  # of a dataset of Deep Lake 4
ANNOTATIONS = ("coco", "yolo", "voc", "kitti", "cvat", "labelstudio")
_LOOK = 1000  # files of a folder that are looked at
_INFO = 64 << 20  # bytes of the metadata of LeRobot


def format_of(path: Path) -> str | None:
    """Returns the format of the files at a path by their names: a file, or all files of a folder
    that have one. None if there is none, and for a folder with images or videos.
    """
    if not path.is_dir():
        return _named(path) or ("ffcv" if _begins_as_ffcv(path) else None)
    if has_episodes(path):
        return EPISODES
    files = list(islice((file for file in path.rglob("*") if _counts(file, path)), _LOOK))
    if any(file.suffix.lower() in _OTHERS for file in files):
        return None
    found = {name for file in files if (name := _named(file)) is not None}
    return found.pop() if len(found) == 1 else None


def core_format(path: str | os.PathLike[str], format: str | None) -> str | None:
    """Returns the format of the files at a path as the core takes it: None leaves it to the core,
    for images and videos, and on a store.

    Args:
        path: a file or a folder.
        format: "images", "videos", "lerobot", one of `ANNOTATIONS` or `FORMATS`; None goes by the
            names.

    Raises:
        NotFoundError: nothing is there.
        InvalidArgumentError: the format is none of these, or the names tell none.
    """
    text = os.fspath(path)
    called = f'ingest "{text}"'
    known = ("images", "videos", EPISODES, *ANNOTATIONS, *FORMATS, *ARRAYS, LANCE)
    if format is not None and format not in known:
        raise InvalidArgumentError(f'{called}: format is "{format}", want one of {", ".join(known)}')
    if "://" in text and not text.startswith("file://"):
        return format
    place = Path(text.removeprefix("file://"))
    if not place.exists():
        raise NotFoundError(f"{called}: there is no such file or folder on this machine")
    check_regular(called, place)
    if format is None and (way := deeplake4_hint(text)):
        raise InvalidArgumentError(f"{called}: {way}")
    found = format or format_of(place)
    if found is None and _has_files(place):
        return None
    if found is None:
        raise InvalidArgumentError(
            f"{called}: its names tell no format, or several; give format=, one of {', '.join((*FORMATS, *ARRAYS))}"
        )
    return found


def deeplake4_hint(path: str) -> str:
    """Returns the way to a dataset of Deep Lake 4 that lies at a path of this machine, or ""."""
    if "://" in path and not path.startswith("file://"):
        return ""
    if not (Path(path.removeprefix("file://")) / FOLDER4).is_dir():
        return ""
    return (
        "Deep Lake 4 wrote the dataset there; copy it by deeplake.ingest(deeplake.deeplake4(path, python=...), uri), "
        'see "Deep Lake 4" in docs/coming-from.md'
    )


def has_episodes(path: Path) -> bool:
    """Returns whether a folder is a dataset of LeRobot, by its metadata.

    They may be damaged, which the core says: its films are no folder of others.
    """
    if not (path / _EPISODES).is_file():
        return False
    try:
        with (path / _EPISODES).open("rb") as file:
            data = file.read(_INFO)
    except OSError:
        return False
    if b'"codebase_version"' in data or any((path / name).exists() for name in _BESIDE):
        return True
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return True
    return False


def array_format(path: str | os.PathLike[str], format: str | None) -> str | None:
    """Returns the format of arrays at a path: "npy", "npz", "hdf5" or "zarr". None for others.

    Args:
        path: a file or a folder; one on a store goes by its name.
        format: of files, as the user gives it; None goes by the name, and by the content.
    """
    if format is not None:
        return format if format in ARRAYS else None
    text = os.fspath(path)
    place = Path(text.removeprefix("file://"))
    found = _ARRAYS.get(place.suffix.lower()) or ("zarr" if text.lower().endswith(".zarr.zip") else None)
    if found is not None or ("://" in text and not text.startswith("file://")):
        return found
    if place.is_dir():
        return "zarr" if any((place / name).is_file() for name in _NODES) else None
    if _named(place) is not None or place.suffix.lower() in _OTHERS or not place.is_file():
        return None
    try:
        with place.open("rb") as file:
            begin = file.read(8)
    except OSError:
        return None  # its reader says why
    return next((format for magic, format in _BEGIN.items() if begin.startswith(magic)), None)


def package_format(source: str, format: str | None) -> str | None:
    """Returns the format of arrays or a table that another package reads; None for others."""
    return LANCE if is_lance(source, format) else array_format(source, format)


def _has_files(path: Path) -> bool:
    """Returns whether one of the first files of a folder is an image, a video or an archive."""
    return any(
        file.suffix.lower() in _OTHERS for file in islice((f for f in path.rglob("*") if _counts(f, path)), _LOOK)
    )


def _begins_as_ffcv(path: Path) -> bool:
    """Returns whether a file has the header of FFCV, which begins with no magic number."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            begin = file.read(24)
        size = path.stat().st_size
    except OSError:
        return False  # its reader says why
    if len(begin) < 24:
        return False
    version, fields, page, _, table = struct.unpack("<HHIQQ", begin)
    is_page: bool = page >= 1 << 21 and page.bit_count() == 1
    return bool(version == 2 and fields > 0 and is_page and 24 + 1041 * fields <= table <= size)


def _named(path: Path) -> str | None:
    name = path.name.lower()
    if name.endswith((".mds.zstd", ".mds.gz", ".mds.bz2", ".mds.br", ".mds.snappy")):
        return "mds"
    if _CHUNK.fullmatch(name):
        return "litdata"
    if (part := _PART.sub("", name)) != name:
        return "tfrecord" if _FORMATS.get(Path(part).suffix) == "tfrecord" else None
    for packed in _PACKED:
        if (plain := name.removesuffix(packed)) != name:
            found = _FORMATS.get(Path(plain).suffix)
            return found if found in ("csv", "json") or (found == "tfrecord" and packed == ".gz") else None
    return _FORMATS.get(Path(name).suffix)


def _counts(file: Path, folder: Path) -> bool:
    """Returns whether a file is no note of a program: those and their folders begin with . or _."""
    return file.is_file() and not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
