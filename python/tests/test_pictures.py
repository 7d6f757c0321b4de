"""A picture has one meaning by every way in and out: a file, its bytes, Pillow's object, an array."""

from __future__ import annotations

import io
from typing import Any

import deeplake
import numpy as np
import PIL.Image
import pytest

RNG = np.random.default_rng(0)
RGB = PIL.Image.fromarray(RNG.integers(0, 256, (8, 9, 3), dtype=np.uint8))
RGBA = PIL.Image.fromarray(RNG.integers(0, 256, (8, 9, 4), dtype=np.uint8))
DEEP = PIL.Image.fromarray(RNG.integers(0, 65536, (8, 9), dtype=np.uint16))


def seen_through() -> Any:
    """A palette with a transparent colour."""
    picture = RGB.quantize(8)
    picture.info["transparency"] = 3
    return picture


# mode, the picture, its dtype and channels as htype "image", and the file that holds that mode
MODES: list[tuple[str, Any, str, int, str]] = [
    ("1", RGB.convert("1"), "uint8", 1, "PNG"),
    ("L", RGB.convert("L"), "uint8", 1, "PNG"),
    ("L jpeg", RGB.convert("L"), "uint8", 1, "JPEG"),
    ("LA", RGBA.convert("LA"), "uint8", 2, "PNG"),
    ("P", RGB.quantize(8), "uint8", 3, "PNG"),
    ("P transparent", seen_through(), "uint8", 4, "PNG"),
    ("RGB", RGB, "uint8", 3, "PNG"),
    ("RGBA", RGBA, "uint8", 4, "PNG"),
    ("CMYK", RGB.convert("CMYK"), "uint8", 4, ""),
    ("YCbCr", RGB.convert("YCbCr"), "uint8", 3, ""),
    ("HSV", RGB.convert("HSV"), "uint8", 3, ""),
    ("I;16", DEEP, "uint16", 1, "PNG"),
    ("I", DEEP.convert("I"), "uint16", 1, ""),
    ("F", PIL.Image.fromarray(np.linspace(0, 1, 72, dtype=np.float32).reshape(8, 9)), "float32", 1, ""),
]


def file(picture: Any, kind: str) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **({"quality": 100} if kind == "JPEG" else {}))
    return out.getvalue()


def made(htype: str, value: Any, **options: Any) -> Any:
    ds = deeplake.create("mem://pictures", overwrite=True)
    ds.create_tensor("x", htype, **options)
    ds.append({"x": value})
    ds.commit()
    return ds


@pytest.mark.parametrize(("mode", "picture", "dtype", "channels", "kind"), MODES, ids=[mode[0] for mode in MODES])
def test_a_picture_by_every_way_in(
    mode: str, picture: Any, dtype: str, channels: int, kind: str, tmp_path: Any
) -> None:
    with made("image", picture) as ds:
        want = ds["x"][0]
        assert want.dtype == dtype and want.shape == (8, 9, channels)
    with made("image", want) as ds:
        assert np.array_equal(ds["x"][0], want)
    if kind in ("", "JPEG"):
        return
    data = file(picture, kind)
    path = tmp_path / "picture"
    path.write_bytes(data)
    for htype in ("image", "image.rgb", "image.gray"):
        if htype == "image.rgb" and dtype != "uint8":
            continue
        with made(htype, deeplake.read(path)) as ds:
            read = ds["x"][0]
        with made(htype, deeplake.read(data), compression="png", dtype=dtype) as ds:
            assert np.array_equal(ds["x"][0], read)
            shown = next(iter(ds.pytorch(batch_size=1, decode={"x": "pil"}, collate="list")))["x"][0]
        with made(htype, picture) as ds:
            assert ds["x"][0].dtype == read.dtype and np.array_equal(ds["x"][0], read), htype
        # decode="pil" shows the channels of the array
        assert np.array_equal(np.asarray(shown).reshape(read.shape), read), (htype, shown.mode)


def test_masks_of_pictures_are_numbers() -> None:
    numbers = np.arange(72, dtype=np.uint8).reshape(8, 9) % 5
    palette = PIL.Image.fromarray(numbers).convert("P")
    palette.putpalette([255, 0, 0, 0, 255, 0] * 3)
    for htype, picture, want in (
        ("segment_mask", palette, numbers),
        ("segment_mask", PIL.Image.fromarray(numbers), numbers),
        ("segment_mask", DEEP, np.asarray(DEEP)),
        ("binary_mask", PIL.Image.fromarray(numbers > 2), numbers > 2),
        ("binary_mask", PIL.Image.fromarray((numbers > 2).astype(np.uint8)), numbers > 2),
        ("instance_label", palette, numbers),
        ("sequence[segment_mask]", [palette, palette], [numbers, numbers]),
    ):
        with made(htype, picture) as ds:
            assert np.array_equal(ds["x"][0], want), htype
    for picture in (RGB, RGBA, RGB.convert("CMYK")):
        with pytest.raises(deeplake.Error, match="colours are no numbers"):
            made("segment_mask", picture)


def test_pictures_that_no_tensor_takes() -> None:
    with pytest.raises(deeplake.Error, match="LAB"):
        made("image", PIL.Image.new("LAB", (3, 3)))
    with pytest.raises(deeplake.Error, match=r"uint16|65535|70000"):
        made("image", PIL.Image.fromarray(np.full((2, 2), 70_000, np.int32)))


def test_orientation_and_animation() -> None:
    """Pixels are those of the file: the orientation in EXIF data is not applied; of an animation, the first frame counts."""
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    out = io.BytesIO()
    RGB.save(out, "JPEG", exif=exif, quality=95)
    with made("image", deeplake.read(out.getvalue())) as ds:
        assert ds["x"][0].shape == (8, 9, 3)
    out = io.BytesIO()
    frames = [RGB, RGB.transpose(PIL.Image.Transpose.FLIP_LEFT_RIGHT)]
    frames[0].save(out, "WEBP", save_all=True, append_images=frames[1:], lossless=True)
    with made("image.rgb", deeplake.read(out.getvalue()), compression="webp") as ds:
        assert np.array_equal(ds["x"][0], np.asarray(RGB))
