"""Joint: boxes that are dropped with all that belongs to them, depth maps, and steps called on one sample."""

from __future__ import annotations

from typing import Any

import deeplake
import numpy as np
import pytest
from deeplake import transforms as T  # noqa: N812

ROWS = 12
SIDE = (40, 56)
RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def ds() -> Any:
    made = deeplake.create("mem://joint", overwrite=True)
    made.create_tensor("images", "image", compression="png")
    made.create_tensor("files", "image", compression="jpeg")
    made.create_tensor("boxes", "bbox")
    made.create_tensor("wide", "bbox", dtype="float64", info={"coords": {"mode": "CCWH", "type": "fractional"}})
    made.create_tensor("labels", "class_label")
    made.create_tensor("scores", dtype="float32")
    made.create_tensor("ids", dtype="int64")
    made.create_tensor("masks", "binary_mask")
    made.create_tensor("scene", "segment_mask")
    made.create_tensor("depth", dtype="uint16")
    made.create_tensor("flow", dtype="float32")
    made.create_tensor("points", "keypoints_coco")
    made.create_tensor("corners", dtype="float32")
    made.create_tensor("spots", dtype="float32")
    height, width = SIDE
    for i in range(ROWS):
        n = i % 5
        boxes = np.sort(RNG.random((n, 2, 2), np.float32), axis=1).reshape(n, 4) * np.float32([width, height] * 2)
        if n > 2:
            boxes[1] = boxes[1, [0, 1, 0, 1]]  # no area from the start
        x0, y0, x1, y1 = np.float64(boxes).T
        made.append({
            "images": RNG.integers(0, 255, (height, width, 3), np.uint8),
            "files": RNG.integers(0, 255, (height, width, 3), np.uint8),
            "boxes": boxes,
            "wide": np.stack([(x0 + x1) / 2 / width, (y0 + y1) / 2 / height, (x1 - x0) / width, (y1 - y0) / height], 1),
            "labels": np.arange(n),
            "scores": RNG.random(n, np.float32),
            "ids": np.arange(2 * n).reshape(n, 2),
            "masks": np.stack([RNG.random(SIDE) < 0.5 for _ in range(n)], -1) if n else np.zeros((*SIDE, 0), bool),
            "scene": RNG.integers(0, 9, SIDE, np.uint32),
            "depth": RNG.integers(0, 65535, SIDE, np.uint16),
            "flow": RNG.random((*SIDE, 2), np.float32),
            "points": RNG.integers(0, 40, (6, n), np.int32) + np.int32([[0], [0], [1]] * 2),
            "corners": RNG.random((n, 3, 2), np.float32) * 40,
            "spots": RNG.random((4, 2), np.float32) * 40,
        })  # fmt: skip
    made.commit()
    return made


ALL: dict[str, Any] = {
    "image": "images", "boxes": "boxes", "labels": ["labels", "scores", "ids"], "masks": ["masks", "scene"],
    "depth": ["depth", "flow"], "keypoints": ["points", "corners", "spots"],
}  # fmt: skip
OPS: dict[str, list[Any]] = {
    "crop": [T.RandomResizedCrop((32, 24), scale=(0.05, 0.3))],
    "corner": [T.RandomCrop(12), T.HorizontalFlip(0.5), T.VerticalFlip(0.5)],
    "larger": [T.Pad(4), T.Resize((96, 128))],
    "nothing": [T.HorizontalFlip(0.0)],
}
# names of the dataset's axis along which an entry belongs to a box
OWNED = {"boxes": 0, "labels": 0, "scores": 0, "ids": 0, "masks": 2, "points": 1, "corners": 0}


def load(ds: Any, group: Any, **options: Any) -> list[dict[str, Any]]:
    """Returns the rows of an epoch."""
    rows = []
    for batch in ds.batches(5, transform=group, collate="list", tensors=group.names, **options):
        rows += [{name: column[i] for name, column in batch.items()} for i in range(len(batch[group.names[0]]))]
    return rows


@pytest.mark.parametrize("ops", OPS)
@pytest.mark.parametrize("least", [{}, {"min_size": 4.5}, {"min_size": 0, "min_area": 60}], ids=str)
def test_boxes_are_dropped_with_all_that_belongs_to_them(ds: Any, ops: str, least: Any) -> None:
    """The oracle is the same transform that keeps all boxes, and torchvision's rule on its boxes."""
    rule = pytest.importorskip("torchvision.transforms.v2.functional")
    import torch
    from torchvision import tv_tensors

    kept_all = load(
        ds, T.Joint(ops=OPS[ops], **{name: value for name, value in ALL.items() if name != "labels"}), seed=7
    )
    rows = load(ds, T.Joint(ops=OPS[ops], **ALL, **least), seed=7)
    limits = {"min_size": 1.0, "min_area": 1.0} | least
    dropped = 0
    for number, (row, whole) in enumerate(zip(rows, kept_all, strict=True)):
        boxes = tv_tensors.BoundingBoxes(
            torch.from_numpy(whole["boxes"].copy()), format="XYXY", canvas_size=whole["images"].shape[:2]
        )
        keep = rule.sanitize_bounding_boxes(boxes, **limits)[1].numpy() if len(boxes) else np.zeros(0, bool)
        dropped += int((~keep).sum())
        for name, got in row.items():
            want = whole[name] if name in whole else np.asarray(ds[number][name])
            want = np.compress(keep, want, axis=OWNED[name]) if name in OWNED else want
            np.testing.assert_array_equal(got, want, err_msg=f"{name} of row {number}")
            assert got.dtype == want.dtype
    assert dropped > 0


def test_depth_maps_keep_their_values(ds: Any) -> None:
    """Nearest neighbours: no value of a depth map is one that was not measured."""
    rows = load(ds, T.Joint(image="images", depth=["depth", "flow"], ops=[T.Resize((17, 31)), T.HorizontalFlip(1.0)]))
    for number, row in enumerate(rows):
        height, width = SIDE
        y, x = np.arange(17) * height // 17, np.arange(31) * width // 31
        want = ds[number]["depth"][y][:, x][:, ::-1]
        np.testing.assert_array_equal(row["depth"], want)
        assert row["depth"].dtype == np.uint16 and row["flow"].shape == (17, 31, 2)


def test_fractional_boxes_are_dropped_by_pixels(ds: Any) -> None:
    group = T.Joint(image="images", boxes="wide", labels="labels", ops=OPS["corner"])
    plain = T.Joint(image="images", boxes="boxes", labels="labels", ops=OPS["corner"])
    for wide, box in zip(load(ds, group), load(ds, plain), strict=True):
        assert wide["labels"].tolist() == box["labels"].tolist()


@pytest.mark.parametrize("collate", [{"boxes": "pad", "labels": deeplake.pad(-1, length=6)}])
def test_dropped_boxes_collate(ds: Any, collate: Any) -> None:
    """The padded shape is that of the boxes that are left, in every loader and thread."""
    group = T.Joint(image="images", boxes="boxes", labels="labels", ops=OPS["corner"])
    single = load(ds, group, seed=2)
    names = group.names
    for options in ({"num_workers": 0}, {"num_workers": 3}, {"on_error": "skip"}):
        start = 0
        for batch in ds.pytorch(4, transform=group, tensors=names, collate=collate, seed=2, **options):
            counts = [len(row["labels"]) for row in single[start : start + 4]]
            assert batch["boxes"].shape == (4, max(counts), 4) and batch["labels"].shape == (4, 6)
            assert batch["labels_shape"].ravel().tolist() == counts
            for i, row in enumerate(single[start : start + 4]):
                assert batch["labels"][i].tolist() == [*row["labels"], *[-1] * (6 - counts[i])]
            start += 4


STEPS: list[Any] = [
    T.RandomResizedCrop(24), T.Resize(20), T.CenterCrop(50), T.RandomCrop(16, padding=3), T.Pad(2, fill=9),
    T.HorizontalFlip(), T.VerticalFlip(), T.ColorJitter(0.5, 0.5, 0.5), T.Normalize(0.5, 0.2), T.ToFloat(), T.ToFloat(16), T.CHW(),
]  # fmt: skip


@pytest.mark.parametrize("step", STEPS, ids=repr)
@pytest.mark.parametrize("name", ["images", "files"])
def test_a_step_called_gives_the_sample_of_a_loader(ds: Any, step: Any, name: str) -> None:
    for epoch in (0, 3):
        loader = ds.batches(ROWS, transform={name: step}, tensors=[name], collate="list", seed=11)
        loader.set_epoch(epoch)
        for index, want in enumerate(next(iter(loader))[name]):
            got = step(ds[index][name], seed=11, epoch=epoch, index=index, name=name)
            np.testing.assert_array_equal(got, want)
            assert got.dtype == want.dtype and isinstance(got, np.ndarray)


@pytest.mark.parametrize("ops", OPS)
@pytest.mark.parametrize("boxes", ["boxes", "wide"])
def test_a_joint_called_gives_the_row_of_a_loader(ds: Any, ops: str, boxes: str) -> None:
    group = T.Joint(ops=OPS[ops], **ALL | {"boxes": boxes})
    for index, want in enumerate(load(ds, group, seed=5)):
        got = group(ds[index], seed=5)
        assert set(got) == set(ds.tensors)
        for name, array in want.items():
            np.testing.assert_array_equal(got[name], array)
            assert got[name].dtype == array.dtype
    plain = group(dict(ds[4]) | {"note": "kept"}, seed=5, index=4)
    assert plain["note"] == "kept"
    if boxes == "boxes":  # a dict does not know that "wide" holds shares
        np.testing.assert_array_equal(plain["boxes"], load(ds, group, seed=5)[4]["boxes"])


def test_looking_at_one_picture() -> None:
    picture = np.arange(30 * 40 * 3, dtype=np.uint8).reshape(30, 40, 3)
    assert T.RandomResizedCrop(22)(picture, seed=0).shape == (22, 22, 3)
    np.testing.assert_array_equal(T.HorizontalFlip(1.0)(picture), picture[:, ::-1])
    row = {"picture": picture, "found": np.float32([[0, 0, 3, 3], [20, 20, 40, 30]]), "names": [4, 5], "depth": None}
    out = T.Joint(image="picture", boxes="found", labels="names", depth="depth", ops=[T.CenterCrop(20)])(row)
    assert out["picture"].shape == (20, 20, 3) and out["names"].tolist() == [5] and out["depth"] is None
    assert out["found"].tolist() == [[10, 15, 20, 20]]
    assert row["names"] == [4, 5]


# a wrong call, and parts of its error message
REFUSED: list[tuple[Any, tuple[str, ...]]] = [
    (lambda ds: T.HorizontalFlip()(np.zeros((4, 4), np.float32)), ("float32",)),
    (lambda ds: T.RandomCrop(50)(np.zeros((4, 4, 3), np.uint8)), ("50",)),
    (lambda ds: T.Resize(5)("file.jpg"), ("images",)),
    (lambda ds: T.Resize(5)(np.zeros((4, 4, 3), np.uint8), seed=-1), ("seed", "-1")),
    (lambda ds: T.Joint(image="image", ops=[T.CHW()])(ds[0]), ('"image"', 'did you mean "images"')),
    (lambda ds: T.Joint(image="images", labels="labels", ops=[T.CHW()]), ("tensor of boxes",)),
    (lambda ds: T.Joint(image="images", boxes="boxes", min_size=-1, ops=[T.CHW()]), ("min_size", "-1")),
    (lambda ds: T.Joint(image="images", masks=[3], ops=[T.CHW()]), ("masks", "[3]")),
    (lambda ds: load(ds, T.Joint(image="images", boxes="boxes", labels="spots", ops=[T.CHW()])), ('"spots"', "0 boxes", "one entry for each box")),
    (lambda ds: load(ds, T.Joint(image="images", boxes="boxes", labels=[], masks="flow", ops=[T.CHW()])), ('"flow"', "one entry for each box")),
    (lambda ds: load(ds, T.Joint(image="images", depth="spots", ops=[T.CHW()])), ('"spots"', "same height and width")),
]  # fmt: skip


@pytest.mark.parametrize(("act", "words"), REFUSED)
def test_refused(ds: Any, act: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(deeplake.Error) as caught:
        act(ds)
    assert all(word in str(caught.value) for word in words), str(caught.value)
