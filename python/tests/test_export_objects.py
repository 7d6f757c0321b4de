"""Exports of objects that files of COCO, YOLO and others hold otherwise: nothing is lost without a note."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest

IMAGE = {"htype": "image", "compression": "png"}
BOXES = {"htype": "bbox", "info": {"coords": {"mode": "LTRB", "type": "pixel"}}}
KINDS = {"htype": "class_label", "class_names": ["cat", "dog"]}
PIXELS = np.zeros((40, 60, 3), np.uint8)
ONE = np.array([[1, 1, 5, 5]], np.float32)


def made(tmp_path: Path, schema: dict[str, Any], **columns: list[Any]) -> deeplake.Dataset:
    """Returns a dataset of these columns, with an image in each row."""
    rows = len(next(iter(columns.values())))
    ds = deeplake.create(tmp_path / "ds", schema={"images": IMAGE, **schema})
    ds.extend({"images": [PIXELS] * rows, **columns})
    ds.commit()
    return ds


def coco(ds: deeplake.Dataset, tmp_path: Path) -> tuple[dict[str, Any], list[str]]:
    """Returns the document of an export, and the notes."""
    report = ds.export(tmp_path / "out", format="coco")
    return json.loads((tmp_path / "out/annotations/instances.json").read_text()), report.note_lines()


@pytest.mark.parametrize("format", ["coco", "yolo"])
def test_objects_without_classes_get_none(format: str, tmp_path: Path) -> None:
    ds = made(tmp_path, {"boxes": BOXES, "labels": KINDS}, boxes=[ONE], labels=[None])
    with pytest.raises(
        deeplake.InvalidArgumentError, match='row 0: it has 1 objects, and tensor "labels" has no classes'
    ):
        ds.export(tmp_path / "out", format=format)


@pytest.mark.parametrize("axes", [2, 3])
def test_masks_have_boxes_and_areas(axes: int, tmp_path: Path) -> None:
    mask = np.zeros((40, 60, 1), bool)
    mask[2:6, 3:9] = True
    document, notes = coco(made(tmp_path, {"m": "binary_mask"}, m=[mask if axes == 3 else mask[..., 0]]), tmp_path)
    (found,) = document["annotations"]
    assert (found["bbox"], found["area"], notes) == ([3, 2, 6, 4], 24, [])
    assert document["categories"] == [{"id": 1, "name": "object"}]


def test_outlines_have_boxes_and_areas(tmp_path: Path) -> None:
    square = np.array([[1, 1], [5, 1], [5, 4], [1, 4], [np.nan, np.nan], [10, 10], [12, 10], [12, 12]], np.float32)
    line = np.array([[1, 1], [2, 2]], np.float32)
    document, notes = coco(made(tmp_path, {"p": "polygon"}, p=[[square, line]]), tmp_path)
    first, second = document["annotations"]
    assert (first["bbox"], first["area"], len(first["segmentation"])) == ([1, 1, 11, 11], 14, 2)
    assert second["segmentation"] == [] and notes == ["p: outlines of less than three points are left out"]


def test_other_masks_are_refused(tmp_path: Path) -> None:
    ds = made(tmp_path, {"m": "binary_mask"}, m=[np.ones((4, 6, 1), bool)])
    with pytest.raises(deeplake.InvalidArgumentError, match=r"masks have shape \(4, 6, 1\), want .* of 40 x 60"):
        coco(ds, tmp_path)


def test_missing_ids_are_free_ones(tmp_path: Path) -> None:
    ids = {"image_id": {"dtype": "int64"}, "object_ids": {"dtype": "int64"}}
    ds = made(tmp_path, {"boxes": BOXES, **ids}, boxes=[ONE] * 2, image_id=[2, None], object_ids=[[2], None])
    document, _ = coco(ds, tmp_path)
    assert [image["id"] for image in document["images"]] == [2, 4]
    assert [(one["id"], one["image_id"]) for one in document["annotations"]] == [(2, 2), (3, 4)]


def test_ids_that_repeat_are_not_used(tmp_path: Path) -> None:
    ds = made(tmp_path, {"boxes": BOXES, "image_id": {"dtype": "int64"}}, boxes=[ONE] * 3, image_id=[7, 7, 8])
    document, notes = coco(ds, tmp_path)
    assert [image["id"] for image in document["images"]] == [1, 2, 3]
    assert notes == ["image_id: ids repeat: the files have others"]


@pytest.mark.parametrize("format", ["coco", "yolo"])
def test_boxes_that_are_no_numbers(format: str, tmp_path: Path) -> None:
    boxes = np.array([[np.nan, 1, 2, 3], [1, 1, 2, 2], [1, 1, np.inf, 2]], np.float32)
    ds = made(tmp_path, {"boxes": BOXES, "labels": KINDS}, boxes=[boxes], labels=[[0, 1, 0]])
    report = ds.export(tmp_path / "out", format=format)
    assert report.note_lines() == ["objects with coordinates that are NaN or infinite are left out"]
    back = deeplake.ingest(tmp_path / "out", tmp_path / "back", verbose=False)
    assert back["labels"][0].tolist() == [1] and back["labels"].class_names == ["cat", "dog"]


@pytest.mark.parametrize("format", ["coco", "yolo"])
def test_outlines_that_are_no_numbers(format: str, tmp_path: Path) -> None:
    good = np.array([[1, 1], [5, 1], [5, 4]], np.float32)
    bad = [np.array([[1, 1], [5, value], [5, 4]], np.float32) for value in (np.nan, np.inf)]
    ds = made(tmp_path, {"p": "polygon", "labels": KINDS}, p=[[bad[0], good, bad[1]]], labels=[[0, 1, 0]])
    report = ds.export(tmp_path / "out", format=format)
    assert report.note_lines() == ["objects with coordinates that are NaN or infinite are left out"]
    back = deeplake.ingest(tmp_path / "out", tmp_path / "back", verbose=False)
    assert back["labels"][0].tolist() == [1] and np.allclose(back["polygons"][0][0], good, atol=1e-4)


def test_encoded_masks_need_classes_and_counts(tmp_path: Path) -> None:
    runs = {"size": [40, 60], "counts": [2400]}
    ds = made(tmp_path, {"rle": "json", "labels": KINDS}, rle=[[runs, None]], labels=[None])
    with pytest.raises(
        deeplake.InvalidArgumentError, match='row 0: it has 2 objects, and tensor "labels" has no classes'
    ):
        coco(ds, tmp_path)
    ds.update(0, {"labels": [1]})
    ds.commit()
    with pytest.raises(deeplake.InvalidArgumentError, match='tensor "rle" has 2 objects, and others have 1'):
        coco(ds, tmp_path)


def test_classes_without_names(tmp_path: Path) -> None:
    ds = made(tmp_path, {"boxes": BOXES, "labels": "class_label"}, boxes=[ONE], labels=[[5]])
    document, _ = coco(ds, tmp_path)
    assert document["categories"] == [{"id": 5, "name": "5"}] and document["annotations"][0]["category_id"] == 5


def test_classes_that_came_later_keep_the_ids_of_others(tmp_path: Path) -> None:
    labels = {"htype": "class_label", "class_names": ["a", "b", "c"], "info": {"category_ids": [18, 90]}}
    ds = made(tmp_path, {"boxes": BOXES, "labels": labels}, boxes=[ONE], labels=[[2]])
    assert [one["id"] for one in coco(ds, tmp_path)[0]["categories"]] == [18, 90, 91]


def test_keypoints_without_names(tmp_path: Path) -> None:
    points = np.array([[3], [4], [2]], np.int32)
    schema = {"kp": "keypoints_coco", "boxes": BOXES, "labels": KINDS}
    ds = made(tmp_path, schema, kp=[points], boxes=[ONE], labels=[[1]])
    report = ds.export(tmp_path / "out", format="coco")
    assert report.note_lines() == ["kp: keypoints without names are k1, k2 and so on"]
    back = deeplake.ingest(tmp_path / "out", tmp_path / "back", verbose=False)
    assert back["keypoints"][0].tolist() == points.tolist()


def test_empty_outlines_in_tables(tmp_path: Path) -> None:
    ds = made(tmp_path, {"p": "polygon"}, p=[[np.zeros((0, 2), np.float32), np.ones((3, 2), np.float32)]])
    ds.export(tmp_path / "out", format="parquet")
    back = deeplake.ingest(tmp_path / "out", tmp_path / "back", verbose=False)
    assert [one.shape for one in back[0]["p"]] == [(0, 2), (3, 2)]


def test_rows_without_a_split(tmp_path: Path) -> None:
    ds = made(tmp_path, {"split": "text"}, split=["train", "val", None])
    assert ds.export(tmp_path / "out", format="webdataset").note_lines() == [
        'split: rows without a split are the split "other"'
    ]


def test_arrays_of_one_axis_in_records(tmp_path: Path) -> None:
    ds = made(tmp_path, {"v": {"dtype": "uint8"}, "w": {"dtype": "int32"}}, v=[[1, 2, 3]], w=[[[1, 2], [3, 4]]])
    report = ds.export(tmp_path / "out", format="tfrecord")
    assert report.note_lines() == ['w: arrays of several axes are flat, and "w_shape" has their shapes']
    assert deeplake.ingest(tmp_path / "out", tmp_path / "back", verbose=False)["v"].dtype == "uint8"


def test_labels_of_objects_in_archives(tmp_path: Path) -> None:
    ds = made(tmp_path, {"boxes": BOXES, "labels": KINDS}, boxes=[ONE], labels=[[1]])
    ds.export(tmp_path / "out", format="webdataset")
    back = deeplake.ingest(tmp_path / "out", tmp_path / "back", verbose=False)
    assert back["labels_npy"].class_names == ["cat", "dog"] and back["boxes"].info == BOXES["info"]
