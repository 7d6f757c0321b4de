"""The way back to the file: the source of each row, and folders that are splits."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
import tarfile

import deeplake
import numpy as np
import pytest
from PIL import Image


def cli(*args):
    done = subprocess.run([sys.executable, "-m", "deeplake", *map(str, args)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def photo(seed: int, side: int = 40) -> bytes:
    file = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 255, (side, side, 3), np.uint8)
    Image.fromarray(pixels).save(file, "JPEG")
    return file.getvalue()


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    root = tmp_path_factory.mktemp("photos")
    for i, name in enumerate(("train/cat/0.jpg", "train/dog/a ä.jpg", "train/dog/cut.jpg", "val/cat/0.jpg")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        data = photo(i)
        (root / name).write_bytes(data[: len(data) // 2] if "cut" in name else data)
    with tarfile.open(root / "val" / "0.tar", "w") as tar:
        for name, data in (("7.jpg", photo(9)), ("7.cls", b"dog")):
            info = tarfile.TarInfo(f"some/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return root


FILES = ["train/cat/0.jpg", "train/dog/a ä.jpg", "train/dog/cut.jpg", "val/0.tar/some/7", "val/cat/0.jpg"]


@pytest.fixture(scope="module")
def made(photos, tmp_path_factory):
    uri = tmp_path_factory.mktemp("made") / "set"
    said = cli("create", uri, "--from", photos, "--on-error", "accept")
    assert "saved the splits as views: train 3 rows, val 2 rows" in said
    return uri


def test_rows_name_their_files(made):
    ds = deeplake.open(made)
    assert ds.source() == FILES
    assert ds.source(0) == FILES[0] and ds.source(-1) == FILES[-1]
    assert ds.source([3, 1, 3]) == [FILES[3], FILES[1], FILES[3]]
    assert ds.source(slice(1, 3)) == FILES[1:3] == ds[1:3].source()
    assert ds.source(np.array([True, False, False, False, True])) == [FILES[0], FILES[4]]
    assert ds[1].source == FILES[1] and [row.source for row in ds] == FILES
    assert pickle.loads(pickle.dumps(ds[2:]))[0].source == FILES[2]
    with pytest.raises(deeplake.OutOfRangeError):
        ds.source(5)
    found = ds.query("SELECT *, SOURCE() AS file WHERE SOURCE() LIKE 'val/%' ORDER BY labels DESC")
    assert found["file"][:] == [FILES[3], FILES[4]] == found.source()
    assert ds.query("SELECT COUNT(*) AS n").source() == [None]
    batch = next(iter(ds.batches(2, tensors=["labels"], shuffle=True, return_index=True)))
    assert ds.source(batch["_index"]) == [FILES[i] for i in batch["_index"]]


def test_rows_of_your_own_have_none(made, tmp_path):
    deeplake.copy(made, tmp_path / "copy")
    ds = deeplake.open(tmp_path / "copy")
    assert ds.source() == FILES
    ds.append({"images": np.zeros((4, 4, 3), np.uint8), "labels": "cat"})
    assert ds.source(5) is None and ds.source(0) == FILES[0]
    ds.delete([0])
    assert ds.source() == [*FILES[1:], None]
    ds.commit()
    part = ds.query("SELECT * WHERE labels = 'cat'").materialize(tmp_path / "part")
    assert part.source() == [FILES[4], None]
    with deeplake.create("mem://no-files", overwrite=True) as plain:
        plain.create_tensor("x")
        plain.append({"x": 1})
        assert plain.source() == [None] and plain[0].source is None


@pytest.mark.parametrize("read", ["sample", "row", "array", "query", "computed", "batches", "pytorch", "mix", "skip"])
def test_errors_name_the_file(made, read):
    ds = deeplake.open(made)
    if read == "skip":
        loader = ds.batches(2, on_error="skip")
        assert sum(len(batch["labels"]) for batch in loader) == 4
        (skip,) = loader.stats()["first_skips"]
        assert 'row 2 is from "train/dog/cut.jpg"' in skip["error"]
        return
    with pytest.raises(deeplake.CorruptError, match=r'row 2 is from "train/dog/cut\.jpg"'):
        match read:
            case "sample":
                ds["images"][2]
            case "row":
                ds[1:][1]["images"]
            case "array":
                ds["images"].numpy([0, 2])
            case "query":
                ds.query("SELECT * WHERE images[0, 0, 0] > 255")
            case "computed":
                ds.query("SELECT images[0, 0] AS x WHERE labels = 'dog'")["x"].numpy()
            case "batches":
                list(ds.query("SELECT * WHERE labels = 'dog'").batches(2))
            case "pytorch":
                list(ds.pytorch(2, shuffle=True))
            case "mix":
                list(deeplake.mix([ds[:2], ds[3:], ds[2:3]], weights=[1, 1, 2]).batches(2))


def test_head_shows_them(made):
    lines = cli("head", made, "-n", "2").splitlines()
    assert lines[0].split()[-1] == "source" and lines[1].split()[-1] == FILES[0]
    rows = json.loads(cli("head", made, "--json", "-n", "2"))
    assert [row["_source"] for row in rows] == FILES[:2]


def test_splits(made, photos, tmp_path):
    ds = deeplake.open(made)
    assert ds["labels"].class_names == ["cat", "dog"]
    assert [(view.name, view.rows) for view in ds.views()] == [("train", 3), ("val", 2)]
    val = ds.load_view("val")
    assert val.source() == FILES[3:]
    train, val = ds.split(["train", "val"])
    assert train.source() == FILES[:3] and val.source() == FILES[3:]
    assert [part.source() for part in ds[1:4].split(("val", "train"))] == [FILES[3:4], FILES[1:3]]
    with pytest.raises(deeplake.NotFoundError, match=r'no saved view "trian".*did you mean "train"'):
        ds.split(["trian", "val"])
    ds[:1].save("chosen")
    with pytest.raises(deeplake.InvalidArgumentError, match=r'load_view\("chosen"\)'):
        ds.split(["chosen"])
    report = json.loads(cli("create", tmp_path / "classes", "--from", photos, "--splits", "none", "--json"))
    assert report["splits"] is None and report["classes"] == ["train", "val", "dog"]


def test_hostile_names_do_not_reach_the_terminal(tmp_path):
    name = "a\x1b]0;owned\x07.jpg"
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / name).write_bytes(photo(1))
    cli("create", tmp_path / "set", "--from", tmp_path / "photos")
    assert deeplake.open(tmp_path / "set").source(0) == name
    shown = cli("head", tmp_path / "set")
    assert "owned" in shown and not set("\x1b\x07") & set(shown)
