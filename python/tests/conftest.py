"""Shared fixtures: places for datasets, small pictures, and programs in separate processes."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import deeplake
import numpy as np
import pytest
from PIL import Image

_numbers = itertools.count()

# TensorFlow and triton bring an LLVM each. That of triton ends the process if it comes second.
# torch imports triton at some later moment, and other hosts import TensorFlow.
with contextlib.suppress(ImportError):
    importlib.import_module("triton")

# A shell ignores SIGINT in its background jobs, and programs inherit that:
# the Ctrl-C of the tests would go unheard.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", help="K/N: every Nth of the selected tests, from the Kth on")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Selects the part of --part from the tests that are left after -m and -k."""
    if part := config.getoption("--part"):
        number, count = map(int, part.split("/"))
        if not 1 <= number <= count:
            raise pytest.UsageError(f"there is no part {part}: want K/N with K from 1 to N")
        chosen = items[number - 1 :: count]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen


def pytest_collection_finish() -> None:
    """Keeps the garbage collector away from the modules of the hosts, whose million objects stay.

    A collection took 0.3 s with them, and hundreds of tests ask for one.
    """
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Lets the interpreter free them at its end."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def usual_priority() -> Iterator[None]:
    """Fails a test that leaves its process with real-time priority, as some libraries do under root.

    Tests behind it, and the servers and browsers that they start, then starve each other.
    """
    policy_of = getattr(os, "sched_getscheduler", lambda _: 0)  # macOS has none
    policy = policy_of(0)
    yield
    left = policy_of(0)
    assert left == policy, f"the test has changed the scheduling policy from {policy} to {left}"


@pytest.fixture(params=["mem", "file"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A URI where nothing is yet, in memory and on disk."""
    return f"mem://test-{next(_numbers)}" if request.param == "mem" else str(tmp_path / "dataset")


@pytest.fixture
def numbered(place: str) -> Iterator[deeplake.Dataset]:
    """Ten committed rows: x is the row number, v is (row, 2 * row), word its name."""
    with deeplake.create(place) as ds:
        ds.create_tensor("x", dtype="int64")
        ds.create_tensor("v", dtype="float32")
        ds.create_tensor("word", "text")
        rows = np.arange(10)
        ds.extend(
            {"x": rows, "v": np.stack([rows, 2 * rows], axis=1).astype(np.float32), "word": [f"w{i}" for i in rows]}
        )
        ds.commit("ten rows")
        yield ds


def host(name: str) -> ModuleType:
    """The package of a host: "torch", "jax" or "tensorflow". Skips where it is not installed."""
    if name == "tensorflow":
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return pytest.importorskip(name)


def picture(seed: int, height: int = 24, width: int = 32) -> np.ndarray:
    """A smooth picture that JPEG keeps nearly as it is; each seed gives another."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    planes = [128 + 100 * np.sin((seed + 1) * 0.7 + (x + k * y) / (6 + k)) for k in range(3)]
    return np.stack(planes, axis=2).astype(np.uint8)


def resized(image: Image.Image, size: tuple[int, int], how: Image.Resampling) -> Image.Image:
    """The image in another (width, height), by the two passes of Pillow 13 in its order, with any Pillow."""
    width, height = size
    lower = image.height - height
    first = (image.width, height) if lower > 0 and lower > 2 * (image.width - width) else (width, image.height)
    return image.resize(first, how).resize(size, how)


def encoded(array: np.ndarray, kind: str = "JPEG") -> bytes:
    """The file of a picture."""
    out = io.BytesIO()
    Image.fromarray(array).save(out, kind, **({"quality": 90} if kind == "JPEG" else {}))
    return out.getvalue()


@pytest.fixture
def run_python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program in an interpreter of its own, at most a minute, and returns the result."""

    def run(program: str, *args: str, check: bool = True, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        path = tmp_path / f"program-{next(_numbers)}.py"
        path.write_text(program)
        done = subprocess.run(
            [sys.executable, str(path), *args], capture_output=True, text=True, timeout=timeout, check=False
        )
        if check:
            assert done.returncode == 0, done.stderr
        return done

    return run
