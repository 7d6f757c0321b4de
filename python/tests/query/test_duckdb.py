"""Queries over scalar columns answer as DuckDB does: random ones, by seed. DEEPLAKE_TEST_QUERIES says how many."""

from __future__ import annotations

import datetime
import math
import os
import random

import deeplake
import numpy as np
import pytest
import sqlgen

duckdb = pytest.importorskip("duckdb")

ROUNDS = int(os.environ.get("DEEPLAKE_TEST_QUERIES", "300"))
FIRST = int(os.environ.get("DEEPLAKE_TEST_QUERIES_FROM", "0"))
_TYPES = {
    "int": ("BIGINT", "int64"),
    "float": ("DOUBLE", "float64"),
    "text": ("VARCHAR", None),
    "bool": ("BOOLEAN", "bool"),
    "date": ("DATE", "int64"),
}


def value(draw: random.Random, kind: str):
    if draw.random() < 0.2:
        return None
    if kind == "int":
        return draw.randint(-5, 12)
    if kind == "float":
        return draw.randint(-20, 20) / 4
    if kind == "text":
        return draw.choice(sqlgen.WORDS)
    if kind == "bool":
        return draw.random() < 0.5
    return datetime.date(2024, 1, 1) + datetime.timedelta(days=draw.randrange(300))


@pytest.fixture(scope="module")
def world():
    draw = random.Random(1)
    con = duckdb.connect()
    con.execute("SET error_on_division_by_zero = false")
    con.execute("SET threads = 1")
    # DuckDB 2.0.0 takes STARTS_WITH(CASE WHEN x = 4 THEN 'a' END, 'a') for true where the CASE is
    # NULL.
    con.execute("PRAGMA disable_optimizer")
    tables = [
        sqlgen.Table("p", {"i": "int", "j": "int", "x": "float", "s": "text", "b": "bool", "d": "date"}),
        sqlgen.Table("q", {"i": "int", "k": "int", "y": "float", "s": "text"}),
        sqlgen.Table("e", {"i": "int", "x": "float", "s": "text"}),
    ]
    datasets = {}
    for table, count in zip(tables, (40, 25, 0), strict=True):
        rows = [[value(draw, kind) for kind in table.columns.values()] for _ in range(count)]
        con.execute(f"CREATE TABLE {table.name} ({', '.join(f'{n} {_TYPES[k][0]}' for n, k in table.columns.items())})")
        if rows:
            con.executemany(f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(table.columns))})", rows)
        ds = deeplake.create(f"mem://{table.name}", overwrite=True)
        for name, kind in table.columns.items():
            if kind == "text":
                ds.create_tensor(name, "text")
            else:
                ds.create_tensor(name, dtype="date" if kind == "date" else _TYPES[kind][1], shape=())
        for start in range(0, count, 7):  # several chunks
            part = rows[start : start + 7]
            ds.extend({name: [row[i] for row in part] for i, name in enumerate(table.columns)})
            ds.commit()
        ds.commit()
        datasets[table.name] = ds
    return con, tables, datasets


def rows_of(view):
    columns = [[v.item() if isinstance(v, np.generic) else v for v in view[name][:]] for name in view.tensors]
    return list(zip(*columns, strict=True))


def key(row):
    return [
        (
            v is None,
            type(v).__name__ if not isinstance(v, int | float) else "",
            round(v, 6) if isinstance(v, float) and math.isfinite(v) else v if v is not None else 0,
        )
        if not isinstance(v, float) or math.isfinite(v)
        else (False, "z", str(v))
        for v in row
    ]


def same(a, b):
    if a is None or b is None:
        return a is b
    if isinstance(a, float) or isinstance(b, float):
        return (
            isinstance(a, int | float)
            and isinstance(b, int | float)
            and (a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9))
        )
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("block", range((ROUNDS + 49) // 50))
def test_as_duckdb(world, block):
    con, tables, datasets = world
    wrong, compared = [], 0
    for seed in range(FIRST + block * 50, FIRST + min(block * 50 + 50, ROUNDS)):
        q = sqlgen.Generator(seed, tables).query()
        try:
            want = con.execute(q.sql).fetchall()
        except (duckdb.OutOfRangeException, duckdb.ConversionException) as err:
            want = err
        try:
            got = rows_of(datasets["p"].query(q.tql))
        except deeplake.Error as err:
            got = err
        if isinstance(want, Exception) or isinstance(got, Exception):
            if not (isinstance(want, Exception) and isinstance(got, Exception)):
                wrong.append(f"seed {seed}: {q.tql}\n  got {got}\n  want {want}")
            continue
        compared += 1
        a, b = (got, want) if q.ordered else (sorted(got, key=key), sorted(want, key=key))
        if len(a) != len(b) or not all(len(x) == len(y) and all(map(same, x, y)) for x, y in zip(a, b, strict=True)):
            wrong.append(f"seed {seed}: {q.tql}\n  got  {a}\n  want {b}")
    assert not wrong, f"{len(wrong)} queries differ:\n" + "\n".join(wrong[:20])
    assert compared >= 30, f"only {compared} queries could be compared"
