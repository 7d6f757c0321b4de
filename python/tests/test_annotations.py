"""Images with annotations: what each layout gives, beside the packages that read it."""

from __future__ import annotations

import functools
import json
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest
from kills import killed_after_a_commit
from PIL import Image
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO
from skimage import data
from test_parquet import create, version_of

SKELETON = [[1, 2], [2, 3]]
POINTS = ["nose", "eye", "tail"]


def photographs(folder: Path, names: list[str]) -> dict[str, tuple[int, int]]:
    """Writes parts of a photograph as JPEG files. Returns the width and height of each."""
    folder.mkdir(parents=True, exist_ok=True)
    rng, whole, sizes = random.Random(3), data.astronaut(), {}
    for name in names:
        width, height = rng.randint(40, 90), rng.randint(40, 90)
        left, top = rng.randint(0, 400), rng.randint(0, 400)
        Image.fromarray(whole[top : top + height, left : left + width]).save(folder / name, quality=90)
        sizes[name] = (
            (width, height) if whole[top : top + height, left : left + width].shape[:2] == (height, width) else (0, 0)
        )
    return sizes


def polygon(rng: random.Random, width: int, height: int, corners: int) -> list[float]:
    """Returns an outline with corners in and around a picture, in any order."""
    return [round(v, 2) for _ in range(corners) for v in (rng.uniform(-3, width + 3), rng.uniform(-3, height + 3))]


def coco_set(root: Path, per_split: int = 12) -> Path:
    """Writes a set in the layout of COCO 2017: objects, keypoints and captions, in two splits."""
    rng = random.Random(7)
    (root / "annotations").mkdir(parents=True)
    number = 0
    for split in ("train2017", "val2017"):
        names = [f"{i:012d}.jpg" for i in range(per_split)]
        sizes = photographs(root / split, names)
        images = [
            {"id": 100 + 3 * i, "file_name": name, "width": sizes[name][0], "height": sizes[name][1]}
            for i, name in enumerate(names)
        ]
        objects: list[dict[str, Any]] = []
        for image in images:
            w, h = image["width"], image["height"]
            for _ in range(rng.randint(0, 5)):
                number += 1
                one: dict[str, Any] = {
                    "id": number,
                    "image_id": image["id"],
                    "category_id": rng.choice([1, 17, 90]),
                    "iscrowd": 0,
                }
                outlines = [polygon(rng, w, h, rng.randint(3, 9)) for _ in range(rng.choice([1, 1, 2, 3]))]
                one["segmentation"] = outlines
                if rng.random() < 0.3:
                    filled = np.zeros((h, w), np.uint8, order="F")
                    filled[h // 4 : h // 2, w // 3 :] = rng.randint(0, 1)
                    encoded = coco_mask.encode(filled)
                    runs = {"size": [h, w], "counts": encoded["counts"].decode()}
                    if rng.random() < 0.5:
                        changes = np.flatnonzero(np.diff(np.concatenate([[0], filled.ravel("F")])))
                        edges = np.concatenate([[0], changes, [w * h]])
                        runs["counts"] = np.diff(edges).tolist()
                    one |= {"segmentation": runs, "iscrowd": 1}
                left, top = round(rng.uniform(0, w / 2), 2), round(rng.uniform(0, h / 2), 2)
                one |= {"bbox": [left, top, round(w / 3, 2), round(h / 3, 2)], "area": rng.uniform(1, 900)}
                objects.append(one)
        rng.shuffle(objects)
        classes = [{"id": 90, "name": "dog"}, {"id": 1, "name": "person"}, {"id": 17, "name": "cat"}]
        write(root / f"annotations/instances_{split}.json", images=images, annotations=objects, categories=classes)
        people = [
            {**one, "keypoints": [rng.randint(0, 40) for _ in range(9)], "num_keypoints": 3}
            for one in objects
            if one["category_id"] == 1
        ]
        person = {"id": 1, "name": "person", "keypoints": POINTS, "skeleton": SKELETON}
        write(
            root / f"annotations/person_keypoints_{split}.json", images=images, annotations=people, categories=[person]
        )
        captions = [
            {"id": 5000 + i, "image_id": image["id"], "caption": f"«{i}» \U0001f408"}
            for i, image in enumerate(images)
            for _ in range(i % 3)
        ]
        write(root / f"annotations/captions_{split}.json", annotations=captions, images=images)
    return root


def write(path: Path, **members: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"info": {"year": 2017}, "licenses": [], **members}))


def test_coco_is_what_pycocotools_reads(tmp_path: Path) -> None:
    root = coco_set(tmp_path / "coco")
    report = create(str(tmp_path / "lake"), f"from-{root}", "--masks")
    assert report["format"] == "coco" and report["skipped"] == 0, report["skips"]
    ds = deeplake.open(tmp_path / "lake")
    assert len(ds) == 24 and ds["labels"].class_names == ["person", "cat", "dog"]
    assert ds["keypoints"].info == {"keypoints": POINTS, "skeleton": SKELETON} and ds["keypoints"].dtype == "int32"
    assert {view.name: view.rows for view in ds.views()} == {"train": 12, "val": 12}
    checked = 0
    for split in ("train2017", "val2017"):
        instances = COCO(root / f"annotations/instances_{split}.json")
        keypoints = COCO(root / f"annotations/person_keypoints_{split}.json")
        captions = COCO(root / f"annotations/captions_{split}.json")
        for image in instances.dataset["images"]:
            path = f"{split}/{image['file_name']}"
            (index,) = [i for i in range(len(ds)) if ds.source(i) == path]
            row = ds[index]
            assert ds["images"].bytes(index) == (root / path).read_bytes()
            wanted = instances.loadAnns(instances.getAnnIds(imgIds=image["id"]))
            assert row["image_id"] == image["id"] and row["object_ids"].tolist() == [one["id"] for one in wanted]
            names = [instances.cats[one["category_id"]]["name"] for one in wanted]
            assert [ds["labels"].class_names[k] for k in row["labels"]] == names
            np.testing.assert_array_equal(
                row["boxes"], np.array([one["bbox"] for one in wanted], np.float32).reshape(-1, 4)
            )
            assert row["areas"].tolist() == [one["area"] for one in wanted]
            assert row["crowds"].tolist() == [bool(one["iscrowd"]) for one in wanted]
            for k, one in enumerate(wanted):
                checked += 1
                np.testing.assert_array_equal(row["masks"][..., k], instances.annToMask(one), err_msg=f"{path} {one}")
                if isinstance(one["segmentation"], list):
                    parts = np.split(row["polygons"][k], np.flatnonzero(np.isnan(row["polygons"][k][:, 0])))
                    got = [part[~np.isnan(part[:, 0])].ravel() for part in parts]
                    for mine, theirs in zip(got, one["segmentation"], strict=True):
                        np.testing.assert_array_equal(mine, np.float32(theirs))
                    assert row["rle"][k] is None
                else:
                    runs = {**row["rle"][k], "counts": row["rle"][k]["counts"].encode()}
                    np.testing.assert_array_equal(coco_mask.decode(runs), instances.annToMask(one))
            people = {
                one["id"]: one["keypoints"] for one in keypoints.loadAnns(keypoints.getAnnIds(imgIds=image["id"]))
            }
            for k, one in enumerate(wanted):
                assert row["keypoints"][:, k].tolist() == people.get(one["id"], [0] * 9)
            told = captions.loadAnns(captions.getAnnIds(imgIds=image["id"]))
            assert row["captions"] == [one["caption"] for one in told]
    assert checked > 30


def test_masks_of_outlines_are_those_of_pycocotools(tmp_path: Path) -> None:
    rng = random.Random(11)
    objects, width, height = [], 37, 29
    (tmp_path / "p").mkdir()
    Image.fromarray(data.coins()[:height, :width]).save(tmp_path / "p" / "a.png")
    for number in range(400):
        outline = polygon(rng, width, height, rng.randint(1, 12))
        if number % 4 == 0:
            outline = [float(round(v)) for v in outline]
        if number % 7 == 0:
            outline += outline[:2]
        objects.append({"id": number, "image_id": 1, "category_id": 1, "segmentation": [outline]})
    write(
        tmp_path / "p/x.json",
        images=[{"id": 1, "file_name": "a.png"}],
        annotations=objects,
        categories=[{"id": 1, "name": "c"}],
    )
    ds = deeplake.ingest(tmp_path / "p", "mem://masks-of-outlines", masks=True, verbose=False)
    assert ds["masks"].shape == (height, width, 400)
    for number, one in enumerate(objects):
        if len(one["segmentation"][0]) < 6:
            continue  # pycocotools takes two points for a box
        theirs = coco_mask.decode(coco_mask.merge(coco_mask.frPyObjects(one["segmentation"], height, width)))
        np.testing.assert_array_equal(ds[0]["masks"][..., number], theirs, err_msg=str(one["segmentation"]))


def test_a_later_run_takes_changed_annotations(tmp_path: Path) -> None:
    root, lake = coco_set(tmp_path / "coco"), str(tmp_path / "lake")
    first = create(lake, f"from-{root}")
    again = create(lake, f"from-{root}")
    assert again["unchanged"] == 24 and again["commit"] == first["commit"]
    file = root / "annotations/instances_train2017.json"
    told = json.loads(file.read_text())
    changed = next(one for one in told["annotations"] if one["category_id"] == 17)  # of no other file
    image = changed["image_id"]
    changed |= {"category_id": 90, "bbox": [1, 2, 3, 4]}
    told["images"].append({"id": 7, "file_name": "new.jpg"})
    told["images"].append({"id": 8, "file_name": "lost.jpg"})
    file.write_text(json.dumps(told))
    shutil.copy(root / "train2017/000000000001.jpg", root / "train2017/new.jpg")
    shutil.copy(root / "train2017/000000000001.jpg", root / "train2017/other.jpg")
    report = create(lake, f"from-{root}")
    assert (report["updated"], report["added"], report["unchanged"]) == (1, 1, 23)
    reasons = {skip["path"]: skip["reason"] for skip in report["skips"]}
    assert reasons.keys() == {"lost.jpg", "train2017/other.jpg"}
    assert reasons["lost.jpg"] == "the annotations name it, and there is no such file"
    assert reasons["train2017/other.jpg"].startswith("the annotations do not name it")
    ds = deeplake.open(lake)
    (row,) = [ds[i] for i in range(len(ds)) if ds[i]["image_id"] == image and ds.source(i).startswith("train2017/")]
    at = row["object_ids"].tolist().index(changed["id"])
    assert row["boxes"][at].tolist() == [1, 2, 3, 4] and row["labels"][at] == 2
    assert row["captions"] is not None and len(ds) == 25


def test_faults_cost_their_objects_or_the_import(tmp_path: Path) -> None:
    root = coco_set(tmp_path / "coco", per_split=2)
    file = root / "annotations/instances_train2017.json"
    told = json.loads(file.read_text())
    good = len(told["annotations"])
    told["annotations"] += [
        {"id": 900, "image_id": 100, "category_id": 5},
        {"id": 901, "image_id": 100, "category_id": 1, "bbox": [1]},
    ]
    file.write_text(json.dumps(told))
    ds = deeplake.ingest(root, "mem://faults-of-coco", verbose=False)
    assert sum(len(row["boxes"]) for row in ds if row["split"] == 0) == good
    with pytest.raises(deeplake.InvalidArgumentError, match=r"has no bbox, segmentation or keypoints"):
        deeplake.ingest(root, tmp_path / "strict", on_error="raise", verbose=False)
    assert not deeplake.exists(tmp_path / "strict")
    with pytest.raises(deeplake.InvalidArgumentError, match="size does not go with annotations"):
        deeplake.ingest(root, tmp_path / "strict", size=32, verbose=False)
    plain = deeplake.ingest(root, "mem://pictures-of-coco", format="images", verbose=False)
    assert len(plain) == 4 and "boxes" not in plain.tensors


def test_one_file_of_annotations_beside_the_pictures(tmp_path: Path) -> None:
    root = coco_set(tmp_path / "coco", per_split=3)
    shutil.move(root / "annotations/instances_val2017.json", tmp_path / "mine.json")
    shutil.rmtree(root / "annotations")
    ds = deeplake.ingest(root / "val2017", "mem://one-file", annotations=tmp_path / "mine.json", verbose=False)
    assert len(ds) == 3 and {"boxes", "labels", "image_id"} <= set(ds.tensors) and "captions" not in ds.tensors
    assert [ds.source(i) for i in range(3)] == [f"{i:012d}.jpg" for i in range(3)]
    with pytest.raises(deeplake.Error, match=r"nothing\.json"):
        deeplake.ingest(root / "val2017", "mem://none", annotations="nothing.json", verbose=False)


def test_panoptic_segments(tmp_path: Path) -> None:
    root, rng = tmp_path / "coco", np.random.default_rng(5)
    sizes = photographs(root / "val2017", ["a.jpg", "b.jpg"])
    told, wanted = [], {}
    (root / "annotations/panoptic_val2017").mkdir(parents=True)
    for number, (name, (width, height)) in enumerate(sizes.items()):
        ids = np.array([0, 1, 70_000, 16_000_000], np.uint32)[rng.integers(0, 4, (height, width))]
        wanted[f"val2017/{name}"] = ids
        planes = np.stack([ids % 256, ids // 256 % 256, ids // 65536], axis=2).astype(np.uint8)
        Image.fromarray(planes).save(root / f"annotations/panoptic_val2017/{Path(name).stem}.png")
        segments = [{"id": int(one), "category_id": 3, "area": int((ids == one).sum()), "bbox": [0, 0, 4, 5], "iscrowd": 0} for one in np.unique(ids)[1:]]  # fmt: skip
        told.append({"image_id": number, "file_name": f"{Path(name).stem}.png", "segments_info": segments})
    images = [{"id": number, "file_name": name} for number, name in enumerate(sizes)]
    classes = [{"id": 3, "name": "grass", "isthing": 0}]
    write(root / "annotations/panoptic_val2017.json", images=images, annotations=told, categories=classes)
    ds = deeplake.ingest(root, "mem://panoptic", verbose=False)
    assert len(ds) == 2 and ds["panoptic/labels"].class_names == ["grass"]
    for i in range(2):
        np.testing.assert_array_equal(ds[i]["panoptic/segments"], wanted[ds.source(i)])
        areas = [(wanted[ds.source(i)] == one).sum() for one in ds[i]["panoptic/ids"]]
        assert ds[i]["panoptic/areas"].tolist() == areas


def yolo_set(root: Path) -> Path:
    rng = random.Random(2)
    (root / "data.yaml").parent.mkdir(parents=True)
    (root / "data.yaml").write_text("path: .\ntrain: images/train\nval: images/val\nnames:\n  0: person\n  1: café\n")
    for split, count in (("train", 6), ("val", 3)):
        names = [f"{i}.jpg" for i in range(count)]
        photographs(root / "images" / split, names)
        (root / "labels" / split).mkdir(parents=True)
        for name in names[:-1]:  # the last one is background
            lines = [
                " ".join([str(rng.randint(0, 1)), *(f"{rng.uniform(0.1, 0.9):.6f}" for _ in range(4))])
                for _ in range(3)
            ]
            (root / "labels" / split / name.replace("jpg", "txt")).write_text("\n".join(lines) + "\n")
    return root


def test_yolo(tmp_path: Path) -> None:
    root = yolo_set(tmp_path / "yolo")
    report = create(str(tmp_path / "lake"), f"from-{root}")
    assert (report["format"], report["rows"], report["objects"], report["skipped"]) == ("yolo", 9, 21, 0)
    ds = deeplake.open(tmp_path / "lake")
    assert ds["labels"].class_names == ["person", "café"] and ds["boxes"].info["coords"]["type"] == "fractional"
    assert {view.name: view.rows for view in ds.views()} == {"train": 6, "val": 3}
    for i, row in enumerate(ds):
        file = root / ds.source(i).replace("images", "labels").replace("jpg", "txt")
        wanted = np.array([line.split() for line in file.read_text().splitlines()] if file.exists() else [], np.float64)
        wanted = wanted.reshape(-1, 5)
        np.testing.assert_array_equal(row["labels"], wanted[:, 0])
        np.testing.assert_array_equal(row["boxes"], wanted[:, 1:].astype(np.float32))
    changed = root / "labels/train/5.txt"
    changed.write_text("1 0.5 0.5 0.25 0.25\nx\n")
    report = create(str(tmp_path / "lake"), f"from-{root}")
    assert (report["updated"], report["unchanged"], report["skipped"]) == (1, 8, 1)
    assert report["skips"] == [
        {"path": "images/train/5.jpg", "reason": 'line 2 begins with "x", want the number of a class'}
    ]


def test_voc_and_kitti(tmp_path: Path) -> None:
    sizes = photographs(tmp_path / "VOC/JPEGImages", ["a.jpg", "b.jpg"])
    (tmp_path / "VOC/Annotations").mkdir()
    (tmp_path / "VOC/SegmentationClass").mkdir()
    one = "<object><name>{}</name><difficult>{}</difficult><bndbox><xmin>{}</xmin><ymin>2</ymin><xmax>30</xmax><ymax>4e1</ymax></bndbox></object>"
    for name, kinds in (("a", ["dog", "tvmonitor"]), ("b", [])):
        text = "".join(one.format(kind, number, number + 1) for number, kind in enumerate(kinds))
        (tmp_path / f"VOC/Annotations/{name}.xml").write_text(
            f"<annotation><filename>{name}.jpg</filename>{text}</annotation>"
        )
    width, height = sizes["a.jpg"]
    mask = Image.fromarray((np.arange(width * height).reshape(height, width) % 21).astype(np.uint8), "P")
    mask.putpalette(bytes(range(256)) * 3)
    mask.save(tmp_path / "VOC/SegmentationClass/a.png")
    ds = deeplake.ingest(tmp_path / "VOC", "mem://voc", verbose=False)
    assert len(ds) == 2 and len(ds["labels"].class_names) == 20
    assert ds[0]["boxes"].tolist() == [[1, 2, 30, 40], [2, 2, 30, 40]] and ds[1]["boxes"].shape == (0, 4)
    assert ds[0]["difficult"].tolist() == [False, True] and ds[1]["class_masks"] is None
    assert [ds["labels"].class_names[label] for label in ds[0]["labels"]] == ["dog", "tvmonitor"]
    np.testing.assert_array_equal(ds[0]["class_masks"], np.arange(width * height).reshape(height, width) % 21)
    assert ds["class_masks"].bytes(0) == (tmp_path / "VOC/SegmentationClass/a.png").read_bytes()

    photographs(tmp_path / "kitti/training/image_2", ["000000.png", "000001.png"])
    (tmp_path / "kitti/training/label_2").mkdir()
    line = "Car 0.00 0 -1.57 10.5 20.25 30.0 40.0 1.52 1.63 3.88 -2.7 1.74 3.68 -1.29"
    for number in range(2):
        (tmp_path / f"kitti/training/label_2/00000{number}.txt").write_text(f"{line}\n" * (number + 1))
    ds = deeplake.ingest(tmp_path / "kitti", "mem://kitti", verbose=False)
    assert len(ds) == 2 and ds[1]["locations"].tolist() == np.float32([[-2.7, 1.74, 3.68]] * 2).tolist()
    assert ds["labels"].class_names == ["Car"] and ds[0]["boxes"].tolist() == [[10.5, 20.25, 30, 40]]


def test_linked_pictures_keep_their_annotations(tmp_path: Path) -> None:
    root = yolo_set(tmp_path / "yolo")
    create(str(tmp_path / "lake"), f"from-{root}", "--link")
    ds = deeplake.open(tmp_path / "lake")
    copied = deeplake.ingest(root, "mem://copied", format="yolo", verbose=False)
    for i in range(len(ds)):
        np.testing.assert_array_equal(ds[i]["images"], copied[i]["images"])
        np.testing.assert_array_equal(ds[i]["boxes"], copied[i]["boxes"])
    assert len(next(iter(ds.batches(4, collate={"boxes": "list", "labels": "list", "images": "list"})))["boxes"]) == 4


def test_kills(tmp_path: Path) -> None:
    """Imports that are killed have no row twice and lose none, with their annotations."""
    root, uri = coco_set(tmp_path / "coco", per_split=100), str(tmp_path / "lake")
    command = [sys.executable, "-m", "deeplake", "create", uri, f"from-{root}", "--checkpoint", "10"]
    draw, kills = random.Random(5), 0
    for _ in range(3):
        kills += killed_after_a_commit(command, functools.partial(version_of, uri), 0.03, draw)
    report = create(uri, f"from-{root}", "--checkpoint", "10")
    ds, whole = deeplake.open(uri), deeplake.ingest(root, "mem://whole-coco", verbose=False)
    assert report["rows"] == 200 and kills > 0 and report["skipped"] == 0
    assert ds.source(range(200)) == whole.source(range(200))
    for name in ("object_ids", "boxes", "captions", "polygons", "split"):
        for mine, theirs in zip(ds[name][:], whole[name][:], strict=True):
            for one, other in zip(mine, theirs, strict=True) if name == "polygons" else [(mine, theirs)]:
                np.testing.assert_array_equal(one, other)


def test_cvat_and_label_studio(tmp_path: Path) -> None:
    """Exports of two programs for labelling: the same shapes on the same pictures."""
    sizes = photographs(tmp_path / "cvat/images", ["a.jpg", "b.jpg"])
    width, height = sizes["a.jpg"]
    shapes = (
        '<box label="dog" occluded="1" xtl="1.5" ytl="2" xbr="30.25" ybr="20"><attribute name="age">old</attribute></box>'
        '<polygon label="cat" occluded="0" points="1.00,2.00;20.50,2.00;20.50,30.00"/><tag label="night"/>'
        '<mask label="dog" occluded="0" rle="1, 2, 1" left="3" top="4" width="2" height="2"/>'
    )
    meta = "".join(f"<label><name>{name}</name></label>" for name in ("cat", "dog"))
    (tmp_path / "cvat/annotations.xml").write_text(
        f"<annotations><version>1.1</version><meta><job><labels>{meta}</labels></job></meta>"
        f'<image id="0" name="a.jpg" width="{width}" height="{height}">{shapes}</image><image id="1" name="b.jpg"/></annotations>'
    )
    ds = deeplake.ingest(tmp_path / "cvat", "mem://cvat", verbose=False)
    assert ds["labels"].class_names == ["cat", "dog"] and ds[0]["labels"].tolist() == [1, 0, 1]
    assert ds[0]["boxes"].tolist() == [[1.5, 2, 30.25, 20], [1, 2, 20.5, 30], [3, 4, 5, 6]]
    assert ds[0]["occluded"].tolist() == [True, False, False] and ds[0]["attributes"][0] == {"age": "old"}
    filled = np.zeros((height, width), bool)
    filled[4, 4] = filled[5, 3] = True
    np.testing.assert_array_equal(ds[0]["masks"][..., 2], filled)
    assert ds[1]["boxes"].shape == (0, 4)

    photographs(tmp_path / "studio", ["a.jpg"])
    width, height = Image.open(tmp_path / "studio/a.jpg").size
    box = {"x": 10, "y": 20, "width": 50, "height": 25, "rotation": 0, "rectanglelabels": ["dog"]}
    outline = {"points": [[0, 0], [50, 0], [50, 100]], "polygonlabels": ["cat"]}
    common = {"from_name": "label", "to_name": "image", "original_width": width, "original_height": height}
    result = [
        {**common, "type": "rectanglelabels", "value": box},
        {**common, "type": "polygonlabels", "value": outline},
        {**common, "type": "choices", "value": {"choices": ["night"]}},
    ]
    task = {"id": 7, "data": {"image": "/data/upload/1/ab12cd34-a.jpg"}, "annotations": [{"result": result}]}
    (tmp_path / "studio/export.json").write_text(json.dumps([task]))
    ds = deeplake.ingest(tmp_path / "studio", "mem://studio", verbose=False)
    assert [ds["labels"].class_names[label] for label in ds[0]["labels"]] == ["dog", "cat"]
    left, top = 0.1 * width, 0.2 * height
    np.testing.assert_allclose(ds[0]["boxes"][0], [left, top, left + width / 2, top + height / 4], rtol=1e-6)
    np.testing.assert_allclose(ds[0]["polygons"][1], [[0, 0], [width / 2, 0], [width / 2, height]], rtol=1e-6)
    assert ds[0]["task_id"] == 7 and ds["choices"].class_names == ["night"]
