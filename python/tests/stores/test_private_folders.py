"""Folders that other accounts can write are no caches, and say how to mend it."""

from __future__ import annotations

from pathlib import Path

import deeplake
import pytest


def test_a_cache_that_others_can_write_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "ds"
    with deeplake.create(place) as ds:
        ds.create_tensor("x", dtype="int64")
        ds.extend({"x": [1, 2, 3]})
        ds.commit()
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(deeplake.InvalidArgumentError, match=r"other accounts can write it \(mode 0777\).*chmod go-w"):
        list(deeplake.open(place).batches(2, cache=deeplake.Cache(1 << 20, dir=shared)))
    with pytest.raises(deeplake.InvalidArgumentError, match=r"cache .*other accounts can write it \(mode 0777\)"):
        deeplake.open("http://127.0.0.1:9/ds", storage=deeplake.Storage(cache_dir=shared))
    assert list(shared.iterdir()) == []
    assert len(list(deeplake.open(place).batches(2, cache=deeplake.Cache(1 << 20, dir=shared / "mine")))) == 2
