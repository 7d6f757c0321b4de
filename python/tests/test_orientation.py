"""The orientation of Exif data: an option of tensors and of loaders. Pillow's `exif_transpose` gives the right pixels."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import PIL.Image
import PIL.ImageFile
import PIL.ImageOps
import pytest
from click.testing import CliRunner
from conftest import host
from deeplake._cli.main import cli

HEIGHT, WIDTH = 37, 52
FORMATS = {"JPEG": {"quality": 92}, "PNG": {}, "WEBP": {"lossless": True}}


def picture(seed: int = 0, height: int = HEIGHT, width: int = WIDTH) -> PIL.Image.Image:
    """A picture without symmetry: waves, and a corner of another colour."""
    y, x = np.mgrid[0:height, 0:width]
    array = np.stack([x * 4 % 256, y * 6 % 256, (x + 2 * y + 31 * seed) % 256], -1).astype(np.uint8)
    array[: height // 4, : width // 3] = (250, 10, 40)
    return PIL.Image.fromarray(array)


def file_of(orientation: int, kind: str = "JPEG", seed: int = 0, **given: Any) -> bytes:
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    out = io.BytesIO()
    picture(seed, **given).save(out, kind, exif=exif, **FORMATS[kind])
    return out.getvalue()


def opened(data: bytes) -> PIL.Image.Image:
    return PIL.Image.open(io.BytesIO(data))


def turned(data: bytes) -> np.ndarray:
    return np.asarray(PIL.ImageOps.exif_transpose(opened(data)))


EVERY = [(kind, orientation) for kind in FORMATS for orientation in range(1, 9)]


@pytest.fixture(scope="module")
def files() -> list[bytes]:
    return [file_of(orientation, kind, seed) for seed, (kind, orientation) in enumerate(EVERY)]


@pytest.fixture(scope="module")
def plain(files: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Every format in every orientation, in a tensor without the option."""
    with deeplake.create(str(tmp_path_factory.mktemp("orientation") / "plain")) as ds:
        ds.create_tensor("images", "image.rgb")
        ds.extend({"images": [deeplake.read(data) for data in files]})
        ds.commit()
        yield ds


@pytest.fixture(scope="module")
def upright(files: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Any:
    with deeplake.create(str(tmp_path_factory.mktemp("orientation") / "upright")) as ds:
        ds.create_tensor("images", "image.rgb", apply_exif_orientation=True)
        ds.extend({"images": [deeplake.read(data) for data in files]})
        ds.commit()
        yield ds


def test_tensor_reads_and_stores(upright: Any, plain: Any, files: list[bytes]) -> None:
    assert "apply_exif_orientation=True" in repr(upright["images"])
    shapes = upright.query("SELECT SHAPE(images) AS s")["s"].numpy()
    for row, data in enumerate(files):
        want = turned(data)
        assert np.array_equal(upright["images"][row], want), EVERY[row]
        assert upright["images"].bytes(row) == data
        assert shapes[row].tolist() == list(want.shape)
        assert np.array_equal(plain["images"][row], np.asarray(opened(data))), EVERY[row]


def test_tensor_regions_and_queries(upright: Any, files: list[bytes]) -> None:
    """Regions of turned images lie in the turned image."""
    cut = upright.query("SELECT images[5:21, 7:30] AS part, MEAN(images) AS mean")
    for row, data in enumerate(files):
        want = turned(data)
        assert np.array_equal(cut["part"][row], want[5:21, 7:30]), EVERY[row]
        assert abs(cut["mean"][row] - want.mean()) < 1e-6, EVERY[row]


@pytest.mark.parametrize("how", ["files", "link", "pil", "raw", "codec"])
def test_ways_in(tmp_path: Path, files: list[bytes], how: str) -> None:
    """Files, links, PIL objects, tensors of arrays and of another codec give the same turned images."""
    compression = {"raw": "none", "codec": "png"}.get(how)
    with deeplake.create(str(tmp_path / "ds")) as ds:
        ds.create_tensor("images", "image.rgb", compression=compression, apply_exif_orientation=True)
        samples: list[Any] = [deeplake.read(data) for data in files]
        if how == "pil":
            samples = [opened(data) for data in files]
        elif how == "link":
            for row, data in enumerate(files):
                (tmp_path / f"{row}").write_bytes(data)
            samples = [deeplake.link(str(tmp_path / f"{row}")) for row in range(len(files))]
        ds.extend({"images": samples})
        ds.commit()
        for row, data in enumerate(files):
            assert np.array_equal(ds["images"][row], turned(data)), EVERY[row]


def loader_of(ds: Any, **options: Any) -> list[Any]:
    rows = []
    for batch in ds.batches(batch_size=5, collate="list", **options):
        rows += list(batch["images"])
    return rows


@pytest.mark.parametrize("workers", [0, 2])
def test_loader_option(plain: Any, upright: Any, files: list[bytes], workers: int) -> None:
    """The option of the loader gives what the option of the tensor gives, by every kind of decoding."""
    for decode in ("numpy", "pil"):
        for ds, given in ((plain, True), (plain, ["images"]), (upright, False), (upright, True)):
            rows = loader_of(ds, num_workers=workers, decode={"images": decode}, apply_exif_orientation=given)
            for row, data in enumerate(files):
                assert np.array_equal(np.asarray(rows[row]), turned(data)), (decode, given, EVERY[row])
    assert loader_of(plain, decode={"images": "bytes"}, apply_exif_orientation=True) == files
    for row, got in enumerate(loader_of(plain)):
        assert np.array_equal(got, np.asarray(opened(files[row])))


def test_loader_transforms(plain: Any, upright: Any, files: list[bytes]) -> None:
    """Transforms see turned images: a crop of one side lies in the turned image, draws are those of its sides."""
    from deeplake.transforms import CenterCrop, RandomResizedCrop, Resize

    for steps in ([CenterCrop(20)], [Resize((24, 33))], [Resize(16)], [RandomResizedCrop((16, 20))]):
        ours, theirs = (
            loader_of(ds, transform={"images": steps}, seed=3, apply_exif_orientation=True) for ds in (plain, upright)
        )
        for a, b, name in zip(ours, theirs, EVERY, strict=True):
            assert np.array_equal(a, b), name
    cropped = loader_of(plain, transform={"images": [CenterCrop(20)]}, apply_exif_orientation=True)
    for got, data in zip(cropped, files, strict=True):
        want = turned(data)
        top, left = (want.shape[0] - 20) // 2, (want.shape[1] - 20) // 2
        off = {abs(int(t) - top) + abs(int(s) - left) for t in (top, top + 1) for s in (left, left + 1)
               if np.array_equal(got, want[t : t + 20, s : s + 20])}  # fmt: skip
        assert off, "the crop is no crop of the turned image"


def test_loader_fails_as_without(tmp_path: Path) -> None:
    """Damaged files, holes, arrays, sequences and mixtures pass through the option."""
    with deeplake.create(str(tmp_path / "ds")) as ds:
        ds.create_tensor("images", "image.rgb")
        ds.create_tensor("lists", "sequence[image.rgb]", compression="jpeg")
        good = file_of(6)
        listed = [deeplake.read(file_of(8)), deeplake.read(file_of(1))]
        array = np.zeros((4, 5, 3), np.uint8)
        for value in (deeplake.read(good), None, array, deeplake.read(good)):
            ds.append({"images": value, "lists": listed})
        ds.commit()
        for row, batch in enumerate(ds.batches(batch_size=1, collate="list", apply_exif_orientation=True)):
            image, lists = batch["images"][0], batch["lists"][0]
            assert np.array_equal(lists[0], turned(file_of(8)))
            assert np.array_equal(lists[1], turned(file_of(1)))
            want = {0: turned(good), 1: None, 2: array, 3: turned(good)}[row]
            assert image is None if want is None else np.array_equal(image, want)
        mixed = deeplake.mix([ds[:1], ds[2:]])
        rows = [b["images"][0] for b in mixed.batches(batch_size=1, tensors=["images"], apply_exif_orientation=True)]
        assert sorted(row.shape for row in rows) == sorted([(52, 37, 3), (4, 5, 3), (52, 37, 3)])


def test_damage_is_accepted_and_turned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without its end, which on_error="accept" delivers, is turned as Pillow turns it."""
    whole = file_of(6, height=96, width=128)
    cut = whole[: len(whole) * 3 // 4]
    (tmp_path / "cut.jpg").write_bytes(cut)
    monkeypatch.setattr(PIL.ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    want = turned(cut)
    monkeypatch.undo()
    for of_tensor in (False, True):
        with deeplake.create(f"mem://cut-{of_tensor}", overwrite=True) as ds:
            ds.create_tensor("images", "image.rgb", apply_exif_orientation=of_tensor)
            ds.append({"images": deeplake.link(tmp_path / "cut.jpg")})
            ds.commit()
            for decode in ("numpy", "pil"):
                options = {"decode": {"images": decode}, "apply_exif_orientation": True, "on_error": "accept"}
                assert np.array_equal(loader_of(ds, **options)[0], want), (of_tensor, decode)


def test_torch_and_cache(plain: Any, files: list[bytes]) -> None:
    data = plain.torch_dataset(apply_exif_orientation=True)
    for row in (1, 5, 7, 20):
        assert np.array_equal(np.asarray(data[row]["images"]), turned(files[row]))
    for given in (True, False, True):
        loader = plain.batches(batch_size=5, collate="list", cache=16 << 20, apply_exif_orientation=given)
        for _ in range(2):
            rows = [row for batch in loader for row in batch["images"]]
            for got, data_ in zip(rows, files, strict=True):
                assert np.array_equal(got, turned(data_) if given else np.asarray(opened(data_)))


def test_what_survives(upright: Any, files: list[bytes], tmp_path: Path) -> None:
    """A copied and rechunked dataset, levels and a check of the stored bytes know the option."""
    deeplake.copy(upright.uri, tmp_path / "copy")
    with deeplake.open(str(tmp_path / "copy")) as again:
        again.rechunk()
        for row, data in enumerate(files):
            assert np.array_equal(again["images"][row], turned(data)), EVERY[row]
        assert again.fsck()
    with deeplake.create(str(tmp_path / "levels")) as ds:
        ds.create_tensor("images", "image.rgb", compression="jpeg", downsample=(2, 1), apply_exif_orientation=True)
        ds.append({"images": deeplake.read(file_of(6))})
        assert ds["images"][0].shape == (52, 37, 3)
        ds.commit()
    with pytest.raises(deeplake.AlreadyExistsError, match="apply_exif_orientation"):
        upright.create_tensor("images", "image.rgb", exist_ok=True)
    upright.create_tensor("images", "image.rgb", exist_ok=True, apply_exif_orientation=True)


def test_refusals(tmp_path: Path, plain: Any) -> None:
    for_images = "apply_exif_orientation is for images"
    with deeplake.create(tmp_path / "ds") as ds, pytest.raises(deeplake.InvalidArgumentError, match=for_images):
        ds.create_tensor("labels", "class_label", apply_exif_orientation=True)
    with pytest.raises(deeplake.InvalidArgumentError, match="want a list of names"):
        plain.batches(batch_size=1, apply_exif_orientation="images")
    with pytest.raises(deeplake.Error, match='"other"'):
        list(plain.batches(batch_size=1, apply_exif_orientation=["other"]))


def test_mixtures_and_values(tmp_path: Path) -> None:
    """Each view of a mixture has its own option, whatever decodes."""
    both = []
    for option in (True, False):
        ds = deeplake.create(
            tmp_path / f"{option}", schema={"images": {"htype": "image.rgb", "apply_exif_orientation": option}}
        )
        ds.extend({"images": [deeplake.read(file_of(6))] * 2})
        ds.commit()
        both.append((ds, (52, 37, 3) if option else (37, 52, 3)))
    for views in (both, both[::-1]):
        for decode in ("numpy", "pil"):
            mixed = deeplake.mix([ds[:] for ds, _ in views], mode="sequential")
            got = [
                np.asarray(b["images"][0]).shape for b in mixed.batches(1, collate="list", decode={"images": decode})
            ]
            assert got == [shape for _, shape in views for _ in range(2)], decode
    with deeplake.create(
        "mem://arrays", overwrite=True, schema={"images": {"htype": "image.rgb", "compression": "none"}}
    ) as ds:
        ds.append({"images": picture()})
        ds.commit()
        with pytest.raises(deeplake.InvalidArgumentError, match=r'needs image files.*"mem://arrays"'):
            deeplake.mix([both[0][0][:], ds[:]]).batches(1, decode={"images": "pil"})
    for wrong in ("false", 1, None):
        with pytest.raises(deeplake.InvalidArgumentError, match="want True or False"):
            both[0][0].create_tensor("x", "image", apply_exif_orientation=wrong)
    for wrong in (None, {"images": False}, 1, "images"):
        with pytest.raises(deeplake.InvalidArgumentError, match="list of names"):
            both[0][0].batches(1, apply_exif_orientation=wrong)


def test_pictures_of_pillow_turn_once(tmp_path: Path) -> None:
    """PIL images come without the tag, so that nothing turns them again; a tag that the user changed counts."""
    with deeplake.create(tmp_path / "ds") as ds:
        ds.create_tensor("images", "image.rgb", apply_exif_orientation=True)
        ds.append({"images": deeplake.read(file_of(6))})
        image = loader_of(ds, decode={"images": "pil"})[0]
        assert image.size == (37, 52) and 0x0112 not in image.getexif()
        out = io.BytesIO()
        image.save(out, "JPEG", exif=image.getexif())
        removed, changed = opened(file_of(6)), opened(file_of(6))
        del removed.getexif()[0x0112]
        changed.getexif()[0x0112] = 1
        for sample in (deeplake.read(out.getvalue()), image, PIL.ImageOps.exif_transpose(opened(file_of(6)))):
            ds.append({"images": sample})
            assert ds["images"][-1].shape == (52, 37, 3)
        for sample in (removed, changed):
            ds.append({"images": sample})
            assert ds["images"][-1].shape == (37, 52, 3)


@pytest.mark.parametrize(("kind", "turns"), [(3, True), (4, True), (8, True), (9, True), (1, False), (11, False)])
def test_types_of_the_tag(kind: int, turns: bool) -> None:
    """Whole numbers of any width count, in NumPy and in Pillow alike."""
    tiff = b"II*\0\x08\0\0\0\x01\0\x12\x01" + kind.to_bytes(2, "little") + b"\x01\0\0\0\x06\0\0\0" + b"\0" * 4
    out = io.BytesIO()
    picture().save(out, "JPEG", exif=b"Exif\0\0" + tiff)
    with deeplake.create("mem://kinds", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", apply_exif_orientation=True)
        ds.append({"images": deeplake.read(out.getvalue())})
        ds.commit()
        want = (52, 37, 3) if turns else (37, 52, 3)
        assert ds["images"][0].shape == want
        assert np.asarray(loader_of(ds, decode={"images": "pil"})[0]).shape == want


def test_tensorflow(tmp_path: Path) -> None:
    """The signature of a data set leaves sides open that files may swap."""
    host("tensorflow")
    with deeplake.create(tmp_path / "ds") as ds:
        ds.create_tensor("images", "image.rgb")
        ds.extend({"images": [deeplake.read(file_of(6)) for _ in range(4)]})
        ds.commit()
        for collate in ("stack", "pad"):
            for batch in ds.tensorflow(2, apply_exif_orientation=True, collate=collate):
                assert tuple(batch["images"].shape) == (2, 52, 37, 3)


EXIF = b"Exif\0\0MM\0*\0\0\0\x08"


@pytest.mark.parametrize(
    "payload",
    [
        EXIF,  # no directory
        EXIF + b"\xff\xff",  # entries that are not there
        EXIF + b"\0\x01\x01\x12\0\x03\0\0\0\x01\0\x09\0\0" + b"\0" * 4,  # orientation 9
        EXIF + b"\0\x01\x01\x12\0\x04\0\0\0\x01\0\x06\0\0" + b"\0" * 4,  # a long of 6 << 16
        b"Exif\0\0II*\0\xff\xff\xff\xff\0\x01",  # a directory behind the end
        b"Exif\0\0XX",
    ],
)
def test_damaged_exif_turns_nothing(payload: bytes) -> None:
    data = file_of(1)
    out = io.BytesIO()
    picture().save(out, "JPEG", quality=92)
    plain = out.getvalue()
    bad = plain[:2] + b"\xff\xe1" + (len(payload) + 2).to_bytes(2, "big") + payload + plain[2:]
    with deeplake.create("mem://damaged-exif", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", apply_exif_orientation=True)
        ds.append({"images": deeplake.read(bad)})
        assert np.array_equal(ds["images"][0], np.asarray(opened(data)))


@pytest.mark.parametrize(
    "how", [("--compression", "png"), ("--link",), ("--size", "24", "--compression", "png"), ("--decode",)]
)
def test_import(tmp_path: Path, files: list[bytes], how: tuple[str, ...]) -> None:
    """`deeplake create --apply-exif-orientation`, with whole files, links, sizes and pixels."""
    endings = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp"}
    for name in ("source", "turned"):
        (tmp_path / name).mkdir()
    for row, data in enumerate(files):
        (tmp_path / "source" / f"{row:03}.{endings[EVERY[row][0]]}").write_bytes(data)
        PIL.Image.fromarray(turned(data)).save(tmp_path / "turned" / f"{row:03}.png")
    for name, options in (("source", ["--apply-exif-orientation"]), ("turned", [])):
        place, folder = str(tmp_path / f"{name}.ds"), f"from-{tmp_path / name}"
        result = CliRunner().invoke(cli, ["create", place, folder, *options, *how])
        assert result.exit_code == 0, result.output
    again = CliRunner().invoke(cli, ["create", str(tmp_path / "source.ds"), f"from-{tmp_path / 'source'}", *how])
    assert again.exit_code and "apply_exif_orientation=true" in f"{again.output}{again.exception}"
    with deeplake.open(tmp_path / "source.ds") as ours, deeplake.open(tmp_path / "turned.ds") as theirs:
        assert len(ours) == len(files)
        for row in range(len(files)):
            assert np.array_equal(ours["images"][row], theirs["images"][row]), EVERY[row]
