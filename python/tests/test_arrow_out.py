"""Rows as record batches of Arrow, compared value by value with the samples that they are."""

from __future__ import annotations

import datetime
import gc
import io
import itertools
import json
import shutil
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import deeplake
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from deeplake import tql
from PIL import Image

ROWS = 203  # no multiple of 8, so that bitmaps end within a byte
NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
NAMES = ["cat", "dog", "an owl"]

SCHEMA: dict[str, Any] = {
    **{name: {"dtype": name} for name in NUMBERS},
    "flag": {"dtype": "bool"},
    "packed": {"dtype": "int32", "compression": "zstd"},
    "day": {"dtype": "date"},
    "zoned": {"dtype": "timestamp[ns, Europe/Berlin]"},
    "took": {"dtype": "interval[ms]"},
    "label": {"htype": "class_label", "class_names": NAMES},
    "labels": {"htype": "class_label", "class_names": NAMES},
    "text": "text",
    "meta": "json",
    "raw": {"dtype": "bytes"},
    "vector": {"htype": "embedding", "dtype": "float32"},
    "cube": {"dtype": "int16"},
    "cubes": {"dtype": "int16"},
    "boxes": "bbox",
    "image": {"htype": "image", "compression": "png"},
    "frames": "sequence[image]",
    "list": {"htype": "sequence[generic]", "dtype": "int16"},
    "words": "sequence[text]",
    "bits": {"dtype": "bool"},
    "halves": {"dtype": "float16"},
}


def png(seed: int) -> bytes:
    out = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (2 + seed % 3, 3, 3), dtype=np.uint8)).save(out, "png")
    return out.getvalue()


def sample(name: str, row: int) -> Any:
    """Returns the sample of a row in the form in which it is appended; None: a hole."""
    if (row + len(name)) % 7 == 3 and name != "int64":
        return None
    r = np.random.default_rng([row, *name.encode()])
    if name.startswith(("int", "uint")):
        bounds = np.iinfo(name)
        return np.array([bounds.min, bounds.max, row % 100][row % 3], name)
    match name:
        case "float16" | "float32" | "float64":
            return np.array([np.inf, -0.1, row, 6e-8][row % 4], name)
        case "flag":
            return bool(row % 3)
        case "packed":
            return np.int32(row * row)
        case "day":
            return datetime.date(1969, 1, 1) + datetime.timedelta(days=row * 40)
        case "zoned":
            return np.datetime64("NaT" if row % 10 == 5 else 10**18 + row, "ns")
        case "took":
            return np.timedelta64(row * 1001, "ms")
        case "label":
            return NAMES[row % 3]
        case "labels":
            return [NAMES[k % 3] for k in range(row % 4)]
        case "text":
            return ["", "ünï", "twelve bytes", "x" * 300][row % 4]
        case "meta":
            return [{"a": [row, None]}, "text", 3, []][row % 4]
        case "raw":
            return bytes(range(row % 50))
        case "vector":
            return r.normal(size=5).astype(np.float32)
        case "cube":
            return r.integers(-9, 9, (2, 3, 2)).astype(np.int16)
        case "cubes":
            return r.integers(-9, 9, (row % 3, 2, row % 4)).astype(np.int16)
        case "boxes":
            return r.integers(0, 99, (row % 4, 4)).astype(np.float32)
        case "image":
            return deeplake.read(png(row))
        case "frames":
            return [np.full((2, 2, 3), k, np.uint8) for k in range(row % 3)]
        case "list":
            return [np.int16(k) for k in range(row % 5)]
        case "words":
            return ["w" * k for k in range(row % 3)]
        case "bits":
            return r.integers(0, 2, row % 6).astype(bool)
        case "halves":
            return r.normal(size=3).astype(np.float16)
    raise AssertionError(name)


def expected(name: str, row: int, pixels: bool = False) -> Any:
    """Returns a sample as `to_pylist` gives it."""
    value = sample(name, row)
    match name:
        case _ if value is None:
            return None
        case "day" | "flag" | "label" | "labels" | "text" | "raw" | "words":
            return value
        case "meta":
            return json.dumps(value)
        case "zoned":
            return None if np.isnat(value) else value.astype(np.int64)
        case "took":
            return value.astype(datetime.timedelta)
        case "image":
            return np.asarray(Image.open(io.BytesIO(png(row)))).tolist() if pixels else png(row)
        case "frames" | "list":
            return [np.asarray(item).tolist() for item in value]
    return np.asarray(value).tolist()


def got(table: Any, name: str) -> list[Any]:
    column = table.column(name)
    if name == "zoned":
        assert str(column.type) == "timestamp[ns, tz=Europe/Berlin]"
        return [None if v is None else v.value for v in column]
    return column.to_pylist()


def check(table: Any, rows: list[int], names: Any = SCHEMA, pixels: bool = False) -> None:
    table.validate(full=True)
    assert table.num_rows == len(rows)
    for name in names:
        values, wanted = got(table, name), [expected(name, row, pixels) for row in rows]
        for k, (a, b) in enumerate(zip(values, wanted, strict=True)):
            assert str(a) == str(b) if isinstance(b, float) else a == b, (name, rows[k])


def columns(rows: range) -> dict[str, list[Any]]:
    return {name: [sample(name, row) for row in rows] for name in SCHEMA}


@pytest.fixture(scope="module", params=["mem", "file"])
def ds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[deeplake.Dataset]:
    """Rows in five commits: the first of each is updated later, and five more rows are deleted."""
    place = f"mem://out-{uuid.uuid4().hex}" if request.param == "mem" else tmp_path_factory.mktemp("out") / "ds"
    with deeplake.create(place, schema=SCHEMA) as out:
        for start in range(0, ROWS, 50):
            rows = range(start, min(ROWS, start + 50))
            values = columns(rows)
            values["int64"][0] = np.int64(-1)  # updated below
            out.extend(values)
            out.commit()
        for start in range(0, ROWS, 50):
            out["int64"][start] = sample("int64", start)
        out.extend(columns(range(5)))
        out.delete(slice(ROWS, ROWS + 5))
        out.commit()
        yield out


VIEWS: dict[str, tuple[Any, list[int]]] = {
    "all": (slice(None), list(range(ROWS))),
    "stride": (slice(3, None, 4), list(range(3, ROWS, 4))),
    "reversed": (slice(None, None, -1), list(range(ROWS))[::-1]),
    "picked": ([7, 7, 100, 0, 202, 55], [7, 7, 100, 0, 202, 55]),
    "one": (slice(13, 14), [13]),
    "none": (slice(0, 0), []),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("batch_rows", [1 << 16, 31])
def test_every_kind_of_sample(ds: deeplake.Dataset, view: str, batch_rows: int) -> None:
    pick, rows = VIEWS[view]
    table = ds[pick].to_arrow_reader(batch_rows=batch_rows).read_all()
    assert max([len(batch) for batch in table.to_batches()], default=0) <= batch_rows
    check(table, rows)
    assert ds[pick].to_arrow().schema == table.schema == ds.to_arrow().schema


def test_pictures_as_pixels(ds: deeplake.Dataset) -> None:
    check(ds.to_arrow(images="pixels", tensors=["image"]), list(range(ROWS)), ["image"], pixels=True)


def test_results_of_queries(ds: deeplake.Dataset) -> None:
    kept = [row for row in range(ROWS) if expected("packed", row) is not None and row * row >= 900]
    check(ds.query("SELECT * WHERE packed >= 900").to_arrow(), kept)
    computed = ds.query(
        "SELECT int64 / 2 AS half, vector * 2 AS twice, UPPER(text) AS up, zoned, words WHERE packed >= 900"
    )
    table = computed.to_arrow()
    table.validate(full=True)
    assert table["twice"].to_pylist() == [
        None if sample("vector", row) is None else (sample("vector", row) * 2).tolist() for row in kept
    ]
    assert table["up"].to_pylist() == [text and text.upper() for text in (sample("text", row) for row in kept)]
    assert got(table, "zoned") == [expected("zoned", row) for row in kept]
    assert table["words"].to_pylist() == [expected("words", row) for row in kept]
    grouped = ds.query(
        "SELECT label, COUNT(*) AS n, ANY_VALUE(NULL) AS nothing GROUP BY label ORDER BY label"
    ).to_arrow()
    assert sum(grouped["n"].to_pylist()) == ROWS and grouped["nothing"].null_count == grouped.num_rows


def test_types_do_not_depend_on_rows() -> None:
    """Arrays without a row have the types of a dataset with rows; ragged axes make lists."""
    with deeplake.create(
        f"mem://out-{uuid.uuid4().hex}", schema={"a": {"dtype": "float32"}, "b": {"dtype": "int8"}}
    ) as ds:
        ds.extend({"a": np.zeros((3, 2, 2), np.float32), "b": [[1], [], [2, 3]]})
        fixed = pa.list_(pa.list_(pa.float32(), 2), 2)
        assert ds[:0].to_arrow().schema.types == ds.to_arrow().schema.types == [fixed, pa.large_list(pa.int8())]
        ds.append({"a": np.zeros((1, 2), np.float32), "b": None})
        assert ds[:2].to_arrow().schema.field("a").type == pa.large_list(pa.large_list(pa.float32()))
        ds.append({"a": np.zeros(2, np.float32), "b": None})
        with pytest.raises(
            deeplake.TensorTypeError, match=r'convert tensor "a": samples have 1 and 2 axes.*leave it out'
        ):
            ds.to_arrow()
        with pytest.raises((OSError, pa.ArrowException), match="samples have 1 and 2 axes"):
            pa.table(ds)
        ds.discard()


def numbers(place: Any, rows: int = 400_000) -> deeplake.Dataset:
    ds = deeplake.create(place, schema={"x": {"dtype": "int64"}, "t": "text"})
    ds.extend({"x": np.arange(rows), "t": [f"row {k}" for k in range(rows)]})
    ds.commit()
    return ds


def test_numbers_of_a_disk_are_not_copied(tmp_path: Path) -> None:
    with numbers(tmp_path / "ds") as ds:
        first, second = ds.to_arrow(), ds.to_arrow()
        addresses = [{c.buffers()[1].address for c in table["x"].chunks} for table in (first, second)]
        assert addresses[0] == addresses[1]
        assert not first["x"].chunk(0).to_numpy().flags.writeable


def test_batches_outlive_their_dataset(tmp_path: Path) -> None:
    ds = numbers(tmp_path / "ds")
    reader = ds.to_arrow_reader(batch_rows=1 << 14)
    batches = list(itertools.islice(reader, 3))
    x, t = batches[2].column("x"), batches[2].column("t")  # moved out of their batch
    del reader, batches
    ds.close()
    del ds
    shutil.rmtree(tmp_path / "ds")
    gc.collect()
    rows = range(2 << 14, (2 << 14) + len(x))
    assert x.to_pylist() == list(rows) and t.to_pylist() == [f"row {k}" for k in rows]


def test_memory_of_batches_is_given_back(tmp_path: Path) -> None:
    def held() -> int:
        gc.collect()
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) // 1024

    with numbers(tmp_path / "ds", 200_000) as ds:
        for _ in range(20):
            ds.to_arrow()
        before = held()
        for _ in range(60):  # 4.5 MB each
            assert ds.to_arrow().num_rows == 200_000
            next(ds.to_arrow_reader(batch_rows=100))
            duckdb.sql("SELECT sum(x) FROM ds").fetchall()
        assert held() - before < 60


def test_a_damaged_chunk_is_reported(tmp_path: Path) -> None:
    numbers(tmp_path / "ds").close()
    largest = max((f for f in (tmp_path / "ds").rglob("*") if f.is_file()), key=lambda f: f.stat().st_size)
    data = bytearray(largest.read_bytes())
    data[len(data) // 3] ^= 0xFF
    largest.chmod(0o644)
    largest.write_bytes(data)
    with deeplake.open(tmp_path / "ds") as ds:
        with pytest.raises(deeplake.CorruptError, match="checksum"):
            ds.to_arrow()

        def summed() -> Any:
            rows = ds  # DuckDB looks for the name here
            assert rows
            return duckdb.sql("SELECT sum(x) FROM rows").fetchall()

        for read in (lambda: pa.table(ds), lambda: pl.DataFrame(ds), summed):
            with pytest.raises(Exception, match="checksum"):
                read()


@pytest.fixture
def register() -> Iterator[Callable[[str, Callable[..., Any]], None]]:
    names = []

    def one(name: str, function: Callable[..., Any]) -> None:
        tql.register(name, function, returns="int64")
        names.append(name)

    yield one
    for name in names:
        tql.unregister(name)


def test_functions_of_python_in_streams(tmp_path: Path, register: Any) -> None:
    """Consumers hold the GIL or not while they read; functions need it."""
    register("TRIPLE", lambda x: x * 3)
    with numbers(tmp_path / "ds", 20_000) as ds:
        view = ds.query("SELECT TRIPLE(x) AS y")
        want = 3 * sum(range(20_000))
        assert duckdb.sql("SELECT sum(y) FROM view").fetchall() == [(want,)]
        assert pl.DataFrame(view)["y"].sum() == want
        assert pa.compute.sum(pa.table(view)["y"]).as_py() == want


def test_ctrl_c_stops_reading(tmp_path: Path, register: Any) -> None:
    def wait(x: np.ndarray) -> np.ndarray:
        time.sleep(1)
        return x

    register("WAIT", wait)
    with numbers(tmp_path / "ds", 400_000) as ds:
        view = ds.query("SELECT WAIT(x) AS y")
        for read in (view.to_arrow, lambda: pl.DataFrame(view)):
            timer = threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,))
            timer.start()
            start = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                read()
                for _ in range(50):  # the handler runs at the next instruction
                    time.sleep(0.1)
            assert time.monotonic() - start < 20
            timer.join()


def test_streams_are_read_once_and_dropped_early(tmp_path: Path) -> None:
    with numbers(tmp_path / "ds") as ds:
        capsule = ds.__arrow_c_stream__()
        del capsule
        assert ds.to_arrow_reader().schema.names == ["x", "t"]
        requested = pa.schema([("x", pa.int32()), ("t", pa.string())])
        table = pa.RecordBatchReader.from_stream(ds, schema=requested).read_all()
        assert table.schema == requested and table["x"].to_pylist() == list(range(400_000))
    with pytest.raises(deeplake.ClosedError):
        ds.to_arrow()


def test_empty_lists_beside_arrays(tmp_path: Path) -> None:
    """A row without elements is an empty list, whatever axes the others have."""
    for rows in ([[[1, 2]], []], [[], [[1, 2]]], [[], [[[1]], [[2]]]], [[], []]):
        ds = deeplake.create(tmp_path / "ds", overwrite=True)
        for row in rows:
            ds.append({"a": row})
        ds.commit()
        assert ds.to_arrow()["a"].to_pylist() == rows
        assert pl.DataFrame(ds)["a"].to_list() == rows
        ds.close()
    with deeplake.create(tmp_path / "ds", overwrite=True, schema={"a": "generic"}) as ds:
        ds.extend([{"a": [[1, 2]]}, {"a": [3]}])
        ds.commit()
        with pytest.raises(deeplake.TensorTypeError, match="1 and 2 axes"):
            ds.to_arrow()
