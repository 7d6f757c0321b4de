"""Exports: back in by an import, gone on with after kills, refused with a reason, and at the command line."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest
from conftest import encoded, picture
from PIL import Image
from pycocotools.coco import COCO
from test_annotations import coco_set, photographs, yolo_set
from test_export_formats import CLASSES, HTYPES, mixed, same, whole
from test_parquet import create

SHARDS = ("webdataset", "mds", "tfrecord", "parquet")


def tree(root: Path) -> dict[str, bytes]:
    """Returns all files below a folder, and asserts that no folder is empty."""
    files = {}
    for path in sorted(root.rglob("*")):
        if path.is_file():
            files[str(path.relative_to(root))] = path.read_bytes()
        else:
            assert any(path.iterdir()), path
    return files


def command(*args: Any) -> list[str]:
    return [sys.executable, "-m", "deeplake", "export", *map(str, args)]


def run(*args: Any, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command(*args), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code and "Traceback" not in done.stderr, done.stderr
    return done


def photos(root: Path, codec: str = "JPEG") -> Path:
    """Writes image files in folders of splits and classes."""
    number = 0
    for split, count in (("train", 5), ("test", 2)):
        for kind in ("cat", "dög"):
            (root / split / kind).mkdir(parents=True)
            for i in range(count):
                number += 1
                ending = codec.lower().replace("jpeg", "jpg")
                (root / split / kind / f"{i} é.{ending}").write_bytes(encoded(picture(number), codec))
    return root


def equal(mine: Any, theirs: Any, what: Any) -> None:
    """Compares values of rows: arrays, or lists of them."""
    if isinstance(theirs, list) and theirs and isinstance(theirs[0], np.ndarray):
        for one, other in zip(mine, theirs, strict=True):
            same(one, other, what)
    elif isinstance(theirs, np.ndarray | np.generic):
        same(mine, theirs, what)
    else:
        assert mine == theirs, what


def equal_sets(mine: deeplake.Dataset, theirs: deeplake.Dataset) -> None:
    """Compares datasets of the same files: tensors, views, and all values."""
    assert set(mine.tensors) == set(theirs.tensors) and len(mine) == len(theirs)
    assert {v.name: v.rows for v in mine.views()} == {v.name: v.rows for v in theirs.views()}
    for name in theirs.tensors:
        assert (mine[name].htype, mine[name].dtype) == (theirs[name].htype, theirs[name].dtype), name
        if theirs[name].htype == "class_label":
            assert mine[name].class_names == theirs[name].class_names
        for i in range(len(theirs)):
            equal(mine[i][name], theirs[i][name], (name, i))
    rows = list(range(len(theirs)))
    assert mine["images"].bytes(rows) == theirs["images"].bytes(rows)


@pytest.mark.parametrize("codec", ["JPEG", "PNG", "WEBP"])
def test_folders_come_back_as_they_were(tmp_path: Path, codec: str) -> None:
    root = photos(tmp_path / "in", codec)
    ds = deeplake.ingest(root, f"mem://export-of-{codec}", verbose=False)
    report = ds.export(tmp_path / "out", format="folder")
    assert tree(tmp_path / "out") == tree(root)
    assert (report.rows, report.files, set(report.splits)) == (14, 14, {"train", "test"})
    again = deeplake.ingest(tmp_path / "out", f"mem://export-of-{codec}-2", verbose=False)
    equal_sets(again, ds)
    assert again.source(range(14)) == ds.source(range(14))
    ds.export(tmp_path / "flat", format="folder", splits="none")
    assert {path.parent.name for path in (tmp_path / "flat").rglob("*.*")} == {"cat", "dög"}
    assert sorted(tree(tmp_path / "flat").values()) == sorted(tree(root).values())


def test_folders_of_arrays_and_rows_without_values(tmp_path: Path) -> None:
    ds = deeplake.create("mem://export-of-arrays")
    ds.create_tensor("pixels", "image", dtype="uint8")
    ds.create_tensor("kind", "class_label", class_names=["a", "b"])
    pixels = [picture(i, 5 + i, 6) for i in range(4)]
    ds.extend({"pixels": [*pixels[:3], None], "kind": [0, 1, None, 1]})
    ds.append({"pixels": picture(4)[..., :1], "kind": 0})  # uncommitted, as all others
    report = ds.export(tmp_path / "out", format="folder")
    assert report.note_lines() == [
        'kind: rows without a class lie in the folder "unlabeled"', "pixels: rows without an image have no file"
    ]  # fmt: skip
    assert list(tree(tmp_path / "out")) == ["a/00000000.png", "a/00000004.png", "b/00000001.png", "unlabeled/00000002.png"]  # fmt: skip
    for name, wanted in (("a/00000000", pixels[0]), ("b/00000001", pixels[1]), ("unlabeled/00000002", pixels[2])):
        same(np.asarray(Image.open(tmp_path / f"out/{name}.png")), wanted, name)
    same(np.asarray(Image.open(tmp_path / "out/a/00000004.png")), picture(4)[..., 0], "gray")
    ds.discard()


def test_coco_comes_back(tmp_path: Path) -> None:
    root = coco_set(tmp_path / "coco")
    ds = deeplake.ingest(root, "mem://export-of-coco", verbose=False)
    ds.export(tmp_path / "out", format="coco")
    equal_sets(deeplake.ingest(tmp_path / "out", "mem://export-of-coco-2", verbose=False), ds)
    was, now = tree(root), tree(tmp_path / "out")
    for split in ("train2017", "val2017"):
        names = [name for name in was if name.startswith(split)]
        assert len(names) == 12
        assert all(now[name.replace("2017", "", 1)] == was[name] for name in names)
        mine = json.loads(now[f"annotations/instances_{split.removesuffix('2017')}.json"])["annotations"]
        theirs = json.loads(was[f"annotations/instances_{split}.json"])["annotations"]
        people = json.loads(was[f"annotations/person_keypoints_{split}.json"])["annotations"]
        points = {one["id"]: one["keypoints"] for one in people}
        coco = COCO(root / f"annotations/instances_{split}.json")
        told = {one["id"]: one for one in mine}
        assert len(mine) == len(theirs) == len(told)
        for one in theirs:
            got = told[one["id"]]
            wanted = points.get(one["id"], [0] * 9)
            if isinstance(one["segmentation"], dict):  # other runs may stand for the same mask
                np.testing.assert_array_equal(coco.annToMask(got), coco.annToMask(one))
                got["segmentation"] = one["segmentation"]
            assert got == {**one, "keypoints": wanted, "num_keypoints": sum(v > 0 for v in wanted[2::3])}


def test_yolo_comes_back(tmp_path: Path) -> None:
    root = yolo_set(tmp_path / "yolo")
    ds = deeplake.ingest(root, "mem://export-of-yolo", verbose=False)
    ds.export(tmp_path / "out", format="yolo")
    equal_sets(deeplake.ingest(tmp_path / "out", "mem://export-of-yolo-2", verbose=False), ds)
    was, now = tree(root), tree(tmp_path / "out")
    assert {name: one for name, one in now.items() if name.startswith("images")} == {
        name: one for name, one in was.items() if name.startswith("images")
    }
    for name, text in now.items():
        if name.startswith("labels"):
            wanted = np.array(was.get(name, b"").split(), np.float64)
            np.testing.assert_allclose(np.array(text.split(), np.float64), wanted, rtol=1e-6)


def test_lines_of_yolo(tmp_path: Path) -> None:
    """Boxes and outlines in pixels become shares of the sides."""
    photographs(tmp_path / "in", ["a.jpg"])
    width, height = Image.open(tmp_path / "in/a.jpg").size
    for kind in ("bbox", "polygon"):
        ds = deeplake.create(f"mem://export-of-{kind}")
        ds.create_tensor("image", "image", compression="jpeg")
        ds.create_tensor("kinds", "class_label", class_names=["x", 'a "b"'])
        ds.create_tensor("where", kind)
        corners = np.float32([[0, 0], [width / 2, 0], [width / 2, height / 4]])
        where = np.float32([[0, 0, width / 2, height / 4]]) if kind == "bbox" else [corners]
        ds.append({"image": deeplake.read(tmp_path / "in/a.jpg"), "kinds": [1], "where": where})
        ds.commit()
        ds.export(tmp_path / kind, format="yolo")
        wanted = "1 0.25 0.125 0.5 0.25\n" if kind == "bbox" else "1 0 0 0.5 0 0.5 0.25\n"
        assert (tmp_path / kind / "labels/00000000.txt").read_text() == wanted
        told = 'train: images\nval: images\nnames:\n  0: "x"\n  1: "a \\"b\\""\n'
        assert (tmp_path / kind / "data.yaml").read_text() == told


@pytest.mark.parametrize("kind", SHARDS)
def test_shards_come_back(tmp_path: Path, kind: str) -> None:
    """Values, htypes and names of classes, by the command line."""
    view = whole()
    names = [name for name in HTYPES if name != "shapes" or kind == "mds"]
    view.export(tmp_path / "out", format=kind, tensors=names, shard_bytes=4096)
    assert len(list((tmp_path / "out").rglob("*.*"))) > 5
    create(str(tmp_path / "lake"), f"from-{tmp_path / 'out'}")
    again = deeplake.open(tmp_path / "lake")
    rows = [view[i] for i in range(len(view))]
    rows = [row for split in ("train", "val") for row in rows if row["split"] == split]
    own = {"image": "images", "label": "labels"} if kind == "webdataset" else {}
    assert again[own.get("label", "label")].class_names == CLASSES and len(again) == len(rows)
    assert {v.name: v.rows for v in again.views()} == {"train": 7, "val": 3}
    order = {str(row["n/int32"]): row for row in rows}
    for name in names:
        mine = own.get(name, name.replace("/", "_") if kind == "webdataset" else name)
        if name == "split" or (kind, name) == ("webdataset", "raw"):
            continue  # views have the former; an import makes nothing of the latter
        flat = kind == "tfrecord" and name in ("boxes", "tags")
        if kind != "webdataset" and not flat and (kind, name) != ("mds", "tags"):
            assert (again[mine].htype, again[mine].dtype) == (mixed()[name].htype, mixed()[name].dtype), name
        for i in range(len(again)):
            wanted = order[str(again[i]["n_int32" if kind == "webdataset" else "n/int32"])][name]
            got = again[mine][i]
            if flat and name == "boxes":
                wanted = wanted.ravel()
            if (kind, name) in (("webdataset", "half"), ("tfrecord", "n/float64")):
                with np.errstate(over="ignore"):
                    wanted = wanted.astype("float32").astype(got.dtype)
            if name in ("seg", "art", "image") or (kind == "webdataset" and name == "when"):
                got, wanted = np.squeeze(got), wanted.view("int64") if name == "when" else wanted
                same(got, np.squeeze(wanted), (name, i))
            else:
                equal(got, wanted, (name, i))


def many(place: Path, rows: int = 400) -> str:
    """Writes a dataset of pictures with boxes and texts."""
    ds = deeplake.create(place)
    ds.create_tensor("images", "image", compression="jpeg")
    ds.create_tensor("boxes", "bbox")
    ds.create_tensor("text", "text")
    files = [deeplake.read(encoded(picture(i))) for i in range(20)]
    rng = np.random.default_rng(1)
    for _ in range(rows // 20):
        boxes = [rng.random((2, 4), dtype=np.float32) for _ in range(20)]
        ds.extend({"images": files, "boxes": boxes, "text": ["x" * 500] * 20})
    ds.commit()
    return str(place)


@pytest.mark.parametrize(
    ("kind", "moments"), [("mds", (1, 100)), ("webdataset", (40,)), ("parquet", (100,)), ("coco", (10, 200))]
)
def test_kills(tmp_path: Path, kind: str, moments: tuple[int, ...]) -> None:
    """An export that was killed goes on, and all files are those of one that was not."""
    uri, out, draw, kills = many(tmp_path / "lake"), tmp_path / "out", random.Random(4), 0
    options = ["--format", kind, *(["--shard-size", "2K"] if kind != "coco" else [])]
    ds, size = deeplake.open(uri), None if kind == "coco" else 2048
    ds.export(tmp_path / "whole", format=kind, shard_bytes=size)
    wanted = tree(tmp_path / "whole")
    for least in moments:  # files in the place
        running = subprocess.Popen(command(uri, out, *options), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while running.poll() is None and sum(len(files) for *_, files in os.walk(out)) < least:
            time.sleep(0.001)
        try:
            running.wait(timeout=draw.random() * 0.02)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
            kills += (out / ".export").exists()
    assert kills > 0
    report = ds.export(out, format=kind, shard_bytes=size)
    assert tree(out) == wanted and report.bytes == sum(map(len, wanted.values()))
    assert report.rows == 400 and report.files == len(wanted) and (report.resumed > 0) == (kind != "coco")


def test_another_export_is_refused(tmp_path: Path) -> None:
    uri, out = many(tmp_path / "lake", 200), tmp_path / "out"
    options = ["--format", "mds", "--shard-size", "2K"]
    running = subprocess.Popen(command(uri, out, *options), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while running.poll() is None and not list(out.rglob("part-*.json")):
        time.sleep(0.001)
    running.kill()
    running.wait()
    before = tree(out)
    assert ".export/plan.json" in before
    ds = deeplake.open(uri)
    for view, kind, given, reason in (
        (ds, "tfrecord", 2048, 'format "mds"'),
        (ds, "mds", 4096, "with other options"),
        (ds[10:], "mds", 2048, "of other rows, or of another version"),
        (deeplake.open(many(tmp_path / "lake2", 200)), "mds", 2048, "of another dataset"),
    ):
        with pytest.raises(deeplake.AlreadyExistsError) as told:
            view.export(out, format=kind, shard_bytes=given)
        assert f"the place has a part of another export ({reason}); name an empty one, or remove" in str(told.value)
    ds.append(ds[0])
    with pytest.raises(deeplake.AlreadyExistsError, match="uncommitted rows cannot be continued"):
        ds.export(out, format="mds", shard_bytes=2048)
    ds.commit()
    told = run(uri, out, *options, code=1).stderr
    assert "the place has a part of another export (of other rows, or of another version)" in told
    assert tree(out) == before
    ds.close()
    report = json.loads(run(uri, out, *options, "--at", "1", "--json").stdout)
    assert report["rows"] == 200 and ".export/plan.json" not in tree(out)
    with pytest.raises(deeplake.AlreadyExistsError, match=r'the place has files, such as ".*"; name an empty one'):
        deeplake.open(uri).export(out, format="mds")


@pytest.fixture(scope="module")
def small() -> deeplake.Dataset:
    ds = deeplake.create("mem://export-errors")
    ds.create_tensor("words", "text")
    ds.create_tensor("parts", "sequence[generic]", dtype="int32")
    ds.create_tensor("pixels", "image", dtype="uint8")
    ds.append({"words": "a", "parts": [np.zeros(2, np.int32)], "pixels": picture(1)})
    ds.append({"words": None, "parts": [], "pixels": picture(2)})
    ds.commit()
    return ds


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"format": "webdatasets"}, "InvalidArgumentError", r'format is "webdatasets", want folder, .*, yolo; did you mean "webdataset"'),
        ({"format": "coco", "tensors": ["words"]}, "InvalidArgumentError", "COCO is of images, and there is no tensor of htype image; take another format"),
        ({"format": "folder", "tensors": ["words"]}, "InvalidArgumentError", "folders are of images or videos, and there is no tensor of htype image"),
        ({"format": "yolo"}, "InvalidArgumentError", "YOLO is of boxes or outlines, and there is no tensor of htype bbox or polygon; for classes of images, take the format folder"),
        ({"format": "mds", "tensors": ["words"]}, "UnsupportedError", r'row 1 of tensor "words" has no value, and MDS has none; leave out the row by a query \(WHERE words IS NOT NULL\)'),
        ({"format": "mds", "tensors": ["parts"]}, "UnsupportedError", 'tensor "parts": MDS has no lists of arrays; leave it out by tensors='),
        ({"format": "tfrecord"}, "UnsupportedError", 'tensor "parts": an example has no lists of arrays; leave it out by tensors='),
        ({"format": "mds", "tensors": ["word"]}, "NotFoundError", r'there is no tensor "word".*did you mean "words"'),
        ({"format": "mds", "tensors": ["words", "words"]}, "InvalidArgumentError", 'tensor "words" is named twice'),
        ({"format": "mds", "tensors": []}, "InvalidArgumentError", "there are no tensors to write"),
        ({"format": "mds", "tensors": "abc"}, "InvalidArgumentError", r'tensors is "abc", want a list of names, such as \["abc"\]'),
        ({"format": "mds", "splits": "all"}, "InvalidArgumentError", 'splits is \'all\', want "auto" or "none"'),
        ({"format": "mds", "shard_bytes": 1.5}, "InvalidArgumentError", "shard_bytes is 1.5, want an int"),
        ({"format": "mds", "shard_bytes": 10}, "InvalidArgumentError", "shard_bytes is 10, want 1024 to 2147483648"),
        ({"format": "coco", "shard_bytes": 4096}, "InvalidArgumentError", "shard_bytes is 4096, and coco has no shards; leave it out"),
    ],
)  # fmt: skip
def test_errors(small: deeplake.Dataset, tmp_path: Path, options: dict[str, Any], kind: str, message: str) -> None:
    with pytest.raises(getattr(deeplake, kind), match=message):
        small.export(tmp_path / "out", **options)


def test_places_that_are_refused(small: deeplake.Dataset, tmp_path: Path) -> None:
    with pytest.raises(deeplake.InvalidArgumentError, match="the view has no rows, and files of no rows tell nothing"):
        small[:0].export(tmp_path / "out", format="webdataset")
    assert not (tmp_path / "out").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes.txt").write_text("mine")
    with pytest.raises(deeplake.AlreadyExistsError, match=r'the place has files, such as "notes\.txt"; name an empty one'):  # fmt: skip
        small.export(tmp_path / "full", format="webdataset")
    assert tree(tmp_path / "full") == {"notes.txt": b"mine"}
    ds = deeplake.create(tmp_path / "lake", schema={"x": {"dtype": "int32"}})
    ds.append({"x": 1})
    ds.commit()
    before = tree(tmp_path / "lake")
    for inside in (tmp_path / "lake/out", tmp_path / "lake", f"file://{tmp_path}/lake/x/../out"):
        with pytest.raises(deeplake.InvalidArgumentError, match=r"the place lies inside the dataset .*; name another"):
            ds.export(inside, format="webdataset")
    assert tree(tmp_path / "lake") == before
    assert ds.export(tmp_path / "lake-2", format="webdataset").rows == 1


def test_command_line(tmp_path: Path) -> None:
    ds = deeplake.ingest(photos(tmp_path / "in"), tmp_path / "lake", verbose=False)
    ds.close()
    lake = tmp_path / "lake"
    done = run(lake, tmp_path / "all", "--format", "webdataset")
    first, splits = done.stdout.splitlines()[:2]
    assert first.startswith(f"exported {tmp_path / 'all'}: 14 rows, 3 files, ") and done.stderr == ""
    assert splits.strip() in ("splits: train, test", "splits: test, train")
    done = run(lake, tmp_path / "some", "--format", "tfrecord", "--query", "SELECT * WHERE labels = 'cat'", "--json", "--splits", "none", "--tensors", "labels, images")  # fmt: skip
    report = json.loads(done.stdout)
    assert (report["rows"], report["splits"], report["format"], report["resumed"]) == (7, [], "tfrecord", 0)
    assert report["uri"] == str(tmp_path / "some") and report["files"] == 2 and report["notes"] == {}
    assert list(tree(tmp_path / "some")) == ["00000-of-00001.tfrecord", "schema.json"]
    done = run(lake, tmp_path / "v", "--format", "folder", "--view", "test")
    assert ": 4 rows, 4 files, " in done.stdout and len(tree(tmp_path / "v")) == 4
    wanted = ("SELECT images, labels * 2 AS twice WHERE labels = 1", "--format", "parquet", "--json")
    report = json.loads(run(lake, tmp_path / "q", "--query", *wanted).stdout)
    again = deeplake.ingest(tmp_path / "q", "mem://export-of-a-query", verbose=False)
    assert report["rows"] == 7 and again["twice"].numpy().tolist() == [2] * 7
    told = run(lake, tmp_path / "x", "--format", "yoloo", code=1).stderr
    assert 'format is "yoloo"' in told and 'did you mean "yolo"' in told and not (tmp_path / "x").exists()
    assert "give --query or --view, not both" in run(lake, "x", "--format", "mds", "--query", "a", "--view", "b", code=2).stderr  # fmt: skip
    assert 'got "1X", want a number of bytes, such as 256M' in run(lake, "x", "--format", "mds", "--shard-size", "1X", code=2).stderr  # fmt: skip


def test_meanings_of_members_come_back(tmp_path: Path) -> None:
    """WebDataset has arrays and numbers; schema.json says what they mean."""
    ds = deeplake.create("mem://export-of-meanings", overwrite=True)
    coords = {"coords": {"mode": "LTWH", "type": "pixel"}}
    ds.create_tensor("images", "image.rgb", compression="jpeg")
    ds.create_tensor("boxes", "bbox", dtype="float32", info=coords)
    ds.create_tensor("kinds", "class_label", class_names=["cat", "dog"])
    ds.create_tensor("labels", "class_label", class_names=["x", "y"])
    ds.create_tensor("vector", "embedding", dtype="float32")
    ds.create_tensor("mask", "segment_mask", dtype="uint8", compression="png")
    for n in range(4):
        ds.append({
            "images": deeplake.read(encoded(picture(n))), "boxes": np.ones((n, 4), np.float32), "labels": n % 2,
            "kinds": np.zeros(n, np.int64) + 1, "vector": np.full(3, n, np.float32), "mask": np.full((4, 5), n, np.uint8),
        })  # fmt: skip
    ds.commit()
    ds.export(tmp_path / "out", format="webdataset")
    back = deeplake.ingest(tmp_path / "out", tmp_path / "back", verbose=False)
    for name in ("boxes", "kinds", "labels", "vector", "mask"):
        assert back[name].htype == ds[name].htype and back[name].class_names == ds[name].class_names, name
        assert [one.tolist() for one in back[name].numpy(ragged="list")] == [
            one.tolist() for one in ds[name].numpy(ragged="list")
        ], name
    assert back["boxes"].info == coords
