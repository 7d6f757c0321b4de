"""Native transforms against Pillow and torchvision."""

from __future__ import annotations

import io

import deeplake
import numpy as np
import PIL
import pytest
from conftest import resized
from deeplake import transforms as T  # noqa: N812
from PIL import Image

torch = pytest.importorskip("torch")


def photo(rng: np.random.Generator, height: int, width: int, channels: int = 3) -> np.ndarray:
    small = rng.integers(0, 256, (height // 5 + 2, width // 5 + 2, channels), np.uint8)
    image = Image.fromarray(small.squeeze()).resize((width, height), Image.BICUBIC)
    return np.asarray(image).reshape(height, width, channels)


def jpeg(pixels: np.ndarray, **options: object) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels.squeeze()).save(out, "jpeg", **{"quality": 90, **options})
    return out.getvalue()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> deeplake.Dataset:
    """40 JPEGs of several sizes, and their annotations."""
    rng = np.random.default_rng(1)
    ds = deeplake.create(str(tmp_path_factory.mktemp("transforms") / "ds"))
    ds.create_tensor("images", htype="image.rgb", compression="jpeg")
    ds.create_tensor("png", htype="image.rgb", compression="png")
    ds.create_tensor("raw", htype="image.rgb")
    ds.create_tensor("masks", htype="segment_mask", dtype="uint8")
    ds.create_tensor("boxes", htype="bbox", dtype="float64")
    ds.create_tensor("points", htype="point", dtype="float64")
    for k in range(40):
        h, w = int(rng.integers(60, 200)), int(rng.integers(60, 200))
        file = jpeg(photo(rng, h, w), subsampling=k % 3, progressive=k % 5 == 0)
        pixels = np.asarray(Image.open(io.BytesIO(file)))
        corners = np.sort(rng.random((4, 2, 2)) * (w, h), axis=1).reshape(4, 4)
        ds.append(
            {
                "images": pixels,
                "png": pixels,
                "raw": pixels,
                "masks": rng.integers(0, 9, (h, w), np.uint8),
                "boxes": corners,
                "points": rng.random((5, 2)) * (w, h),
            }
        )
    ds.commit()
    return ds


def rows(ds: deeplake.Dataset, transform: object, **options: object) -> list[dict]:
    batches = ds.batches(batch_size=8, collate="list", transform=transform, num_workers=2, **options)
    return [dict(zip(b, values, strict=True)) for b in batches for values in zip(*b.values(), strict=True)]


def decoded(ds: deeplake.Dataset) -> list[np.ndarray]:
    return [ds["images"][i] for i in range(len(ds))]


@pytest.mark.parametrize("name", ["images", "png", "raw"])
@pytest.mark.parametrize("filter_", ["bilinear", "bicubic", "lanczos", "box", "hamming"])
def test_resize_is_pillows(pictures: deeplake.Dataset, name: str, filter_: str) -> None:
    got = rows(pictures, {name: T.Resize((97, 64), filter_)}, tensors=[name])
    for i, row in enumerate(got):
        image = Image.fromarray(pictures[name][i])
        how = getattr(Image, filter_.upper())
        np.testing.assert_array_equal(row[name], np.asarray(resized(image, (64, 97), how)))
        if int(PIL.__version__.split(".")[0]) >= 13:
            np.testing.assert_array_equal(row[name], np.asarray(image.resize((64, 97), how)))


@pytest.mark.parametrize("size", [50, (80, 120), 224])
def test_resize_and_crop_are_torchvisions(pictures: deeplake.Dataset, size: object) -> None:
    v2 = pytest.importorskip("torchvision.transforms.v2")
    got = rows(pictures, {"images": [T.Resize(size), T.CenterCrop(90)]}, tensors=["images"])
    ours = v2.Compose([v2.Resize(size), v2.CenterCrop(90)])
    for i, row in enumerate(got):
        want = ours(torch.from_numpy(pictures["images"][i]).permute(2, 0, 1)).permute(1, 2, 0)
        off = np.abs(row["images"].astype(int) - want.numpy().astype(int))
        assert off.max() <= 2 and (off > 1).mean() < 1e-3, i


def test_normalize_is_torchvisions(pictures: deeplake.Dataset) -> None:
    v2 = pytest.importorskip("torchvision.transforms.v2")
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    for bits, dtype in ((32, torch.float32), (16, torch.float16), ("bf16", torch.bfloat16)):
        steps = [T.CenterCrop(61), T.Normalize(mean, std), T.ToFloat(bits), T.CHW()]
        batch = next(iter(pictures.pytorch(batch_size=40, tensors=["images"], transform={"images": steps})))
        chain = v2.Compose([v2.CenterCrop(61), v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std)])
        want = torch.stack([chain(torch.from_numpy(p).permute(2, 0, 1)) for p in decoded(pictures)])
        assert batch["images"].dtype == dtype
        assert torch.equal(batch["images"], want.to(dtype))


def test_crops_are_parts_of_the_picture(pictures: deeplake.Dataset) -> None:
    """Whatever was not decoded was not needed: decoding everything first, for the cache, changes nothing."""
    steps = {"images": [T.RandomResizedCrop(64), T.HorizontalFlip()]}
    parts = rows(pictures, steps, tensors=["images"], seed=3)
    whole = rows(pictures, steps, tensors=["images"], seed=3, cache=64 << 20)
    for a, b in zip(parts, whole, strict=True):
        np.testing.assert_array_equal(a["images"], b["images"])


def test_draws_do_not_depend_on_threads_or_batches(pictures: deeplake.Dataset) -> None:
    steps = {"images": [T.RandomResizedCrop(32), T.HorizontalFlip(), T.ColorJitter(0.4, 0.4, 0.4)]}
    want: dict[int, bytes] = {}
    for threads, size, ranks in ((1, 1, 1), (2, 7, 1), (3, 16, 3)):
        for rank in range(ranks):
            loader = pictures.batches(
                batch_size=size, num_workers=threads, tensors=["images"], transform=steps, shuffle=True, seed=5,
                return_index=True, rank=rank, world_size=ranks,
            )  # fmt: skip
            loader.set_epoch(2)
            for batch in loader:
                for row, image in zip(batch["_index"], batch["images"], strict=True):
                    assert want.setdefault(int(row), image.tobytes()) == image.tobytes()
    assert len(want) == 40
    again = pictures.batches(batch_size=40, tensors=["images"], transform=steps, seed=5)
    first = next(iter(again))["images"]
    again.set_epoch(0)
    second = next(iter(again))["images"]
    np.testing.assert_array_equal(first, second)
    again.set_epoch(1)
    assert not np.array_equal(next(iter(again))["images"], first)


def test_crop_statistics_are_torchvisions() -> None:
    stats = pytest.importorskip("scipy.stats")
    v2 = pytest.importorskip("torchvision.transforms.v2")
    n, h, w = 4000, 60, 90
    ds = deeplake.create("mem://crop-statistics")
    ds.create_tensor("images", htype="image.rgb")
    ds.create_tensor("points", htype="point", dtype="float64")
    corners = np.array([[0.0, 0.0], [w, h]])
    ds.extend({"images": [np.zeros((h, w, 3), np.uint8)] * n, "points": [corners] * n})
    ds.commit()
    crop = T.RandomResizedCrop((100, 100))
    out = next(iter(ds.batches(batch_size=n, transform=T.Joint(image="images", keypoints="points", ops=[crop]))))
    scale = (out["points"][:, 1] - out["points"][:, 0]) / (w, h)
    width, height = 100 / scale[:, 0], 100 / scale[:, 1]
    x, y = -out["points"][:, 0, 0] / scale[:, 0], -out["points"][:, 0, 1] / scale[:, 1]
    theirs = v2.RandomResizedCrop((100, 100))
    torch.manual_seed(0)
    params = [theirs.make_params([torch.zeros(3, h, w, dtype=torch.uint8)]) for _ in range(n)]
    for ours, key in ((width, "width"), (height, "height"), (x, "left"), (y, "top")):
        assert stats.ks_2samp(np.rint(ours), [p[key] for p in params]).pvalue > 1e-3, key


def test_colours_are_torchvisions(pictures: deeplake.Dataset) -> None:
    f = pytest.importorskip("torchvision.transforms.v2.functional")
    for step, theirs in (
        (T.ColorJitter(brightness=(1.3, 1.3)), lambda p: f.adjust_brightness(p, 1.3)),
        (T.ColorJitter(contrast=(0.6, 0.6)), lambda p: f.adjust_contrast(p, 0.6)),
        (T.ColorJitter(saturation=(1.7, 1.7)), lambda p: f.adjust_saturation(p, 1.7)),
    ):
        for i, row in enumerate(rows(pictures, {"images": step}, tensors=["images"])[:8]):
            want = theirs(torch.from_numpy(pictures["images"][i]).permute(2, 0, 1)).permute(1, 2, 0).numpy()
            assert np.abs(row["images"].astype(int) - want.astype(int)).max() <= 1


def boxes_in(mode: str, corners: list[np.ndarray]) -> list[np.ndarray]:
    """Returns boxes that are given by their corners in another mode."""
    first, last = (np.array([b[:, k : k + 2] for b in corners]) for k in (0, 2))
    parts = {"LTRB": (first, last), "LTWH": (first, last - first), "CCWH": ((first + last) / 2, last - first)}[mode]
    return list(np.concatenate(parts, axis=2))


@pytest.mark.parametrize("mode", ["LTRB", "LTWH", "CCWH"])
def test_annotations_move_as_tv_tensors(pictures: deeplake.Dataset, mode: str) -> None:
    v2 = pytest.importorskip("torchvision.transforms.v2")
    tv = pytest.importorskip("torchvision.tv_tensors")
    formats = {"LTRB": "XYXY", "LTWH": "XYWH", "CCWH": "CXCYWH"}
    ops = [T.Resize((120, 77)), T.CenterCrop((60, 90)), T.HorizontalFlip(1), T.Pad(4), T.VerticalFlip(1)]
    theirs = v2.Compose([
        v2.Resize((120, 77)), v2.CenterCrop((60, 90)), v2.RandomHorizontalFlip(1), v2.Pad(4), v2.RandomVerticalFlip(1),
    ])  # fmt: skip
    group = T.Joint(image="images", boxes="boxes", masks="masks", keypoints="points", ops=ops, box_mode=mode)
    names = ["images", "boxes", "masks", "points"]
    stored = boxes_in(mode, [pictures["boxes"][i] for i in range(len(pictures))])
    writer = deeplake.create(f"mem://boxes-{mode}")
    for name, htype, dtype in (
        ("images", "image.rgb", "uint8"),
        ("masks", "segment_mask", "uint8"),
        ("boxes", "bbox", "float64"),
        ("points", "point", "float64"),
    ):
        writer.create_tensor(name, htype=htype, dtype=dtype)
    writer.extend({name: stored if name == "boxes" else [pictures[name][i] for i in range(len(pictures))]
                   for name in names})  # fmt: skip
    writer.commit()
    pictures = writer
    for i, row in enumerate(rows(pictures, group, tensors=names)):
        given = {name: pictures[name][i] for name in names}
        size = given["images"].shape[:2]
        given["boxes"] = stored[i]
        boxes = tv.BoundingBoxes(torch.from_numpy(given["boxes"]), format=formats[mode], canvas_size=size)
        want = theirs({
            "images": tv.Image(torch.from_numpy(given["images"]).permute(2, 0, 1)), "boxes": boxes,
            "masks": tv.Mask(torch.from_numpy(given["masks"])),
            "points": tv.KeyPoints(torch.from_numpy(given["points"]), canvas_size=size),
        })  # fmt: skip
        np.testing.assert_array_equal(row["masks"], want["masks"].numpy())
        np.testing.assert_allclose(row["boxes"], want["boxes"].numpy(), atol=1e-3)
        np.testing.assert_allclose(row["points"], want["points"].numpy(), atol=1e-3)


@pytest.mark.parametrize(
    ("transform", "words"),
    [
        ({"images": T.Resize(0)}, "Resize: size is [0]"),
        ({"images": T.RandomResizedCrop(8, scale=(1, 0.5))}, "scale is [1 0.5]"),
        ({"images": T.Resize(8, "bilinaer")}, 'did you mean "bilinear"'),
        ({"images": T.HorizontalFlip(2)}, "p is 2"),
        ({"images": T.HorizontalFlip(None)}, "HorizontalFlip: p is null, want a number"),
        ({"images": T.Resize(8, None)}, "Resize: interpolation is null, want a string"),
        ({"images": T.Normalize(float("nan"), 1)}, "Normalize: mean is nan, want finite numbers"),
        ({"images": T.Normalize((0, 0, 0), np.array([1, np.inf, 1]))}, "Normalize: std is inf, want finite numbers"),
        ({"images": T.Normalize((1, 2), (1,))}, "mean is"),
        ({"images": [T.Normalize(0, 1), T.Resize(8)]}, "Resize stands after Normalize"),
        ({"images": T.ToFloat(64)}, "bits is"),
        ({"images": [T.Lambda(np.asarray), T.CHW()]}, "put native transforms first"),
        ({"boxes": T.Resize(8)}, 'transform of tensor "boxes"'),
        (T.Resize(8), "has no tensor"),
        ({"images": T.HorizontalFlip}, "write HorizontalFlip(...)"),
        ({"images": [T.CHW]}, "write CHW(...)"),
        (T.Joint, "write Joint(...)"),
        ([T.Joint(image="images", ops=[T.CHW()]), {"images": T.CHW()}], "two transforms"),
        (T.Joint(image="images", boxes="boxes", ops=[T.CHW()], box_mode="LTXX"), "box mode"),
        ({"images": T.RandomCrop(9, padding=(1, 2, 3))}, "padding is"),
    ],
)
def test_bad_parameters(pictures: deeplake.Dataset, transform: object, words: str) -> None:
    with pytest.raises((deeplake.InvalidArgumentError, deeplake.TensorTypeError)) as caught:
        pictures.batches(batch_size=4, transform=transform)
    assert words in str(caught.value)


def test_files_and_too_small_pictures_are_refused(pictures: deeplake.Dataset) -> None:
    with pytest.raises(deeplake.InvalidArgumentError, match="deliver files"):
        pictures.batches(batch_size=4, transform={"images": T.CHW()}, decode={"images": "bytes"})
    with pytest.raises(deeplake.TensorTypeError, match=r"row 0.*larger than the picture"):
        list(pictures.batches(batch_size=4, tensors=["images"], transform={"images": T.RandomCrop(1000)}))
    with pytest.raises(deeplake.TensorTypeError, match=r"row 0.*fill has 2 numbers, the picture has 3 channels"):
        list(pictures.batches(batch_size=4, tensors=["images"], transform={"images": T.Pad(2, fill=(1, 2))}))
    with pytest.raises(deeplake.TensorTypeError, match=r"row 0.*between two steps would take .* bytes, want at most"):
        steps = [T.Resize((1_000_000, 1_000_000)), T.ColorJitter(contrast=0.5), T.CenterCrop(8)]
        list(pictures.batches(batch_size=4, tensors=["images"], transform={"images": steps}))


def test_python_after_native(pictures: deeplake.Dataset) -> None:
    steps = {"images": [T.Resize((8, 9)), T.Lambda(lambda p: p.sum(dtype=np.int64))]}
    got = rows(pictures, steps, tensors=["images"])
    assert int(got[0]["images"]) == int(
        rows(pictures, {"images": T.Resize((8, 9))}, tensors=["images"])[0]["images"].sum()
    )


def test_map_style_draws_anew(pictures: deeplake.Dataset) -> None:
    dataset = pictures.torch_dataset(tensors=["images"], transform={"images": T.RandomResizedCrop(20)})
    torch.manual_seed(4)
    first, second = dataset[0]["images"], dataset[0]["images"]
    torch.manual_seed(4)
    assert torch.equal(dataset[0]["images"], first)
    assert not torch.equal(first, second)


def test_fast_is_near(pictures: deeplake.Dataset) -> None:
    slow = rows(pictures, {"images": T.Resize((24, 24))}, tensors=["images"])
    fast = rows(pictures, {"images": T.Resize((24, 24), fast=True)}, tensors=["images"])
    for a, b in zip(slow, fast, strict=True):
        off = np.abs(a["images"].astype(int) - b["images"].astype(int))
        assert 0 < off.mean() < 6
