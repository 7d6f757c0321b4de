"""Masks as PNG files: numbers, not colours, stored and linked unchanged, read by every way out."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import PIL.Image
import pytest

RNG = np.random.default_rng(4)
SMALL = RNG.integers(0, 21, (40, 60), dtype=np.uint8)
DEEP = RNG.integers(0, 5000, (40, 60), dtype=np.uint16)
BITS = RNG.random((40, 60)) < 0.3


def palette(numbers: Any) -> PIL.Image.Image:
    picture = PIL.Image.fromarray(numbers, mode="P")
    picture.putpalette(bytes(range(256)) * 3)
    return picture


def file(picture: PIL.Image.Image) -> bytes:
    out = io.BytesIO()
    picture.save(out, "png")
    return out.getvalue()


FILES = [
    ("gray", "segment_mask", file(PIL.Image.fromarray(SMALL)), SMALL),
    ("palette", "segment_mask", file(palette(SMALL)), SMALL),
    ("palette of four bits", "instance_label", file(palette(SMALL % 16)), SMALL % 16),
    ("16 bits", "segment_mask", file(PIL.Image.fromarray(DEEP)), DEEP),
    ("1 bit", "binary_mask", file(PIL.Image.fromarray(BITS)), BITS),
    ("gray as bools", "binary_mask", file(PIL.Image.fromarray(SMALL)), SMALL != 0),
]


def check(ds: Any, numbers: Any) -> None:
    """Reads row 0 by every way out."""
    tensor = ds["x"]
    assert tensor.dtype == str(numbers.dtype) and tensor.shape == numbers.shape
    assert np.array_equal(tensor[0], numbers)
    assert np.array_equal(ds.query("SELECT x[3:20, 5:41] AS part")["part"][0], numbers[3:20, 5:41])
    batch = next(iter(ds.batches(batch_size=1)))
    assert np.array_equal(batch["x"][0], numbers)


@pytest.mark.parametrize(("name", "htype", "data", "numbers"), FILES, ids=[f[0] for f in FILES])
def test_a_file_is_kept_and_read_as_numbers(name: str, htype: str, data: bytes, numbers: Any, tmp_path: Path) -> None:
    ds = deeplake.create(tmp_path / "ds", schema={"x": htype})
    ds.append({"x": deeplake.read(data)})
    ds.commit()
    assert ds["x"].compression == "png"
    check(deeplake.open(tmp_path / "ds"), numbers)
    assert ds["x"].bytes(0) == data
    ds.append({"x": numbers})  # an array beside files
    ds.commit()
    assert np.array_equal(ds["x"][1], numbers)


@pytest.mark.parametrize(("name", "htype", "data", "numbers"), FILES, ids=[f[0] for f in FILES])
def test_a_file_is_linked(name: str, htype: str, data: bytes, numbers: Any, tmp_path: Path) -> None:
    path = tmp_path / "mask.png"
    path.write_bytes(data)
    ds = deeplake.create(tmp_path / "ds", schema={"x": htype})
    ds.append({"x": deeplake.link(path)})
    ds.commit()
    check(ds, numbers)


def test_pictures_of_pillow_and_files_agree(tmp_path: Path) -> None:
    ds = deeplake.create("mem://masks", schema={"x": "segment_mask", "y": "segment_mask"}, overwrite=True)
    ds.append({"x": palette(SMALL), "y": deeplake.read(file(palette(SMALL)))})
    ds.commit()
    assert np.array_equal(ds["x"][0], ds["y"][0]) and ds["x"].compression == "shuffle"


@pytest.mark.parametrize("kind", ["jpeg", "webp"])
def test_files_of_colours_are_refused(kind: str) -> None:
    out = io.BytesIO()
    PIL.Image.fromarray(np.zeros((8, 9, 3), np.uint8)).save(out, kind)
    ds = deeplake.create("mem://colours", schema={"x": "segment_mask"}, overwrite=True)
    with pytest.raises(deeplake.Error, match="keeps colors, not the numbers of a mask"):
        ds.append({"x": deeplake.read(out.getvalue())})


def test_a_result_of_a_query_keeps_the_files(tmp_path: Path) -> None:
    ds = deeplake.create(tmp_path / "ds", schema={"x": "segment_mask", "label": "class_label"})
    ds.extend({"x": [deeplake.read(FILES[0][2]), deeplake.read(FILES[1][2])] * 3, "label": [0, 1] * 3})
    ds.commit()
    other = ds.query("SELECT * WHERE label = 1").materialize(tmp_path / "copy")
    assert other["x"].bytes(0) == FILES[1][2] and np.array_equal(other["x"][2], SMALL)
