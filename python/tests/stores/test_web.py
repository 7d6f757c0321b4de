"""A dataset on a web server: it lists nothing and takes nothing, and is read all the same."""

from __future__ import annotations

from collections.abc import Iterator

import deeplake
import numpy as np
import pytest
from servers import Server, running

ROWS = 70


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of a folder with the dataset "set": 70 commits of a row each, the tag "v1", the branch "dev"."""
    folder = tmp_path_factory.mktemp("web")
    with deeplake.create(folder / "set") as ds:
        ds.create_tensor("x", dtype="int64")
        for i in range(ROWS):
            ds.extend({"x": np.array([i])})
            ds.commit(f"row {i}")
            if i == 9:
                ds.tags.create("v1")
        ds.branches.create("dev")
    with deeplake.open(folder / "set", branch="dev") as ds:
        ds.extend({"x": np.array([1000])})
        ds.commit("on dev")
    with running("http", folder=folder) as servers:
        yield servers["http"]


def test_read(web: Server) -> None:
    web.reset()
    web.rules(
        {"method": "GET", "p": 0.05, "do": {"fault": "answer", "status": 500}},
        {"method": "GET", "range": "bytes", "p": 0.05, "do": {"fault": "reset", "at": 10}},
    )
    try:
        with deeplake.open(f"{web.proxy}/set") as ds:
            assert np.array_equal(np.asarray(ds["x"].numpy()), np.arange(ROWS))
            got = [int(x) for batch in ds.batches(7, shuffle=True, seed=1) for x in batch["x"]]
            assert sorted(got) == list(range(ROWS))
            assert len(ds.log()) == ROWS + 1
    finally:
        web.profile("lan")


def test_few_requests(web: Server) -> None:
    web.reset()
    with deeplake.open(f"{web.proxy}/set") as ds:
        assert len(ds) == ROWS
    assert web.counts()["requests"] <= 12  # the hint leads close to the newest commit


def test_names(web: Server) -> None:
    url = f"{web.endpoint}/set"
    with deeplake.open(url, branch="dev") as ds:
        assert int(ds["x"][-1]) == 1000
    with deeplake.open(url, at="v1") as ds:
        assert len(ds) == 10
    with deeplake.open(url, at="3") as ds:
        assert len(ds) == 3
    with pytest.raises(deeplake.NotFoundError, match="no branch"):
        deeplake.open(url, branch="other")


def test_write_is_refused(web: Server) -> None:
    with deeplake.open(f"{web.endpoint}/set") as ds, pytest.raises(deeplake.ReadOnlyError, match="web address"):
        try:
            ds.extend({"x": np.array([1])})
            ds.commit()
        finally:
            ds.discard()


def test_nothing_there(web: Server) -> None:
    with pytest.raises(deeplake.NotFoundError, match="there is no dataset"):
        deeplake.open(f"{web.endpoint}/other")
