"""Cases of numbers: dtypes, labels and annotations, tensors of unequal length, empty datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from cases import BARE, attempt, case, fresh

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]
TIMES = ["datetime64[s]", "datetime64[ns]", "timedelta64[ms]"]


def filled(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Returns random bits as an array, so that every value of a dtype may occur."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "fc":
        return (rng.normal(0, 100, shape) + (1j if kind.kind == "c" else 0)).astype(kind)
    if kind.kind in "mM":
        return rng.integers(0, 2**40, shape).astype("int64").view(kind)
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)


@case
def scalars(root: Path) -> dict[str, dict[str, Any]]:
    """Writes every dtype with fixed, ragged, scalar and absent values, and three compressions."""
    rng = np.random.default_rng(1)
    skipped: dict[str, str] = {}
    with fresh(root, "scalars") as ds:
        for dtype in [*DTYPES, *TIMES]:
            numbers_of(ds, dtype, rng, skipped)
        oddities(ds, skipped)
    return {"scalars": {"skipped": skipped}}


def numbers_of(ds: Any, dtype: str, rng: np.random.Generator, skipped: dict[str, str]) -> None:
    """Writes the four tensors of one dtype."""
    name = dtype.replace("[", "_").rstrip("]")
    shapes: dict[str, list[tuple[int, ...] | None]] = {
        "fixed": [(2, 3)] * 5,
        "ragged": [(2, 3), (1, 4), (0, 3), (3, 1), (3, 1), (2, 0)],
        "scalar": [()] * 4,
        "absent": [(2,), None, (3,), None, None],
    }
    packing = {"ragged": {"chunk_compression": "lz4"}, "absent": {"sample_compression": "lz4"}}
    for kind, rows in shapes.items():
        values = [None if shape is None else filled(rng, dtype, shape) for shape in rows]
        tensor = f"{kind}_{name}"

        def write(tensor: str = tensor, kind: str = kind, values: list[Any] = values) -> None:
            ds.create_tensor(tensor, dtype=dtype, **packing.get(kind, {}), **BARE)
            for value in values:
                ds[tensor].append(value)

        if not attempt(tensor, write, skipped) and tensor in ds.tensors:
            ds.delete_tensor(tensor, large_ok=True)


def oddities(ds: Any, skipped: dict[str, str]) -> None:
    """Writes values whose form the package changes, and tensors with companions."""
    samples: dict[str, list[Any]] = {
        "python_bool": [True, False],
        "python_int": [1, -(2**62)],
        "python_float": [0.5, float("nan"), float("inf")],
        "python_lists": [[1, 2, 3], [4, 5], []],
        "big_endian": [np.arange(4, dtype=">i4"), np.arange(3, dtype=">i4")],
        "fortran": [np.asfortranarray(np.arange(6).reshape(2, 3))],
        "zero_dim": [np.float32(1.5), np.array(2.5, "float32")],
        "five_dims": [np.arange(32, dtype="int16").reshape(2, 2, 2, 2, 2)],
        "late": [None, None, np.arange(3, dtype="float32"), None],
        "none_only": [None, None],
        "long_double": [np.arange(3, dtype="longdouble")],
        "strings": [np.array(["a", "b"])],
    }
    for name, values in samples.items():

        def write(name: str = name, values: list[Any] = values) -> None:
            ds.create_tensor(name)
            for value in values:
                ds[name].append(value)

        if not attempt(name, write, skipped) and name in ds.tensors:
            ds.delete_tensor(name, large_ok=True)
    ds.create_tensor("not_a_time", **BARE)
    ds.not_a_time.append(np.array(["NaT", "2020-02-29"], dtype="datetime64[D]"))
    ds.create_tensor("chunks", dtype="int32", max_chunk_size=4096)
    ds.chunks.extend(np.arange(5000, dtype="int32").reshape(500, 10))
    ds.create_tensor("chunks_lz4", dtype="int32", max_chunk_size=4096, chunk_compression="lz4")
    ds.chunks_lz4.extend(np.arange(5000, dtype="int32").reshape(500, 10) % 97)
    ds.create_tensor("none_lz4", dtype="int32", chunk_compression="lz4", **BARE)
    ds.none_lz4.extend([None, None])


@case
def labels(root: Path) -> dict[str, dict[str, Any]]:
    """Writes labels, boxes, masks, points and groups."""
    rng = np.random.default_rng(2)
    with fresh(root, "labels") as ds:
        ds.info["description"] = "labels of every kind"
        class_labels(ds)
        boxes(ds, rng)
        masks(ds, rng)
        points(ds, rng)
        for name in ["a/b/c", "a/b/d", "a/e"]:
            ds.create_tensor(name, htype="class_label", class_names=["x", "y"])
            ds[name].extend([0, 1, 1])
        ds.create_group("void/inner")
    return {"labels": {}}


def class_labels(ds: Any) -> None:
    """Writes class labels: one a sample, several, given as text, none."""
    ds.create_tensor("label", htype="class_label", class_names=["cat", "dog", "bird"])
    ds.label.extend([0, 1, 2, 0])
    ds.label.append("dog")
    ds.create_tensor("label_set", htype="class_label", class_names=["cat", "dog", "bird"])
    for row in [[0], [1, 2], [], [2, 1, 0], None]:
        ds.label_set.append(row if row is None else np.array(row, "uint32"))
    ds.create_tensor("label_text", htype="class_label")
    # The second extend adds a class to the names.
    ds.label_text.extend(["zebra", "ant", "zebra"])
    ds.label_text.extend([["ant", "bee"], ["bee"]])
    ds.create_tensor("label_lz4", htype="class_label", chunk_compression="lz4")
    ds.label_lz4.extend(np.arange(300, dtype="uint32") % 7)
    ds.create_tensor("instance", htype="instance_label")
    ds.instance.extend([np.arange(n, dtype="uint32") for n in (3, 1, 0, 2)])


def boxes(ds: Any, rng: np.random.Generator) -> None:
    """Writes boxes in two and three dimensions, with and without coordinates."""
    counts = [2, 0, 3, 1]
    kinds = {"pixel": "LTWH", "fractional": "CCWH"}
    for kind, mode in kinds.items():
        name = f"bbox_{kind}"
        ds.create_tensor(name, htype="bbox", coords={"type": kind, "mode": mode})
        ds[name].extend([rng.random((n, 4), dtype="float32") for n in counts])
    ds.create_tensor("bbox_plain", htype="bbox", dtype="float64")
    ds.bbox_plain.extend([rng.random((n, 4)) for n in counts])
    ds.create_tensor("bbox_3d", htype="bbox.3d", coords={"mode": "center"})
    ds.bbox_3d.extend([rng.random((n, 8), dtype="float32") for n in counts])


def masks(ds: Any, rng: np.random.Generator) -> None:
    """Writes masks with each compression that they allow."""
    for name, packing in {"": {}, "_lz4": {"sample_compression": "lz4"}}.items():
        segment = f"segment{name}"
        ds.create_tensor(segment, htype="segment_mask", class_names=["sky", "sea"], **packing)
        ds[segment].extend([rng.integers(0, 3, (h, 9)).astype("uint32") for h in (5, 8, 5)])
        binary = f"binary{name}"
        ds.create_tensor(binary, htype="binary_mask", **packing)
        ds[binary].extend([rng.integers(0, 2, (6, 7, n)).astype(bool) for n in (1, 3, 2)])
    ds.create_tensor("segment_png", htype="segment_mask", dtype="uint8", sample_compression="png")
    ds.segment_png.extend([rng.integers(0, 9, (h, 9)).astype("uint8") for h in (5, 8)])


def points(ds: Any, rng: np.random.Generator) -> None:
    """Writes keypoints, points, polygons, embeddings and camera matrices."""
    keys = {"keypoints": ["nose", "left eye"], "connections": [[0, 1]]}
    ds.create_tensor("keypoints", htype="keypoints_coco", **keys)
    ds.keypoints.extend([rng.integers(0, 99, (6, n)).astype("int32") for n in (1, 2, 0)])
    ds.create_tensor("point", htype="point")
    ds.point.extend([rng.integers(0, 99, (n, 2)).astype("int32") for n in (3, 1)])
    for name, packing in {"": {}, "_lz4": {"chunk_compression": "lz4"}}.items():
        polygon = f"polygon{name}"
        ds.create_tensor(polygon, htype="polygon", **packing)
        sizes = [(3, 4), (5,), (), (3, 3, 7)]
        for row in sizes:
            ds[polygon].append([rng.random((n, 2), dtype="float32") for n in row] or None)
    ds.create_tensor("polygon_3d", htype="polygon", dtype="int32", sample_compression="lz4")
    ds.polygon_3d.append([rng.integers(0, 99, (n, 3)).astype("int32") for n in (3, 5)])
    ds.create_tensor("embedding", htype="embedding")
    ds.embedding.extend(rng.random((10, 16), dtype="float32"))
    ds.create_tensor("intrinsics", htype="intrinsics")
    ds.intrinsics.extend(rng.random((3, 3, 3), dtype="float32"))


@case
def unequal(root: Path) -> dict[str, dict[str, Any]]:
    """Writes tensors of unequal length, and values past the end, which pad a tensor."""
    with fresh(root, "unequal") as ds:
        for name, length in {"long": 10, "short": 4, "none": 0}.items():
            ds.create_tensor(name, dtype="int32")
            ds[name].extend(np.arange(length, dtype="int32"))
        ds.create_tensor("padded", dtype="float32")
        ds.padded.append(np.ones(3, "float32"))
        ds.padded[4] = np.full(2, 4, "float32")
        ds.create_tensor("padded_text", htype="text")
        ds.padded_text.append("first")
        ds.padded_text[3] = "fourth"
        ds.commit("padded", allow_empty=True)
        ds.padded[7] = np.full(2, 7, "float32")
        ds.short.extend(np.arange(2, dtype="int32"))
    return {"unequal": {}}


@case
def empty(root: Path) -> dict[str, dict[str, Any]]:
    """Writes a dataset without tensors, and one of tensors without samples."""
    with fresh(root, "empty"):
        pass
    with fresh(root, "empty_tensors") as ds:
        ds.create_tensor("untyped")
        ds.create_tensor("image", htype="image", sample_compression="jpeg")
        ds.create_tensor("text", htype="text")
        ds.create_tensor("lz4", chunk_compression="lz4")
        ds.create_tensor("frames", htype="sequence[image]", sample_compression="jpeg")
        ds.create_tensor("cleared", dtype="int32")
        ds.cleared.extend([1, 2, 3])
        ds.cleared.clear()
    with fresh(root, "empty_commits") as ds:
        ds.commit("nothing", allow_empty=True)
        ds.commit("nothing again", allow_empty=True)
    return {"empty": {}, "empty_tensors": {}, "empty_commits": {}}
