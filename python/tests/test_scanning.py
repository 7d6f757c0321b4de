"""Views as datasets of pyarrow and frames of polars: what engines do not name is not read."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deeplake
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from deeplake._hosts.scanning import conditions

ROWS = 60_000
TEXTS = ["", "a", "it's", 'say "x"', "back\\slash", "ünï", "a and b", "(a == 5)", "with_under"]


def made(place: Any) -> deeplake.Dataset:
    schema = {
        "id": {"dtype": "int64"},
        "small": {"dtype": "uint8"},
        "score": {"dtype": "float64"},
        "text": "text",
        "kind": {"htype": "class_label", "class_names": ["cat", "dog"]},
        "meta": "json",
        "picture": "image.rgb",
    }
    ds = deeplake.create(place, schema=schema)
    r = np.random.default_rng(0)
    for start in range(0, ROWS, ROWS // 3):
        ids = np.arange(start, start + ROWS // 3)
        ds.extend({
            "id": ids,
            "small": [None if k % 11 == 3 else np.uint8(k % 200) for k in ids],
            "score": np.where(ids % 13 == 0, np.nan, r.normal(size=len(ids))),
            "text": [None if k % 9 == 5 else TEXTS[k % len(TEXTS)] for k in ids],
            "kind": ids % 2,
            "meta": [{"k": int(k % 5)} for k in ids],
            "picture": [None] * len(ids),
        })  # fmt: skip
        ds.commit()
    return ds


@pytest.fixture(scope="module")
def ds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[deeplake.Dataset]:
    with made(tmp_path_factory.mktemp("scanning") / "ds") as out:
        yield out


QUERIES = [
    "SELECT count(*), sum(id) FROM {0}",
    "SELECT kind, count(*), min(text) FROM {0} WHERE id > 50000 GROUP BY kind ORDER BY kind",
    "SELECT id, text FROM {0} WHERE text = 'it''s' AND id < 900 ORDER BY id",
    "SELECT count(*) FROM {0} WHERE text = 'say \"x\"' OR small IN (1, 2, 199)",
    "SELECT count(*) FROM {0} WHERE small IS NULL AND id BETWEEN 100 AND 200",
    "SELECT count(*) FROM {0} WHERE score > 2.5 AND small <= 7",
    "SELECT count(*) FROM {0} WHERE NOT (id >= 100)",
    "SELECT count(*) FROM {0} WHERE kind = 'dog' AND id < 11",
    "SELECT a.id FROM {0} a JOIN {0} b ON a.id = b.id + 1 WHERE b.id < 5 ORDER BY a.id",
    "SELECT id FROM {0} WHERE id < 10 LIMIT 3",
]


@pytest.mark.parametrize("query", QUERIES)
def test_duckdb_pushes_down(ds: deeplake.Dataset, query: str) -> None:
    table = pa.table(ds)
    assert ds.to_pyarrow_dataset().schema == table.schema
    assert answer(query, ds.to_pyarrow_dataset()) == answer(query, table)
    evens = table.filter(pc.equal(pc.bit_wise_and(table["id"], 1), 0))
    assert answer(query, ds.query("SELECT * WHERE id % 2 = 0").to_pyarrow_dataset()) == answer(query, evens)


def answer(query: str, rows: Any) -> list[Any]:
    """Returns rows of DuckDB, which finds `rows` by its name."""
    assert rows is not None
    return duckdb.sql(query.format("rows")).fetchall()


def filters(r: random.Random) -> Any:
    """Returns a random condition of pyarrow."""
    field = r.choice(["id", "small", "text", "score"])
    value = {
        "id": pa.scalar(r.choice([0, 5, 19_999, 20_000, ROWS, -(10**17)])),
        "small": pa.scalar(r.randrange(256), pa.uint8()),
        "text": r.choice([*TEXTS, "z"]),
        "score": r.choice([0.1 + 0.2, -1.5, float("inf")]),
    }[field]
    f = pc.field(field)
    one = r.choice(
        [f == value, f != value, f < value, f >= value, f.is_valid(), f.is_null(), f.isin([value]), ~(f > value)]
    )
    while r.random() < 0.5:
        other = filters(r)
        one = r.choice([one & other, one | other, other & one])
    return one


def test_filters_keep_what_pyarrow_keeps(ds: deeplake.Dataset) -> None:
    rows, table = ds.to_pyarrow_dataset(), pa.table(ds)
    r = random.Random(0)
    pushed = 0
    for _ in range(80):
        condition = filters(r)
        pushed += bool(conditions(str(condition), {"id": "int", "small": "int", "text": "text"}))
        want = table.filter(condition)
        assert rows.count_rows(condition) == len(want), str(condition)
        got = rows.to_table(columns=["id"], filter=condition)["id"]
        assert got.to_pylist() == want["id"].to_pylist(), str(condition)
    assert pushed > 15


def test_conditions() -> None:
    kinds = {"id": "int", "text": "text"}
    for text, want in {
        "(id > 5)": ['"id" > 5'],
        "((id > 5) and (id != -7))": ['"id" > 5', '"id" <> -7'],
        '(((id >= 1) and (text == "a and b")) and is_valid(id))': ['"id" >= 1', "\"text\" = 'a and b'"],
        "((id > 5) or (id < 2))": [],
        "invert((id > 5))": [],
        "((id > 5) and ((id < 9) or (id == 2)))": ['"id" > 5'],
        "(id > 5.5)": [],
        "(id > 99999999999999999999)": [],
        '(id == "5")': [],
        "(text == 5)": [],
        "(other > 5)": [],
        '(text == "it\'s")': [],
        '(text == "\\" or 1 == 1")': [],
        '(text == "a) and (id == 5")': [],
        '((text == "(((") and (id > 5))': ['"id" > 5'],
        "(id > 5": [],
        "": [],
    }.items():
        assert conditions(text, kinds) == want, text


def test_other_columns_and_chunks_are_not_read(tmp_path: Path) -> None:
    """Chunks are damaged one by one: queries that need others do not notice."""
    with made(tmp_path / "ds") as ds:
        before = {f: f.read_bytes() for f in (tmp_path / "ds").rglob("*") if f.is_file() and f.stat().st_size > 100_000}
    answers = {
        "SELECT sum(id) FROM rows": 0,
        "SELECT count(DISTINCT text) FROM rows": 0,
        "SELECT sum(score) FROM rows WHERE id < 1000": 0,
    }
    for file, data in before.items():
        damaged = bytearray(data)
        damaged[len(data) // 2] ^= 0xFF
        file.chmod(0o644)
        file.write_bytes(damaged)
        with deeplake.open(tmp_path / "ds") as ds:
            rows = ds.to_pyarrow_dataset()
            assert rows.schema.names
            for query in answers:
                try:
                    duckdb.sql(query).fetchall()
                except Exception as err:
                    assert "checksum" in str(err)
                    answers[query] += 1
        file.write_bytes(data)
    assert len(before) >= 6  # chunks of id and score of each commit
    assert answers["SELECT sum(id) FROM rows"] == 3
    assert answers["SELECT sum(score) FROM rows WHERE id < 1000"] <= 2  # of the first commit


def test_methods_of_pyarrow(ds: deeplake.Dataset) -> None:
    rows, table = ds.to_pyarrow_dataset(), pa.table(ds)
    assert isinstance(rows, pads.Dataset)
    plain = [name for name in table.column_names if name != "score"]  # has NaN
    assert rows.to_table(plain).equals(table.select(plain)) and rows.head(5, plain).equals(table.select(plain)[:5])
    assert rows.count_rows() == ROWS and rows.take([9, 2])["id"].to_pylist() == [9, 2]
    assert rows.take([0, 1], filter=pc.field("id") > 7)["id"].to_pylist() == [8, 9]
    assert rows.to_table(columns={"twice": pc.field("id") * 2})["twice"][4].as_py() == 8
    assert max(len(batch) for batch in rows.to_batches(batch_size=100)) <= 100
    assert ds.to_pyarrow_dataset(tensors=["picture", "id"]).schema.names == ["picture", "id"]
    assert pickle.loads(pickle.dumps(rows)).count_rows(pc.field("id") < 10) == 10
    with pytest.raises(deeplake.NotFoundError, match="no tensor"):
        ds.to_pyarrow_dataset(tensors=["ids"])
    for wrong in (lambda: rows.join(rows, "id"), rows.get_fragments, lambda: rows.children, lambda: rows.sort_by("id")):
        with pytest.raises(deeplake.UnsupportedError, match="use to_table"):
            wrong()
    with pytest.raises(OSError, match="call scanner"):  # a function of C++, which no override reaches
        pads.Scanner.from_dataset(rows).to_table()


def test_polars(ds: deeplake.Dataset) -> None:
    frame, lazy, table = ds.to_polars(), ds.to_polars(lazy=True), pl.from_arrow(pa.table(ds))
    assert isinstance(frame, pl.DataFrame) and isinstance(lazy, pl.LazyFrame)
    assert frame.equals(table) and lazy.collect_schema() == table.schema
    for query in (
        lambda f: f.filter(pl.col("id") > 100, pl.col("small") == 7).select("text", "id"),
        lambda f: f.head(70_000).tail(3),
        lambda f: f.slice(100, 5).select(pl.col("score") * 2),
        lambda f: f.group_by("kind").agg(pl.col("id").sum()).sort("kind"),
        lambda f: f.filter(pl.col("text").is_null()).head(2),
        lambda f: f.select(pl.len()),
    ):
        assert query(lazy).collect().equals(query(table.lazy()).collect())
    assert ds[:0].to_polars().shape == (0, 6)
    for lazily in (False, True):
        with pytest.raises(deeplake.NotFoundError, match="no tensor"):
            ds.to_polars(tensors=["ids"], lazy=lazily)
    assert pl.scan_pyarrow_dataset(ds.to_pyarrow_dataset()).filter(pl.col("id") < 5).collect()["id"].to_list() == [
        0,
        1,
        2,
        3,
        4,
    ]
