"""Cases of text and of sequences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deeplake
import numpy as np
from cases import BARE, attempt, case, fresh
from pictures import crop, encoded, saved

TEXTS = ["plain", "", "Zürich · 東京 · 🎈", "line\nline\ttab\0nul", None, "x" * 500, '"quoted" \\']
JSONS: list[Any] = [
    {"a": 1, "b": [1, 2.5, None, True], "c": {"d": "é"}},
    {"not": float("nan"), "up": float("inf"), "down": float("-inf"), "big": 2**70},
    {},
    None,
    [1, [2, [3]]],
    {"array": np.arange(6, dtype="int16").reshape(2, 3), "bytes": b"\x00\xff"},
    "a string",
    17,
]
LISTS: list[Any] = [[1, 2, 3], [], ["a", 2.5, None, {"b": [1]}], None, [[1], [2, 3]]]
TAGS: list[Any] = [["cat", "dog"], "single", [], None, ["é", ""]]
PACKINGS: dict[str, dict[str, str]] = {
    "": {},
    "_sample": {"sample_compression": "lz4"},
    "_chunk": {"chunk_compression": "lz4"},
}


@case
def texts(root: Path) -> dict[str, dict[str, Any]]:
    """Writes text, json, lists and tags with each compression, one at a time and in bulk."""
    skipped: dict[str, str] = {}
    kinds = {"text": TEXTS, "json": JSONS, "list": LISTS, "tag": TAGS}
    with fresh(root, "texts") as ds:
        for suffix, packing in PACKINGS.items():
            for kind, samples in kinds.items():
                one_by_one(ds, f"{kind}{suffix}", kind, packing, samples, skipped)
            ds.create_tensor(f"bulk{suffix}", htype="text", max_chunk_size=2000, **packing)
            ds[f"bulk{suffix}"].extend([f"line {i} " * (i % 7) for i in range(200)])
        ds.text[0] = "changed, and longer than it was"
        ds.json[1] = {"changed": [None]}
        ds.list[2] = ["changed"]
        ds.create_tensor("schema", htype="json", dtype="Dict[str, int]")
        ds.schema.extend([{"a": 1}, {"b": 2}])
        ds.create_tensor("late", htype="text")
        ds.late.extend([None, None, "third", None])
    return {"texts": {"skipped": skipped}}


def one_by_one(
    ds: Any,
    name: str,
    kind: str,
    packing: dict[str, str],
    samples: list[Any],
    skipped: dict[str, str],
) -> None:
    """Appends samples to a new tensor; a refused one leaves no trace."""
    ds.create_tensor(name, htype=kind, **packing)
    for i, sample in enumerate(samples):
        attempt(f"{name}[{i}]", lambda sample=sample: ds[name].append(sample), skipped)


@case
def sequences(root: Path) -> dict[str, dict[str, Any]]:
    """Writes sequences of pictures, numbers and text, also empty ones."""
    skipped: dict[str, str] = {}
    rng = np.random.default_rng(4)
    folder = root / "sequences.files"
    files = [saved(folder, f"{i}.jpg", encoded(crop(i, 30, 40), "JPEG")) for i in range(3)]
    with fresh(root, "sequences") as ds:
        ds.create_tensor("frames", htype="sequence[image]", sample_compression="jpeg")
        ds.frames.append([crop(i, 24, 32) for i in range(3)])
        ds.frames.append([deeplake.read(file) for file in files])
        ds.frames.append([])
        ds.frames.append([crop(5 + i, 20 + i, 30) for i in range(2)])
        raw = {"sample_compression": None, "dtype": "uint8", "max_chunk_size": 8192}
        ds.create_tensor("frames_raw", htype="sequence[image]", **raw)
        ds.frames_raw.extend([[crop(i + j, 20, 24) for j in range(4)] for i in range(5)])
        numbers(ds, rng)
        words(ds, skipped)
        updates(ds, rng)
    return {"sequences": {"skipped": skipped}}


def numbers(ds: Any, rng: np.random.Generator) -> None:
    """Writes sequences of labels, boxes and arrays."""
    lengths = [3, 1, 0, 2]
    names = {"class_names": ["a", "b", "c"]}
    ds.create_tensor("labels", htype="sequence[class_label]", **names)
    ds.labels.extend([list(range(n)) for n in lengths])
    ds.create_tensor("label_sets", htype="sequence[class_label]", **names)
    ds.label_sets.append([np.array([0, 1], "uint32"), np.array([2], "uint32")])
    ds.create_tensor("boxes", htype="sequence[bbox]", coords={"type": "pixel", "mode": "LTRB"})
    ds.boxes.extend([[rng.random((2 + i, 4), dtype="float32") for i in range(n)] for n in lengths])
    for suffix, packing in PACKINGS.items():
        name = f"arrays{suffix}"
        ds.create_tensor(name, htype="sequence", dtype="int16", **packing, **BARE)
        ds[name].extend([[np.arange(i + 1, dtype="int16") for i in range(n)] for n in lengths])
    ds.create_tensor("only_empty", htype="sequence", dtype="int16")
    ds.only_empty.append([])
    ds.only_empty.append([])


def words(ds: Any, skipped: dict[str, str]) -> None:
    """Writes sequences of text, json, tags and polygons, as far as the package allows them."""
    square = np.array([[0, 0], [4, 0], [4, 4], [0, 4]], "float32")
    samples = {
        "text": [["a", "bc", ""], [], ["d"]],
        "json": [[{"a": 1}, {}], [{"b": [2]}]],
        "tag": [[["a", "b"], ["c"]], [["d"]]],
        "polygon": [[[square, square + 1], [square]], [[square]]],
    }
    for kind, rows in samples.items():
        name = f"many_{kind}"

        def write(name: str = name, kind: str = kind, rows: list[Any] = rows) -> None:
            ds.create_tensor(name, htype=f"sequence[{kind}]")
            for row in rows:
                ds[name].append(row)

        attempt(name, write, skipped)


def updates(ds: Any, rng: np.random.Generator) -> None:
    """Writes over sequences: all items of one, one item of another; then takes one away."""
    ds.create_tensor("updated", htype="sequence", dtype="int32")
    ds.updated.extend([[rng.integers(0, 9, 2).astype("int32") for _ in range(3)] for _ in range(5)])
    ds.updated[1] = [np.array([7, 7, 7], "int32")] * 3
    ds.updated[3, 1] = np.array([8], "int32")
    ds.updated.pop(0)
