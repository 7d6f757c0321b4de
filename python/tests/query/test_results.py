"""Results of queries as views: all methods of views, saved views, and copies."""

from __future__ import annotations

import pickle

import deeplake
import numpy as np
import pytest
from conftest import host, picture


@pytest.fixture
def ds(place):
    ds = deeplake.create(place)
    ds.create_tensor("x", dtype="int64")
    ds.create_tensor("v", dtype="float32")
    ds.create_tensor("s", "text")
    ds.create_tensor("label", "class_label", class_names=["a", "b", "c"])
    ds.create_tensor("image", "image", compression="jpeg")
    n = 60
    ds.extend(
        {
            "x": np.arange(n),
            "v": np.arange(3 * n, dtype=np.float32).reshape(n, 3),
            "s": [None if i % 7 == 0 else f"w{i}" for i in range(n)],
            "label": np.arange(n) % 3,
            "image": [picture(i) for i in range(n)],
        }
    )
    ds.commit()
    yield ds
    ds.close()


def test_it_is_a_view(ds):
    view = ds.query("SELECT x, s, x * 10 AS y WHERE x >= 50")
    assert isinstance(view, deeplake.QueryView) and isinstance(view, deeplake.View)
    assert list(view.tensors) == ["x", "s", "y"] and len(view) == 10
    assert view.indices.tolist() == list(range(50, 60)) == view.rows.tolist()
    assert [row["y"] for row in view] == [10 * x for x in range(50, 60)]
    assert view[2]["s"] == "w52" and view[-1].index == 59 and view[6]["s"] is None
    assert view[[3, 1, 3]]["y"][:].tolist() == [530, 510, 530]
    assert view[::-2].indices.tolist() == [59, 57, 55, 53, 51]
    assert len(view.filter(lambda row: row["y"] > 550)) == 4
    assert sorted(np.concatenate([part.indices for part in view.split([0.5, 0.5])])) == list(range(50, 60))
    assert view.query("SELECT y + 1 AS z WHERE y > 570")["z"][:].tolist() == [581, 591]
    assert view[4:].query("SELECT x ORDER BY x DESC LIMIT 1")["x"][0] == 59
    assert view.text == "SELECT x, s, x * 10 AS y WHERE x >= 50"
    assert "scan" in str(view.explain()) and view.explain().plan["done"]["rows"] == 10
    assert "QueryView" in repr(view)


def test_indices_of_what_is_no_row(ds):
    grouped = ds.query("SELECT label, COUNT(*) AS n GROUP BY label")
    with pytest.raises(deeplake.UnsupportedError, match="rows of one dataset"):
        grouped.indices  # noqa: B018
    assert "Row(label, n)" in repr(grouped[0])
    assert grouped["n"][:].tolist() == [20, 20, 20]


def test_a_left_join_has_holes(ds):
    uri = ds.uri
    view = ds.query(f'SELECT a.x, b.x AS other FROM dataset AS a LEFT JOIN "{uri}" AS b ON a.x = b.x + 50')
    assert view["other"][:3] == [None, None, None] and view["other"][50:].tolist() == list(range(10))


def test_what_is_not_committed_is_asked_too(ds):
    row = {"x": 1000, "v": np.zeros(3, np.float32), "s": "new", "label": "c", "image": picture(0)}
    ds.append(row)
    view = ds.query("SELECT x, s WHERE x > 58")
    assert view["x"][:].tolist() == [59, 1000] and view["s"][1] == "new"
    with pytest.raises(deeplake.UnsupportedError, match="not committed"):
        pickle.dumps(view)
    with pytest.raises(deeplake.InvalidArgumentError, match="commit"):
        view.save("dirty")
    ds.commit()
    ds.delete([0, 1, 2])
    assert len(ds.query("SELECT x WHERE x < 5")) == 2
    assert len(view) == 2  # does not change
    ds.discard()


def test_it_keeps_its_version(ds):
    view = ds.query("SELECT x, x + 1 AS y WHERE x < 3")
    ds.update(0, {"x": 77})
    ds.commit()
    assert view["x"][:].tolist() == [0, 1, 2]
    assert pickle.loads(pickle.dumps(view))["y"][:].tolist() == [1, 2, 3]
    assert ds.query("SELECT x WHERE x = 77").indices.tolist() == [0]


def test_a_pickle_asks_the_same_versions(tmp_path):
    uri = str(tmp_path / "a")
    ds = deeplake.create(uri)
    ds.create_tensor("x", dtype="int64")
    ds.extend({"x": np.arange(5)})
    ds.commit()
    view = deeplake.query(f'SELECT x FROM "{uri}" WHERE x > ?', 2)
    data = pickle.dumps(view)
    ds.extend({"x": np.arange(5)})
    ds.commit()
    assert pickle.loads(data)["x"][:].tolist() == [3, 4]
    assert deeplake.query(f'SELECT x FROM "{uri}" WHERE x > ?', 2)["x"][:].tolist() == [3, 4, 3, 4]
    assert pickle.loads(data).uri == ds.uri


def test_in_another_process(tmp_path, run_python):
    uri = str(tmp_path / "a")
    ds = deeplake.create(uri)
    ds.create_tensor("x", dtype="int64")
    ds.extend({"x": np.arange(100)})
    ds.commit()
    view = ds.query("SELECT x, x * 2 AS y SAMPLE BY x LIMIT 7", seed=5)
    path = tmp_path / "view"
    path.write_bytes(pickle.dumps(view))
    program = f"""
import pickle, pathlib
view = pickle.loads(pathlib.Path({str(path)!r}).read_bytes())
print(view["y"][:].tolist())
"""
    assert run_python(program).stdout.strip() == str(view["y"][:].tolist())


def test_in_a_forked_process(ds, run_python, tmp_path):
    program = f"""
import os, deeplake, numpy as np
ds = deeplake.create({str(tmp_path / "forked")!r})
ds.create_tensor("x", dtype="int64")
ds.extend({{"x": np.arange(100)}})
ds.commit()
view = ds.query("SELECT x, x * 2 AS y WHERE x > 95")
want = view["y"][:].tolist()
pid = os.fork()
if pid == 0:
    os._exit(0 if view["y"][:].tolist() == want and len(view.query("SELECT x WHERE y > 194")) == 2 else 1)
assert os.waitpid(pid, 0)[1] == 0
"""
    run_python(program)


# --- loaders


def test_torch(ds):
    torch = pytest.importorskip("torch")
    view = ds.query("SELECT image, label, v * 2 AS w, CONCAT(s) AS s WHERE x % 2 = 0")
    seen = []
    for batch in view.pytorch(batch_size=7, shuffle=True):
        assert batch["image"].dtype == torch.uint8 and batch["image"].shape[1:] == (24, 32, 3)
        assert batch["w"].dtype == torch.float32 and isinstance(batch["s"], list)
        seen += (batch["w"][:, 0] / 6).int().tolist()
    assert sorted(seen) == list(range(0, 60, 2))
    rows = view.torch_dataset(tensors=["label"])
    assert int(rows[4]["label"]) == 8 % 3 and len(rows) == 30


def test_states_are_exact(ds):
    def loader(view):
        return view.batches(batch_size=4, shuffle=True, seed=3, tensors=["x", "y"])

    text = "SELECT x, x * ? AS y WHERE x > 7 ORDER BY x DESC"
    view = ds.query(text, 2)
    whole = [batch["y"].tolist() for batch in loader(view)]
    first = loader(view)
    epoch = iter(first)
    for _ in range(5):
        next(epoch)
    state = first.state_dict()
    second = loader(ds.query(text, 2))
    second.load_state_dict(state)
    assert [batch["y"].tolist() for batch in second] == whole[5:]
    for other in (ds.query(text, 3), ds.query(text.replace("7", "8"), 2), ds.query(text + " LIMIT 40", 2)):
        with pytest.raises(deeplake.InvalidArgumentError, match="load loader state"):
            loader(other).load_state_dict(state)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["SELECT x + 1 AS y", "SELECT y * 2 AS z"], ["SELECT x + 100 AS y", "SELECT y * 2 AS z"]),
        (["SELECT x, x + 1 AS y", "SELECT y * 2 AS z"], ["SELECT x, x + 2 AS y", "SELECT y * 2 AS z"]),
        (
            ["SELECT x % 10 AS g, SUM(x) AS s GROUP BY x % 10", "SELECT s AS z"],
            ["SELECT x % 10 AS g, MAX(x) AS s GROUP BY x % 10", "SELECT s AS z"],
        ),
    ],
)
def test_states_of_results_of_results(ds, one, other):
    def loader(texts):
        view = ds
        for text in texts:
            view = view.query(text)
        return view.batches(batch_size=4, shuffle=True, seed=4)

    whole = [batch["z"].tolist() for batch in loader(one)]
    first = loader(one)
    next(iter(first))
    second = loader(one)
    second.load_state_dict(first.state_dict())
    assert [batch["z"].tolist() for batch in second] == whole[1:]
    with pytest.raises(deeplake.InvalidArgumentError):
        loader(other).load_state_dict(first.state_dict())


def test_where_rows_lie(ds, tmp_path):
    place = str(tmp_path / "flowers")
    with deeplake.create(place) as other:
        other.create_tensor("x", dtype="int64")
        other.extend({"x": np.arange(5)})
        other.commit()
    here, there = ds.query("SELECT x"), ds.query(f'SELECT * FROM "{place}" WHERE x > 1')
    assert here.uri == ds.uri and there.uri == place and there[1:].uri == place and place in repr(there)
    joined = ds.query(f'SELECT a.x, b.x AS y FROM dataset AS a JOIN "{place}" AS b ON a.x = b.x')
    assert joined.uri == ds.uri
    if not ds.uri.startswith("mem://"):
        for part in (there, there[[1, 0]]):
            back = pickle.loads(pickle.dumps(part))
            assert back.uri == place and back["x"][:].tolist() == part["x"][:].tolist()
    there.save("elsewhere")
    assert ds.load_view("elsewhere")["x"][:].tolist() == [2, 3, 4]
    assert ds.load_view("elsewhere").uri == place


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_ranks_share_a_result(ds, world_size):
    view = ds.query("SELECT x, x + 1 AS y WHERE x < 50")
    seen = []
    for rank in range(world_size):
        for batch in view.batches(batch_size=4, shuffle=True, rank=rank, world_size=world_size):
            seen += [y for y, valid in zip(batch["y"].tolist(), batch.get("_valid", [True] * 4), strict=False) if valid]
    assert sorted(seen) == list(range(1, 51))


def test_weights_and_mixtures(ds):
    view = ds.query("SELECT x, x + 1 AS y, IF(label = 'a', 1.0, 0.0) AS w")
    drawn = [y for batch in view.batches(batch_size=10, weights="w") for y in batch["y"].tolist()]
    assert len(drawn) == 60 and all((y - 1) % 3 == 0 for y in drawn)
    mixed = deeplake.mix([ds.query("SELECT x, 1 AS y"), ds.query("SELECT x, 2 AS y WHERE x < 30")], [0.5, 0.5])
    ys = [y for batch in mixed.batches(batch_size=10) for y in batch["y"].tolist()]
    assert abs(ys.count(1) - ys.count(2)) <= len(ys) // 2


def test_columns_under_other_names(ds):
    view = ds.query("SELECT image AS picture, label AS kind, x AS image")
    assert view["picture"][4].shape == (24, 32, 3) and view["kind"].class_names == ["a", "b", "c"]
    assert view["image"][4] == 4 and view["picture"].bytes(4) == ds["image"].bytes(4)
    batch = next(iter(view.batches(batch_size=3)))
    assert batch["image"].tolist() == [0, 1, 2] and batch["picture"].shape == (3, 24, 32, 3)


def test_many_columns_of_one_name(ds):
    assert len(set(ds.query("SELECT x, x, x + 1 AS x").tensors)) == 3


# --- saved


def test_saved_views(ds):
    plain, computed = ds.query("SELECT x, s WHERE x % 10 = ?", 3), ds.query("SELECT x, v * ? AS w WHERE x > 57", 2)
    plain.save("plain")
    computed.save("computed")
    ds[5:8].save("part")
    ds[[9, 2]].query("SELECT s, x").save("chosen")
    ds.append({"x": 13, "v": np.zeros(3, np.float32), "s": "", "label": 0, "image": picture(1)})
    ds.commit()
    assert [view.name for view in ds.views()] == ["chosen", "computed", "part", "plain"]
    about = {view.name: view for view in ds.views()}
    assert about["plain"].query == "SELECT x, s WHERE x % 10 = ?" and about["plain"].rows == 6
    assert about["part"].query == "" and about["part"].version == 1
    assert ds.load_view("plain").indices.tolist() == [3, 13, 23, 33, 43, 53]
    assert ds.load_view("part").indices.tolist() == [5, 6, 7]
    assert ds.load_view("chosen")["x"][:].tolist() == [9, 2]
    loaded = ds.load_view("computed")
    assert loaded["w"][0].tolist() == [2 * v for v in (174, 175, 176)]
    assert pickle.loads(pickle.dumps(loaded))["w"][1].tolist() == loaded["w"][1].tolist()
    with pytest.raises(deeplake.AlreadyExistsError):
        computed.save("plain")
    computed.save("plain", replace=True)
    assert list(ds.load_view("plain").tensors) == ["x", "w"]
    ds.delete_view("plain")
    with pytest.raises(deeplake.NotFoundError, match='"plai"'):
        ds.load_view("plai")
    with pytest.raises(deeplake.NotFoundError):
        ds.delete_view("plain")


@pytest.mark.parametrize(
    "value",
    [3, 2.5, "w3", None, True, np.float32(3), np.arange(3, dtype=np.float32), np.arange(3, dtype=np.uint8)],
    ids=lambda value: type(value).__name__ + str(value),
)
def test_parameters_are_saved(ds, value):
    view = ds.query("SELECT x, ? AS p WHERE x < 2", value)
    view.save("p")
    again = ds.load_view("p")
    assert np.array_equal(np.array(again["p"][0]), np.array(view["p"][0]))
    assert again["p"].dtype == view["p"].dtype


def test_states_go_on_with_a_saved_view(ds):
    view = ds.query("SELECT x AS y WHERE x > 10")
    view.save("train")
    loader = view.batches(batch_size=5, shuffle=True)
    epoch = iter(loader)
    next(epoch)
    state, rest = loader.state_dict(), [batch["y"].tolist() for batch in epoch]
    again = ds.load_view("train").batches(batch_size=5, shuffle=True)
    again.load_state_dict(state)
    assert [batch["y"].tolist() for batch in again] == rest


def test_what_cannot_be_saved(ds):
    computed = ds.query("SELECT x + 1 AS y")
    for view in (computed[:3], ds[5:].query("SELECT x + 1 AS y"), computed.query("SELECT y * 2 AS z")):
        with pytest.raises(deeplake.UnsupportedError, match=r"materialize|ask the dataset"):
            view.save("z")
    with pytest.raises(deeplake.UnsupportedError, match="single dataset"):
        deeplake.query(f'SELECT x FROM "{ds.uri}"').save("z")
    with deeplake.open(ds.uri, read_only=True) as closed, pytest.raises(deeplake.ReadOnlyError):
        closed.query("SELECT x").save("z")
    for name in ("", "x" * 500):
        with pytest.raises(deeplake.InvalidArgumentError):
            computed.save(name)
    assert ds.views() == []


# --- copies


def test_materialize(ds, tmp_path):
    view = ds.query("SELECT image, label, s, x * 2 AS y WHERE x < 20 ORDER BY x DESC")
    with view.materialize(str(tmp_path / "copy")) as made:
        assert len(made) == 20 and made["y"][:].tolist() == list(range(38, -2, -2))
        assert made["image"].bytes(3) == ds["image"].bytes(16) and made["s"][:] == view["s"][:]
        assert made["label"].class_names == ["a", "b", "c"] and made.schema["image"]["compression"] == "jpeg"
    with pytest.raises(deeplake.AlreadyExistsError):
        view.materialize(str(tmp_path / "copy"))
    with view.materialize(str(tmp_path / "copy"), overwrite=True, message="again") as made:
        assert made.head.message == "again"
    with ds[3:5].materialize(f"mem://{tmp_path.name}") as made:
        assert made["x"][:].tolist() == [3, 4]


def test_a_copy_spares_what_it_reads(ds, tmp_path):
    place = str(tmp_path / "other")
    with deeplake.create(place) as other:
        other.create_tensor("x", dtype="int64")
        other.extend({"x": np.arange(5)})
        other.commit()
    link = tmp_path / "link"
    link.symlink_to(place)
    joined = ds.query(f'SELECT a.x AS ax FROM dataset AS a JOIN "{place}" AS b ON a.x = b.x')
    below = ds.query(f'SELECT x + 1 AS y WHERE x < (SELECT MAX(x) FROM "{place}")')
    for view in (joined, below, below[1:], below.query("SELECT y * 2 AS z"), deeplake.open(place).query("SELECT x")):
        for target in (place, link):
            with pytest.raises(deeplake.InvalidArgumentError, match="take another place"):
                view.materialize(target, overwrite=True)
    assert len(deeplake.open(place)) == 5 and len(below) == 4


def test_a_copy_that_fails_leaves_nothing(ds, tmp_path):
    deeplake.tql.register("BREAKS", lambda x: 1 / 0)
    try:
        with pytest.raises(deeplake.InvalidArgumentError, match="BREAKS"):
            ds.query("SELECT BREAKS(x) AS y").materialize(str(tmp_path / "no"))
    finally:
        deeplake.tql.unregister("BREAKS")
    assert not deeplake.exists(str(tmp_path / "no"))


@pytest.mark.parametrize("name", ["tensorflow", "jax"])
def test_other_hosts(ds, name):
    host(name)
    view = ds.query("SELECT image, v * 2 AS w, x AS y WHERE x < 20")
    batches = list(view.tensorflow(batch_size=10) if name == "tensorflow" else view.jax(batch_size=10))
    assert [int(y) for batch in batches for y in np.asarray(batch["y"])] == list(range(20))
    assert np.asarray(batches[0]["w"])[1].tolist() == [6, 8, 10] and batches[0]["image"].shape == (10, 24, 32, 3)


def test_rows_without_a_list_stay_so(place, tmp_path):
    ds = deeplake.create(place)
    ds.create_tensor("p", "polygon")
    ds.create_tensor("x", dtype="int64")
    ds.extend({"p": [None, [], [np.ones((3, 2), np.float32)]], "x": [1, 2, 3]})
    ds.commit()
    view = ds.query("SELECT COALESCE(p, p) AS q, p, SPLIT(NULLIF('a', CAST(x AS TEXT)), ',') AS s, x")
    assert [len(value) if value is not None else None for value in view["q"][:]] == [None, 0, 1]
    assert view.query("SELECT x WHERE q IS NULL")["x"][:].tolist() == [1]
    copy = view.materialize(tmp_path / "copy")
    for name in ("p", "q"):
        assert [len(value) if value is not None else None for value in copy[name][:]] == [None, 0, 1]


def test_several_labels_as_texts(place):
    ds = deeplake.create(place)
    ds.create_tensor("l", "class_label", class_names=["a", "b", "z"])
    rows = [[0], [0, 1], np.zeros(0, np.int64), None] * 3
    ds.extend({"l": [None if row is None else np.asarray(row, np.int64) for row in rows]})
    ds.commit()
    want = [["a"], ["a", "b"], [], None] * 3
    view = ds.query("SELECT CAST(l AS TEXT) AS r")
    assert [None if value is None else list(value) for value in view["r"][:]] == want
    assert [None if row["r"] is None else list(row["r"]) for row in view[5:8]] == want[5:8]
    with pytest.raises(deeplake.TensorTypeError, match="list of text"):
        ds.query("SELECT LIST(CAST(l AS TEXT)) AS r GROUP BY LENGTH(l)")


def test_the_ends_of_integers(place):
    ds = deeplake.create(place)
    ds.create_tensor("u", dtype="uint64")
    ds.create_tensor("i", dtype="int64")
    top, least = 2**64 - 1, -(2**63)
    ds.extend({"u": np.array([top, top - 1, 3], np.uint64), "i": [least, least + 1, 5]})
    ds.commit()
    for text, params in ((f"u = {top}", []), ("u = ?", [top]), (f"u > {top - 1}", []), (f"u IN ({top})", [])):
        assert ds.query(f"SELECT u WHERE {text}", *params)["u"][:].tolist() == [top], text
    for text, params in (
        (f"i = {least}", []),
        ("i = ?", [least]),
        (f"i IN ({least}, 7)", []),
        (f"i < {least + 1}", []),
    ):
        assert ds.query(f"SELECT i WHERE {text}", *params)["i"][:].tolist() == [least], text
    with pytest.raises(deeplake.InvalidArgumentError, match="64 bits"):
        ds.query("SELECT u WHERE u = ?", 2**64)
