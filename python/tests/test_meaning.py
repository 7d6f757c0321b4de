"""Columns of queries keep the htype, the class names and the codec that their values still have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest

ROWS = 4
NAMES = ["a", "b", "c"]
LTWH = {"coords": {"mode": "LTWH", "type": "pixel"}}
CCWH = {"coords": {"mode": "CCWH", "type": "fractional"}}
RNG = np.random.default_rng(1)


@pytest.fixture(scope="module")
def ds() -> Any:
    pytest.importorskip("PIL")
    made = deeplake.create("mem://meaning", overwrite=True)
    made.create_tensor("rgb", "image.rgb", compression="jpeg")
    made.create_tensor("gray", "image.gray", compression="png")
    made.create_tensor("deep", "image", dtype="uint16", compression="png")
    made.create_tensor("many", "image", compression="none")
    made.create_tensor("floats", "image", dtype="float32")
    made.create_tensor("clip", "sequence[image.rgb]", compression="jpeg")
    made.create_tensor("label", "class_label", class_names=NAMES)
    made.create_tensor("labels", "class_label", class_names=NAMES)
    made.create_tensor("steps", "sequence[class_label]", class_names=NAMES)
    made.create_tensor("boxes", "bbox", info=LTWH)
    made.create_tensor("shares", "bbox", info=CCWH)
    made.create_tensor("mask", "binary_mask")
    made.create_tensor("classes", "segment_mask", class_names=NAMES)
    made.create_tensor("ids", "instance_label")
    made.create_tensor("keys", "keypoints_coco")
    made.create_tensor("points", "point")
    made.create_tensor("shapes", "polygon")
    made.create_tensor("vector", "embedding")
    made.create_tensor("video", dtype="uint8")
    made.create_tensor("n", dtype="int64")
    for i in range(ROWS):
        side = (20 + i, 30)
        made.append({
            "rgb": RNG.integers(0, 255, (*side, 3), np.uint8), "gray": RNG.integers(0, 255, (*side, 1), np.uint8),
            "deep": RNG.integers(0, 65535, (*side, 3), np.uint16), "many": RNG.integers(0, 255, (*side, 6), np.uint8),
            "floats": RNG.random((*side, 3), np.float32),
            "clip": [RNG.integers(0, 255, (8, 9, 3), np.uint8) for _ in range(3)],
            "label": i % 3, "labels": [0, 1, 2], "steps": [2, 1, 0],
            "boxes": RNG.random((3, 4), np.float32), "shares": RNG.random((3, 4), np.float32),
            "mask": RNG.random((*side, 2)) < 0.5, "classes": RNG.integers(0, 3, side, np.uint32),
            "ids": RNG.integers(0, 9, side, np.uint32), "keys": RNG.integers(0, 9, (6, 3), np.int32),
            "points": RNG.integers(0, 9, (3, 2), np.int32),
            "shapes": [RNG.random((3, 2), np.float32), RNG.random((4, 2), np.float32)],
            "vector": RNG.random(8, np.float32), "video": RNG.integers(0, 255, (3, 8, 9, 3), np.uint8), "n": i,
        })  # fmt: skip
    made.commit()
    return made


# expression; htype, dtype, class names, info, codec after materialize
KEPT: list[tuple[str, str, str, list[str] | None, dict[str, Any], str]] = [
    ("rgb", "image.rgb", "uint8", None, {}, "jpeg"),
    ("rgb[..., 5:15, 2:20, :]", "image.rgb", "uint8", None, {}, "png"),
    ("rgb[5:15, 2:20]", "image.rgb", "uint8", None, {}, "png"),
    ("rgb[::-1, ::2]", "image.rgb", "uint8", None, {}, "png"),
    ("rgb[n:n + 5]", "image.rgb", "uint8", None, {}, "png"),
    ("rgb[:, :, ::-1]", "image.rgb", "uint8", None, {}, "png"),
    ("rgb[:, :, 1:2]", "image.gray", "uint8", None, {}, "png"),
    ("rgb[:, :, 0:2]", "image", "uint8", None, {}, "png"),
    ("rgb[:, :, 0:n + 1]", "image", "uint8", None, {}, "none"),
    ("rgb[0:0]", "image.rgb", "uint8", None, {}, "none"),
    ("rgb[:, :, 0]", "generic", "uint8", None, {}, "none"),
    ("rgb[3]", "generic", "uint8", None, {}, "none"),
    ("rgb * 1", "generic", "int64", None, {}, "none"),
    ("CLIP(rgb, 0, 5)", "generic", "uint8", None, {}, "none"),
    ("TRANSPOSE(rgb)", "generic", "uint8", None, {}, "none"),
    ("CASE WHEN n < 2 THEN rgb ELSE rgb[1:] END", "image.rgb", "uint8", None, {}, "png"),
    ("gray[2:5]", "image.gray", "uint8", None, {}, "png"),
    ("deep[2:5, :8]", "image", "uint16", None, {}, "png"),
    ("many", "image", "uint8", None, {}, "none"),
    ("many[2:5]", "image", "uint8", None, {}, "none"),
    ("floats[2:5]", "image", "float32", None, {}, "none"),
    ("clip", "sequence[image.rgb]", "uint8", None, {}, "jpeg"),
    ("clip[1]", "image.rgb", "uint8", None, {}, "png"),
    ("clip[0:2]", "sequence[image.rgb]", "uint8", None, {}, "png"),
    ("clip[0][2:5, 1:4]", "image.rgb", "uint8", None, {}, "png"),
    ("video[0]", "generic", "uint8", None, {}, "none"),
    ("label", "class_label", "int64", NAMES, {}, "shuffle"),
    ("label + 1", "generic", "int64", None, {}, "none"),
    ("labels[1]", "class_label", "int64", NAMES, {}, "shuffle"),
    ("labels[0:2]", "class_label", "int64", NAMES, {}, "shuffle"),
    ("steps[0]", "class_label", "int64", NAMES, {}, "shuffle"),
    ("steps[1:]", "sequence[class_label]", "int64", NAMES, {}, "shuffle"),
    ("CASE WHEN n < 2 THEN label ELSE labels[0] END", "class_label", "int64", NAMES, {}, "shuffle"),
    ("CASE WHEN n < 2 THEN label END", "class_label", "int64", NAMES, {}, "shuffle"),
    ("boxes[0:2]", "bbox", "float32", None, LTWH, "shuffle"),
    ("boxes[n:]", "bbox", "float32", None, LTWH, "shuffle"),
    ("boxes[0]", "generic", "float32", None, LTWH, "none"),
    ("boxes[:, 0:2]", "generic", "float32", None, {}, "none"),
    ("shares[1:]", "bbox", "float32", None, CCWH, "shuffle"),
    ("CASE WHEN n < 2 THEN boxes ELSE shares END", "generic", "float32", None, {}, "none"),
    ("NORMALIZE(boxes, [0, 0, 10, 10])", "bbox", "float32", None, {"coords": {"mode": "LTWH", "type": "fractional"}}, "shuffle"),
    ("mask[2:5]", "binary_mask", "bool", None, {}, "shuffle"),
    ("mask[:, :, 0]", "binary_mask", "bool", None, {}, "shuffle"),
    ("mask[2]", "generic", "bool", None, {}, "none"),
    ("classes[2:5, 1:3]", "segment_mask", "uint32", NAMES, {}, "shuffle"),
    ("classes[2, 3]", "class_label", "uint32", NAMES, {}, "shuffle"),
    ("ids[2:5]", "instance_label", "uint32", None, {}, "shuffle"),
    ("keys[:, 0:1]", "keypoints_coco", "int32", None, {}, "shuffle"),
    ("keys[0:2]", "generic", "int32", None, {}, "none"),
    ("points[1:]", "point", "int32", None, {}, "shuffle"),
    ("points[:, 0:1]", "generic", "int32", None, {}, "none"),
    ("shapes[0:1]", "polygon", "float32", None, {}, "shuffle"),
    ("shapes[0]", "generic", "float32", None, {}, "none"),
    ("vector[0:4]", "generic", "float32", None, {}, "none"),
]  # fmt: skip


def told(tensor: Any) -> tuple[Any, ...]:
    return tensor.htype, tensor.dtype, tensor.class_names, dict(tensor.info)


def rows_of(tensor: Any) -> list[Any]:
    return [tensor[i] for i in range(len(tensor))]


def same(left: Any, right: Any) -> None:
    for a, b in zip(left, right, strict=True):
        if isinstance(a, list):
            same(a, b)
        else:
            np.testing.assert_array_equal(a, b)
            assert np.asarray(a).dtype == np.asarray(b).dtype


def test_columns_and_copies(ds: Any) -> None:
    """One query with all expressions, and one more over its result; then a copy of both."""
    names = [f"c{i}" for i in range(len(KEPT))]
    listed = ", ".join(f"{row[0]} AS {name}" for row, name in zip(KEPT, names, strict=True))
    view = ds.query(f"SELECT {listed}")
    copies = {
        "view": view.materialize("mem://meaning-copy", overwrite=True),
        # Values that were computed and kept, as sorting by one of them does.
        "nested": view.query("SELECT * ORDER BY c0[0, 0, 0] * 0").materialize("mem://meaning-nested", overwrite=True),
    }
    for row, name in zip(KEPT, names, strict=True):
        expression, htype, dtype, classes, info, codec = row
        assert told(view[name]) == (htype, dtype, classes, info), expression
        for copy in copies.values():
            assert (*told(copy[name]), copy[name].compression) == (htype, dtype, classes, info, codec), expression
            same(rows_of(view[name]), rows_of(copy[name]))


def test_whole_pictures_stay_the_same_files(ds: Any) -> None:
    copy = ds.query("SELECT rgb AS picture, clip ORDER BY n DESC").materialize("mem://meaning-files", overwrite=True)
    for i in range(ROWS):
        assert copy["picture"].bytes(i) == ds["rgb"].bytes(ROWS - 1 - i)
        assert copy["clip"].bytes(i) == ds["clip"].bytes(ROWS - 1 - i)


# clauses; of each column its htype, class names and info
CLAUSES: list[tuple[str, dict[str, tuple[str, list[str] | None, dict[str, Any]]]]] = [
    ("SELECT clip, steps UNGROUP BY SPLIT", {"clip": ("image.rgb", None, {}), "steps": ("class_label", NAMES, {})}),
    ("SELECT clip UNGROUP BY 2", {"clip": ("sequence[image.rgb]", None, {})}),
    ("SELECT rgb, labels, boxes UNGROUP BY 1", {"rgb": ("image.rgb", None, {}), "labels": ("class_label", NAMES, {}), "boxes": ("bbox", None, LTWH)}),
    ("SELECT rgb, mask, label, labels, shares UNGROUP BY SPLIT", {"rgb": ("image.rgb", None, {}), "mask": ("binary_mask", None, {}),
        "label": ("class_label", NAMES, {}), "labels": ("class_label", NAMES, {}), "shares": ("generic", None, CCWH)}),
    ("SELECT shapes UNGROUP BY SPLIT", {"shapes": ("generic", None, {})}),
    ("SELECT label, rgb GROUP BY label", {"label": ("class_label", NAMES, {}), "rgb": ("sequence[image.rgb]", None, {})}),
    ("SELECT label, rgb, boxes GROUP BY label UNGROUP BY SPLIT", {"rgb": ("image.rgb", None, {}), "boxes": ("bbox", None, LTWH)}),
    ("SELECT label, FIRST(rgb) AS rgb, LIST(label) AS all_labels GROUP BY label", {"rgb": ("image.rgb", None, {}), "all_labels": ("sequence[class_label]", NAMES, {})}),
    ("SELECT rgb[2:5] AS rgb, label UNION ALL SELECT rgb, label", {"rgb": ("image.rgb", None, {}), "label": ("class_label", NAMES, {})}),
    ("SELECT crop FROM (SELECT rgb[2:9] AS crop, n ORDER BY n LIMIT 3) ORDER BY MEAN(crop)", {"crop": ("image.rgb", None, {})}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "columns"), CLAUSES, ids=[text for text, _ in CLAUSES])
def test_clauses(ds: Any, text: str, columns: Any) -> None:
    view = ds.query(text)
    for name, want in columns.items():
        htype, _, classes, info = told(view[name])
        assert (htype, classes, info) == want
        same(rows_of(view[name]), rows_of(view.materialize("mem://meaning-clause", overwrite=True)[name]))
    if any("image" in htype for htype, _, _ in columns.values()):
        assert view.plot() is not None


def test_pictures_repeat_for_their_boxes(ds: Any) -> None:
    view = ds.query("SELECT rgb, n, boxes, labels UNGROUP BY SPLIT")
    assert len(view) == 3 * ROWS and view["n"][:].tolist() == [i for i in range(ROWS) for _ in range(3)]
    np.testing.assert_array_equal(view["rgb"][4], ds["rgb"][1])
    np.testing.assert_array_equal(view["boxes"][4], ds["boxes"][1][1])


def test_several_items_a_row_have_a_shape_of_their_own(ds: Any) -> None:
    view = ds.query("SELECT labels, boxes UNGROUP BY 2")
    assert view["labels"].shape == (None,) and view["boxes"].shape == (None, 4)
    assert [len(labels) for labels in rows_of(view["labels"])] == [2, 1] * ROWS
    np.testing.assert_array_equal(view["boxes"].numpy([0, 2], ragged="pad"), [ds["boxes"][0][:2], ds["boxes"][1][:2]])


def test_queries_of_the_readme_can_be_drawn() -> None:
    pytest.importorskip("PIL")
    text = (Path(__file__).parents[2] / "README.md").read_text()
    block = text.split("## Ten lines of use")[1].split("```python")[1].split("```")[0]
    names: dict[str, Any] = {}
    assert '"mem://readme"' in block  # the tests of the docs create that one
    exec(block.replace("mem://readme", "mem://drawn"), names)
    assert re.search(r"dogs = ds.query", block)
    dogs = names["dogs"]
    assert dogs["middle"].htype == "image.rgb" and dogs.plot() is not None
    batch = next(iter(dogs.batches(5)))
    assert batch["middle"].shape == (5, 16, 16, 3)
