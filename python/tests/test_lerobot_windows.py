"""Windows of LeRobot datasets against NumPy's and LeRobot's own items, and a policy of LeRobot that learns from them.

LeRobot runs in an environment of its own (requirements/peers/lerobot.in), which the slow tests make once. Another
interpreter is the one that DEEPLAKE_LEROBOT_PYTHON names.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import deeplake
import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SETS: dict[str, dict[str, Any]] = {
    "av1": {},
    "h264": {"codec": "h264", "fps": 24},
    "converted": {"codec": "h264", "fps": 10, "converted": True},
}


@pytest.fixture(scope="module")
def tools() -> Iterator[dict[str, ModuleType]]:
    """The modules of benchmarks/ that make and compare sets."""
    sys.path.insert(0, str(BENCHMARKS))
    before = set(sys.modules)
    yield {
        name: importlib.import_module(name) for name in ("lerobot_data", "lerobot_check", "video_data", "environments")
    }
    sys.path.remove(str(BENCHMARKS))
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture(scope="module", params=list(SETS))
def made(request, tools, tmp_path_factory) -> tuple[Any, Path]:
    """The plan of a set, and the folder with its layouts."""
    rest = {"width": 128, "height": 96, "scenes": False, **SETS[request.param]}
    plan = tools["lerobot_data"].Plan.uneven(9, 14, **rest)
    folder = tmp_path_factory.mktemp(request.param)
    tools["lerobot_data"].write(folder, plan)
    return plan, folder


def deltas(plan: Any) -> dict[str, list[float]]:
    """Times before an episode, behind it, and one of a camera."""
    top, wrist = "observation.images.top", "observation.images.wrist"
    times = {top: [-3, 0], wrist: [0], "observation.state": [-1, 0], "action": [0, 1, 2, 20], "next.done": [-2]}
    return {name: [n / plan.fps for n in some] for name, some in times.items()}


def windows(tools: dict[str, ModuleType], plan: Any, ds: deeplake.Dataset) -> Any:
    stored = [name for name in tools["lerobot_data"].values(plan, 0) if name != "episode_index"]
    cameras = tools["lerobot_data"].CAMERAS
    return ds.windows(tools["lerobot_check"].spec([*stored, *cameras], cameras, deltas(plan)), fps=plan.fps)


@pytest.mark.parametrize(("layout", "link"), [("v3.0", True), ("v3.0", False), ("v2.1", False)])
def test_windows_of_both_layouts(tools, made, tmp_path, layout, link):
    plan, folder = made
    with deeplake.ingest(folder / layout, tmp_path / "lake", link=link, verbose=False) as ds:
        assert len(ds) == len(plan.lengths)
        view = windows(tools, plan, ds)
        assert len(view) == plan.frames
        rows = range(0, plan.frames, 3)
        items = {name: np.stack([np.asarray(view[name][row]) for row in rows]) for name in view.tensors}
        tools["lerobot_check"].shown(items, deltas(plan), plan)
        for i, row in enumerate(rows):
            episode = int(items["episode_index"][i])
            first, _ = plan.spans[episode]
            values, last = tools["lerobot_data"].values(plan, episode), plan.lengths[episode] - 1
            assert items["index"][i] == row
            assert items["task"][i] == tools["lerobot_data"].TASKS[plan.task(episode)]
            for name, want in values.items():
                if name == "episode_index":
                    continue
                at = row - first + np.round(np.array(deltas(plan).get(name, 0)) * plan.fps).astype(int)
                assert np.array_equal(items[name][i], want[np.clip(at, 0, last)]), (name, row)
                if name in deltas(plan):
                    assert np.array_equal(items[f"{name}_is_pad"][i], (at < 0) | (at > last)), (name, row)


@pytest.fixture(scope="module")
def lerobot(tools) -> str:
    """The interpreter with lerobot."""
    return os.environ.get("DEEPLAKE_LEROBOT_PYTHON") or tools["environments"].python("lerobot")


@pytest.mark.slow
def test_windows_are_those_of_lerobot(tools, made, tmp_path, lerobot):
    plan, folder = made
    command = [lerobot, BENCHMARKS / "lerobot_oracle.py", folder / "v3.0", tmp_path / "items.npz"]
    found = {
        "HF_HOME": str(tmp_path / "cache"),
        "HF_HUB_OFFLINE": "1",
        "LD_LIBRARY_PATH": tools["video_data"].libraries(),
    }
    subprocess.run([*map(str, command), json.dumps(deltas(plan))], check=True, env=os.environ | found)
    items = dict(np.load(tmp_path / "items.npz"))
    tools["lerobot_check"].shown(items, deltas(plan), plan)
    with deeplake.ingest(folder / "v3.0", tmp_path / "lake", link=True, verbose=False) as ds:
        tools["lerobot_check"].compare(items, windows(tools, plan, ds))


@pytest.mark.slow
def test_a_policy_of_lerobot_learns(made, lerobot):
    plan, folder = made
    command = [lerobot, BENCHMARKS / "lerobot_policy.py", folder / "v3.0", "1"]
    package = Path(deeplake.__file__).resolve().parents[1]
    done = subprocess.run(
        list(map(str, command)), check=True, capture_output=True, env=os.environ | {"PYTHONPATH": str(package)}
    )
    losses = json.loads(done.stdout.splitlines()[-1])
    assert len(losses) == -(-plan.frames // 8) and losses[-1] < losses[0] / 2
