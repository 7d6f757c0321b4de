"""Parquet files in the core: every type, encoding and compression as pyarrow reads them, from every
store, with resumed runs and damaged files."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from kills import killed_after_a_commit
from pyarrow import parquet
from test_arrow_stream import TYPES, expected, make, read

# Parquet has no lists by views.
COLUMNS = {name: of for name, of in TYPES.items() if name != "list_view"}
CODECS = ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]


def place() -> str:
    return f"mem://parquet-{uuid.uuid4().hex}"


def column(name: str, nulls: bool) -> Any:
    kind, values, _ = COLUMNS[name]
    return make(kind, values, nulls, 3, False)


def specs() -> dict[str, Any]:
    return {name: {"htype": "generic", **spec} for name, (_, _, spec) in COLUMNS.items() if spec}


def all_types(nulls: bool) -> Any:
    return pa.table({name: column(name, nulls) for name in COLUMNS})


def check(path: Path, table: Any, what: Any) -> None:
    ds = deeplake.ingest(path, place(), schema=specs(), verbose=False)
    assert len(ds) == len(table)
    for name in COLUMNS:
        got = read(renamed(ds, name), COLUMNS[name][2])
        assert got == expected(table[name], name), (name, what)


class renamed:  # noqa: N801 - it stands for a dataset whose tensor is named "x"
    """A dataset whose only tensor is named "x"."""

    def __init__(self, ds: deeplake.Dataset, name: str) -> None:
        self._tensor, self._rows = ds[name], len(ds)

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, _: str) -> Any:
        return self._tensor


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_every_type(tmp_path: Path, codec: str, version: str) -> None:
    path = tmp_path / "x.parquet"
    for nulls, dictionary, rows, page in itertools.product((False, True), (False, True), (5, 1000), (1, 1 << 20)):
        table = all_types(nulls)
        parquet.write_table(
            table, path, compression=codec, data_page_version=version, use_dictionary=dictionary, row_group_size=rows,
            data_page_size=page, write_batch_size=7 if page == 1 else 1024, write_page_checksum=nulls,
            store_decimal_as_integer=True,
        )  # fmt: skip
        check(path, parquet.read_table(path), (nulls, dictionary, rows, page))


ENCODINGS = {
    "DELTA_BINARY_PACKED": ["int32", "int64", "int8", "int16", "uint8", "uint16", "uint32", "uint64", "timestamp", "date32"],
    "DELTA_LENGTH_BYTE_ARRAY": ["string", "binary", "large_string"],
    "DELTA_BYTE_ARRAY": ["string", "binary", "large_string", "fixed_binary"],
    "BYTE_STREAM_SPLIT": ["float", "double", "int32", "int64", "fixed_binary", "half"],
    "RLE": ["bool"],
    "PLAIN": ["int32", "double", "string", "fixed_binary", "bool"],
}  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_every_encoding(tmp_path: Path, encoding: str, version: str) -> None:
    """Many rows with runs, steps and noise pass through each encoding of values."""
    draw, rows = random.Random(7), 5000
    path = tmp_path / "x.parquet"
    for nulls in (False, True):
        columns = {}
        for name in ENCODINGS[encoding]:
            kind, values, _ = COLUMNS[name]
            drawn = [values[draw.randrange(len(values))] if row % 700 > 300 else values[0] for row in range(rows)]
            if name in ("int32", "int64", "timestamp", "uint32"):
                drawn = [row * 3 + draw.randrange(5) for row in range(rows)]
            if name in ("string", "binary"):
                drawn = [f"shared prefix {draw.randrange(10**6)}" for _ in range(rows)]
                drawn = [text.encode() for text in drawn] if name == "binary" else drawn
            columns[name] = pa.array([None if nulls and draw.random() < 0.2 else one for one in drawn], kind)
        table = pa.table(columns)
        parquet.write_table(
            table, path, use_dictionary=False, column_encoding=dict.fromkeys(columns, encoding),
            data_page_version=version, data_page_size=3000, compression="zstd",
        )  # fmt: skip
        ds = deeplake.ingest(path, place(), verbose=False)
        wanted = parquet.read_table(path)
        for name in columns:
            assert read(renamed(ds, name), {}) == wanted[name].to_pylist(), (name, nulls)


def test_old_types(tmp_path: Path) -> None:
    """Times of 96 bits, decimals of every width, UUID, JSON, and lists of old writers."""
    import datetime
    import decimal

    path = tmp_path / "x.parquet"
    times = [datetime.datetime(1969, 12, 31, 5), None, datetime.datetime(2026, 11, 28, 1, 2, 3, 4)]
    numbers = [decimal.Decimal("-1.25"), None, decimal.Decimal("99999.75")]
    table = pa.table({
        "t": pa.array(times, pa.timestamp("ns")), "d5": pa.array(numbers, pa.decimal128(7, 2)), "d15": pa.array(numbers, pa.decimal128(15, 2)),
        "d38": pa.array(numbers, pa.decimal128(38, 2)), "d76": pa.array(numbers, pa.decimal256(76, 2)),
        "uuid": pa.array([uuid.UUID(int=7).bytes, None, uuid.UUID(int=9).bytes], pa.uuid()), "json": pa.array(['{"a": 1}', None, "[]"], pa.json_()),
        "zone": pa.array(times, pa.timestamp("ms", "Asia/Kolkata")), "took": pa.array([1, None, 3], pa.duration("us")),
        "nothing": pa.nulls(3), "category": pa.array(["b", None, "a"]).dictionary_encode(),
    })  # fmt: skip
    floats = {name: {"dtype": "float64"} for name in ("d5", "d15", "d38", "d76")}
    for integers, old in itertools.product((False, True), repeat=2):
        parquet.write_table(
            table,
            path,
            store_decimal_as_integer=integers,
            use_deprecated_int96_timestamps=old,
            use_compliant_nested_type=not old,
        )
        ds = deeplake.ingest(path, place(), schema=floats, verbose=False)
        same = deeplake.ingest(parquet.read_table(path), place(), schema=floats, verbose=False)
        assert ds.schema == same.schema
        assert ds.to_arrow().to_pydict() == same.to_arrow().to_pydict()
        assert ds["d76"][2] == 99999.75 and ds["d5"][0] == -1.25
        assert ds["uuid"][0] == str(uuid.UUID(int=7)) and ds["json"][0] == {"a": 1}


def test_categories_of_pandas(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"kind": pd.Categorical(["cat", "dog", None, "cat"], categories=["dog", "cat"])})
    frame.to_parquet(tmp_path / "x.parquet")
    ds = deeplake.ingest(tmp_path / "x.parquet", place(), verbose=False)
    assert ds["kind"].htype == "class_label" and ds["kind"].class_names == ["dog", "cat"]
    assert [ds["kind"][row] for row in range(4)] == [1, 0, None, 1]


def test_other_writers(tmp_path: Path) -> None:
    """Files of polars and DuckDB hold nested columns by their own habits."""
    import duckdb

    rows = [
        {"a": [1, None, 3], "b": {"x": "t", "y": [1.5]}, "c": None},
        {"a": None, "b": None, "c": "text"},
        {"a": [], "b": {"x": None, "y": []}, "c": ""},
    ]
    frame = pl.DataFrame(rows * 50)
    frame.write_parquet(tmp_path / "polars.parquet")
    duckdb.connect().execute(f"COPY (SELECT * FROM frame) TO '{tmp_path}/duckdb.parquet'")
    for name in ("polars", "duckdb"):
        ds = deeplake.ingest(tmp_path / f"{name}.parquet", place(), schema={"a": "json", "b": "json"}, verbose=False)
        assert [ds["b"][row] for row in range(3)] == [row["b"] for row in rows]
        assert [ds["a"][row] for row in range(3)] == [row["a"] for row in rows]
        assert [ds["c"][row] for row in range(3)] == [row["c"] for row in rows]


def folder(at: Path, files: int = 4, rows: int = 25) -> Any:
    for number in range(files):
        part = at / f"year={2020 + number % 2}" / f"part-{number}.parquet"
        part.parent.mkdir(parents=True, exist_ok=True)
        ids = np.arange(number * rows, (number + 1) * rows)
        parquet.write_table(pa.table({"id": ids, "text": [f"row {one}" for one in ids]}), part, row_group_size=10)
    (at / "_metadata").write_bytes(b"a note")
    (at / "README.md").write_text("about the files")
    return deeplake.ingest(at, place(), verbose=False)


def test_folders(tmp_path: Path) -> None:
    ds = folder(tmp_path)
    names = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.parquet"))
    ids = [one for name in names for one in parquet.read_table(tmp_path / name, partitioning=None)["id"].to_pylist()]
    assert ds["id"].numpy().tolist() == ids
    assert sorted(set(ds["year"].numpy().tolist())) == [2020, 2021]
    assert ds["year"].dtype == "int32"
    picked = deeplake.ingest(tmp_path, place(), columns=["year", "id"], verbose=False)
    assert sorted(picked.tensors) == ["id", "year"]


def test_columns_that_differ(tmp_path: Path) -> None:
    """Later files have more columns, wider numbers, and lack columns."""
    parquet.write_table(pa.table({"a": pa.array([1, 2], pa.int8()), "n": pa.nulls(2)}), tmp_path / "1.parquet")
    parquet.write_table(
        pa.table({"a": pa.array([300, 2**40]), "b": ["x", "y"], "n": ["p", None]}), tmp_path / "2.parquet"
    )
    parquet.write_table(
        pa.table({"b": ["z"], "v": pa.array([[1.5, 2.5]], pa.list_(pa.float32()))}), tmp_path / "3.parquet"
    )
    ds = deeplake.ingest(tmp_path, place(), verbose=False)
    assert ds["a"].dtype == "int64"
    assert [ds["a"][row] for row in range(5)] == [1, 2, 300, 2**40, None]
    assert [ds["b"][row] for row in range(5)] == [None, None, "x", "y", "z"]
    assert [ds["n"][row] for row in range(5)] == [None, None, "p", None, None]
    assert ds["v"][3] is None and ds["v"][4].tolist() == [1.5, 2.5]
    parquet.write_table(pa.table({"a": ["text"]}), tmp_path / "4.parquet")
    with pytest.raises(deeplake.TensorTypeError, match=r'4.parquet: column "a" has type string, and int8 in 1.parquet'):
        deeplake.ingest(tmp_path, place(), verbose=False)


def create(*arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "deeplake", "create", *arguments, "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_new_files_are_added(tmp_path: Path) -> None:
    source, uri = tmp_path / "source", str(tmp_path / "ds")
    folder(source, files=2)
    report = create(uri, f"from-{source}")
    assert report["added"] == 50 and report["complete"]
    parquet.write_table(pa.table({"id": [1000], "new": ["column"]}), source / "zz.parquet")
    report = create(uri, f"from-{source}")
    assert (report["added"], report["unchanged"], report["rows"]) == (1, 2, 51)
    ds = deeplake.open(uri)
    assert ds["id"].numpy()[-1] == 1000 and ds["new"][50] == "column" and ds["new"][0] is None
    assert create(uri, f"from-{source}")["version"] == 2  # nothing is new, nothing is committed
    (source / "zz.parquet").unlink()
    parquet.write_table(pa.table({"id": [5]}), source / "year=2020" / "part-0.parquet")
    report = create(uri, f"from-{source}")
    assert report["gone_names"] == ["zz.parquet"] and "has changed" in report["skips"][0]["reason"]
    assert len(deeplake.open(uri)) == 51


def version_of(uri: str) -> int:
    try:
        return deeplake.open(uri).head.version
    except deeplake.Error:
        return 0


def test_kill_and_go_on(tmp_path: Path) -> None:
    """A run that is killed at any moment is continued: no row comes twice, none is lost."""
    source = tmp_path / "source"
    source.mkdir()
    rows = 40_000
    for number in range(3):
        ids = np.arange(number * rows, (number + 1) * rows)
        parquet.write_table(
            pa.table({"id": ids, "text": [f"text of row {one}" for one in ids]}),
            source / f"{number}.parquet",
            row_group_size=3000,
        )
    draw, kills = random.Random(3), 0
    uri = str(tmp_path / "ds")
    command = [sys.executable, "-m", "deeplake", "create", uri, f"from-{source}", "--checkpoint", "500"]
    for _ in range(6):
        kills += killed_after_a_commit(command, lambda: version_of(uri), 0.05, draw)
        ds = deeplake.open(uri)
        assert ds["id"].numpy().tolist() == list(range(len(ds)))
    report = create(uri, f"from-{source}")
    ds = deeplake.open(uri)
    assert ds["id"].numpy().tolist() == list(range(3 * rows)) and ds["text"][77_777] == "text of row 77777"
    assert report["rows"] == 3 * rows
    assert kills > 0


def test_rows_that_are_left_out(tmp_path: Path) -> None:
    """--on-error skip reports rows and files that no tensor takes, and takes the others."""
    source = tmp_path / "source"
    source.mkdir()
    lists = [[[1, 2], [3, 4]] if row % 100 else [[1], [2, 3]] for row in range(300)]
    parquet.write_table(pa.table({"id": np.arange(300), "m": lists}), source / "a.parquet")
    (source / "b.parquet").write_bytes(b"PAR1 this is no table PAR1")
    uri = str(tmp_path / "ds")
    with pytest.raises(deeplake.Error, match=r"b\.parquet"):
        deeplake.ingest(source, uri, verbose=False)
    assert not deeplake.exists(uri)
    report = create(uri, f"from-{source}", "--on-error", "skip")
    assert (report["added"], report["skipped"]) == (297, 4)
    reasons = {(one["path"], one["reason"].partition(":")[0]) for one in report["skips"]}
    assert {("a.parquet", "row 0"), ("a.parquet", "row 100"), ("a.parquet", "row 200")} < reasons
    assert deeplake.open(uri)["id"].numpy().tolist() == [row for row in range(300) if row % 100]


def test_errors_name_the_file_and_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"text": ["a"], "d": pa.array([1], pa.time32("s"))}), path)
    with pytest.raises(deeplake.TensorTypeError, match=r"x\.parquet.*time32\[ms\], which tensors cannot hold"):
        deeplake.ingest(path, place(), verbose=False)
    with pytest.raises(deeplake.InvalidArgumentError, match=r'no column "txt".*"text"'):
        deeplake.ingest(path, place(), columns=["txt"], verbose=False)
    with pytest.raises(deeplake.InvalidArgumentError, match=r'no column "txt", which the schema names.*"text"'):
        deeplake.ingest(path, place(), columns=["text"], schema={"txt": "text"}, verbose=False)
    with pytest.raises(deeplake.NotFoundError, match="no such file"):
        deeplake.ingest(tmp_path / "none.parquet", place(), verbose=False)
    uri = str(tmp_path / "ds")
    deeplake.ingest(path, uri, columns=["text"], verbose=False)
    with pytest.raises(deeplake.AlreadyExistsError):
        deeplake.ingest(path, uri, columns=["text"], verbose=False)
    assert len(deeplake.ingest(path, uri, columns=["text"], overwrite=True, verbose=False)) == 1


def test_damaged_files(tmp_path: Path) -> None:
    """Files with changed and missing bytes are errors or rows: no crash, no hang, no large memory."""
    path = tmp_path / "x.parquet"
    parquet.write_table(all_types(True), path, compression="snappy", data_page_version="2.0", row_group_size=20)
    good = path.read_bytes()
    draw = random.Random(11)
    outcomes = {"rows": 0, "errors": 0}
    for _ in range(150):
        p = bytearray(good)
        if draw.random() < 0.2:
            del p[draw.randrange(len(p)) :]
        for _ in range(draw.randrange(1, 4)):
            if p:
                p[draw.randrange(len(p))] = draw.randrange(256)
        path.write_bytes(p)
        try:
            ds = deeplake.ingest(path, place(), verbose=False)
        except deeplake.Error as err:
            outcomes["errors"] += 1
            assert "panic" not in str(err), err
        else:
            outcomes["rows"] += 1
            assert len(ds) >= 0
    assert outcomes["errors"] > 50


def test_fixed_lists_that_are_null(tmp_path: Path) -> None:
    """Null lists of a fixed size have places in Arrow, whatever the types of their items."""
    kinds = {
        "bool": (pa.list_(pa.bool_(), 1), [None, None, [True]]),
        "none": (pa.list_(pa.float32(), 2), [None, None, None]),
        "some": (pa.list_(pa.float32(), 2), [None, [1, 2], None]),
        "text": (pa.list_(pa.string(), 2), [None, ["a", "b"], None]),
        "deep": (pa.list_(pa.list_(pa.int8(), 2), 3), [None, [[1, 2], [3, 4], [5, 6]], None]),
        "bools": (pa.list_(pa.list_(pa.bool_(), 3), 1), [[[True, False, True]], None, None]),
        "struct": (pa.list_(pa.struct([("a", pa.int16())]), 2), [None, [{"a": 1}, {"a": None}], None]),
    }
    table = pa.table({name: pa.array(values, kind) for name, (kind, values) in kinds.items()})
    schema = dict.fromkeys(("text", "struct"), "json")
    for rows in (1, 2, 3):
        parquet.write_table(table, tmp_path / "x.parquet", row_group_size=rows)
        ds = deeplake.ingest(tmp_path / "x.parquet", place(), schema=schema, verbose=False)
        for name, (_, values) in kinds.items():
            got = [ds[name][row] for row in range(3)]
            assert [one.tolist() if isinstance(one, np.ndarray) else one for one in got] == values, (name, rows)
    values = [[1.5, 2.5]] * 70_000 + [None] * 5
    parquet.write_table(pa.table({"v": pa.array(values, pa.list_(pa.float32(), 2))}), tmp_path / "x.parquet")
    ds = deeplake.ingest(tmp_path / "x.parquet", place(), verbose=False)
    assert ds["v"].shape == (2,) and ds["v"][69_999].tolist() == [1.5, 2.5] and ds["v"][70_004] is None


def test_repaired_files_are_taken_in(tmp_path: Path) -> None:
    source, uri = tmp_path / "source", str(tmp_path / "ds")
    source.mkdir()
    parquet.write_table(pa.table({"a": [1, 2]}), source / "a.parquet", compression="none", write_page_checksum=True)
    parquet.write_table(pa.table({"a": [3]}), source / "b.parquet")
    good = (source / "a.parquet").read_bytes()
    at = good.index((2).to_bytes(8, "little"))
    (source / "a.parquet").write_bytes(good[:at] + b"\xff" + good[at + 1 :])
    report = create(uri, f"from-{source}", "--on-error", "skip")
    assert report["rows"] == 1 and "checksum" in report["skips"][0]["reason"]
    (source / "a.parquet").write_bytes(good)
    report = create(uri, f"from-{source}", "--on-error", "skip")
    assert (report["rows"], report["added"]) == (3, 2)
    assert sorted(deeplake.open(uri)["a"].numpy().tolist()) == [1, 2, 3]


def test_another_schema_is_refused(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": ["x"]}), tmp_path / "a.parquet")
    command = [
        sys.executable,
        "-m",
        "deeplake",
        "create",
        str(tmp_path / "ds"),
        f"from-{tmp_path}/a.parquet",
        "--columns",
    ]
    assert subprocess.run([*command, "a"], check=False).returncode == 0
    done = subprocess.run([*command, "a=class_label"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "with another schema lies there" in done.stderr


@pytest.mark.slow
def test_small_files_of_large_batches(tmp_path: Path) -> None:
    """A dictionary of one large value makes every row large: batches have few of them, or it is refused."""
    value = b"x" * (1 << 20)
    table = pa.table({"b": pa.array([value] * 1000, pa.binary(1 << 20))})
    parquet.write_table(table, tmp_path / "x.parquet", compression="zstd", dictionary_pagesize_limit=4 << 20)
    assert (tmp_path / "x.parquet").stat().st_size < 20_000
    program = (
        "import deeplake, sys\n"
        "try: print(len(deeplake.ingest(sys.argv[1], sys.argv[2], verbose=False)))\n"
        "except deeplake.Error as err: print(type(err).__name__)\n"
        "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "x.parquet"), str(tmp_path / "ds")],
        capture_output=True,
        text=True,
        check=True,
    )
    outcome, peak = done.stdout.split()
    assert outcome == "1000" and int(peak) < 800_000  # kB; the rows have 1 GB


@pytest.mark.slow
def test_going_on_within_large_rows(tmp_path: Path) -> None:
    """Rows before the position are passed over a few at a time, however large they are. pyarrow writes 600
    values of 1 MiB into one page.
    """
    rows = 600
    lists = [[[1, 2], [3, 4]] if row != 590 else [[1], [2, 3]] for row in range(rows)]
    draw = np.random.default_rng(0)
    blobs = [draw.bytes(1 << 20) for _ in range(8)]
    table = pa.table({"blob": pa.array([blobs[row % 8] for row in range(rows)]), "m": lists})
    parquet.write_table(table, tmp_path / "x.parquet", compression="snappy", use_dictionary=False)
    command = [sys.executable, "-m", "deeplake", "create", str(tmp_path / "ds"), f"from-{tmp_path}/x.parquet"]
    for _ in range(2):
        done = subprocess.run([*command, "--checkpoint", "540"], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "lists of unequal lengths" in done.stderr, done.stderr
        ds = deeplake.open(tmp_path / "ds")
        assert 540 <= len(ds) <= 590 and bytes(ds["blob"][539]) == blobs[539 % 8]
