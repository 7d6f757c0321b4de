"""Images that stay in shards and tables of other programs, linked by `ingest(..., link=True)`."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import deeplake
import numpy as np
import pyarrow as pa
import pytest
from conftest import encoded, host, picture
from pyarrow import parquet

ROOT = Path(__file__).resolve().parents[2]
ROWS = 40
CODECS = ("JPEG", "PNG", "WEBP")
FILES = [encoded(picture(i, 20 + i % 5, 30), CODECS[i % 3]) for i in range(ROWS)]
NAMES = ["cat", "dog", "elk"]


def exported(form: str, to: Path) -> Path:
    """Returns a folder of shards with FILES, which links can lead into."""
    ds = deeplake.create(f"mem://to-link-as-{form}-{to.name}", overwrite=True)
    ds.create_tensor("image", "image")
    ds.create_tensor("label", "class_label", class_names=NAMES)
    ds.create_tensor("caption", "text")
    ds.extend(
        {
            "image": [deeplake.read(file) for file in FILES],
            "label": [i % 3 for i in range(ROWS)],
            "caption": [f"row {i}" for i in range(ROWS)],
        }
    )
    ds.commit()
    ds.export(to / form, format=form, shard_bytes=8 << 10)
    return to / form


def stored(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def check_linked(tensor: Any, row: int, source: Path) -> None:
    """Checks that a row cannot be read while its file is elsewhere."""
    aside = source.with_name("aside")
    source.rename(aside)
    try:
        with pytest.raises(deeplake.CorruptError, match="is gone"):
            tensor[row]
    finally:
        aside.rename(source)


def pixels(ds: Any, **options: Any) -> list[int]:
    """Returns the sum of the pixels of each row, in the order of a loader."""
    sums = []
    for batch in ds.batches(7, collate="list", **options):
        sums += [int(np.asarray(image, np.int64).sum()) for image in batch["image"]]
    return sums


@pytest.mark.parametrize("form", ["mds", "tfrecord", "parquet", "webdataset"])
def test_images_stay_in_their_shards(tmp_path: Path, form: str) -> None:
    shards = exported(form, tmp_path)
    before = {path: path.read_bytes() for path in shards.rglob("*") if path.is_file()}
    ds = deeplake.ingest(shards, tmp_path / "linked", link=True, verbose=False)
    image = "images" if form == "webdataset" else "image"
    label = "labels" if form == "webdataset" else "label"
    assert ds[image].bytes(range(ROWS)) == FILES
    assert ds[label].class_names == NAMES and ds[label].numpy().tolist() == [i % 3 for i in range(ROWS)]
    assert before == {path: path.read_bytes() for path in before}
    copied = deeplake.ingest(shards, tmp_path / "copied", verbose=False)
    assert copied[image].bytes(range(ROWS)) == FILES
    assert stored(tmp_path / "linked") < stored(tmp_path / "copied") - sum(map(len, FILES)) / 2
    if form == "webdataset":
        return
    again = deeplake.open(tmp_path / "linked")
    assert pixels(again) == pixels(copied)
    shuffled = {"shuffle": True, "seed": 3}
    assert pixels(again, **shuffled) == pixels(copied, **shuffled)
    query = "SELECT image[2:9, 3:11] AS part WHERE label = 'dog' ORDER BY caption"
    for one, other in zip(again.query(query), copied.query(query), strict=True):
        assert np.array_equal(one["part"], other["part"])


def test_a_changed_shard_is_an_error(tmp_path: Path) -> None:
    shards = exported("mds", tmp_path)
    ds = deeplake.ingest(shards, tmp_path / "linked", link=True, verbose=False)
    shard = sorted(shards.glob("*.mds"))[0]
    shard.write_bytes(shard.read_bytes() + b"more")
    with pytest.raises(deeplake.CorruptError, match=rf"{shard.name}.*has changed since it was linked"):
        ds["image"][0]
    batches = ds.batches(5, collate="list", on_error="skip", return_index=True)
    kept = [int(row) for batch in batches for row in batch["_index"]]
    assert 0 < len(kept) < ROWS and 0 not in kept
    shard.unlink()
    with pytest.raises(deeplake.CorruptError, match=rf"{shard.name}.*is gone"):
        ds["image"][0]


@pytest.mark.parametrize("rows_in_page", [1, 7])
@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("nested", [False, True])
def test_pages_of_parquet(tmp_path: Path, nested: bool, version: str, dictionary: bool, rows_in_page: int) -> None:
    """Files lie in pages of either version, in dictionaries, among nulls, and in structs of structs."""
    files: list[bytes | None] = [None if i % 9 == 4 else FILES[i % 5 if dictionary else i] for i in range(ROWS)]
    of_image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    images = pa.array([None if file is None else {"bytes": file, "path": None} for file in files], of_image)
    column = pa.StructArray.from_arrays([images], ["image"]) if nested else images
    parquet.write_table(
        pa.table({"view" if nested else "image": column, "n": range(ROWS)}),
        tmp_path / "a.parquet",
        compression={"n": "zstd", "view.image.bytes" if nested else "image.bytes": "none"},
        use_dictionary=dictionary,
        data_page_version=version,
        data_page_size=1 << 10,
        max_rows_per_page=rows_in_page,
        row_group_size=16,
    )
    ds = deeplake.ingest(tmp_path / "a.parquet", tmp_path / "linked", link=True, verbose=False)
    image = ds["view/image" if nested else "image"]
    for i, file in enumerate(files):
        if file is None:
            assert image[i] is None
        else:
            assert image.bytes(i) == file
    assert ds["n"].numpy().tolist() == list(range(ROWS))
    check_linked(image, 0, tmp_path / "a.parquet")


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY"])
def test_columns_of_bytes(tmp_path: Path, encoding: str) -> None:
    """A column of bytes is one of images if the schema says so."""
    parquet.write_table(
        pa.table({"jpg": pa.array(FILES, pa.binary()), "raw": pa.array(FILES, pa.binary())}),
        tmp_path / "a.parquet",
        compression="none",
        use_dictionary=False,
        column_encoding={"jpg": encoding, "raw": "PLAIN"},
    )
    ds = deeplake.ingest(tmp_path / "a.parquet", tmp_path / "linked", schema={"jpg": "image"}, link=True, verbose=False)
    assert ds["jpg"].bytes(range(ROWS)) == FILES
    assert [bytes(raw) for raw in ds["raw"].numpy()] == FILES
    (tmp_path / "a.parquet").unlink()
    assert bytes(ds["raw"][3]) == FILES[3]  # all else is copied
    with pytest.raises(deeplake.CorruptError, match="is gone"):
        ds["jpg"][3]


def test_sets_of_hugging_face(tmp_path: Path) -> None:
    """Files that `datasets` writes have images that are not compressed once more."""
    rows = {"image": [{"bytes": file, "path": f"{i}.jpg"} for i, file in enumerate(FILES)], "n": range(ROWS)}
    features = datasets.Features({"image": datasets.Image(), "n": datasets.Value("int64")})
    datasets.Dataset.from_dict(rows, features=features).to_parquet(tmp_path / "train.parquet")
    ds = deeplake.ingest(tmp_path, tmp_path / "linked", link=True, verbose=False)
    assert ds["image"].bytes(range(ROWS)) == FILES
    check_linked(ds["image"], 0, tmp_path / "train.parquet")


def test_lists_of_images(tmp_path: Path) -> None:
    tf = host("tensorflow")
    with tf.io.TFRecordWriter(str(tmp_path / "a.tfrecord")) as out:
        for i in range(ROWS // 2):
            both = tf.train.Feature(bytes_list=tf.train.BytesList(value=[FILES[3 * (i // 2)]] * (i % 4)))
            one = tf.train.Feature(bytes_list=tf.train.BytesList(value=[FILES[i]]))
            features = tf.train.Features(feature={"some": both, "one": one})
            out.write(tf.train.Example(features=features).SerializeToString())
    ds = deeplake.ingest(tmp_path / "a.tfrecord", tmp_path / "linked", link=True, verbose=False)
    for i in range(ROWS // 2):
        assert ds["one"].bytes(i) == FILES[i]
        want = np.asarray(deeplake.read(FILES[3 * (i // 2)]).array)
        assert len(ds["some"][i]) == i % 4 and all(np.array_equal(image, want) for image in ds["some"][i])
    check_linked(ds["some"], 1, tmp_path / "a.tfrecord")


@pytest.mark.parametrize("name", ["frames", "items", "whole"])
def test_compressed_sets_of_litdata(tmp_path: Path, name: str) -> None:
    with pytest.raises(deeplake.UnsupportedError, match=r"chunk-0-0.*row 0 has an image.*compressed.*leave out --link"):
        deeplake.ingest(ROOT / "core/litdata/testdata" / name, tmp_path / "linked", link=True, verbose=False)


def test_set_of_litdata(tmp_path: Path) -> None:
    source = tmp_path / "set"
    shutil.copytree(ROOT / "core/litdata/testdata/full", source)
    copied = deeplake.ingest(source, tmp_path / "copied", verbose=False)
    images = [tensor for tensor in copied.tensors if copied[tensor].htype.startswith("image")]
    linked = deeplake.ingest(source, tmp_path / "linked", link=True, verbose=False)
    assert images and list(linked.tensors) == list(copied.tensors)
    for tensor in images:
        assert linked[tensor].bytes(range(len(copied))) == copied[tensor].bytes(range(len(copied)))
    check_linked(linked["jpg"], 0, source / "chunk-0-0.bin")


def test_set_of_mosaicml(tmp_path: Path) -> None:
    source = ROOT / "core/mds/testdata/set"
    copied = deeplake.ingest(source, tmp_path / "copied", verbose=False)
    shutil.copytree(source, tmp_path / "set")
    linked = deeplake.ingest(tmp_path / "set", tmp_path / "linked", link=True, verbose=False)
    for tensor in copied.tensors:
        for mine, theirs in zip(linked[tensor], copied[tensor], strict=True):
            if isinstance(theirs, list):
                assert all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True)), tensor
            else:
                assert np.array_equal(mine, theirs), tensor
    shutil.rmtree(tmp_path / "set")
    assert linked["label"].numpy().tolist() == copied["label"].numpy().tolist()
    with pytest.raises(deeplake.CorruptError, match="is gone"):
        linked["jpg"][0]


def table(path: Path, **options: Any) -> Path:
    images = [{"bytes": file, "path": None} for file in FILES]
    parquet.write_table(pa.table({"image": images, "n": range(ROWS)}), path, **options)
    return path


def test_what_cannot_be_linked(tmp_path: Path) -> None:
    def refused(kind: type[Exception], words: str, source: Path, **options: Any) -> None:
        with pytest.raises(kind, match=words):
            deeplake.ingest(source, tmp_path / "new", link=True, verbose=False, **options)
        assert not deeplake.exists(tmp_path / "new")

    packed = table(tmp_path / "packed.parquet", compression="zstd", use_dictionary=False)
    refused(deeplake.UnsupportedError, r"packed\.parquet.*row 0 has an image.*compressed.*leave out --link", packed)
    prefixes = tmp_path / "prefixes.parquet"
    table(prefixes, compression="none", use_dictionary=False, column_encoding={"image.bytes": "DELTA_BYTE_ARRAY"})
    refused(deeplake.UnsupportedError, r"row 0 has an image.*compressed", prefixes)
    shards = exported("mds", tmp_path)
    index = json.loads((shards / "index.json").read_text())
    for shard in index["shards"]:
        path = shards / shard["raw_data"]["basename"]
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
        shard["zip_data"] = {"basename": path.name + ".gz", "bytes": 1, "hashes": {}}
    (shards / "index.json").write_text(json.dumps(index))
    refused(deeplake.UnsupportedError, r"row 0 has an image.*compressed", shards)
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    refused(
        deeplake.InvalidArgumentError,
        "within parquet, mds, litdata, tfrecord, ffcv, and the format is csv",
        tmp_path / "a.csv",
    )
    parquet.write_table(pa.table({"n": range(5)}), tmp_path / "n.parquet")
    refused(deeplake.InvalidArgumentError, "no column has image files", tmp_path / "n.parquet")
    parquet.write_table(pa.table({"url": ["http://a/b.jpg"]}), tmp_path / "u.parquet")
    refused(deeplake.InvalidArgumentError, "objects that URLs name are fetched", tmp_path / "u.parquet", urls="url")
    lists = [[{"bytes": file, "path": None} for file in row] for row in (FILES[:1], FILES[:2])]
    parquet.write_table(pa.table({"image": lists}), tmp_path / "m.parquet", compression="none")
    refused(deeplake.UnsupportedError, r"m\.parquet.*row 1 is a list with images of several", tmp_path / "m.parquet")
    parquet.write_table(pa.table({"i": pa.array([b"BM" * 40] * 3)}), tmp_path / "p.parquet", compression="none")
    refused(deeplake.InvalidArgumentError, r"no column has image files.*schema=", tmp_path / "p.parquet")
    bitmaps = [{"bytes": b"BM" * 40, "path": None}] * 3
    parquet.write_table(pa.table({"image": bitmaps}), tmp_path / "bmp.parquet", compression="none")
    refused(deeplake.InvalidArgumentError, "no column has image files", tmp_path / "bmp.parquet")
    refused(deeplake.InvalidArgumentError, "no column", prefixes, schema={"image": "generic"})
    broken = {"bytes": FILES[0][:40], "path": None}
    parquet.write_table(pa.table({"image": [broken]}), tmp_path / "b.parquet", compression="none")
    refused(deeplake.CorruptError, r"b\.parquet.*row 0", tmp_path / "b.parquet")
    with pytest.raises(deeplake.InvalidArgumentError, match=r"link.*of files; got no path"):
        deeplake.ingest({"n": [1]}, tmp_path / "new", link=True, verbose=False)


def test_rows_that_cannot_be_linked_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images = [{"bytes": file, "path": None} for file in FILES]
    images[3] = {"bytes": b"no image", "path": None}
    images[5] = {"bytes": b"", "path": None}
    parquet.write_table(pa.table({"image": images}), tmp_path / "a.parquet", compression="none")
    ds = deeplake.ingest(tmp_path / "a.parquet", tmp_path / "new", link=True, on_error="skip")
    assert ds["image"].bytes(range(len(ds))) == [file for i, file in enumerate(FILES) if i not in (3, 5)]
    told = capsys.readouterr().err
    assert "row 3" in told and "row 5" in told
    packed = table(tmp_path / "packed.parquet", compression="zstd", use_dictionary=False)
    with pytest.raises(deeplake.UnsupportedError, match=r"packed\.parquet.*row 0.*compressed"):
        deeplake.ingest(packed, tmp_path / "none", link=True, on_error="skip", verbose=False)
    assert not deeplake.exists(tmp_path / "none")


def test_the_row_at_fault_is_that_of_the_file(tmp_path: Path) -> None:
    images = [{"bytes": FILES[i % ROWS], "path": None} for i in range(3000)]
    images[2503] = images[2700] = {"bytes": b"no image", "path": None}
    source = tmp_path / "a.parquet"
    parquet.write_table(
        pa.table({"image": images}), source, compression="none", use_dictionary=False, row_group_size=500
    )
    with pytest.raises(deeplake.CorruptError, match=r"a\.parquet: row 2503 .*on_error"):
        deeplake.ingest(source, tmp_path / "new", link=True, verbose=False)


def test_command(tmp_path: Path) -> None:
    """A later run links the images of new files, and refuses to copy them."""
    source = table(tmp_path / "a.parquet", compression="none", use_dictionary=False, row_group_size=8)

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "deeplake", "create", str(tmp_path / "set"), f"from-{source.parent}", *options]
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"})

    done = run("--link", "--checkpoint", "8")
    assert done.returncode == 0, done.stderr
    other = run()
    assert other.returncode != 0 and "an import with link=true lies there, got false" in other.stderr
    table(tmp_path / "b.parquet", compression="none")
    more = run("--link")
    assert more.returncode == 0 and f"{ROWS} rows" in more.stdout + more.stderr, more.stderr
    ds = deeplake.open(tmp_path / "set")
    assert ds["image"].bytes(range(2 * ROWS)) == FILES + FILES
    assert len(ds.log()) > 3
