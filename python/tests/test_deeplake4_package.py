"""A dataset of Deep Lake 4, read by the published package, which is installed here in an environment of its own.

tools/v4/write.py made the archive: the dataset, and the values that the package reads of it.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest

pytestmark = pytest.mark.slow
ARCHIVE = Path(__file__).with_name("deeplake4.tar.gz")
LOCK = Path(__file__).parents[2] / "tools/v4/v4.txt"
FILES = {"jpeg", "png", "png16", "segments_png", "late_jpeg"}
TEXTS = {"text", "link", "late_text"}
LEFT_OUT = {"int128"}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Installs the package: 115 MB of wheels, three seconds. `make test` has installed uv."""
    place = tmp_path_factory.mktemp("v4") / "venv"
    uv = Path(sys.executable).with_name("uv")
    for command in (
        [uv, "venv", "-q", "--no-project", place],
        [uv, "pip", "install", "-q", "--python", place / "bin/python", "--require-hashes", "-r", LOCK],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"the package of Deep Lake 4 cannot be installed: {done.stderr[-500:]}"
    return str(place / "bin/python")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("archive")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(root, filter="data")
    return root / "kinds"


def value_of(given: dict[str, Any]) -> Any:
    """Returns a value that the package has read."""
    if "data" in given:
        return np.frombuffer(base64.b64decode(given["data"]), given["dtype"]).reshape(given["shape"])
    if "bytes" in given:
        return base64.b64decode(given["bytes"])
    if "items" in given:
        return [value_of(one) for one in given["items"]]
    return given["json"] if "json" in given else given.get("value")


def same(name: str, got: Any, read: Any, stored: Any) -> bool:
    """Returns whether a sample is the one of the package."""
    if name in TEXTS:
        return got == (None if stored is None else stored.decode())
    if name in ("bytes", "medical"):
        return got == stored
    if name == "dict":
        return got == json.loads(stored)
    if read is None or got is None:
        return got is read
    if "polygons" in name or name == "sequence_jpeg":
        return len(got) == len(read) and all(np.array_equal(a, b) for a, b in zip(got, read, strict=True))
    if not isinstance(read, np.ndarray):
        return got == read
    wants = {"box": (1, 4)}.get(name, read.shape)
    if name == "sequence" and read.size == 0:
        return got.size == 0
    if name == "segments_mixed" and read.ndim == 2:
        wants = (*read.shape, 1)
    return np.array_equal(got, read.reshape(wants)) and (got.dtype == read.dtype or "label" in name or name == "number")


def test_each_sample_is_that_of_the_package(python: str, place: Path, tmp_path: Path) -> None:
    want = json.loads((place.parent / "kinds.json").read_text())
    ds = deeplake.ingest(deeplake.deeplake4(place, python=python), tmp_path / "ds", verbose=False)
    assert len(ds) == want["rows"] == 6
    assert set(ds.tensors) == set(want["columns"]) - LEFT_OUT
    wrong = []
    for name in ds.tensors:
        for row, sample in enumerate(want["columns"][name]["samples"]):
            read = None if "error" in sample["read"] else value_of(sample["read"])
            stored = None if "error" in sample["stored"] else value_of(sample["stored"])
            if name in FILES:  # byte for byte
                if (ds["late_jpeg"][row] is None) if stored is None else (ds[name].bytes(row) == stored):
                    continue
            elif same(name, ds[name][row], read, stored):
                continue
            wrong.append(f"{name}[{row}]: {ds[name][row]!r:.100}, want {read!r:.100} or {stored!r:.100}")
    assert wrong == []
    assert ds.info["source"] == "tools/v4" and ds["int8"].info == {"unit": "m"}
    about = ds.info["deeplake4"]
    assert about["version"] == want["version"] and set(about["left_out"]) == LEFT_OUT
    htypes = {name: spec["htype"] for name, spec in ds.schema.items()}
    assert htypes["jpeg"] == "image" and htypes["embedding"] == "embedding" and htypes["boxes"] == "bbox"
    assert htypes["polygons"] == "polygon" and htypes["struct"] == "json" and htypes["binary"] == "binary_mask"
    assert ds["label"].class_names == ["cat", "dog", "fox"]
    ds.close()


def test_versions_columns_and_more_rows(python: str, place: Path, tmp_path: Path) -> None:
    def rows(**options: Any) -> deeplake.Deeplake4:
        return deeplake.deeplake4(place, python=python, **options)

    ds = deeplake.ingest(rows(at="first"), tmp_path / "ds", columns=["jpeg", "label"], verbose=False)
    assert len(ds) == 3 and list(ds.tensors) == ["jpeg", "label"]
    ds.extend(rows(at="side", columns=["label", "jpeg"]))
    ds.commit()
    assert len(ds) == 12 and ds["label"].numpy().tolist() == [0, 2, 1] * 4
    others = deeplake.create(
        "mem://deeplake4",
        schema={"label": {"htype": "class_label", "class_names": ["fox", "dog"], "add_classes": True}},
    )
    others.extend(rows(columns=["label"]))
    assert others["label"].class_names == ["fox", "dog", "cat"] and others["label"].numpy().tolist()[:3] == [2, 0, 1]
    others.discard()
    with pytest.raises(deeplake.NotFoundError, match="no tag, branch or version 'nothing'"):
        deeplake.ingest(rows(at="nothing"), tmp_path / "none", verbose=False)
    with pytest.raises(deeplake.InvalidArgumentError, match='no column "images"; it has "int8"'):
        deeplake.ingest(rows(), tmp_path / "none", columns=["images"], verbose=False)
    with pytest.raises(deeplake.NotFoundError, match="Dataset does not exist"):
        deeplake.ingest(deeplake.deeplake4(tmp_path, python=python), tmp_path / "none", verbose=False)
    assert not (tmp_path / "none").exists()
