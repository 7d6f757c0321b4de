"""Batches on CUDA devices, by a fake driver that checks every use of it."""

from __future__ import annotations

import gc
import io
import itertools
import json
import types
from pathlib import Path

import deeplake
import fakecuda
import numpy as np
import pytest
from click.testing import CliRunner
from conftest import encoded, host, picture
from deeplake import _native, transforms
from deeplake._cli.main import cli
from PIL import Image

ROWS = 30
numbers = itertools.count()

PRELUDE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import deeplake, fakecuda, os
import numpy as np
fake = fakecuda.in_this_process()
ds = deeplake.create("mem://x")
ds.create_tensor("x", dtype="float32")
ds.extend({{"x": np.arange(4000, dtype=np.float32).reshape(100, 40)}})
ds.commit()
"""


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    return fakecuda.build(tmp_path_factory.mktemp("fakecuda"))


@pytest.fixture
def fake(driver, monkeypatch):
    """The fake driver, with two devices. At the end there must be neither wrong use nor anything left."""
    monkeypatch.setenv("FAKE_CUDA_DEVICES", "2")
    fake = fakecuda.Fake(driver)
    fake.reset()
    yield fake
    gc.collect()
    wrong, left = fake.wrong_uses(), fake.left()
    fake.reset()
    _native.configure({"env": {"DEEPLAKE_CUDA_DRIVER": None, "DEEPLAKE_NVJPEG": None}})
    assert not wrong and not left


@pytest.fixture
def ds():
    """Rows of pictures, vectors, ragged numbers and words."""
    with deeplake.create(f"mem://cuda-{next(numbers)}") as ds:
        ds.create_tensor("image", "image", compression="jpeg")
        ds.create_tensor("x", dtype="float32")
        ds.create_tensor("n", dtype="int64")
        ds.create_tensor("word", "text")
        rows = range(ROWS)
        ds.extend(
            {
                "image": [deeplake.read(encoded(picture(i, 72, 96))) for i in rows],
                "x": np.arange(ROWS * 5, dtype=np.float32).reshape(ROWS, 5),
                "n": [np.full(i % 4, i) for i in rows],
                "word": [f"w{i}" for i in rows],
            }
        )
        ds.commit()
        yield ds


def same(device_batches, cpu_batches, consumer):
    """Compares batches, of which those on the device are read on the consumer's stream."""
    count = 0
    for got, want in zip(device_batches, cpu_batches, strict=True):
        assert got.keys() == want.keys()
        for name, value in want.items():
            read = [consumer.read(a) for a in got[name]] if name == "n" else got[name]
            if name not in ("n", "word"):
                read = consumer.read(got[name])
                assert read.dtype == value.dtype
            assert len(read) == len(value)
            for one, other in zip(read, value, strict=True):
                np.testing.assert_array_equal(one, other)
        count += 1
        del got
    return count


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
@pytest.mark.parametrize("delay", [0, 300])
def test_batches(fake, ds, device, delay):
    fake.delay(delay)
    consumer = fake.consumer(int(device == "cuda:1"))
    ragged = {"shuffle": True, "collate": "list", "return_index": True, "tensors": ["n", "word"]}
    stacked = {"shuffle": True, "tensors": ["x", "image", "word"]}
    for options in (ragged, stacked):
        assert same(ds.batches(4, device=device, **options), ds.batches(4, **options), consumer) == 8


def test_the_device_finishes_jpeg_files(fake, ds):
    consumer = fake.consumer()
    loader = ds.batches(8, device="cuda", tensors=["image"], shuffle=True)
    assert same(loader, ds.batches(8, tensors=["image"], shuffle=True), consumer) == 4
    figures = loader.stats()["device"]
    assert figures["images"] == ROWS and fake.calls("cuLaunchKernel") == 8
    assert figures["bytes"] < 0.75 * ROWS * 72 * 96 * 3


def test_the_cpu_helps_a_slow_device(fake, ds):
    """The pixels stay the same, whoever finishes them."""
    fake.delay(4000)
    crop = {"image": [transforms.RandomResizedCrop(24), transforms.ToFloat()]}
    for options in ({}, {"transform": crop}):
        consumer = fake.consumer()
        options = {"tensors": ["image"], "shuffle": True, **options}
        loader, cpu = ds.batches(2, device="cuda", **options), ds.batches(2, **options)
        for _ in range(3):
            assert same(loader, cpu, consumer) == 15
        figures = loader.stats()["device"]
        assert figures["split"]["cpu"] > 0 and figures["images"] < 3 * ROWS


def test_the_loop_allocates_nothing(fake, ds):
    loader = ds.batches(8, device="cuda", tensors=["image"], shuffle=True)
    for _ in range(5):
        for _ in loader:
            pass
    memory = loader.stats()["device"]["memory"]
    assert memory["created"] <= 4 and memory["reused"] >= 16


@pytest.mark.parametrize("on_error", ["skip", "accept"])
def test_files_that_the_device_does_not_finish(fake, on_error):
    """Progressive and damaged files among others, in one batch."""
    kinds = ["plain", "progressive", "gray", "png"]
    files = []
    for i in range(16):
        out = io.BytesIO()
        image = Image.fromarray(picture(i, 96, 128)).convert("L" if kinds[i % 4] == "gray" else "RGB")
        image.save(out, "JPEG", quality=85, progressive=kinds[i % 4] == "progressive")
        files.append(out.getvalue())
    damaged = bytearray(files[8])
    damaged[len(damaged) // 2] ^= 0xFF
    with deeplake.create(f"mem://cuda-{next(numbers)}") as ds:
        ds.create_tensor("image", "image.rgb", compression="jpeg")
        ds.extend({"image": [deeplake.read(data) for data in [*files[:8], bytes(damaged), *files[9:]]]})
        ds.commit()
        consumer = fake.consumer()
        options = {"on_error": on_error, "return_index": True}
        loader, cpu = ds.batches(5, device="cuda", **options), ds.batches(5, **options)
        assert same(loader, cpu, consumer) == 4
        assert loader.stats()["skipped"] == cpu.stats()["skipped"] <= (on_error == "skip")
        assert loader.stats()["accepted"] == cpu.stats()["accepted"] <= (on_error == "accept")
        assert loader.stats()["device"]["images"] == 12 - loader.stats()["skipped"]


def jpeg(pixels, **options):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", **options)
    return deeplake.read(out.getvalue())


def pictures_of(kind):
    """24 pictures of several sizes, as they are stored."""
    shapes = [(40 + 7 * (i % 5), 90 - 8 * (i % 4)) for i in range(24)]
    plain = [picture(i, *shape) for i, shape in enumerate(shapes)]
    if kind == "jpeg":
        return [jpeg(one, quality=85, progressive=i % 4 == 3) for i, one in enumerate(plain)]
    if kind == "noise":  # packed files are larger than half of the pixels
        random = np.random.default_rng(1)
        return [jpeg(random.integers(0, 256, one.shape, np.uint8), quality=100, subsampling=0) for one in plain]
    return plain


PIPELINES = {
    "training": [
        transforms.RandomResizedCrop(32),
        transforms.HorizontalFlip(),
        transforms.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.1]),
        transforms.CHW(),
    ],
    "colours": [
        transforms.Resize([30, 33]),
        transforms.ColorJitter(brightness=0.4, contrast=0.4, saturation=0.4),
        transforms.ToFloat(16),
    ],
    "little": [transforms.Resize([9, 12])],  # of regions larger than half of the picture
    "padded": [transforms.RandomCrop(50, padding=20, pad_if_needed=True)],
    "quick": [transforms.CenterCrop(40), transforms.CHW()],
}


@pytest.mark.parametrize("kind", ["jpeg", "noise", "png", None])
@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("cache", [None, "cached"])
def test_the_device_transforms(fake, kind, pipeline, cache):
    with deeplake.create(f"mem://cuda-{next(numbers)}") as ds:
        ds.create_tensor("image", "image.rgb", compression={"noise": "jpeg"}.get(kind, kind))
        ds.create_tensor("n", dtype="int64")
        ds.extend({"image": pictures_of(kind), "n": np.arange(24)})
        ds.commit()
        options = {"shuffle": True, "seed": 3, "transform": {"image": PIPELINES[pipeline]}, "cache": cache and 1 << 26}
        loader = ds.batches(7, device="cuda", **options)
        consumer = fake.consumer()
        for got, want in zip(loader, ds.batches(7, **options), strict=True):
            image = consumer.read(got["image"])
            assert image.dtype == want["image"].dtype
            np.testing.assert_array_equal(image, want["image"])
        finished = loader.stats()["device"]["images"]
        # The CPU finishes regions above half of the pixels: whole progressive pictures, and noise.
        least = 24 if cache else {"jpeg": 18, "noise": 0}.get(kind, 24)
        assert least <= finished <= (least if pipeline == "little" else 24)


def test_boxes_follow_pictures_of_the_device(fake):
    with deeplake.create(f"mem://cuda-{next(numbers)}") as ds:
        ds.create_tensor("image", "image", compression="jpeg")
        ds.create_tensor("boxes", "bbox")
        ds.extend({"image": pictures_of("jpeg"), "boxes": [np.full((2, 4), i, np.float32) for i in range(24)]})
        ds.commit()
        joint = transforms.Joint(
            image="image", boxes="boxes", ops=[transforms.RandomResizedCrop(32), transforms.HorizontalFlip()]
        )
        consumer = fake.consumer()
        options = {"shuffle": True, "transform": joint}
        for got, want in zip(ds.batches(8, device="cuda", **options), ds.batches(8, **options), strict=True):
            for name in want:
                np.testing.assert_array_equal(consumer.read(got[name]), want[name])


def files_of(count, **comment):
    """JPEG files of 40 x 56, some with a comment."""
    files = []
    for i in range(count):
        out = io.BytesIO()
        Image.fromarray(picture(i, 40, 56)).save(out, "JPEG", quality=85, **comment)
        files.append(out.getvalue())
    return files


def test_the_device_decodes_files(fake):
    """An idle device gets more and more whole files. Each sample is either the CPU's or nvJPEG's."""
    fake.with_nvjpeg()
    files = files_of(240)
    with deeplake.create(f"mem://cuda-{next(numbers)}") as ds:
        ds.create_tensor("image", "image", compression="jpeg")
        ds.extend({"image": [deeplake.read(data) for data in files]})
        ds.commit()
        consumer = fake.consumer()
        loader = ds.batches(4, device="cuda", exact=False, return_index=True, num_workers=0)
        theirs = 0
        for got, want in zip(loader, ds.batches(4), strict=True):
            for row, image, exact in zip(
                consumer.read(got["_index"]), consumer.read(got["image"]), want["image"], strict=True
            ):
                if not np.array_equal(image, exact):
                    np.testing.assert_array_equal(image.reshape(40, -1), fake.pixels(files[row], 40, 56 * 3))
                    theirs += 1
        figures = loader.stats()["device"]
        assert 0 < theirs == figures["files"] < 240 == figures["images"]
        assert figures["split"]["file"] > 0 and figures["split"]["cpu"] == 0


@pytest.mark.parametrize("on_error", ["skip", "accept"])
@pytest.mark.parametrize("pipeline", [None, "training"])
def test_files_that_nvjpeg_refuses(fake, pipeline, on_error):
    """The CPU decodes them; a damaged one costs its own row, or is accepted."""
    fake.with_nvjpeg()
    files = files_of(200, comment="refuse")
    damaged = bytearray(files[177])
    start = damaged.index(b"\xff\xda") + 20
    damaged[start : start + 40] = b"\xff\xc4" * 20
    files[177] = bytes(damaged)
    with deeplake.create(f"mem://cuda-{next(numbers)}") as ds:
        ds.create_tensor("image", "image", compression="jpeg")
        ds.extend({"image": [deeplake.read(data) for data in files]})
        ds.commit()
        consumer = fake.consumer()
        options = {"on_error": on_error, "return_index": True, "num_workers": 0}
        if pipeline:
            options["transform"] = {"image": PIPELINES[pipeline]}
        loader, cpu = ds.batches(4, device="cuda", exact=False, **options), ds.batches(4, **options)
        for got, want in zip(loader, cpu, strict=True):
            for name in want:
                np.testing.assert_array_equal(consumer.read(got[name]), want[name])
        assert fake.calls("nvjpegDecodeBatched") > 0 and loader.stats()["device"]["files"] == 0
        for name in ("skipped", "accepted", "first_accepted"):
            assert loader.stats()[name] == cpu.stats()[name]
        if pipeline is None:
            assert cpu.stats()["skipped" if on_error == "skip" else "accepted"] == 1


@pytest.mark.parametrize("pipeline", [None, "padded"])
def test_files_that_are_larger_than_their_pixels(fake, pipeline):
    fake.with_nvjpeg()
    with deeplake.create(f"mem://cuda-{next(numbers)}") as ds:
        ds.create_tensor("image", "image", compression="jpeg")
        ds.extend({"image": [jpeg(picture(i, 8, 8), quality=95) for i in range(120)]})
        ds.commit()
        consumer = fake.consumer()
        options = {"num_workers": 0, "transform": {"image": PIPELINES[pipeline]} if pipeline else None}
        loader = ds.batches(4, device="cuda", exact=False, **options)
        for got, want in zip(loader, ds.batches(4, **options), strict=True):
            image = consumer.read(got["image"])
            if loader.stats()["device"]["files"] == 0:
                np.testing.assert_array_equal(image, want["image"])
        assert (loader.stats()["device"]["files"] == 0) == (pipeline is None)


def test_exact_is_of_the_gpu(fake, ds):
    with pytest.raises(deeplake.InvalidArgumentError, match="exact is False"):
        ds.batches(4, exact=False)
    with pytest.raises(deeplake.InvalidArgumentError, match="exact is 1"):
        ds.batches(4, exact=1)
    _native.configure({"env": {"DEEPLAKE_NVJPEG": "/nowhere/libnvjpeg.so"}})
    with pytest.raises(deeplake.UnsupportedError, match=r"find nvJPEG.*pip install deeplake\[cuda\]"):
        ds.batches(4, device="cuda", exact=False)


def test_a_picture_that_is_too_small(fake):
    """Its error is that of the CPU, and with skip the others come."""
    with deeplake.create(f"mem://cuda-{next(numbers)}") as ds:
        ds.create_tensor("image", "image", compression="jpeg")
        ds.extend({"image": [jpeg(picture(i, 20 if i == 5 else 60, 60)) for i in range(12)]})
        ds.commit()
        options = {"transform": {"image": [transforms.RandomCrop(30)]}}
        messages = []
        for device in ({"device": "cuda"}, {}):
            with pytest.raises(deeplake.TensorTypeError, match="row 5") as caught:
                list(ds.batches(4, **options, **device))
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
        consumer = fake.consumer()
        loader = ds.batches(4, device="cuda", on_error="skip", **options)
        for got, want in zip(loader, ds.batches(4, on_error="skip", **options), strict=True):
            np.testing.assert_array_equal(consumer.read(got["image"]), want["image"])
        assert loader.stats()["device"]["images"] == 11


def test_what_an_array_says_of_itself(fake, ds):
    loader = ds.batches(8, device="cuda:1", tensors=["x"])
    batch = next(iter(loader))
    array = batch["x"]
    assert array.device == "cuda:1" and array.shape == (8, 5) and array.dtype == "float32"
    assert array.__dlpack_device__() == (2, 1)
    for use in (array.numpy, lambda: np.asarray(array), lambda: np.from_dlpack(array)):
        with pytest.raises((BufferError, RuntimeError), match=r"cuda:1|device"):
            use()
    for wrong in ({"copy": True}, {"dl_device": (1, 0)}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            array.__dlpack__(**wrong)
    with pytest.raises(deeplake.InvalidArgumentError, match="stream is 0"):
        array.__dlpack__(stream=0)
    assert array.__dlpack__(stream=-1, dl_device=(2, 1), max_version=(1, 0)) is not None
    about = array.__cuda_array_interface__
    assert about["shape"] == (8, 5) and about["typestr"] == "<f4" and about["version"] == 3
    assert about["stream"] == 1 and about["strides"] is None and about["data"][1] is False
    assert not hasattr(next(iter(deeplake.open(ds.uri).batches(1)))["x"], "__cuda_array_interface__")


def test_arrays_of_the_cpu_say_so(ds):
    array = ds._source.pinned().view().read([0], {"tensors": ["x"]}).columns()["x"]
    assert array.device == "cpu" and not hasattr(array, "__cuda_array_interface__")
    with pytest.raises(BufferError, match="no streams"):
        array.__dlpack__(stream=1)


@pytest.fixture
def torch(fake, monkeypatch):
    """torch, with a fake consumer in place of its CUDA build."""
    torch = host("torch")
    from deeplake._hosts import torch as _torch

    consumer = fake.consumer(1)
    consumer.asked = 0

    def current_stream(index):
        assert index == 1
        consumer.asked += 1
        return types.SimpleNamespace(cuda_stream=consumer.stream)

    monkeypatch.setattr(_torch, "_from_capsule", consumer.take)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(torch.cuda, "current_stream", current_stream)
    torch.consumer = consumer
    yield torch
    del torch.consumer


@pytest.mark.parametrize("progress", [False, True])
def test_torch(torch, fake, ds, progress):
    fake.delay(200)
    crop = {"image": transforms.RandomResizedCrop(16)}
    options = {"shuffle": True, "tensors": ["image", "x", "word"], "transform": crop, "seed": 5}
    loader = ds.pytorch(4, device="cuda", progress=progress, **options)
    seen = 0
    for got, want in zip(loader, ds.batches(4, **options), strict=True):
        copies = {name: got[name].copy() for name in ("image", "x")}
        words = got["word"]
        del got
        for name, copy in copies.items():
            np.testing.assert_array_equal(torch.consumer.wait(copy), want[name])
        assert words == want["word"]
        seen += 1
    assert seen == 8 and torch.consumer.asked >= 8
    assert loader.stats()["device"]["copies"] == 8


def test_torch_resumes(torch, ds):
    loader = ds.pytorch(4, device="cuda", shuffle=True, tensors=["x"])
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    state = loader.state_dict()
    rest = [torch.consumer.wait(batch["x"].copy()).tolist() for batch in batches]
    other = ds.pytorch(4, device="cuda:1", shuffle=True, tensors=["x"])
    other.load_state_dict(state)
    assert [torch.consumer.wait(batch["x"].copy()).tolist() for batch in other] == rest


def test_torch_without_cuda(ds):
    torch = host("torch")
    if torch.cuda.is_available():
        pytest.skip("torch has a device")
    with pytest.raises(deeplake.UnsupportedError, match="sees no CUDA device"):
        ds.pytorch(2, device="cuda")


def test_torch_moves_what_python_makes(ds):
    host("torch")

    def collate(rows):
        return [{"x": row["x"], "word": row["word"]} for row in rows], tuple(row["n"] for row in rows)

    plain = next(iter(ds.pytorch(2, device="meta", tensors=["x", "word"], transform={"x": lambda x: x + 1})))
    assert plain["x"].device.type == "meta" and plain["x"].shape == (2, 5) and plain["word"] == ["w0", "w1"]
    rows, counts = next(iter(ds.pytorch(2, device="meta", tensors=["x", "n", "word"], collate=collate)))
    assert rows[1]["word"] == "w1" and isinstance(counts, tuple)
    native = next(iter(ds.pytorch(2, device="meta", tensors=["x"])))
    assert native["x"].device.type == "meta"


class JaxDevice:
    def __init__(self, number):
        self.local_hardware_id = number


class PlacedArray:
    """A jax.Array on a device."""

    def __init__(self, value, device):
        self.value, self.device = value, device

    def devices(self):
        return {self.device}


@pytest.fixture
def jax(fake, monkeypatch):
    """JAX with two devices of the fake driver."""
    jax = host("jax")
    devices = [JaxDevice(i) for i in range(2)]
    monkeypatch.setattr(jax, "local_devices", lambda *_, backend: devices if backend == "cuda" else [])

    def from_dlpack(array):
        assert array.__dlpack_device__()[0] == 2
        return PlacedArray(array, devices[array.__dlpack_device__()[1]])

    monkeypatch.setattr(jax, "Array", PlacedArray)
    monkeypatch.setattr(jax.numpy, "from_dlpack", from_dlpack)
    monkeypatch.setattr(jax, "device_put", lambda value, device: PlacedArray(np.asarray(value), device))
    jax.devices_of_the_fake = devices
    return jax


def test_jax(jax, fake, ds):
    """Arrays are JAX's in the memory of the device; those that JAX narrows come from the CPU."""
    options = {"tensors": ["image", "x", "n", "word"], "collate": "pad", "return_index": True}
    consumer = fake.consumer(1)
    loader = ds.jax(8, device="cuda:1", **options)
    wide = {"n", "n_shape", "x_shape", "image_shape", "_index"}
    for got, want in zip(loader, ds.batches(8, **options), strict=True):
        assert got["word"] == want["word"]
        for name in want.keys() - {"word"}:
            assert got[name].devices() == {jax.devices_of_the_fake[1]}
            if name in wide:
                assert got[name].value.dtype == np.int32
                np.testing.assert_array_equal(got[name].value, want[name])
            else:
                np.testing.assert_array_equal(consumer.read(got[name].value), want[name])
    x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
    with x64(True):
        batch = next(iter(ds.jax(8, device="cuda:1", **options)))
        assert all(isinstance(batch[name].value, _native.Array) for name in batch.keys() - {"word"})


def test_jax_without_cuda(fake, ds):
    host("jax")
    with pytest.raises(deeplake.UnsupportedError, match="JAX has no CUDA here"):
        ds.jax(8, device="cuda")


def test_wrong_devices_of_jax(jax, ds):
    with pytest.raises(deeplake.UnsupportedError, match="JAX has 2 CUDA devices"):
        ds.jax(8, device="cuda:2")
    with pytest.raises(deeplake.UnsupportedError, match="Python function"):
        ds.jax(8, device="cuda", transform={"x": lambda x: x})
    with pytest.raises(deeplake.UnsupportedError, match="copies"):
        ds.jax(8, device="tpu")


def test_mixture(fake, ds):
    consumer = fake.consumer()
    mixed = deeplake.mix([ds, ds[:10]], [0.5, 0.5], tensors=["x"])
    options = {"shuffle": True, "seed": 3}
    assert same(mixed.batches(4, device="cuda", **options), mixed.batches(4, **options), consumer) > 2


def test_batches_outlive_their_loader(fake, ds):
    consumer = fake.consumer()
    fake.delay(3000)
    batches = iter(ds.batches(4, device="cuda", tensors=["x"]))
    array = next(batches)["x"]
    batches.close()  # copies of later batches run
    del batches
    gc.collect()
    assert consumer.read(array)[1].tolist() == [5, 6, 7, 8, 9]


def test_out_of_memory(fake, ds):
    fake.memory(8 * 64 << 10)  # 8 batches
    kept = []
    with pytest.raises(deeplake.DeviceError, match=r"out of memory.*drop batches") as failure:
        for batch in ds.batches(1, device="cuda", tensors=["x"]):
            kept.append(batch)
    assert failure.value.status == 16 and 4 <= len(kept) <= 8
    kept.clear()
    del batch, failure
    gc.collect()
    assert sum(1 for _ in ds.batches(1, device="cuda", tensors=["x"])) == ROWS


def test_device_fails(fake, ds):
    fake.fail("cuMemcpyHtoDAsync", 3, 719)
    with pytest.raises(deeplake.DeviceError, match="unspecified launch failure"):
        sum(1 for _ in ds.batches(4, device="cuda", tensors=["x"], prefetch=1))
    gc.collect()  # the loader's memory is lost with the device
    fake.reset()
    assert sum(1 for _ in ds.batches(4, device="cuda", tensors=["x"])) == 8


@pytest.mark.parametrize(
    ("device", "kind", "message"),
    [
        ("cuda:2", "UnsupportedError", "this process sees 2 CUDA devices, want 0 to 1"),
        ("cuda:", "InvalidArgumentError", "want None"),
        ("cuda:one", "InvalidArgumentError", "want None"),
        (3, "InvalidArgumentError", "want None"),
        ("tpu", "UnsupportedError", "only torch has such devices"),
    ],
)
def test_wrong_devices(fake, ds, device, kind, message):
    with pytest.raises(getattr(deeplake, kind), match=message):
        ds.batches(4, device=device)


def test_python_functions_want_the_cpu(fake, ds):
    with pytest.raises(deeplake.UnsupportedError, match="a Python function"):
        ds.batches(4, device="cuda", transform={"x": lambda x: x})


def test_no_driver(ds):
    _native.configure({"env": {"DEEPLAKE_CUDA_DRIVER": "/nowhere/libcuda.so.1"}})
    try:
        with pytest.raises(deeplake.UnsupportedError, match=r"find the CUDA driver.*install NVIDIA"):
            ds.batches(4, device="cuda")
        done = CliRunner().invoke(cli, ["info", "--device"])
        assert done.exit_code == 0 and done.output.startswith("missing  find the CUDA driver")
    finally:
        _native.configure({"env": {"DEEPLAKE_CUDA_DRIVER": None}})


def test_info(fake, ds):
    done = CliRunner().invoke(cli, ["info", "--device"])
    assert "cuda:1   Fake GPU 1, 8.6 GB, compute capability 9.0" in done.output
    assert "nvjpeg" in done.output
    about = json.loads(CliRunner().invoke(cli, ["info", "--device", "--json"]).output)
    assert about["version"] == "12.4" and [d["number"] for d in about["devices"]] == [0, 1] and not about["missing"]
    for wrong in ([], [ds.uri, "--device"]):
        assert CliRunner().invoke(cli, ["info", *wrong]).exit_code == 2


def test_forked_child(run_python):
    run_python(
        PRELUDE
        + """
batch = next(iter(ds.batches(10, device="cuda")))
child = os.fork()
if child == 0:
    try:
        del batch  # the parent's memory
        fakecuda.Fake(fake.path)  # the child loads a core of its own
        try:
            other = deeplake.create("mem://y")
            other.create_tensor("x", dtype="float32")
            other.extend({"x": np.zeros((2, 2), np.float32)})
            other.commit()
            next(iter(other.batches(1, device="cuda")))
        except deeplake.UnsupportedError as err:
            os._exit(0 if "forked child" in str(err) else 3)
        os._exit(4)
    except BaseException as err:
        print(repr(err), file=sys.stderr)
        os._exit(5)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert fake.consumer().read(batch["x"])[1, 0] == 40
assert not fake.wrong_uses(), fake.wrong_uses()
"""
    )


@pytest.mark.parametrize("end", ["", "fake.deinitialize()", "sys.exit(0)"])
def test_interpreter_exits_with_batches(run_python, end):
    run_python(
        PRELUDE
        + f"""
fake.delay(2000)
batches = iter(ds.batches(10, device="cuda"))
kept = [next(batches) for _ in range(3)]
taken = fake.consumer().take(kept[0]["x"].__dlpack__())
{end}
"""
    )


def test_ctrl_c(run_python):
    done = run_python(
        PRELUDE
        + """
import signal, threading
fake.delay(20_000)
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        for batch in ds.batches(1, device="cuda"):
            fake.consumer().read(batch["x"])
except KeyboardInterrupt:
    print("stopped")
del batch
assert not fake.wrong_uses(), fake.wrong_uses()
"""
    )
    assert done.stdout == "stopped\n"
