"""Rows as Arrow tables and data frames: each kind of tensor, with holes and without."""

from __future__ import annotations

from typing import Any

import deeplake
import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def ds() -> Any:
    schema = {
        "n": {"dtype": "int64"},
        "label": {"htype": "class_label", "class_names": ["cat", "dog"]},
        "word": "text",
        "meta": "json",
        "flat": {"dtype": "float32", "shape": (2, 3)},
        "ragged": {"dtype": "int16"},
        "list": {"htype": "sequence[generic]", "dtype": "int64"},
        "image": {"htype": "image", "compression": "png"},
    }
    with deeplake.create("mem://frames", overwrite=True, schema=schema) as made:
        for i in range(5):
            made.append(
                {
                    "n": i,
                    "label": i % 2,
                    "word": f"w{i}",
                    "meta": {"i": i},
                    "flat": np.full((2, 3), i, np.float32),
                    "ragged": np.arange(i + 1, dtype=np.int16),
                    "list": list(range(i)),
                    "image": np.full((4, 5, 3), i, np.uint8),
                }
            )
        made.append({**dict.fromkeys(schema), "n": 5, "list": []})
        made.commit()
        yield made


def test_arrow(ds: Any) -> None:
    table = ds.query("SELECT *").to_arrow()
    assert table.num_rows == 6
    assert table["n"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert table["label"].to_pylist() == ["cat", "dog", "cat", "dog", "cat", None]
    assert table["word"].to_pylist() == ["w0", "w1", "w2", "w3", "w4", None]
    assert table["ragged"].to_pylist() == [list(range(i + 1)) for i in range(5)] + [None]
    assert table["list"].to_pylist()[:5] == [list(range(i)) for i in range(5)]
    assert table["flat"].to_pylist()[1] == [[1.0] * 3] * 2 and table["flat"].to_pylist()[5] is None
    assert table["image"].to_pylist()[0].startswith(b"\x89PNG")
    pixels = ds.query("SELECT image WHERE n < 2").to_arrow(images="pixels")["image"].to_pylist()
    assert np.array(pixels[1]).shape == (4, 5, 3) and np.array(pixels[1]).max() == 1


def test_pandas(ds: Any) -> None:
    frame = ds.query("SELECT * ORDER BY n DESC").to_pandas()
    assert frame["n"].tolist() == [5, 4, 3, 2, 1, 0] and frame["n"].dtype == np.int64
    assert frame["label"].isna().tolist() == [True] + [False] * 5 and frame["label"][1] == "cat"
    assert isinstance(frame["flat"][1], np.ndarray) and frame["flat"][1].shape == (2, 3) and frame["flat"][0] is None
    assert frame["ragged"][1].tolist() == [0, 1, 2, 3, 4]
    assert list(frame["list"][2]) == [0, 1, 2]
    same = ds.query("SELECT list WHERE LENGTH(list) = 2").to_pandas()  # all of one length
    assert [list(row) for row in same["list"]] == [[0, 1]]


def test_nothing(ds: Any) -> None:
    assert ds.query("SELECT * WHERE n > 9").to_arrow().num_rows == 0
    assert len(ds.query("SELECT n, flat WHERE n > 9").to_pandas()) == 0
