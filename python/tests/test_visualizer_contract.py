"""One suite of calls, web/src/data/backends.contract.ts, holds for both backends of the page."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import deeplake
import numpy as np
import pytest
from test_visualizer_export import export, serving

ROOT = Path(__file__).resolve().parents[2]
FILM = ROOT / "core" / "media" / "mp4" / "testdata" / "gop250.mp4"
ROWS, MISSING = 12, 5
HEIGHT, WIDTH = 65_536, 65_600  # a picture of more than 4 GB
MOST_MEMORY = 256 << 20


class Memory:
    """The most memory of this process within a block, above what it had before."""

    def __enter__(self):
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
        self._before = self._read("VmRSS")
        return self

    def __exit__(self, *_):
        self.grown = self._read("VmHWM") - self._before

    @staticmethod
    def _read(name):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The folder of a dataset with a tensor of each kind."""
    folder = tmp_path_factory.mktemp("lake") / "zoo"
    with deeplake.create(folder) as ds:
        ds.create_tensor("images", "image.rgb", compression="jpeg")
        ds.create_tensor("labels", "class_label", class_names=["cat", "dog", "owl's"])
        ds.create_tensor("gt/boxes", "bbox", info={"coords": {"mode": "LTWH", "type": "fractional"}})
        ds.create_tensor("scores", dtype="float64")
        ds.create_tensor("caption", "text")
        ds.create_tensor("meta", "json")
        ds.create_tensor("clip", "sequence[image.rgb]", compression="png")
        ds.create_tensor("mask", "binary_mask")
        ds.create_tensor("vector", "embedding", dtype="float32")
        ds.create_tensor("slide", "image", dtype="uint8", compression="lz4")
        ds.create_tensor("film", "video")
        # Zero pages that were never written take no memory.
        slide = np.zeros((HEIGHT, WIDTH, 1), np.uint8)
        slide[40_000:40_064, 50_000:50_064] = 200
        slide[-1, -1] = 90
        for i in range(ROWS):
            height = 40 + 4 * i
            ds.append(
                {
                    "images": np.full((height, 60, 3), 20 * i, np.uint8),
                    "labels": i % 3,
                    "gt/boxes": np.zeros((i % 3, 4), np.float32),
                    "scores": None if i == MISSING else i / 10,
                    "caption": f"<b>{i}</b> ä",
                    "meta": {"camera": f"c{i % 2}"},
                    "clip": [np.full((8, 8, 3), k, np.uint8) for k in range(i % 4)],
                    "mask": np.ones((height, 60), bool),
                    "vector": np.array([i, i * i, 1], np.float32),
                    "slide": slide if i == 0 else None,
                    "film": deeplake.read(FILM) if i == 0 else None,
                }
            )
        ds.commit("first")
        ds.tags.create("v1", message="first")
        ds.update(3, {"scores": 9.0})
        ds.commit("changed")
    return folder


def check(backend, address, glue=""):
    env = {**os.environ, "VITE_BACKEND": backend, "VITE_ADDRESS": address, "VITE_GLUE": glue}
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "web.py", "contract"], env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_server(place):
    with deeplake.open(place) as ds, ds.visualize(browser=False) as server, Memory() as memory:
        check("server", server.link())
    assert memory.grown < MOST_MEMORY, f"{memory.grown >> 20} MB for regions of a picture of 4 GB"


def test_reader(place, tmp_path):
    with serving(place) as data:
        export(data, "--export", tmp_path / "site")
        with serving(tmp_path / "site") as address:
            check("reader", address, (tmp_path / "site" / "reader" / "wasm_exec.js").as_uri())
