"""The servers of the other tests: that they run, obey their controls, and leave nothing behind."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path

import pytest
from servers import Server, running


def fetch(url: str, **headers: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as err:
        return err.code, err.read()


def test_objects(store: Server) -> None:
    bucket = store.new_bucket()
    store.put(bucket, "a/b c+d.txt", b"content")
    store.delete(bucket, "a/b c+d.txt")
    with pytest.raises(RuntimeError, match="no-such-bucket"):
        store.put("no-such-bucket", "a", b"x")


def test_proxy(gcs_proxy: Server) -> None:
    bucket = gcs_proxy.new_bucket()
    gcs_proxy.put(bucket, "a", b"content")
    path = f"/storage/v1/b/{bucket}/o/a?alt=media"
    assert fetch(gcs_proxy.endpoint + path) == (200, b"content")
    gcs_proxy.reset()
    gcs_proxy.rules(
        {"method": "GET", "times": 1, "do": {"fault": "answer", "status": 429, "code": "rateLimitExceeded"}}
    )
    status, text = fetch(gcs_proxy.proxy + path)
    assert status == 429
    assert b"rateLimitExceeded" in text
    assert fetch(gcs_proxy.proxy + path) == (200, b"content")
    counts = gcs_proxy.counts()
    assert (counts["requests"], counts["faults"], counts["rules"][0]["hit"]) == (2, 1, 1)
    assert [r["status"] for r in gcs_proxy.requests()] == [429, 200]
    with pytest.raises(RuntimeError, match="no fault"):
        gcs_proxy.rules({"do": {"fault": "explode"}})


def test_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(range(100)))
    with running("http", folder=tmp_path) as servers:
        server = servers["http"]
        for base in (server.endpoint, server.proxy):
            assert fetch(f"{base}/a", Range="bytes=10-12") == (206, bytes([10, 11, 12]))
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(server.endpoint, timeout=30)
