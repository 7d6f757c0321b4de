"""A mixture of a set on S3 and one on disk."""

from __future__ import annotations

from pathlib import Path

import deeplake
import numpy as np
from servers import Server


def numbered(uri: str, rows: int, first: int, storage: deeplake.Storage | None = None) -> deeplake.Dataset:
    """Rows that count from `first`, of 8 kB each."""
    ds = deeplake.create(uri, storage=storage)
    ds.create_tensor("x", dtype="int64")
    ds.create_tensor("noise", dtype="uint8", chunk_bytes=128 << 10)
    rng = np.random.default_rng(first)
    ds.extend({"x": np.arange(first, first + rows), "noise": rng.integers(0, 256, (rows, 8192), np.uint8)})
    ds.commit("rows")
    return ds


def batches(views: list[deeplake.Dataset], **arguments: int) -> list[list[int]]:
    """The rows of two epochs, batch by batch."""
    mixed = deeplake.mix(views, [2, 1], stop="all_exhausted")
    loader = mixed.batches(16, shuffle=True, return_index=True, **arguments)
    return [batch["x"].tolist() for _ in range(2) for batch in loader]


def test_the_order_ignores_stalls(proxy: Server, tmp_path: Path) -> None:
    """Late and repeated requests change no batch."""
    uri = proxy.uri(proxy.new_bucket(), "remote")
    numbered(uri, 150, 1000, deeplake.Storage(**proxy.settings())).close()
    near, copy = numbered(str(tmp_path / "near"), 200, 0), numbered(str(tmp_path / "copy"), 150, 1000)
    want = batches([near, copy])
    proxy.rules(
        {"name": "broken", "method": "GET", "path": "/data/", "times": 3, "do": {"fault": "reset", "at": 1000}},
        {"name": "late", "method": "GET", "path": "/data/", "p": 0.5, "do": {"fault": "delay", "delay_ms": 150}},
    )
    for arguments in ({"num_workers": 3}, {"num_workers": 1, "prefetch": 4}):
        remote = deeplake.open(uri, storage=deeplake.Storage(**proxy.settings(through_proxy=True)))
        assert batches([near, remote], **arguments) == want
        assert batches([remote, near])[0] != want[0]  # the views are told apart
        remote.close()
    assert proxy.counts()["faults"] > 3
