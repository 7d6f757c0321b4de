"""Samples of datasets as files of fsspec."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import deeplake
import fsspec
import numpy as np
import pytest
from deeplake._data.file_system import DeeplakeFileSystem
from PIL import Image
from skimage import data

fsspec.register_implementation("deeplake", DeeplakeFileSystem, clobber=True)  # an install has it as an entry point


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> deeplake.Dataset:
    """Three rows in the dataset deeplake://lab/few, of which one has no text."""
    monkeypatch.setenv("DEEPLAKE_ROOTS", f"lab={tmp_path}")
    ds = deeplake.create("deeplake://lab/few")
    ds.create_tensor("images", "image.rgb", compression="png")
    ds.create_tensor("text", "text")
    ds.create_tensor("group/meta", "json")
    ds.create_tensor("group/vector", "embedding", dtype="float32")
    ds.create_tensor("many", "sequence[text]")
    for i in range(3):
        row = {"images": data.coffee()[: 30 + i, :40], "group/meta": {"n": i}, "group/vector": np.full(4, i, "float32")}
        ds.append({**row, "text": None if i == 1 else f"row {i}, \u00e9", "many": ["a", "b"]})
    ds.commit("three")
    return ds


def test_a_dataset_is_a_folder(dataset: deeplake.Dataset) -> None:
    files = fsspec.filesystem("deeplake")
    at = "deeplake://lab/few"
    assert files.ls(at, detail=False) == [f"lab/few/{name}" for name in ("group", "images", "many", "text")]
    assert files.ls(f"{at}/group", detail=False) == ["lab/few/group/meta", "lab/few/group/vector"]
    assert files.ls(f"{at}/text", detail=False) == ["lab/few/text/00000000.txt", "lab/few/text/00000002.txt"]
    assert files.ls(f"{at}/many") == []
    assert files.glob(f"{at}/images/*.png") == [f"lab/few/images/{i:08d}.png" for i in range(3)]
    assert files.isdir(f"{at}/group") and files.isfile(f"{at}/images/00000002.png")
    assert len(files.find(at)) == 3 + 2 + 3 + 3


def test_files_are_the_samples(dataset: deeplake.Dataset, tmp_path: Path) -> None:
    with fsspec.open("deeplake://lab/few/images/00000001.png") as file:
        assert np.array_equal(np.asarray(Image.open(file)), dataset["images"][1])
    files = fsspec.filesystem("deeplake", uri=dataset.uri)
    assert files.cat("images/00000001.png") == dataset["images"].bytes(1)
    assert files.info("images/00000001.png")["size"] == len(dataset["images"].bytes(1))
    assert files.cat_file("text/00000002.txt", 0, 3) == b"row"
    assert files.cat("text/00000002.txt").decode() == dataset["text"][2]
    assert np.array_equal(np.load(io.BytesIO(files.cat("group/vector/00000002.npy"))), np.full(4, 2, "float32"))
    files.get("group", str(tmp_path / "copy"), recursive=True)
    assert (tmp_path / "copy/meta/00000000.json").read_text() == '{"n": 0}'
    again = pickle.loads(pickle.dumps(files))
    assert again.cat("images/00000000.png") == dataset["images"].bytes(0)


def test_versions(dataset: deeplake.Dataset) -> None:
    dataset.update(0, {"text": "new"})
    dataset.commit("changed")
    assert fsspec.filesystem("deeplake", uri=dataset.uri).cat("text/00000000.txt") == b"new"
    assert fsspec.filesystem("deeplake", uri=dataset.uri, at=1).cat("text/00000000.txt") == "row 0, \u00e9".encode()


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("images/00000009.png", "there is no such sample"),
        ("images/00000001.jpg", 'samples of tensor "images" end with ".png"'),
        ("images/x.png", "there is no such sample"),
        ("../few/images/00000001.png", "there is no such sample"),
        ("text/00000001.txt", "row 1 has no sample"),
        ("nothing", "there is no such sample"),
    ],
)
def test_missing_files(dataset: deeplake.Dataset, path: str, told: str) -> None:
    files = fsspec.filesystem("deeplake", uri=dataset.uri)
    with pytest.raises(FileNotFoundError, match=told):
        files.cat_file(path)
    assert not files.exists(path)


def test_faults(dataset: deeplake.Dataset, tmp_path: Path) -> None:
    files = fsspec.filesystem("deeplake", uri=dataset.uri)
    with pytest.raises(deeplake.UnsupportedError, match='mode is "wb", want "rb"'):
        files.open("images/00000001.png", "wb")
    for change in (
        lambda: files.rm("images", recursive=True),
        lambda: files.mkdir("x"),
        lambda: files.cp_file("a", "b"),
    ):
        with pytest.raises(deeplake.UnsupportedError, match="they are read-only"):
            change()
    with pytest.raises(deeplake.Error, match="no storage provider"):
        fsspec.filesystem("deeplake", uri="nothing://x").exists("images")
    with pytest.raises(FileNotFoundError, match="there is no dataset"):
        fsspec.filesystem("deeplake", uri=str(tmp_path / "none")).ls("")
    with pytest.raises(FileNotFoundError, match="is no dataset; want deeplake://org/name"):
        fsspec.filesystem("deeplake").ls("deeplake://lab")


def test_other_numbers(tmp_path: Path) -> None:
    ds = deeplake.create(tmp_path / "numbers")
    ds.create_tensor("c", dtype="complex64")
    ds.create_tensor("b", dtype="bfloat16")
    ds.extend({"c": [1j, None], "b": np.float32([1.5, 2])})
    ds.commit()
    files = fsspec.filesystem("deeplake", uri=ds.uri)
    assert files.ls("c", detail=False) == ["c/00000000.npy"] and len(files.ls("b")) == 2
    assert np.load(io.BytesIO(files.cat("b/00000000.npy"))) == np.float32(1.5)
    assert np.load(io.BytesIO(files.cat("c/00000000.npy"))) == np.complex64(1j)
    with files.open("b/00000001.npy") as file:
        assert file.size == len(file.read())
    assert files.read_block("b/00000001.npy", 0, 6) == b"\x93NUMPY"
    ds.append({"c": 2j, "b": 3})
    ds.commit()
    files.invalidate_cache()
    assert len(files.ls("b")) == 3
