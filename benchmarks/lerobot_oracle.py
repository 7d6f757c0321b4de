"""Writes items of LeRobot's own dataset class into a file, to be compared: run by an interpreter that has lerobot.

    python lerobot_oracle.py ROOT OUT.npz '{"action": [0, 0.1]}' [--rows 0 17 18] [--backend pyav] [--episodes 0 2]

OUT.npz has an array for each key of the items: one entry for each row. Pictures are the bytes that LeRobot divided by
255, with channels last. `lerobot_check.py` compares them with windows of ours.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np


def items(
    root: str,
    delta_timestamps: dict[str, list[float]],
    rows: list[int] | None = None,
    backend: str | None = None,
    episodes: list[int] | None = None,
) -> dict[str, Any]:
    """Returns the items at some rows, all of them by default, stacked by key."""
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    options: dict[str, Any] = {"episodes": episodes, "video_backend": backend}
    of = LeRobotDataset("local/set", root=root, delta_timestamps=delta_timestamps or None, **options)
    lists: dict[str, list[Any]] = {}
    for row in range(len(of)) if rows is None else rows:
        for key, value in of[row].items():
            lists.setdefault(key, []).append(_plain(key in of.meta.camera_keys, value))
    return {key: np.stack(values) for key, values in lists.items()}


def _plain(picture: bool, value: Any) -> Any:
    if not hasattr(value, "numpy"):
        return np.asarray(value)
    if not picture:
        return value.numpy()
    return (value * 255).round().byte().movedim(-3, -1).numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description="writes items of a LeRobotDataset into a file")
    parser.add_argument("root")
    parser.add_argument("out")
    parser.add_argument("delta_timestamps", type=json.loads)
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--episodes", type=int, nargs="+")
    parser.add_argument("--backend", choices=["torchcodec", "pyav"])
    given = parser.parse_args()
    np.savez(given.out, **items(given.root, given.delta_timestamps, given.rows, given.backend, given.episodes))


if __name__ == "__main__":
    main()
