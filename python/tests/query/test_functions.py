"""Registered functions: arguments, results and errors."""

from __future__ import annotations

import threading

import deeplake
import numpy as np
import pytest
from deeplake import tql


@pytest.fixture
def ds():
    ds = deeplake.create("mem://functions", overwrite=True)
    ds.create_tensor("x", dtype="int64")
    ds.create_tensor("v", dtype="float32")
    ds.create_tensor("r", dtype="float64")
    ds.create_tensor("s", "text")
    ds.create_tensor("m", "json")
    ds.create_tensor("q", "sequence[generic]", dtype="int64")
    ds.extend(
        {
            "x": [0, 1, 2, None],
            "v": np.arange(8, dtype=np.float32).reshape(4, 2),
            "r": [np.arange(i, dtype=np.float64) for i in range(4)],
            "s": ["a", None, "ccc", "é"],
            "m": [{"k": 1}, None, [1], "t"],
            "q": [[1, 2], [], [3], [4]],
        }
    )
    ds.commit()
    return ds


@pytest.fixture
def register():
    names = []

    def add(name, fn, **options):
        tql.register(name, fn, **options)
        names.append(name)

    yield add
    for name in names:
        tql.unregister(name)


def test_what_they_get(ds, register):
    got = {}

    def look(*columns):
        got["columns"] = columns
        return np.zeros(len(columns[0]))

    register("LOOK", look)
    assert ds.query("SELECT look(v, x, r, s, m, q) AS r")["r"][:].tolist() == [0, 0, 0, 0]
    v, x, r, s, m, q = got["columns"]
    assert v.dtype == np.float32 and v.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert x[:3] == [0, 1, 2] and x[3] is None
    assert [len(part) for part in r] == [0, 1, 2, 3] and r[3].tolist() == [0, 1, 2]
    assert s == ["a", None, "ccc", "é"] and m == [{"k": 1}, None, [1], "t"]
    assert [[int(i) for i in items] for items in q] == [[1, 2], [], [3], [4]]
    v[:] = 9  # its own
    assert ds["v"][0].tolist() == [0, 1]


def test_lists_of_items_of_one_shape(register):
    # What describes them to C is more than one array's shape.
    ds = deeplake.create("mem://lists", overwrite=True)
    ds.create_tensor("q", "sequence[generic]", dtype="int64")
    ds.create_tensor("t", "sequence[text]")
    items = np.arange(40 * 50 * 3).reshape(40, 50, 3)
    ds.extend({"q": list(items), "t": [[f"{i} {k}" for k in range(120)] for i in range(40)]})
    ds.commit()
    got = {}

    def total(q, t):
        assert all(isinstance(item, np.ndarray) and item.shape == (3,) for item in q[0])
        assert len(t[0]) == 120 and t[0][119].endswith(" 119")
        got[int(np.asarray(q[0])[0, 0])] = True
        return np.array([np.sum(row) for row in q])

    register("TOTAL", total)
    assert ds.query("SELECT TOTAL(q, t) AS n")["n"][:].tolist() == items.sum((1, 2)).tolist()
    assert 0 in got


def test_rows_that_are_left(ds, register):
    seen = []
    register("SEEN", lambda x: (seen.extend(x.tolist()), x)[1])
    assert len(ds.query("SELECT x WHERE SEEN(x) > 0 AND x >= 1")) == 2
    assert 0 not in seen


@pytest.mark.parametrize(
    ("options", "fn", "want", "dtype"),
    [
        ({}, lambda v: v.sum(axis=1), [1, 5, 9, 13], "float64"),
        ({}, lambda v: [1, None, 2.5, True], [1, None, 2.5, 1], "float64"),
        ({"returns": "int32"}, lambda v: np.arange(4), [0, 1, 2, 3], "int32"),
        ({"returns": bool}, lambda v: v[:, 0] > 3, [False, False, True, True], "bool"),
        ({"returns": "float32", "shape": (2,)}, lambda v: v * 2, [[0, 2], [4, 6], [8, 10], [12, 14]], "float32"),
        ({"shape": (None,)}, lambda v: [np.arange(i) for i in range(4)], [[], [0], [0, 1], [0, 1, 2]], "float64"),
        ({"shape": None}, lambda v: [np.ones((1,) * i) for i in range(1, 5)], None, "float64"),
        ({"returns": "text"}, lambda v: ["a", None, "", "é"], ["a", None, "", "é"], "string"),
    ],
)
def test_what_they_give(ds, register, options, fn, want, dtype):
    register("GIVE", fn, **options)
    view = ds.query("SELECT GIVE(v) AS r")
    values = [None if value is None else np.asarray(value).tolist() for value in view["r"][:]]
    assert want is None or values == want
    assert str(view["r"].dtype) == dtype or view.schema["r"]["dtype"] == dtype


@pytest.mark.parametrize(
    ("options", "fn", "words"),
    [
        ({}, lambda v: np.zeros(3), "3 values for 4 rows"),
        ({}, lambda v: np.zeros((4, 2)), r"shape \(2,\)"),
        ({}, lambda v: ["a"] * 4, "dtype"),
        ({}, lambda v: 1.0, "a float"),
        ({}, lambda v: None, "NoneType"),
        ({"returns": "int64"}, lambda v: np.zeros(4), "float64"),
        ({"shape": (2,)}, lambda v: np.zeros((4, 3)), r"shape \(3,\)"),
        ({"returns": "text"}, lambda v: [1, 2, 3, 4], "a int"),
    ],
)
def test_what_they_may_not_give(ds, register, options, fn, words):
    register("GIVE", fn, **options)
    with pytest.raises(deeplake.InvalidArgumentError, match=words) as caught:
        ds.query("SELECT GIVE(v) AS r")
    assert '"GIVE"' in str(caught.value) and "line 1, column 8" in str(caught.value)


def test_what_they_raise_is_the_cause(ds, register):
    class OwnError(Exception):
        pass

    def fails(v):
        raise OwnError("no luck")

    register("FAILS", fails)
    with pytest.raises(deeplake.InvalidArgumentError, match='function "FAILS": it raised OwnError: no luck') as caught:
        ds.query("SELECT * WHERE FAILS(v) > 0")
    assert isinstance(caught.value.__cause__, OwnError)
    assert len(ds.query("SELECT * WHERE x > 0")) == 2  # the library goes on


def test_they_are_the_queries(ds, register):
    register("TWICE", lambda x: x * 2.0)
    view = ds.query("SELECT TWICE(v[0]) AS y")
    tql.register("TWICE", lambda x: x * 3.0, overwrite=True)
    assert view["y"][:].tolist() == [0, 4, 8, 12]
    assert ds.query("SELECT TWICE(v[0]) AS y")["y"][:].tolist() == [0, 6, 12, 18]


def test_saved_views_call_registered_functions_alone(ds, register):
    """A view that runs its query again calls no function of its author's: only those of this process."""
    register("AUTHORS", lambda x: x * 2.0)
    ds.query("SELECT AUTHORS(v[0]) AS y WHERE AUTHORS(v[0]) < 9").save("doubled")
    tql.unregister("AUTHORS")
    with pytest.raises(deeplake.Error, match="AUTHORS"):
        ds.load_view("doubled")
    tql.register("AUTHORS", lambda x: x * 3.0)
    assert ds.load_view("doubled")["y"][:].tolist() == [0, 6]


def test_they_may_ask_themselves(ds, register):
    register("ASKS", lambda x: np.full(len(x), len(ds.query("SELECT x WHERE x > 0"))))
    assert ds.query("SELECT ASKS(v) AS r")["r"][:].tolist() == [2, 2, 2, 2]


def test_from_several_threads(ds, register):
    register("INC", lambda v: v[:, 0] + 1)
    wrong = []

    def ask():
        for _ in range(20):
            if ds.query("SELECT INC(v) AS r")["r"][:].tolist() != [1, 3, 5, 7]:
                wrong.append(1)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_registering():
    with pytest.raises(deeplake.AlreadyExistsError, match="built-in"):
        tql.register("abs", abs)
    with pytest.raises(deeplake.InvalidArgumentError, match="name"):
        tql.register("a b", abs)
    with pytest.raises(deeplake.InvalidArgumentError, match="callable"):
        tql.register("OWN", 3)  # type: ignore[arg-type]
    with pytest.raises(deeplake.InvalidArgumentError, match='"float64"'):
        tql.register("OWN", abs, returns="float46")
    with pytest.raises(deeplake.InvalidArgumentError, match="shape"):
        tql.register("OWN", abs, shape=(-1,))
    with pytest.raises(deeplake.NotFoundError):
        tql.unregister("OWN")
    tql.register("own", abs)
    try:
        with pytest.raises(deeplake.AlreadyExistsError, match="overwrite"):
            tql.register("OWN", abs)
        assert "OWN" in {about.name for about in tql.functions()}
    finally:
        tql.unregister("Own")


def test_signatures_of_built_in_ones():
    about = {f.name: f for f in tql.functions()}
    assert about["IOU"].signature.startswith("IOU(a, b") and about["IOU"].doc
    assert {"COUNT", "RANDOM", "BM25_SIMILARITY", "MAXSIM", "DATA"} <= set(about)
