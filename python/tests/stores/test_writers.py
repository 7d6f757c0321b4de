"""Many writers on one branch in a bucket: no rows get lost, and a reader keeps its version until it asks for another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import Any

import deeplake
import numpy as np
import pytest
from servers import Server

WRITERS, COMMITS, ROWS = 4, 5, 10
START = 500


def labels(writer: int, commit: int) -> list[int]:
    first = 10_000 * (writer + 1) + commit * ROWS
    return list(range(first, first + ROWS))


def written() -> list[int]:
    return [n for w in range(WRITERS) for c in range(COMMITS) for n in labels(w, c)]


def columns(numbers: list[int]) -> dict[str, Any]:
    return {"x": numbers, "word": [f"<{n}>" for n in numbers]}


@pytest.fixture
def place(store: Server) -> tuple[str, deeplake.Storage]:
    """A dataset of START rows in small chunks."""
    storage = deeplake.Storage(**store.settings())
    uri = store.uri(store.new_bucket(), "set")
    with deeplake.create(uri, storage=storage) as ds:
        ds.create_tensor("x", dtype="int64")
        ds.create_tensor("word", htype="text", chunk_bytes=8192)
        ds.extend(columns(list(range(START))))
        ds.commit("start")
    return uri, storage


def epoch(loader: Any) -> list[int]:
    out: list[int] = []
    for batch in loader:
        assert [f"<{n}>" for n in batch["x"]] == list(batch["word"])
        out += [int(n) for n in batch["x"]]
    return out


def test_an_epoch_while_others_commit(place: tuple[str, deeplake.Storage]) -> None:
    uri, storage = place
    reader = deeplake.open(uri, storage=storage)
    failures: list[BaseException] = []
    begun = threading.Barrier(WRITERS + 1)

    def write(writer: int) -> None:
        try:
            with deeplake.open(uri, storage=storage) as ds:
                begun.wait(timeout=60)
                for commit in range(COMMITS):
                    ds.extend(columns(labels(writer, commit)))
                    ds.commit(f"writer {writer} commit {commit}")
        except BaseException as err:
            failures.append(err)

    head = reader.head
    loader = reader.batches(16, shuffle=True)
    writers = [threading.Thread(target=write, args=(w,)) for w in range(WRITERS)]
    for thread in writers:
        thread.start()
    begun.wait(timeout=60)
    epochs = 0
    while epochs == 0 or any(thread.is_alive() for thread in writers):
        assert sorted(epoch(loader)) == list(range(START))
        assert (len(reader), reader.head) == (START, head)
        epochs += 1
    for thread in writers:
        thread.join()
    assert not failures, failures
    assert sorted(epoch(loader)) == list(range(START))

    before = reader["x"].numpy()
    reader.refresh()
    assert reader.head.version == head.version + WRITERS * COMMITS
    after = reader["x"].numpy()
    np.testing.assert_array_equal(after[:START], before)
    assert sorted(after[START:].tolist()) == written()
    assert sorted(epoch(reader.batches(16, shuffle=True))) == list(range(START)) + written()
    reader.close()


CHILD = """
import json, sys
import deeplake
uri, settings, labels = json.loads(sys.stdin.read())
with deeplake.open(uri, storage=deeplake.Storage(**settings)) as ds:
    for numbers in labels:
        ds.extend({"x": numbers, "word": [f"<{n}>" for n in numbers]})
        ds.commit(str(numbers[0]))
"""


def test_writers_in_processes(place: tuple[str, deeplake.Storage], store: Server) -> None:
    uri, storage = place
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
        )
        for _ in range(WRITERS)
    ]
    for w, child in enumerate(children):
        assert child.stdin
        child.stdin.write(json.dumps([uri, store.settings(), [labels(w, c) for c in range(COMMITS)]]))
        child.stdin.close()
    for child in children:
        assert child.stderr
        text = child.stderr.read()
        child.stderr.close()
        assert child.wait() == 0, text
    with deeplake.open(uri, storage=storage) as ds:
        rows = ds["x"].numpy()[START:].reshape(-1, ROWS)
        messages = [c.message for c in reversed(ds.log())][-WRITERS * COMMITS :]
        assert sorted(rows.ravel().tolist()) == written()
        # The rows lie in the order of the commits, each commit's together.
        assert [str(r[0]) for r in rows] == messages
        assert (np.diff(rows, axis=1) == 1).all()
