"""Tensors with `downsample=`: levels are written with them, and hidden."""

from __future__ import annotations

import io

import deeplake
import numpy as np
import pytest


def levels(ds, name="images"):
    return {level["factor"]: level["name"] for level in ds._source.tensors()[name]["levels"]}


def pictures(n, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 256, (8 * rng.integers(1, 9), 8 * rng.integers(1, 9), 3), np.uint8) for _ in range(n)]


def check(ds, name="images"):
    """The levels have names and bytes, and nothing is damaged. core/dataset compares their pixels."""
    about = ds._source.tensors()[name]["levels"]
    assert [(level["factor"], level["name"]) for level in about] == [(k, f"_{name}_downsampled_{k}") for k in (2, 4, 8)]
    sizes = [level["bytes"] for level in about]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] > 0
    assert ds.fsck()


@pytest.fixture
def ds():
    with deeplake.create("mem://downsample", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png", downsample=(2, 3))
        ds.create_tensor("labels", "class_label")
        ds.extend({"images": pictures(6), "labels": list(range(6))})
        ds.commit("six")
        yield ds


def test_levels_are_in_step(ds):
    assert list(levels(ds)) == [2, 4, 8]
    check(ds)
    before = ds._source.tensors()["images"]["levels"]
    ds["images"][2] = pictures(1, seed=1)[0]
    ds.append({"images": pictures(1, seed=2)[0], "labels": 1})
    ds.delete(0)
    ds.commit("changed")
    check(ds)
    for old, new in zip(before, ds._source.tensors()["images"]["levels"], strict=True):
        assert new["bytes"] > old["bytes"]


def test_levels_are_hidden(ds):
    assert list(ds.tensors) == ["images", "labels"] and set(ds[0]) == {"images", "labels"}
    assert "downsampled" not in repr(ds)
    assert "downsample=(2, 3)" in repr(ds["images"])
    assert list(ds.query("SELECT *").tensors) == ["images", "labels"]
    with pytest.raises(deeplake.InvalidArgumentError, match="made of another"):
        ds.append({"images": pictures(1)[0], "labels": 1, "_images_downsampled_2": pictures(1)[0]})


def test_files_and_branches(ds):
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pictures(1, seed=3)[0]).save(buffer, "PNG")
    ds.checkout("other", create=True)
    ds.append({"images": deeplake.Sample(buffer.getvalue()), "labels": 0})
    ds.commit("a file")
    check(ds)
    ds.checkout("main")
    ds["images"][0] = pictures(1, seed=4)[0]
    ds.commit("an update")
    ds.merge("other")
    assert len(ds) == 7
    check(ds)


def test_copy_and_rename_keep_levels(ds):
    ds.rename_tensor("images", "photos")
    ds.commit("renamed")
    assert levels(ds, "photos")[4] == "_photos_downsampled_4"
    check(ds, "photos")
    for history in (False, True):
        to = f"mem://downsample-copy-{history}"
        deeplake.copy(ds.uri, to, history=history)
        with deeplake.open(to) as other:
            assert len(other) == 6 and list(levels(other, "photos")) == [2, 4, 8]
            other["photos"][1] = pictures(1, seed=5)[0]
            other.commit("an update")
            check(other, "photos")
            assert other.fsck()


def test_materialized_views_keep_levels(ds):
    with ds.query("SELECT * WHERE labels > 2").materialize("mem://downsample-view") as other:
        assert len(other) == 3 and list(levels(other)) == [2, 4, 8]
        check(other)


def test_fsck_and_rechunk(ds):
    ds.rechunk()
    check(ds)
    assert ds.fsck()


@pytest.mark.parametrize("wrong", [(1, 2), (2, 0), (2,), (17, 1), (2, -3)])
def test_wrong_levels(ds, wrong):
    with pytest.raises(deeplake.InvalidArgumentError, match="downsample"):
        ds.create_tensor("more", "image", downsample=wrong)


def test_other_htypes(ds):
    with pytest.raises(deeplake.InvalidArgumentError, match="images of uint8 or uint16"):
        ds.create_tensor("masks", "binary_mask", downsample=(2, 2))
