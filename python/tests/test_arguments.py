"""Arguments of wrong types: an error of the package that says what was got and what was wanted."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pandas as pd
import pytest
from deeplake._checks import check_ints, integer
from deeplake._data import spec as _spec
from deeplake._show.plot import Plot


@pytest.fixture(scope="module")
def ds() -> Iterator[Any]:
    schema: dict[str, Any] = {"x": {"dtype": "int64"}, "tag": "tag", "word": "text"}
    with deeplake.create("mem://arguments", overwrite=True, schema=schema) as made:
        made.extend({"x": np.arange(4), "tag": [["a", "b"], ["b"], [], ["a"]], "word": ["a", "b", None, ""]})
        made.commit()
        yield made


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ds: ds.split(0.5), "split: fractions is 0.5, want a list of numbers"),
        (lambda ds: ds.split(["a", 0.5]), "want a list of numbers"),
        (lambda ds: ds.filter(5), "filter: fn is a int, want a function of a row"),
        (lambda ds: ds.log(limit="x"), "log: limit is 'x', want an int >= 1"),
        (lambda ds: ds.gc(older_than=7), r"gc: older_than is 7, want a timedelta like timedelta\(days=7\)"),
        (lambda ds: ds.gc(expire="1d"), "gc: expire is '1d'"),
        (lambda ds: ds.rechunk(5), "rechunk: tensors is 5, want a list of names"),
        (lambda ds: setattr(ds, "info", 5), "set info: info is a int, want a dict"),
        (lambda ds: ds.update(0, 5), "update: got int, want a dict"),
        (lambda ds: ds.extend(5), "extend: got int, want a dict of columns"),
        (lambda ds: ds.extend("ab"), "extend: got str"),
        (lambda ds: ds.create_tensor(5), "name is a int, want a str"),
        (lambda ds: ds.create_tensor("k", htype=5), "htype is a int, want a str"),
        (lambda ds: ds.create_tensor("k", quality="high"), "quality is 'high', want an int"),
        (lambda ds: ds.create_tensor("k", shape=3), "shape is 3, want a sequence"),
        (lambda ds: ds.create_tensor("k", shape=(1, "a")), "want ints, and None where an axis varies"),
        (lambda ds: ds.create_tensor("k", class_names=[1]), "class_names has 1, want texts"),
        (lambda ds: ds.create_tensor("k", info=3), "info is a int, want a dict"),
        (lambda ds: ds.create_tensor("k", downsample=3), "downsample is 3, want a sequence"),
        (lambda ds: deeplake.create("mem://wrong", schema=["x"]), "schema is a list, want a dict"),
        (lambda ds: deeplake.create("mem://wrong", schema={"x": 5}), "want an htype or a dict of arguments"),
        (lambda ds: deeplake.create("mem://wrong", schema={"x": {"dtyp": "int8"}}), 'did you mean "dtype"'),
        (lambda ds: ds.query("SELECT * WHERE x IN ?", 5), r"parameter 1 is int64, want a list"),
        (lambda ds: ds.query("SELECT * WHERE x IN ?", ["a", 1]), "want a number, a str, None"),
        (lambda ds: ds.query("SELECT * WHERE 'a' IN tag"), r"CONTAINS\(array, value\)"),
    ],
)
def test_refused(ds: Any, call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(deeplake.InvalidArgumentError, match=message):
        call(ds)
    assert not ds.dirty and not deeplake.exists("mem://wrong")


ODD = [
    np.array([1, 2]), np.array(["x", "word"]), np.array([["x"]]), np.array("x"), np.array([]), np.True_, b"x", {"x"},
    {"x": 1}, object(), float("nan"), -1, 1 << 80, "", "a\0b",
]  # fmt: skip
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "windows of clips": lambda ds, odd: ds.clips("x", length=2, windows=odd),
    "short of clips": lambda ds, odd: ds.clips("x", length=2, short=odd),
    "others of windows": lambda ds, odd: ds.windows({"x": 0}, fps=2, others=odd),
    "step of windows": lambda ds, odd: ds.windows({"x": 0}, fps=2, step=odd),
    "fractions": lambda ds, odd: ds.split(odd),
    "seed of split": lambda ds, odd: ds.split([1], seed=odd),
    "lazy": lambda ds, odd: ds.to_polars(lazy=odd),
    "seed of query": lambda ds, odd: ds.query("SELECT *", seed=odd),
    "images": lambda ds, odd: ds.to_arrow(images=odd),
    "ragged": lambda ds, odd: ds["x"].numpy(ragged=odd),
    "limit": lambda ds, odd: ds.log(limit=odd),
    "keep_last": lambda ds, odd: ds.gc(keep_last=odd, dry_run=True),
    "dry_run": lambda ds, odd: ds.gc(dry_run=odd),
    "data": lambda ds, odd: ds.fsck(data=odd),
    "exist_ok": lambda ds, odd: ds.create_tensor("x", dtype="int64", exist_ok=odd),
    "mode of mix": lambda ds, odd: deeplake.mix([ds, ds], mode=odd),
    "stop of mix": lambda ds, odd: deeplake.mix([ds, ds], stop=odd),
    "length of mix": lambda ds, odd: deeplake.mix([ds, ds], length=odd),
    "value of pad": lambda ds, odd: deeplake.pad(odd),
    "length of pad": lambda ds, odd: deeplake.pad(0, length=odd),
    "bytes of Cache": lambda ds, odd: deeplake.Cache(odd),
    "read": lambda ds, odd: deeplake.read(odd),
}


@pytest.mark.parametrize("name", CALLS)
def test_any_value_is_taken_or_refused_by_the_package(ds: Any, name: str) -> None:
    """No array, whose truth and comparison are errors, leads to an exception of another."""
    for odd in ODD:
        with suppress(deeplake.Error):
            CALLS[name](ds, odd)
    assert not ds.dirty


NAMES: dict[str, Callable[[Any, Any], Any]] = {
    "batches": lambda ds, names: next(iter(ds.batches(4, tensors=names, collate="list"))),
    "mix": lambda ds, names: next(iter(deeplake.mix([ds, ds], tensors=names).batches(2, collate="list"))),
    "to_arrow": lambda ds, names: ds.to_arrow(tensors=names).column_names,
}


@pytest.mark.parametrize("call", NAMES)
@pytest.mark.parametrize("kind", ["list", "array", "objects", "Index", "Series"])
def test_names_come_in_any_collection(ds: Any, call: str, kind: str) -> None:
    given: Any = ["x", "word"]
    if kind in ("array", "objects"):
        given = np.array(given, object if kind == "objects" else None)
    elif kind != "list":
        given = getattr(pd, kind)(given)
    assert list(NAMES[call](ds, given)) == ["x", "word"]
    ds.rechunk(given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([True, False], r"episodes is \[True, False\], want integers; np.flatnonzero\(mask\) has"),
        (np.array([False, True]), "want integers; np.flatnonzero"),
        ([0, True], r"episodes is \[0, True\], want integers; np"),
        (b"0", "episodes is b'0', want integers"),
        (bytearray(b"0"), "want integers"),
        ("01", "episodes is '01', want integers"),
        ([0.0], r"episodes is \[0.0\], want integers$"),
        (3, "episodes is 3, want integers"),
        ([1 << 63], "beyond 64 bits"),
    ],
)
def test_numbers_are_no_mask_and_no_text(given: Any, message: str) -> None:
    with pytest.raises(deeplake.InvalidArgumentError, match=message):
        check_ints("ingest", "episodes", given)
    with pytest.raises(deeplake.InvalidArgumentError, match=message):
        deeplake.ingest("nowhere", "mem://wrong", episodes=given)


def test_integers_of_others_are_taken() -> None:
    for given in ([0, 2], (0, 2), range(0, 4, 2), np.array([0, 2], np.uint8), {0: "", 2: ""}):
        assert check_ints("ingest", "episodes", given) == [0, 2]
    assert integer(np.int8(3)) == 3 and integer(np.array(3)) == 3 and integer(np.array([3])) is None


PIPES = """
import deeplake, os, sys

path = sys.argv[1]
for name in ("p", "p.npy", "p.npz", "p.h5", "p.tar", "p.mp4", "p.csv"):
    os.mkfifo(os.path.join(path, name))
os.makedirs(os.path.join(path, "robots", "meta"))
os.mkfifo(os.path.join(path, "robots", "meta", "info.json"))
for name in ("p", "p.npy", "p.npz", "p.h5", "p.tar", "p.mp4", "p.csv", "robots"):
    calls = [lambda at: deeplake.ingest(at, "mem://pipe", verbose=False)]
    for call in calls + [deeplake.read] * (name == "p"):
        try:
            call(os.path.join(path, name))
        except deeplake.InvalidArgumentError as err:
            print("regular" if "not a regular file" in str(err) else "refused")
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_nobody_waits_for_a_pipe(tmp_path: Path) -> None:
    """In a process of its own, which a time limit ends."""
    command = [sys.executable, "-c", PIPES, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["regular"] * 8 + ["refused"], done.stdout + done.stderr
    for device in ("/dev/null", "/dev/zero"):
        with pytest.raises(deeplake.InvalidArgumentError, match="not a regular file but a device"):
            deeplake.read(device)


def test_files_that_cannot_be_written(ds: Any, tmp_path: Path) -> None:
    loader = {"batch_size": 2, "tensors": ["x"]}
    for path, error, text in (
        (tmp_path / "no" / "x.png", FileNotFoundError, 'there is no folder ".*no"; make it'),
        (tmp_path, OSError, "Is a directory"),
        (5, ValueError, "path is a int, want the path"),
        ("a\0b", ValueError, "want the path of a file"),
    ):
        with pytest.raises(deeplake.Error, match=text) as caught:
            Plot(b"png", 1).save(path)  # type: ignore[arg-type]
        assert isinstance(caught.value, error)
        with pytest.raises(deeplake.InvalidArgumentError, match="trace is"):
            ds.batches(**loader, trace=path)
    (tmp_path / "shut").mkdir()
    trace = tmp_path / "shut" / "t.json"
    batches = ds.batches(**loader, trace=trace)
    (tmp_path / "shut").rmdir()
    with pytest.raises(deeplake.NotFoundError, match="write trace to"):
        list(batches)


def test_a_schema_takes_the_arguments_of_create_tensor() -> None:
    arguments = list(inspect.signature(deeplake.Dataset.create_tensor).parameters)
    assert arguments == ["self", "name", *_spec._ARGUMENTS]


@pytest.mark.parametrize("condition", ["tag = 'a'", "tag != 'a'", "tag IN ('a')", "tag LIKE 'a'", "'a' = tag"])
def test_a_tag_is_a_list(ds: Any, condition: str) -> None:
    with pytest.raises(deeplake.TensorTypeError, match=r"CONTAINS\(tag, 'x'\)"):
        ds.query(f"SELECT * WHERE {condition}")
    assert ds.query("SELECT * WHERE CONTAINS(tag, 'a')").indices.tolist() == [0, 3]


def test_lists_as_parameters(ds: Any) -> None:
    for numbers in ([1, 3, 9], (1, 3), {1, 3}, np.array([3, 1], np.uint8), range(1, 4, 2)):
        assert ds.query("SELECT * WHERE x IN ?", numbers).indices.tolist() == [1, 3], numbers
    for words in (["a", ""], ("", "a", "z"), {"a", ""}, np.array(["a", ""])):
        assert ds.query("SELECT * WHERE word IN ?", words).indices.tolist() == [0, 3], words
    assert len(ds.query("SELECT * WHERE x IN ?", [])) == 0 == len(ds.query("SELECT * WHERE word IN ?", []))
    assert ds.query("SELECT * WHERE x NOT IN ?", [1]).indices.tolist() == [0, 2, 3]


def test_a_saved_view_keeps_a_list(ds: Any) -> None:
    ds.query("SELECT * WHERE word IN ? AND x IN ?", ["a", "b"], [1, 2]).save("lists")
    view = ds.load_view("lists")
    assert view.indices.tolist() == [1]
    ds.delete_view("lists")


def test_statistics_serve_lists() -> None:
    with deeplake.create("mem://arguments-zones", overwrite=True, schema={"x": {"dtype": "int64"}}) as ds:
        for start in (0, 1000, 2000):
            ds.extend({"x": np.arange(start, start + 1000)})
            ds.commit()
        assert "2 of 3 chunks left out" in str(ds.explain("SELECT * WHERE x IN ?", [1001, 1500]))
        assert ds.query("SELECT * WHERE x IN ?", [1001, 1500]).indices.tolist() == [1001, 1500]


def test_masked_arrays_are_refused(ds: Any) -> None:
    masked = np.ma.masked_array(np.arange(3), [0, 1, 0])
    for row in ({"x": masked}, {"x": [masked[0], masked, masked[2]]}):
        with pytest.raises(deeplake.TensorTypeError, match="masked values"):
            ds.extend({**row, "tag": [[]] * 3, "word": [""] * 3})
    full = np.ma.masked_array(np.arange(3), False)
    ds.extend({"x": full, "tag": [[]] * 3, "word": [""] * 3})
    assert ds["x"][-3:].tolist() == [0, 1, 2]
    ds.discard()


def test_no_rows_are_an_array() -> None:
    schema: dict[str, Any] = {"x": {"dtype": "int64"}, "image": "image", "word": "text", "open": {}}
    with deeplake.create("mem://arguments-empty", overwrite=True, schema=schema) as ds:
        assert ds["x"].numpy().dtype == np.int64 and ds["x"].numpy().shape == (0,)
        assert ds["image"].numpy().dtype == np.uint8 and ds["image"].numpy().shape[0] == 0
        assert ds["word"].numpy() == [] == ds["open"].numpy()


def test_a_file_is_no_dataset(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    assert not deeplake.exists(file) and not deeplake.exists(file / "below")
    with pytest.raises(deeplake.NotFoundError, match="not a directory"):
        deeplake.open(file)
    with pytest.raises(deeplake.InvalidArgumentError, match="not a directory"):
        deeplake.create(file)


def test_a_loader_is_no_dataset(ds: Any) -> None:
    data = pytest.importorskip("torch").utils.data
    with pytest.raises(deeplake.UnsupportedError, match="torch_dataset"):
        next(iter(data.DataLoader(ds.pytorch(batch_size=2, tensors=["x"]))))


def test_rows_without_a_list() -> None:
    schema: dict[str, Any] = {
        "q": {"htype": "sequence[generic]", "dtype": "int64"},
        "open": "sequence[generic]",
        "polygon": "polygon",
        "words": "sequence[text]",
    }
    corners = np.zeros((3, 2), np.float32)
    with deeplake.create("mem://arguments-lists", overwrite=True, schema=schema) as ds:
        ds.append(dict.fromkeys(schema))
        ds.extend(
            {
                "q": [[1, 2], None, []],
                "open": [[1.5], None, []],
                "polygon": [[corners], None, []],
                "words": [["a"], None, []],
            }
        )
        ds.commit()
        for name in schema:
            assert [value is None for value in ds[name].numpy()] == [True, False, True, False], name
        assert (
            ds["q"][1] == [1, 2] and ds["open"][1] == [1.5] and ds["open"].dtype == "float64" and ds["words"][3] == []
        )
        with pytest.raises(deeplake.TensorTypeError, match="None in its list"):
            ds.append({"q": [None], "open": [], "polygon": [], "words": []})
        ds.discard()


def test_rows_need_all_tensors(ds: Any) -> None:
    with pytest.raises(deeplake.InvalidArgumentError, match='row 1 has no value for tensor "tag"'):
        ds.extend([{"x": 1, "tag": [], "word": ""}, {"x": 2, "word": None}])
    with pytest.raises(deeplake.InvalidArgumentError, match="the row is empty"):
        ds.append({})
    for rows, options in (([{}, {}], {}), (iter([{}]), {}), ([{}], {"on": "x"})):
        with pytest.raises(deeplake.InvalidArgumentError, match="row 0 is empty; give None"):
            ds.extend(rows, **options)
    assert not ds.dirty
    with deeplake.create("mem://arguments-empty", overwrite=True, schema={"x": {"dtype": "int64"}}) as other:
        other.extend([{}, {"x": 1}, {}])
        other.extend([])
        assert [row["x"] for row in other] == [None, 1, None]
        other.discard()


def test_settings(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(deeplake.InvalidArgumentError, match="which is a file; want a folder"):
        deeplake.Storage(cache_dir=tmp_path / "file")
    with pytest.raises(deeplake.InvalidArgumentError, match="cache_bytes is -1, want an int >= 0"):
        deeplake.Storage(cache_bytes=-1)


def test_missing_datasets(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none"):
        with pytest.raises(deeplake.NotFoundError, match="there is no dataset"):
            deeplake.open(place)
