"""Imports of LeRobot sets that change between runs, or whose metadata are damaged or hostile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import deeplake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_lerobot import FEATURES, LENGTHS, cli, two


def with_info(root: Path, **changes: Any) -> None:
    path = root / "meta/info.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


NAMES = (
    "train' OR TRUE OR 'a' = 'b",
    "x' UNION ALL SELECT * FROM \"mem://secret\" WHERE 'a' = 'a",
    "it's",
    "-",
    "n" * 300,
    "line\nbreak",
    "nul\0",
    " ",
)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_splits_are_no_queries(name, tmp_path):
    root = two(tmp_path / "robots")
    with_info(root, splits={"train": "0:1", name: "1:4"})
    done = cli("create", str(tmp_path / "lake"), f"from-{root}", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    saved = {split["name"]: split["rows"] for split in report["splits"]}
    assert saved["train"] == 1
    ds = deeplake.open(tmp_path / "lake")
    assert sorted(view.name for view in ds.views()) == sorted(saved)
    if name in saved:
        assert saved[name] == 3 and ds.load_view(name)["episode_index"][:].tolist() == [1, 2, 3]
    else:
        assert any("no view is saved of the split" in one["reason"] for one in report["warnings"])
    deeplake.ingest(root, tmp_path / "other", verbose=False)


def test_splits_of_a_set_that_grows(tmp_path):
    root, place = two(tmp_path / "robots"), str(tmp_path / "lake")
    meta = root / "meta/episodes.jsonl"
    lines = meta.read_text().splitlines(keepends=True)
    meta.write_text("".join(lines[:2]))
    with_info(root, splits={"train": "0:1", "val": "1:2"})
    assert "train 1 rows, val 1 rows" in cli("create", place, f"from-{root}").stdout
    meta.write_text("".join(lines))
    with_info(root, splits={"valid": "1:2", "train": "0:1", "test": "2:4"})
    for _ in range(2):
        done = cli("create", place, f"from-{root}")
        assert done.returncode == 0, done.stderr
        assert "train 1 rows, test 2 rows" in done.stdout
        assert '1 episodes were taken in with another split: episode 1 has "val", and is in "valid" now' in done.stdout
    ds = deeplake.open(place)
    names = ds["split"].class_names
    assert [names[label] for label in ds["split"][:]] == ["train", "val", "test", "test"]
    assert ds.load_view("test")["episode_index"][:].tolist() == [2, 3]


def test_a_copy_of_some_rows_is_not_continued(tmp_path):
    root = two(tmp_path / "robots")
    ds = deeplake.ingest(root, tmp_path / "lake", verbose=False)
    ds.query("SELECT * WHERE episode_index < 2").materialize(tmp_path / "part").close()
    done = cli("create", str(tmp_path / "part"), f"from-{root}")
    assert done.returncode != 0 and "a copy of rows of an import lies there" in done.stderr, done.stdout
    done = cli("create", str(tmp_path / "lake"), f"from-{root}")
    assert "4 episodes were known, by their numbers" in done.stdout
    with_info(root, fps=12)
    done = cli("create", str(tmp_path / "lake"), f"from-{root}")
    assert done.returncode != 0 and "fps was 24, and is 12 now; --overwrite" in done.stderr


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\x00\xff", b"{}", b'{"codebase_version": "v2.1",'])
def test_a_damaged_info_json_is_no_folder_of_films(content, tmp_path):
    root = two(tmp_path / "robots")
    (root / "meta/info.json").write_bytes(content)
    done = cli("create", str(tmp_path / "lake"), f"from-{root}")
    assert done.returncode != 0 and "meta/info.json: it " in done.stderr and "--format videos" in done.stderr
    with pytest.raises(deeplake.InvalidArgumentError, match=r"meta/info.json: it .*format videos"):
        deeplake.ingest(root, tmp_path / "lake", verbose=False)
    assert not deeplake.exists(tmp_path / "lake")
    assert len(deeplake.ingest(root, tmp_path / "lake", format="videos", verbose=False)) == len(LENGTHS)


def test_texts_that_are_null_leave_the_episode_out(tmp_path):
    root = two(tmp_path / "robots")
    with_info(root, features={**FEATURES, "note": {"dtype": "string", "shape": [1]}})
    for e, n in enumerate(LENGTHS):
        path = root / f"data/chunk-000/episode_{e:06d}.parquet"
        notes = ["a", None if e == 1 else "", *["b"] * (n - 2)]
        pq.write_table(pq.read_table(path).append_column("note", pa.array(notes, pa.string())), path)
    done = cli("create", str(tmp_path / "lake"), f"from-{root}")
    assert done.returncode == 0 and "3 rows" in done.stdout
    assert 'episode 1: column "note" has a row without a value, which is null' in done.stdout
    with deeplake.open(tmp_path / "lake") as ds:
        assert list(ds["note"][0][:3]) == ["a", "", "b"]


@pytest.mark.parametrize("name", ["link", "masks", "overwrite", "apply_exif_orientation"])
def test_options_that_are_no_bools(name, tmp_path):
    with pytest.raises(deeplake.InvalidArgumentError, match=f"ingest: {name} is 1, want True or False"):
        deeplake.ingest(tmp_path, tmp_path / "lake", format="lerobot", **{name: 1})
