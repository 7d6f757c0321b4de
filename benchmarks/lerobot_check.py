"""Compares windows of ours with items of LeRobot, value by value.

    python lerobot_check.py ITEMS.npz URI '{"action": [0, 0.1]}' --fps 30 [--rows 0 17 18]

ITEMS.npz comes from `lerobot_oracle.py`, with the same times and rows. Numbers, paddings and tasks must be equal.
Pictures must show the numbers of the same frames (`lerobot_data.numbers`), and pixels may differ as the conversions of
colours do: LeRobot's is swscale's, ours its own.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import lerobot_data
import numpy as np

CLOSE = 4.0  # the mean difference of pixels: swscale by its defaults, and with exact chroma and rounding


@dataclass
class Compared:
    """What was found equal."""

    rows: int
    keys: list[str] = field(default_factory=list)
    pictures: int = 0
    mean: float = 0.0  # difference of pixels
    most: int = 0

    def __str__(self) -> str:
        return (
            f"{self.rows} windows have LeRobot's values of {', '.join(self.keys)}; {self.pictures:,} pictures show the "
            f"same frames, pixels differ by {self.mean:.2f} in the mean and {self.most} at most"
        )


def spec(stored: Sequence[str], cameras: Sequence[str], deltas: Mapping[str, list[float]]) -> dict[str, Any]:
    """Returns the `delta_timestamps` of ours that give LeRobot's items.

    LeRobot has the current entry of every feature without times, and drops the axis of a camera with one time.
    """
    out: dict[str, Any] = dict.fromkeys(stored, 0)
    return out | {name: times[0] if name in cameras and len(times) == 1 else times for name, times in deltas.items()}


def compare(items: Mapping[str, Any], view: Any, rows: Sequence[int] | None = None) -> Compared:
    """Asserts that rows of a view, all by default, are LeRobot's items; the numbers of pictures are theirs, too."""
    places = list(range(len(view)) if rows is None else rows)
    assert len(items["index"]) == len(places), f"LeRobot has {len(items['index'])} items, want {len(places)}"
    found = Compared(len(places))
    names = set(view.tensors)
    sums, seen = 0.0, 0
    for key in items:
        wanted = items[key]
        if key not in names:
            camera = key.removesuffix("_is_pad")
            single = camera in names and wanted.ndim == 2 and wanted.shape[1] == 1
            assert single, f"{key} of LeRobot is absent; there are {sorted(names)}"
            continue  # a single entry of ours has no padding
        for place, want in zip(places, wanted, strict=True):
            got = np.asarray(view[key][place])
            where = f"{key} of row {place}"
            if want.dtype != np.uint8:
                assert got.shape == want.shape, f"{where}: shape {got.shape}, LeRobot's is {want.shape}"
                assert want.dtype.kind == "U" or got.dtype == want.dtype, f"{where}: dtype {got.dtype}"
                assert np.array_equal(got, want), f"{where}: {got}, LeRobot's is {want}"
                continue
            assert got.shape == want.shape and got.dtype == want.dtype, f"{where}: {got.dtype} {got.shape}"
            for ours, theirs in zip(lerobot_data.numbers(got), lerobot_data.numbers(want), strict=True):
                assert np.array_equal(ours, theirs), f"{where}: shows {ours}, LeRobot's {theirs}"
            apart = np.abs(got.astype(np.int16) - want)
            assert apart.mean() <= CLOSE, f"{where}: pixels differ by {apart.mean():.2f}"
            found.pictures += got.size // (got.shape[-3] * got.shape[-2] * 3)
            found.most = max(found.most, int(apart.max()))
            sums, seen = sums + float(apart.sum()), seen + apart.size
        found.keys.append(key)
    found.mean = sums / max(seen, 1)
    return found


def shown(items: Mapping[str, Any], deltas: Mapping[str, list[float]], plan: lerobot_data.Plan) -> None:
    """Asserts that pictures have the numbers that LeRobot's rule gives: the nearest frame, within the episode."""
    for camera, name in enumerate(lerobot_data.CAMERAS):
        times = deltas.get(name, [0.0])
        for i, index in enumerate(items["index"].tolist()):
            first, end = plan.spans[int(items["episode_index"][i])]
            want = [min(max(index + round(time * plan.fps), first), end - 1) for time in times]
            frames, cameras = lerobot_data.numbers(items[name][i])
            assert frames.reshape(-1).tolist() == want, f"{name} of row {index}: shows {frames}, want {want}"
            assert (cameras == camera).all(), f"{name} of row {index}: is of camera {cameras}"


def main() -> None:
    import deeplake

    parser = argparse.ArgumentParser(description="compares windows with LeRobot's items")
    parser.add_argument("items")
    parser.add_argument("uri")
    parser.add_argument("delta_timestamps", type=json.loads)
    parser.add_argument("--fps", type=float, required=True)
    parser.add_argument("--rows", type=int, nargs="+")
    given = parser.parse_args()
    items = dict(np.load(given.items))
    with deeplake.open(given.uri, read_only=True) as ds:
        per_frame = [name for name in items if name in ds.tensors and name not in ("episode_index", "task")]
        wanted = spec(per_frame, lerobot_data.CAMERAS, given.delta_timestamps)
        print(compare(items, ds.windows(wanted, fps=given.fps), given.rows))


if __name__ == "__main__":
    main()
