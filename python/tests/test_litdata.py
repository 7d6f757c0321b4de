"""Sets of LitData in the core, as its own reader gives their values."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import deeplake
import pytest
from test_mds import check, place
from test_parquet import create

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "core" / "litdata" / "testdata"
VALUES: dict[str, list[Any]] = json.loads((HERE / "values.json").read_text())
DOCUMENTS = ("meta", "words")  # of JSON: their lists are one value


def leaves(value: Any, at: str = "") -> dict[str, Any]:
    """Returns the values of an item by the names that their tensors have."""
    inner: dict[str, Any] | None = None
    if isinstance(value, dict) and not {"dtype", "hex"} & set(value):
        inner = value
    elif isinstance(value, list) and at not in (*DOCUMENTS, "many", "numbers"):
        inner = {str(i): one for i, one in enumerate(value)}
    if inner is None:
        return {at or "value": value}
    return {name: one for key, v in inner.items() for name, one in leaves(v, f"{at}/{key}".strip("/")).items()}


def check_set(ds: deeplake.Dataset, values: list[Any]) -> None:
    assert len(ds) == len(values)
    for i, wanted in enumerate(values):
        for name, value in leaves(wanted).items():
            mine = ds[name][i]
            if name in DOCUMENTS:
                assert mine == value, name
            else:
                check(mine, value, name)


@pytest.mark.parametrize("name", sorted(VALUES))
def test_values_are_those_of_the_own_reader(name: str) -> None:
    ds = deeplake.ingest(HERE / name, place(), verbose=False)
    check_set(ds, VALUES[name])
    if name == "full":
        assert (ds["jpg"].htype, ds["jpg"].bytes(0)[:2]) == ("image", b"\xff\xd8")
        assert (ds["png"].htype, ds["png"].bytes(0)[:4]) == ("image", b"\x89PNG")
        assert {n: ds[n].dtype for n in ("yes", "flags", "n2", "t2", "label")} == {
            "yes": "bool",
            "flags": "bool",
            "n2": "float16",
            "t2": "float32",
            "label": "int64",
        }


def test_the_index_says_which_chunks_count(tmp_path: Path) -> None:
    """Their order is that of the index, not of the names; other files are leftovers."""
    folder = tmp_path / "set"
    shutil.copytree(HERE / "text", folder)
    index = json.loads((folder / "index.json").read_text())
    (folder / "chunk-0-2.bin").rename(folder / "chunk-0-10.bin")
    index["chunks"][2]["filename"] = "chunk-0-10.bin"
    (folder / "index.json").write_text(json.dumps(index))
    (folder / "0.index.json").write_text("{}")
    shutil.copy(folder / "chunk-0-0.bin", folder / "chunk-7-0.bin")
    report = create(str(tmp_path / "lake"), f"from-{folder}")
    assert (report["rows"], report["format"]) == (len(VALUES["text"]), "litdata")
    ds = deeplake.open(tmp_path / "lake")
    check_set(ds, VALUES["text"])
    again = create(str(tmp_path / "lake"), f"from-{folder}")
    assert (again["added"], again["unchanged"]) == (0, 3)
    one = deeplake.ingest(folder / "chunk-0-10.bin", place(), verbose=False)
    check_set(one, VALUES["text"][-len(one) :])
    (folder / "chunk-0-1.bin").unlink()
    with pytest.raises(deeplake.NotFoundError, match=r"chunk-0-1\.bin, and there is no such file"):
        deeplake.ingest(folder, place(), verbose=False)
    (folder / "index.json").unlink()
    with pytest.raises(deeplake.InvalidArgumentError, match=r"no index\.json that names them"):
        deeplake.ingest(folder, place(), verbose=False)


def test_what_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    shutil.copytree(HERE / "full", folder)
    whole = json.loads((folder / "index.json").read_text())

    def index(**config: Any) -> None:
        (folder / "index.json").write_text(json.dumps({**whole, "config": {**whole["config"], **config}}))

    for config, message in (
        ({"encryption": {"algorithm": "fernet"}}, "encrypted chunks"),
        ({"item_loader": "TemporalArrayLoader"}, "item loader"),
        ({"item_loader": "ParquetLoader"}, 'with the format "parquet"'),
        ({"compression": "lz4"}, "want zstd"),
        ({"data_format": ["pickle", *whole["config"]["data_format"][1:]]}, r"\"jpg\" has pickles, .* by columns="),
    ):
        index(**config)
        with pytest.raises(deeplake.UnsupportedError, match=message):
            deeplake.ingest(folder, place(), verbose=False)
    ds = deeplake.ingest(folder, place(), columns=["text", "deep/x"], verbose=False)
    assert [ds["text"][0], float(ds["deep/x"][0])] == ["café 0", 2.5]
    with pytest.raises(deeplake.InvalidArgumentError, match="no chunks of LitData"):
        deeplake.ingest(ROOT / "core/mds/testdata/set", place(), format="litdata", verbose=False)


@pytest.mark.parametrize("name", ["full", "plain", "frames", "items", "whole", "tokens"])
def test_damaged_chunks(tmp_path: Path, name: str) -> None:
    shutil.copytree(HERE / name, tmp_path / "set")
    file = next((tmp_path / "set").glob("chunk-0-0*.bin"))
    whole = file.read_bytes()
    for cut in (0, 3, 17, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:cut])
        with pytest.raises(deeplake.Error, match=r"chunk-0-0.*(cut|no chunk|damaged|states|before|ends)"):
            deeplake.ingest(tmp_path / "set", place(), verbose=False)


@pytest.mark.slow
def test_sets_that_the_package_writes(tmp_path: Path) -> None:
    """Larger sets of every layout, written by litdata in an environment of its own."""
    find = "import environments; print(environments.python('litdata'))"
    done = subprocess.run(
        [sys.executable, "-c", find], cwd=ROOT / "benchmarks", check=True, capture_output=True, text=True
    )
    python = done.stdout.strip().splitlines()[-1]
    subprocess.run([python, str(HERE / "make.py"), str(tmp_path), "600"], check=True, capture_output=True)
    values = json.loads((tmp_path / "values.json").read_text())
    for name, wanted in values.items():
        check_set(deeplake.ingest(tmp_path / name, place(), verbose=False), wanted)
