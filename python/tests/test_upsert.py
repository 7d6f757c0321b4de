"""`extend(rows, on=...)` beside a dict of rows, and samples that are replaced by None."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from typing import Any

import deeplake
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from PIL import Image


def fresh(**tensors: Any) -> deeplake.Dataset:
    return deeplake.create(f"mem://upsert-{uuid.uuid4().hex}", schema=tensors)


CARRIERS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "columns": lambda columns: columns,
    "rows": lambda columns: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    "arrow": pa.table,
    "chunks": lambda columns: pa.concat_tables([pa.table(columns).slice(0, 1), pa.table(columns).slice(1)]),
    "polars": pl.DataFrame,
    "polars columns": lambda columns: {name: pl.Series(values) for name, values in columns.items()},
    "pandas": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas columns": lambda columns: {name: pd.Series(values).convert_dtypes() for name, values in columns.items()},
}


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("key", ["id", "name"])
def test_rows_by_key(carrier: str, key: str) -> None:
    ds = fresh(id={"dtype": "int32"}, name="text", score={"dtype": "float64"}, label="class_label")
    ds.extend({"id": [3, 1, 2], "name": ["three", "one", "two"], "score": [0.3, 0.1, 0.2], "label": ["a", "b", "a"]})
    ds.commit()
    other = "name" if key == "id" else "id"
    rows = {"id": [2, 4, 3], "name": ["two", "four", "three"], "score": [2.0, 4.0, None]}
    done = ds.extend(CARRIERS[carrier](rows), on=key)
    assert done == (2, 1, 0) and (done.updated, done.appended, done.skipped) == (2, 1, 0)
    assert list(ds["id"][:]) == [3, 1, 2, 4] and list(ds["name"][:]) == ["three", "one", "two", "four"]
    assert [row["score"] for row in ds] == [None, 0.1, 2.0, 4.0]
    assert [row["label"] for row in ds] == [0, 1, 0, None]
    assert other in ds.tensors
    ds.commit()
    assert ds.extend(
        CARRIERS[carrier]({"id": [9, 1], "name": ["nine", "one"], "score": [9.0, 1.0]}), on=key, matched="skip"
    ) == (0, 1, 1)
    assert ds.extend(
        CARRIERS[carrier]({"id": [8, 1], "name": ["eight", "one"], "score": [8.0, 1.0]}), on=key, unmatched="skip"
    ) == (1, 0, 1)
    assert list(ds["id"][:]) == [3, 1, 2, 4, 9] and ds["score"][1] == 1.0


SAMPLES: dict[str, Callable[[int, int], list[Any]]] = {
    "a": lambda k, step: [None, k * 10 + step],
    "t": lambda k, step: [None, "", f"{k} {step}"],
    "v": lambda k, step: [None, np.full(step % 3, k, np.float32)],
    "s": lambda k, step: [None, [], [str(k), str(step)]],
}


def test_random_upserts() -> None:
    """Uncommitted and committed rows, deletions, new tensors and several branches of one history."""
    r = random.Random(7)
    ds = fresh(k={"dtype": "int64"}, a={"dtype": "int64"}, t="text", v={"dtype": "float32"}, s="sequence[text]")
    want: dict[int, dict[str, Any]] = {}
    for step in range(60):
        keys = r.sample(range(60), r.randrange(1, 12))
        names = r.sample(["a", "t", "v", "s"], r.randrange(0, 5))
        columns: dict[str, Any] = {"k": keys}
        for name in names:
            columns[name] = [r.choice(SAMPLES[name](k, step)) for k in keys]
        done = ds.extend(columns, on="k")
        assert done == (sum(k in want for k in keys), sum(k not in want for k in keys), 0)
        for at, k in enumerate(keys):
            want.setdefault(k, dict.fromkeys("atvs")).update({name: columns[name][at] for name in names})
        if r.random() < 0.4:
            gone = r.choice(list(want))
            ds.delete(list(want).index(gone))
            del want[gone]
        if r.random() < 0.5:
            ds.commit()
        assert ds["k"][:].tolist() == list(want)
        for name in "ats":
            got = [row[name] for row in ds]
            assert [None if g is None else list(g) if name == "s" else g for g in got] == [
                w[name] for w in want.values()
            ]
        for row, w in zip(ds, want.values(), strict=True):
            assert (row["v"] is None) == (w["v"] is None) and (w["v"] is None or np.array_equal(row["v"], w["v"]))
    assert ds.fsck()


def test_a_new_tensor_is_filled_by_key() -> None:
    ds = fresh(path="text")
    ds.extend({"path": [f"{k}.jpg" for k in range(5)]})
    ds.commit()
    ds.create_tensor("score", dtype="float32")
    assert ds.extend({"path": ["3.jpg", "x.jpg", "0.jpg"], "score": [0.3, 0.9, 0.0]}, on="path", unmatched="skip") == (
        2,
        0,
        1,
    )
    assert [row["score"] for row in ds] == [np.float32(0), None, None, np.float32(0.3), None]


@pytest.mark.parametrize(
    ("rows", "options", "match"),
    [
        ({"a": [1]}, {"on": "k"}, 'no column "k", which is the key; they have "a"'),
        ({"k": [1], "a": [1]}, {"on": "q"}, 'no tensor "q"'),
        ({"k": [1, 1], "a": [1, 2]}, {"on": "k"}, "rows 0 and 1 have the same key 1"),
        ({"k": [1, None], "a": [1, 2]}, {"on": "k"}, "row 1 has the key None"),
        ({"k": [1.5], "a": [1]}, {"on": "k"}, r"row 0 has the key 1\.5 .*want an int"),
        ({"k": [True], "a": [1]}, {"on": "k"}, "row 0 has the key True"),
        ({"k": [1], "a": [1, 2]}, {"on": "k"}, 'column "a" has 2 values, and the key "k" 1'),
        ({"k": [5], "a": [1]}, {"on": "k", "matched": "error"}, "row 0 has the key 5, which is in the dataset"),
        ({"k": [6], "a": [1]}, {"on": "k", "unmatched": "error"}, "row 0 has the key 6, which the dataset lacks"),
        ({"k": [6], "a": [1]}, {"on": "k", "matched": "replace"}, "matched is 'replace', want"),
        ({"k": [7], "a": [1]}, {"on": "k"}, "rows 1 and 2 of the dataset have the same key 7"),
        ({"a": [1], "k": [1]}, {"on": "a"}, 'the key "a" has htype generic and dtype float64'),
        ({"c": ["x"]}, {"on": "c"}, 'the key "c" has htype class_label'),
        ({"k": [5, 8], "a": ["x", "y"]}, {"on": "k"}, 'tensor "a"'),
        ({"k": [5], "a": [1], "c": [None], "p": [None]}, {"matched": "skip"}, "need on="),
        ({"k": np.array([1, 1]), "a": [1, 2]}, {"on": "k"}, "have the same key 1 in"),
        ({"k": 5, "a": 1}, {"on": "k"}, 'column "k" is of type int, want an array'),
        ({"k": "5", "a": "1"}, {"on": "k"}, 'column "k" is of type str'),
        ({"k": [5, 8], "nothing": [1, 2]}, {"on": "k"}, "nothing"),
        ({"k": [5, 8], "p": [np.zeros((2, 2, 3), np.uint8), "no picture"]}, {"on": "k"}, "p"),
    ],
)  # fmt: skip
def test_refusals_change_nothing(rows: dict[str, Any], options: dict[str, Any], match: str) -> None:
    ds = fresh(k={"dtype": "int64"}, a={"dtype": "float64"}, c="class_label", p="image.rgb")
    ds.extend({"k": [5, 7, 7, None], "a": [0.5, 0.7, 0.7, None], "c": [None] * 4, "p": [None] * 4})
    before = ds.to_arrow()
    with pytest.raises(deeplake.Error, match=match):
        ds.extend(rows, **options)
    assert ds.to_arrow().equals(before)
    ds.commit()
    with pytest.raises(deeplake.Error, match=match):
        ds.extend(rows, **options)
    assert ds.to_arrow().equals(before) and not ds.dirty


@pytest.mark.parametrize("rows", [[], {}, iter(()), {"k": []}, pa.table({"k": pa.array([], pa.int64())})])
def test_batches_without_rows(rows: Any) -> None:
    ds = fresh(k={"dtype": "int64"})
    ds.extend({"k": [1]})
    assert ds.extend(rows, on="k") == (0, 0, 0) and len(ds) == 1
    ds.discard()


def test_keys_beyond_the_dtype() -> None:
    ds = fresh(k={"dtype": "uint8"}, a={"dtype": "int64"})
    ds.extend({"k": [1, None], "a": [1, 2]})
    with pytest.raises(deeplake.Error, match="300"):
        ds.extend({"k": [300, 1], "a": [3, 4]}, on="k")
    assert ds.extend({"k": [1], "a": [9]}, on="k") == (1, 0, 0)
    assert [row["a"] for row in ds] == [9, 2]
    ds.discard()


def test_many_rows() -> None:
    n = 400_000
    ds = fresh(k={"dtype": "int64"}, a={"dtype": "int64"})
    ds.extend({"k": np.arange(n) * 2, "a": np.arange(n)})
    ds.commit()
    keys = np.arange(0, 3 * n, 3)
    done = ds.extend({"k": keys, "a": -keys}, on="k")
    known = (keys % 2 == 0) & (keys < 2 * n)
    assert done == (known.sum(), (~known).sum(), 0)
    ds.commit()
    k, a = ds["k"][:], ds["a"][:]
    assert len(np.unique(k)) == len(k) == n + (~known).sum()
    assert (a[k % 3 == 0] == -k[k % 3 == 0]).all() and (a[:n][k[:n] % 3 != 0] == k[:n][k[:n] % 3 != 0] // 2).all()


def picture(seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 255, (9, 7, 3), dtype=np.uint8)


def test_samples_are_replaced_by_none(tmp_path: Any) -> None:
    place = str(tmp_path / "ds")
    ds = deeplake.create(
        place,
        schema={
            "p": {"htype": "image.rgb", "compression": "png", "downsample": (2, 1)},
            "t": "text",
            "x": {"dtype": "int64"},
        },
    )
    ds.extend({"p": [picture(k) for k in range(20)], "t": [str(k) for k in range(20)], "x": np.arange(20)})
    first = ds.commit()
    ds["p"][3] = None
    ds.update([1, 3, 5], {"t": ["new", None, None], "x": [None, 30, None]})
    ds["x"][5:8] = [50, None, 70]
    ds["x"][7] = None
    ds["x"][6] = 66
    want = {"t": [str(k) for k in range(20)], "x": list(range(20))}
    want["t"][1], want["t"][3], want["t"][5] = "new", None, None
    want["x"][1], want["x"][3], want["x"][5], want["x"][6], want["x"][7] = None, 30, 50, 66, None
    for state in ("uncommitted", "committed", "opened"):
        for name, values in want.items():
            assert [row[name] for row in ds] == values, state
        assert ds[3]["p"] is None and np.array_equal(ds[4]["p"], picture(4))
        assert ds.query("SELECT x WHERE x IS NULL").rows.tolist() == [1, 7]
        assert ds.to_arrow()["t"].null_count == 2
        if state == "uncommitted":
            ds.commit()
        elif state == "committed":
            ds = deeplake.open(place)
    ds.restore(first.id)
    assert [row["x"] for row in ds] == list(range(20)) and np.array_equal(ds[3]["p"], picture(3))
    assert ds.fsck()
    Image.fromarray(ds[3]["p"]).verify()
