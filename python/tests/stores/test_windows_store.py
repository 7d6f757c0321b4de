"""Windows of episodes in buckets have the rows of a local copy."""

from __future__ import annotations

from pathlib import Path

import deeplake
import numpy as np
import pytest
from servers import Server
from test_video import encode


@pytest.mark.parametrize("shuffle", [False, True])
def test_windows_of_a_bucket(store: Server, tmp_path: Path, shuffle: bool) -> None:
    film = encode(tmp_path / "film.mp4", frames=30, g="5")
    with deeplake.create(tmp_path / "ds") as near:
        for name in ("left", "right"):
            near.create_tensor(name, "video")
        near.create_tensor("state", dtype="float32")
        for i in range(4):
            state = np.full((30, 2), i, np.float32) + np.arange(30, dtype=np.float32)[:, None] / 100
            near.append({"left": deeplake.read(film), "right": deeplake.read(film), "state": state})
        near.commit()
    settings = deeplake.Storage(**store.settings())
    uri = store.uri(store.new_bucket(), "episodes")
    deeplake.copy(str(tmp_path / "ds"), uri, dst_storage=settings)
    rows = {}
    for place, storage in ((str(tmp_path / "ds"), None), (uri, settings)):
        with deeplake.open(place, storage=storage, read_only=True) as ds:
            view = ds.windows({"left": [-1 / 24, 0], "right": 0, "state": [0, 1 / 24]}, fps=24, step=3)
            assert len(view) == 40
            found = rows[place] = {}
            for batch in view.batches(batch_size=8, shuffle=shuffle, seed=3):
                for k in range(len(batch["state"])):
                    found[batch["state"][k].tobytes()] = (batch["left"][k].tobytes(), batch["right"][k].tobytes())
    assert rows[str(tmp_path / "ds")] == rows[uri] and len(rows[uri]) == 40
