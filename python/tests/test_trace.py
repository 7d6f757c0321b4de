"""Traces: valid files for Perfetto, whose spans nest, of every host and rank."""

from __future__ import annotations

import json

import deeplake
import numpy as np
import pytest
from conftest import host

ROWS = 64


@pytest.fixture
def ds(tmp_path):
    with deeplake.create(tmp_path / "set", schema={"x": {"dtype": "float32"}}) as ds:
        ds.extend({"x": np.zeros((ROWS, 16), np.float32)})
        ds.commit()
        yield ds


def tracks(path) -> dict[tuple[str, str], list[dict]]:
    """The spans of a file by the names of their process and thread."""
    events = json.loads(path.read_text())["traceEvents"]
    names: dict[tuple[int, int], str] = {}
    for event in events:
        if event["ph"] == "M" and "name" in event["args"]:
            names[event["pid"], event["tid"] if event["name"] == "thread_name" else 0] = event["args"]["name"]
    found: dict[tuple[str, str], list[dict]] = {}
    for event in events:
        if event["ph"] == "X":
            key = names[event["pid"], 0], names[event["pid"], event["tid"]]
            found.setdefault(key, []).append(event)
    return found


def check_nesting(spans: list[dict]) -> None:
    ends: list[float] = []
    for span in sorted(spans, key=lambda span: (span["ts"], -span["dur"])):
        while ends and ends[-1] <= span["ts"] + 0.01:
            ends.pop()
        assert not ends or span["ts"] + span["dur"] <= ends[-1] + 0.01
        ends.append(span["ts"] + span["dur"])


@pytest.mark.parametrize("kind", ["batches", "pytorch", "jax", "tensorflow"])
def test_a_trace_shows_what_each_thread_did(ds, tmp_path, kind):
    if kind != "batches":
        host({"pytorch": "torch"}.get(kind, kind))
    path = tmp_path / "trace.json"
    loader = getattr(ds, kind)(8, num_workers=2, trace=path)
    for _ in range(2):
        for _ in loader:
            pass
    found = tracks(path)
    for epoch in ("epoch 0", "epoch 1"):
        kinds = {
            track: {span["name"] for span in spans} for (process, track), spans in found.items() if process == epoch
        }
        assert "consume" in kinds["consumer"] and "plan" in kinds["plan"]
        assert "decode" in kinds.get("decode 0", set()) | kinds.get("decode 1", set())
        assert sum(span["name"] == "consume" for span in found[epoch, "consumer"]) == 8
    assert len(found["python", "assemble"]) == 16
    for (process, _), spans in found.items():
        if process != "python":
            check_nesting(spans)


def test_a_loop_that_is_left_writes_its_trace_too(ds, tmp_path):
    for _ in ds.batches(8, trace=str(tmp_path / "trace.json")):
        break
    assert tracks(tmp_path / "trace.json")


def test_each_rank_writes_its_own(ds, tmp_path):
    for rank in range(2):
        list(ds.batches(8, rank=rank, world_size=2, trace=tmp_path / "trace.json"))
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["trace.0.json", "trace.1.json"]


@pytest.mark.parametrize(("trace", "wrong"), [(7, "path"), ("nowhere/trace.json", "nowhere")])
def test_wrong_paths(ds, trace, wrong):
    with pytest.raises(deeplake.InvalidArgumentError, match=wrong):
        ds.batches(8, trace=trace)
