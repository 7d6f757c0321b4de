"""Exports to Zarr as the package zarr reads them, and back in by an import."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest
import zarr
from conftest import encoded, picture
from test_export_formats import CLASSES, NUMBERS, number, same

pytestmark = [
    pytest.mark.skipif(int(zarr.__version__.partition(".")[0]) < 3, reason="zarr 2 does not read format 3"),
    pytest.mark.filterwarnings("ignore:The data type"),
]
ROWS = 23
SPECS: dict[str, dict[str, Any]] = {
    "image": {"htype": "image"},  # JPEG files of one shape
    "art": {"htype": "image.gray", "dtype": "uint8"},  # arrays
    "photo": {"htype": "image"},  # JPEG files of several shapes
    "label": {"htype": "class_label", "class_names": CLASSES, "info": {"source": "hand"}},
    "mask": {"htype": "binary_mask"},
    "text": {"htype": "text"},
    "meta": {"htype": "json"},
    "raw": {"dtype": "bytes"},
    "flag": {"dtype": "bool"},
    "wave": {"dtype": "complex64"},
    "when": {"dtype": "timestamp[us]"},
    "day": {"dtype": "date"},
    "took": {"dtype": "interval[ms]"},
    "vector": {"htype": "embedding", "dtype": "float32"},
    "half": {"dtype": "bfloat16"},
    "none": {"dtype": "int16"},  # without elements
    "tags": {"htype": "sequence[text]"},
    **{f"n/{name}": {"dtype": name} for name in NUMBERS},
}
FIXED = [name for name in SPECS if name not in ("photo", "raw", "text", "meta", "tags", "half")]


def rows(name: str) -> deeplake.Dataset:
    """Returns rows with a value in each tensor."""
    ds = deeplake.create(f"mem://zarr-{name}", overwrite=True)
    for tensor, spec in SPECS.items():
        ds.create_tensor(tensor, **spec)
    rng = np.random.default_rng(3)
    for i in range(ROWS):
        ds.append(
            {
                "image": deeplake.read(encoded(picture(i, 20, 30), "JPEG")),
                "art": rng.integers(0, 256, (5, 6, 1), np.uint8),
                "photo": deeplake.read(encoded(picture(i, 20 + i % 3, 30), "JPEG")),
                "label": i % 3,
                "mask": rng.integers(0, 2, (4, 7)).astype(bool),
                "text": f"té\n{i}" if i else "",
                "meta": {"a": [i, None, "é"]},
                "raw": bytes([255, i]) * i,
                "flag": i % 2 == 0,
                "wave": np.complex64(i - 2j),
                "when": np.datetime64("2026-01-02T03:04:05.678901", "us") + i,
                "day": np.datetime64("2026-01-02", "D") + i,
                "took": np.timedelta64(i * 7 - 9, "ms"),
                "vector": rng.random(5, dtype=np.float32),
                "half": np.float32(i) / 2,
                "none": np.zeros((2, 0), np.int16),
                "tags": ["x", "é"][: i % 3],
                **{f"n/{dtype}": number(dtype, i) for dtype in NUMBERS},
            }
        )
    ds.commit()
    return ds


def check(group: Any, ds: Any) -> None:
    """Compares all arrays with the rows."""
    for name in FIXED:
        want = np.stack([np.asarray(ds[name][i]) for i in range(len(ds))])
        same(group[name][:], want, name, want.dtype)
    assert group["text"][:].tolist() == [ds["text"][i] for i in range(len(ds))]
    assert [json.loads(text) for text in group["meta"][:]] == [ds["meta"][i] for i in range(len(ds))]
    assert [json.loads(text) for text in group["tags"][:]] == [list(ds["tags"][i]) for i in range(len(ds))]
    assert list(group["raw"][:]) == [bytes(ds["raw"][i]) for i in range(len(ds))]
    assert list(group["photo"][:]) == ds["photo"].bytes(range(len(ds)))
    same(group["half"][:], [np.float32(ds["half"][i]) for i in range(len(ds))], "half", np.float32)


@pytest.mark.parametrize("shard", [None, 5000])
def test_values(tmp_path: Path, shard: int | None) -> None:
    ds = rows("values")
    report = ds.export(tmp_path / "out", format="zarr", shard_bytes=shard)
    assert report.rows == ROWS and set(report.notes) == {"photo", "half", "tags"}
    group = zarr.open_group(str(tmp_path / "out"), mode="r")
    check(group, ds)
    assert dict(group["label"].attrs) == {"htype": "class_label", "class_names": CLASSES, "source": "hand"}
    assert isinstance(group["n"], zarr.Group) and group["n/int8"].dtype == "int8"
    assert group["image"].chunks[1:] == (20, 30, 3) and (group["image"].nchunks > 4) == (shard is not None)
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(files) == report.files and sum(path.stat().st_size for path in files) == report.bytes
    view = ds[[5, 3, 3, 21]]
    view.export(tmp_path / "some", format="zarr", tensors=[*SPECS])
    check(zarr.open_group(str(tmp_path / "some"), mode="r"), view)


def test_back_in(tmp_path: Path) -> None:
    """An import has the tensors, their names of classes and all values."""
    ds = rows("back")
    ds.export(tmp_path / "out.zarr", format="zarr", shard_bytes=5000)
    back = deeplake.ingest(tmp_path / "out.zarr", "mem://zarr-came-back", overwrite=True, verbose=False)
    assert set(back.tensors) == set(SPECS) and len(back) == ROWS
    for name in SPECS:
        if name not in ("tags", "half", "none"):
            assert (back[name].htype, back[name].dtype) == (ds[name].htype, ds[name].dtype), name
        for i in range(ROWS):
            if name == "tags":
                assert json.loads(back[name][i]) == list(ds[name][i])
            elif name in ("text", "meta", "raw"):
                assert back[name][i] == ds[name][i], name
            else:
                want = np.asarray(ds[name][i])
                same(back[name][i], want.astype(np.float32) if name == "half" else want, name)
    assert back["photo"].bytes(range(ROWS)) == ds["photo"].bytes(range(ROWS))
    assert back["label"].class_names == CLASSES and back["label"].info == {"source": "hand"}
    other = deeplake.ingest(
        tmp_path / "out.zarr", "mem://zarr-as-numbers", columns=["label"], schema={"label": {"dtype": "int32"}},
        overwrite=True, verbose=False,
    )  # fmt: skip
    assert (other["label"].htype, other["label"].dtype) == ("generic", "int32")


def test_splits(tmp_path: Path) -> None:
    ds = deeplake.create("mem://zarr-of-splits", overwrite=True)
    ds.create_tensor("x", dtype="int32")
    ds.create_tensor("split", "text")
    ds.extend({"x": range(9), "split": ["train" if i % 3 else "val" for i in range(9)]})
    ds.commit()
    report = ds.export(tmp_path / "out", format="zarr")
    assert list(report.splits) == ["val", "train"]
    group = zarr.open_group(str(tmp_path / "out"), mode="r")
    assert group["val/x"][:].tolist() == [0, 3, 6] and group["train/x"][:].tolist() == [1, 2, 4, 5, 7, 8]
    ds.export(tmp_path / "whole", format="zarr", splits="none")
    whole = zarr.open_group(str(tmp_path / "whole"), mode="r")
    assert whole["x"][:].tolist() == list(range(9)) and whole["split"][0] == "val"


def ragged() -> deeplake.Dataset:
    ds = deeplake.create("mem://zarr-ragged", overwrite=True)
    ds.create_tensor("boxes", "bbox")
    ds.create_tensor("any", dtype="int16")
    ds.create_tensor("n", dtype="int64")
    rng = np.random.default_rng(7)
    boxes = [rng.random((i % 4, 4), dtype=np.float32) for i in range(11)]
    ds.extend({"boxes": boxes, "any": [np.ones((2,) * (1 + i % 2), np.int16) for i in range(11)], "n": range(11)})
    ds.commit()
    return ds


def test_arrays_of_several_shapes(tmp_path: Path) -> None:
    ds = ragged()
    with pytest.raises(deeplake.UnsupportedError, match=r'"boxes".*\(0, 4\) to \(3, 4\).*pad=True \(--pad\)'):
        ds.export(tmp_path / "out", format="zarr")
    with pytest.raises(deeplake.UnsupportedError, match=r'"any".*several numbers of axes.*leave it out'):
        ds.export(tmp_path / "out", format="zarr", pad=True)
    report = ds.export(tmp_path / "out", format="zarr", tensors=["boxes", "n"], pad=True, shard_bytes=1024)
    assert "boxes_shape" in report.notes["boxes"][0]
    group = zarr.open_group(str(tmp_path / "out"), mode="r")
    assert group["boxes"].shape == (11, 3, 4) and group["boxes_shape"].dtype == "int64"
    for i, (whole, shape) in enumerate(zip(group["boxes"][:], group["boxes_shape"][:], strict=True)):
        want = ds["boxes"][i]
        assert tuple(shape) == want.shape
        same(whole[: shape[0], : shape[1]], want, i)
        assert not whole[shape[0] :].any()
    with pytest.raises(deeplake.InvalidArgumentError, match="pad is for zarr"):
        ds.export(tmp_path / "mds", format="mds", pad=True)


def test_what_zarr_does_not_hold(tmp_path: Path) -> None:
    ds = deeplake.create("mem://zarr-refused", overwrite=True)
    ds.create_tensor("x", dtype="int64")
    ds.create_tensor("text", "text")
    ds.create_tensor("list", "sequence[image]")
    ds.create_tensor("zarr.json", "text")
    image = np.zeros((3, 4, 3), np.uint8)
    ds.append({"x": 1, "text": "a", "list": [image, image], "zarr.json": ""})
    ds.append({"x": None, "text": None, "list": [image], "zarr.json": ""})
    ds.commit()

    def refused(tensor: str, words: str) -> None:
        with pytest.raises(deeplake.UnsupportedError, match=words):
            ds.export(tmp_path / "out", format="zarr", tensors=[tensor])

    refused("x", r'"x": row 1 has no value, and Zarr has none; .*\(WHERE x IS NOT NULL\)')
    refused("text", r'"text": row 1 has no value, and Zarr has none')
    refused("list", r'"list": Zarr has no lists of arrays')
    refused("zarr.json", "can be no node of Zarr")
    assert not any((tmp_path / "out").rglob("*.json"))


def test_command_and_kill(tmp_path: Path) -> None:
    """A command that is killed goes on behind the chunks of whole parts."""
    with deeplake.create(tmp_path / "lake") as ds:
        ds.create_tensor("x", dtype="float32")
        ds.create_tensor("label", "class_label", class_names=["a", "b"])
        rng = np.random.default_rng(1)
        for _ in range(8):
            ds.extend({"x": rng.random((1000, 2000), dtype=np.float32), "label": rng.integers(0, 2, 1000)})
        ds.commit()
    command = [
        sys.executable, "-m", "deeplake", "export", str(tmp_path / "lake"), str(tmp_path / "out"), "--format", "zarr",
        "--shard-size", "1M", "--json",
    ]  # fmt: skip
    victim = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not list((tmp_path / "out").glob(".export/part-*")) and victim.poll() is None and time.monotonic() < until:
        os.sched_yield()
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["resumed"] > 0
    group = zarr.open_group(str(tmp_path / "out"), mode="r")
    ds = deeplake.open(tmp_path / "lake")
    same(group["x"][:], ds["x"].numpy(), "x")
    same(group["label"][:], ds["label"].numpy(), "label")
    assert not (tmp_path / "out" / ".export").exists()
