"""Parameters by name mean what parameters by position mean."""

from __future__ import annotations

import datetime as dt
import pickle
from types import MappingProxyType

import deeplake
import numpy as np
import pytest
from deeplake import tql

VALUES = [
    None,
    True,
    5,
    1 << 63,
    2.5,
    float("nan"),
    "it's",
    b"by\0tes",
    {"a": [1, 2.5, None]},
    {},
    ["cat", None, "dog"],
    {"cat", "dog"},
    [1, 2, 3],
    (1.5, 2.5),
    dt.date(2024, 2, 29),
    dt.datetime(2024, 1, 2, 3, 4, 5, 60, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    dt.timedelta(days=-1, microseconds=5),
    np.datetime64("2024-01"),
    np.timedelta64(90, "m"),
    np.int8(5),
    np.float16([1.5, 2]),
    np.array([[True], [False]]),
    np.zeros((0, 3), np.float32),
]


@pytest.fixture(scope="module")
def ds():
    ds = deeplake.create("mem://named-params", overwrite=True)
    ds.create_tensor("x", dtype="int64")
    ds.create_tensor("label", "class_label", class_names=["cat", "dog"])
    ds.create_tensor("v", dtype="float32")
    ds.create_tensor("meta", "json")
    n = np.arange(20)
    vectors = np.random.default_rng(0).random((20, 3), np.float32)
    ds.extend({"x": n, "label": n % 2, "v": vectors, "meta": [{"a": int(i)} for i in n]})
    ds.commit()
    return ds


def _same(a, b):
    for one, other in zip(a, b, strict=True):
        np.testing.assert_equal(one, other)


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_a_named_value_is_that_of_a_question_mark(ds, value):
    by_place = ds.query("SELECT x, ? AS p, ? IS NULL AS missing WHERE x < ?", value, value, 3)
    by_name = ds.query("SELECT x, :p AS p, :p IS NULL AS missing WHERE x < :n", {"n": 3, "p": value})
    for name in ("x", "p", "missing"):
        _same(by_name[name][:], by_place[name][:])
    by_place.save("place", replace=True)
    by_name.save("name", replace=True)
    saved = {view.name: view._about["params"] for view in ds.views()}
    p, _, n = saved["place"]
    assert saved["name"] == [{"name": "p", "value": p}, {"name": "n", "value": n}]
    again = ds.load_view("name")
    _same(again["p"][:], by_place["p"][:])
    again.save("name", replace=True)
    assert {view.name: view._about["params"] for view in ds.views()} == saved
    assert ":p" in by_name.explain(analyze=True).text
    assert "label" not in again.explain().text


def test_the_order_of_the_dict_does_not_count(ds):
    text = "SELECT x WHERE label = :label AND x > :min ORDER BY x * :by LIMIT :most"
    given = {"label": "cat", "min": 3, "by": -1, "most": 2}
    first = ds.query(text, given)
    second = ds.query(text, MappingProxyType(dict(reversed(given.items()))))
    assert first.indices.tolist() == second.indices.tolist() == [18, 16]
    first.save("first")
    second.save("second")
    saved = {view.name: view._about["params"] for view in ds.views()}
    assert saved["first"] == saved["second"]
    given["min"] = 17  # the result is of the values at the call
    assert pickle.loads(pickle.dumps(first)).indices.tolist() == [18, 16]
    assert first.query("SELECT x WHERE x = :x", {"x": 16}).indices.tolist() == [16]
    assert len(deeplake.query('SELECT x FROM "mem://named-params" WHERE x < :n', {"n": 4})) == 4
    assert "x < :n" in ds.explain("SELECT x WHERE x < :n", {"n": 4}).text


def test_values_in_turn_by_name(ds):
    near = np.asarray(ds["v"].numpy([3, 7]))
    view = ds.query("SELECT x ORDER BY L2_NORM(v - :to) LIMIT :k", {"k": 1, "to": tql.each(near)})
    assert view.indices.tolist() == [3, 7]
    view.save("turns", replace=True)
    assert ds.load_view("turns").indices.tolist() == [3, 7]


def test_a_dict_stays_the_value_of_a_question_mark(ds):
    assert len(ds.query("SELECT x WHERE meta = ?", {"a": 3})) == 1
    assert len(ds.query("SELECT x WHERE meta = :m", {"m": {"a": 3}})) == 1
    assert len(ds.query("SELECT x", {})) == 20


@pytest.mark.parametrize(
    ("text", "params", "words"),
    [
        ("SELECT x WHERE x > :min", ({"mni": 1},), 'no value for :min; did you mean "mni"?'),
        ("SELECT x WHERE x > :min", ({},), "line 1, column 20: there is no value for :min"),
        ("SELECT x WHERE x > :min", (), "line 1, column 20: there is no value for :min; give it by name"),
        ("SELECT x WHERE x > :min", ({"min": 1, "mn": 2},), 'the value "mn" is unused: the query has no :mn'),
        ("SELECT x WHERE x > :min", (1,), "the parameters have names, as :min, and the values none"),
        ("SELECT x WHERE x > :min", ({"min": 1}, 2), "the parameters have names"),
        ("SELECT x WHERE x > ? AND x < :max", (1, {"max": 1}), "a query has one kind of them"),
        ("SELECT x WHERE x > min", ({"min": 1},), 'the value "min" is unused'),
        ("SELECT v[:n] AS a", ({"n": 1},), "in an index a parameter has parentheses, (:n)"),
        ("SELECT x WHERE x > :min", ({1: 1},), "the name of a parameter is 1, want a str"),
        ("SELECT x WHERE x > :min", ({"min": object()},), "parameter :min is a object of dtype object"),
        ("SELECT x WHERE x > :min", ({"min": 1 << 64},), "parameter :min is 18446744073709551616, beyond"),
        ("SELECT x WHERE x IN :set", ({"set": "a"},), "parameter :set is "),
        ('SELECT x WHERE label = "cat"', (), "for a text value write 'cat'"),
        ("SELECT * EXCLUDE (lable)", (), 'EXCLUDE: there is no column lable; did you mean "label"?'),
    ],
)
def test_refusals(ds, text, params, words):
    with pytest.raises(deeplake.Error) as caught:
        ds.query(text, *params)
    assert words in str(caught.value)
    with pytest.raises(type(caught.value)):
        ds.explain(text, *params)
