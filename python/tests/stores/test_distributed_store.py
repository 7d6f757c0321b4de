"""Distributed writes and transforms on S3 and GCS, with credentials that only the caller has."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import deeplake
import numpy as np
from servers import Server


def doubled(row: dict[str, Any]) -> dict[str, Any]:
    return {"n": 2 * row["n"]}


def test_tasks_on_a_store(store: Server) -> None:
    storage = deeplake.Storage(**store.settings())
    uri = store.uri(store.new_bucket(), "set")
    ds = deeplake.create(uri, schema={"n": {"dtype": "int64"}, "text": "text"}, storage=storage)
    ds.commit("tensors")
    with ds.distributed_write() as write:
        fragments: dict[int, deeplake.Fragment] = {}

        def work(task: int) -> None:
            with write.task(task, storage=storage) as part:
                part.extend({"n": np.arange(500) + 500 * task, "text": [f"row {row}" for row in range(500)]})
                fragments[task] = part.fragment()

        threads = [threading.Thread(target=work, args=(task,)) for task in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # A gc without a grace period spares what tasks of a write have written.
        assert deeplake.open(uri, storage=storage).gc(older_than=timedelta(0)).objects == 0
        write.commit([fragments[task] for task in range(6)], "six tasks", idempotency_key="job")
    assert np.array_equal(ds["n"][:], np.arange(3000)) and ds.log()[0].idempotency_key == "job"
    assert ds.fsck()


def test_a_transform_on_a_store(store: Server) -> None:
    storage = deeplake.Storage(**store.settings())
    bucket = store.new_bucket()
    ds = deeplake.create(store.uri(bucket, "source"), schema={"n": {"dtype": "int64"}}, storage=storage)
    ds.extend({"n": np.arange(400)})
    ds.commit()
    new = deeplake.transform(ds, doubled, store.uri(bucket, "new"), workers=2, storage=storage)
    assert np.array_equal(new["n"][:], 2 * np.arange(400)) and new.head.version == 1
    more = deeplake.transform(new, lambda row: {"m": row["n"] + 1}, workers=1)
    assert np.array_equal(more["m"][:], 2 * np.arange(400) + 1)
