"""Ray over a store of the S3 protocol: tasks in other processes read and write, with the secrets of `storage=`."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator

import deeplake
import numpy as np
import pytest
from servers import Server

if sys.version_info >= (3, 14):
    pytest.skip("the tests pin Ray below Python 3.14: it has no wheel without the GIL", allow_module_level=True)

os.environ.update({"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "RAY_DATA_DISABLE_PROGRESS_BARS": "1"})

import deeplake.ray
import ray

pytestmark = pytest.mark.slow
ROWS = 400


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=150 << 20)
    logging.getLogger("ray").setLevel(logging.WARNING)
    yield
    ray.shutdown()


def test_a_write_and_a_read(cluster: None, proxy: Server) -> None:
    storage = deeplake.Storage(**proxy.settings(through_proxy=True))
    bucket = proxy.new_bucket()
    uri, link = proxy.uri(bucket, "set"), proxy.uri(bucket, "copy")
    rows = ray.data.range(ROWS, override_num_blocks=4).map_batches(
        lambda rows: {"id": rows["id"], "vector": np.repeat(rows["id"][:, None], 8, axis=1).astype(np.float32)}
    )
    done = deeplake.ray.write(rows, uri, storage=storage, message="rows")
    assert (done.version, done.rows) == (1, ROWS)
    proxy.reset()
    back = deeplake.ray.read(uri, storage=storage, query="SELECT * WHERE id >= 100", override_num_blocks=2)
    proxy.reset()
    table = back.to_pandas().sort_values("id")
    assert table["id"].tolist() == list(range(100, ROWS))
    assert np.array_equal(np.stack(table["vector"]), np.repeat(np.arange(100, ROWS)[:, None], 8, axis=1))
    listings = [one for one in proxy.requests() if "list-type" in one["target"]]
    assert len(listings) <= 2, "a process opens the dataset once, whatever its history"
    copied = deeplake.ray.write(back, link, storage=storage)
    assert copied.rows == ROWS - 100
    with deeplake.open(link, storage=storage) as ds:
        assert ds.fsck()
