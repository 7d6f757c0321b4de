"""Files that file browsers, network disks and broken uploads leave in the folders of a dataset."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import deeplake
import pytest

NAMES = [".DS_Store", "._0", ".nfs000000000001", "Thumbs.db", "desktop.ini", "upload.part", "0~"]


def made(place: Path) -> deeplake.Dataset:
    ds = deeplake.create(place, schema={"x": {"dtype": "int64"}, "label": "class_label"})
    ds.extend({"x": [1, 2, 3], "label": ["a", "b", "a"]})
    ds.commit("rows")
    ds.tags.create("v1")
    ds.branches.create("side")
    ds[:1].save("first")
    return ds


def littered(place: Path, name: str) -> set[Path]:
    """Puts a file of this name into each folder of the dataset, and returns their paths."""
    folders = [path for path in place.rglob("*") if path.is_dir()]
    assert len(folders) > 6
    files = {folder / name for folder in folders}
    for file in files:
        file.write_bytes(b"x")
    extra = place / "log" / "@eaDir"
    extra.mkdir(exist_ok=True)
    (extra / name).write_bytes(b"x")
    return files | {extra / name}


@pytest.mark.parametrize("name", NAMES)
def test_no_operation_minds_them(name: str, tmp_path: Path) -> None:
    made(tmp_path / "ds").close()
    files = littered(tmp_path / "ds", name)
    with deeplake.open(tmp_path / "ds") as ds:
        assert sorted(ds.branches) == ["main", "side"] and list(ds.tags) == ["v1"]
        assert [view.name for view in ds.views()] == ["first"] and len(ds.load_view("first")) == 1
        ds.append({"x": 4, "label": "c"})
        ds.commit("beside them")
        assert [commit.message for commit in ds.log()][:2] == ["beside them", "rows"]
        ds.gc(older_than=timedelta(0))
        report = ds.fsck()
        assert report and report.orphans == 0
        assert {tmp_path / "ds" / key for key in report.foreign} == files
        assert ds["x"].numpy().tolist() == [1, 2, 3, 4]
    assert all(file.exists() for file in files)
    deeplake.copy(tmp_path / "ds", tmp_path / "copy", history=True)
    with deeplake.open(tmp_path / "copy") as copy:
        assert len(copy) == 4 and list(copy.tags) == ["v1"] and copy.fsck().foreign == ()
    deeplake.delete(tmp_path / "ds")
    assert all(file.exists() for file in files)


@pytest.mark.parametrize("name", [".DS_Store", "._x", "Thumbs.db"])
def test_a_place_with_them_is_vacant(name: str, tmp_path: Path) -> None:
    for folder in ("log", "data", "views"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(b"x")
    with deeplake.create(tmp_path, schema={"x": {"dtype": "int64"}}) as ds:
        ds.append({"x": 1})
        ds.commit()


def test_other_files_are_not(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "photo.jpg").write_bytes(b"x")
    with pytest.raises(deeplake.AlreadyExistsError, match=r"photo\.jpg"):
        deeplake.create(tmp_path)
