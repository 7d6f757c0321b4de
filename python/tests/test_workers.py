"""Python steps in worker processes: the same batches, all forms of results, failures, ends."""

from __future__ import annotations

import functools
import gc
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path

import deeplake
import numpy as np
import PIL.Image
import pytest
import torch
from deeplake._load.seeds import Generators
from deeplake._load.workers import process

STARTS = ("forkserver", "spawn", "fork")
ROWS = 60
Pair = namedtuple("Pair", "left right")


@dataclass
class Box:
    """A value that is no array."""

    corner: np.ndarray
    name: str


class OwnError(Exception):
    """An error that the library does not know."""


@pytest.fixture(scope="module")
def ds(tmp_path_factory):
    with deeplake.create(str(tmp_path_factory.mktemp("workers") / "ds")) as made:
        made.create_tensor("images", "image.rgb", compression="png")
        made.create_tensor("labels", "class_label")
        made.create_tensor("texts", "text")
        made.create_tensor("series", "sequence[generic]", dtype="float32")
        made.create_tensor("facts", "json")
        numbers = np.random.default_rng(0)
        for i in range(ROWS):
            made.append(
                {
                    "images": numbers.integers(0, 256, (24, 30, 3), np.uint8),
                    "labels": i % 7,
                    "texts": f"row {i} ü",
                    "series": [np.full((j, 2), i, np.float32) for j in range(i % 4)],
                    "facts": {"row": i},
                }
            )
        made.commit()
    with deeplake.open(str(made.uri), read_only=True) as opened:
        yield opened


def draws(image):
    """Draws from every generator, and depends on the sample."""
    noise = torch.rand(4) + float(np.random.random()) + random.random()
    return noise + float(image[0, 0, 0])


def everything(row):
    """Returns results of all kinds."""
    image = row["images"]
    return {
        "tensor": torch.from_numpy(image).permute(2, 0, 1).float(),
        "array": image[::2, ::-1],
        "small": np.float32([1, 2]),
        "scalar": image.mean(),
        "float": float(row["labels"]) / 3,
        "int": int(row["labels"]),
        "bool": bool(row["labels"] % 2),
        "text": row["texts"].upper(),
        "nested": {"a": [torch.zeros(300) + row["labels"], (image, "x")]},
        "pair": Pair(image[0], 2),
        "box": Box(image[:, 0], "b"),
        "image": PIL.Image.fromarray(image),
        "facts": row["facts"],
        "count": len(row["series"]),
    }


def invert(image):
    """Changes a sample in its own memory."""
    np.subtract(255, image, out=image)
    return image


def backwards(columns):
    """Changes the list of samples that it got."""
    columns["images"].reverse()
    columns["labels"] = [label + 0 for label in columns["labels"]]
    return {"images": columns["images"], "labels": columns["labels"]}


def changing(row):
    """Returns arrays whose shape depends on the row."""
    label = int(row["labels"])
    return {"values": np.arange(200 * (label + 1)).reshape(-1, 2), "other": torch.ones(label)}


def check_same(one, other):
    """Compares two results of any kind, types and dtypes included."""
    assert type(one) is type(other)
    if isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)
    elif isinstance(one, np.ndarray | np.generic):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for name in one:
            check_same(one[name], other[name])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            check_same(a, b)
    elif isinstance(one, Box):
        check_same(vars(one), vars(other))
    elif isinstance(one, PIL.Image.Image):
        check_same(np.asarray(one), np.asarray(other))
    else:
        assert one == other


def batches(loader, epochs=2):
    """Returns copies of all batches: their memory is used again."""
    return [batch for _ in range(epochs) for batch in loader]


CASES = {
    "draws": {"transform": {"images": draws}},
    "two tensors": {
        "transform": {"images": [draws, torch.exp], "labels": lambda x: x + 1},
        "tensors": ["images", "labels", "texts"],
    },
    "all kinds": {"transform": everything},
    "all kinds, list": {"transform": everything, "collate": "list"},
    "pad": {"transform": changing, "collate": "pad"},
    "list": {"transform": changing, "collate": "list"},
    "collate": {"collate": lambda rows: {"n": len(rows), "images": np.stack([r["images"] for r in rows])}},
    "pil": {
        "decode": {"images": "pil"},
        "transform": {"images": lambda x: np.asarray(x.rotate(90))},
        "tensors": ["images"],
    },
    "unchanged": {"transform": {"images": lambda image: image}, "tensors": ["images", "labels"]},
    "unchanged, pad": {"transform": {"images": lambda image: image}, "tensors": ["images"], "collate": "pad"},
    "unchanged, list": {"transform": {"images": lambda image: image}, "tensors": ["images"], "collate": "list"},
    "unchanged twice": {"transform": lambda row: {"a": row["images"], "b": row["images"], "c": row["texts"]}},
    "changed in place": {"transform": {"images": invert}, "tensors": ["images"]},
    "unchanged in part": {
        "transform": lambda row: {"x": row["images"] if row["labels"] % 3 else row["images"] // 2, "n": row["labels"]}
    },
    "other rows": {"transform": backwards, "batched": True},
    "fewer and more rows": {
        "transform": lambda row: (
            None if row["labels"] == 2 else [{"x": row["images"], "i": i} for i in range(row["labels"] % 3)]
        )
    },
    "batched": {
        "transform": lambda columns: {"n": [len(t) for t in columns["texts"]], "x": np.stack(columns["images"])},
        "batched": True,
    },
}


@pytest.mark.parametrize("host", ["pytorch", "batches"])
@pytest.mark.parametrize("case", CASES)
def test_any_number_of_workers_gives_the_same(ds, case, host):
    options = {"shuffle": True, "seed": 3, "return_index": True, **CASES[case]}
    want = batches(getattr(ds, host)(7, **options))
    for workers, start in ((1, "fork"), (2, "forkserver"), (5, "fork")):
        loader = getattr(ds, host)(7, python_workers=workers, worker_start=start, **options)
        check_same(want, batches(loader))
        assert loader.stats()["python"]["workers"] == workers


@pytest.mark.parametrize("start", STARTS)
def test_every_start(ds, start):
    want = batches(ds.pytorch(16, transform=everything))
    check_same(want, batches(ds.pytorch(16, transform=everything, python_workers=2, worker_start=start)))


def test_results_lie_in_shared_memory(ds):
    loader = ds.pytorch(
        8, transform={"images": lambda x: torch.from_numpy(x).float()}, tensors=["images"], python_workers=2
    )
    kept = batches(loader, 1)
    want = batches(ds.pytorch(8, transform={"images": lambda x: torch.from_numpy(x).float()}, tensors=["images"]), 1)
    check_same(want, kept)  # all at once: no memory was used twice
    assert loader.stats()["python"]["pickled_arrays"] == 1  # the first row tells the form of the others
    list(loader)
    assert loader.stats()["python"]["pickled_arrays"] == 0
    kept[0]["images"].add_(1)  # writable


def test_unchanged_samples_are_not_copied(ds, monkeypatch):
    """An array that a callable returns unchanged stays in the batch, and can be written to."""

    def write(*_):
        raise AssertionError("copied")

    monkeypatch.setattr(process, "write", write)  # forked workers have it too
    options = {"tensors": ["images"], "python_workers": 2, "worker_start": "fork"}
    for number, batch in enumerate(ds.batches(10, transform={"images": lambda image: image}, **options)):
        np.testing.assert_array_equal(
            batch["images"], np.stack([ds["images"][i] for i in range(10 * number, 10 * number + 10)])
        )
        assert batch["images"].ctypes.data % 64 == 0
        batch["images"][:] = 1
    with pytest.raises(AssertionError, match="copied"):
        list(ds.batches(10, transform={"images": lambda image: image.copy()}, **options))


def test_a_sample_that_is_kept_is_copied(ds):
    """Changes of a kept array do not reach a batch, not even one that waits for the loop."""

    class Keeping:
        def __init__(self):
            self.all = None

        def __call__(self, image):
            if self.all is None:  # the first sample, whose batch is not waited for
                self.all = []
                return image
            for earlier in self.all:
                earlier[:] = 0
            self.all.append(image)
            return image

    loader = ds.batches(1, transform={"images": Keeping()}, tensors=["images"], python_workers=1, return_index=True)
    batches = iter(loader)
    got = [next(batches)]
    time.sleep(0.5)  # the worker goes on to the batches behind
    got += batches
    assert len(got) == ROWS
    for batch in got:
        np.testing.assert_array_equal(batch["images"][0], ds["images"][int(batch["_index"][0])])


@pytest.mark.slow
def test_torchvision_and_albumentations_draw_by_row(ds):
    os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"
    import albumentations as A  # noqa: N812
    from torchvision.transforms import v2

    vision = v2.Compose(
        [v2.ToImage(), v2.RandomResizedCrop(12), v2.ColorJitter(0.4), v2.ToDtype(torch.float32, scale=True)]
    )
    steps = A.Compose([A.RandomResizedCrop((12, 12)), A.HorizontalFlip(), A.RandomBrightnessContrast()])

    def album(image):
        return steps(image=image)["image"]

    for function in (vision, album, functools.partial(album)):
        one = ds.pytorch(9, shuffle=True, transform={"images": function}, tensors=["images"], return_index=True)
        other = ds.pytorch(4, transform={"images": function}, tensors=["images"], return_index=True, python_workers=2)
        rows = {int(i): image for batch in one for i, image in zip(batch["_index"], batch["images"], strict=True)}
        for batch in other:
            for i, image in zip(batch["_index"], batch["images"], strict=True):
                assert torch.equal(rows[int(i)], image)
        again = {int(i): image for batch in one for i, image in zip(batch["_index"], batch["images"], strict=True)}
        assert sum(not torch.equal(rows[i], again[i]) for i in rows) > ROWS / 2, "another epoch draws anew"


def test_the_generators_of_the_loop_are_left_alone(ds):
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    list(ds.pytorch(16, transform={"images": draws}, tensors=["images"]))
    list(ds.pytorch(16, transform={"images": draws}, tensors=["images"], python_workers=1))
    assert before == (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())


def test_seeding_is_that_of_the_libraries():
    generators = Generators()
    for seed in (0, 1, 2**40 + 7, 2**64 - 1):
        generators.seed(seed)
        got = random.random(), random.gauss(0, 1), np.random.rand(), np.random.randn(), torch.rand(1).item()
        random.seed(seed)
        np.random.seed(seed & 0xFFFFFFFF)
        torch.manual_seed(seed - 2**64 if seed >= 2**63 else seed)
        assert got == (random.random(), random.gauss(0, 1), np.random.rand(), np.random.randn(), torch.rand(1).item())


def test_a_state_resumes_exactly(ds):
    options = {"shuffle": True, "transform": {"images": draws}, "tensors": ["images"], "return_index": True}
    want = batches(ds.pytorch(8, **options), 1)
    loader = ds.pytorch(8, python_workers=2, **options)
    for step, batch in enumerate(loader):
        check_same(batch, want[step])
        if step == 3:
            state = loader.state_dict()
            break
    assert state["position"] == 32
    for workers in (0, 3):
        again = ds.pytorch(8, python_workers=workers, **options)
        again.load_state_dict(state)
        check_same(batches(again, 1), want[4:])


def test_workers_stay_between_epochs_and_rest(ds):
    loader = ds.batches(20, transform=lambda row: {"pid": os.getpid()}, python_workers=2)
    first = {pid for batch in loader for pid in batch["pid"].tolist()}
    assert len(first) == 2 and os.getpid() not in first
    assert {pid for batch in loader for pid in batch["pid"].tolist()} <= first
    before = [_cpu_ticks(pid) for pid in first]
    time.sleep(0.5)
    assert [_cpu_ticks(pid) for pid in first] == before, "workers at rest use no processor"
    del loader
    _await(lambda: not any(_alive(pid) for pid in first))


def test_a_worker_is_one_of_torch(ds):
    def who(row):
        from torch.utils.data import get_worker_info

        info = get_worker_info()
        return {"id": info.id, "count": info.num_workers, "threads": torch.get_num_threads()}

    found = list(ds.pytorch(30, transform=who, python_workers=2))
    assert {number for batch in found for number in batch["id"].tolist()} == {0, 1}
    assert all((batch["count"] == 2).all() and (batch["threads"] == 1).all() for batch in found)


def test_a_callable_may_keep_samples(ds):
    class Mixing:
        def __init__(self):
            self.last = None

        def __call__(self, image):
            last, self.last = self.last, image
            return image if last is None else np.stack([image[0], last[0]]).reshape(image[:2].shape)

    kept = list(
        ds.batches(
            4, transform={"images": Mixing()}, tensors=["images"], collate="list", python_workers=1, return_index=True
        )
    )
    rows = dict(enumerate(ds["images"].numpy()))
    for batch in kept:
        for i, image in zip(batch["_index"].tolist(), batch["images"], strict=True):
            if i % 4 or i:
                np.testing.assert_array_equal(image[1], rows[i - 1][0])


@pytest.mark.parametrize("start", STARTS)
def test_an_error_shows_the_line_and_the_row(ds, start):
    def fails(image):
        if image.sum() == wanted:
            raise OwnError("this line")
        return image

    wanted = np.asarray(ds["images"][17]).sum()
    loader = ds.batches(8, transform={"images": fails}, tensors=["images"], python_workers=2, worker_start=start)
    seen = 0
    with pytest.raises(OwnError, match="this line") as caught:
        for _ in loader:
            seen += 1
    assert seen == 2
    assert 'raise OwnError("this line")' in str(caught.value.__cause__)
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__ == [f'in the transform of tensor "images", row 17 of "{ds.uri}"']
    assert len(next(iter(loader))["images"]) == 8, "the loader can be used again"


def test_an_error_that_does_not_pickle(ds):
    def fails(image):
        error = ValueError("no way")
        error.lock = threading.Lock()
        raise error

    with pytest.raises(RuntimeError, match="ValueError: no way"):
        list(ds.batches(8, transform={"images": fails}, tensors=["images"], python_workers=1))


@pytest.mark.parametrize("start", STARTS)
def test_a_worker_that_dies_is_an_error_at_once(ds, start):
    def dies(image):
        os.kill(os.getpid(), signal.SIGKILL)

    def leaves(image):
        os._exit(7)

    for function, message in ((dies, "was ended by SIGKILL.*memory"), (leaves, "exit code 7")):
        loader = ds.batches(8, transform={"images": function}, tensors=["images"], python_workers=2, worker_start=start)
        _workers_run(loader)
        began = time.monotonic()
        with pytest.raises(deeplake.WorkerError, match=message):
            list(loader)
        assert time.monotonic() - began < 30, "the start of an interpreter included"


@pytest.mark.parametrize("workers", [0, 2])
def test_a_transform_that_exits(ds, workers):
    def exits(row):
        if row["texts"] == stop:
            raise SystemExit("enough")
        return row

    want = ds["texts"][:8]
    stop = ds["texts"][11]
    got = []
    with pytest.raises(SystemExit, match="enough"):
        for batch in ds[:20].batches(4, tensors=["texts"], transform=exits, python_workers=workers):
            got += batch["texts"]
    assert got == want


def _workers_run(loader):
    """Starts the workers of a loader, without a batch."""
    loader._pipeline()


def test_callables_that_do_not_pickle_are_refused(ds):
    lock = threading.Lock()
    with pytest.raises(
        deeplake.InvalidArgumentError, match=r'python_workers=2 needs a transform that pickles.*worker_start="fork"'
    ):
        list(ds.batches(8, transform={"images": lambda x: (lock, x)[1]}, python_workers=2))
    got = list(
        ds.batches(
            8, transform={"images": lambda x: (lock, x)[1]}, tensors=["images"], python_workers=2, worker_start="fork"
        )
    )
    assert len(got) == 8


class Absent:
    """It cannot be made again in another process."""

    def __call__(self, image):
        return image

    def __reduce__(self):
        return _only_here, (os.getpid(),)


def _only_here(pid):
    if pid != os.getpid():
        raise ImportError("no module of that name here")
    return Absent()


@pytest.mark.parametrize("start", ["forkserver", "spawn"])
def test_a_failed_start_says_why(ds, start):
    loader = ds.batches(8, transform={"images": Absent()}, python_workers=2, worker_start=start)
    with pytest.raises(deeplake.WorkerError, match=r"(?s)could not start.*no module of that name here"):
        list(loader)


@pytest.fixture
def restarting():
    """A handler of Ctrl-C that does not interrupt system calls, as polars sets one."""
    signal.siginterrupt(signal.SIGINT, False)
    yield
    signal.siginterrupt(signal.SIGINT, True)


def test_ctrl_c_ends_a_wait_that_system_calls_do_not(ds, restarting):
    test_ctrl_c_ends_a_wait(ds, "fork")


@pytest.mark.alone
@pytest.mark.parametrize("start", STARTS)
def test_ctrl_c_ends_a_wait(ds, start):
    def slow(image):
        time.sleep(60)

    loader = ds.batches(8, transform={"images": slow}, python_workers=2, worker_start=start)
    passed = []
    began = time.monotonic()
    timer = threading.Timer(1.5, lambda: (passed.append(time.monotonic()), os.kill(os.getpid(), signal.SIGINT)))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        list(loader)
    assert passed and time.monotonic() - passed[0] < 10
    processes = loader._workers.pool._state.processes
    pids = _descendants(os.getpid())
    began = time.monotonic()
    del loader, processes
    gc.collect()
    # The workers sleep for a minute. A collection itself may take a second where TensorFlow and JAX are loaded.
    assert time.monotonic() - began < 10
    _await(lambda: not any(_alive(pid) and _is_worker(pid) for pid in pids))


SCRIPT = """
import os, sys, time
import numpy as np
import deeplake

ds = deeplake.open(sys.argv[1], read_only=True)

def slow(row):
    time.sleep(0.05)
    return {"pid": os.getpid()}

loader = ds.batches(4, transform=slow, python_workers=2, worker_start=sys.argv[2])
for batch in loader:
    print(*set(batch["pid"].tolist()), flush=True)
"""


@pytest.mark.parametrize("start", STARTS)
def test_nothing_is_left_of_a_killed_process(ds, start, tmp_path):
    names = {folder: set(_names(folder)) for folder in ("/dev/shm", "/tmp") if Path(folder).is_dir()}
    own = tmp_path / "own"  # its folder for temporary files: other tests have theirs in /tmp
    own.mkdir()
    names[str(own)] = set()
    command = [sys.executable, "-c", SCRIPT, str(ds.uri), start]
    settings = {**os.environ, "TMPDIR": str(own)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=settings) as process:
        pids = {int(pid) for _ in range(3) for pid in process.stdout.readline().split()}
        pids |= _descendants(process.pid)
        process.kill()
    assert len(pids) >= 2
    _await(lambda: not any(map(_alive, pids)))
    for folder, before in names.items():
        new = {name for name in set(_names(folder)) - before if "deeplake" in name or folder == str(own)}
        assert not new


def test_a_lost_server_does_not_stop_the_workers(ds):
    loader = ds.batches(4, transform=lambda row: {"x": row["labels"]}, python_workers=2)
    steps = iter(loader)
    next(steps)
    server = loader._workers.pool._state.processes._interpreters[0]
    server.kill()
    server.wait()
    assert len(list(steps)) == ROWS // 4 - 1
    del loader, steps


def test_a_forked_child_has_workers_of_its_own(ds):
    loader = ds.batches(20, transform=lambda row: {"x": row["labels"]}, python_workers=1, worker_start="fork")
    want = batches(loader, 1)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            loader.set_epoch(0)
            check_same(batches(loader, 1), want)
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    loader.set_epoch(0)
    check_same(batches(loader, 1), want)


def test_epochs_leave_no_files_and_threads(ds):
    loader = ds.batches(10, transform={"images": lambda x: x.astype(np.float32)}, tensors=["images"], python_workers=2)
    list(loader)
    list(loader)
    files, threads = len(_names("/proc/self/fd")), threading.active_count()
    for _ in range(20):
        list(loader)
        next(iter(loader))
    gc.collect()
    assert len(_names("/proc/self/fd")) <= files + 2
    assert threading.active_count() <= threads
    del loader
    gc.collect()
    assert threading.active_count() < threads


def test_several_iterations_at_once(ds):
    loader = ds.batches(8, shuffle=True, transform={"images": draws}, tensors=["images"], python_workers=2)
    want = batches(loader, 1)
    loader.set_epoch(0)
    one = iter(loader)
    loader.set_epoch(0)
    other = iter(loader)
    for expected in want:
        check_same(next(one), expected)
        check_same(next(other), expected)


def test_jax_and_tensorflow(ds):
    pytest.importorskip("jax")
    options = {"transform": {"images": lambda x: x.astype(np.float32)}, "tensors": ["images", "labels"]}
    want = [batch["images"] for batch in ds.batches(16, **options)]
    got = list(ds.jax(16, python_workers=2, **options))
    assert [np.array_equal(a, b["images"]) for a, b in zip(want, got, strict=True)] == [True] * len(want)
    pytest.importorskip("tensorflow")
    for a, b in zip(want, ds.tensorflow(16, python_workers=2, **options), strict=True):
        np.testing.assert_array_equal(a, b["images"].numpy())


def test_rows_that_cannot_be_read_are_left_out(tmp_path):
    with deeplake.create(str(tmp_path / "ds")) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        good = deeplake.read(_png(tmp_path / "good.png"))
        data = (tmp_path / "good.png").read_bytes()
        middle = len(data) // 2
        bad = deeplake.Sample(data[:middle] + bytes(20) + data[middle + 20 :])
        for i in range(10):
            ds.append({"images": bad if i == 6 else good})
        ds.commit()
        options = {
            "decode": {"images": "pil"},
            "transform": {"images": np.asarray},
            "on_error": "skip",
            "return_index": True,
        }
        want = ds.batches(5, **options)
        got = ds.batches(5, python_workers=2, worker_start="fork", **options)
        check_same(batches(got, 1), batches(want, 1))
        assert got.stats()["skipped"] == want.stats()["skipped"] == 1
        assert got.stats()["first_skips"][0]["row"] == 6


def _png(path):
    PIL.Image.fromarray(np.random.default_rng(0).integers(0, 256, (20, 20, 3), np.uint8)).save(path)
    return str(path)


def test_rows_of_no_result_empty_a_batch(ds):
    function = lambda row: None if row["labels"] < 7 else row  # noqa: E731
    loader = ds.batches(8, transform=function, python_workers=2, worker_start="fork")
    assert list(loader) == []
    with pytest.raises(deeplake.InvalidArgumentError, match="made no row of one, or several"):
        ds.torch_dataset(transform=lambda row: None)[0]


def test_keys_that_differ_are_refused(ds):
    function = lambda row: {"a": 1} if row["labels"] % 2 else {"b": 1}  # noqa: E731
    for workers in (0, 2):
        with pytest.raises(deeplake.InvalidArgumentError, match="keys"):
            list(ds.batches(8, transform=function, python_workers=workers, worker_start="fork"))


def test_a_batched_transform_is_checked(ds):
    for function, message in (
        (lambda columns: {"x": [1]}, 'returned 1 entries for "x", want one for each of the 8 rows'),
        (lambda columns: 3, "returned a int, want a dict of columns"),
        (lambda columns: {"x": 3}, 'returned a int for "x"'),
    ):
        for workers in (0, 1):
            with pytest.raises(deeplake.InvalidArgumentError, match=message):
                list(ds.batches(8, transform=function, batched=True, python_workers=workers, worker_start="fork"))


def test_slow_callables_are_named(ds, monkeypatch):
    from deeplake._load import figures as _figures

    monkeypatch.setattr(_figures, "_LATE", 0.05)
    slow = {"images": lambda x: time.sleep(0.01) or x}
    loader = ds.batches(4, transform=slow, tensors=["images"])
    with pytest.warns(UserWarning, match='callables took .* of the time; python_workers="auto"'):
        list(loader)
    assert loader.stats()["bottleneck"].startswith("python: ") and "python_workers" in loader.stats()["bottleneck"]
    list(loader)  # it warns once
    parallel = ds.batches(4, transform=slow, tensors=["images"], python_workers=4, worker_start="fork")
    list(parallel)
    assert "of 4 workers" in parallel.stats()["bottleneck"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"python_workers": -1}, "python_workers is -1"),
        ({"python_workers": "many"}, "python_workers is 'many'"),
        ({"worker_start": "thread"}, "worker_start is 'thread'"),
        ({"batched": 1}, "batched is 1"),
    ],
)
def test_options_are_checked(ds, options, message):
    with pytest.raises(deeplake.InvalidArgumentError, match=message):
        ds.batches(4, **options)


def test_auto_is_the_number_of_cores(ds):
    loader = ds.batches(30, transform={"labels": lambda x: x}, python_workers="auto", worker_start="fork")
    list(loader)
    assert loader.stats()["python"]["workers"] == len(os.sched_getaffinity(0))
    plain = ds.batches(30, python_workers="auto")
    list(plain)
    assert plain.stats()["python"]["workers"] == 0, "there is nothing to do in Python"


def _names(folder):
    return [path.name for path in Path(folder).iterdir()]


def _cpu_ticks(pid):
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _is_worker(pid):
    try:
        return b"_workers" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _descendants(pid):
    found, queue = set(), [pid]
    while queue:
        here = queue.pop()
        for task in Path(f"/proc/{here}/task").glob("*/children"):
            new = {int(child) for child in task.read_text().split()} - found
            found |= new
            queue += new
    return found


def _await(condition):
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.02)


def test_the_trace_shows_workers(ds, tmp_path):
    path = tmp_path / "trace.json"
    list(
        ds.batches(
            10, transform={"labels": lambda x: x}, tensors=["labels"], python_workers=2, worker_start="fork", trace=path
        )
    )
    events = json.loads(path.read_text())["traceEvents"]
    names = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert {"worker 0", "worker 1"} <= names
    assert sum(event["name"] == "callables" for event in events) == 13, "one for the first row"


def test_tv_tensors_keep_their_class(ds):
    from torchvision import tv_tensors

    def boxes(row):
        found = tv_tensors.BoundingBoxes(torch.zeros(400, 4), format="XYXY", canvas_size=(24, 30))
        return {"boxes": [found], "image": tv_tensors.Image(torch.from_numpy(row["images"]))}

    for start in ("fork", "forkserver"):
        batch = next(iter(ds.pytorch(8, transform=boxes, python_workers=2, worker_start=start)))
        one = batch["boxes"][0][0]
        assert type(one) is tv_tensors.BoundingBoxes and one.canvas_size == (24, 30) and one.shape == (400, 4)
        assert batch["image"].shape == (8, 24, 30, 3)


def test_mixtures_queries_and_ranks(ds):
    mixed = deeplake.mix([ds[:30], ds[30:]])
    found = ds.query("SELECT *, labels + 1 AS more WHERE labels < 5")
    for source, more in ((mixed, {}), (found, {}), (ds, {"rank": 1, "world_size": 3, "tail": "pad"})):
        options = {"shuffle": True, "transform": everything, "return_index": True, **more}
        want = batches(source.pytorch(7, **options), 1)
        check_same(want, batches(source.pytorch(7, python_workers=2, worker_start="fork", **options), 1))


def test_progress_names_the_way_out():
    from deeplake._progress import _speed

    stats = {"rows_per_second": 10.0, "bottleneck": "python: slow", "python": {"workers": 0}}
    assert _speed(stats) == "10 rows/s, python-bound (see python_workers)"
    assert _speed(stats | {"python": {"workers": 2}}) == "10 rows/s, python-bound"


def test_results_that_cannot_be_read_are_an_error(ds, monkeypatch):
    from deeplake._load.workers import pool

    loader = ds.batches(8, transform={"labels": lambda x: x}, tensors=["labels"], python_workers=1, worker_start="fork")
    monkeypatch.setattr(pool._State, "_take", lambda self, number: 1 / 0)
    with pytest.raises(deeplake.WorkerError, match="results of workers cannot be read: ZeroDivisionError"):
        list(loader)


@pytest.mark.parametrize("start", STARTS)
def test_a_worker_that_closes_its_connection_is_an_error(ds, start):
    def closes(image):
        os.closerange(3, 200)
        time.sleep(60)

    loader = ds.batches(8, transform={"images": closes}, tensors=["images"], python_workers=1, worker_start=start)
    _workers_run(loader)
    began = time.monotonic()
    with pytest.raises(deeplake.WorkerError, match=r"has ended|exit code"):
        list(loader)
    assert time.monotonic() - began < 10
