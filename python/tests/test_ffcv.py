"""Files of FFCV in the core, as their layout gives the values."""

from __future__ import annotations

import struct
import uuid
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest
from betons import FIELDS, PAGE, Field, encoded, pixels, read, samples, write
from test_parquet import create


def place() -> str:
    return f"mem://ffcv-{uuid.uuid4().hex}"


def same(mine: Any, theirs: Any) -> bool:
    if isinstance(theirs, np.ndarray):
        array = np.asarray(mine)
        return array.dtype == theirs.dtype.newbyteorder("=") and np.array_equal(array, theirs)
    if isinstance(theirs, bytes):
        return bytes(mine) == theirs
    if isinstance(theirs, dict):
        return bool(mine == theirs)
    return bool(mine.item() == theirs)


def check(ds: deeplake.Dataset, path: Path, files: tuple[str, ...] = ("image",)) -> None:
    wanted = read(path)
    assert set(ds.tensors) == set(wanted)
    for name, values in wanted.items():
        assert len(ds) == len(values)
        mine = ds[name].bytes(range(len(values))) if name in files else list(ds[name])
        for row, (one, other) in enumerate(zip(mine, values, strict=True)):
            assert same(one, other), (name, row)


@pytest.mark.parametrize("workers", [1, 3])
def test_values_are_those_of_the_layout(tmp_path: Path, workers: int) -> None:
    path = tmp_path / "a.beton"
    write(path, FIELDS, samples(700), workers=workers)
    ds = deeplake.ingest(path, place(), verbose=False)
    check(ds, path)
    assert {name: ds[name].htype for name in ("image", "pixels", "meta", "caption", "mask")} == {
        "image": "image",
        "pixels": "image",
        "meta": "json",
        "caption": "generic",
        "mask": "generic",
    }
    assert ds["caption"].dtype == "bytes" and ds["turned"].dtype == "int32" and ds["flags"].dtype == "bool"
    assert "a name that is c" in ds.tensors  # FFCV cuts names
    some = deeplake.ingest(path, place(), columns=["label", "caption"], schema={"caption": "generic"}, verbose=False)
    assert some["label"].numpy().tolist() == read(path)["label"]


@pytest.mark.parametrize("first", [0, 1])
def test_images_of_both_modes(tmp_path: Path, first: int) -> None:
    """Pixels become PNG files beside JPEG files, so that these stay as they are."""
    path = tmp_path / "a.beton"
    rows = [[encoded(pixels(i)) if i % 3 != first else pixels(i), i] for i in range(60)]
    write(path, {"image": Field(2), "label": Field(1)}, rows)
    ds = deeplake.ingest(path, place(), verbose=False)
    for i, (image, _) in enumerate(rows):
        stored = ds["image"].bytes(i)
        if isinstance(image, bytes):
            assert stored == image
        else:
            assert stored[:4] == b"\x89PNG" and np.array_equal(ds["image"][i], image)


def test_a_folder_and_its_command(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    fields = {"label": Field(1), "image": Field(2)}
    for k, split in enumerate(("train", "val")):
        write(tmp_path / "set" / f"{split}.beton", fields, [[i + 100 * k, encoded(pixels(i))] for i in range(20)])
    report = create(str(tmp_path / "lake"), f"from-{tmp_path / 'set'}", "--checkpoint", "7")
    assert (report["rows"], report["format"]) == (40, "ffcv")
    ds = deeplake.open(tmp_path / "lake")
    assert ds["label"].numpy().tolist() == [*range(20), *range(100, 120)]
    again = create(str(tmp_path / "lake"), f"from-{tmp_path / 'set'}")
    assert (again["added"], again["unchanged"]) == (0, 2)


def test_files_are_known_by_their_content(tmp_path: Path) -> None:
    path = tmp_path / "cifar.dat"
    write(path, {"label": Field(1), "x": Field(4, (4,), "<f2")}, [[i, np.ones(4, "<f2") * i] for i in range(9)])
    check(deeplake.ingest(path, place(), verbose=False), path)
    (tmp_path / "other.dat").write_bytes(struct.pack("<HHIQQ", 2, 1, 1000, 1, 2000) + bytes(3000))
    with pytest.raises(deeplake.InvalidArgumentError, match="its names tell no format"):
        deeplake.ingest(tmp_path / "other.dat", place(), verbose=False)


def test_images_stay_where_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.beton"
    write(path, FIELDS, samples(130), workers=2)
    ds = deeplake.ingest(path, tmp_path / "linked", link=True, verbose=False)
    check(ds, path)
    path.rename(tmp_path / "b.beton")
    with pytest.raises(deeplake.CorruptError, match="is gone"):
        ds["image"][0]
    assert np.array_equal(ds["pixels"][0], pixels(1)) and ds["label"][1] == -2
    write(path, {"image": Field(2)}, [[pixels(i)] for i in range(3)])
    with pytest.raises(deeplake.InvalidArgumentError, match="no column has image files"):
        deeplake.ingest(path, tmp_path / "raw", link=True, verbose=False)


def patched(whole: bytes, at: int, form: str, *values: int) -> bytes:
    return whole[:at] + struct.pack(form, *values) + whole[at + struct.calcsize(form) :]


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "a.beton"
    write(path, {"image": Field(2), "label": Field(1)}, [[encoded(pixels(i)), i] for i in range(10)])
    whole = path.read_bytes()
    records, table = 24 + 2 * 1041, struct.unpack_from("<Q", whole, 16)[0]
    assert table == 2 * PAGE and len(whole) == table + 10 * 24
    for name, data, words in (
        ("nothing", b"", "it has 0 bytes, and a header alone 24"),
        ("a header", whole[:20], "it has 20 bytes"),
        ("cut", whole[: len(whole) - 1], "cut or damaged"),
        ("no table", whole[: table - 5], "cut or damaged"),
        ("a table that is cut", whole[: len(whole) - 24], "sample 0 has a JPEG file at byte 2097152, where the table"),
        ("not ended", patched(whole, 16, "<Q", 0), "its writer did not end"),
        ("a version", patched(whole, 0, "<H", 3), "it has version 3, want 2"),
        ("pages", patched(whole, 4, "<I", 12345), "its pages have 12345 bytes, want a power of two"),
        ("fields", patched(whole, 2, "<H", 60000), "it states 60000 fields, want 1 to 1024"),
        ("samples", patched(whole, 8, "<Q", 1 << 62), "it states 4611686018427387904 samples of 24 bytes"),
        ("a custom field", patched(whole, 24, "<B", 255), 'field "image" has a custom type'),
        ("another field", patched(whole, 24, "<B", 9), 'field "image" has type 9, want a float'),
        ("a mode", patched(whole, records, "<B", 7), "sample 0 has an image of mode 7"),
        (
            "a position",
            patched(whole, records + 5, "<Q", 1 << 60),
            "sample 0 has a JPEG file at byte 1152921504606846976",
        ),
        ("an allocation", patched(whole, table + 16, "<Q", 1 << 50), "want at most 2097152 within"),
        ("twice", patched(whole, table + 8, "<Q", 2 * PAGE - 9), "within 2097152 to 4194304"),
    ):
        path.write_bytes(data)
        with pytest.raises(deeplake.Error, match=words) as raised:
            deeplake.ingest(path, place(), verbose=False)
        assert "a.beton" in str(raised.value), name
        assert not isinstance(raised.value, deeplake.InternalError)
    path.write_bytes(patched(whole, records + 3 * 24, "<B", 7))
    ds = deeplake.ingest(path, place(), on_error="skip", verbose=False)
    assert ds["label"].numpy().tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    report = create(str(tmp_path / "lake"), f"from-{path}", "--on-error", "skip")
    assert report["skipped"] == 1 and "sample 3 has an image of mode 7" in report["skips"][0]["reason"]


def test_dtypes_that_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.beton"
    for dtype in ("<c8", "<U3", "<M8[s]", [("x", "<i4"), ("y", "<f4")]):
        value = np.zeros(2, dtype)
        write(path, {"label": Field(1), "x": Field(4, (2,), dtype)}, [[i, value] for i in range(3)])
        with pytest.raises(deeplake.UnsupportedError, match=r'a\.beton: field "x" has arrays of the dtype.*columns='):
            deeplake.ingest(path, place(), verbose=False)
        ds = deeplake.ingest(path, place(), columns=["label"], verbose=False)
        assert ds["label"].numpy().tolist() == [0, 1, 2]
