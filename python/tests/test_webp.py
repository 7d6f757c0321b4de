"""WebP images, held against Pillow."""

from __future__ import annotations

import io

import deeplake
import numpy as np
import pytest
from conftest import picture
from PIL import Image


def webp(pixels, **options):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "WEBP", **options)
    return out.getvalue()


def pillow(file):
    return np.asarray(Image.open(io.BytesIO(file)))


def files():
    """Lossy, lossless and animated files of several sizes, with and without alpha."""
    rng = np.random.default_rng(7)
    found = []
    for height, width in [(1, 1), (1, 9), (40, 1), (16, 16), (33, 37), (64, 50), (121, 90)]:
        small = rng.integers(0, 256, (height // 6 + 2, width // 6 + 2, 4), np.uint8)
        rgba = np.asarray(Image.fromarray(small).resize((width, height), Image.BICUBIC))
        for pixels in (rgba[..., :3].copy(), rgba):
            found += [webp(pixels, quality=q, method=m) for q, m in ((5, 0), (60, 4), (95, 6))]
            found.append(webp(pixels, lossless=True))
            after = [Image.fromarray(pixels[::-1].copy())]
            found.append(webp(pixels, save_all=True, append_images=after, quality=70))
    return found


def test_pixels_equal_pillow():
    for file in files():
        sample = deeplake.read(file)
        want = pillow(file)
        assert (sample.codec, sample.dtype, sample.shape) == ("webp", "uint8", want.shape)
        assert np.array_equal(sample.array, want), want.shape


def test_files_are_kept(tmp_path):
    kept = files()
    ds = deeplake.create(str(tmp_path / "ds"))
    for name, htype in [("any", "image"), ("rgb", "image.rgb"), ("gray", "image.gray")]:
        ds.create_tensor(name, htype, compression="webp")
    ds.extend({name: [deeplake.read(file) for file in kept] for name in ("any", "rgb", "gray")})
    ds.commit()
    ds = deeplake.open(str(tmp_path / "ds"))
    for i, file in enumerate(kept):
        image = Image.open(io.BytesIO(file)).convert("RGB")
        assert ds["any"].bytes(i) == ds["rgb"].bytes(i) == file
        assert np.array_equal(ds[i]["any"], pillow(file))
        assert np.array_equal(ds[i]["rgb"], np.asarray(image))
        assert np.array_equal(ds[i]["gray"][..., 0], np.asarray(image.convert("L")))
    with pytest.raises(deeplake.Error, match="cut"):
        ds.append(dict.fromkeys(("any", "rgb", "gray"), deeplake.read(kept[-1][:-9])))


def test_arrays_are_lossless(place):
    ds = deeplake.create(place)
    ds.create_tensor("image", "image", compression="webp")
    rgba = np.dstack([picture(2), picture(3)[..., :1]])
    ds.extend({"image": [picture(1), rgba]})
    ds.commit()
    assert np.array_equal(ds[0]["image"], picture(1)) and np.array_equal(ds[1]["image"], rgba)
    assert np.array_equal(pillow(ds["image"].bytes(1)), rgba), "Pillow reads what is written"
    with pytest.raises(deeplake.Error, match="1 channels"):
        ds.append({"image": picture(1)[..., :1]})
    with pytest.raises(deeplake.Error, match="uint8"):
        ds.create_tensor("deep", "image", compression="webp", dtype="uint16")


def test_a_folder(tmp_path):
    for i in range(6):
        folder = tmp_path / "photos" / f"class{i % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i}.webp").write_bytes(webp(picture(i), quality=80))
    Image.fromarray(picture(6)).save(tmp_path / "photos" / "class0" / "6.png")
    from click.testing import CliRunner
    from deeplake._cli.main import cli

    done = CliRunner().invoke(cli, ["create", str(tmp_path / "ds"), f"from-{tmp_path / 'photos'}"])
    assert done.exit_code == 0, done.output
    ds = deeplake.open(str(tmp_path / "ds"))
    assert ds["images"].compression == "webp" and len(ds) == 7
    paths = sorted((tmp_path / "photos").rglob("*.*"))
    for i, path in enumerate(paths):
        assert np.array_equal(ds[i]["images"], np.asarray(Image.open(path)))
        assert path.suffix == ".png" or ds["images"].bytes(i) == path.read_bytes()


def test_batches_and_transforms(tmp_path):
    from deeplake import transforms as T  # noqa: N812

    kept = [webp(np.kron(picture(i), np.ones((3, 3, 1), np.uint8)), quality=70) for i in range(8)]
    ds = deeplake.create(str(tmp_path / "ds"))
    ds.create_tensor("webp", "image.rgb", compression="webp")
    ds.create_tensor("raw", "image.rgb")
    ds.create_tensor("linked", "image.rgb", compression="webp")
    for i, file in enumerate(kept):
        (tmp_path / f"{i}.webp").write_bytes(file)
        linked = deeplake.link(str(tmp_path / f"{i}.webp"))
        ds.append({"webp": deeplake.read(file), "raw": pillow(file), "linked": linked})
    ds.commit()
    steps = [T.Resize(50), T.CenterCrop(31)]
    for transform in (None, dict.fromkeys(("webp", "raw", "linked"), steps)):
        for at, batch in enumerate(ds.batches(batch_size=4, collate="list", transform=transform, num_workers=2)):
            for i in range(4):
                assert np.array_equal(batch["webp"][i], batch["raw"][i])
                assert np.array_equal(batch["linked"][i], batch["raw"][i])
                assert transform is not None or np.array_equal(batch["webp"][i], pillow(kept[4 * at + i]))
