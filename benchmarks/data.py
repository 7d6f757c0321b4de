"""The data that is measured on: made once, the same on every machine, kept under build/bench.

JPEG sets lie as a folder of class folders, and once more as one packed file in the order of the sorted paths (which is
the order that `deeplake create` takes): little-endian uint32 size, bytes, and so on. `pixels.npy` has the CRC-32 of the
pixels of each image as a bare loop over the system's libjpeg-turbo decodes them.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import math
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / "build" / "bench"
SIDE = 250
MIXED = "imagenet-like"

# Photographs that the packages ship; nothing is downloaded.
PHOTOGRAPHS = {
    "astronaut": "skimage/data/astronaut.png",
    "chelsea": "skimage/data/chelsea.png",
    "coffee": "skimage/data/coffee.png",
    "hubble": "skimage/data/hubble_deep_field.jpg",
    "motorcycle": "skimage/data/motorcycle_left.png",
    "retina": "skimage/data/retina.jpg",
    "rocket": "skimage/data/rocket.jpg",
    "tissue": "skimage/data/ihc.png",
    "china": "sklearn/datasets/images/china.jpg",
    "flower": "sklearn/datasets/images/flower.jpg",
}


def photograph(name: str) -> npt.NDArray[np.uint8]:
    """Returns one of PHOTOGRAPHS as an array (height, width, 3)."""
    from PIL import Image

    package, _, rest = PHOTOGRAPHS[name].partition("/")
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f'photograph "{name}": the package {package} is not installed; run make build first')
    with Image.open(Path(found.submodule_search_locations[0]) / rest) as image:
        return np.asarray(image.convert("RGB"))


@dataclass(frozen=True)
class JpegSet:
    """A set of JPEG files."""

    name: str
    count: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of every image.

        Raises:
            ValueError: the images have several sizes.
        """
        if self.kind == MIXED:
            raise ValueError(f"{self.name}: the images have several sizes; use `shapes`")
        return {"photos500x375": (375, 500, 3), "tiny": (112, 112, 3)}.get(self.kind, (SIDE, SIDE, 3))

    @cached_property
    def shapes(self) -> npt.NDArray[np.int64]:
        """Height, width and channels of each image, shape (count, 3)."""
        if self.kind != MIXED:
            return np.broadcast_to(np.array(self.shape, np.int64), (self.count, 3))
        from PIL import Image

        found = np.empty((self.count, 3), np.int64)
        for row, path in enumerate(self.paths):
            with Image.open(path) as image:
                found[row] = image.height, image.width, 3
        return found

    @property
    def kind(self) -> str:
        """The name without its quality."""
        return self.name.partition("-q")[0]

    @property
    def root(self) -> Path:
        return CACHE / f"{self.name}-{self.count}"

    @property
    def folder(self) -> Path:
        return self.root / "files"

    @property
    def packed(self) -> Path:
        return self.root / "packed"

    @property
    def lake(self) -> Path:
        """Where the dataset of the files is, once `make_lake` has run."""
        return self.root / "lake"

    @cached_property
    def paths(self) -> list[Path]:
        return sorted(self.folder.glob("*/*.jpg"))

    @cached_property
    def labels(self) -> list[int]:
        names = sorted({path.parent.name for path in self.paths})
        return [names.index(path.parent.name) for path in self.paths]

    @cached_property
    def extents(self) -> npt.NDArray[np.int64]:
        """Place and size of each file in the packed one, shape (count, 2)."""
        sizes = np.array([path.stat().st_size for path in self.paths], np.int64)
        starts = np.cumsum(sizes + 4) - sizes
        return np.stack([starts, sizes], axis=1)

    @cached_property
    def pixels(self) -> npt.NDArray[np.uint32]:
        crcs: npt.NDArray[np.uint32] = np.load(self.root / "pixels.npy")
        return crcs

    @property
    def mean_bytes(self) -> float:
        return float(self.extents[:, 1].mean())


def jpegs(name: str, count: int) -> JpegSet:
    """Returns a set, made first where it is not there.

    Args:
        name: "noise-q75" (random pixels, 4:2:0), "photos-q75" or "photos-q90" (crops of photographs), all 250x250;
            "photos500x375-q90" (larger crops), "tiny-q90" (112x112, 4 kB), or "imagenet-like" (crops of many
            sizes and qualities, 110 kB in the mean, one in twenty progressive).
        count: how many images.
    """
    wanted = JpegSet(name, count)
    if not (wanted.root / "pixels.npy").exists():
        say(f"making {count:,} JPEG files, {name}")
        shutil.rmtree(wanted.root, ignore_errors=True)
        _write(wanted)
        _reference(wanted)
    return wanted


def make_lake(files: JpegSet) -> Path:
    """Returns the dataset of a set, made by the command line."""

    def build(folder: Path) -> None:
        command = [*deeplake_command(), "create", str(folder), f"from-{files.folder}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    return dataset(files.lake, build)


def dataset(folder: Path, build: Callable[[Path], None]) -> Path:
    """Returns a dataset, built where it is not there or was written by another build of the library."""
    found = importlib.util.find_spec("deeplake")
    if found is None or found.origin is None:
        raise SystemExit("the package deeplake is not installed; run make build first")
    library = hashlib.sha256((Path(found.origin).parent / "libdeeplake.so").read_bytes()).hexdigest()
    stamp = folder.with_name(f"{folder.name}.library")
    if not folder.exists() or not stamp.exists() or stamp.read_text() != library:
        say(f"writing the dataset {folder.relative_to(CACHE)}")
        partly = folder.with_name(f"{folder.name}.new")
        for stale in (partly, folder):
            shutil.rmtree(stale, ignore_errors=True)
        build(partly)
        partly.rename(folder)
        stamp.write_text(library)
    return folder


def deeplake_command() -> list[str]:
    """Returns the command line of the package that this process imports, which PYTHONPATH may name."""
    return [sys.executable, "-m", "deeplake"]


def program(name: str, *libraries: str) -> Path:
    """Returns a C program of this folder, compiled where it is older than its source."""
    source, binary = HERE / f"{name}.c", CACHE / "bin" / name
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        binary.parent.mkdir(parents=True, exist_ok=True)
        libraries = tuple(f"-l{library}" for library in libraries)
        subprocess.run(["cc", "-O2", "-o", str(binary), str(source), *libraries, "-lpthread"], check=True)
    return binary


def jpeg_limit() -> Path:
    """Returns the bare loop over libjpeg-turbo."""
    return program("jpeg_limit", "jpeg")


def arrays(count: int) -> npt.NDArray[np.uint8]:
    """Returns distinct noise arrays, shape (count, 1024, 1024, 3)."""
    return np.random.default_rng(0).integers(0, 256, (count, 1024, 1024, 3), np.uint8)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _write(files: JpegSet) -> None:
    from PIL import Image

    images = {"noise": _noise, MIXED: _mixed}.get(files.kind, _crops)(files)
    for number, (label, pixels, options) in enumerate(images):
        file = files.folder / label / f"{number:06d}.jpg"
        if number < 100:
            file.parent.mkdir(parents=True, exist_ok=True)
        encoded = io.BytesIO()
        Image.fromarray(pixels).save(encoded, "JPEG", **options)
        file.write_bytes(encoded.getbuffer())
    with files.packed.open("wb") as packed:
        for path in files.paths:
            data = path.read_bytes()
            packed.write(struct.pack("<I", len(data)) + data)


Sample = tuple[str, npt.NDArray[np.uint8], dict[str, Any]]  # label, pixels, options of Pillow's writer


def _options(files: JpegSet) -> dict[str, Any]:
    """Returns the quality of the name. Pillow's default subsampling is 4:2:0."""
    return {"quality": int(files.name.rpartition("-q")[2])}


def _noise(files: JpegSet) -> Iterator[Sample]:
    random = np.random.default_rng(1)
    for number in range(files.count):
        yield f"class{number % 10}", random.integers(0, 256, (SIDE, SIDE, 3), np.uint8), _options(files)


def _crops(files: JpegSet) -> Iterator[Sample]:
    random = np.random.default_rng(2)
    height, width, _ = files.shape
    photographs = [(name, photograph(name)) for name in PHOTOGRAPHS]
    photographs = [(name, one) for name, one in photographs if one.shape[0] >= height and one.shape[1] >= width]
    for number in range(files.count):
        name, whole = photographs[number % len(photographs)]
        yield name, _crop(random, whole, height, width), _options(files)


def _mixed(files: JpegSet) -> Iterator[Sample]:
    """Yields crops with the sizes of ImageNet's files: most are 500 pixels long, and one in three varies."""
    random = np.random.default_rng(4)
    photographs = [(name, photograph(name)) for name in PHOTOGRAPHS]
    for number in range(files.count):
        long, short = 500, int(random.choice([333, 375, 375, 375, 400]))
        if random.random() < 0.33:
            long = int(np.clip(500 * math.exp(random.normal(0, 0.5)), 120, 1400))
            short = round(long * random.choice([0.56, 0.67, 0.75, 1.0]))
        height, width = (long, short) if random.random() < 0.25 else (short, long)
        fitting = [(name, one) for name, one in photographs if one.shape[0] >= height and one.shape[1] >= width]
        name, whole = fitting[number % len(fitting)]
        quality = int(random.choice([90, 96, 98, 98]))
        options = {"quality": quality, "progressive": bool(random.random() < 0.05)}
        if quality == 98:
            options["subsampling"] = "4:4:4"
        yield name, _crop(random, whole, height, width), options


def _crop(random: np.random.Generator, whole: npt.NDArray[np.uint8], height: int, width: int) -> npt.NDArray[np.uint8]:
    """Returns a random part of a photograph, mirrored half of the time."""
    top = int(random.integers(0, whole.shape[0] - height + 1))
    left = int(random.integers(0, whole.shape[1] - width + 1))
    crop = whole[top : top + height, left : left + width]
    return np.ascontiguousarray(crop[:, ::-1] if random.integers(2) else crop)


def _reference(files: JpegSet) -> None:
    loop = subprocess.Popen([str(jpeg_limit()), "-d", "-p", str(files.packed)], stdout=subprocess.PIPE)
    assert loop.stdout is not None
    sizes = np.prod(files.shapes, axis=1).tolist()
    crcs = [zlib.crc32(loop.stdout.read(size)) for size in sizes]
    if loop.stdout.read(1) or loop.wait():
        raise SystemExit(f"reference pixels of {files.name}: the bare loop gave another amount of pixels")
    np.save(files.root / "pixels.npy", np.array(crcs, np.uint32))
