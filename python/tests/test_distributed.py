"""Distributed writes: tasks in other processes, one commit, retries, kills, and what is refused."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest
from conftest import picture
from deeplake._data.committing import DistributedWrite, Fragment

CLASSES = ("cat", "dog", "cow")
ROWS = 40  # of a task


def columns_of(task: int) -> dict[str, object]:
    """The rows of one task."""
    rows = range(task * ROWS, (task + 1) * ROWS)
    return {
        "images": [picture(row, 16 + row % 5, 20) for row in rows],
        "n": np.array(rows, np.int64),
        "label": [CLASSES[(row + task) % 3] for row in rows],
        "text": [f"row {row}" for row in rows],
    }


def run_task(write: DistributedWrite, task: int) -> Fragment:
    with write.task(task) as ds:
        ds.extend(columns_of(task))
        return ds.fragment()


def new_dataset(uri: str) -> deeplake.Dataset:
    schema = {"images": {"htype": "image", "compression": "png"}, "n": {"dtype": "int64"}, "label": "class_label"}
    ds = deeplake.create(uri, schema={**schema, "text": "text"})
    ds.commit("tensors")
    return ds


def check_rows(ds: deeplake.Dataset, tasks: Sequence[int]) -> None:
    assert list(ds["n"][:]) == [row for task in tasks for row in range(task * ROWS, (task + 1) * ROWS)]
    names = ds["label"].class_names
    assert names is not None
    at = 0
    for task in tasks:
        want = columns_of(task)
        assert [names[int(label)] for label in ds["label"][at : at + ROWS]] == want["label"]
        assert list(ds["text"][at : at + ROWS]) == want["text"]
        for row, image in enumerate(want["images"]):  # type: ignore[arg-type, var-annotated]
            assert np.array_equal(ds["images"][at + row], image)
        at += ROWS
    assert ds.fsck()


def test_processes_write_and_one_commits(tmp_path: Path) -> None:
    ds = new_dataset(str(tmp_path / "d"))
    with ds.distributed_write() as write, ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        fragments = list(pool.map(partial(run_task, write), range(6)))
        assert len(ds) == 0
        done = write.commit(fragments, "six tasks")
    assert (done.version, done.rows, done.message) == (1, 6 * ROWS, "six tasks")
    check_rows(ds, range(6))
    assert sum(len(batch["n"]) for batch in ds.pytorch(batch_size=32, shuffle=True, collate="list")) == 6 * ROWS
    newest = ds.log()[0]
    assert (newest.added, newest.updated, newest.deleted) == (6 * ROWS, 0, 0)
    assert [fragment.rows for fragment in fragments] == [ROWS] * 6
    assert repr(fragments[3]) == f"Fragment(task='3', rows={ROWS})"
    assert repr(write).endswith("version=0)")


def test_attempts_and_order(place: str) -> None:
    ds = new_dataset(place)
    write = ds.distributed_write()
    fragments = [run_task(write, task) for task in (2, 0, 2, 1, 0)]
    first = write.commit(fragments)
    assert [int(n) // ROWS for n in ds["n"][::ROWS]] == [2, 0, 1]
    again = pickle.loads(pickle.dumps(write)) if "mem:" not in place else write
    assert again.commit([fragment.text for fragment in fragments]) == first
    with pytest.raises(deeplake.ConflictError, match=r'rows of task "1".*leave out'):
        again.commit(fragments[3:4])
    third = again.commit([run_task(again, 5)], idempotency_key="more")
    assert again.commit([run_task(again, 6)], idempotency_key="more") == third
    ds.refresh()
    assert len(ds) == 4 * ROWS
    write.close()


def test_a_column_by_ranges(place: str) -> None:
    ds = new_dataset(place)
    for task in range(5):
        ds.extend(columns_of(task))
    ds.delete(slice(50, 60))
    ds.commit("rows")
    rows = len(ds)
    vectors = np.random.default_rng(1).normal(size=(rows, 16)).astype(np.float32)

    def embed(write: DistributedWrite, start: int, stop: int) -> Fragment:
        with write.task(start) as part:
            part.create_tensor("vector", "embedding", dtype="float32")
            assert len(part) == rows
            part["vector"][start:stop] = vectors[start:stop]
            return part.fragment()

    with ds.distributed_write() as write:
        fragments = [embed(write, start, min(start + 70, rows)) for start in range(0, rows, 70)]
        with pytest.raises(deeplake.InvalidArgumentError, match=r'new tensor "vector" for 70 rows.*\[70 71'):
            write.commit([fragments[0], *fragments[2:]])
        write.commit(fragments, "vectors")
    assert np.array_equal(np.stack(ds["vector"][:]), vectors)
    assert ds.fsck()
    nearest = ds.query("SELECT n ORDER BY L2_NORM(vector - ?) LIMIT 1", vectors[7])
    assert nearest["n"][0] == ds["n"][7]


def test_updates_and_deletes(place: str) -> None:
    ds = new_dataset(place)
    for task in range(4):
        ds.extend(columns_of(task))
    ds.commit("rows")

    def change(write: DistributedWrite, task: int) -> Fragment:
        with write.task(task) as part:
            start = task * ROWS
            part["n"][start : start + 10] = np.arange(10) - 1000 * task
            part.delete(slice(start + 30, start + 35))
            return part.fragment()

    with ds.distributed_write() as write:
        write.commit([change(write, task) for task in range(4)])
    want = [
        n
        for task in range(4)
        for n in [*range(-1000 * task, 10 - 1000 * task), *range(task * ROWS + 10, task * ROWS + 30), *range(task * ROWS + 35, task * ROWS + 40)]
    ]  # fmt: skip
    assert list(ds["n"][:]) == want
    write = ds.distributed_write()
    fragments = []
    for task in ("a", "b"):
        with write.task(task) as part:
            part["n"][3] = 7
            fragments.append(part.fragment())
    with pytest.raises(deeplake.ConflictError, match=r'task "b".*row 3'):
        write.commit(fragments)
    assert ds.head.version == 2


def test_conflicts_of_tasks_have_fields(place: str) -> None:
    ds = new_dataset(place)
    ds.extend(columns_of(0))
    ds.commit("rows")

    def conflict(*changes: Callable[[deeplake.Dataset], object]) -> deeplake.ConflictError:
        write = ds.distributed_write()
        fragments = []
        for task, change in zip(("a", "b"), changes, strict=True):
            with write.task(task) as part:
                change(part)
                fragments.append(part.fragment())
        with pytest.raises(deeplake.ConflictError, match=r'task "b".*task "a"') as caught:
            write.commit(fragments)
        write.close()
        assert caught.value.winner is None
        return caught.value

    def set_to(rows: slice) -> Callable[[deeplake.Dataset], object]:
        return lambda part: part["n"].__setitem__(rows, np.zeros(rows.stop - rows.start, np.int64))

    both = conflict(set_to(slice(2, 8)), set_to(slice(5, 20)))
    assert (both.kind, both.tensor, both.rows, both.count) == ("update x update", "n", [5, 6, 7], 3)
    gone = conflict(set_to(slice(2, 8)), lambda part: part.delete([1, 7]))
    assert (gone.kind, gone.tensor, gone.rows) == ("delete x update", "n", [7])
    for name, one, other in (
        ("info", {"info": {"unit": "m"}}, {"info": {"unit": "cm"}}),
        ("dtype", {}, {"dtype": "float32"}),
        ("shape", {}, {"shape": (3,)}),
        ("chunk_bytes", {}, {"chunk_bytes": 1 << 20}),
    ):
        made = conflict(*(partial(create_v, **{"dtype": "int64", **how}) for how in (one, other)))
        assert (made.kind, made.tensor, made.rows) == ("add_tensor x add_tensor", "v", [])
        assert f"give its {name} (schema=)" in str(made)


def create_v(part: deeplake.Dataset, **how: Any) -> None:
    part.create_tensor("v", **how)


def test_a_commit_outlives_its_branch(tmp_path: Path) -> None:
    uri = str(tmp_path / "d")
    new_dataset(uri).close()
    ds = deeplake.open(uri)
    ds.checkout("work", create=True)
    write = ds.distributed_write()
    fragments = [run_task(write, task) for task in range(2)]
    sent = pickle.dumps((write, fragments))
    done = write.commit(fragments, "job", idempotency_key="job 1")
    with deeplake.open(uri, branch="work") as again:
        again.extend(columns_of(2))
        ds.checkout("main")
        ds.branches.delete("work")
        # Both programs have lost the answer to their commit, and run again.
        assert again.commit("job", idempotency_key="job 1") == done
        assert len(again) == 2 * ROWS
        again.extend(columns_of(2))
        with pytest.raises(deeplake.NotFoundError, match="branch was deleted"):
            again.commit("job", idempotency_key="job 2")
        again.discard()
    write, fragments = pickle.loads(sent)
    assert write.commit(fragments, "job", idempotency_key="job 1") == done
    with pytest.raises(deeplake.NotFoundError, match="branch was deleted"):
        write.commit(fragments, "job", idempotency_key="job 2")


def test_a_rechunk_by_tasks(place: str) -> None:
    ds = new_dataset(place)
    for task in range(8):
        for row in range(0, ROWS, 10):
            ds.extend({name: column[row : row + 10] for name, column in columns_of(task).items()})  # type: ignore[index]
            ds.commit()
    ds.delete(slice(33, 53))
    ds.commit("fewer")
    want = list(ds["n"][:])

    def rechunk(write: DistributedWrite, start: int, stop: int) -> Fragment:
        with write.task(start) as part:
            report = part.rechunk(rows=range(start, stop))
            assert report.commit is None and report.rows > 0
            assert list(part["n"][:]) == want
            return part.fragment()

    with ds.distributed_write() as write:
        write.commit([rechunk(write, start, min(start + 100, len(ds))) for start in range(0, len(ds), 100)])
    assert list(ds["n"][:]) == want and ds.fsck()
    report = ds.rechunk(["n"], rows=slice(0, 50))
    assert report.before <= 6
    for rows in (range(0, 10, 2), slice(5, 5)):
        with pytest.raises(deeplake.InvalidArgumentError, match="neighbouring rows"):
            ds.rechunk(rows=rows)


def test_rows_by_key_in_tasks(place: str) -> None:
    ds = deeplake.create(place, schema={"id": {"dtype": "int64"}, "score": {"dtype": "float64"}})
    ds.extend({"id": np.arange(100), "score": np.zeros(100)})
    ds.commit("rows")

    def scores(write: DistributedWrite, task: int) -> Fragment:
        ids = [*range(task, 100, 4), 1000 + task]
        with write.task(task) as part:
            part.extend({"id": ids, "score": [id + 0.5 for id in ids]}, on="id")
            return part.fragment()

    with ds.distributed_write() as write:
        write.commit([scores(write, task) for task in range(4)])
    assert dict(zip(ds["id"][:], ds["score"][:], strict=True)) == {
        id: id + 0.5 for id in [*range(100), *range(1000, 1004)]
    }


def test_what_is_refused(place: str) -> None:
    ds = new_dataset(place)
    write = ds.distributed_write()
    with write.task("a") as part:
        for call in (part.commit, part.refresh, lambda: part.checkout("b", create=True)):
            with pytest.raises(deeplake.InvalidArgumentError, match=r'task "a" of a distributed write.*fragment\(\)'):
                call()
        part.info = {"a": 1}
        with pytest.raises(deeplake.InvalidArgumentError, match="sets the info"):
            part.fragment()
        part.discard()
        part.delete_tensor("text")
        with pytest.raises(deeplake.InvalidArgumentError, match='deletes tensor "text"'):
            part.fragment()
        part.discard()
        good = part.fragment()
        with pytest.raises(deeplake.InvalidArgumentError, match="its fragment is made"):
            part.extend(columns_of(0))
    with pytest.raises(deeplake.InvalidArgumentError, match="not open for a task"):
        ds.fragment()
    with pytest.raises(deeplake.ClosedError):
        part.fragment()
    for fragments, words in (
        ([1], "got a int, want what fragment"),
        (["{}"], "fragment 0"),
        ([good.text[:-9]], "fragment 0"),
        ([good.text.replace('"task":"a"', '"task":"b"')], "checksum"),
    ):
        with pytest.raises(deeplake.InvalidArgumentError, match=words):
            write.commit(fragments)  # type: ignore[arg-type]
    for key in ("", "k" * 257, "a\nb"):
        with pytest.raises(deeplake.InvalidArgumentError, match="key of a task"):
            write.task(key)
    for lease in (timedelta(0), timedelta(days=-1), timedelta(days=31), 60):
        with pytest.raises(deeplake.InvalidArgumentError, match="lease"):
            ds.distributed_write(lease=lease)  # type: ignore[arg-type]
    ds.extend(columns_of(0))
    with pytest.raises(deeplake.ConflictError, match="uncommitted changes"):
        ds.distributed_write()
    with pytest.raises(deeplake.ConflictError, match="uncommitted changes"):
        write.commit([good])
    ds.discard()
    with pytest.raises(deeplake.InvalidArgumentError, match='idempotency_key is ""'):
        ds.commit(idempotency_key="")
    assert write.commit([good]) == ds.head


def test_a_task_stays_in_its_process(tmp_path: Path) -> None:
    ds = new_dataset(str(tmp_path / "d"))
    with ds.distributed_write().task("a") as part:
        with pytest.raises(deeplake.UnsupportedError, match=r'open for task "a".*send the write'):
            pickle.dumps(part)
        child = os.fork()
        if child == 0:
            try:
                part.extend(columns_of(0))
            except deeplake.ForkedError:
                os._exit(3)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


def test_texts_that_files_and_queues_change(place: str) -> None:
    ds = new_dataset(place)
    with ds.distributed_write() as write:
        first, second = (run_task(write, task).text for task in (0, 1))
        done = write.commit([first.strip(), second.replace("\n", "\r\n")])
        # Other attempts, and another order, are the same tasks.
        assert write.commit([second, run_task(write, 1), first, first]) == done
    for wrong in ("", "zz", "[1]"):
        assert repr(Fragment(wrong)) == f"Fragment({wrong!r})"
        with pytest.raises(deeplake.InvalidArgumentError, match="is none"):
            _ = Fragment(wrong).rows
    for fragments in (None, Fragment(first), first):
        with pytest.raises(deeplake.InvalidArgumentError, match="in a list"):
            write.commit(fragments)  # type: ignore[arg-type]
    with pytest.raises(deeplake.InvalidArgumentError, match="key is a bool"):
        write.task(True)
    with write.task(np.int64(7)) as part:  # type: ignore[arg-type]
        assert part.fragment().task == "7"


def test_a_branch_that_is_deleted(place: str) -> None:
    ds = new_dataset(place)
    ds.checkout("side", create=True)
    write = ds.distributed_write()
    fragment = run_task(write, 0)
    other = deeplake.open(place)
    other.branches.delete("side")
    other.branches.create("side")
    with pytest.raises(deeplake.NotFoundError, match="the branch was deleted, and no name would lead to the commit"):
        write.commit([fragment])


def test_another_dataset_at_the_place(tmp_path: Path) -> None:
    ds = new_dataset(str(tmp_path / "d"))
    write = ds.distributed_write()
    fragment = run_task(write, 1)
    deeplake.create(str(tmp_path / "d"), overwrite=True).close()
    with pytest.raises(deeplake.ConflictError, match="is of dataset"):
        write.task(2)
    with pytest.raises(deeplake.Error):
        write.commit([fragment])


def test_a_lease_keeps_what_tasks_write(tmp_path: Path) -> None:
    ds = new_dataset(str(tmp_path / "d"))
    with ds.distributed_write() as write:
        fragment = run_task(write, 0)
        assert deeplake.open(str(tmp_path / "d")).gc(older_than=timedelta(0)).objects == 0
        write.commit([fragment])
    write = ds.distributed_write()
    lost = run_task(write, 1)
    write.close()
    assert ds.gc(older_than=timedelta(0)).objects > 0
    with pytest.raises(deeplake.ConflictError, match="missing"):
        write.commit([lost])
    check_rows(ds, range(1))


def test_a_lease_keeps_the_version(tmp_path: Path) -> None:
    ds = new_dataset(str(tmp_path / "d"))
    write = ds.distributed_write()
    ds.extend(columns_of(1))
    ds.commit("meanwhile")
    none = timedelta(0)
    assert ds.gc(older_than=none, expire=none).expired == 0
    write.commit([run_task(write, 0)])
    check_rows(ds, (1, 0))
    write.close()
    assert ds.gc(older_than=none, expire=none).expired == 1, "version 0 is below the limit already"
    with pytest.raises(deeplake.NotFoundError, match=r"version 0 .* is expired"):
        write.task(2)
    check_rows(ds, (1, 0))


def test_a_lease_is_renewed(tmp_path: Path) -> None:
    ds = new_dataset(str(tmp_path / "d"))
    with ds.distributed_write(lease=timedelta(seconds=1)):
        (renewed,) = (tmp_path / "d" / "leases").glob("*.renewed")
        first = renewed.stat().st_mtime_ns
        deadline = time.monotonic() + 30
        while renewed.stat().st_mtime_ns == first:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert list((tmp_path / "d").glob("leases/*")) == []


def test_a_commit_with_a_key_is_made_once(place: str) -> None:
    ds = new_dataset(place)
    ds.extend(columns_of(0))
    done = ds.commit("job", idempotency_key="job 1")
    ds.extend(columns_of(0))
    assert ds.commit("job", idempotency_key="job 1") == done
    assert not ds.dirty and len(ds) == ROWS
    ds.extend(columns_of(1))
    second = ds.commit("job", idempotency_key="job 2")
    assert second.version == 2
    # The first job again: the dataset stays at its newest version.
    ds.extend(columns_of(0))
    assert ds.commit("job", idempotency_key="job 1") == done
    assert ds.head == second and not ds.dirty and len(ds) == 2 * ROWS


def test_threads_run_tasks(place: str) -> None:
    ds = new_dataset(place)
    with ds.distributed_write() as write:
        fragments: list[Fragment | None] = [None] * 8
        threads = [
            threading.Thread(target=lambda task: fragments.__setitem__(task, run_task(write, task)), args=(task,))
            for task in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        write.commit([fragment for fragment in fragments if fragment is not None])
    check_rows(ds, range(8))


JOB = """
import sys
import deeplake
import numpy as np

ds = deeplake.open(sys.argv[1])
print("open", flush=True)
with ds.distributed_write() as write:
    fragments = []
    for task in range(12):
        with write.task(task) as part:
            part.extend({"n": np.arange(50) + 50 * task, "text": [f"row {row}" for row in range(50)]})
            fragments.append(part.fragment())
    write.commit(fragments, sys.argv[2], idempotency_key=sys.argv[2])
"""


def killed_jobs(uri: str, jobs: int, seed: int) -> int:
    """Runs jobs of twelve tasks, each killed at random moments until one of its runs gets through."""
    draw, kills = random.Random(seed), 0
    for job in range(jobs):
        most = 0.05
        while True:
            running = subprocess.Popen([sys.executable, "-c", JOB, uri, f"job {job}"], stdout=subprocess.PIPE)
            assert running.stdout is not None
            running.stdout.readline()
            try:
                assert running.wait(draw.random() * most) == 0
                break
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()
                kills, most = kills + 1, most * 1.3
            finally:
                running.stdout.close()
    return kills


def check_jobs(uri: str, jobs: int) -> None:
    with deeplake.open(uri) as ds:
        assert np.array_equal(ds["n"][:], np.tile(np.arange(600), jobs))
        assert [commit.message for commit in ds.log()] == [
            *(f"job {job}" for job in reversed(range(jobs))),
            "create dataset",
        ]
        ds.gc(older_than=timedelta(0))
        assert ds.fsck()


@pytest.mark.parametrize("jobs", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_kills(tmp_path: Path, jobs: int) -> None:
    uri = str(tmp_path / "d")
    deeplake.create(uri, schema={"n": {"dtype": "int64"}, "text": "text"}).commit("tensors")
    assert killed_jobs(uri, jobs, seed=52) > jobs
    check_jobs(uri, jobs)
