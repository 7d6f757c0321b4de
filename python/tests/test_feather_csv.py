"""Files of Arrow and of comma-separated values in the core: every type and every writer as the
writer reads them back, from a store and a web server, with resumed runs and damaged files."""

from __future__ import annotations

import functools
import gzip
import http.server
import itertools
import json
import random
import sys
import threading
import uuid
from datetime import date, datetime
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from kills import killed_after_a_commit
from pyarrow import csv, feather
from servers import send_range
from test_arrow_stream import TYPES, expected, make, read
from test_parquet import create, renamed, version_of


def place() -> str:
    return f"mem://files-{uuid.uuid4().hex}"


def specs() -> dict[str, Any]:
    return {name: {"htype": "generic", **spec} for name, (_, _, spec) in TYPES.items() if spec}


def all_types(nulls: bool) -> Any:
    table = pa.table({name: make(kind, values, nulls, 3, False) for name, (kind, values, _) in TYPES.items()})
    return table.unify_dictionaries()  # a file has one


def check(path: Path, table: Any, what: Any) -> None:
    ds = deeplake.ingest(path, place(), schema=specs(), verbose=False)
    assert len(ds) == len(table)
    for name in TYPES:
        assert read(renamed(ds, name), TYPES[name][2]) == expected(table[name], name), (name, what)


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_every_type(tmp_path: Path, codec: str | None, kind: str) -> None:
    path = tmp_path / "x.arrow"
    new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    versions = (pa.ipc.MetadataVersion.V4, pa.ipc.MetadataVersion.V5)
    for nulls, rows, version in itertools.product((False, True), (1, 5, 1000), versions):
        table = all_types(nulls)
        options = pa.ipc.IpcWriteOptions(compression=codec, metadata_version=version)
        with pa.OSFile(str(path), "wb") as file, new(file, table.schema, options=options) as writer:
            writer.write_table(table, rows)
        check(path, table, (nulls, rows, version))


def test_writers_of_arrow(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "t": ["x", None, "a text of more than twelve bytes"]}).iloc[1:]
    frame.reset_index().to_feather(tmp_path / "pandas.feather")
    pl.from_pandas(frame).write_ipc(tmp_path / "polars.arrow", compression="zstd")
    pl.from_pandas(frame).write_ipc_stream(tmp_path / "polars-stream.arrow")
    feather.write_feather(frame, str(tmp_path / "index.feather"))
    for path in tmp_path.iterdir():
        ds = deeplake.ingest(path, place(), columns=["a", "t"], verbose=False)
        assert ds.to_arrow().to_pydict() == {"a": [2, 3], "t": [None, "a text of more than twelve bytes"]}, path
    assert list(deeplake.ingest(tmp_path / "index.feather", place(), verbose=False).tensors) == ["a", "t"]


def test_a_dataset_of_hugging_face_on_disk(tmp_path: Path) -> None:
    import datasets

    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])})
    rows = {"text": [f"text {n}" for n in range(3000)], "label": [n % 2 for n in range(3000)]}
    datasets.Dataset.from_dict(rows, features=features).save_to_disk(str(tmp_path / "d"), num_shards=2)
    ds = deeplake.ingest(tmp_path / "d", place(), format="feather", verbose=False)
    assert ds["label"].class_names == ["no", "yes"] and ds["label"].numpy().tolist() == rows["label"]
    assert [ds["text"][n] for n in (0, 1499, 1500, 2999)] == [f"text {n}" for n in (0, 1499, 1500, 2999)]


VALUES = {
    "id": [1, -2, None],
    "big": [2**64 - 1, 0, 5],
    "number": [1.5, None, -1e300],
    "truth": [True, False, None],
    "text": ["plain", 'a "quoted", text', "two\nlines"],
    "zip": ["01067", "10115", "K1A"],
    "day": [date(2026, 11, 29), date(1969, 12, 31), None],
    "time": [datetime(2026, 11, 29, 10, 30, 0, 500), datetime(1960, 1, 1), None],
}  # fmt: skip


@pytest.mark.parametrize("writer", ["pyarrow", "pandas", "polars", "duckdb"])
def test_writers_of_values(tmp_path: Path, writer: str) -> None:
    path = tmp_path / "x.csv"
    table = pa.table({**VALUES, "big": pa.array(VALUES["big"], pa.uint64())})
    if writer == "pyarrow":
        csv.write_csv(table, path)
    elif writer == "pandas":  # its index comes first, without a name
        table.to_pandas(types_mapper=pd.ArrowDtype).to_csv(path)
    elif writer == "polars":
        pl.from_arrow(table).write_csv(path)  # type: ignore[union-attr]
    else:
        import duckdb

        duckdb.from_arrow(table).write_csv(str(path))
    ds = deeplake.ingest(path, place(), verbose=False)
    assert ds.to_arrow().to_pydict() == VALUES
    assert ds["big"].dtype == "uint64" and ds["day"].dtype == "date" and ds["time"].dtype == "timestamp[us]"
    zipped = tmp_path / "x.csv.gz"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    assert deeplake.ingest(zipped, place(), verbose=False).to_arrow().to_pydict() == VALUES


def test_random_frames_come_back(tmp_path: Path) -> None:
    """What pandas has written comes back, beyond one batch, and as tab-separated values."""
    draw = np.random.default_rng(5)
    rows = 150_000
    frame = pd.DataFrame({
        "n": draw.integers(-(2**62), 2**62, rows), "f": draw.standard_normal(rows) * 10.0 ** draw.integers(-300, 300, rows),
        "t": [f'{one} "or", {one}\n' if one % 7 == 0 else str(one) for one in draw.integers(0, 10**6, rows)],
        "b": draw.integers(0, 2, rows) == 1,
        "z": pd.to_datetime(draw.integers(0, 2**33, rows), unit="s", utc=True),
    })  # fmt: skip
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_csv(tmp_path / "x.tsv", index=False, sep="\t")
    for name in ("x.csv", "x.tsv"):
        ds = deeplake.ingest(tmp_path / name, place(), verbose=False)
        for column in "nfb":
            assert np.array_equal(ds[column].numpy(), frame[column]), column
        assert ds.to_arrow(tensors=["t"])["t"].to_pylist() == frame["t"].tolist()
        assert ds["z"].dtype == "timestamp[us, UTC]"
        assert ds.to_arrow(tensors=["z"])["z"].cast(pa.int64()).to_numpy().tolist() == [
            one.value // 1000 for one in frame["z"].dt.as_unit("ns")
        ]


def test_files_of_a_web_server(tmp_path: Path) -> None:
    """Files come by ranges: of Feather, only the columns that are taken."""
    rows, blob = list(range(1000)), np.random.default_rng(0).bytes(10_000)
    whole = pa.table({"a": rows, "blob": pa.array([blob] * 1000, pa.binary())})
    feather.write_feather(whole, str(tmp_path / "a.feather"), chunksize=500, compression="uncompressed")
    (tmp_path / "a.csv").write_text("a\n" + "".join(f"{n}\n" for n in rows))
    sent: list[int] = []

    class Ranges(http.server.SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            sent.append(send_range(self, Path(self.translate_path(self.path)).read_bytes(), {}))

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Ranges, directory=str(tmp_path))
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            for name in ("a.feather", "a.csv"):
                url = f"http://127.0.0.1:{server.server_port}/{name}"
                ds = deeplake.ingest(url, place(), columns=["a"], verbose=False)
                assert ds["a"].numpy().tolist() == rows
                assert sum(sent) < 1_000_000  # the blobs have 10 MB
        finally:
            server.shutdown()


def test_kill_and_go_on(tmp_path: Path) -> None:
    """A run that is killed at any moment is continued: no row comes twice, none is lost."""
    rows = 40_000
    for kind in ("csv", "arrow"):
        source = tmp_path / kind
        source.mkdir()
        for number in range(3):
            ids = np.arange(number * rows, (number + 1) * rows)
            table = pa.table({"id": ids, "text": [f"text, of row {one}" for one in ids]})
            if kind == "csv":
                csv.write_csv(table, source / f"{number}.csv")
            else:
                feather.write_feather(table, str(source / f"{number}.arrow"), chunksize=3000)
        draw, kills, uri = random.Random(3), 0, str(tmp_path / f"{kind}.lake")
        command = [sys.executable, "-m", "deeplake", "create", uri, f"from-{source}", "--checkpoint", "500"]
        for _ in range(3):
            kills += killed_after_a_commit(command, functools.partial(version_of, uri), 0.05, draw)
            ds = deeplake.open(uri)
            assert ds["id"].numpy().tolist() == list(range(len(ds)))
        report = create(uri, f"from-{source}")
        ds = deeplake.open(uri)
        assert ds["id"].numpy().tolist() == list(range(3 * rows)) and ds["text"][77_777] == "text, of row 77777"
        assert report["rows"] == 3 * rows and kills > 0


def test_rows_that_are_left_out(tmp_path: Path) -> None:
    """--on-error skip reports each line that is no row, and takes the others."""
    lines = [f"{n},{n}.5" for n in range(100_000)]
    lines[10], lines[70_000], lines[99_000] = "10", "oh,1.5", "99000,noon"
    (tmp_path / "x.csv").write_text("\n".join(["id,value", *lines]))
    uri = str(tmp_path / "ds")
    with pytest.raises(deeplake.Error, match=r"x\.csv, after row 0: line 12 has another number of values"):
        deeplake.ingest(tmp_path / "x.csv", uri, verbose=False)
    assert not deeplake.exists(uri)
    report = create(uri, f"from-{tmp_path / 'x.csv'}", "--on-error", "skip")
    assert (report["added"], report["skipped"]) == (99_997, 3)
    reasons = [one["reason"] for one in report["skips"]]
    assert (
        'line 70002 has "oh" for "id", and the column has integers; give it another dtype, or htype text' in reasons[1]
    )
    assert 'line 99002 has "noon" for "value"' in reasons[2]
    ids = deeplake.open(uri)["id"].numpy()
    assert len(ids) == 99_997 and not {10, 70_000, 99_000} & set(ids.tolist())


def test_schema_says_what_values_are(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('a,b,c,d,e\n007,0,1,cat,"{""x"": [1]}"\n8,1,2,dog,null\n')
    schema = {"a": {"dtype": "int16"}, "b": {"dtype": "bool"}, "c": "text", "d": "class_label", "e": "json"}
    ds = deeplake.ingest(path, place(), schema=schema, verbose=False)
    assert ds["a"].numpy().tolist() == [7, 8] and ds["a"].dtype == "int16"
    assert ds["b"].numpy().tolist() == [False, True] and [ds["c"][0], ds["c"][1]] == ["1", "2"]
    assert ds["d"].class_names == ["cat", "dog"] and ds["e"][0] == {"x": [1]}


def test_damaged_files(tmp_path: Path) -> None:
    """Files with changed and missing bytes are errors or rows: no crash, no hang, no large memory."""
    path = tmp_path / "x.arrow"
    for codec, kind in itertools.product((None, "lz4", "zstd"), (pa.ipc.new_file, pa.ipc.new_stream)):
        table = all_types(True)
        options = pa.ipc.IpcWriteOptions(compression=codec)
        with pa.OSFile(str(path), "wb") as file, kind(file, table.schema, options=options) as writer:
            writer.write_table(table, 20)
        good, draw, errors = path.read_bytes(), random.Random(11), 0
        for _ in range(40):
            p = bytearray(good)
            if draw.random() < 0.2:
                del p[draw.randrange(len(p)) :]
            for _ in range(draw.randrange(1, 4)):
                p[draw.randrange(len(p))] = draw.randrange(256)
            path.write_bytes(p)
            try:
                deeplake.ingest(path, place(), verbose=False)
            except deeplake.Error as err:
                errors += 1
                assert "panic" not in str(err), err
        assert errors > 5, (codec, kind)


def test_columns_of_urls(tmp_path: Path) -> None:
    """URLs of CSV files are fetched as those of Parquet: hosts of this machine are refused."""
    (tmp_path / "x.csv").write_text("url,caption\nhttp://127.0.0.1:9/a.jpg,one\n,two\n")
    ds = deeplake.ingest(tmp_path / "x.csv", place(), urls="url", verbose=False)
    assert len(ds) == 2 and ds["image"][0] is None and "private" in str(ds["image_error"][0])
    assert json.dumps([str(ds["caption"][n]) for n in range(2)]) == '["one", "two"]'


def taken(path: Path, **options: Any) -> dict[str, Any]:
    values: dict[str, Any] = deeplake.ingest(path, place(), verbose=False, **options).to_arrow().to_pydict()
    return values


def test_a_bad_value_costs_its_line_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.csv"
    good = {"a": [*range(2000), 7], "b": ["t"] * 2000 + ["ok"]}
    schema = {"a": {"dtype": "int64"}}
    for bad in ("2.5", "x", "007x", "true", "18446744073709551615"):
        path.write_text("a,b\n" + "".join(f"{n},t\n" for n in range(2000)) + f"{bad},bad\n7,ok\n")
        with pytest.raises(
            deeplake.TensorTypeError, match=f'line 2002 has "{bad}" for "a", and the column has integers'
        ):
            taken(path, schema=schema)
        assert taken(path, schema=schema, on_error="skip") == good, bad
    deeplake.ingest(path, place(), schema=schema, on_error="skip")
    told = capsys.readouterr().err
    assert "1 files and rows were left out" in told and "line 2002" in told
    path.write_text("a\n" + "1\n" * 70_000 + "2.5\n7\n")  # the first batch says integers
    assert taken(path, on_error="skip") == {"a": [1] * 70_000 + [7]}


def test_files_have_one_type(tmp_path: Path) -> None:
    """Values of several files make the type that they make in one."""
    zoned = "2026-01-01T10:00:00Z"
    for number, (first, second) in enumerate(
        [
            ("5", "True"), ("5", "2.5"), ("5", "x"), ("-1", "18446744073709551615"), ("2026-01-01", "2026-01-01 10:00"),
            ("2026-01-01 10:00", zoned), ("2026-01-01 10:00:00.123456789", "2026-01-01"), ("007", "7"), ("", "5"), ("1", ""),
        ]
    ):  # fmt: skip
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "1.csv").write_text(f"a,b\n{first},0\n")
        (folder / "2.csv").write_text(f"a,b\n{second},0\n")
        apart = taken(folder)
        (folder / "2.csv").unlink()
        (folder / "1.csv").write_text(f"a,b\n{first},0\n{second},0\n")
        assert apart == taken(folder), (first, second)


def test_a_later_run_keeps_digits(tmp_path: Path) -> None:
    source, uri = tmp_path / "s", str(tmp_path / "d")
    source.mkdir()
    (source / "1.csv").write_text("a\n1\n2\n")
    create(uri, f"from-{source}")
    (source / "2.csv").write_text("a\n007\n3\n")
    report = create(uri, f"from-{source}", "--on-error", "skip")
    assert (
        report["added"] == 1 and 'line 2 has "007" for "a", and the column has integers' in report["skips"][0]["reason"]
    )
    assert deeplake.open(uri)["a"].numpy().tolist() == [1, 2, 3]


def test_batches_without_a_value(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + ",\n" * 65_536 + "1,2\n")
    assert taken(path) == {"a": [None] * 65_536 + [1], "b": [None] * 65_536 + [2]}
    path.write_text("a,b\n,\n,\n")
    assert len(deeplake.ingest(path, place(), verbose=False)) == 2
    feather.write_feather(pa.table({"a": pa.nulls(3)}), str(tmp_path / "x.arrow"))
    assert len(deeplake.ingest(tmp_path / "x.arrow", place(), verbose=False)) == 3


def test_missing_labels_and_documents(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b,c\ncat,[1],1\n,,2\nNA,null,3\n")
    ds = deeplake.ingest(path, place(), schema={"a": "class_label", "b": "json"}, verbose=False)
    assert ds["a"].class_names == ["cat"] and [ds["a"][n] is None for n in range(3)] == [False, True, True]
    assert [ds["b"][n] for n in range(3)] == [[1], None, None]
