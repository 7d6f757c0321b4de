"""Datasets of Deep Lake 3 on S3 and GCS: read where they lie, and copied, by real servers."""

from __future__ import annotations

import json
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import deeplake
import pytest
from deeplake3 import ARCHIVES, differences, index_of
from servers import Server


def test_a_bucket_is_read_and_copied(store: Server, tmp_path: Path) -> None:
    theirs, ours = store.new_bucket(), store.new_bucket()
    names = ["history", "sequences", "tiled"]
    with tarfile.open(ARCHIVES[0]) as archive:
        wanted = [m for m in archive if m.isfile() and m.name.split("/")[1].removesuffix(".expected") in names]
        archive.extractall(tmp_path, wanted, filter="data")
    paths = [path for name in names for path in (tmp_path / name).rglob("*") if path.is_file()]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda p: store.put(theirs, p.relative_to(tmp_path).as_posix(), p.read_bytes()), paths))
    storage = deeplake.Storage(**store.settings())
    for name in names:
        place, copy = store.uri(theirs, name), store.uri(ours, "copies", name)
        folder = tmp_path / f"{name}.expected"
        versions = index_of(folder)["versions"]
        head = next(v for v in versions if v["head"] and v["branch"] == "main")
        ds = deeplake.open(place, storage=storage)
        assert list(differences(ds, folder, head)) == []
        deeplake.copy(place, copy, history=True, storage=storage)
        copied = deeplake.open(copy, storage=storage)
        assert list(differences(copied, folder, head)) == []
        assert copied.fsck()
    labels = deeplake.open(store.uri(theirs, "history"), storage=storage).query(
        "SELECT labels WHERE labels IS NOT NULL"
    )
    batches = [batch["labels"] for batch in labels.pytorch(batch_size=8, shuffle=True, seed=1)]
    assert sum(len(batch) for batch in batches) == len(labels)


@pytest.mark.parametrize("kept", ["cache_dir", "cache_memory_bytes"])
def test_caches_keep_chunks_of_commits(proxy: Server, tmp_path: Path, kept: str) -> None:
    bucket = proxy.new_bucket()
    with tarfile.open(ARCHIVES[1]) as archive:
        archive.extractall(tmp_path, filter="data")
    files = {
        path.relative_to(tmp_path).as_posix(): path for path in (tmp_path / "removed").rglob("*") if path.is_file()
    }
    for name, path in files.items():
        proxy.put(bucket, name, path.read_bytes())
    tree = json.loads((tmp_path / "removed/version_control_info.json").read_text())
    heads = [commit for commit, node in tree["commits"].items() if node["commit_time"] is None]
    cache = {"cache_dir": tmp_path / "cache"} if kept == "cache_dir" else {"cache_memory_bytes": 64 << 20}
    storage = deeplake.Storage(**proxy.settings(through_proxy=True), **cache)
    uri = proxy.uri(bucket, "removed")

    def epoch(ds: deeplake.Dataset) -> tuple[list[list[int]], list[str]]:
        """Returns the numbers of an epoch, and the chunks that were requested for it."""
        proxy.reset()
        rows = [row.tolist() for batch in ds.batches(batch_size=4, collate="list") for row in batch["numbers"]]
        return rows, [asked["target"] for asked in proxy.requests() if "/chunks/" in asked["target"]]

    ds = deeplake.open(uri, at=3, storage=storage)
    first, asked = epoch(ds)
    assert asked and not [name for name in asked for head in heads if head in name]
    assert epoch(ds) == (first, [])
    # Another reader with the cache makes no request either.
    assert epoch(deeplake.open(uri, at=3, storage=storage)) == (first, [])

    # The writer of a head may change a chunk in place.
    before, _ = epoch(deeplake.open(uri, storage=storage))
    changed = [name for name in files if any(head in name for head in heads) and "/numbers/chunks/" in name]
    for name in changed:
        data = files[name].read_bytes()
        proxy.put(bucket, name, data[:-1] + bytes([data[-1] ^ 1]))
    after, asked = epoch(deeplake.open(uri, storage=storage))
    assert changed and after != before and asked
