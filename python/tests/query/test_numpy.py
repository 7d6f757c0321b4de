"""Queries over arrays answer as NumPy does, and the answers do not hang on how the data is stored."""

from __future__ import annotations

import os

import deeplake
import numpy as np
import pytest

ROUNDS = int(os.environ.get("DEEPLAKE_TEST_ROUNDS", "1"))
N = 23

CASES = {
    "a + b": lambda a, b: a + b,
    "a - b * 2": lambda a, b: a - b * 2,
    "a * a[0]": lambda a, b: a * a[0],
    "-a": lambda a, b: -a,
    "a / 4": lambda a, b: a / 4,
    "a > b": lambda a, b: a > b,
    "a = b OR a > 0": lambda a, b: (a == b) | (a > 0),
    "NOT a >= b": lambda a, b: ~(a >= b),
    "a[0]": lambda a, b: a[0],
    "a[-1, 1]": lambda a, b: a[-1, 1],
    "a[:, 1:]": lambda a, b: a[:, 1:],
    "a[::-1, ..., 0]": lambda a, b: a[::-1, ..., 0],
    "a[1:9, ::2]": lambda a, b: a[1:9, ::2],
    "a[..., -2:]": lambda a, b: a[..., -2:],
    "SUM(a)": lambda a, b: a.sum(),
    "SUM(a, 0)": lambda a, b: a.sum(0),
    "MEAN(a, 1)": lambda a, b: a.mean(1),
    "AMAX(a)": lambda a, b: a.max(),
    "AMIN(a, 1)": lambda a, b: a.min(1),
    "STD(a)": lambda a, b: a.std(),
    "ARGMAX(a)": lambda a, b: a.argmax(),
    "ANY(a > 2)": lambda a, b: (a > 2).any(),
    "ALL(a > -2)": lambda a, b: (a > -2).all(),
    "SHAPE(a)": lambda a, b: np.array(a.shape),
    "SIZE(a) + NDIM(a)": lambda a, b: a.size + a.ndim,
    "FLATTEN(a)": lambda a, b: a.ravel(),
    "TRANSPOSE(a)": lambda a, b: a.T,
    "CLIP(a, -1, 1)": lambda a, b: a.clip(-1, 1),
    "ABS(a)": lambda a, b: abs(a),
    "FLOOR(a / 2)": lambda a, b: np.floor(a / 2),
    "DOT(a[0], b[0])": lambda a, b: a[0] @ b[0],
    "L2_NORM(a[0] - b[0])": lambda a, b: np.linalg.norm(a[0] - b[0]),
    "L1_NORM(a[0])": lambda a, b: abs(a[0]).sum() * 1.0,
    "LINF_NORM(a[0] - b[1])": lambda a, b: abs(a[0] - b[1]).max() * 1.0,
    "MAXSIM(a, b)": lambda a, b: (b @ a.T).max(1).sum() * 1.0,
    "ARRAY[a[0], b[0]]": lambda a, b: np.stack([a[0], b[0]]),
    "CAST(a AS int32)": lambda a, b: np.rint(a).astype(np.int32),
}


def arrays(seed: int, dtype: str, ragged: bool):
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(N):
        shape = (rng.integers(2, 6), rng.integers(2, 5)) if ragged else (3, 4)
        pair = rng.integers(-5, 6, (2, *shape)) / (2 if dtype.startswith("float") else 1)
        out.append((pair[0].astype(dtype), pair[1].astype(dtype)))
    return out


def store(name: str, pairs, **options):
    ds = deeplake.create(f"mem://{name}", overwrite=True)
    for column in ("a", "b"):
        ds.create_tensor(column, dtype=pairs[0][0].dtype.name, **options)
    for start in range(0, N, 5):
        part = pairs[start : start + 5]
        ds.extend({"a": [a for a, _ in part], "b": [b for _, b in part]})
        ds.commit()
    return ds


@pytest.mark.parametrize("ragged", [False, True], ids=["uniform", "ragged"])
@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "int8"])
def test_as_numpy(dtype, ragged):
    for seed in range(ROUNDS):
        pairs = arrays(seed, dtype, ragged)
        ds = store("numpy", pairs)
        for text, numpy in CASES.items():
            got = ds.query(f"SELECT {text} AS r")["r"]
            wide = [(a.astype(np.int64), b.astype(np.int64)) if a.dtype.kind == "i" else (a, b) for a, b in pairs]
            for row, (a, b) in enumerate(wide):
                want = np.asarray(numpy(a, b))
                value = np.asarray(got[row])
                assert value.shape == want.shape, (text, row, value, want)
                assert np.allclose(value, want, rtol=1e-5, atol=1e-6), (text, row, value, want)
                assert (value.dtype.kind == want.dtype.kind) or text.startswith("SHAPE"), (
                    text,
                    value.dtype,
                    want.dtype,
                )


@pytest.mark.parametrize(
    "options", [{}, {"compression": "zstd"}, {"compression": "lz4"}, {"chunk_bytes": 4096}], ids=lambda o: str(o)
)
def test_storage_does_not_matter(options):
    pairs = arrays(7, "float32", True)
    plain, other = store("plain", pairs), store("other", pairs, **options)
    for text in (
        "SELECT a[0:2] AS r WHERE SUM(a) > 0 ORDER BY SUM(a), SHAPE(a)[0]",
        "SELECT SUM(a) AS r, SHAPE(b) AS s WHERE SHAPE(a)[0] > 3",
        "SELECT SUM(SUM(a[0])) AS r",
        "SELECT a AS r LIMIT 4 OFFSET 3",
    ):
        x, y = plain.query(text), other.query(text)
        assert len(x) == len(y)
        for u, v in zip(x["r"][:], y["r"][:], strict=True):
            assert np.array_equal(u, v), text


CONDITIONS = [
    "x > 3", "x % 3 = 1", "s LIKE 'w1%'", "x IN (1, 2, 3)", "f < 2.5 OR x > 40", "l = 'b'", "SHAPE(v)[0] > 1",
    "SUM(v) > 5", "ANY(v > 3)", "m['k'] > 4", "f IS NULL", "x > 3 AND NOT (s = 'w5')", "f / (x - 20) > 0.1",
]  # fmt: skip


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_parts_the_rows(mixed, condition):
    parts = [
        mixed.query(f"SELECT * WHERE {text}").indices.tolist()
        for text in (condition, f"NOT ({condition})", f"({condition}) IS NULL")
    ]
    assert sorted(row for part in parts for row in part) == list(range(60))
    assert mixed.query(f"SELECT COUNT(*) AS n WHERE {condition}")["n"][0] == len(parts[0])
    assert mixed[::-1].query(f"SELECT * WHERE {condition}").indices.tolist() == parts[0][::-1]
    assert mixed.query("SELECT *").query(f"SELECT * WHERE {condition}").indices.tolist() == parts[0]
    assert mixed.query(f"SELECT * WHERE {condition}", threads=1, memory=1 << 30).indices.tolist() == parts[0]
    assert mixed.query(f"SELECT * WHERE {condition} LIMIT 3").indices.tolist() == parts[0][:3]


@pytest.fixture(scope="module")
def mixed():
    ds = deeplake.create("mem://mixed", overwrite=True)
    ds.create_tensor("x", dtype="int64")
    ds.create_tensor("f", dtype="float64")
    ds.create_tensor("s", "text")
    ds.create_tensor("l", "class_label", class_names=["a", "b"])
    ds.create_tensor("v", dtype="int16")
    ds.create_tensor("m", "json")
    for start in range(0, 60, 9):
        rows = range(start, min(start + 9, 60))
        ds.extend(
            {
                "x": list(rows),
                "f": [None if i % 5 == 0 else i / 10 for i in rows],
                "s": [None if i % 11 == 0 else f"w{i}" for i in rows],
                "l": [None if i % 13 == 0 else i % 2 for i in rows],
                "v": [np.arange(i % 4, dtype=np.int16) + i % 3 for i in rows],
                "m": [None if i % 17 == 0 else {"k": i} if i % 2 else {} for i in rows],
            }
        )
        ds.commit()
    return ds


def test_search_is_exact():
    rng = np.random.default_rng(3)
    for dtype in ("float32", "float16", "int8", "uint8"):
        values = (rng.normal(size=(500, 16)) * 20).clip(0 if dtype == "uint8" else -100, 100).astype(dtype)
        ds = deeplake.create("mem://vectors", overwrite=True)
        ds.create_tensor("e", "embedding", dtype=dtype)
        ds.create_tensor("n", dtype="int64")
        ds.extend({"e": values, "n": np.arange(500)})
        ds.commit()
        wanted = rng.normal(size=16).astype(np.float32) * 10
        wide = values.astype(np.float64)
        scores = {
            "L2_NORM(e - ?)": np.linalg.norm(wide - wanted, axis=1),
            "L1_NORM(e - ?)": abs(wide - wanted).sum(1),
            "0 - DOT(e, ?)": -(wide @ wanted),
            "0 - COSINE_SIMILARITY(e, ?)": -(wide @ wanted) / np.linalg.norm(wide, axis=1) / np.linalg.norm(wanted),
        }
        for text, score in scores.items():
            got = ds.query(f"SELECT n, {text} AS d ORDER BY d LIMIT 10", wanted)
            assert got["n"][:].tolist() == np.argsort(score, kind="stable")[:10].tolist(), (dtype, text)
            assert np.allclose(got["d"][:], np.sort(score)[:10], rtol=1e-4)
            some = ds.query(f"SELECT n WHERE n % 3 = 0 ORDER BY {text} LIMIT 5", wanted)
            assert some["n"][:].tolist() == [int(i) for i in np.argsort(score, kind="stable") if i % 3 == 0][:5]
