"""Damaged JPEG files under on_error="accept": as Pillow decodes them with LOAD_TRUNCATED_IMAGES."""

from __future__ import annotations

import io

import deeplake
import numpy as np
import pytest
from conftest import host, picture
from deeplake import transforms
from PIL import Image, ImageFile

H, W = 97, 131
CUT = (2, 5, 7, 8)  # the rows of cut files, of ROWS
ROWS = 10
KINDS = {
    "gray": ("L", {"quality": 85}),
    "4:2:0": ("RGB", {"quality": 85, "subsampling": "4:2:0"}),
    "4:2:2": ("RGB", {"quality": 85, "subsampling": "4:2:2"}),
    "4:4:4": ("RGB", {"quality": 85, "subsampling": "4:4:4"}),
    "restart": ("RGB", {"quality": 85, "restart_marker_rows": 2}),
    "cmyk": ("CMYK", {"quality": 85}),
    "progressive": ("RGB", {"quality": 85, "progressive": True}),
    "progressive gray": ("L", {"quality": 85, "progressive": True}),
}


def jpeg(seed: int, kind: str = "4:2:0") -> bytes:
    """A file with noise in it, so that every row takes its share of the bytes."""
    mode, options = KINDS[kind]
    noise = np.random.default_rng(seed).integers(0, 60, (H, W, 3))
    image = Image.fromarray((picture(seed, H, W) // 2 + noise).astype(np.uint8)).convert(mode)
    out = io.BytesIO()
    image.save(out, "JPEG", **options)
    return out.getvalue()


def pixels_begin(data: bytes) -> int:
    """The offset behind the header of the first scan."""
    at = data.index(b"\xff\xda")
    return at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")


def truncated(data: bytes, share: float) -> bytes:
    """The file without the end of its pixels."""
    begin = pixels_begin(data)
    return data[: begin + int((len(data) - begin) * share)]


def by_pillow(data: bytes) -> np.ndarray:
    """The pixels of Pillow, whose switch is set."""
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        array = np.asarray(Image.open(io.BytesIO(data)))
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = False
    return array[:, :, None] if array.ndim == 2 else array


def linked(folder, files: list[bytes], name: str = "mem://accept", **schema) -> deeplake.Dataset:
    """A dataset of links to files, whose ends nothing checks when they are appended."""
    ds = deeplake.create(name, overwrite=True, schema={"image": "image", "x": {"dtype": "int64"}} | schema)
    links = []
    for i, data in enumerate(files):
        (folder / f"{i:03}.jpg").write_bytes(data)
        links.append(deeplake.link(folder / f"{i:03}.jpg"))
    ds.extend({"image": links, "x": np.arange(len(files))})
    ds.commit()
    return ds


@pytest.fixture
def ds(tmp_path):
    files = [truncated(jpeg(i), 0.6) if i in CUT else jpeg(i) for i in range(ROWS)]
    with linked(tmp_path, files) as ds:
        yield ds


@pytest.mark.parametrize("kind", KINDS)
def test_pixels_of_cut_files_are_those_of_pillow(tmp_path, kind):
    whole = jpeg(1, kind)
    shares = [k / 16 for k in range(2, 16)]
    files = [truncated(whole, share) for share in shares]
    with linked(tmp_path, files) as ds:
        loader = ds.batches(4, on_error="accept")
        got = np.concatenate([batch["image"] for batch in loader])
        stats = loader.stats()
    original = by_pillow(whole)
    kept = []
    for share, data, image in zip(shares, files, got, strict=True):
        assert image.shape == original.shape
        same = np.abs(image.astype(int) - original).max(axis=(1, 2)) <= 1
        kept.append(H if same.all() else int(np.argmin(same)))
        if "progressive" in kind:
            continue  # Pillow gives none of the pixels where the cut is in a table
        assert np.abs(image.astype(int) - by_pillow(data)).max() <= 1, f"{share} of the file"
        assert kept[-1] >= H * share - 24, f"{share} of the file"
    assert kept == sorted(kept)
    assert (stats["accepted"], stats["skipped"], stats["rows"]) == (len(files), 0, len(files))


def test_progressive_files_have_the_scans_that_are_whole(tmp_path):
    whole = jpeg(3, "progressive")
    ends = [i for i in range(len(whole)) if whole[i : i + 2] == b"\xff\xda"][1:]
    files = [whole[: end + 200] for end in ends if end + 200 < len(whole)] + [whole[:-2]]
    with linked(tmp_path, files) as ds:
        got = list(ds.batches(1, on_error="accept", collate="list"))
    compared = 0
    for data, batch in zip(files, got, strict=True):
        image, theirs = batch["image"][0].astype(int), by_pillow(data)
        assert image.std() > 5, "there are pixels"
        if theirs.any():  # none where the cut is in a table
            # versions of libjpeg-turbo smooth blocks of few scans differently
            assert np.abs(image - theirs).max() <= 6 and (np.abs(image - theirs) > 1).mean() < 0.05
            compared += 1
    assert compared >= 5


@pytest.mark.parametrize("name", ["batches", "pytorch", "jax"])
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_rows_are_delivered_and_counted(ds, name, workers):
    if name != "batches":
        host({"pytorch": "torch"}.get(name, name))
    loader = getattr(ds, name)(3, on_error="accept", num_workers=workers, return_index=True)
    for _ in range(2):
        batches = list(loader)
        assert [x for batch in batches for x in np.asarray(batch["x"]).tolist()] == list(range(ROWS))
        stats = loader.stats()
        assert (stats["accepted"], stats["skipped"], stats["first_skips"], stats["rows"]) == (len(CUT), 0, [], ROWS)
        assert [(note["row"], note["tensor"]) for note in stats["first_accepted"]] == [(row, "image") for row in CUT]
        assert f'read row {CUT[0]} of tensor "image"' in stats["first_accepted"][0]["error"]
        assert loader.stats(flat=True)["accepted"] == len(CUT)
        assert f"deeplake_loader_accepted {float(len(CUT))}" in loader.prometheus()


def test_raise_and_skip_are_as_before(ds):
    seen = []
    with pytest.raises(deeplake.CorruptError, match="row 2 "):
        for batch in ds.batches(1):
            seen += batch["x"].tolist()
    assert seen == [0, 1]
    loader = ds.batches(3, on_error="skip")
    assert [x for batch in loader for x in batch["x"].tolist()] == [i for i in range(ROWS) if i not in CUT]
    stats = loader.stats()
    assert (stats["skipped"], stats["accepted"], stats["first_accepted"]) == (len(CUT), 0, [])
    with pytest.raises(deeplake.CorruptError):
        ds["image"][CUT[0]]


@pytest.mark.parametrize("cache", ["memory", "files"])
def test_caches_give_accepted_pixels_to_no_other_loader(ds, tmp_path, cache):
    where = deeplake.Cache(64 << 20, **({} if cache == "memory" else {"dir": tmp_path / "cache"}))
    loader = ds.batches(4, on_error="accept", cache=where)
    for _ in range(3):
        assert sum(len(batch["x"]) for batch in loader) == ROWS and loader.stats()["accepted"] == len(CUT)
    with pytest.raises(deeplake.CorruptError):
        list(ds.batches(4, cache=where))


@pytest.mark.parametrize(
    "steps",
    [
        [transforms.CenterCrop(48)],
        [transforms.Resize((32, 40))],
        [transforms.Resize((16, 20), fast=True)],
        [transforms.RandomResizedCrop(32), transforms.HorizontalFlip()],
    ],
    ids=["crop", "resize", "fast", "random"],
)
@pytest.mark.parametrize("cached", [False, True])
def test_native_transforms_take_accepted_pixels(ds, steps, cached):
    options = {"cache": 64 << 20} if cached else {}
    loader = ds.batches(4, on_error="accept", transform={"image": steps}, **options)
    got = np.concatenate([batch["image"] for batch in loader])
    assert got.shape[0] == ROWS and loader.stats()["accepted"] == len(CUT)
    # as rows by themselves
    alone = np.concatenate(
        [b["image"] for b in ds.batches(1, on_error="accept", transform={"image": steps}, **options)]
    )
    assert np.array_equal(got, alone)


def test_a_crop_of_a_cut_file_is_that_of_its_pixels(ds):
    whole = np.concatenate([b["image"] for b in ds.batches(5, on_error="accept")])
    crop = {"image": [transforms.CenterCrop((41, 33))]}
    got = np.concatenate([b["image"] for b in ds.batches(5, on_error="accept", transform=crop)])
    top, left = (H - 41) // 2, (W - 33) // 2
    assert any(np.array_equal(got, whole[:, t : t + 41, x : x + 33]) for t in (top, top + 1) for x in (left, left + 1))


@pytest.mark.parametrize("workers", [0, 2])
def test_pillow_accepts_the_same_files(ds, workers):
    options = {"decode": {"image": "pil"}, "transform": {"image": [np.asarray]}, "python_workers": workers}
    loader = ds.batches(4, on_error="accept", **options)
    got = np.concatenate([batch["image"] for batch in loader])
    want = np.concatenate([batch["image"] for batch in ds.batches(4, on_error="accept")])
    assert np.abs(got.astype(int) - want).max() <= 1
    stats = loader.stats()
    assert (stats["accepted"], stats["skipped"]) == (len(CUT), 0)
    assert [note["row"] for note in stats["first_accepted"]] == list(CUT)
    assert "truncated" in stats["first_accepted"][0]["error"]
    assert not ImageFile.LOAD_TRUNCATED_IMAGES
    with pytest.raises(deeplake.CorruptError, match="Pillow cannot decode row 2 "):
        list(ds.batches(4, **options))


@pytest.mark.parametrize("decode", [True, {"image": "pil"}], ids=["core", "pil"])
@pytest.mark.parametrize("what", ["png", "webp", "header"])
def test_other_damage_is_raised(tmp_path, what, decode):
    if what == "header":
        good = jpeg(0)
        (tmp_path / "a.jpg").write_bytes(good)
        ds = deeplake.create("mem://header", overwrite=True, schema={"image": "image"})
        ds.append({"image": deeplake.link(tmp_path / "a.jpg")})
        ds.commit()
        (tmp_path / "a.jpg").write_bytes(good[: pixels_begin(good) - 20])
    else:
        out = io.BytesIO()
        noise = np.random.default_rng(1).integers(0, 255, (64, 64, 3)).astype(np.uint8)
        Image.fromarray(noise).save(out, what)
        data = bytearray(out.getvalue())
        data[len(data) // 2 : len(data) // 2 + 40] = bytes(40) if what == "png" else b"\xff" * 40
        if what == "webp":
            data = bytearray(out.getvalue()[: len(data) // 2])
        ds = linked(tmp_path, [bytes(data)])
    with ds, pytest.raises((deeplake.CorruptError, deeplake.Error)):
        list(ds.batches(1, on_error="accept", decode=decode))


def test_mixtures_accept_and_name_the_rows(ds):
    mixed = deeplake.mix([ds[2:4], ds[6:9]])
    loader = mixed.batches(2, on_error="accept")
    assert sum(len(batch["x"]) for batch in loader) == loader.stats()["rows"] > 0
    notes = loader.stats()["first_accepted"]
    assert loader.stats()["accepted"] >= 3 and {note["row"] for note in notes} == set(CUT) - {5}


def test_sequences_count_a_row_once(tmp_path):
    files = [jpeg(0) + b"", truncated(jpeg(1), 0.5) + b"\xff\xd9", truncated(jpeg(2), 0.3) + b"\xff\xd9"]
    samples = [deeplake.read(file) for file in files]
    for decode in (True, {"clip": "pil"}):
        with deeplake.create(
            "mem://clips", overwrite=True, schema={"clip": {"htype": "sequence[image]", "compression": "jpeg"}}
        ) as ds:
            ds.extend({"clip": [samples, samples[:1], samples[1:]]})
            ds.commit()
            loader = ds.batches(2, on_error="accept", collate="list", decode=decode)
            assert [len(clip) for batch in loader for clip in batch["clip"]] == [3, 1, 2]
            # Pillow takes damage before an end marker for pixels
            assert loader.stats()["accepted"] == (2 if decode is True else 0)


def test_files_are_stored_as_they_are(tmp_path):
    damaged = truncated(jpeg(4), 0.5) + b"\xff\xd9"
    with deeplake.create(
        "mem://stored", overwrite=True, schema={"image": {"htype": "image", "compression": "jpeg"}}
    ) as ds:
        ds.append({"image": deeplake.read(damaged)})
        ds.commit()
        loader = ds.batches(1, on_error="accept")
        assert next(iter(loader))["image"].shape == (1, H, W, 3)
        stored = next(iter(ds.batches(1, on_error="accept", decode={"image": "bytes"})))
        assert stored["image"] == [damaged]
        with pytest.raises(deeplake.CorruptError, match="end-of-image"):
            ds.append({"image": deeplake.read(truncated(jpeg(4), 0.5))})
