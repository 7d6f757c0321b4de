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

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / "build" / "bench"
SIDE = 250

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
        """Height, width and channels of every image."""
        return {"photos500x375": (375, 500, 3), "tiny": (112, 112, 3)}.get(self.kind, (SIDE, SIDE, 3))

    @property
    def kind(self) -> str:
        """The name without its quality."""
        return self.name.rpartition("-q")[0]

    @property
    def place(self) -> Path:
        return CACHE / f"{self.name}-{self.count}"

    @property
    def folder(self) -> Path:
        return self.place / "files"

    @property
    def packed(self) -> Path:
        return self.place / "packed"

    @property
    def lake(self) -> Path:
        """Where the dataset of the files is, once `make_lake` has run."""
        return self.place / "lake"

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
        crcs: npt.NDArray[np.uint32] = np.load(self.place / "pixels.npy")
        return crcs

    @property
    def mean_bytes(self) -> float:
        return float(self.extents[:, 1].mean())


def jpegs(name: str, count: int) -> JpegSet:
    """Returns a set, made first where it is not there.

    Args:
        name: "noise-q75" (random pixels, 4:2:0), "photos-q75" or "photos-q90" (crops of photographs), all 250x250;
            "photos500x375-q90" (larger crops) or "tiny-q90" (112x112, 4 kB).
        count: how many images.
    """
    wanted = JpegSet(name, count)
    if not (wanted.place / "pixels.npy").exists():
        say(f"making {count:,} JPEG files, {name}")
        shutil.rmtree(wanted.place, ignore_errors=True)
        _write(wanted)
        _reference(wanted)
    return wanted


def make_lake(files: JpegSet) -> Path:
    """Returns the dataset of a set, made by the command line."""

    def build(place: Path) -> None:
        command = [*deeplake_command(), "create", str(place), f"from-{files.folder}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    return dataset(files.lake, build)


def dataset(place: Path, build: Callable[[Path], None]) -> Path:
    """Returns a dataset, built where it is not there or was written by another build of the library."""
    found = importlib.util.find_spec("deeplake")
    if found is None or found.origin is None:
        raise SystemExit("the package deeplake is not installed; run make build first")
    library = hashlib.sha256((Path(found.origin).parent / "libdeeplake.so").read_bytes()).hexdigest()
    stamp = place.with_name(f"{place.name}.library")
    if not place.exists() or not stamp.exists() or stamp.read_text() != library:
        say(f"writing the dataset {place.relative_to(CACHE)}")
        partly = place.with_name(f"{place.name}.new")
        for stale in (partly, place):
            shutil.rmtree(stale, ignore_errors=True)
        build(partly)
        partly.rename(place)
        stamp.write_text(library)
    return place


def deeplake_command() -> list[str]:
    """Returns the command line of the package in this environment."""
    script = Path(sys.executable).parent / "deeplake"
    if not script.exists():
        raise SystemExit(f"{script.name}: no such command beside {Path(sys.executable).name}; run make build first")
    return [str(script)]


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

    quality = files.name.rpartition("-q")[2]
    images = _noise(files.count) if files.kind == "noise" else _crops(files)
    for number, (label, pixels) in enumerate(images):
        file = files.folder / label / f"{number:06d}.jpg"
        if number < 100:
            file.parent.mkdir(parents=True, exist_ok=True)
        encoded = io.BytesIO()
        # 4:2:0, as Pillow does without being told
        Image.fromarray(pixels).save(encoded, "JPEG", quality=int(quality))
        file.write_bytes(encoded.getbuffer())
    with files.packed.open("wb") as packed:
        for path in files.paths:
            data = path.read_bytes()
            packed.write(struct.pack("<I", len(data)) + data)


def _noise(count: int) -> Iterator[tuple[str, npt.NDArray[np.uint8]]]:
    random = np.random.default_rng(1)
    for number in range(count):
        yield f"class{number % 10}", random.integers(0, 256, (SIDE, SIDE, 3), np.uint8)


def _crops(files: JpegSet) -> Iterator[tuple[str, npt.NDArray[np.uint8]]]:
    random = np.random.default_rng(2)
    height, width, _ = files.shape
    photographs = [(name, photograph(name)) for name in PHOTOGRAPHS]
    photographs = [(name, one) for name, one in photographs if one.shape[0] >= height and one.shape[1] >= width]
    for number in range(files.count):
        name, whole = photographs[number % len(photographs)]
        top = int(random.integers(0, whole.shape[0] - height + 1))
        left = int(random.integers(0, whole.shape[1] - width + 1))
        crop = whole[top : top + height, left : left + width]
        yield name, np.ascontiguousarray(crop[:, ::-1] if random.integers(2) else crop)


def _reference(files: JpegSet) -> None:
    size = math.prod(files.shape)
    loop = subprocess.Popen([str(jpeg_limit()), "-d", "-p", str(files.packed)], stdout=subprocess.PIPE)
    assert loop.stdout is not None
    crcs = [zlib.crc32(loop.stdout.read(size)) for _ in range(files.count)]
    if loop.stdout.read(1) or loop.wait():
        raise SystemExit(f"reference pixels of {files.name}: the bare loop gave another amount of pixels")
    np.save(files.place / "pixels.npy", np.array(crcs, np.uint32))
