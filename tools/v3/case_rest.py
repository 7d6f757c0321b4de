"""Cases of removed rows, of large items within sequences, and of files that few programs decode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import tifffile
from cases import BARE, attempt, case, fresh
from pictures import crop, saved
from PIL import Image


@case
def removals(root: Path) -> dict[str, dict[str, Any]]:
    """Writes commits that remove rows of all tensors, of one, and without ids of samples."""
    with fresh(root, "removed") as ds:
        for name in ("numbers", "labels"):
            ds.create_tensor(name, dtype="int32", max_chunk_size=400)
        ds.create_tensor("text", htype="text")
        add(ds, range(20))
        ds.commit("twenty rows")
        for row in (17, 4, 0):
            ds.pop(row)
        ds.numbers[5] = np.arange(3, dtype="int32")  # row 7 of the twenty
        add(ds, range(100, 103))
        ds.commit("removed, changed and added")
        ds.text[2] = "changed"
        ds.commit("changed")
        ds.checkout("side", create=True)
        ds.pop(1)
        ds.commit("side: removed another")
        ds.checkout("main")
        for _ in range(5):
            ds.pop(10)
    with fresh(root, "removed_apart") as ds:
        for name in ("numbers", "labels"):
            ds.create_tensor(name, dtype="int32")
        ds.create_tensor("text", htype="text")
        add(ds, range(6))
        ds.commit("six rows")
        ds.numbers.pop(2)
        ds.commit("numbers: one less")
    with fresh(root, "removed_bare") as ds:
        for name in ("numbers", "labels"):
            ds.create_tensor(name, dtype="int32", **BARE)
        ds.create_tensor("text", htype="text", **BARE)
        add(ds, range(6))
        ds.commit("six rows")
        ds.pop(2)
        ds.commit("one less")
    return {"removed": {}, "removed_apart": {}, "removed_bare": {}}


def add(ds: Any, numbers: range) -> None:
    """Appends rows."""
    for i in numbers:
        row = {"numbers": np.full(10, i, "int32"), "labels": np.int32(i % 3), "text": f"row {i}"}
        ds.append(row)


@case
def large_items(root: Path) -> dict[str, dict[str, Any]]:
    """Writes sequences with images in tiles, and others of polygons and links."""
    small = {"tiling_threshold": 16 * 1024, "max_chunk_size": 32 * 1024}
    packings: dict[str, dict[str, Any]] = {
        "raw": {"sample_compression": None, "dtype": "uint8"},
        "png": {"sample_compression": "png"},
        "jpeg": {"sample_compression": "jpeg"},
        "lz4": {"sample_compression": "lz4", "dtype": "uint8"},
    }
    skipped: dict[str, str] = {}
    rows = [[(20, 30)], [(130, 170), (20, 30)], [], [(25, 21), (25, 21), (201, 64), (190, 80)]]
    with fresh(root, "large_items") as ds:
        for name, packing in packings.items():

            def write(name: str = name, packing: dict[str, Any] = packing) -> None:
                ds.create_tensor(name, htype="sequence[image]", **packing, **small)
                for i, shapes in enumerate(rows):
                    ds[name].append([crop(10 * i + k, *size) for k, size in enumerate(shapes)])

            attempt(name, write, skipped)
        nested(ds, skipped)
    return {"large_items": {"skipped": skipped}}


def nested(ds: Any, skipped: dict[str, str]) -> None:
    """Writes sequences of polygons of several dtypes, in chunks of a few."""
    rng = np.random.default_rng(9)
    rows = [[[3, 4], [5]], [], [[6]], [[3], [3], [4, 4, 4]]] * 3
    for dtype, compression in (("float32", None), ("int32", "lz4"), ("float64", None)):

        def write(dtype: str = dtype, compression: str | None = compression) -> None:
            name = f"polygons_{dtype}"
            kind = "sequence[polygon]"
            packing = {"sample_compression": compression, "max_chunk_size": 500}
            ds.create_tensor(name, htype=kind, dtype=dtype, **packing)
            for row in rows:
                shapes = [[(rng.random((n, 2)) * 99).astype(dtype) for n in item] for item in row]
                ds[name].append(shapes)

        attempt(f"polygons of {dtype}", write, skipped)


@case
def rare_files(root: Path) -> dict[str, dict[str, Any]]:
    """Writes TIFF files of unusual kinds, and one among them that Go does not decode."""
    folder = root / "rare_files.files"
    skipped: dict[str, str] = {}
    deep = np.random.default_rng(3).integers(0, 65535, (21, 17, 4)).astype("uint16")
    eight = (deep >> 8).astype("uint8")
    cmyk = {"photometric": "separated"}
    alpha = {"photometric": "rgb", "extrasamples": ["unassalpha"]}
    kinds: dict[str, list[tuple[np.ndarray, dict[str, Any]]]] = {
        "rgb_16": [(deep[..., :3], {"photometric": "rgb"})],
        "rgba_16": [(deep, alpha)],
        "cmyk": [(eight, {**cmyk, "compression": c}) for c in (None, "zlib")],
        "gray_float": [(deep[..., 0].astype("float32") / 7, {}), (np.eye(9, dtype="float32"), {})],
        "gray_int32": [(deep[..., 0].astype("int32") * 30000, {})],
        "tiles": [(np.tile(eight, (3, 4, 1)), {**cmyk, "tile": (16, 16)})],
        "planar": [(np.moveaxis(eight[..., :3], -1, 0), {"photometric": "rgb"})],
        "predictor": [(deep[..., :3], {"photometric": "rgb", "compression": "zlib", "predictor": 2})],
    }
    with fresh(root, "rare_files") as ds:
        for name, files in kinds.items():

            def write(name: str = name, files: Any = files) -> None:
                ds.create_tensor(name, htype="image", sample_compression="tiff")
                for i, (array, options) in enumerate(files):
                    path = folder / f"{name}_{i}.tiff"
                    path.parent.mkdir(exist_ok=True)
                    tifffile.imwrite(path, array, metadata=None, **options)
                    ds[name].append(deeplake.read(str(path)))

            attempt(name, write, skipped)
        attempt("mixed", lambda: mixed(ds, folder), skipped)
        ds.create_tensor("numbers", dtype="int32")
        ds.numbers.extend([1, 2, 3])
    return {"rare_files": {"skipped": skipped}}


def mixed(ds: Any, folder: Path) -> None:
    """Writes three files of one tensor; the one in the middle has JPEG strips."""
    ds.create_tensor("mixed", htype="image", sample_compression="tiff")
    for i, compression in enumerate(("tiff_lzw", "jpeg", None)):
        path = saved(folder, f"mixed_{i}.tiff", b"")
        Image.fromarray(crop(i, 24, 20)).save(path, format="TIFF", compression=compression)
        ds.mixed.append(deeplake.read(path))
