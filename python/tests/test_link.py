"""Linked samples in files of this machine."""

from __future__ import annotations

import io
import os
import pickle
import tarfile
from pathlib import Path

import deeplake
import numpy as np
import pytest
from conftest import encoded, picture


@pytest.fixture
def images(tmp_path: Path) -> deeplake.Dataset:
    ds = deeplake.create(tmp_path / "set")
    ds.create_tensor("images", "image.rgb", compression="jpeg")
    return ds


def test_linked_files_are_read_where_they_are(images, tmp_path):
    file = encoded(picture(1))
    (tmp_path / "a.jpg").write_bytes(file)
    (tmp_path / "shard.bin").write_bytes(b"head" + file + b"tail")
    images.append({"images": deeplake.link(tmp_path / "a.jpg")})
    images.extend(
        {"images": [deeplake.link(f"file://{tmp_path}/shard.bin", offset=4, length=len(file)), deeplake.read(file)]}
    )
    images.commit()
    assert images["images"].bytes([0, 1, 2]) == [file] * 3
    want = deeplake.read(file).array
    for batch in deeplake.open(tmp_path / "set").batches(3):
        assert all(np.array_equal(image, want) for image in batch["images"])
    images.update(1, {"images": deeplake.link(tmp_path / "a.jpg")})
    assert np.array_equal(images["images"][1], want)


def test_names_that_are_not_utf_8(images, tmp_path):
    """A name in Latin-1 is text with surrogates to Python; half an emoji is none."""
    file, name = encoded(picture(1)), os.fsdecode(b"caf\xe9.jpg")
    (tmp_path / name).write_bytes(file)
    images.append({"images": deeplake.link(tmp_path / name)})
    images.append({"images": deeplake.read(tmp_path / name)})
    images.commit()
    assert deeplake.open(tmp_path / "set")["images"].bytes([0, 1]) == [file] * 2
    (tmp_path / name).unlink()
    with pytest.raises(deeplake.CorruptError, match=r"caf.*is gone"):
        images["images"][0]
    for half in ("\ud83d", "a\udfff.jpg"):
        with pytest.raises(deeplake.InvalidArgumentError, match="half a character"):
            deeplake.link(half)


def test_a_file_that_has_changed_is_named(images, tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(encoded(picture(1)))
    images.append({"images": deeplake.link(path)})
    images.commit()
    path.write_bytes(encoded(picture(2)) + b"more")
    with pytest.raises(deeplake.CorruptError, match=r"a\.jpg.*has changed since it was linked"):
        images["images"][0]
    path.unlink()
    with pytest.raises(deeplake.CorruptError, match=r"a\.jpg.*is gone"):
        images["images"][0]


def test_links_are_values(tmp_path):
    link = deeplake.link("s3://bucket/a b", offset=3, length=4)
    assert (link.url, link.offset, link.length) == ("s3://bucket/a b", 3, 4)
    assert pickle.loads(pickle.dumps(link)) == link and hash(link) == hash(deeplake.link(link.url, offset=3, length=4))
    assert repr(link) == 'Link("s3://bucket/a b", offset=3, length=4)'
    assert deeplake.link(tmp_path / "x").url == f"file://{tmp_path}/x" and link != deeplake.link("s3://bucket/a b")


@pytest.mark.parametrize(
    ("url", "part", "wrong"),
    [("", {}, "URL"), (7, {}, "URL"), ("s3://b/x", {"offset": -1}, "offset"), ("s3://b/x", {"length": 0}, "length")],
)
def test_links_are_checked(url, part, wrong):
    with pytest.raises(deeplake.InvalidArgumentError, match=wrong):
        deeplake.link(url, **part)


def test_links_that_cannot_be_appended(images, tmp_path):
    (tmp_path / "text").write_text("no picture")
    for url, error in (
        (tmp_path / "none.jpg", deeplake.NotFoundError),
        (tmp_path / "text", deeplake.CorruptError),
        ("ftp://host/x.jpg", deeplake.UnsupportedError),
        ("s3://bucket", deeplake.InvalidArgumentError),
    ):
        with pytest.raises(error, match="row 0"):
            images.append({"images": deeplake.link(url)})
    assert len(images) == 0


def test_shards_are_indexed_in_place(tmp_path):
    from deeplake._cli.create import create

    folder = tmp_path / "shards"
    folder.mkdir()
    files = [encoded(picture(i)) for i in range(20)]
    for shard in range(2):
        with tarfile.open(folder / f"{shard}.tar", "w") as tar:
            for i in range(10):
                number = 10 * shard + i
                for kind, data in (("jpg", files[number]), ("cls", str(number % 3).encode()), ("json", b"[1]")):
                    member = tarfile.TarInfo(f"train/{number:04}.{kind}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
    create.main([str(tmp_path / "set"), f"from-{folder}", "--link"], standalone_mode=False)
    ds = deeplake.open(tmp_path / "set")
    assert len(ds) == 20 and list(ds.tensors) == ["images", "labels", "json"]
    assert sum(path.stat().st_size for path in (tmp_path / "set").rglob("*") if path.is_file()) < sum(map(len, files))
    seen = []
    for batch in ds.batches(5, shuffle=True, decode={"images": "bytes"}, collate="list", return_index=True):
        for row, image, label in zip(batch["_index"], batch["images"], batch["labels"], strict=True):
            assert bytes(image) == files[row] and label == row % 3
            seen.append(int(row))
    assert sorted(seen) == list(range(20)) and seen != sorted(seen)


def test_pictures_of_too_many_pixels_are_refused(images, tmp_path):
    file = encoded(picture(1))
    (tmp_path / "a.jpg").write_bytes(file)
    images.extend({"images": [deeplake.read(file), deeplake.link(tmp_path / "a.jpg")]})
    images.commit()
    h, w, _ = deeplake.read(file).shape
    strict = deeplake.open(tmp_path / "set", storage=deeplake.Storage(max_pixels=h * w - 1))
    for row in range(2):
        with pytest.raises(deeplake.UnsupportedError, match=rf"row {row}.*{h} x {w} pixels.*max_pixels"):
            strict["images"][row]
    for sample in (deeplake.read(file), deeplake.link(tmp_path / "a.jpg")):
        with pytest.raises(deeplake.UnsupportedError, match="max_pixels"):
            strict.append({"images": sample})
    exact = deeplake.open(tmp_path / "set", storage=deeplake.Storage(max_pixels=h * w))
    assert np.array_equal(exact["images"][0], deeplake.read(file).array)
