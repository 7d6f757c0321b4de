"""Bad input to a whole dataset: a clear error, nothing lost, no hang."""

from __future__ import annotations

import os
import shutil
import struct

import deeplake
import numpy as np
import pytest
from conftest import encoded, picture

ROWS = 6


@pytest.fixture
def folder(tmp_path):
    """A dataset of two commits on disk, closed."""
    uri = tmp_path / "set"
    with deeplake.create(uri, schema={"x": {"dtype": "float32"}, "i": {"htype": "image", "compression": "jpeg"}}) as ds:
        for _ in range(2):
            ds.extend(
                {
                    "x": np.arange(3000, dtype=np.float32).reshape(3, 1000),
                    "i": [deeplake.read(encoded(picture(i))) for i in range(3)],
                }
            )
            ds.commit()
    return uri


def read_everything(uri) -> int:
    with deeplake.open(uri) as ds:
        for batch in ds.batches(4):
            assert np.isfinite(batch["x"]).all()
        ds["i"].bytes(slice(None))
        ds.log()
        return len(ds)


def test_missing_and_foreign_places(tmp_path):
    with pytest.raises(deeplake.NotFoundError):
        deeplake.open(tmp_path / "none")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("not ours")
    with pytest.raises(deeplake.NotFoundError):
        deeplake.open(tmp_path / "full")
    with pytest.raises(deeplake.Error):
        deeplake.open(tmp_path / "full" / "file")
    assert not deeplake.exists(tmp_path / "full")
    with pytest.raises(deeplake.NotFoundError):
        deeplake.delete(tmp_path / "full")
    assert (tmp_path / "full" / "file").read_text() == "not ours"


def objects(folder) -> list:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)


def test_every_object_when_it_is_damaged(folder, tmp_path):
    """Cut off, emptied, removed, or with a bit flipped anywhere: an error or the same rows, never others."""
    assert read_everything(folder) == ROWS
    for number, path in enumerate(objects(folder)):
        good = path.read_bytes()
        places = sorted({0, 1, len(good) // 3, len(good) // 2, len(good) - 1})
        damages = [good[: len(good) // 2], b"", None]
        damages += [good[:at] + bytes([good[at] ^ (1 << number % 8)]) + good[at + 1 :] for at in places]
        for damage in damages:
            if damage is None:
                path.unlink()
            else:
                path.write_bytes(damage)
            try:
                assert read_everything(folder) in (0, ROWS // 2, ROWS)
            except deeplake.Error as err:
                assert not isinstance(err, deeplake.InternalError), err
            path.write_bytes(good)
    assert read_everything(folder) == ROWS


def test_a_newer_format_is_refused(folder):
    (top,) = [path for path in objects(folder) if path.name == "tsf.json"]
    text = top.read_text()
    assert '"format":2' in text
    top.write_text(text.replace('"format":2', '"format":3'))
    with pytest.raises(deeplake.UnsupportedError, match="3"):
        deeplake.open(folder)


@pytest.mark.parametrize(
    ("rows", "kind", "wrong"),
    [
        ({"x": np.zeros((2, 3), np.float32)}, "InvalidArgumentError", '"i"'),
        ({"x": [[1.0]], "i": [None], "y": [1]}, "NotFoundError", '"y"'),
        ({"x": [[1.0]], "im": [None]}, "NotFoundError", '"im"'),
        ({"x": np.zeros((2, 3), np.float32), "i": [None]}, "InvalidArgumentError", "2"),
        ([{"x": [1.0], "i": None}, {"x": [1.0], "i": "text"}], "TensorTypeError", "row 1"),
        ([{"x": [1.0]}, {"x": [1.0], "i": None}], "InvalidArgumentError", 'row 0 has no value for tensor "i"'),
        ([3], "InvalidArgumentError", "row 0 is a int"),
        ({"x": np.zeros((1, 3), "datetime64[s]"), "i": [None]}, "TensorTypeError", r"timestamp\[s\]"),
        ({"x": np.array([object()]), "i": [None]}, "Error", "object"),
        ({"x": "text", "i": [None]}, "Error", "x"),
        ({"x": 5, "i": [None]}, "Error", "x"),
        ({"x": np.float32(5), "i": [None]}, "Error", "x"),
        ({"x": [[1.0]], "i": [b"no image"]}, "TensorTypeError", "row 0"),
        ({"x": [[1.0]], "i": [deeplake.read(b"no image")]}, "Error", "row 0"),
    ],
)
def test_bad_rows(folder, rows, kind, wrong):
    with deeplake.open(folder) as ds:
        with pytest.raises(getattr(deeplake, kind), match=wrong):
            ds.extend(rows)
        assert len(ds) == ROWS and not ds.dirty


def test_an_image_header_of_absurd_size(folder):
    png = encoded(picture(0), "PNG")
    huge = png[:16] + struct.pack(">II", 100_000, 100_000) + png[24:]
    with deeplake.open(folder) as ds, pytest.raises(deeplake.Error):
        ds.append({"x": [1.0], "i": deeplake.read(huge)})
    with pytest.raises(deeplake.Error):
        _ = deeplake.read(huge).array


def test_out_of_range_rows(folder):
    with deeplake.open(folder) as ds:
        for use in (
            lambda: ds[ROWS], lambda: ds["x"][-ROWS - 1], lambda: ds["x"].numpy([0, ROWS]), lambda: ds.delete(ROWS),
            lambda: ds.update(ROWS, {"x": [1.0]}), lambda: ds["i"].bytes([ROWS]), lambda: ds[[ROWS]],
        ):  # fmt: skip
            with pytest.raises(IndexError, match=f"out of range for {ROWS} rows"):
                use()


def test_a_dataset_that_is_deleted_under_a_reader(folder):
    ds = deeplake.open(folder)
    shutil.rmtree(folder)
    with pytest.raises(deeplake.Error):
        ds["x"].numpy()
        list(ds.batches(2))
    ds.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to a read-only directory")
def test_a_read_only_directory(folder):
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o500)
    with deeplake.open(folder) as ds:
        ds.append({"x": np.zeros(5, np.float32), "i": None})
        with pytest.raises((deeplake.StorageError, deeplake.ReadOnlyError)):
            ds.commit()
        ds.discard()
    assert read_everything(folder) == ROWS


def test_a_file_where_the_dataset_would_go(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(deeplake.Error):
        deeplake.create(tmp_path / "file" / "set")


@pytest.mark.parametrize("call", [deeplake.create, deeplake.open])
def test_unknown_arguments(call):
    with pytest.raises(deeplake.InvalidArgumentError, match='unknown argument "storag"; did you mean "storage"'):
        call("mem://x", storag=None)


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [({"branch": "dev"}, "NotFoundError"), ({"storage": {}}, "InvalidArgumentError"),
     ({"at": ""}, "InvalidArgumentError"),
     ({"at": 1.5}, "InvalidArgumentError"), ({"at": True}, "InvalidArgumentError"), ({"at": "no-commit"}, "Error"),
     ({"at": 10**30}, "Error"), ({"at": -1}, "Error")],
)  # fmt: skip
def test_bad_versions(folder, arguments, kind):
    with pytest.raises(getattr(deeplake, kind)):
        deeplake.open(folder, **arguments)
