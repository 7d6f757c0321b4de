"""The import of a folder through the native face: progress, report, cancellation, errors."""

from __future__ import annotations

import io

import numpy as np
import pytest
from deeplake import _errors, _native

image = pytest.importorskip("PIL.Image")


@pytest.fixture
def folder(tmp_path):
    """Two classes of three pictures, and a file that is none."""
    for name in ("cat", "dog"):
        (tmp_path / "in" / name).mkdir(parents=True)
        for i in range(3):
            file = io.BytesIO()
            image.fromarray(np.full((16, 12, 3), 40 * i, dtype=np.uint8)).save(file, "JPEG")
            (tmp_path / "in" / name / f"{i}.jpg").write_bytes(file.getvalue())
    (tmp_path / "in" / "cat" / "notes.txt").write_text("no picture")
    return tmp_path / "in"


def finish(job):
    for _ in range(1000):
        progress = job.poll(1)
        if progress["done"]:
            return progress
    raise AssertionError("the import does not end")


def test_folder(folder, tmp_path):
    uri = str(tmp_path / "out")
    job = _native.ingest(uri, str(folder), {"message": "pictures", "workers": None})
    assert job.alive
    progress = finish(job)
    assert progress["rows"] == 6 and progress["report"]["classes"] == ["cat", "dog"]
    assert [s["path"] for s in progress["report"]["skips"]] == ["cat/notes.txt"]
    assert finish(job)["done"]  # asking again is no error
    job.close()
    job.close()
    assert not job.alive
    with pytest.raises(_errors.ClosedError):
        job.poll()
    view = _native.open(uri).view()
    assert len(view) == 6
    column = view.column("images")
    assert column.bytes(0) in [f.read_bytes() for f in folder.rglob("*.jpg")]


@pytest.mark.parametrize(
    ("source", "options", "error"),
    [
        ("in", {"worker": 1}, _errors.InvalidArgumentError),
        ("nowhere", None, _errors.NotFoundError),
    ],
)
def test_wrong_arguments(folder, tmp_path, source, options, error):
    with pytest.raises(error):
        finish(_native.ingest(str(tmp_path / "out"), str(tmp_path / source), options))
    assert not _native.exists(str(tmp_path / "out"))


def test_cancel(folder, tmp_path):
    job = _native.ingest(str(tmp_path / "out"), str(folder))
    job.cancel()
    try:
        finish(job)  # it may have been over already
    except _errors.CanceledError as e:
        assert e.status == 12
    job.close()
