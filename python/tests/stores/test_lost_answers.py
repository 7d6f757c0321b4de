"""Commits whose answers get lost: each is there once, and nothing else."""

from __future__ import annotations

from typing import Any

import deeplake
import numpy as np
import pytest
from servers import Server

FAULTS: dict[str, dict[str, Any]] = {
    "lost": {"fault": "lose"},
    "refused": {"fault": "refuse"},
    "reset": {"fault": "reset"},
    "internal error": {"fault": "answer", "status": 500, "code": "InternalError"},
    "conflict": {"fault": "answer", "status": 409, "code": "ConditionalRequestConflict"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_request_of_a_commit(store: Server, fault: str) -> None:
    store.profile("lan")
    storage = deeplake.Storage(**store.settings(through_proxy=True))
    uri = store.uri(store.new_bucket(), "set")
    writes = {"method": "PUT,POST"}
    with deeplake.create(uri, storage=storage) as ds:
        ds.create_tensor("x", dtype="int64")
        ds.commit("schema")
        store.reset()
        ds.extend({"x": [0]})
        ds.commit("row 0")
        steps = sum(1 for r in store.requests() if r["method"] in ("PUT", "POST"))
        assert steps >= 3  # a chunk, a page of the map, the record
        for i in range(steps):
            store.reset()
            store.rules({**writes, "skip": i, "times": 1, "do": FAULTS[fault]})
            ds.extend({"x": [i + 1]})
            ds.commit(f"row {i + 1}")
            assert store.counts()["faults"] == 1
    store.rules()
    with deeplake.open(uri, storage=storage) as ds:
        np.testing.assert_array_equal(ds["x"].numpy(), np.arange(steps + 1))
        messages = [c.message for c in ds.log()]
    assert [m for m in messages if m.startswith("row")] == [f"row {i}" for i in range(steps, -1, -1)]
