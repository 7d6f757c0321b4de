"""Datasets of Deep Lake 3 on S3 and GCS: read where they lie, and copied, by real servers."""

from __future__ import annotations

import tarfile
from pathlib import Path

import deeplake
from deeplake3 import ARCHIVE, differences, index_of
from servers import Server


def test_a_bucket_is_read_and_copied(store: Server, tmp_path: Path) -> None:
    theirs, ours = store.new_bucket(), store.new_bucket()
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    names = ["history", "sequences", "tiled"]
    for name in names:
        for path in sorted((tmp_path / name).rglob("*")):
            if path.is_file():
                store.put(theirs, path.relative_to(tmp_path).as_posix(), path.read_bytes())
    storage = deeplake.Storage(**store.settings())
    for name in names:
        place, copy = store.uri(theirs, name), store.uri(ours, "copies", name)
        folder = tmp_path / f"{name}.expected"
        versions = index_of(folder)["versions"]
        head = next(v for v in versions if v["head"] and v["branch"] == "main")
        ds = deeplake.open(place, storage=storage)
        found = list(differences(ds, folder, head))
        assert [line for line in found if not line.startswith("many_polygon")] == []
        deeplake.copy(place, copy, history=True, storage=storage)
        copied = deeplake.open(copy, storage=storage)
        found = list(differences(copied, folder, head))
        assert [line for line in found if not line.startswith("many_polygon")] == []
        assert copied.fsck()
    labels = deeplake.open(store.uri(theirs, "history"), storage=storage).query(
        "SELECT labels WHERE labels IS NOT NULL"
    )
    batches = [batch["labels"] for batch in labels.pytorch(batch_size=8, shuffle=True, seed=1)]
    assert sum(len(batch) for batch in batches) == len(labels)
