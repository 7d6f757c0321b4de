"""Exports of rows of every origin: lists, links, tiles, queries, repeated rows and names that meet."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest
from conftest import encoded, host, picture
from pyarrow import parquet
from test_export_formats import png, same


def members(path: Path) -> dict[str, bytes]:
    """Returns the members of an archive by name."""
    with tarfile.open(path) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar}  # type: ignore[union-attr]


def lists() -> deeplake.Dataset:
    """Returns three rows with lists of 0, 1 and 2 values."""
    ds = deeplake.create("mem://export-of-lists", overwrite=True)
    for name, htype, spec in (
        ("g/files", "sequence[image]", {"compression": "jpeg"}), ("arrays", "sequence[generic]", {"dtype": "int32"}),
        ("halves", "sequence[generic]", {"dtype": "bfloat16"}), ("docs", "sequence[json]", {}),
        ("kinds", "sequence[class_label]", {"class_names": ["a", "b"]}), ("tag", "tag", {}), ("any", "list", {}),
    ):  # fmt: skip
        ds.create_tensor(name, htype, **spec)
    for n in range(3):
        ds.append({
            "g/files": [deeplake.read(encoded(picture(k))) for k in range(n)], "any": [n, None, "x"],
            "arrays": [np.arange(2 * k, dtype=np.int32).reshape(2, k) for k in range(n)], "docs": [{"a": [n]}] * n,
            "halves": [np.float32([1.5, k]) for k in range(n)], "kinds": [1, 0][:n], "tag": ["é"] * n,
        })  # fmt: skip
    ds.commit()
    return ds


def test_lists_in_archives(tmp_path: Path) -> None:
    ds = lists()
    report = ds.export(tmp_path / "w", format="webdataset")
    assert "arrays: the list of a row is a .npz file" in report.note_lines()
    found = members(tmp_path / "w/00000.tar")
    for i, row in enumerate(ds):
        for name, wanted in row.items():
            got = found[f"{i:08d}.{name.replace('/', '_')}.{'json' if name in ('docs', 'tag', 'any') else 'npz'}"]
            if name in ("docs", "tag", "any"):
                assert json.loads(got) == wanted
                continue
            arrays = np.load(io.BytesIO(got), allow_pickle=False)
            assert arrays.files == [f"arr_{k}" for k in range(i)]
            for k, one in enumerate(wanted):
                if name == "g/files":
                    assert arrays[f"arr_{k}"].tobytes() == encoded(picture(k))
                else:
                    same(arrays[f"arr_{k}"], one, (name, i, k), "float32" if name == "halves" else one.dtype)


def test_lists_in_records_shards_and_tables(tmp_path: Path) -> None:
    ds, tf = lists(), host("tensorflow")
    texts = ["g/files", "docs", "tag", "any"]
    ds.export(tmp_path / "t", format="tfrecord", tensors=texts)
    spec = {name: tf.io.RaggedFeature(tf.string) for name in texts}
    for i, record in enumerate(tf.data.TFRecordDataset(str(tmp_path / "t/00000-of-00001.tfrecord"))):
        got = {name: one.numpy().tolist() for name, one in tf.io.parse_single_example(record, spec).items()}
        assert got["g/files"] == [encoded(picture(k)) for k in range(i)]
        assert [json.loads(one) for one in got["docs"]] == ds[i]["docs"]
        assert [json.loads(one) for one in got["tag"] + got["any"]] == [ds[i]["tag"], ds[i]["any"]]

    ds.export(tmp_path / "m", format="mds", tensors=texts)
    again = deeplake.ingest(tmp_path / "m", "mem://export-of-lists-2", overwrite=True, verbose=False)
    for i in range(3):
        row = again[i]
        assert (row["docs"], row["tag"], row["any"]) == (ds[i]["docs"], ds[i]["tag"], ds[i]["any"])
        for mine, theirs in zip(row["g/files"], ds[i]["g/files"], strict=True):
            same(mine, theirs, i)

    ds.export(tmp_path / "p", format="parquet", tensors=["kinds", "arrays", "tag"])
    table = parquet.read_table(tmp_path / "p/data/train-00000-of-00001.parquet")
    assert table.column_names == ["kinds", "arrays", "tag"]
    for i, row in enumerate(table.to_pylist()):
        assert row["kinds"] == [1, 0][:i] and json.loads(row["tag"]) == ds[i]["tag"]
        assert row["arrays"] == [one.tolist() for one in ds[i]["arrays"]]
    told = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert told == {"kinds": {"feature": {"names": ["a", "b"], "_type": "ClassLabel"}, "_type": "List"}}


def test_links_tiles_and_queries(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    ds = deeplake.create(tmp_path / "lake")
    ds.create_tensor("linked", "image")
    ds.create_tensor("tiled", "image", compression="png", chunk_bytes=1 << 16)
    ds.create_tensor("x", dtype="float32")
    noise = np.random.default_rng(0).integers(0, 255, (300, 400, 3)).astype(np.uint8)
    for i in range(4):
        (tmp_path / f"in/{i}.jpg").write_bytes(encoded(picture(i)))
        ds.append({"linked": deeplake.link(str(tmp_path / f"in/{i}.jpg")), "tiled": noise + np.uint8(i), "x": i})
    ds.commit()
    ds.export(tmp_path / "w", format="webdataset")
    found = members(tmp_path / "w/00000.tar")
    for i in range(4):
        assert found[f"{i:08d}.jpg"] == encoded(picture(i))
        same(png(found[f"{i:08d}.tiled.png"]), noise + np.uint8(i), i)

    rows = ds.query("SELECT linked[2:10, 3:20] AS crop, x + 1 AS y, linked WHERE x > 0 ORDER BY x DESC")
    rows.export(tmp_path / "q", format="webdataset")
    found = members(tmp_path / "q/00000.tar")
    assert len(found) == 9, found.keys()
    for i, row in enumerate(rows):
        same(png(found[f"{i:08d}.png"]), row["crop"], i)
        same(np.load(io.BytesIO(found[f"{i:08d}.y.npy"])), row["y"], i, "float32")
        assert found[f"{i:08d}.linked.jpg"] == encoded(picture(3 - i))
    rows.export(tmp_path / "p", format="parquet", tensors=["y", "linked", "crop"])
    table = parquet.read_table(tmp_path / "p/data/train-00000-of-00001.parquet")
    assert table.column_names == ["y", "linked", "crop"] and table["y"].to_pylist() == [4, 3, 2]
    assert [one["bytes"] for one in table["linked"].to_pylist()] == [encoded(picture(3 - i)) for i in range(3)]
    for one, row in zip(table["crop"].to_pylist(), rows, strict=True):
        same(png(one["bytes"]), row["crop"], "crop")
    ds.export(tmp_path / "t", format="parquet", tensors=["tiled"])
    tiled = parquet.read_table(tmp_path / "t/data/train-00000-of-00001.parquet")["tiled"].to_pylist()
    for i in range(4):
        same(png(tiled[i]["bytes"]), noise + np.uint8(i), i)
    groups = ds.query("SELECT x > 1 AS big, COUNT(*) AS n GROUP BY x > 1 ORDER BY n, big")
    groups.export(tmp_path / "g", format="parquet")
    table = parquet.read_table(tmp_path / "g/data/train-00000-of-00001.parquet")
    assert table.to_pylist() == [{"big": False, "n": 2}, {"big": True, "n": 2}]


def test_repeated_rows_and_equal_names(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / "in" / folder).mkdir(parents=True)
        for i in range(2):
            (tmp_path / "in" / folder / f"{i}.jpg").write_bytes(encoded(picture(i + 2 * (folder == "b"))))
    ds = deeplake.ingest(tmp_path / "in", "mem://export-of-names", overwrite=True, verbose=False)
    ds[[0, 0, 2]].export(tmp_path / "out", format="folder", tensors=["images"])
    files = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert files == {"0.jpg": encoded(picture(0)), "0-1.jpg": encoded(picture(0)), "0-2.jpg": encoded(picture(2))}


def test_names_of_tensors_that_meet(tmp_path: Path) -> None:
    ds = deeplake.create("mem://export-of-tensors", overwrite=True)
    for name, dtype in (("A", "int32"), ("a", "int32"), ("g/x", "int32"), ("g_x", "uint64"), ("b", "int16")):
        ds.create_tensor(name, dtype=dtype)
    ds.create_tensor("b_shape", dtype="int8")
    matrix = np.ones((2, 2), np.int16)
    ds.append({"A": 1, "a": 2, "g/x": 3, "g_x": np.uint64(1 << 63), "b": matrix, "b_shape": 5})
    ds.commit()
    ds.export(tmp_path / "w", format="webdataset")
    found = {name: np.load(io.BytesIO(one)) for name, one in members(tmp_path / "w/00000.tar").items()}
    assert len(found) == 6 and sorted(one.sum().item() for one in found.values()) == [1, 2, 3, 4, 5, 1 << 63]
    refused: list[tuple[list[str], str]] = [
        (["b", "b_shape"], 'tensor "b_shape" has the name of the feature with the shapes of "b"; leave one out'),
        (["g_x"], 'row 0 of tensor "g_x": a number of dtype uint64 exceeds int64'),
    ]
    for names, message in refused:
        with pytest.raises(deeplake.Error, match=message):
            ds.export(tmp_path / names[0], format="tfrecord", tensors=names)


def test_uncommitted_rows(tmp_path: Path) -> None:
    ds = deeplake.create(tmp_path / "lake", schema={"x": {"dtype": "int64"}, "text": "text"})
    ds.append({"x": 1, "text": "a"})
    ds.commit()
    ds.append({"x": 2, "text": ""})
    ds.export(tmp_path / "m", format="mds")
    again = deeplake.ingest(tmp_path / "m", "mem://export-of-uncommitted", overwrite=True, verbose=False)
    assert again["x"].numpy().tolist() == [1, 2] and again["text"][:] == ["a", ""]
    value: Any = ds[1]["x"]
    assert value == 2 and not (tmp_path / "m/.export").exists()
    ds.discard()
