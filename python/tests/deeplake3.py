"""Compares datasets of Deep Lake 3 with the values that its own package read (tools/v3)."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deeplake
import numpy as np

TESTDATA = Path(__file__).parents[2] / "core/v3/testdata"
ARCHIVES = [TESTDATA / "deeplake3.tar.gz", TESTDATA / "rest.tar.gz"]
# Files that stay bytes here: the values of the package come from decoders of its own.
DECODED = {None, "lz4", "jpeg", "png", "webp", "bmp", "gif", "tiff"}
LOSSY = {"jpeg", "webp"}


def index_of(folder: Path) -> Any:
    """Returns the expected values of a dataset."""
    return json.loads((folder / "index.json").read_text())


def array_of(folder: Path, value: dict[str, Any]) -> np.ndarray:
    """Returns an expected array."""
    if "npy" in value:
        return np.load(folder / value["npy"], allow_pickle=False)
    data = base64.b64decode(value["data"])
    return np.frombuffer(data, value["dtype"]).reshape(value["shape"])


def plain(value: Any) -> Any:
    """Returns an expected JSON value as it is stored here: NaN and infinite numbers are null."""
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict) and "__array__" in value:  # stays the JSON that is stored
        array = value["__array__"]
        marked = {"_hub_custom_type": "ndarray", "data": array["data"]}
        return {**marked, "shape": array["shape"], "dtype": array["dtype"]}
    if isinstance(value, dict) and "__bytes__" in value:
        return {"_hub_custom_type": "bytes", "data": value["__bytes__"]}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def same_array(got: Any, want: np.ndarray, lossy: bool) -> bool:
    """Returns whether an array is the expected one. Images here always have three axes."""
    got = np.asarray(got, want.dtype if isinstance(got, list) else None)  # a list: from JSON
    if want.dtype.kind in "Mm" and want.dtype != got.dtype:
        want = want.view(np.int64)
    if got.ndim == want.ndim + 1 and got.shape[-1] == 1:  # an image of two axes
        got = got[..., 0]
    if got.ndim + 1 == want.ndim and want.shape[-1] == 1:  # a mask of three axes, as a PNG file
        want = want[..., 0]
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if lossy and want.size:
        difference = np.abs(got.astype(np.int64) - want.astype(np.int64))
        return float(difference.mean()) < 1.0 and int(difference.max()) <= 24
    return np.array_equal(got, want, equal_nan=want.dtype.kind in "fcMm")


def same(folder: Path, got: Any, want: dict[str, Any], lossy: bool) -> bool:
    """Returns whether a sample is the expected one. A sample without values may be missing."""
    if "text" in want:
        return got == want["text"] or (got is None and want["text"] == "")
    if "json" in want or "list" in want:
        value = plain(want.get("json", want.get("list")))
        if value == [None]:  # an empty list of tags
            value = []
        return got == value or (got is None and value in ({}, [], None))
    if "items" in want:
        items = [] if got is None else list(got)
        pairs = zip(items, want["items"], strict=False)
        return len(items) == len(want["items"]) and all(same(folder, a, b, lossy) for a, b in pairs)
    if "link" in want and isinstance(got, list) and any(isinstance(item, np.ndarray) for item in got):
        return "error" in want["value"] or same(folder, got, want["value"], lossy)
    if "link" in want and not isinstance(got, np.ndarray):
        return got == want["link"] or (not got and not want["link"])
    if "link" in want:
        return "error" in want["value"] or same(folder, got, want["value"], lossy)
    array = array_of(folder, want)
    if got is None:
        return array.size == 0
    return same_array(got, array, lossy)


def differences(ds: deeplake.Dataset, folder: Path, version: dict[str, Any]) -> Iterator[str]:
    """Yields each difference between a version and what the package read of it."""
    visible = [tensor for tensor in version["tensors"] if not tensor["hidden"]]
    if sorted(ds.tensors) != sorted(tensor["name"] for tensor in visible):
        yield f"tensors {sorted(ds.tensors)}"
        return
    for tensor in visible:
        codec = tensor["sample_compression"] or tensor["chunk_compression"]
        for row, want in enumerate(tensor.get("samples", [])):
            if "error" in want:
                continue
            try:
                got = ds[tensor["name"]][row]
            except deeplake.Error as error:
                yield f"{tensor['name']}[{row}]: {str(error)[:200]}"
                continue
            if codec not in DECODED and not tensor["is_link"]:
                stored = b"" if got is None else bytes(got)
                if hashlib.sha256(stored).hexdigest() != want.get("sha256"):
                    yield f"{tensor['name']}[{row}]: {len(stored)} bytes, want {want.get('bytes')}"
                continue
            if not same(folder, got, want, codec in LOSSY):
                yield f"{tensor['name']}[{row}] ({tensor['htype']}, {codec}): got {got!r:.150}, want {want!r:.150}"
