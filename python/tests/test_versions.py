"""Branches, tags, diff, merge, and the maintenance of a store."""

from __future__ import annotations

import pickle
import shutil
from datetime import timedelta
from pathlib import Path

import deeplake
import numpy as np
import pytest


@pytest.fixture
def ds(tmp_path):
    """Ten rows of two tensors, in one commit after the one that made the dataset."""
    with deeplake.create(tmp_path / "d", schema={"x": {"dtype": "int64"}, "t": "text"}) as ds:
        ds.extend({"x": np.arange(10), "t": [f"row {i}" for i in range(10)]})
        ds.commit("ten rows")
        yield ds
        ds.discard()


def numbers(ds):
    return ds["x"].numpy().tolist()


def change(ds, row, value):
    ds.update(row, {"x": value, "t": f"row {value}"})
    return ds.commit(f"{row} becomes {value}")


def test_branches(ds):
    assert list(ds.branches) == ["main"] and ds.branch == "main"
    ds.checkout("work", create=True)
    assert ds.branch == "work" and "work" in ds.branches and len(ds.branches) == 2
    made = change(ds, 0, 100)
    assert ds.branches["work"] == made == ds.head
    ds.checkout("main")
    assert numbers(ds)[0] == 0
    with deeplake.open(ds.uri, branch="work") as other:
        assert numbers(other)[0] == 100 and other.branch == "work"
        again = pickle.loads(pickle.dumps(other))
        assert numbers(again)[0] == 100 and again.branch == "work"
    ds.branches.create("old", at=0)
    assert len(ds.at("old")) == 0
    assert "'main'" in repr(ds.branches)
    with pytest.raises(deeplake.AlreadyExistsError, match='"old"'):
        ds.branches.create("old")
    with pytest.raises(deeplake.NotFoundError, match=r'there is no branch "wrk".*did you mean "work"'):
        ds.branches["wrk"]
    with pytest.raises(deeplake.NotFoundError, match="wrk"):
        deeplake.open(ds.uri, branch="wrk")
    ds.branches.delete("old")
    assert list(ds.branches) == ["main", "work"]


def test_checkout_keeps_views_and_refuses_to_drop_changes(ds):
    view = ds[:3]
    ds.checkout("work", create=True)
    change(ds, 0, 100)
    assert view["x"].numpy().tolist() == [0, 1, 2]
    ds.append({"x": 1, "t": "a"})
    with pytest.raises(deeplake.ConflictError, match=r"commit\(\) or discard\(\)") as caught:
        ds.checkout("main")
    assert caught.value.winner is None and ds.branch == "work" and ds.dirty


def test_tags(ds):
    tag = ds.tags.create("v1", message="first")
    assert tag == ds.tags["v1"] and tag.commit == ds.head and tag.message == "first"
    change(ds, 0, 100)
    for ref in ("v1", tag, tag.commit, "main@1", 1, tag.commit.time):
        assert numbers(ds.at(ref))[0] == 0
    with pytest.raises(deeplake.ReadOnlyError):
        ds.at("v1").append({"x": 1, "t": ""})
    with pytest.raises(deeplake.ReadOnlyError, match="create a branch"):
        ds.at("v1").checkout("main")
    ds.tags.delete("v1")
    assert len(ds.tags) == 0
    with pytest.raises(deeplake.AlreadyExistsError):
        ds.tags.create("v1")


def test_a_name_means_one_version(ds):
    ds.branches.create("work")
    tag = ds.tags.create("v1")
    with pytest.raises(deeplake.AlreadyExistsError, match='create tag "work": a branch of dataset'):
        ds.tags.create("work")
    with pytest.raises(deeplake.AlreadyExistsError, match='create branch "v1": a tag of dataset'):
        ds.checkout("v1", create=True)
    for create in (ds.tags.create, ds.branches.create):
        with pytest.raises(deeplake.InvalidArgumentError, match="would mean a commit"):
            create("2ea9d3")
    # An older version of the library could create this one.
    change(ds, 0, 100)
    ds.branches.create("v2", at="main")
    refs = Path(ds.uri) / "refs"
    (version,) = (refs / "heads").glob("v2*")
    ds.branches.delete("v2")
    ds.tags.create("v2", at=tag)
    (head,) = set((refs / "heads").glob("v2*")) - {version}
    head.unlink()
    for read in (ds.at, ds.merge, ds.diff):
        with pytest.raises(deeplake.InvalidArgumentError, match=r'a branch and a tag .* "v2@0" is the'):
            read("v2")
    assert numbers(ds.at("v2@0"))[0] == 100 and numbers(ds.at(ds.tags["v2"]))[0] == 0


def test_a_saved_view_of_a_deleted_branch(ds):
    for name in ("lost", "kept"):
        ds.checkout(name, create=True)
        change(ds, 0, 100)
        ds[:2].save(name)
        ds.checkout("main")
    tag = ds.tags.create("v1", at="kept")
    ds.branches.delete("lost")
    ds.branches.delete("kept")
    with pytest.raises(deeplake.NotFoundError, match=r'load view "lost": .* its branch was deleted'):
        ds.load_view("lost")
    assert ds.load_view("kept")["x"][:].tolist() == [100, 1] and numbers(ds.at(tag))[0] == 100


def test_diff(ds):
    ds.checkout("work", create=True)
    ds.append({"x": 10, "t": "row 10"})
    change(ds, 3, 33)
    ds.delete([0, 1])
    ds.create_tensor("y", dtype="uint8")
    ds.rename_tensor("t", "text")
    ds.info = {"of": "tests"}
    ds.commit("changes")
    diff = ds.diff("main", "work")
    assert diff and diff.info and list(diff.added) == [8] and list(diff.deleted) == [0, 1]
    assert list(diff.tensors["x"].updated) == [1] and diff.tensors["text"].old_name == "t"
    assert diff.tensors["y"].change == "created"
    text = repr(diff)
    assert "1 row (8) added" in text and 'renamed from "t"' in text and "info changed" in text
    assert not ds.diff("work") and "no difference" in repr(ds.diff(ds.head))
    assert list(ds.diff("work", "main").added) == [0, 1]


def test_merge(ds):
    ds.checkout("work", create=True)
    ds.append({"x": 10, "t": "row 10"})
    change(ds, 3, 33)
    ds.checkout("main")
    ds.delete(0)
    ds.append({"x": 20, "t": "row 20"})
    ds.commit("on main")
    commit = ds.merge("work")
    assert commit == ds.head and 'merge "work"' in commit.message
    assert numbers(ds) == [1, 2, 33, 4, 5, 6, 7, 8, 9, 20, 10]
    assert ds["t"][2] == "row 33"
    assert ds.merge("work") == commit


@pytest.mark.parametrize(("on_conflict", "want"), [("ours", 44), ("theirs", 33)])
def test_merge_conflict(ds, on_conflict, want):
    ds.checkout("work", create=True)
    theirs = change(ds, 3, 33)
    ds.checkout("main")
    change(ds, 3, 44)
    before = ds.head
    with pytest.raises(deeplake.ConflictError, match='both update tensor "x" at row 3') as caught:
        ds.merge("work")
    error = caught.value
    assert (error.kind, error.tensor, error.rows, error.count) == ("update x update", "x", [3], 1)
    assert error.winner == theirs and ds.head == before
    assert pickle.loads(pickle.dumps(error)).winner == theirs
    ds.merge("work", on_conflict=on_conflict)
    assert numbers(ds)[3] == want
    with pytest.raises(deeplake.InvalidArgumentError, match="mine"):
        ds.merge("work", on_conflict="mine")


def test_classes_meet_by_name(tmp_path):
    with deeplake.create(tmp_path / "s", schema={"label": "class_label"}) as ds:
        ds.extend({"label": ["cat", "dog"]})
        ds.commit("base")
        ds.checkout("work", create=True)
        ds.extend({"label": ["owl", "fox", "cat"]})
        ds.update(0, {"label": "fox"})
        ds.commit("theirs")
        ds.checkout("main")
        ds.extend({"label": ["elk", "fox"]})
        ds.commit("ours")
        made = ds.merge("work")
        assert ds["label"].class_names == ["cat", "dog", "elk", "fox", "owl"]
        names = [ds["label"].class_names[number] for number in ds["label"]]
        assert names == ["fox", "dog", "elk", "fox", "owl", "fox", "cat"]
        assert [(moved.tensor, moved.classes, moved.rows) for moved in made.renumbered] == [("label", ("owl",), 1)]
        first, second = (deeplake.open(tmp_path / "s") for _ in range(2))
        first.append({"label": "bee"})
        second.append({"label": "ant"})
        first.commit()
        assert [moved.classes for moved in second.commit().renumbered] == [("ant",)]
        assert second["label"].class_names[-2:] == ["bee", "ant"]
        assert [second["label"].class_names[number] for number in second["label"][-2:]] == ["bee", "ant"]


def test_conflicts_of_schemas_have_a_way_out(tmp_path):
    with deeplake.create(tmp_path / "s", schema={"label": "class_label"}) as ds:
        ds.append({"label": "cat"})
        ds.commit("base")
        for branch, name in (("work", "dog"), ("main", "bird")):
            ds.checkout(branch, create=branch == "work")
            ds.rename_class("label", "cat", f"{name}'s cat")
            ds.append({"label": name})
            ds.commit(name)
            ds.checkout("main")
        for on_conflict in ("error", "ours", "theirs"):
            with pytest.raises(deeplake.ConflictError, match=r"until both sides have the same names") as caught:
                ds.merge("work", on_conflict=on_conflict)
            assert caught.value.kind == "class_names x class_names"
        ds.rename_class("label", "bird's cat", "dog's cat")
        ds.add_classes("label", ["dog"])
        ds.commit("as the error says")
        ds.checkout("work")
        ds.add_classes("label", ["bird"])
        ds.commit("and here")
        ds.checkout("main")
        ds.merge("work")
        assert ds["label"].class_names == ["dog's cat", "bird", "dog"] and ds["label"].numpy().tolist() == [0, 1, 2]
        ds.checkout("other", create=True)
        ds.create_tensor("z", dtype="uint8")
        ds.commit("theirs")
        ds.checkout("main")
        ds.create_tensor("z", dtype="int8")
        ds.commit("ours")
        with pytest.raises(deeplake.ConflictError, match=r"call rename_tensor\(\) on one side, commit, and merge"):
            ds.merge("other", on_conflict="theirs")
        ds.rename_tensor("z", "w")
        ds.commit("as the error says")
        ds.merge("other")
        assert {"w", "z"} <= set(ds.tensors)


def test_a_conflict_of_two_writers_says_where(ds):
    with deeplake.open(ds.uri) as other:
        ds.update(3, {"x": 1})
        other.update([3, 4], {"x": [2, 2]})
        winner = ds.commit("first")
        with pytest.raises(deeplake.ConflictError) as caught:
            other.commit("second")
        assert caught.value.winner == winner and caught.value.rows == [3] and caught.value.tensor == "x"
        assert "call discard() and refresh(), and apply the change again" in str(caught.value)
        other.discard()
        other.refresh()
        other.update([3, 4], {"x": [2, 2]})
        other.commit("the same again")
        assert numbers(other)[3:5] == [2, 2]


def test_rename_and_delete_tensors(ds):
    ds.rename_tensor("x", "numbers/x")
    assert list(ds.tensors) == ["numbers/x", "t"] and ds.dirty
    ds.delete_tensor("t")
    ds.append({"numbers/x": 10})
    ds.commit("alter")
    assert deeplake.open(ds.uri)["numbers/x"].numpy().tolist() == list(range(11))
    assert numbers(ds.at(1)) == list(range(10))
    with pytest.raises(deeplake.NotFoundError, match='there is no tensor "t"'):
        ds.delete_tensor("t")


def test_rechunk(ds):
    for i in range(10, 20):
        ds.append({"x": i, "t": f"row {i}"})
        ds.commit("one")
    report = ds.rechunk(message="tidy")
    assert report.commit == ds.head and report.rows == 40 and report.before > report.after == 2
    assert numbers(ds) == list(range(20)) and ds.log(1)[0].message == "tidy"
    assert ds.rechunk().commit is None


def test_gc(ds):
    with deeplake.open(ds.uri) as other:
        other.append({"x": 1, "t": ""})
        assert len(other["x"].numpy()) == 11  # its chunks are in the store
        other.discard()
    assert ds.gc().objects == 0 and ds.gc(dry_run=True).young > 0
    dry = ds.gc(older_than=timedelta(0), dry_run=True)
    done = ds.gc(older_than=timedelta(0))
    assert dry.objects == done.objects > 0 and dry.dry_run and not done.dry_run
    assert numbers(deeplake.open(ds.uri)) == list(range(10))
    with pytest.raises(deeplake.InvalidArgumentError, match="older_than"):
        ds.gc(older_than=timedelta(days=-1))


def test_expire(ds):
    for value in range(100, 104):
        ds.update(0, {"x": value})
        ds.commit(f"{value}")
    ds.tags.create("kept", at=str(ds.head.version - 2))
    before, first = len(ds.log()), ds.log()[-3].id
    kept = ds.gc(expire=timedelta(days=30), older_than=timedelta(0))
    assert kept.expired == 0 and kept.commits == before
    dry = ds.gc(expire=timedelta(0), keep_last=2, dry_run=True)
    slow = ds.gc(expire=timedelta(0), keep_last=2)
    assert dry.expired == slow.expired == before - 3 and slow.objects == 0
    done = ds.gc(older_than=timedelta(0))
    assert done.expired == 0 and done.objects > 0 and done.commits == 3
    assert [int(deeplake.open(ds.uri, at=at)["x"][0]) for at in ("kept", str(ds.head.version - 1))] == [101, 102]
    for at in (first, "1"):
        with pytest.raises(deeplake.NotFoundError, match="is expired"):
            deeplake.open(ds.uri, at=at)
    assert len(ds.log()) == before and ds.fsck()
    assert ds.diff("kept").tensors["x"].updated.count == 1
    for wrong in ({"expire": timedelta(-1)}, {"keep_last": 2}, {"expire": timedelta(1), "keep_last": 0}):
        with pytest.raises(deeplake.InvalidArgumentError, match="gc: "):
            ds.gc(**wrong)


def test_gc_right_after_a_deletion(ds):
    ds.checkout("work", create=True)
    change(ds, 0, 100)
    ds.checkout("main")
    ds.branches.delete("work")
    assert ds.gc(older_than=timedelta(0)).objects > 0 == ds.gc(older_than=timedelta(0)).objects


def test_gc_with_an_age_after_one_without(ds):
    change(ds, 0, 100)
    change(ds, 0, 101)
    done = ds.gc(expire=timedelta(0), older_than=timedelta(0))
    assert done.expired > 0 and done.objects > 0
    assert ds.gc().objects == 0 and ds.fsck() and numbers(ds)[0] == 101


def test_refresh_of_an_overwritten_dataset(ds):
    deeplake.create(ds.uri, overwrite=True).close()
    for read in (ds.refresh, ds.log):
        with pytest.raises(deeplake.ConflictError, match="was overwritten by another one since it was opened"):
            read()


def test_fsck(ds, tmp_path):
    assert ds.fsck() and not ds.fsck().problems
    chunks = sorted((tmp_path / "d" / "data").rglob("*"), key=lambda path: path.stat().st_size)
    victim = [path for path in chunks if path.is_file()][-1]
    data = bytearray(victim.read_bytes())
    data[70] ^= 1
    victim.write_bytes(data)
    report = ds.fsck()
    assert not report and len(report.problems) == 1
    problem = report.problems[0]
    assert problem.count == 10 and problem.rows == (range(10),) and problem.tensor in ("x", "t")
    assert "checksum" in repr(report) and problem.key in repr(report)
    assert ds.fsck(data=False)


def test_copy(ds, tmp_path):
    ds.checkout("work", create=True)
    change(ds, 0, 100)
    ds.tags.create("v1")
    report = deeplake.copy(ds.uri, tmp_path / "all", history=True)
    assert report.commits == 4 and report.objects > 4
    with deeplake.open(tmp_path / "all") as whole:
        assert list(whole.branches) == ["main", "work"] and numbers(whole.at("v1"))[0] == 100
    with pytest.raises(deeplake.InvalidArgumentError, match="give one of the two"):
        deeplake.copy(ds.uri, tmp_path / "one", history=True, at="v1")
    deeplake.copy(ds.uri, tmp_path / "one", branch="work", message="a copy")
    with deeplake.open(tmp_path / "one") as one:
        assert numbers(one)[0] == 100 and [c.message for c in one.log()] == ["a copy"] and not one.tags
    with pytest.raises(deeplake.AlreadyExistsError, match="delete it"):
        deeplake.copy(ds.uri, tmp_path / "one")
    shutil.rmtree(tmp_path / "one")
    with pytest.raises(deeplake.NotFoundError):
        deeplake.copy(tmp_path / "one", tmp_path / "two")
