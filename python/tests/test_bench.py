"""`deeplake bench`: figures of epochs beside the limits of the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import deeplake
import numpy as np
import pytest
from conftest import encoded, picture


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("bench") / "set"
    with deeplake.create(place, schema={"image": {"htype": "image", "compression": "jpeg"}, "x": "class_label"}) as ds:
        ds.extend({"image": [deeplake.read(encoded(picture(i))) for i in range(12)], "x": np.arange(12)})
        ds.commit()
    return place


def bench(*args) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "deeplake", "bench", *map(str, args)],
        capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "COLUMNS": "160"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_figures(place):
    told = json.loads(bench(place, "--epochs", 2, "--batch-size", 5, "--workers", 2, "--json"))
    assert [r["rows"] for r in told["epochs"]] == [12, 12] and told["threads"] == 2
    for r in told["epochs"]:
        assert 0 < r["first_batch_seconds"] <= r["seconds"] and 0 < r["decode_share"] <= 1
        assert r["p99_gap_seconds"] > 0 and r["bottleneck"]
        assert abs(r["cpu_seconds_per_1000_rows"] * 12 / 1000 - r["cpu_seconds"]) < 1e-9
        assert abs(r["rows_per_second"] * r["seconds"] - 12) < 1e-6
    assert set(told["limits"]) == {"copy_bytes_per_second", "read_bytes_per_second", "decode_rows_per_second"}
    assert all(value > 0 for value in told["limits"].values())


def test_the_table(place):
    text = bench(place)
    assert "CPU s/1,000 rows" in text and "this machine could" in text
    assert [line.split()[0] for line in text.splitlines() if "%" in line][1:4] == ["read", "decode", "copy"]


def test_limits_that_have_no_meaning_are_left_out(place):
    text = bench(place, "--tensor", "x", "--in-order", "--workers", 1)
    assert "decode  " not in text.replace("decoding", "") and "copy" in text
    assert "this machine could" not in bench(place, "--no-limits")
