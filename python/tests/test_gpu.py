"""Batches on a real GPU, with torch. Skipped where there is none; `make test-gpu` runs it."""

from __future__ import annotations

import gc
import itertools
import os
from pathlib import Path

import deeplake
import numpy as np
import pytest
from conftest import encoded, host, picture
from deeplake import transforms

numbers = itertools.count()
ROWS = 64


@pytest.fixture(scope="module")
def torch():
    torch = host("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    return torch


@pytest.fixture
def ds():
    with deeplake.create(f"mem://gpu-{next(numbers)}") as ds:
        ds.create_tensor("image", "image", compression="jpeg")
        ds.create_tensor("gray", "image.gray", compression="jpeg")
        ds.create_tensor("x", dtype="float32")
        ds.create_tensor("word", "text")
        rows = range(ROWS)
        ds.extend(
            {
                "image": [deeplake.read(encoded(picture(i, 250, 251))) for i in rows],
                "gray": [deeplake.read(encoded(picture(i, 33, 47))) for i in rows],
                "x": np.arange(ROWS * 1000, dtype=np.float32).reshape(ROWS, 1000),
                "word": [f"w{i}" for i in rows],
            }
        )
        ds.commit()
        yield ds


def compare(torch, got, want):
    assert got.keys() == want.keys()
    for name, value in want.items():
        if isinstance(value, list):
            assert got[name] == value
        else:
            assert got[name].is_cuda and got[name].dtype == value.dtype
            assert torch.equal(got[name].cpu(), value), name


@pytest.mark.parametrize("device", ["cuda", "cuda:0"])
def test_batches_equal_the_cpus(torch, ds, device):
    options = {"shuffle": True, "return_index": True}
    there, here = ds.pytorch(16, device=device, **options), ds.pytorch(16, **options)
    for _ in range(3):
        for got, want in zip(there, here, strict=True):
            compare(torch, got, want)
    # The small gray pictures take more bytes packed than as pixels: the CPU decodes them.
    assert there.stats()["device"]["images"] == 3 * ROWS


@pytest.mark.parametrize("bits", [None, 32, 16, "bf16"])
def test_transforms_equal_the_cpus(torch, ds, bits):
    steps = [transforms.RandomResizedCrop(64), transforms.HorizontalFlip(), transforms.ColorJitter(0.4, 0.4, 0.4)]
    if bits is not None:
        steps += [transforms.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.1]), transforms.ToFloat(bits), transforms.CHW()]
    options = {"shuffle": True, "tensors": ["image"], "transform": {"image": steps}}
    there, here = ds.pytorch(16, device="cuda", **options), ds.pytorch(16, **options)
    for _ in range(3):
        for got, want in zip(there, here, strict=True):
            compare(torch, got, want)
    assert there.stats()["device"]["images"] == 3 * ROWS


def test_nvjpeg_comes_near(torch, ds):
    options = {"tensors": ["image"], "num_workers": 0}
    try:
        loader = ds.pytorch(4, device="cuda", exact=False, **options)
    except deeplake.UnsupportedError as err:
        pytest.skip(str(err))
    for _ in range(3):
        for got, want in zip(loader, ds.pytorch(4, **options), strict=True):
            gap = (got["image"].cpu().int() - want["image"].int()).abs()
            assert gap.float().mean() < 4
    assert loader.stats()["device"]["files"] > 0


def test_kept_batches_stay(torch, ds):
    kept = list(ds.pytorch(4, device="cuda"))
    for got, want in zip(kept, ds.pytorch(4), strict=True):
        compare(torch, got, want)


def test_memory_waits_for_the_stream_that_used_it(torch, ds):
    want = [batch["x"] for batch in ds.pytorch(4, tensors=["x"])]
    side = torch.cuda.Stream()
    sums = []
    with torch.cuda.stream(side):
        for batch in ds.pytorch(4, tensors=["x"], device="cuda"):
            torch.cuda._sleep(20_000_000)  # the copy below is queued, and the batch is dropped
            sums.append(batch["x"] * 1)
            del batch
    torch.cuda.synchronize()
    for got, expected in zip(sums, want, strict=True):
        assert torch.equal(got.cpu(), expected)


def test_the_loop_does_not_wait(torch, ds):
    loader = ds.pytorch(4, tensors=["x"], device="cuda")
    for _ in loader:
        pass
    torch.cuda.synchronize()
    torch.cuda._sleep(2_000_000_000)  # a second or so on the current stream
    for _ in itertools.islice(loader, 2):  # more would wait for memory that the stream still uses
        pass
    waiting = not torch.cuda.current_stream().query()
    torch.cuda.synchronize()
    assert waiting, "the loop waited for the stream"


@pytest.mark.parametrize("steps", [[], [transforms.CenterCrop(200)]])
def test_nvjpeg_writes_no_memory_in_use(torch, steps):
    """nvJPEG decodes on streams of its own while the current stream still reads earlier batches.

    Each picture has one gray value, which decoders round alike. Rows are three values apart.
    """
    with deeplake.create(f"mem://gpu-{next(numbers)}") as ds:
        ds.create_tensor("image", "image", compression="jpeg")
        ds.extend({"image": [np.full((250, 251, 3), 20 + 3 * i, np.uint8) for i in range(ROWS)]})
        ds.commit()
        options = {"num_workers": 0, "transform": {"image": steps} if steps else None}
        want = [batch["image"] for batch in ds.pytorch(4, **options)]
        try:
            loader = ds.pytorch(4, device="cuda", exact=False, **options)
        except deeplake.UnsupportedError as err:
            pytest.skip(str(err))
        for _ in range(3):
            for _ in loader:
                torch.cuda.synchronize()  # an idle device gets files
        assert loader.stats()["device"]["files"] > 0
        kept = []
        for batch in loader:
            torch.cuda._sleep(20_000_000)
            kept.append(batch["image"].clone())
            del batch
        torch.cuda.synchronize()
        for got, expected in zip(kept, want, strict=True):
            assert (got.cpu().int() - expected.int()).abs().max() <= 1


def test_python_functions(torch, ds):
    batch = next(iter(ds.pytorch(4, tensors=["x", "word"], transform={"x": lambda x: x * 2}, device="cuda")))
    assert batch["x"].is_cuda and batch["x"][1, 1].item() == 2002


def test_other_libraries(torch, ds):
    batch = next(iter(ds.batches(4, tensors=["x"], device="cuda")))
    want = np.arange(4000, dtype=np.float32).reshape(4, 1000)
    assert torch.equal(torch.from_dlpack(batch["x"]).cpu(), torch.from_numpy(want))
    assert torch.equal(torch.as_tensor(batch["x"], device="cuda").cpu(), torch.from_numpy(want))
    cupy = pytest.importorskip("cupy")
    np.testing.assert_array_equal(cupy.asnumpy(cupy.from_dlpack(batch["x"])), want)


def test_every_device(torch, ds):
    for number in range(torch.cuda.device_count()):
        for got, want in zip(ds.pytorch(16, device=f"cuda:{number}"), ds.pytorch(16), strict=True):
            assert got["x"].device.index == number
            compare(torch, got, want)
    with pytest.raises(deeplake.UnsupportedError, match="CUDA devices"):
        ds.pytorch(16, device=f"cuda:{torch.cuda.device_count()}")


def test_photographs(torch):
    """Files of a folder, beside those that libjpeg-turbo decodes on the CPU."""
    folder = os.environ.get("DEEPLAKE_GPU_JPEGS")
    if not folder:
        pytest.skip("DEEPLAKE_GPU_JPEGS names no folder")
    with deeplake.create(f"mem://gpu-{next(numbers)}") as ds:
        ds.create_tensor("image", "image", compression="jpeg")
        for path in sorted(Path(folder).glob("*.jpg")):
            ds.append({"image": deeplake.read(path)})
        ds.commit()
        for got, want in zip(ds.pytorch(1, device="cuda"), ds.pytorch(1), strict=True):
            compare(torch, got, want)


def test_the_end(torch, run_python):
    run_python(
        """
import deeplake, numpy as np, sys
ds = deeplake.create("mem://x")
ds.create_tensor("x", dtype="float32")
ds.extend({"x": np.ones((100, 1000), np.float32)})
ds.commit()
kept = [batch for batch in ds.pytorch(10, device="cuda")]
batches = iter(ds.pytorch(10, device="cuda"))
next(batches)
""",
        timeout=120,
    )


def test_memory_comes_back(torch, ds):
    for _ in range(2):
        list(ds.pytorch(8, device="cuda"))
    gc.collect()
    torch.cuda.synchronize()
    free, _ = torch.cuda.mem_get_info()
    for _ in range(10):
        list(ds.pytorch(8, device="cuda"))
    gc.collect()
    torch.cuda.synchronize()
    assert torch.cuda.mem_get_info()[0] > free - (64 << 20)
