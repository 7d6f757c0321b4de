"""Caches of decoded images between epochs."""

from __future__ import annotations

import pickle
from pathlib import Path

import deeplake
import numpy as np
import pytest


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> str:
    uri = str(tmp_path_factory.mktemp("pictures") / "source")
    rng = np.random.default_rng(0)
    with deeplake.create(uri) as ds:
        ds.create_tensor("images", htype="image", compression="jpeg")
        ds.create_tensor("labels", htype="class_label")
        ds.extend(
            {
                "images": [rng.integers(0, 256, (24 + i % 3, 31, 3), dtype=np.uint8) for i in range(300)],
                "labels": [i % 7 for i in range(300)],
            }
        )
        ds.commit("pictures")
    return uri


def epoch(batches: object) -> dict[int, np.ndarray]:
    found = {}
    for batch in batches:
        for row, image in zip(batch["_index"], batch["images"], strict=True):
            assert row not in found
            found[int(row)] = np.array(image)
    return found


def same(one: dict[int, np.ndarray], other: dict[int, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[row], other[row]) for row in one)


@pytest.mark.parametrize("where", ["memory", "short", "disk"])
def test_same_pixels(pictures: str, tmp_path: Path, where: str) -> None:
    cache = {
        "memory": deeplake.Cache(64 << 20),
        "short": 64 << 20,
        "disk": deeplake.Cache(64 << 20, dir=tmp_path / "cache"),
    }[where]
    ds = deeplake.open(pictures)
    plain = epoch(ds.batches(batch_size=32, collate="list", return_index=True))
    batches = ds.batches(batch_size=32, shuffle=True, collate="list", return_index=True, cache=cache)
    for number in range(3):
        assert same(epoch(batches), plain)
        figures = batches.stats()["cache"]
        assert figures["kept"] == 300, figures
        assert figures["hits"] == 300 * number, figures
        assert figures["faults"] == 0, figures


def test_disk_serves_the_next_run(pictures: str, tmp_path: Path) -> None:
    ds = deeplake.open(pictures)
    arguments = {"batch_size": 32, "collate": "list", "return_index": True, "cache": deeplake.Cache(1 << 26, tmp_path)}
    plain = epoch(ds.batches(**arguments))
    again = deeplake.open(pictures).batches(**arguments)
    assert same(epoch(again), plain)
    assert again.stats()["cache"]["hits"] == 300


def test_small_limit(pictures: str) -> None:
    ds = deeplake.open(pictures)
    batches = ds.batches(batch_size=32, shuffle=True, collate="list", return_index=True, cache=400_000)
    plain = epoch(batches)
    assert same(epoch(batches), plain)
    figures = batches.stats()["cache"]
    assert 0 < figures["hits"] < 300
    assert figures["bytes"] <= 400_000


def test_bytes_are_not_kept(pictures: str) -> None:
    batches = deeplake.open(pictures).batches(batch_size=32, decode={"images": "bytes"}, cache=1 << 26)
    for _ in range(2):
        assert sum(len(batch["labels"]) for batch in batches) == 300
    assert batches.stats()["cache"]["kept"] == 0


def test_pickles(pictures: str, tmp_path: Path) -> None:
    cache = deeplake.Cache(1 << 20, dir=tmp_path)
    assert pickle.loads(pickle.dumps(cache)) == cache


@pytest.mark.parametrize("cache", [0, -1, True, "8GB", 1.5, {"bytes": 3}])
def test_refused(pictures: str, cache: object) -> None:
    with pytest.raises(deeplake.InvalidArgumentError, match="cache"):
        deeplake.open(pictures).batches(batch_size=32, cache=cache)


def test_refused_directory(pictures: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(deeplake.StorageError, match="file"):
        deeplake.open(pictures).batches(batch_size=32, cache=deeplake.Cache(1 << 20, dir=tmp_path / "file"))
    with pytest.raises(deeplake.InvalidArgumentError, match="dir"):
        deeplake.Cache(1 << 20, dir="")
