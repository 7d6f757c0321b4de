"""Tables of Lance, which pylance writes and reads, beside the datasets that they become."""

from __future__ import annotations

import datetime
import json
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pyarrow as pa
import pytest
from conftest import encoded, host, picture
from test_parquet import create

lance = host("lance")
ROWS = 60
FILES = [encoded(picture(i, 20 + i % 5, 30), ("JPEG", "PNG", "WEBP")[i % 3]) for i in range(ROWS)]


def place() -> str:
    return f"mem://lance-{uuid.uuid4().hex}"


def rows(n: int = ROWS) -> pa.Table:
    none = [i % 7 == 3 for i in range(n)]
    return pa.table(
        {
            "id": range(n),
            "image": pa.array([None if none[i] else FILES[i] for i in range(n)], pa.binary()),
            "hash": pa.array([bytes([255, i]) * 8 for i in range(n)], pa.binary(16)),
            "raw": pa.array([b"\xff\xd8\xff" if i == 0 else b"x" * i for i in range(n)], pa.large_binary()),
            "text": [None if none[i] else f"é {i}" for i in range(n)],
            "score": pa.array([i / 7 for i in range(n)], pa.float32()),
            "vector": pa.array([[i, 1.5] for i in range(n)], pa.list_(pa.float32(), 2)),
            "words": [["x"] * (i % 3) for i in range(n)],
            "when": [datetime.datetime(2026, 1, 2, 3, 4, i) for i in range(n)],
            "deep": [{"a": i, "b": str(i)} for i in range(n)],
        }
    )


def check(ds: deeplake.Dataset, table: pa.Table) -> None:
    """Compares all values with those that pylance reads."""
    assert len(ds) == len(table)
    for at, row in enumerate(table.to_pylist()):
        for name, want in row.items():
            if name == "deep":
                assert [ds["deep/a"][at].item(), ds["deep/b"][at]] == [want["a"], want["b"]]
                continue
            mine = ds[name].bytes(at) if name == "image" and want is not None else ds[name][at]
            if want is None:
                assert mine is None, (name, at)
            elif name == "when":
                assert mine == np.datetime64(want)
            elif name in ("score", "vector"):
                assert np.array_equal(mine, np.asarray(want, np.float32))
            else:
                assert (mine.item() if isinstance(mine, np.generic | np.ndarray) else mine) == want, (name, at)


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_values_are_those_of_pylance(tmp_path: Path, version: str) -> None:
    path = tmp_path / "t.lance"
    lance.write_dataset(rows(), path, data_storage_version=version, max_rows_per_file=25)
    lance.dataset(path).delete("id % 10 = 4")
    wanted = lance.dataset(path).to_table()
    ds = deeplake.ingest(path, place(), verbose=False)
    assert (len(wanted), ds["image"].htype, ds["raw"].htype, ds["raw"].dtype) == (54, "image", "generic", "bytes")
    check(ds, wanted)
    check(deeplake.ingest(lance.dataset(path), place(), verbose=False), wanted)
    some = deeplake.ingest(path, place(), columns=["text", "id"], schema={"id": {"dtype": "int32"}}, verbose=False)
    assert (list(some.tensors), some["id"].dtype) == (["text", "id"], "int32")


def test_versions_and_tags(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance.write_dataset(rows(20), path)
    lance.write_dataset(rows(30), path, mode="append")
    lance.dataset(path).tags.create("first-20", 1)
    for source, n in ((path, 50), (f"{path}@1", 20), (f"{path}@2", 50), (f"{path}@first-20", 20), (f"{path}/", 50)):
        assert len(deeplake.ingest(source, place(), columns=["id"], verbose=False)) == n
    for version in ("9", "none"):
        with pytest.raises(deeplake.InvalidArgumentError, match="the table has no version or tag"):
            deeplake.ingest(f"{path}@{version}", place(), verbose=False)
    folder = path.rename(tmp_path / "folder")  # known by its folder _versions
    assert len(deeplake.ingest(folder, place(), columns=["id"], verbose=False)) == 50


@pytest.mark.parametrize("version", ["2.0", "2.2"])
@pytest.mark.parametrize("kind", ["images", "bytes"])
def test_blobs(tmp_path: Path, version: str, kind: str) -> None:
    """Blobs are files: images if the first one is, else bytes. Large ones are read a few at a time."""
    values = [FILES[i] if kind == "images" else bytes([i]) * (300_000 * (i % 3)) for i in range(40)]
    values = [None if i % 9 == 5 else one for i, one in enumerate(values)]
    if version == "2.0":
        schema = pa.schema([pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})])
        column: Any = pa.array(values, pa.large_binary())
    else:
        schema, column = pa.schema([lance.blob_field("blob")]), lance.blob_array(values)
    path = tmp_path / "t.lance"
    lance.write_dataset(pa.table([column], schema=schema), path, data_storage_version=version)
    ds = deeplake.ingest(path, place(), verbose=False)
    assert ds["blob"].htype == ("image" if kind == "images" else "generic")
    for at, want in enumerate(values):
        mine = ds["blob"].bytes(at) if kind == "images" and want is not None else ds["blob"][at]
        assert (None if mine is None else bytes(mine)) == want


def test_command(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance.write_dataset(rows(), path)
    report = create(str(tmp_path / "lake"), f"from-{path}", "--columns", "id,image,text")
    assert (report["rows"], report["format"]) == (ROWS, "lance")
    ds = deeplake.open(tmp_path / "lake")
    assert set(ds.tensors) == {"id", "image", "text"} and ds["image"].bytes(0) == FILES[0]
    first = create(str(tmp_path / "other"), f"from-{path}@1", "--columns", "id")
    assert first["rows"] == ROWS
    refused = subprocess.run(
        [sys.executable, "-m", "deeplake", "create", str(tmp_path / "new"), f"from-{path}", "--link"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert refused.returncode == 2 and "--link is not for tables of Lance" in refused.stderr


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance.write_dataset(rows(), path)

    def refused(kind: type[Exception], words: str, source: Any = path, **options: Any) -> None:
        target = tmp_path / "new"
        with pytest.raises(kind, match=words):
            deeplake.ingest(source, target, verbose=False, **options)
        assert not deeplake.exists(target)

    refused(deeplake.InvalidArgumentError, 'the table has no column "txt"; did you mean "text"', columns=["txt"])
    refused(deeplake.NotFoundError, "there is no such folder", tmp_path / "no.lance")
    (tmp_path / "empty.lance").mkdir()
    refused(deeplake.InvalidArgumentError, "no table of Lance is there", tmp_path / "empty.lance")
    refused(deeplake.InvalidArgumentError, "link, annotations", link=True)
    lance.write_dataset(rows(3).slice(0, 0), tmp_path / "none.lance")
    refused(deeplake.InvalidArgumentError, "the table has no rows", tmp_path / "none.lance")
    file = next((path / "data").glob("*.lance"))
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    refused(deeplake.CorruptError, r't\.lance": pylance cannot read it')
    file.unlink()
    refused(deeplake.CorruptError, r't\.lance": pylance cannot read it')
    manifest = next((path / "_versions").glob("*.manifest"))
    manifest.write_bytes(b"x" * 30)
    refused(deeplake.CorruptError, r't\.lance": pylance cannot read it')


def test_damage_behind_the_first_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    for _ in range(3):
        lance.write_dataset(rows(), path, mode="append" if path.exists() else "create")
    fragments = lance.dataset(path).get_fragments()
    last = path / "data" / fragments[-1].data_files()[0].path
    last.write_bytes(last.read_bytes()[:100])
    with pytest.raises(deeplake.Error, match="pylance cannot read it") as raised:
        deeplake.ingest(path, tmp_path / "new", verbose=False)
    assert not isinstance(raised.value, deeplake.InternalError)
    assert not deeplake.exists(tmp_path / "new")


def test_without_pylance(tmp_path: Path) -> None:
    lance.write_dataset(rows(5), tmp_path / "t.lance")
    code = f"""
import sys
sys.modules["lance"] = None
import deeplake
try:
    deeplake.ingest({str(tmp_path / "t.lance")!r}, "mem://x", verbose=False)
except deeplake.UnsupportedError as err:
    print(err)
assert "pyarrow" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "lance is not installed; pip install pylance" in done.stdout, done.stderr


def test_memory_of_blobs(tmp_path: Path) -> None:
    """The rows that are read at once are few if blobs are large."""
    values = [bytes([i]) * (4 << 20) for i in range(40)]
    schema = pa.schema([pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})])
    path = tmp_path / "t.lance"
    lance.write_dataset(pa.table([pa.array(values, pa.large_binary())], schema=schema), path)
    code = f"""
import json, resource
from deeplake._rows.lance import rows_of
sizes = [len(batch) for batch in rows_of({str(path)!r}, None, None)]
print(json.dumps(sizes))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    sizes = json.loads(done.stdout)
    assert sum(sizes) == 40 and max(sizes) <= 4
    shutil.rmtree(path)
