"""Earlier versions: restore, revert, checkout of a version, changed rows, the history of a row."""

from __future__ import annotations

import os
import pickle
import random

import deeplake
import numpy as np
import pytest

SCHEMA = {"x": {"dtype": "int64"}, "t": "text"}


@pytest.fixture
def ds(tmp_path):
    """Ten rows of two tensors, in one commit after the one that made the dataset."""
    with deeplake.create(tmp_path / "d", schema=SCHEMA) as ds:
        ds.extend({"x": np.arange(10), "t": [f"row {i}" for i in range(10)]})
        ds.commit("ten rows")
        yield ds
        ds.discard()


def rows_of(ds):
    return list(zip(ds["x"].numpy().tolist(), ds["t"].numpy(), strict=True))


def test_restore(ds):
    old, schema = rows_of(ds), ds.schema
    ds.tags.create("v1")
    ds.update(3, {"x": 33})
    ds.delete([0, 1])
    ds.append({"x": 99, "t": "more"})
    ds.rename_tensor("x", "y")
    ds.create_tensor("late", dtype="uint8")
    changed = ds.commit("much")
    made = ds.restore("v1")
    assert rows_of(ds) == old and ds.schema == schema and ds.head == made and not ds.diff("v1")
    assert made.version == changed.version + 1 and made.message == f"restore version 1 ({ds.tags['v1'].commit.id[:8]})"
    assert [c.message for c in ds.log()][1:3] == ["much", "ten rows"] and len(ds.at(changed)) == 9
    assert ds.restore("v1") == made, "nothing to do"
    assert ds.restore(changed, message="back").message == "back"
    assert len(ds) == 9 and sorted(ds.tensors) == ["late", "t", "y"]
    ds.restore(ds.tags["v1"].commit.time)
    assert rows_of(ds) == old
    ds.restore(0)
    assert len(ds) == 0 and list(ds.tensors) == ["x", "t"]
    ds.extend({"x": [1, 2], "t": ["a", "b"]})
    ds.commit()
    assert rows_of(ds) == [(1, "a"), (2, "b")] and ds.fsck()


def test_restore_of_another_branch(ds):
    ds.checkout("work", create=True)
    ds.update(2, {"t": "worked"})
    ds.append({"x": 77, "t": "w"})
    ds.commit()
    want = rows_of(ds)
    ds.checkout("main")
    ds.append({"x": 88, "t": "m"})
    ds.commit()
    ds.restore("work")
    assert rows_of(ds) == want and not ds.diff("work")


@pytest.mark.parametrize("name", ["restore", "revert"])
def test_uncommitted_rows_are_refused(ds, name):
    ds.append({"x": 1, "t": "a"})
    with pytest.raises(deeplake.ConflictError, match=r"uncommitted changes; commit\(\) or discard\(\)"):
        getattr(ds, name)(1)
    assert len(ds) == 11 and ds.dirty
    with pytest.raises(deeplake.ReadOnlyError, match="opened at version 1"):
        getattr(ds.at(1), name)(1)
    ds.discard()
    with pytest.raises(deeplake.NotFoundError, match='"v9"'):
        getattr(ds, name)("v9")


def test_revert(ds):
    before = rows_of(ds)
    ds.delete([4, 5])
    ds.update(0, {"x": 100, "t": "hundred"})
    ds.append({"x": 10, "t": "ten"})
    ds.update(8, {"x": 80})  # a row that the same commit appended
    bad = ds.commit("bad")
    ds.append({"x": 11, "t": "kept"})
    ds.delete(1)
    ds.commit("good")
    made = ds.revert(bad)
    assert rows_of(ds) == [before[0], *before[2:], (11, "kept")]
    assert made.message == f"revert version 2 ({bad.id[:8]}): bad"
    assert ds.revert(bad) == made, "nothing is left to undo"
    ds.revert(made)
    assert ds["x"].numpy().tolist() == [100, 2, 3, 6, 7, 8, 9, 80, 11]
    assert ds.fsck()


def test_revert_conflicts(ds):
    ds.update(slice(2, 5), {"x": [20, 30, 40]})
    bad = ds.commit("bad")
    ds.delete(0)
    ds.update(2, {"x": 300})
    later = ds.commit("later")
    with pytest.raises(deeplake.ConflictError, match=r'it updated tensor "x" again at row 2; revert with') as caught:
        ds.revert(bad)
    error = caught.value
    assert (error.kind, error.tensor, list(error.rows), error.count) == ("update x update", "x", [2], 1)
    assert error.winner.id == later.id and ds.head == later
    ds.revert(bad, on_conflict="ours")
    assert ds["x"].numpy().tolist() == [1, 2, 300, 4, 5, 6, 7, 8, 9]
    ds.restore(later)
    ds.revert(bad.id[:8], on_conflict="theirs", message="all of it")
    assert ds["x"].numpy().tolist() == list(range(1, 10)) and ds.log(1)[0].message == "all of it"
    with pytest.raises(deeplake.InvalidArgumentError, match="version 0, which begins its branch"):
        ds.revert(0)
    with pytest.raises(deeplake.InvalidArgumentError, match='"both"'):
        ds.revert(bad, on_conflict="both")
    ds.branches.create("side", at=1)
    with (
        deeplake.open(ds.uri, branch="side") as side,
        pytest.raises(deeplake.InvalidArgumentError, match='branch "side" does not come from this commit'),
    ):
        side.revert(bad)


def test_revert_of_an_expired_commit_says_so(ds):
    from datetime import timedelta

    for i in range(3):
        ds.update(0, {"x": i})
        made = ds.commit()
    ds.gc(expire=timedelta(0), keep_last=1)
    with pytest.raises(deeplake.NotFoundError, match=r"it needs the version before it: .* is expired"):
        ds.revert(made)
    with pytest.raises(deeplake.NotFoundError, match="expired"):
        ds.restore(1)


def test_checkout_of_a_version(ds):
    ds.tags.create("v1")
    old, first = rows_of(ds), ds.head
    ds.update(0, {"x": 100, "t": "new"})
    ds.commit()
    view = ds[:1]
    for ref in ("v1", first, first.id[:8], 1, "main@1", first.time):
        ds.checkout(ref)
        assert rows_of(ds) == old and ds.read_only and ds.head == first and "version 1, read-only" in repr(ds)
        assert [c.version for c in ds.log()] == [1, 0] and ds.branch == "main"
        with pytest.raises(deeplake.ReadOnlyError, match=r'checked out at version 1.*checkout\("main"\) returns'):
            ds.append({"x": 1, "t": "a"})
        assert rows_of(pickle.loads(pickle.dumps(ds))) == old
        ds.checkout("main")
        assert not ds.read_only and ds["x"].numpy()[0] == 100 and ds.head.version == 2
    assert view["x"].numpy().tolist() == [100]
    ds.checkout("v1")
    other = pickle.loads(pickle.dumps(ds))
    other.checkout("main")
    assert len(other) == 10 and not other.read_only and other["x"].numpy()[0] == 100
    ds.checkout("fix", create=True)
    ds.update(1, {"x": 11})
    assert ds.commit("on the fix").version == 1 and rows_of(ds)[0] == old[0]
    with pytest.raises(deeplake.NotFoundError, match='no such commit, tag or branch; the versions of branch "fix"'):
        ds.checkout("nowhere")
    with deeplake.open(ds.uri, read_only=True) as reader:
        reader.checkout("v1")
        reader.checkout("main")
        assert reader.read_only
        with pytest.raises(deeplake.ReadOnlyError):
            reader.checkout("more", create=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_stays_at_the_version(ds):
    old = ds["x"].numpy().sum()
    ds.update(0, {"x": 100})
    ds.commit()
    ds.checkout(1)
    child = os.fork()
    if child == 0:
        os._exit(0 if ds["x"].numpy().sum() == old and ds.read_only else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("seed", range(6))
def test_histories(tmp_path, seed):
    """Lists of dicts in memory are the oracle of random histories with restores and reverts."""
    rng = random.Random(seed)
    names = iter(range(10**6))
    with deeplake.create(tmp_path / "d", schema=SCHEMA) as ds:
        rows, versions = [], [[]]

        def commit():
            ds.commit()
            versions.append([dict(row) for row in rows])

        for _ in range(40):
            step = rng.choice(["append", "update", "delete", "commit", "commit", "restore", "revert"])
            if step == "append":
                new = [{"id": next(names), "x": rng.randrange(10**9), "t": str(next(names))} for _ in range(3)]
                ds.extend([{"x": row["x"], "t": row["t"]} for row in new])
                rows += new
            elif step == "update" and rows:
                at, name = rng.randrange(len(rows)), rng.choice("xt")
                value = rng.randrange(10**9) if name == "x" else str(next(names))
                ds.update(at, {name: value})
                rows[at] = {**rows[at], name: value}
            elif step == "delete" and rows:
                at = rng.randrange(len(rows))
                ds.delete(at)
                del rows[at]
            elif step == "commit" and ds.dirty:
                commit()
            elif step in ("restore", "revert"):
                if ds.dirty:
                    commit()
                at = rng.randrange(1, len(versions)) if len(versions) > 1 else 0
                if step == "restore":
                    ds.restore(at)
                    rows = [dict(row) for row in versions[at]]
                elif at:
                    want = reverted(versions[at - 1], versions[at], rows)
                    try:
                        ds.revert(at)
                    except deeplake.ConflictError:
                        assert want is None
                        continue
                    if want is None:  # a value changed and is the old one again
                        ds.restore(len(versions) - 1)
                    else:
                        got = {row["x"]: row for row in ({"x": x, "t": t} for x, t in rows_of(ds))}
                        assert got == {row["x"]: {"x": row["x"], "t": row["t"]} for row in want}
                        order = {x: i for i, x in enumerate(ds["x"].numpy().tolist())}
                        rows = sorted(want, key=lambda row: order[row["x"]])
                while len(versions) <= ds.head.version:
                    versions.append([dict(row) for row in rows])
            assert rows_of(ds) == [(row["x"], row["t"]) for row in rows], step
        ds.discard()
        for version, want in enumerate(versions[: ds.head.version + 1]):
            assert rows_of(ds.at(version)) == [(row["x"], row["t"]) for row in want]
        assert ds.fsck()


def reverted(before, then, now):
    """Returns the rows after a revert, in any order; None where rows changed again."""
    was, did, out = ({row["id"]: row for row in rows} for rows in (before, then, now))
    for key in was.keys() | did.keys():
        old, new = was.get(key), did.get(key)
        if old == new:
            continue
        if new is None:
            out.setdefault(key, old)
        elif old is None:
            if out.get(key, new) != new:
                return None
            out.pop(key, None)
        elif key not in out:
            return None
        else:
            row = dict(out[key])
            for name in ("x", "t"):
                if old[name] == new[name] or row[name] == old[name]:
                    continue
                if row[name] != new[name]:
                    return None
                row[name] = old[name]
            out[key] = row
    return list(out.values())


def test_log_counts_rows(ds):
    ds.update([1, 2], {"x": [10, 20]})
    ds.update(2, {"t": "two"})
    ds.delete(0)
    ds.append({"x": 1, "t": "a"})
    ds.append({"x": 2, "t": "b"})
    ds.delete(10)  # one of the two
    changed = ds.commit("changed")
    ds.revert(changed)
    ds.checkout("side", create=True)
    log = ds.log()
    assert [(c.added, c.updated, c.deleted) for c in log] == [(0, 0, 0), (1, 2, 1), (1, 2, 1), (10, 0, 0), (0, 0, 0)]
    assert '10 rows (+1 ~2 -1), "changed" by ' in repr(log[2]) and changed == log[2] and changed.added is None
    ds.update(slice(None), {"x": list(range(10))})
    assert ds.commit().added is None and ds.log(1)[0].updated == 10
    deeplake.copy(ds.uri, ds.uri + "2", branch="side")
    assert deeplake.open(ds.uri + "2").log()[0].added == 10


def test_changed_rows(ds):
    ds.delete([0, 5])
    ds.update([1, 3], {"x": [200, 400]})
    ds.append({"x": 77, "t": "new"})
    ds.rename_tensor("x", "y")
    ds.commit()
    diff = ds.diff(1)
    rows = list(diff.rows("y"))
    said = [(r.change, r.old_row, r.new_row, r.old if r.old is None else int(r.old), r.new) for r in rows]
    assert said == [
        ("updated", 2, 1, 2, 200), ("updated", 4, 3, 4, 400), ("added", None, 8, None, 77),
        ("deleted", 0, None, 0, None), ("deleted", 5, None, 5, None),
    ]  # fmt: skip
    assert [r.old for r in diff.rows("t")] == [None, "row 0", "row 5"]
    # The same names in the other direction, and in later versions.
    back = {r.id: (r.new_row, r.old_row) for r in ds.diff(2, 1).rows("x")}
    assert back == {r.id: (r.old_row, r.new_row) for r in rows}
    ds.delete(0)
    ds.commit()
    assert next(ds.diff(2).rows("y")).id not in back, "the deleted row is another one"
    assert {r.id for r in ds.diff(1).rows("y")} > set(back)
    assert list(ds.diff(1, 1).rows("x")) == []
    with pytest.raises(deeplake.NotFoundError, match='no tensor "z"'):
        diff.rows("z")
    with pytest.raises(deeplake.InvalidArgumentError, match="another process"):
        pickle.loads(pickle.dumps(diff)).rows("y")


def test_changed_rows_of_tensors_that_come_and_go(ds):
    ds.create_tensor("n", dtype="uint8")
    ds.update(4, {"n": 4})
    ds.delete_tensor("t")
    ds.commit()
    diff = ds.diff(1)
    assert [(r.change, r.old_row, r.new_row, r.new) for r in diff.rows("n")] == [("added", None, 4, 4)]
    gone = list(diff.rows("t"))
    assert len(gone) == 10 and (gone[3].change, gone[3].old_row, gone[3].old) == ("deleted", 3, "row 3")


def test_many_changed_rows_are_read_in_parts(tmp_path, monkeypatch):
    with deeplake.create(tmp_path / "d", schema={"x": {"dtype": "int64"}}) as ds:
        ds.extend({"x": np.arange(1000)})
        ds.commit()
        ds.delete(slice(0, 1000, 7))
        ds.update(slice(0, len(ds), 2), {"x": -ds["x"].numpy()[::2]})
        ds.commit()
        reads = []
        get = deeplake.Dataset.__getitems__
        monkeypatch.setattr(
            deeplake.Dataset, "__getitems__", lambda self, rows: reads.append(len(rows)) or get(self, rows)
        )
        some = ds.diff(1).rows("x")
        assert reads == []
        first = next(some)
        assert first.new == -first.old and max(reads) <= 64 and len(reads) == 2
        rest = list(some)
        assert all(r.new == -r.old and r.old == r.old_row for r in rest if r.change == "updated")
        assert sum(r.change == "deleted" for r in rest) == 143 and max(reads) <= 64


def test_history_of_a_row(ds):
    ds.update(7, {"x": 70})
    one = ds.commit("one")
    ds.delete([0, 1])
    ds.commit("others go")
    ds.checkout("side", create=True)
    ds.update(5, {"x": 700, "t": "side"})
    ds.delete(0)
    two = ds.commit("on the side")
    ds.checkout("main")
    ds.append({"x": 1, "t": "a"})
    ds.commit("more")
    ds.merge("side")
    ds.delete(4)
    gone = ds.commit("gone")
    back = ds.revert(gone)
    assert ds["x"].numpy()[4] == 700
    history = ds.history(4)
    got = [(v.commit, v.change, tuple(v.tensors), v.row) for v in history]
    assert got == [
        (back, "restored", ("x", "t"), 4), (gone, "deleted", (), None), (two, "updated", ("x", "t"), 4),
        (one, "updated", ("x",), 7), (ds.at(1).head, "added", ("x", "t"), 7),
    ]  # fmt: skip
    assert [int(ds.at(v.commit)[v.row]["x"]) for v in history if v.row is not None] == [700, 700, 70, 7]
    assert ds.history(-1, limit=1)[0].commit.message == "more" and history[3].commit.updated == 1
    ds.delete(0)
    ds.append({"x": 5, "t": "new"})
    assert [v.commit for v in ds.history(3)] == [v.commit for v in history] and ds.history(-1) == []
    ds.discard()
    with pytest.raises(IndexError):
        ds.history(100)
    assert [v.commit.message for v in ds.at(two).history(4)] == ["on the side", "one", "ten rows"]


def test_history_over_expired_versions(ds):
    from datetime import timedelta

    for i in range(3):
        ds.update(2, {"x": i})
        ds.commit(f"{i}")
    want = [v.commit for v in ds.history(2)]
    ds.gc(expire=timedelta(0), older_than=timedelta(0))
    assert [v.commit for v in ds.history(2)] == want
    assert ds.history(2)[1].row is None and ds.history(2)[0].row == 2
