"""Transforms: what functions may return, in which order, with which workers, and after failures."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest
from conftest import picture

ROWS = 300


@pytest.fixture
def pictures(tmp_path: Path) -> deeplake.Dataset:
    """Committed rows: n is the row number, images are JPEG files, word has holes, label has names."""
    schema = {"images": {"htype": "image", "compression": "jpeg"}, "n": {"dtype": "int64"}, "word": "text"}
    ds = deeplake.create(str(tmp_path / "pictures"), schema={**schema, "label": "class_label"})
    ds.extend(
        {
            "images": [picture(row, 16, 20) for row in range(ROWS)],
            "n": np.arange(ROWS),
            "word": [None if row % 10 == 3 else f"w{row}" for row in range(ROWS)],
            "label": [("cat", "dog")[row % 2] for row in range(ROWS)],
        }
    )
    ds.commit("rows")
    return ds


def shrunk(row: dict[str, Any]) -> dict[str, Any]:
    return {"images": row["images"][::2, ::2], "n": row["n"] * 2, "label": row["label"]}


def even(row: dict[str, Any]) -> dict[str, Any] | None:
    return None if row["n"] % 2 else {"n": row["n"]}


def twice(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"n": row["n"]}
    yield {"n": -row["n"]}


def more(batch: dict[str, Any]) -> dict[str, Any]:
    assert isinstance(batch["n"], np.ndarray)
    return {"n": batch["n"][batch["n"] % 3 > 0] + 1}


def vector(row: dict[str, Any]) -> dict[str, Any]:
    return {"vector": np.full(8, row["n"], np.float32), "length": len(row["word"] or "")}


def vectors(batch: dict[str, Any]) -> dict[str, Any]:
    return {"vector": np.repeat(batch["n"][:, None].astype(np.float32), 8, axis=1)}


def drawn(row: dict[str, Any]) -> dict[str, Any]:
    return {"a": np.random.rand(), "b": random.random()}


def but_37(row: dict[str, Any]) -> dict[str, Any]:
    if row["n"] == 37:
        raise ValueError("no 37")
    return {"n": row["n"]}


def deadly(row: dict[str, Any]) -> dict[str, Any]:
    if row["n"] == 50 and not Path(os.environ["DIED"]).exists():
        Path(os.environ["DIED"]).touch()
        os.kill(os.getpid(), 9)
    return {"n": row["n"]}


def always_deadly(row: dict[str, Any]) -> dict[str, Any]:
    os._exit(3)


class Model:
    """A model that is loaded once."""

    def __init__(self) -> None:
        self.loaded = os.getpid()

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        return {"n": row["n"], "worker": self.loaded}


@pytest.mark.parametrize("workers", [0, 2])
def test_rows_through_a_function(pictures: deeplake.Dataset, tmp_path: Path, workers: int) -> None:
    new = deeplake.transform(pictures, shrunk, str(tmp_path / "new"), workers=workers, message="smaller")
    assert list(new["n"][:]) == list(range(0, 2 * ROWS, 2))
    assert new["images"][7].shape == (8, 10, 3)
    assert {name: about["htype"] for name, about in new.schema.items()} == {
        "images": "image", "n": "generic", "label": "class_label",
    }  # fmt: skip
    assert new["label"].class_names == ["cat", "dog"] and list(new["label"][:4]) == [0, 1, 0, 1]
    assert new.head.message == "smaller" and new.head.version == 1 and new.fsck()


def test_what_functions_return(pictures: deeplake.Dataset) -> None:
    n = range(ROWS)
    for function, options, want in (
        (even, {}, list(n[::2])),
        (twice, {"task_rows": 7}, [sign * row for row in n for sign in (1, -1)]),
        (more, {"batch_size": 13}, [row + 1 for row in n if row % 3]),
        (lambda row: {"n": row["n"]}, {}, list(n)),
    ):
        new = deeplake.transform(pictures, function, f"mem://{id(function)}", columns=["n"], workers=0, **options)
        assert list(new["n"][:]) == want
    view = pictures.query("SELECT * WHERE n >= 100 ORDER BY n DESC")
    new = deeplake.transform(view, lambda row: {"n": row["n"]}, "mem://turned", columns=["n"], workers=0)
    assert list(new["n"][:]) == list(range(ROWS - 1, 99, -1))


def test_an_image_that_stays_is_not_encoded_again(pictures: deeplake.Dataset, tmp_path: Path) -> None:
    new = deeplake.transform(pictures, lambda row: {**row, "mean": row["images"].mean()}, str(tmp_path / "new"))
    assert [new["images"].bytes(row) for row in (0, 99, 299)] == [pictures["images"].bytes(row) for row in (0, 99, 299)]
    assert list(new["word"][:5]) == ["w0", "w1", "w2", None, "w4"]
    assert new["mean"][5] == pictures["images"][5].mean()


def test_new_columns(pictures: deeplake.Dataset) -> None:
    before = pictures["images"].bytes(3)
    ds = deeplake.transform(pictures, vector, columns=["n", "word"], workers=2, task_rows=64)
    assert np.array_equal(np.stack(ds["vector"][:])[:, 3], np.arange(ROWS))
    assert ds["length"][3] == 0 and ds["length"][299] == 4 and ds["images"].bytes(3) == before
    pictures.refresh()
    some = pictures[100:200]
    ds = deeplake.transform(some, vectors, columns=["n"], batch_size=9, schema={"vector": "embedding"}, workers=0)
    ds = deeplake.transform(ds[10:20], lambda row: {"part": row["n"]}, columns=["n"], workers=0)
    assert [ds["part"][row] for row in (9, 10, 19, 20)] == [None, 10, 19, None]
    with pytest.raises(deeplake.InvalidArgumentError, match=r"the newest is.*refresh\(\)"):
        deeplake.transform(pictures, vector, columns=["n", "word"], workers=0)
    ds.delete(0)
    ds.commit("fewer")
    ds = deeplake.transform(ds, lambda row: {"again": row["n"] + 1}, columns=["n"], workers=0, task_rows=50)
    assert list(ds["again"][:]) == list(range(2, ROWS + 1))
    assert ds.fsck()


def test_an_existing_dataset_gets_more_rows(pictures: deeplake.Dataset) -> None:
    uri = "mem://more-rows"
    for _ in range(2):
        new = deeplake.transform(pictures, even, uri, columns=["n"], workers=0)
    assert len(new) == ROWS and new.head.version == 2


def test_draws_do_not_depend_on_the_workers(pictures: deeplake.Dataset) -> None:
    found = [
        deeplake.transform(pictures, drawn, f"mem://drawn-{size}-{seed}", columns=["n"], workers=0, task_rows=size, seed=seed)
        for size, seed in ((300, 0), (7, 0), (300, 1))
    ]  # fmt: skip
    first, second, third = ((list(ds["a"][:]), list(ds["b"][:])) for ds in found)
    assert first == second != third


def test_a_class_is_made_once_in_each_worker(pictures: deeplake.Dataset, tmp_path: Path) -> None:
    new = deeplake.transform(pictures, Model, str(tmp_path / "new"), columns=["n"], workers=2, task_rows=20)
    assert 1 <= len(set(new["worker"][:])) <= 2 and os.getpid() not in new["worker"][:]


def test_failures_of_the_function(pictures: deeplake.Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no 37"):
        deeplake.transform(pictures, but_37, "mem://failed", columns=["n"], workers=0)
    assert not deeplake.exists("mem://failed")
    new = deeplake.transform(pictures, but_37, "mem://skipped", columns=["n"], workers=0, on_error="skip", verbose=True)
    assert len(new) == ROWS - 1
    assert "1 rows were left out:\n    row 37: ValueError: no 37" in capsys.readouterr().err
    ds = deeplake.transform(pictures, lambda row: {"m": but_37(row)["n"]}, columns=["n"], workers=0, on_error="skip")
    assert ds["m"][37] is None and ds["m"][38] == 38


@pytest.mark.parametrize(
    ("function", "options", "words"),
    [
        (lambda row: 5, {}, "returned a int for row 0, want a dict"),
        (lambda row: [5], {}, "a list with a int for row 0"),
        (lambda row: {"n": 1} if row["n"] else {"m": 1}, {}, r"the tensors \['n'\] for row 1, and \['m'\]"),
        (lambda batch: {"n": [1], "m": [1, 2]}, {"batch_size": 10}, "the lengths"),
        (lambda batch: 5, {"batch_size": 10}, "returned a int for the batch of row 0"),
        (lambda row: None, {"into": None}, "returned a NoneType for row 0.*give into="),
        (lambda batch: {"n": [1]}, {"into": None, "batch_size": 10}, "want a dict of columns of 10 samples"),
        (5, {}, "function is a int"),
        (len, {"workers": -1}, "workers is -1"),
        (len, {"schema": ["n"]}, "schema is a list"),
        (len, {"seed": "a"}, "seed is 'a'"),
        (lambda batch: {"n": "abc"}, {"batch_size": 10}, 'a str as column "n"'),
        (lambda batch: {"n": 5}, {"batch_size": 10}, 'a int as column "n"'),
        (len, {"batch_size": 0}, "batch_size is 0"),
        (len, {"on_error": "ignore"}, "on_error is 'ignore'"),
        (len, {"engine": "spark"}, "engine is 'spark'"),
    ],
)
def test_what_is_refused(pictures: deeplake.Dataset, function: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(deeplake.InvalidArgumentError, match=words):
        deeplake.transform(pictures, function, **{"into": "mem://refused", "columns": ["n"], "workers": 0, **options})
    assert not deeplake.exists("mem://refused")
    assert "m" not in pictures.tensors


def test_a_worker_that_dies_is_replaced(
    pictures: deeplake.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIED", str(tmp_path / "died"))
    new = deeplake.transform(pictures, deadly, str(tmp_path / "new"), columns=["n"], workers=2, task_rows=40)
    assert (tmp_path / "died").exists() and list(new["n"][:]) == list(range(ROWS))
    with pytest.raises(
        deeplake.WorkerError, match="rows 0 to 64: its worker has ended with exit code 3, in 3 attempts"
    ):
        deeplake.transform(pictures, always_deadly, str(tmp_path / "dead"), columns=["n"], workers=1)
    assert not deeplake.exists(str(tmp_path / "dead"))


def test_functions_that_do_not_pickle(pictures: deeplake.Dataset, tmp_path: Path) -> None:
    lock = threading.Lock()
    with pytest.raises(deeplake.InvalidArgumentError, match="transform: workers need"):
        deeplake.transform(pictures, lambda row: lock, str(tmp_path / "new"), workers=1)


def test_arrays_that_functions_change(pictures: deeplake.Dataset) -> None:
    """An array that is changed in place is stored as it is then, and so is one that is returned again."""
    buffer = np.zeros(3, np.int64)

    def marked(row: dict[str, Any]) -> dict[str, Any]:
        if row["n"] % 2:
            row["images"][:4] = 255
        buffer[:] = row["n"]
        return {"images": row["images"], "buffer": buffer}

    def changing(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        buffer[:] = row["n"]
        yield {"buffer": buffer}
        buffer[:] = -1
        yield {"buffer": buffer}

    new = deeplake.transform(
        pictures[:6], marked, "mem://marked", workers=0, schema={"images": {"htype": "image", "compression": "png"}}
    )
    assert [int(image[0, 0, 0]) == 255 for image in new["images"][:]] == [False, True] * 3
    assert new["buffer"].numpy().tolist() == [[row] * 3 for row in range(6)]
    new = deeplake.transform(pictures[:3], changing, "mem://changing", workers=0)
    assert new["buffer"].numpy()[:, 0].tolist() == [0, -1, 1, -1, 2, -1]


def test_generators_that_fail(pictures: deeplake.Dataset) -> None:
    def failing(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield {"n": row["n"]}
        if row["n"] == 7:
            raise ValueError("no 7")

    new = deeplake.transform(pictures[:20], failing, "mem://generators", columns=["n"], workers=0, on_error="skip")
    assert list(new["n"][:]) == [n for n in range(20) if n != 7]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes before Python 3.11")
def test_errors_name_the_row(pictures: deeplake.Dataset) -> None:
    def late(row: dict[str, Any]) -> dict[str, Any] | None:
        return None if row["n"] % 2 else {"n": "x" if row["n"] == 18 else row["n"]}

    with pytest.raises(deeplake.Error) as failed:
        deeplake.transform(pictures, late, "mem://late", columns=["n"], workers=0)
    assert failed.value.__notes__ == ["transform: it was made of row 18 of the source"]
    with pytest.raises(ValueError, match="no 37") as failed_too:
        deeplake.transform(pictures, but_37, "mem://late", columns=["n"], workers=0)
    assert failed_too.value.__notes__ == ["transform: row 37 of the source"]


def test_sources_that_cannot_get_columns(pictures: deeplake.Dataset) -> None:
    read_only = deeplake.open(pictures.uri, read_only=True)
    with pytest.raises(deeplake.ReadOnlyError, match="opened read-only"):
        deeplake.transform(read_only, vector, workers=0)
    with pytest.raises(deeplake.InvalidArgumentError, match="a row twice"):
        deeplake.transform(pictures[[3, 3]], vector, workers=0)
    pictures.update(0, {"n": 500})
    for into in (None, "mem://uncommitted"):
        with pytest.raises(deeplake.ConflictError, match="uncommitted changes"):
            deeplake.transform(pictures, vector, into, workers=0)
    pictures.discard()
    assert "vector" not in pictures.tensors


def test_without_worker_processes(pictures: deeplake.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where processes cannot be, the default is this one, and asking for others says why."""
    memory = deeplake.transform(pictures, even, "mem://here", columns=["n"])
    assert len(memory) == ROWS // 2
    deeplake.transform(memory, lambda row: {"half": row["n"] // 2})
    with deeplake.transform(memory, even, str(tmp_path / "of memory")) as new:
        assert len(new) == ROWS // 2
    for options, words in (
        ({"workers": 2}, 'workers is 2, and "mem://here" lies in the memory of this process; leave workers out'),
        ({"engine": "ray"}, 'engine is "ray", and "mem://here" lies in the memory'),
    ):
        with pytest.raises(deeplake.UnsupportedError, match=words):
            deeplake.transform(memory, even, str(tmp_path / "refused"), **options)  # type: ignore[arg-type]
        assert not deeplake.exists(str(tmp_path / "refused"))
    monkeypatch.setattr(sys, "platform", "darwin")
    with deeplake.transform(pictures, even, str(tmp_path / "on a Mac"), columns=["n"]) as new:
        assert len(new) == ROWS // 2
    with pytest.raises(deeplake.UnsupportedError, match="workers is 2, and worker processes need Linux"):
        deeplake.transform(pictures, even, str(tmp_path / "refused"), columns=["n"], workers=2)


def test_a_failure_leaves_no_lease(pictures: deeplake.Dataset, tmp_path: Path) -> None:
    """What the tasks wrote is garbage after a failure; with a checkpoint the next run needs it."""
    leases = Path(pictures.uri) / "leases"
    for checkpoint in (None, tmp_path / "checkpoint"):
        with pytest.raises(ValueError, match="no 37"):
            deeplake.transform(
                pictures, but_37, pictures.uri, columns=["n"], workers=0, task_rows=10, checkpoint=checkpoint
            )
        assert bool(list(leases.glob("*"))) == (checkpoint is not None)


def test_a_class_that_fails(pictures: deeplake.Dataset, tmp_path: Path) -> None:
    class Bad:
        def __init__(self) -> None:
            raise RuntimeError("no model")

    for workers in (0, 1):
        with pytest.raises(RuntimeError, match="no model"):
            deeplake.transform(pictures, Bad, str(tmp_path / "bad"), workers=workers)


def test_a_target_without_rows(pictures: deeplake.Dataset) -> None:
    new = deeplake.transform(pictures, lambda row: None, "mem://none", schema={"text": "text"}, workers=0)
    assert len(new) == 0 and list(new.tensors) == ["text"]


def test_a_checkpoint_knows_the_code(pictures: deeplake.Dataset, tmp_path: Path) -> None:
    def run(times: int, place: str) -> deeplake.Dataset:
        def scaled(row: dict[str, Any]) -> dict[str, Any]:
            if times == 1 and row["n"] == 99:
                raise KeyError("stop")
            return {"scaled": row["n"] * times}

        return deeplake.transform(
            pictures, scaled, None, columns=["n"], workers=0, task_rows=30, checkpoint=tmp_path / place
        )

    with pytest.raises(KeyError):
        run(1, "first")
    with pytest.raises(deeplake.InvalidArgumentError, match="of another transform: code differ"):
        run(10, "first")
    done = run(10, "second")
    # It added the columns to its own source. Another run of the program opens that version.
    pictures.refresh()
    assert run(10, "second").head == done.head == pictures.head


def test_a_finished_checkpoint_of_a_branch(pictures: deeplake.Dataset, tmp_path: Path) -> None:
    pictures.branches.create("wide")
    with deeplake.open(pictures.uri, branch="wide") as wide:
        for _ in range(2):
            done = deeplake.transform(
                wide, vector, columns=["n", "word"], workers=0, checkpoint=tmp_path / "checkpoint"
            )
            assert done.branch == "wide" and "vector" in done.tensors
            wide.refresh()
            assert wide.head == done.head
    assert "vector" not in deeplake.open(pictures.uri).tensors


def test_compute(pictures: deeplake.Dataset) -> None:
    @deeplake.compute
    def plus(row: dict[str, Any], number: int, *, times: int = 1) -> dict[str, Any]:
        return {"n": row["n"] * times + number}

    new = plus(5, times=2).eval(pictures, "mem://plus", columns=["n"], workers=0)
    assert list(new["n"][:3]) == [5, 7, 9]
    assert plus.__name__ == "plus"


JOB = """
import sys
import deeplake

def double(row):
    return {"n": 2 * row["n"]}

ds = deeplake.open(sys.argv[1])
print("open", flush=True)
deeplake.transform(ds, double, sys.argv[2], columns=["n"], workers=0, task_rows=10, checkpoint=sys.argv[3])
"""


def test_a_killed_transform_goes_on(pictures: deeplake.Dataset, tmp_path: Path) -> None:
    command = [sys.executable, "-c", JOB, pictures.uri, str(tmp_path / "new"), str(tmp_path / "checkpoint")]
    draw, kills, most, noted = random.Random(7), 0, 0.02, 0
    while True:
        running = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert running.stdout is not None
        running.stdout.readline()
        try:
            assert running.wait(draw.random() * most) == 0
            break
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
            kills, most = kills + 1, most * 1.2
            if (tmp_path / "checkpoint").exists():
                lines = (tmp_path / "checkpoint").read_bytes().count(b"fragment")
                assert lines >= noted
                noted = lines
        finally:
            running.stdout.close()
    assert kills > 2
    new = deeplake.open(str(tmp_path / "new"))
    assert list(new["n"][:]) == list(range(0, 2 * ROWS, 2)) and new.head.version == 1
    # The file stays: a run that was killed behind its commit must not begin again.
    for _ in range(2):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    new.refresh()
    assert len(new) == ROWS and new.head.version == 1


def test_checkpoints_of_others(pictures: deeplake.Dataset, tmp_path: Path) -> None:
    place = tmp_path / "checkpoint"
    with pytest.raises(ValueError, match="no 37"):
        deeplake.transform(
            pictures, but_37, str(tmp_path / "new"), columns=["n"], workers=0, task_rows=10, checkpoint=place
        )
    head, *tasks = [line for line in place.read_text().splitlines() if line]
    assert json.loads(head)["job"]["rows"] == ROWS and len(tasks) == 3
    with pytest.raises(deeplake.InvalidArgumentError, match="of another transform: seed differ"):
        deeplake.transform(
            pictures, but_37, str(tmp_path / "new"), columns=["n"], workers=0, task_rows=10, checkpoint=place, seed=5
        )
    place.write_text("x")
    with pytest.raises(deeplake.InvalidArgumentError, match="is no checkpoint, or damaged"):
        deeplake.transform(pictures, even, str(tmp_path / "new"), columns=["n"], workers=0, checkpoint=place)


SLOW = """
import sys, time
import deeplake

def slow(row):
    time.sleep(60)

if __name__ == "__main__":
    print("open", flush=True)
    deeplake.transform(deeplake.open(sys.argv[1]), slow, sys.argv[2], columns=["n"], workers=2)
"""


def test_ctrl_c_ends_the_workers(pictures: deeplake.Dataset, tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    running = subprocess.Popen(
        [sys.executable, str(script), pictures.uri, str(tmp_path / "new")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert running.stdout is not None
    running.stdout.readline()
    deadline = time.monotonic() + 30
    while not (tmp_path / "new" / "leases").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    running.send_signal(2)
    _, said = running.communicate(timeout=30)  # until the last worker closes its standard error
    assert b"KeyboardInterrupt" in said
    assert not deeplake.exists(str(tmp_path / "new"))


def by_thirds(row: dict[str, Any]) -> dict[str, Any]:
    return {"v": row["n"] if row["n"] < 100 else row["n"] / 2}


def test_tasks_whose_columns_differ(pictures: deeplake.Dataset) -> None:
    with pytest.raises(
        deeplake.ConflictError, match=r'task ".*"v" with dtype float64, task ".*int64.*\(schema=\)'
    ) as caught:
        deeplake.transform(pictures, by_thirds, columns=["n"], task_rows=100, workers=0)
    assert (caught.value.kind, caught.value.tensor) == ("add_tensor x add_tensor", "v")
    assert "v" not in deeplake.open(pictures.uri).tensors
    schema = {"v": {"dtype": "float64"}}
    ds = deeplake.transform(pictures, by_thirds, columns=["n"], task_rows=100, workers=0, schema=schema)
    assert np.array_equal(ds["v"][:], [n if n < 100 else n / 2 for n in range(ROWS)])
