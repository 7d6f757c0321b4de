"""TFRecord files in the core: every kind of feature as TensorFlow writes and reads it."""

from __future__ import annotations

import functools
import io
import json
import random
import sys
import uuid
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest
from conftest import encoded, host, picture
from kills import killed_after_a_commit
from test_parquet import create, version_of


@pytest.fixture(scope="module")
def tf() -> Any:
    return host("tensorflow")


def place() -> str:
    return f"mem://records-{uuid.uuid4().hex}"


def example(tf: Any, row: dict[str, Any]) -> bytes:
    """Returns the record of a row, whose values are bytes, floats or integers, or lists of them."""
    features = {}
    for name, value in row.items():
        values = value if isinstance(value, list) else [value]
        if name == "names" or (values and isinstance(values[0], bytes)):
            features[name] = tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
        elif name == "boxes" or (values and isinstance(values[0], float)):
            features[name] = tf.train.Feature(float_list=tf.train.FloatList(value=values))
        else:
            features[name] = tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    record: bytes = tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
    return record


def write(tf: Any, path: Path, records: list[bytes], compression: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for record in records:
            writer.write(record)


def row_of(number: int) -> dict[str, Any]:
    return {
        "image/encoded": encoded(picture(number)),
        "image/height": 24,
        "label": number % 3,
        "text": f"café {number}".encode(),
        "raw": bytes([0xFF, number % 256]),
        "boxes": [float(v) / 4 for v in range(4 * (number % 3))],
        "ids": list(range(number % 4)),
        "score": number / 8,
        "names": [b"a", b"bc"][: number % 3],
    }


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_values_are_those_that_tensorflow_reads(tf: Any, tmp_path: Path, compression: str) -> None:
    path = tmp_path / "x.tfrecord"
    write(tf, path, [example(tf, row_of(number)) for number in range(40)], compression)
    ds = deeplake.ingest(path, place(), verbose=False)
    spec = {
        "image/encoded": tf.io.FixedLenFeature([], tf.string), "image/height": tf.io.FixedLenFeature([], tf.int64),
        "label": tf.io.FixedLenFeature([], tf.int64), "text": tf.io.FixedLenFeature([], tf.string),
        "raw": tf.io.FixedLenFeature([], tf.string), "boxes": tf.io.RaggedFeature(tf.float32),
        "ids": tf.io.RaggedFeature(tf.int64), "score": tf.io.FixedLenFeature([], tf.float32),
        "names": tf.io.RaggedFeature(tf.string),
    }  # fmt: skip
    read = tf.data.TFRecordDataset(str(path), compression_type=compression or None)
    assert len(ds) == 40 and ds["image/encoded"].htype == "image"
    assert (ds["label"].dtype, ds["score"].dtype, ds["raw"].dtype) == ("int64", "float32", "bytes")
    for number, wanted in enumerate(read.map(lambda record: tf.io.parse_single_example(record, spec))):
        row = ds[number]
        assert ds["image/encoded"].bytes(number) == wanted["image/encoded"].numpy()
        assert row["text"].encode() == wanted["text"].numpy() and row["raw"] == wanted["raw"].numpy()
        for name in ("image/height", "label", "score", "boxes", "ids"):
            np.testing.assert_array_equal(row[name], wanted[name].numpy())
        assert [name.encode() for name in row["names"]] == wanted["names"].numpy().tolist()


def test_files_in_parts(tf: Any, tmp_path: Path) -> None:
    """Parts as TensorFlow names them, columns that come later, forms that one file does not show."""
    for part, numbers in enumerate((range(5), range(5, 9))):
        rows = [row_of(number) | ({"late": [1.5]} if part else {}) for number in numbers]
        for row in rows:
            row["tags"] = [b"cat"] if part else [b"cat", b"dog"]
            row["mixed"] = b"text" if part == 0 else b"\xfe\xff"
        write(tf, tmp_path / f"set/mnist-train.tfrecord-0000{part}-of-00002", [example(tf, row) for row in rows])
    ds = deeplake.ingest(tmp_path / "set", place(), schema={"label": "class_label"}, verbose=False)
    assert ds["tags"][0] == ["cat", "dog"] and ds["tags"][8] == ["cat"]  # lists in both files
    assert len(ds) == 9 and ds["mixed"].dtype == "bytes" and ds["mixed"][8] == b"\xfe\xff"
    assert ds["late"][0] is None and ds["late"][7] == 1.5 and ds["label"].htype == "class_label"
    for part in range(2):
        (tmp_path / f"set/mnist-train.tfrecord-0000{part}-of-00002").rename(tmp_path / f"set/train-0000{part}-of-00002")
    again = deeplake.ingest(tmp_path / "set", place(), format="tfrecord", columns=["label", "text"], verbose=False)
    assert again["text"][:] == [f"café {number}" for number in range(9)] and set(again.tensors) == {"label", "text"}


def test_sequence_examples(tf: Any, tmp_path: Path) -> None:
    records = []
    for number in range(3):
        step = tf.train.FeatureList(
            feature=[tf.train.Feature(float_list=tf.train.FloatList(value=[i, i + 0.5])) for i in range(number + 1)]
        )
        whole = tf.train.SequenceExample(
            context=tf.train.Features(feature={"id": tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))}),
            feature_lists=tf.train.FeatureLists(feature_list={"steps": step}),
        )
        records.append(whole.SerializeToString())
    write(tf, tmp_path / "x.tfrecords", records)
    ds = deeplake.ingest(tmp_path / "x.tfrecords", place(), verbose=False)
    assert ds["id"][:].tolist() == [0, 1, 2]
    for number in range(3):
        assert np.asarray(ds["steps"][number]).tolist() == [[i, i + 0.5] for i in range(number + 1)]


def test_damaged_files(tf: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.tfrecord"
    write(tf, path, [example(tf, {"a": number}) for number in range(1000)])
    whole = path.read_bytes()
    draw = random.Random(4)
    for _ in range(60):
        data = bytearray(whole)
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(data)
        with pytest.raises(deeplake.Error, match=r"record|TFRecord"):
            deeplake.ingest(path, place(), verbose=False)
    for cut in (1, 11, 13, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(deeplake.Error, match=r"cut|TFRecord"):
            deeplake.ingest(path, place(), verbose=False)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for number in range(5):
            writer.write(b"\xff" if number == 3 else example(tf, {"a": number}))
    with pytest.raises(deeplake.Error, match=r"record 3 is no tf\.train\.Example"):
        deeplake.ingest(path, place(), verbose=False)
    report = create(str(tmp_path / "ds"), f"from-{path}", "--on-error", "skip")
    assert (report["rows"], report["skipped"]) == (4, 1) and "record 3" in json.dumps(report["skips"])
    path.write_bytes(io.BytesIO(b"x" * 5000).read())
    with pytest.raises(deeplake.Error, match="no TFRecord file"):
        deeplake.ingest(path, place(), verbose=False)


def test_kills(tf: Any, tmp_path: Path) -> None:
    rows = 2000
    for part in range(3):
        records = [example(tf, {"id": part * rows + number, "text": b"x" * 50}) for number in range(rows)]
        write(tf, tmp_path / f"in/{part}.tfrecord", records)
    uri, draw, kills = str(tmp_path / "lake"), random.Random(3), 0
    command = [sys.executable, "-m", "deeplake", "create", uri, f"from-{tmp_path / 'in'}", "--checkpoint", "100"]
    for _ in range(3):
        kills += killed_after_a_commit(command, functools.partial(version_of, uri), 0.03, draw)
        ds = deeplake.open(uri)
        assert ds["id"].numpy().tolist() == list(range(len(ds)))
    report = create(uri, f"from-{tmp_path / 'in'}")
    assert report["rows"] == 3 * rows and kills > 0
    assert deeplake.open(uri)["id"].numpy().tolist() == list(range(3 * rows))
