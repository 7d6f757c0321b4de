"""Refused queries, after which the library still works: odd exceptions, texts, parameters and results."""

from __future__ import annotations

import datetime
import subprocess
import sys

import deeplake
import numpy as np
import pytest
from deeplake import tql


@pytest.fixture
def ds():
    ds = deeplake.create("mem://refusals", overwrite=True)
    ds.create_tensor("x", dtype="int64")
    ds.create_tensor("v", dtype="float32")
    ds.extend({"x": np.arange(20), "v": np.arange(60, dtype=np.float32).reshape(20, 3)})
    ds.commit()
    yield ds
    assert len(ds.query("SELECT x WHERE x < 3")) == 3  # whatever was refused


@pytest.fixture
def give(ds):
    """Returns the values of a function of x."""

    def ask(fn, **options):
        tql.register("GIVE", fn, overwrite=True, **options)
        return ds.query("SELECT GIVE(x) AS y")["y"]

    yield ask
    tql.unregister("GIVE")


# --- exceptions of functions


class UnprintableError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class NamelessError(Exception):
    def __str__(self):
        return 3  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        (UnprintableError(), "raised UnprintableError: a message that cannot be made"),
        (NamelessError(), "raised NamelessError: a message that cannot be made"),
        (ValueError("half \ud800 of it"), r"raised ValueError: half \ud800 of it"),
        (ValueError("a" * 100_000), "raised ValueError: aaaa"),
        (ValueError("é" * 100_000), "raised ValueError: éééé"),
        (ValueError("nul \0 within"), "raised ValueError: nul   within"),
        (KeyError("k"), "raised KeyError: 'k'"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_odd_exceptions(give, raised, words):
    def fails(x):
        raise raised

    with pytest.raises(deeplake.InvalidArgumentError) as caught:
        give(fails)
    assert words in str(caught.value) and 'call function "GIVE"' in str(caught.value)
    assert caught.value.__cause__ is raised
    assert len(str(caught.value)) < 2000
    assert give(lambda x: x * 2.0)[3] == 6


def test_exceptions_that_ask_when_they_go():
    """What functions raised is kept for a while; when it goes, its `__del__` may ask, and raise more of it."""
    code = """
import deeplake, numpy as np
from deeplake import tql
ds = deeplake.create("mem://going", overwrite=True)
ds.create_tensor("x", dtype="int64")
ds.extend({"x": np.arange(200_000)})
ds.commit()
class Asks(Exception):
    gone = 0
    def __del__(self):
        Asks.gone += 1
        try:
            ds.query("SELECT x WHERE OTHER(x) > 0")
        except deeplake.InvalidArgumentError:
            pass
def fails(x):
    raise Asks()
def other(x):
    raise ValueError("other")
tql.register("FAILS", fails)
tql.register("OTHER", other)
for _ in range(100):
    try:
        ds.query("SELECT x WHERE FAILS(x) > 0", threads=4)
    except deeplake.InvalidArgumentError:
        pass
assert Asks.gone >= 50, Asks.gone
assert len(ds.query("SELECT x WHERE x < 3")) == 3
print("fine")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "fine\n", done.stderr


# --- texts


@pytest.mark.parametrize("text", ["SELECT x\0", "\0", "SELECT '\ud800'", "SELECT x WHERE '\udfff' = 'a'"])
def test_texts_that_are_none(ds, text):
    for ask in (ds.query, ds.explain, deeplake.query, ds.query("SELECT x").explain):
        with pytest.raises(deeplake.InvalidArgumentError, match="text without NUL and without half a character"):
            ask(text)
    view = ds.query("SELECT x")
    for name in (text, 3):
        with pytest.raises(deeplake.InvalidArgumentError, match="save view: name is"):
            view.save(name)
        with pytest.raises(deeplake.InvalidArgumentError, match="load view: name is"):
            ds.load_view(name)
        with pytest.raises(deeplake.InvalidArgumentError, match="materialize: message is"):
            view.materialize("mem://refusals-copy", message=name)
    assert ds.views() == []


# --- parameters of saved views


@pytest.mark.parametrize(
    "value",
    [
        np.timedelta64(90, "m"),
        np.timedelta64(3, "D"),
        np.timedelta64("NaT", "s"),
        np.datetime64("2024-02-29T12:34:56.789"),
        np.datetime64("2024-02-29"),
        np.datetime64("NaT"),
        np.datetime64("NaT", "us"),
        datetime.date(2024, 2, 29),
        datetime.datetime(2024, 2, 29, 12, 34, 56, 789),
        datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
        datetime.timedelta(days=-1, microseconds=7),
        float("nan"),
        float("-inf"),
        {"a": [1, None, {"b": "é"}]},
        b"\0\xff",
        np.zeros((0, 3), np.float32),
        np.array([[True], [False]]),
    ],
    ids=lambda value: f"{type(value).__name__} {value}",
)
def test_saved_parameters(ds, value):
    text = "SELECT x, ? AS p WHERE x < 2"
    ds.query(text, value).save("p")
    want, got = ds.query(text, value), ds.load_view("p")
    assert got.schema["p"] == want.schema["p"]
    for a, b in zip(got["p"][:], want["p"][:], strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_saved_search_of_many(ds):
    view = ds.query("SELECT x ORDER BY L2_NORM(v - ?) LIMIT 2", tql.each(np.float32([[1, 2, 3], [50, 50, 50]])))
    view.save("many")
    assert ds.load_view("many")["x"][:].tolist() == view["x"][:].tolist()
    computed = ds.query("SELECT L2_NORM(v - ?) AS d ORDER BY d LIMIT 2", tql.each([[1, 2, 3], [50, 50, 50]]))
    computed.save("computed")
    assert ds.load_view("computed")["d"][:].tolist() == computed["d"][:].tolist()


@pytest.mark.parametrize("values", [3, [], "ab", [[1, 2], [3]], [1 + 2j], None, np.float32(2)])
def test_what_each_does_not_take(ds, values):
    with pytest.raises(deeplake.InvalidArgumentError, match=r"each:|in turn"):
        ds.query("SELECT x ORDER BY L2_NORM(v - ?) LIMIT 2", tql.each(values))


def test_what_loaded_views_were(ds):
    ds.query("SELECT x, v WHERE x % 2 = ?", 1).save("rows")
    ds.query("SELECT x + ? AS y", 5).save("computed")
    rows, computed = ds.load_view("rows"), ds.load_view("computed")
    assert rows.text == "SELECT x, v WHERE x % 2 = ?" and "%" in str(rows.explain())
    assert "?" in computed.text and "x" in str(computed.explain())
    assert "x > 3" in str(rows.explain("SELECT x WHERE x > 3"))
    assert str(rows.explain("")) == str(rows.explain())
    for view in (rows, computed):
        assert view.explain(analyze=True).plan["done"]
        with pytest.raises(deeplake.InvalidArgumentError, match="parameters and no query"):
            view.explain("", 3)
    with pytest.raises(deeplake.InvalidArgumentError):
        rows.explain("", 3)


# --- results of functions


@pytest.mark.parametrize(
    ("returns", "value"),
    [
        ("int64", np.uint64(1 << 63)),
        ("uint8", -1),
        ("uint8", 256),
        ("int8", 128),
        ("uint64", -1),
        ("int32", 1 << 31),
        ("uint8", [1, -1]),
    ],
)
def test_integers_that_do_not_fit(give, returns, value):
    shape = np.shape(value)
    for fn in (
        lambda x: np.array([value] * len(x)),
        lambda x: [None, *[np.asarray(value)] * (len(x) - 1)],
    ):
        with pytest.raises(deeplake.InvalidArgumentError, match=r"it returned (numbers of .* to|dtype)"):
            give(fn, returns=returns, shape=shape)


def test_integers_that_fit(give):
    assert give(lambda x: np.full(len(x), 255, np.uint16), returns="uint8")[0] == 255
    assert give(lambda x: np.full(len(x), (1 << 63) - 1, np.uint64), returns="int64")[0] == (1 << 63) - 1
    assert give(lambda x: np.full(len(x), -128), returns="int8")[0] == -128


@pytest.mark.parametrize("result", [np.array(3.0), np.float64(3), np.array("a"), 3, object(), {}, "ab", b"ab"])
def test_results_without_rows(give, result):
    with pytest.raises(deeplake.InvalidArgumentError, match=r'"GIVE": it returned'):
        give(lambda x: result)


# --- registering


def test_words_of_the_language():
    for name in ("select", "Where", "EXTRACT", "cast", "CASE", "exists", "ARRAY", "in", "AND"):
        with pytest.raises(deeplake.InvalidArgumentError, match="a word of the language"):
            tql.register(name, np.abs)
    for name in ("left", "RIGHT", "all"):  # words and functions
        with pytest.raises(deeplake.AlreadyExistsError, match="built-in"):
            tql.register(name, np.abs)


@pytest.mark.parametrize("shape", [(True,), (1.5,), ("3",), 3, (-1,), (None, -2), (1,) * 33, "ab"])
def test_shapes(shape):
    with pytest.raises(deeplake.InvalidArgumentError, match="shape is"):
        tql.register("SHAPED", np.abs, shape=shape)


def test_names_to_forget():
    for name in (3, None, b"x"):
        with pytest.raises(deeplake.InvalidArgumentError, match="want a str"):
            tql.unregister(name)
    with pytest.raises(deeplake.NotFoundError):
        tql.unregister("\ud800")
