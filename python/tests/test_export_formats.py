"""Exports as the own library of each format reads them, value by value beside the dataset."""

from __future__ import annotations

import functools
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pyarrow as pa
import pytest
from conftest import encoded, host, picture
from PIL import Image
from pyarrow import parquet
from pycocotools.coco import COCO

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
ROWS = 12
CLASSES = ["cat", "dög", "a b"]
CODECS = ("JPEG", "PNG", "WEBP", "JPEG")
HOLES = (3, 7)  # rows without most values
OF_HOLES = ("text", "meta", "raw", "score", "image", "seg", "tags", "boxes", "label", "when", "flag")
HTYPES: dict[str, dict[str, Any]] = {
    "image": {"htype": "image"},  # files of three codecs
    "art": {"htype": "image", "dtype": "uint8"},  # arrays
    "seg": {"htype": "segment_mask", "compression": "png"},
    "label": {"htype": "class_label", "class_names": CLASSES},
    "split": {"htype": "text"},
    "text": {"htype": "text"},
    "meta": {"htype": "json"},
    "raw": {"dtype": "bytes"},
    "flag": {"dtype": "bool"},
    "score": {"dtype": "float32"},
    "when": {"dtype": "timestamp[us]"},
    "vector": {"htype": "embedding", "dtype": "float32"},
    "half": {"dtype": "bfloat16"},
    "boxes": {"htype": "bbox"},
    "shapes": {"dtype": "int16"},  # of any shape, also empty
    "tags": {"htype": "sequence[text]"},
    **{f"n/{name}": {"dtype": name} for name in NUMBERS},
}


def number(name: str, i: int) -> Any:
    """Returns the least number of a dtype, the greatest one, or i. TFRecord has none above int64."""
    info: Any = np.finfo(name) if name[0] == "f" else np.iinfo(name)
    return np.array(info.min if i == 0 else info.max if i == 1 and name != "uint64" else i, name)[()]


@functools.cache
def mixed() -> deeplake.Dataset:
    """Returns rows of every kind of tensor, some without values, in two splits."""
    ds = deeplake.create("mem://export-of-every-kind")
    for name, spec in HTYPES.items():
        ds.create_tensor(name, **spec)
    rng = np.random.default_rng(5)
    for i in range(ROWS):
        row: dict[str, Any] = {
            "image": deeplake.read(encoded(picture(i), CODECS[i % 4])), "seg": rng.integers(0, 9, (6, 7 + i)).astype(np.uint8), "art": picture(i, 5, 6 + i),
            "label": i % 3, "split": "val" if i % 4 == 0 else "train", "text": f"té\n{i}" if i else "",
            "meta": {"a": [i, None, "é"]}, "raw": bytes([255, i]) * i, "flag": i % 2 == 0, "score": i / 8,
            "when": np.datetime64("2026-01-02T03:04:05.678901", "us") + i, "half": np.float32(i) / 2,
            "vector": rng.random(5, dtype=np.float32), "boxes": rng.random((i % 3, 4), dtype=np.float32),
            "shapes": rng.integers(-9, 9, (2, i, 3)[: i % 3 + 1]).astype(np.int16), "tags": ["x", "é"][: i % 3],
            **{f"n/{name}": number(name, i) for name in NUMBERS},
        }  # fmt: skip
        ds.append({name: None if i in HOLES and name in OF_HOLES else one for name, one in row.items()})
    ds.commit()
    return ds


def mixed_view() -> Any:
    """Returns the rows in another order, one of them twice."""
    return mixed()[[*range(ROWS - 1, -1, -1), 5]]


def whole() -> Any:
    """Returns the rows that have all values."""
    return mixed()[[i for i in range(ROWS) if i not in HOLES]]


def of_split(view: Any, split: str) -> list[dict[str, Any]]:
    """Returns the rows of a split, with the bytes of their image files."""
    files = view["image"].bytes(list(range(len(view))))
    return [{**row, "image": files[i]} for i, row in enumerate(view) if row["split"] == split]


def png(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)))


def same(mine: Any, theirs: Any, what: Any, dtype: Any = None) -> None:
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    if dtype is not None:
        assert mine.dtype == dtype, what
    np.testing.assert_array_equal(mine, theirs, err_msg=str(what), strict=dtype is None)


def check_member(name: str, got: Any, wanted: Any) -> None:
    """Compares the content of a member of a sample, as `np.load` and others give it."""
    if name in ("seg.png", "art.png"):
        same(png(got), wanted, name)
    elif name in ("meta.json", "tags.json"):
        assert json.loads(got) == wanted
    elif name.endswith(".npy"):
        array = np.load(io.BytesIO(got), allow_pickle=False)
        wanted = np.asarray(wanted)
        wanted = wanted.view("int64") if wanted.dtype.kind == "M" else wanted
        same(array, wanted, name, "float32" if name == "half.npy" else wanted.dtype)
    elif name == "cls":
        assert got == str(int(wanted)).encode()
    else:
        assert got == (wanted.encode() if name == "txt" else wanted), name


def in_tables() -> list[str]:
    """Returns the tensors that tables can have: arrays of one number of axes."""
    return [name for name in HTYPES if name != "shapes"]


def members_of(row: dict[str, Any]) -> dict[str, Any]:
    """Returns the members that a row has, by extension."""
    ending = "" if row["image"] is None else (Image.open(io.BytesIO(row["image"])).format or "").lower()
    names = {
        "image": ending.replace("jpeg", "jpg"),
        "seg": "seg.png",
        "label": "cls",
        "text": "txt",
        "raw": "raw.bin",
        "art": "art.png",
    }
    names |= {"meta": "meta.json", "tags": "tags.json"}
    wanted = {names.get(name, name.replace("/", "_") + ".npy"): row[name] for name in HTYPES if name != "split"}
    return {name: one for name, one in wanted.items() if one is not None}


def test_webdataset(tmp_path: Path) -> None:
    view = mixed_view()
    report = view.export(tmp_path / "w", format="webdataset")
    assert (report.rows, report.files, list(report.splits)) == (ROWS + 1, 3, ["train", "val"])
    assert "half: bfloat16 becomes float32: NumPy has none" in report.note_lines()
    assert report.bytes == sum(path.stat().st_size for path in (tmp_path / "w").rglob("*") if path.is_file())
    for split in ("train", "val"):
        samples: dict[str, dict[str, bytes]] = {}
        with tarfile.open(tmp_path / f"w/{split}/00000.tar") as tar:
            for one in tar:
                key, _, extension = one.name.partition(".")
                samples.setdefault(key, {})[extension] = tar.extractfile(one).read()  # type: ignore[union-attr]
        rows = of_split(view, split)
        assert list(samples) == [f"{i:08d}" for i in range(len(rows))]
        for sample, row in zip(samples.values(), rows, strict=True):
            wanted = members_of(row)
            assert sample.keys() == wanted.keys()
            for name, got in sample.items():
                check_member(name, got, wanted[name])


def feature_of(tf: Any, name: str) -> Any:
    spec = HTYPES[name]
    if name in ("image", "art", "seg", "text", "meta", "raw", "tags"):
        return tf.io.VarLenFeature(tf.string)
    is_float = "float" in spec.get("dtype", "") or name == "boxes"
    return tf.io.VarLenFeature(tf.float32 if is_float else tf.int64)


def test_tfrecord(tmp_path: Path) -> None:
    tf = host("tensorflow")
    view = mixed_view()
    report = view.export(tmp_path / "t", format="tfrecord")
    assert "n/float64: float64 is rounded to float32, the only floats of an example" in report.note_lines()
    assert 'boxes: arrays of several axes are flat, and "boxes_shape" has their shapes' in report.note_lines()
    spec = {name: feature_of(tf, name) for name in HTYPES if name != "split"}
    spec |= {f"{name}_shape": tf.io.VarLenFeature(tf.int64) for name in ("boxes", "shapes")}
    for split in ("train", "val"):
        rows = of_split(view, split)
        records = tf.data.TFRecordDataset(str(tmp_path / f"t/{split}/00000-of-00001.tfrecord"))
        parsed = [tf.io.parse_single_example(record, spec) for record in records]
        for row, record in zip(rows, parsed, strict=True):
            got = {name: one.values.numpy() for name, one in record.items()}
            for name in HTYPES:
                wanted = row.get(name)
                if name == "split":
                    continue
                if wanted is None:
                    assert len(got[name]) == 0, name
                elif name in ("art", "seg"):
                    same(png(got[name][0]), wanted, name)
                elif name == "meta":
                    assert json.loads(got[name][0]) == wanted
                elif name == "tags":
                    assert [tag.decode() for tag in got[name]] == wanted
                elif name in ("image", "raw", "text"):
                    assert got[name].tolist() == [wanted.encode() if name == "text" else wanted], name
                else:
                    array = np.asarray(wanted)
                    array = array.view("int64") if array.dtype.kind == "M" else array
                    with np.errstate(over="ignore"):
                        same(got[name], array.astype(got[name].dtype).ravel(), name)
                    if name in ("boxes", "shapes") and array.ndim > 1:
                        assert got[f"{name}_shape"].tolist() == list(array.shape)


def table_value(name: str, value: Any) -> Any:
    """Returns what a row of the Parquet file has for a value, as pyarrow's to_pylist gives it."""
    if value is None:
        return None
    if name == "image":
        return {"bytes": value, "path": None}
    if name == "when":
        return value.astype(object)
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def test_parquet(tmp_path: Path) -> None:
    view = mixed_view()
    with pytest.raises(deeplake.TensorTypeError, match=r'"shapes": .* axes, and a column of Arrow has one type'):
        view.export(tmp_path / "all", format="parquet")
    view.export(tmp_path / "p", format="parquet", tensors=in_tables())
    for split in ("train", "val"):
        path = tmp_path / f"p/data/{split}-00000-of-00001.parquet"
        table, rows = parquet.read_table(path), of_split(view, split)
        assert table.column_names == [name for name in in_tables() if name != "split"] and len(table) == len(rows)
        for name in NUMBERS:
            assert table.schema.field(f"n/{name}").type == getattr(pa, name)()
        assert table.schema.field("label").type == pa.int64() and table.schema.field("when").type == pa.timestamp("us")
        frame = table.to_pandas()
        for name in set(in_tables()) - {"split"}:
            for k, (got, row) in enumerate(zip(table[name].to_pylist(), rows, strict=True)):
                if name == "meta":
                    got = None if got is None else json.loads(got)
                if name in ("art", "seg") and got is not None:
                    same(png(got["bytes"]), row[name], (name, k))
                    continue
                assert got == table_value(name, row[name]), (name, k)
            if name.startswith("n/"):
                same(frame[name].to_numpy(), np.array([row[name] for row in rows]), name)


def test_parquet_as_datasets_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    import datasets

    view = mixed_view()
    view.export(tmp_path / "p", format="parquet", tensors=in_tables(), shard_bytes=1 << 10)
    assert len(list((tmp_path / "p/data").glob("train-*-of-*.parquet"))) > 2
    read = datasets.load_dataset(str(tmp_path / "p"), cache_dir=str(tmp_path / "cache"))
    assert set(read) == {"train", "val"} or set(read) == {"train", "validation"}
    for split in read:
        rows, part = of_split(view, {"validation": "val"}.get(split, split)), read[split]
        assert isinstance(part.features["image"], datasets.Image)
        assert part.features["label"] == datasets.ClassLabel(names=CLASSES)
        assert len(part) == len(rows)
        for got, row in zip(part, rows, strict=True):
            assert got["label"] == (None if row["label"] is None else int(row["label"]))
            assert got["text"] == row["text"] and got["tags"] == row["tags"]
            if row["image"] is None:
                assert got["image"] is None
            else:
                same(np.asarray(got["image"]), png(row["image"]), "image")


MDS_READER = """
import json, sys
import numpy as np
from streaming import LocalDataset
out = []
for row in LocalDataset(sys.argv[1]):
    told = {}
    for name, one in row.items():
        one = np.asarray(one) if hasattr(one, "getbands") else one
        if isinstance(one, (np.ndarray, np.generic)):
            told[name] = [str(one.dtype), list(one.shape), one.tobytes().hex()]
        elif isinstance(one, bytes):
            told[name] = one.hex()
        else:
            told[name] = one
    out.append(told)
print(json.dumps(out))
"""


def environment(name: str) -> str:
    """Returns the interpreter of an environment of the benchmarks."""
    find = [sys.executable, "-c", f"import environments; print(environments.python({name!r}))"]
    done = subprocess.run(find, cwd=ROOT / "benchmarks", check=True, capture_output=True, text=True)
    return done.stdout.strip().splitlines()[-1]


@pytest.mark.slow
def test_mds_as_streaming_reads_it(tmp_path: Path) -> None:
    view = whole()
    view.export(tmp_path / "m", format="mds")
    for split in ("train", "val"):
        command = [environment("streaming"), "-c", MDS_READER, str(tmp_path / "m" / split)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows = json.loads(done.stdout.strip().splitlines()[-1])
        for got, row in zip(rows, of_split(view, split), strict=True):
            assert set(got) == set(HTYPES) - {"split"}
            for name, one in got.items():
                wanted = png(row[name]) if name == "image" else row[name]
                if name == "raw":
                    assert bytes.fromhex(one) == wanted
                elif name in ("text", "meta", "tags"):
                    assert one == wanted
                elif name in ("art", "seg"):
                    assert bytes.fromhex(one[2]) == wanted.tobytes() and one[1] == list(wanted.shape)
                else:
                    wanted = np.asarray(wanted)
                    wanted = wanted.view("int64") if wanted.dtype.kind == "M" else wanted
                    wanted = wanted.astype({"flag": "uint8", "half": "float32"}.get(name, wanted.dtype))
                    assert one == [str(wanted.dtype), list(wanted.shape), wanted.tobytes().hex()], name


WEB_READER = """
import hashlib, json, sys
import numpy as np
import webdataset
out = []
for sample in webdataset.WebDataset(sys.argv[1], shardshuffle=False).decode("rgb8"):
    told = {}
    for name, one in sample.items():
        if isinstance(one, np.ndarray):
            told[name] = [str(one.dtype), list(one.shape), one.tobytes().hex()]
        else:
            told[name] = one.hex() if isinstance(one, bytes) else one
    out.append(told)
print(json.dumps(out))
"""


@pytest.mark.slow
def test_webdataset_as_the_package_reads_it(tmp_path: Path) -> None:
    view = mixed_view()
    view.export(tmp_path / "w", format="webdataset")
    for split in ("train", "val"):
        command = [environment("webdataset"), "-c", WEB_READER, str(tmp_path / f"w/{split}/00000.tar")]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        samples = json.loads(done.stdout.strip().splitlines()[-1])
        for sample, row in zip(samples, of_split(view, split), strict=True):
            wanted = members_of(row)
            assert {name for name in sample if not name.startswith("__")} == wanted.keys()
            for name, one in wanted.items():
                got = sample[name]
                if name in ("jpg", "png", "webp", "art.png", "seg.png"):
                    pixels = np.asarray(Image.open(io.BytesIO(one)) if isinstance(one, bytes) else one)
                    pixels = np.stack([pixels] * 3, axis=2) if pixels.ndim == 2 else pixels
                    assert got == ["uint8", list(pixels.shape), pixels.tobytes().hex()], name
                elif name.endswith(".npy"):
                    array = np.asarray(one).view("int64") if np.asarray(one).dtype.kind == "M" else np.asarray(one)
                    array = array.astype("float32") if name == "half.npy" else array
                    assert got == [str(array.dtype), list(array.shape), array.tobytes().hex()], name
                else:
                    assert (bytes.fromhex(got) if name == "raw.bin" else got) == one, name


def test_coco_of_masks(tmp_path: Path) -> None:
    """Masks become runs, whose pixels are those of the dataset."""
    ds = deeplake.create("mem://export-of-masks")
    for name, spec in {
        "images": {"htype": "image", "dtype": "uint8"}, "masks": {"htype": "binary_mask"}, "boxes": {"htype": "bbox"},
        "labels": {"htype": "class_label", "class_names": ["a", "b"]},
    }.items():  # fmt: skip
        ds.create_tensor(name, **spec)
    rng = np.random.default_rng(2)
    for i in range(6):
        masks = rng.random((20 + i, 17, i)) < (0, 0.01, 0.5, 1)[i % 4]
        low = rng.random((i, 2)).astype(np.float32) * 9
        boxes = np.concatenate([low, low + rng.random((i, 2), dtype=np.float32)], axis=1)
        ds.append({"images": picture(i, 20 + i, 17), "masks": masks, "boxes": boxes, "labels": np.arange(i) % 2})
    ds.commit()
    ds.export(tmp_path / "c", format="coco")
    coco = COCO(tmp_path / "c/annotations/instances.json")
    assert [one["name"] for one in coco.loadCats(coco.getCatIds())] == ["a", "b"]
    for i, image in enumerate(coco.dataset["images"]):
        row = ds[i]
        same(np.asarray(Image.open(tmp_path / "c/images" / image["file_name"])), row["images"], i)
        assert (image["height"], image["width"]) == row["images"].shape[:2]
        told = coco.loadAnns(coco.getAnnIds(imgIds=image["id"]))
        assert len(told) == i
        for k, one in enumerate(told):
            same(coco.annToMask(one), row["masks"][..., k].astype(np.uint8), (i, k))
            left, top, right, bottom = row["boxes"][k].tolist()
            np.testing.assert_allclose(one["bbox"], [left, top, right - left, bottom - top], rtol=1e-6)
            assert one["category_id"] == k % 2 + 1
