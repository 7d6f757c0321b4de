"""Cases of pictures: every format that the package writes, chunks that are pictures, tiles."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
from cases import BARE, attempt, case, fresh
from pictures import crop, encoded, saved
from PIL import Image

# What Pillow calls a format where that is not its name in deeplake, and the modes it can hold.
FORMATS = {
    "bmp": ("BMP", ["RGB", "L", "P", "1"]),
    "dib": ("DIB", ["RGB", "L"]),
    "gif": ("GIF", ["P", "L", "RGB"]),
    "ico": ("ICO", ["RGBA", "RGB"]),
    "im": ("IM", ["RGB", "L", "I;16"]),
    "jpeg": ("JPEG", ["RGB", "L", "CMYK"]),
    "jpeg2000": ("JPEG2000", ["RGB", "L", "RGBA"]),
    "msp": ("MSP", ["1"]),
    "pcx": ("PCX", ["RGB", "L", "P"]),
    "png": ("PNG", ["RGB", "L", "RGBA", "LA", "P", "1", "I;16"]),
    "ppm": ("PPM", ["RGB", "L", "1"]),
    "sgi": ("SGI", ["RGB", "L", "RGBA"]),
    "tga": ("TGA", ["RGB", "L", "RGBA"]),
    "tiff": ("TIFF", ["RGB", "L", "RGBA", "I;16", "F", "CMYK", "P", "1"]),
    "webp": ("WEBP", ["RGB", "RGBA"]),
    "xbm": ("XBM", ["1"]),
}


RAW: dict[str, Any] = {"sample_compression": None, "dtype": "uint8"}


def in_mode(array: np.ndarray, mode: str) -> np.ndarray:
    """Returns a picture in a mode that Image.convert does not reach from RGB."""
    gray = np.asarray(Image.fromarray(array).convert("L"))
    if mode == "I;16":
        return gray.astype("uint16") * 257 - np.arange(gray.shape[1], dtype="uint16")
    return gray.astype("float32") / 255


def file_of(number: int, kind: str, mode: str) -> bytes:
    """Returns a small photograph as a file of a format and a mode."""
    height, width = 40 + number, 56 - number
    array = crop(number, height, width)
    if mode in ("I;16", "F"):
        return encoded(in_mode(array, mode), FORMATS[kind][0])
    return encoded(array, FORMATS[kind][0], mode)


@case
def images(root: Path) -> dict[str, dict[str, Any]]:
    """Writes pictures from files and from arrays in every format, and chunks that are pictures."""
    skipped: dict[str, str] = {}
    folder = root / "images.files"
    with fresh(root, "images") as ds:
        for kind in FORMATS:
            from_files(ds, kind, folder, skipped)
            from_arrays(ds, kind, skipped)
        jpeg_files(ds, folder)
        other_files(ds, folder, skipped)
        whole_chunks(ds)
        uncompressed(ds)
        deep(ds, skipped)
    return {"images": {"skipped": skipped}}


def drop(ds: Any, name: str) -> None:
    """Deletes a tensor that holds nothing."""
    if name in ds.tensors and not len(ds[name]):
        ds.delete_tensor(name, large_ok=True)


def from_files(ds: Any, kind: str, folder: Path, skipped: dict[str, str]) -> None:
    """Writes a tensor a mode from files of the format of its own compression."""
    for mode in FORMATS[kind][1]:
        name = f"file_{kind}_{mode.replace(';', '')}"

        def write(name: str = name, mode: str = mode) -> None:
            data = [file_of(number, kind, mode) for number in range(2)]
            paths = [saved(folder, f"{name}_{i}.{kind}", file) for i, file in enumerate(data)]
            ds.create_tensor(name, htype="image", sample_compression=kind, **BARE)
            for path in paths:
                ds[name].append(deeplake.read(path))

        attempt(name, write, skipped)
        drop(ds, name)


def from_arrays(ds: Any, kind: str, skipped: dict[str, str]) -> None:
    """Writes tensors from arrays of three axes, of four channels, and of two axes."""
    rgb = [crop(20 + i, 33 + i, 47) for i in range(2)]
    alpha = [np.dstack([a, 255 - a[..., :1]]) for a in rgb]
    gray = [a[..., 0].copy() for a in rgb]
    for suffix, arrays in {"rgb": rgb, "rgba": alpha, "gray": gray}.items():
        name = f"array_{kind}_{suffix}"

        def write(name: str = name, arrays: list[np.ndarray] = arrays) -> None:
            ds.create_tensor(name, htype="image", sample_compression=kind, **BARE)
            for array in arrays:
                ds[name].append(array)

        attempt(name, write, skipped)
        drop(ds, name)


def turned(array: np.ndarray) -> bytes:
    """Returns a JPEG whose EXIF says that it lies on its side."""
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010F] = "maker"
    return encoded(array, "JPEG", exif=exif)


def jpeg_files(ds: Any, folder: Path) -> None:
    """Writes a tensor of JPEG files of every kind, with all companions, and absent samples."""
    array = crop(5, 64, 80)
    files = {
        "plain": encoded(array, "JPEG", quality=90),
        "progressive": encoded(array, "JPEG", progressive=True),
        "no_subsampling": encoded(array, "JPEG", subsampling=0),
        "turned": turned(array),
        "odd": encoded(crop(6, 61, 67), "JPEG"),
    }
    ds.create_tensor("photos", htype="image", sample_compression="jpeg", downsampling=(2, 2))
    for name, data in files.items():
        ds.photos.append(deeplake.read(saved(folder, f"photos_{name}.jpg", data)))
    ds.photos.append(None)
    ds.photos.append(crop(7, 50, 40))
    # A file of another format is decoded and encoded again.
    ds.photos.append(deeplake.read(saved(folder, "photos.png", encoded(array, "PNG"))))
    ds.create_tensor("mixed_axes", htype="image", sample_compression="jpeg")
    ds.mixed_axes.append(array)
    ds.mixed_axes.append(np.ascontiguousarray(array[..., 0]))
    ds.mixed_axes.append(array[..., :1])


def other_files(ds: Any, folder: Path, skipped: dict[str, str]) -> None:
    """Writes files whose reading is a matter of convention: animations, lossless WebP, MPO."""
    frames = [Image.fromarray(crop(i, 24, 32)) for i in range(3)]
    moving = {"gif": "GIF", "webp": "WEBP", "png": "PNG", "tiff": "TIFF", "mpo": "MPO"}
    for kind, pillow in moving.items():
        name = f"animated_{kind}"

        def write(name: str = name, kind: str = kind, pillow: str = pillow) -> None:
            out = io.BytesIO()
            frames[0].save(out, format=pillow, save_all=True, append_images=frames[1:])
            path = saved(folder, f"{name}.{kind}", out.getvalue())
            ds.create_tensor(name, htype="image", sample_compression=kind, **BARE)
            ds[name].append(deeplake.read(path))

        attempt(name, write, skipped)
        drop(ds, name)
    ds.create_tensor("webp_lossless", htype="image", sample_compression="webp")
    file = encoded(crop(3, 30, 40), "WEBP", lossless=True)
    ds.webp_lossless.append(deeplake.read(saved(folder, "lossless.webp", file)))


def whole_chunks(ds: Any) -> None:
    """Writes chunks that are one picture each, several a tensor."""
    shapes = [(30, 40), (44, 20), (17, 33), (30, 40), (25, 25), (44, 20)]
    for kind in ["png", "jpeg", "bmp", "webp"]:
        name = f"chunk_{kind}"
        ds.create_tensor(name, htype="image", chunk_compression=kind, max_chunk_size=20_000)
        for i, shape in enumerate(shapes):
            ds[name].append(crop(30 + i, *shape))
        ds[name].append(None)
        ds[name].append(crop(40, 31, 29))
    ds.create_tensor("chunk_png_gray", htype="image.gray", chunk_compression="png")
    for i, shape in enumerate(shapes):
        ds.chunk_png_gray.append(crop(50 + i, *shape)[..., 0].copy())


def uncompressed(ds: Any) -> None:
    """Writes raw pictures and pictures under lz4, ragged and with absent ones."""
    packings: dict[str, dict[str, Any]] = {
        "raw": {"sample_compression": None},
        "lz4": {"sample_compression": "lz4"},
        "chunk_lz4": {"chunk_compression": "lz4"},
    }
    for name, packing in packings.items():
        ds.create_tensor(name, htype="image", dtype="uint8", **packing)
        for i in range(3):
            ds[name].append(crop(60 + i, 20 + i, 30))
        ds[name].append(None)
        ds[name].append(crop(63, 9, 12))
    ds.create_tensor("rgb", htype="image.rgb", sample_compression="png")
    ds.create_tensor("gray", htype="image.gray", sample_compression="jpeg")
    for i in range(2):
        ds.rgb.append(crop(70 + i, 24, 24))
        # The package converts colours to gray, and gray to colours.
        ds.gray.append(crop(70 + i, 24, 24))
    ds.rgb.append(crop(72, 24, 24)[..., 0].copy())


def deep(ds: Any, skipped: dict[str, str]) -> None:
    """Writes arrays of sixteen bits and of truth values into formats that may hold them."""
    gray = in_mode(crop(75, 20, 30), "I;16")
    for kind in ["png", "tiff", "jpeg2000"]:
        for suffix, array in {"uint16": gray, "bool": gray > 30_000}.items():
            name = f"deep_{kind}_{suffix}"

            def write(name: str = name, kind: str = kind, array: np.ndarray = array) -> None:
                ds.create_tensor(name, htype="image", sample_compression=kind, **BARE)
                ds[name].append(array)

            attempt(name, write, skipped)
            drop(ds, name)


@case
def tiled(root: Path) -> dict[str, dict[str, Any]]:
    """Writes samples larger than a small tiling threshold, with several compressions."""
    small = {"tiling_threshold": 16 * 1024, "max_chunk_size": 32 * 1024}
    packings: dict[str, dict[str, Any]] = {
        "raw": {"sample_compression": None, "dtype": "uint8"},
        "png": {"sample_compression": "png"},
        "jpeg": {"sample_compression": "jpeg"},
        "chunk_png": {"chunk_compression": "png"},
        "lz4": {"sample_compression": "lz4", "dtype": "uint8"},
        "chunk_lz4": {"chunk_compression": "lz4", "dtype": "uint8"},
    }
    with fresh(root, "tiled") as ds:
        for name, packing in packings.items():
            ds.create_tensor(name, htype="image", **packing, **small)
            for i, shape in enumerate([(20, 30), (130, 170), (25, 21), (201, 64), (10, 10)]):
                ds[name].append(crop(80 + i, *shape))
        declared(ds, small)
        arrays(ds, small)
    return {"tiled": {}}


def declared(ds: Any, small: dict[str, int]) -> None:
    """Writes samples whose tiles are declared, and only in part written."""
    for name in ["declared", "declared_png"]:
        packing = {**RAW, "sample_compression": "png"} if name == "declared_png" else RAW
        ds.create_tensor(name, htype="image", **packing, **small)
        ds[name].append(deeplake.tiled(sample_shape=(103, 110, 3), tile_shape=(40, 30, 3)))
        ds[name][0][-50:, :60, 1:] = crop(90, 50, 60)[..., 1:]
        ds[name].append(crop(91, 12, 12))


def arrays(ds: Any, small: dict[str, int]) -> None:
    """Writes large generic arrays, an update inside one, and a replacement."""
    rng = np.random.default_rng(3)
    for name, packing in {"generic": {}, "generic_lz4": {"chunk_compression": "lz4"}}.items():
        ds.create_tensor(name, dtype="float64", **packing, **small)
        ds[name].append(rng.random((4, 5)))
        ds[name].append(rng.random((90, 70)))
        ds[name].append(rng.random((7, 1500)))
        ds[name].append(rng.random((3, 3)))
        ds[name][1][10:30, 5:60] = np.zeros((20, 55))
        ds[name][2] = rng.random((60, 80))
    ds.create_tensor("cube", dtype="int16", **small)
    ds.cube.append(rng.integers(-999, 999, (30, 40, 21)).astype("int16"))
    ds.create_tensor("untiled", dtype="int16", tiling_threshold=-1, max_chunk_size=32 * 1024)
    ds.untiled.append(rng.integers(-999, 999, (30, 40, 21)).astype("int16"))
