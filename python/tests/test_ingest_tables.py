"""deeplake.ingest and `deeplake create from-TABLE`: tables, rows and files become datasets."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deeplake
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import csv, feather, parquet


def place() -> str:
    return f"mem://ingest-tables-{uuid.uuid4().hex}"


def some(rows: int = 10) -> Any:
    return pa.table({
        "id": np.arange(rows), "text": [None if n % 4 == 1 else f"text {n}" for n in range(rows)],
        "kind": [["cat", "dog"][n % 2] for n in range(rows)], "vector": pa.array([[n / 2, n] for n in range(rows)], pa.list_(pa.float32(), 2)),
    })  # fmt: skip


def values(ds: deeplake.Dataset) -> dict[str, list[Any]]:
    return {
        name: column.to_pylist() for name, column in zip(ds.to_arrow().column_names, ds.to_arrow().columns, strict=True)
    }


SOURCES: dict[str, Any] = {
    "table": some,
    "reader": lambda: some().to_reader(max_chunksize=3),
    "polars": lambda: pl.from_arrow(some()),
    "pandas": lambda: some().to_pandas(),
    "columns": lambda: {name: some()[name] for name in some().column_names},
    "rows": lambda: some().to_pylist(),
    "generator": lambda: iter(some().to_pylist()),
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("how", ["all", "columns", "schema"])
def test_sources(name: str, how: str) -> None:
    columns = ["kind", "id"] if how == "columns" else None
    schema = {"kind": "class_label"} if how == "schema" else None
    uri = place()
    ds = deeplake.ingest(SOURCES[name](), uri, columns=columns, schema=schema, verbose=False)
    want = some().select(columns) if columns else some()
    got = values(ds)
    assert sorted(got) == sorted(want.column_names)
    assert {column: got[column] for column in want.column_names} == want.to_pydict()
    assert ds["kind"].htype == ("class_label" if how == "schema" else "text")
    assert ds.head.version == 1 and not ds.dirty
    assert values(deeplake.open(uri)) == got


def test_duckdb() -> None:
    connection = duckdb.connect()
    connection.register("animals", some())
    ds = deeplake.ingest(connection.sql("SELECT id, kind FROM animals WHERE id > 3"), place(), verbose=False)
    assert values(ds) == some().slice(4).select(["id", "kind"]).to_pydict()


class MapStyle:
    """A dataset in the style of torch, without __iter__."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> Any:
        if not 0 <= row < len(self.rows):
            raise IndexError(row)
        return self.rows[row]


def test_datasets_of_torch() -> None:
    import torch

    class Digits(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return 2500

        def __getitem__(self, row: int) -> Any:
            return torch.full((2, 2), row % 256, dtype=torch.uint8), row % 10

    ds = deeplake.ingest(Digits(), place(), columns=["image", "label"], verbose=False)
    assert len(ds) == 2500 and ds["image"].dtype == "uint8" and ds["image"].shape == (2, 2)
    assert int(ds["label"][2499]) == 9 and int(ds["image"][511][1, 1]) == 255
    assert values(deeplake.ingest(MapStyle([{"a": 1}, {"b": "x"}]), place(), verbose=False)) == {
        "a": [1, None],
        "b": [None, "x"],
    }
    with pytest.raises(deeplake.InvalidArgumentError, match="row 0 is a tuple of 2 items, and columns= names none"):
        deeplake.ingest(MapStyle([(1, 2)]), place())
    with pytest.raises(deeplake.InvalidArgumentError, match="row 1 is a int, want a dict"):
        deeplake.ingest([{"a": 1}, 7], place())


def write(folder: Path, format: str) -> Path:
    table = some().drop_columns(["vector"]) if format in ("csv", "csv.gz") else some()
    path = folder / f"t.{format}"
    match format:
        case "parquet":
            parquet.write_table(table, path, row_group_size=3)
        case "feather":
            feather.write_feather(table, path)
        case "csv":
            csv.write_csv(table, path)
        case "csv.gz":
            csv.write_csv(table, folder / "plain")
            path.write_bytes(gzip.compress((folder / "plain").read_bytes()))
            (folder / "plain").unlink()
        case "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path


@pytest.mark.parametrize("format", ["parquet", "feather", "csv", "csv.gz", "jsonl"])
def test_files(format: str, tmp_path: Path) -> None:
    path = write(tmp_path, format)
    want = some().to_pydict()
    if format in ("csv", "csv.gz"):
        want.pop("vector")
    for source in (path, str(path), tmp_path):
        ds = deeplake.ingest(source, place(), verbose=False)
        got = values(ds)
        if format in ("csv", "csv.gz"):  # which has no nulls among texts
            got["text"] = [value or None for value in got["text"]]
        assert got == want
    ds = deeplake.ingest(path, place(), columns=["id"], verbose=False)
    assert list(ds.tensors) == ["id"]


def test_folders(tmp_path: Path) -> None:
    for year in (2025, 2026):
        for part in range(2):
            folder = tmp_path / f"year={year}"
            folder.mkdir(exist_ok=True)
            parquet.write_table(some(5), folder / f"{part}.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden.csv").write_text("a\n1\n")
    ds = deeplake.ingest(tmp_path, place(), verbose=False)
    assert len(ds) == 20 and values(ds)["year"] == [2025] * 10 + [2026] * 10
    (tmp_path / "notes.csv").write_text("a\n1\n")
    with pytest.raises(deeplake.InvalidArgumentError, match="its names tell no format, or several; give format="):
        deeplake.ingest(tmp_path, place())
    assert len(deeplake.ingest(tmp_path, place(), format="parquet", verbose=False)) == 20


BAD: dict[str, tuple[bytes, str]] = {
    "cut.parquet": (b"", r"import from .*cut\.parquet"),
    "noise.parquet": (b"PAR1" + bytes(range(256)) * 4 + b"PAR1", r"import from .*noise\.parquet"),
    "ragged.csv": (b"a,b\n1,2\n3\n", "ragged.csv"),
    "latin.csv": ("a,b\n1,caf\xe9\n".encode("latin-1"), "not UTF-8; convert the file"),
    "half.jsonl": (b'{"a": 1}\n{"a": 2', "half.jsonl"),
    "kinds.jsonl": (
        b'{"a": 1}\n{"a": "x"}\n',
        'line 2 has a text for "a", and lines before have a number; write one kind',
    ),
    "twice.csv": (b"a,a\n1,2\n", 'two columns have the name "a"; rename one'),
    "empty.csv": (b"", "empty.csv"),
    "list.jsonl": (b'{"a": 1}\n[2]\n', "list.jsonl, after row 0: line 2 is no JSON object"),
    "odd.xlsx": (b"PK", "its names tell no format"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_leave_nothing(name: str, tmp_path: Path) -> None:
    data, match = BAD[name]
    file = tmp_path / name
    file.write_bytes(data)
    if name == "cut.parquet":
        parquet.write_table(some(1000), file)
        file.write_bytes(file.read_bytes()[:-100])
    uri = str(tmp_path / "ds")
    with pytest.raises(deeplake.Error, match=match):
        deeplake.ingest(file, uri)
    assert not deeplake.exists(uri)


def test_what_is_refused(tmp_path: Path) -> None:
    for source, match in (
        (7, "got a int, want a table"),
        (b"bytes", "got a bytes"),
        (tmp_path / "none.parquet", "there is no such file"),
        ([], "has no rows"),
        ({"a": []}, "has no rows"),
    ):
        with pytest.raises(deeplake.Error, match=match):
            deeplake.ingest(source, place())
    with pytest.raises(deeplake.InvalidArgumentError, match='no column "idd"; did you mean "id"'):
        deeplake.ingest(some(), place(), columns=["idd"])
    with pytest.raises(deeplake.InvalidArgumentError, match='no column "b"; it has a'):
        deeplake.ingest([{"a": n} for n in range(2000)], place(), columns=["a", "b"])
    with pytest.raises(deeplake.InvalidArgumentError, match='no column "kid"'):
        deeplake.ingest(some(), place(), schema={"kid": "text"})
    with pytest.raises(deeplake.InvalidArgumentError, match='format is "xls", want one of'):
        deeplake.ingest(tmp_path, place(), format="xls")
    with pytest.raises(deeplake.InvalidArgumentError, match="the source is no path"):
        deeplake.ingest(some(), place(), format="csv")


def test_a_dataset_that_is_there(tmp_path: Path) -> None:
    uri = str(tmp_path / "ds")
    deeplake.ingest(some(), uri, verbose=False, message="first").close()
    with pytest.raises(deeplake.AlreadyExistsError):
        deeplake.ingest({"a": [1]}, uri)
    assert len(deeplake.open(uri)) == 10 and deeplake.open(uri).head.message == "first"
    with pytest.raises(deeplake.InvalidArgumentError, match="has no rows"):
        deeplake.ingest([], uri, overwrite=True)
    assert len(deeplake.open(uri)) == 10
    assert len(deeplake.ingest({"a": [1]}, uri, overwrite=True, verbose=False)) == 1


def test_a_source_that_fails_late(tmp_path: Path) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield from ({"a": n} for n in range(5000))
        raise RuntimeError("the source broke")

    uri = str(tmp_path / "ds")
    with pytest.raises(RuntimeError, match="the source broke"):
        deeplake.ingest(rows(), uri)
    assert not deeplake.exists(uri)
    with pytest.raises(deeplake.TensorTypeError, match='"a": row 7: sample is a str'):
        deeplake.ingest(({"a": n if n != 1007 else "x"} for n in range(5000)), uri)
    assert not deeplake.exists(uri)


def test_schema_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    deeplake.ingest(some(), place(), schema={"vector": "embedding"})
    shown = capsys.readouterr()
    assert shown.out == "" and "10 rows" in shown.err and "embedding" in shown.err and "vector" in shown.err


def deeplake_command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "deeplake", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_command(tmp_path: Path) -> None:
    path = write(tmp_path, "parquet")
    done = deeplake_command("create", tmp_path / "ds", f"from-{path}", "--columns", "id,kind=class_label")
    assert done.returncode == 0, done.stderr
    assert "10 rows" in done.stdout and "class_label" in done.stderr
    ds = deeplake.open(tmp_path / "ds")
    assert sorted(ds.tensors) == ["id", "kind"] and ds["kind"].class_names == ["cat", "dog"]
    again = deeplake_command("create", tmp_path / "ds", f"from-{path}")
    assert again.returncode == 1 and "lies there" in again.stderr
    report = deeplake_command("create", tmp_path / "other", f"from-{path}", "--json")
    assert json.loads(report.stdout)["rows"] == 10 and report.stderr == ""
    for options, match in (
        (["--follow-links"], "--follow-links is for images"),
        (["--workers", "2"], "--workers is for images"),
        (["--on-error", "accept"], "--on-error accept is for images"),
        (["--format", "images", "--columns", "a"], "--columns names columns of a table"),
    ):
        refused = deeplake_command("create", tmp_path / "no", f"from-{path}", *options)
        assert refused.returncode == 2 and match in refused.stderr
    lines = write(tmp_path, "csv")
    taken = deeplake_command("create", tmp_path / "lines", f"from-{lines}", "--checkpoint", "3", "--on-error", "skip")
    assert taken.returncode == 0 and "10 rows" in taken.stdout


def test_hugging_face(tmp_path: Path) -> None:
    import datasets

    files = []
    for n in range(6):
        files.append(tmp_path / f"{n}.png")
        Image.new("RGB", (8 + n, 6), n).save(files[-1])
    features = datasets.Features({
        "image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"]), "text": datasets.Value("string"),
        "objects": {"bbox": datasets.List(datasets.List(datasets.Value("float32"), 4)), "area": datasets.List(datasets.Value("int64"))},
        "grid": datasets.Array2D((2, 3), "uint8"), "tags": datasets.List(datasets.Value("string")),
    })  # fmt: skip
    whole = datasets.Dataset.from_dict({
        "image": [str(file) for file in files], "label": [0, 1, None, 1, 0, 1], "text": [f"t{n}" for n in range(6)],
        "objects": [{"bbox": [[1, 2, 3, 4]] * (n % 3), "area": [n] * (n % 3)} for n in range(6)],
        "grid": [np.full((2, 3), n, np.uint8) for n in range(6)], "tags": [["a"] * (n % 2) for n in range(6)],
    }, features)  # fmt: skip
    for source, order in (
        (whole, range(6)),
        (whole.select([4, 2]), [4, 2]),
        (whole.shuffle(seed=1), whole.shuffle(seed=1)["text"]),
        (whole.to_iterable_dataset(), range(6)),
    ):
        wanted = [int(str(row).removeprefix("t")) for row in order]
        ds = deeplake.ingest(source, place(), verbose=False)
        assert {name: about["htype"] for name, about in ds.schema.items()} == {
            "image": "image", "label": "class_label", "text": "text", "objects/bbox": "generic", "objects/area": "generic",
            "grid": "generic", "tags": "sequence[text]",
        }  # fmt: skip
        assert ds["label"].class_names == ["cat", "dog"]
        assert [ds["image"].bytes(row) for row in range(len(ds))] == [files[n].read_bytes() for n in wanted]
        assert [None if v is None else int(v) for v in ds["label"]] == [whole["label"][n] for n in wanted]
        assert [v.tolist() for v in ds["objects/bbox"]] == [[[1, 2, 3, 4]] * (n % 3) for n in wanted]
        assert [v.tolist() for v in ds["grid"]] == [np.full((2, 3), n).tolist() for n in wanted]
        assert [list(v) for v in ds["tags"]] == [["a"] * (n % 2) for n in wanted]
    parts = datasets.DatasetDict({"train": whole.select(range(4)), "it's": whole.select([4, 5])})
    ds = deeplake.ingest(parts, place(), columns=["text", "label"], verbose=False)
    assert [(view.name, list(ds.load_view(view.name)["text"])) for view in ds.views()] == [
        ("it's", ["t4", "t5"]), ("train", ["t0", "t1", "t2", "t3"])]  # fmt: skip
    ds.delete(0)
    ds.commit()
    train, rest = ds.split(["train", "it's"])
    assert list(train["text"]) == ["t1", "t2", "t3"] and list(rest["text"]) == ["t4", "t5"]
    with pytest.raises(deeplake.InvalidArgumentError, match='no column "txt"; did you mean "text"'):
        deeplake.ingest(whole, place(), columns=["txt"])
    with pytest.raises(deeplake.InvalidArgumentError, match='a column "split"'):
        deeplake.ingest(datasets.DatasetDict({"a": datasets.Dataset.from_dict({"split": [1]})}), place())


def test_later_rows_have_other_keys(tmp_path: Path) -> None:
    lines = tmp_path / "t.jsonl"
    lines.write_text('{"a": 1}\n' * 5000 + '{"a": 2, "b": 1}\n')
    ds = deeplake.ingest(lines, place(), verbose=False)
    assert len(ds) == 5001 and ds["b"][4999] is None and int(ds["b"][5000]) == 1 and int(ds["a"][5000]) == 2
    lines.write_text('{"a": 1}\n\n{"a": 18446744073709551615, "b": "%s"}\n' % ("x" * 3_000_000))
    ds = deeplake.ingest(lines, place(), verbose=False)
    assert ds["a"].dtype == "uint64" and int(ds["a"][1]) == 2**64 - 1
    assert ds["b"][0] is None and len(str(ds["b"][1])) == 3_000_000
    for name, columns in (("0", {"a": [1]}), ("1", {"a": [2], "b": ["x"]})):
        parquet.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    lines.unlink()
    assert values(deeplake.ingest(tmp_path, place(), verbose=False)) == {"a": [1, 2], "b": [None, "x"]}


def test_schema_of_csv(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("zip,day,n,f\n01234,2026-01-01,18446744073709551615,1\n0,2026-01-02,3,2\n")
    schema = {"zip": "text", "day": "text", "n": {"dtype": "uint64"}, "f": {"dtype": "float32"}}
    ds = deeplake.ingest(file, place(), schema=schema, verbose=False)
    assert values(ds) == {"zip": ["01234", "0"], "day": ["2026-01-01", "2026-01-02"], "n": [2**64 - 1, 3], "f": [1, 2]}
    assert ds["n"].dtype == "uint64" and ds["f"].dtype == "float32"
    with pytest.raises(deeplake.InvalidArgumentError, match='no column "zap"; did you mean "zip"'):
        deeplake.ingest(file, place(), columns=["zap"])


def test_streams_in_files(tmp_path: Path) -> None:
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_stream(file, some().schema) as writer:
        writer.write_table(some(), 3)
    assert values(deeplake.ingest(tmp_path / "t.arrow", place(), verbose=False)) == some().to_pydict()
    assert list(deeplake.ingest(tmp_path / "t.arrow", place(), columns=["id"], verbose=False).tensors) == ["id"]


def test_tables_without_rows(tmp_path: Path) -> None:
    parquet.write_table(some(0), tmp_path / "t.parquet")
    for source in (some(0), some(0).to_reader(), tmp_path / "t.parquet"):
        ds = deeplake.ingest(source, place(), verbose=False)
        assert len(ds) == 0 and list(ds.tensors) == ["id", "text", "kind", "vector"]
        ds.extend(some(3))
        assert len(ds) == 3


@pytest.mark.parametrize("there", ["old", "nothing"])
def test_overwrite_keeps_the_old_until_the_commit(there: str, tmp_path: Path) -> None:
    uri = str(tmp_path / "ds")
    if there == "old":
        deeplake.ingest(some(), uri, verbose=False).close()

    def rows() -> Iterator[dict[str, Any]]:
        yield from ({"a": n} for n in range(5000))
        if there == "old":
            assert len(deeplake.open(uri)) == 10
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        deeplake.ingest(rows(), uri, overwrite=True)
    assert deeplake.exists(uri) == (there == "old")
    if there == "old":
        old = deeplake.open(uri)
        assert values(old) == some().to_pydict() and not old.fsck().problems
    assert values(deeplake.ingest({"a": [1]}, uri, overwrite=True, verbose=False)) == {"a": [1]}
    assert len(deeplake.open(uri)) == 1


def test_classes_of_hugging_face_are_names() -> None:
    import datasets

    def labelled(names: list[str], numbers: list[int]) -> Any:
        label = datasets.ClassLabel(names=names)
        features = datasets.Features({"x": label, "many": datasets.List(label), "in": {"y": label}})
        rows = {"x": numbers, "many": [[n] * (k % 2) for k, n in enumerate(numbers)], "in": [{"y": n} for n in numbers]}
        return datasets.Dataset.from_dict(rows, features)

    parts = datasets.DatasetDict({"train": labelled(["x", "y"], [0, 1]), "test": labelled(["y", "x"], [0, 1])})
    ds = deeplake.ingest(parts, place(), verbose=False)
    for tensor in ("x", "in/y"):
        assert [ds[tensor].class_names[int(v)] for v in ds[tensor]] == ["x", "y", "y", "x"]
    assert [[ds["many"].class_names[int(v)] for v in row] for row in ds["many"]] == [[], ["y"], [], ["x"]]
    other = deeplake.create(place(), schema={"x": "class_label", "many": "class_label", "in/y": "class_label"})
    other.extend(labelled(["b", "a"], [0, 1]))
    other.extend(labelled(["a", "b"], [0, 1]))
    assert [other["x"].class_names[int(v)] for v in other["x"]] == ["b", "a", "a", "b"]
    plain = datasets.Dataset.from_dict({"x": [-1, 0]}, datasets.Features({"x": datasets.ClassLabel(names=["a"])}))
    assert [None if v is None else int(v) for v in deeplake.ingest(plain, place(), verbose=False)["x"]] == [None, 0]


def test_rows_of_a_dataset() -> None:
    ds = deeplake.create(place(), schema={"x": {"htype": "class_label", "class_names": ["a", "b"]}, "n": "generic"})
    ds.extend({"x": ["b", "a", None], "n": [1, 2, 3]})
    other = deeplake.create(place(), schema={"x": {"htype": "class_label", "class_names": ["b", "a"]}, "n": "generic"})
    other.extend(ds[:2])
    other.extend(ds)
    names = [None if v is None else other["x"].class_names[int(v)] for v in other["x"]]
    assert names == ["b", "a", "b", "a", None]
    with pytest.raises(deeplake.InvalidArgumentError, match=r"view.materialize\(uri\)"):
        deeplake.ingest(ds, place())
    new = deeplake.create(place())
    new.extend(ds)
    assert new.schema["x"] == ds.schema["x"] and values(new) == values(ds)


def test_pictures_of_a_dataset(tmp_path: Path) -> None:
    Image.new("RGB", (9, 7), 5).save(tmp_path / "p.jpg")
    schema = {"p": {"htype": "image", "compression": "jpeg", "chunk_bytes": 1 << 20}, "m": "segment_mask", "b": "bbox"}
    ds = deeplake.create(place(), schema=schema)
    tiled = np.random.default_rng(0).integers(0, 255, (1500, 1500, 3), dtype=np.uint8)
    ds.extend({
        "p": [deeplake.read(tmp_path / "p.jpg"), tiled, None], "m": [np.ones((4, 4), np.uint8), None, None],
        "b": [np.zeros((0, 4)), np.ones((2, 4)), None],
    })  # fmt: skip
    ds.commit()
    for other in (deeplake.create(place()), deeplake.create(place(), schema={**schema, "p": "image"})):
        other.extend(ds)
        other.extend(ds.query("SELECT p, m, b WHERE ROW_NUMBER() < 1"))
        assert other["p"].bytes(0) == other["p"].bytes(3) == (tmp_path / "p.jpg").read_bytes()
        assert other["p"][1].shape == tiled.shape and other["p"][2] is None and other["b"][1].shape == (2, 4)
        assert other["m"][0].tolist() == ds["m"][0].tolist() and other["m"][1] is None


def test_tables_with_logs(tmp_path: Path) -> None:
    """Delta and Iceberg come in by their readers, without deleted rows; their folders are refused."""
    import deltalake
    from pyiceberg.catalog.sql import SqlCatalog

    table = some(20)
    deltalake.write_deltalake(tmp_path / "delta", table)
    deltalake.DeltaTable(tmp_path / "delta").delete("id % 5 = 0")
    delta = deltalake.DeltaTable(tmp_path / "delta")
    want = sorted(row["id"] for row in table.to_pylist() if row["id"] % 5)
    ds = deeplake.ingest(delta.to_pyarrow_dataset().scanner().to_reader(), place(), verbose=False)
    assert sorted(ds["id"].numpy().tolist()) == want
    by_id = {row["id"]: row for row in delta.to_pyarrow_table().to_pylist()}
    assert {row["id"]: row for row in ds.to_arrow().to_pylist()} == by_id
    with pytest.raises(deeplake.InvalidArgumentError, match=r"Delta table, whose folder has deleted rows too; read"):
        deeplake.ingest(tmp_path / "delta", place(), format="parquet", verbose=False)

    catalog = SqlCatalog("x", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w")
    catalog.create_namespace("n")
    iceberg = catalog.create_table("n.t", schema=table.schema)
    iceberg.append(table)
    iceberg.delete("id < 4")
    ds = deeplake.ingest(iceberg.scan().to_arrow_batch_reader(), place(), verbose=False)
    assert sorted(ds["id"].numpy().tolist()) == list(range(4, 20))
    assert ds.to_arrow().to_pylist() == iceberg.scan().to_arrow().to_pylist()
    with pytest.raises(deeplake.InvalidArgumentError, match="Iceberg table"):
        deeplake.ingest(tmp_path / "w", place(), format="parquet", verbose=False)


def test_the_index_of_pandas_is_left_out(tmp_path: Any) -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=["x", "y"])
    table = pa.Table.from_pandas(frame)
    assert table.column_names == ["a", "__index_level_0__"]
    frame.to_parquet(tmp_path / "frame.parquet")
    for source in (frame, table, tmp_path / "frame.parquet"):
        ds = deeplake.ingest(source, place(), verbose=False)
        assert list(ds.tensors) == ["a"] and list(ds["a"][:]) == [1, 2]
        ds.extend(table)
        ds.commit()
        assert list(ds["a"][:]) == [1, 2, 1, 2]
    kept = deeplake.ingest(frame.reset_index(), place(), verbose=False)
    assert list(kept["index"][:]) == ["x", "y"]


def test_separators(tmp_path: Path) -> None:
    names = tmp_path / "names.csv"
    names.write_text("Name, Vorname;Ort\nMueller, Hans;Berlin\nMaier, Eva;Bonn\n")
    with pytest.raises(deeplake.InvalidArgumentError, match="',' divides its lines into 2 values, and ';' into 2"):
        deeplake.ingest(names, place(), verbose=False)
    ds = deeplake.ingest(names, place(), separator=";", verbose=False)
    assert values(ds) == {"Name, Vorname": ["Mueller, Hans", "Maier, Eva"], "Ort": ["Berlin", "Bonn"]}
    frame = pd.DataFrame({"id": [1, 2], "notes (what; who; when)": ["rain, a lot; me; noon", "sun, none; you; dawn"]})
    for separator, name in ((",", "a.csv"), (";", "b.csv"), ("\t", "c.tsv")):
        frame.to_csv(tmp_path / name, index=False, sep=separator)
        ds = deeplake.ingest(tmp_path / name, place(), verbose=False)
        assert values(ds) == frame.to_dict("list"), separator
    made = deeplake_command("create", tmp_path / "names", f"from-{names}", "--separator", ";")
    assert made.returncode == 0 and "2 rows" in made.stdout, made.stderr
    with pytest.raises(deeplake.InvalidArgumentError, match="separator is a int, want a str"):
        deeplake.ingest(names, place(), separator=5, verbose=False)  # type: ignore[arg-type]
    parquet.write_table(some(), tmp_path / "some.parquet")
    with pytest.raises(deeplake.InvalidArgumentError, match="separator is of CSV"):
        deeplake.ingest(tmp_path / "some.parquet", place(), separator=";", verbose=False)
    with pytest.raises(deeplake.InvalidArgumentError, match=r"separator, link.* got no path"):
        deeplake.ingest(some(), place(), separator=";", verbose=False)


@pytest.mark.parametrize("kind", ["list", "generator", "dataset"])
@pytest.mark.parametrize(
    ("rows", "schema", "want"),
    [
        ([{}] * 1500 + [{"a": 1}], None, {"a": [None] * 1500 + [1]}),
        ([{}] * 2000 + [{"a": 1}] + [{}] * 1500, None, {"a": [None] * 2000 + [1] + [None] * 1500}),
        ([{}] * 1000 + [{"a": None}] * 1000 + [{"a": "x"}], None, {"a": [None] * 2000 + ["x"]}),
        ([{"a": 1}] * 1500 + [{"b": "x"}, {}], None, {"a": [1] * 1500 + [None] * 2, "b": [None] * 1500 + ["x", None]}),
        (
            [{"a": 1}] * 1000 + [{"b": [1, 2], "c": ["x", "y"]}] * 1001,
            None,
            {"a": [1] * 1000 + [None] * 1001, "b": [None] * 1000 + [[1, 2]] * 1001, "c": [None] * 1000 + [["x", "y"]] * 1001},
        ),
        ([{"a": 1}] * 1000 + [{"b": "x"}], {"b": "class_label"}, {"a": [1] * 1000 + [None], "b": [None] * 1000 + ["x"]}),
        ([{"a": 1}] * 1000 + [{"b": 2}], {"a": {"dtype": "int8"}}, {"a": [1] * 1000 + [None], "b": [None] * 1000 + [2]}),
    ],
    ids=["empty", "empty around", "then holes", "late", "late twice", "late in schema", "late beside schema"],
)  # fmt: skip
def test_rows_that_lack_values(kind: str, rows: list[Any], schema: Any, want: dict[str, list[Any]]) -> None:
    class Rows:
        def __len__(self) -> int:
            return len(rows)

        def __getitem__(self, at: int) -> Any:
            return rows[at]

    source = {"list": lambda: rows, "generator": lambda: iter(rows), "dataset": Rows}[kind]()
    with deeplake.ingest(source, place(), schema=schema, verbose=False) as ds:
        assert len(ds) == len(rows) and values(ds) == want
        assert ds.head.version == 1 and not ds.dirty
        for name, about in (schema or {}).items():
            assert ds[name].htype == about or ds[name].dtype == about["dtype"]


def test_rows_without_any_value(tmp_path: Path) -> None:
    uri = str(tmp_path / "ds")
    for source, options, match in (
        ([{}] * 1500, {}, "all 1,500 rows are empty"),
        ([{}], {"columns": ["a"]}, "all 1 rows are empty"),
        ([{"a": 1}] * 1500, {"schema": {"b": "text"}}, 'no column "b"; it has a'),
        ([{"a": 1}] * 1500 + [{"a/b": 1}], {}, "after 1,000 rows of the source: .*a/b"),
        ([{"a": 1}] * 1500 + [{2: 1}], {}, "after 1,000 rows of the source: .*name is a int"),
        ([{"a": 1}] * 1500 + [{"b": 1}, {"b": "x"}], {}, 'after 1,000 rows of the source: .*"b": row 501'),
    ):
        with pytest.raises(deeplake.InvalidArgumentError if "empty" in match else deeplake.Error, match=match):
            deeplake.ingest(source, uri, verbose=False, **options)  # type: ignore[arg-type]
        assert not deeplake.exists(uri)


def test_streams_of_hugging_face_with_other_keys() -> None:
    import datasets

    def rows() -> Iterator[dict[str, Any]]:
        yield from ({"a": n} for n in range(1500))
        yield {"a": 1, "b": "x"}

    stream = datasets.IterableDataset.from_generator(rows)
    with pytest.raises(deeplake.TensorTypeError, match=r"give the dataset features, or ingest iter\(dataset\)"):
        deeplake.ingest(stream, place(), verbose=False)
    ds = deeplake.ingest(iter(stream), place(), verbose=False)
    assert len(ds) == 1501 and ds["b"][1499:] == [None, "x"]
