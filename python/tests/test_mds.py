"""Shards of MosaicML Streaming in the core, as its own reader gives their values."""

from __future__ import annotations

import bz2
import gzip
import json
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest
from test_parquet import create

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "core" / "mds" / "testdata"
VALUES: list[dict[str, Any]] = json.loads((HERE / "values.json").read_text())


def place() -> str:
    return f"mem://shards-{uuid.uuid4().hex}"


def check(mine: Any, theirs: Any, name: str) -> None:
    if isinstance(theirs, dict) and "dtype" in theirs:
        array = np.asarray(mine)
        assert (str(array.dtype), list(array.shape)) == (theirs["dtype"], theirs["shape"]), name
        assert array.sum().item() == theirs["sum"], name
        assert array.ravel().tolist() == theirs.get("values", array.ravel().tolist()), name
    elif isinstance(theirs, dict) and "hex" in theirs:
        assert bytes(mine).hex() == theirs["hex"], name
    elif isinstance(theirs, list):
        assert len(mine) == len(theirs), name
        for one, other in zip(mine, theirs, strict=True):
            check(one, other, name)
    else:
        assert (mine.item() if isinstance(mine, np.ndarray | np.generic) else mine) == theirs, name


def check_all(ds: deeplake.Dataset) -> None:
    assert len(ds) == len(VALUES)
    for row, wanted in zip(ds, VALUES, strict=True):
        for name, value in wanted.items():
            check(row[name], value, name)


def test_values_are_those_of_the_own_reader() -> None:
    ds = deeplake.ingest(HERE / "set", place(), verbose=False)
    check_all(ds)
    assert ds["jpg"].htype == "image" and ds["jpg"].bytes(0)[:2] == b"\xff\xd8"
    assert {name: ds[name].dtype for name in ("i8", "u16", "f16", "digits", "dec")} == {
        "i8": "int8",
        "u16": "uint16",
        "f16": "float16",
        "digits": "int64",
        "dec": "string",
    }


@pytest.mark.parametrize("ending", ["gz", "bz2"])
def test_compressed_shards(tmp_path: Path, ending: str) -> None:
    index = json.loads((HERE / "set/index.json").read_text())
    for shard in index["shards"]:
        name = shard["raw_data"]["basename"]
        whole = (HERE / "set" / name).read_bytes()
        (tmp_path / f"{name}.{ending}").write_bytes((gzip if ending == "gz" else bz2).compress(whole))
        shard["zip_data"] = {"basename": f"{name}.{ending}", "bytes": 1, "hashes": {}}
    (tmp_path / "index.json").write_text(json.dumps(index))
    check_all(deeplake.ingest(tmp_path, place(), verbose=False))


def test_the_index_says_which_shards_count(tmp_path: Path) -> None:
    shutil.copytree(HERE / "set", tmp_path / "set")
    shutil.copy(HERE / "set/shard.00000.mds", tmp_path / "set/shard.00009.mds")  # a leftover
    check_all(deeplake.ingest(tmp_path / "set", place(), verbose=False))
    report = create(str(tmp_path / "lake"), f"from-{tmp_path / 'set'}", "--columns", "label,jpg")
    assert (report["rows"], report["format"]) == (len(VALUES), "mds")
    (tmp_path / "set/shard.00001.mds").unlink()
    with pytest.raises(deeplake.NotFoundError, match=r"shard\.00001\.mds, and there is no such file"):
        deeplake.ingest(tmp_path / "set", place(), verbose=False)


def test_damaged_shards(tmp_path: Path) -> None:
    whole = (HERE / "set/shard.00000.mds").read_bytes()
    for cut in (0, 3, 17, 200, len(whole) - 1):
        (tmp_path / "x.mds").write_bytes(whole[:cut])
        with pytest.raises(deeplake.Error, match=r"cut|no MDS shard"):
            deeplake.ingest(tmp_path / "x.mds", place(), verbose=False)
    (tmp_path / "x.mds").write_bytes(whole.replace(b'"str_int"', b'"pkl"    '))
    with pytest.raises(deeplake.UnsupportedError, match="pickles, which can run programs; leave the column out"):
        deeplake.ingest(tmp_path / "x.mds", place(), verbose=False)
    ds = deeplake.ingest(tmp_path / "x.mds", place(), columns=["label", "text"], verbose=False)
    assert ds["text"][0] == VALUES[0]["text"]


@pytest.mark.slow
def test_sets_that_the_package_writes(tmp_path: Path) -> None:
    """Every compression, written by mosaicml-streaming in an environment of its own."""
    find = "import environments; print(environments.python('streaming'))"
    done = subprocess.run(
        [sys.executable, "-c", find], cwd=ROOT / "benchmarks", check=True, capture_output=True, text=True
    )
    python = done.stdout.strip().splitlines()[-1]
    for compression in ("", "zstd", "zstd:7", "gz", "bz2", "br", "snappy"):
        folder = tmp_path / (compression.replace(":", "-") or "plain")
        folder.mkdir()
        command = [python, str(HERE / "make.py"), str(folder), *([compression] if compression else [])]
        subprocess.run(command, check=True, capture_output=True)
        for raw in (folder / "set").glob("*.mds") if compression else ():
            raw.unlink()
        check_all(deeplake.ingest(folder / "set", place(), verbose=False))
