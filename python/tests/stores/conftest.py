"""Object stores for the tests of this folder: one process of servers for the session, a bucket for each test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from servers import Server, running


@pytest.fixture(scope="session")
def stores() -> Iterator[dict[str, Server]]:
    """An S3 server and a GCS server, each behind a proxy without rules."""
    with running("s3", "gcs") as servers:
        yield servers


@pytest.fixture(scope="session")
def s3(stores: dict[str, Server]) -> Server:
    """A server of the S3 protocol."""
    return stores["s3"]


@pytest.fixture(scope="session")
def gcs(stores: dict[str, Server]) -> Server:
    """A server of Google Cloud Storage's protocol."""
    return stores["gcs"]


@pytest.fixture
def proxy(s3: Server) -> Iterator[Server]:
    """The S3 server, to be reached through its proxy (settings(through_proxy=True)): counters at zero, no rules, and so left behind."""
    s3.profile("lan")
    s3.reset()
    yield s3
    s3.profile("lan")


@pytest.fixture
def gcs_proxy(gcs: Server) -> Iterator[Server]:
    """The GCS server, to be reached through its proxy."""
    gcs.profile("lan")
    gcs.reset()
    yield gcs
    gcs.profile("lan")


@pytest.fixture(params=["s3", "gcs"])
def store(request: pytest.FixtureRequest, stores: dict[str, Server]) -> Server:
    """Each of the servers in turn."""
    return stores[request.param]


@pytest.fixture
def bucket(s3: Server) -> str:
    """A new bucket of the S3 server."""
    return s3.new_bucket()
