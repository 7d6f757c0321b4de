"""What queries are asked of: numbers, vectors, shapes, boxes. The same on every machine, by formula and seed.

Peers make theirs of the same columns in environments of their own, so this needs NumPy alone to be imported.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import data
import numpy as np
import numpy.typing as npt

AXES = 768
STEP = 500_000  # rows that are made at once
HIT = 1000  # one row in so many is looked for
SEVEN = 7


def numbers(start: int, stop: int) -> dict[str, npt.NDArray[Any]]:
    """Returns rows of five columns: what is summed (a), averaged (b), bounded (c), and two conditions (d, e)."""
    random = np.random.default_rng([SEVEN, start])
    n = stop - start
    return {
        "a": random.integers(-1_000_000, 1_000_000, n),
        "b": random.standard_normal(n),
        "c": random.random(n, np.float32),
        "d": random.integers(0, 1_000_000, n, np.int32),
        "e": random.integers(0, 10, n, np.uint8),
    }


def tables(rows: int) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Yields `numbers` of all rows in turn."""
    for start in range(0, rows, STEP):
        yield numbers(start, min(rows, start + STEP))


def numbers_lake(rows: int) -> Path:
    """Returns the dataset of `numbers`."""
    import deeplake

    def build(folder: Path) -> None:
        with deeplake.create(folder) as ds:
            for name, values in numbers(0, 1).items():
                ds.create_tensor(name, dtype=values.dtype.name, shape=())
            for some in tables(rows):
                ds.extend(some)
            ds.commit("numbers")

    return data.dataset(data.CACHE / f"numbers-{rows}", build)


def parquet(rows: int, compression: str) -> Path:
    """Returns the same rows in a Parquet file of DuckDB.

    Args:
        rows: how many.
        compression: "snappy", DuckDB's default, or "uncompressed".
    """
    folder = data.CACHE / f"numbers-{rows}.{compression}.parquet"
    if not folder.exists():
        import duckdb

        data.say(f"writing {folder.name}")
        whole = {name: np.concatenate([some[name] for some in tables(rows)]) for name in numbers(0, 1)}
        partly = folder.with_suffix(".new")
        connection = duckdb.connect()
        connection.register("whole", whole)
        connection.execute(f"COPY whole TO '{partly}' (FORMAT parquet, COMPRESSION {compression})")
        connection.close()
        partly.rename(folder)
    return folder


def vectors(start: int, stop: int) -> npt.NDArray[np.float32]:
    """Returns rows of 768 float32."""
    return np.random.default_rng([SEVEN, start]).standard_normal((stop - start, AXES), np.float32)


def wanted() -> npt.NDArray[np.float32]:
    """Returns the vector that others are compared with."""
    return np.random.default_rng(SEVEN + 1).standard_normal(AXES).astype(np.float32)


def vectors_lake(rows: int) -> Path:
    """Returns the dataset of `vectors`."""
    import deeplake

    def build(folder: Path) -> None:
        with deeplake.create(folder) as ds:
            ds.create_tensor("embedding", "embedding", dtype="float32", shape=(AXES,))
            for start in range(0, rows, STEP // 10):
                ds.extend({"embedding": vectors(start, min(rows, start + STEP // 10))})
            ds.commit("vectors")

    return data.dataset(data.CACHE / f"vectors-{rows}", build)


def small_images() -> list[tuple[tuple[int, int], bytes]]:
    """Returns heights and widths, and JPEG files of them: 16 to 79 pixels high."""
    from PIL import Image

    whole = data.photograph("astronaut")
    out = []
    for number in range(64):
        height, width = 16 + number, 16 + number * 13 % 64
        encoded = io.BytesIO()
        Image.fromarray(whole[:height, :width]).save(encoded, "JPEG", quality=30)
        out.append(((height, width), encoded.getvalue()))
    return out


def heights(rows: int) -> npt.NDArray[np.int64]:
    """Returns the height of each image of `shapes_lake`."""
    return 16 + np.random.default_rng(SEVEN).integers(0, 64, rows)


def shapes_lake(rows: int) -> Path:
    """Returns a dataset of so many small JPEG images."""
    import deeplake

    def build(folder: Path) -> None:
        files = [deeplake.read(file) for _, file in small_images()]
        picked = (heights(rows) - 16).tolist()
        with deeplake.create(folder) as ds:
            ds.create_tensor("images", "image.rgb", compression="jpeg")
            for start in range(0, rows, 10_000):
                ds.extend({"images": [files[number] for number in picked[start : start + 10_000]]})
            ds.commit("images")

    return data.dataset(data.CACHE / f"shapes-{rows}", build)


def rare(rows: int) -> npt.NDArray[np.int64]:
    """Returns the classes of `far_lake`: class 0 in one row of a thousand, at random places."""
    random = np.random.default_rng(SEVEN)
    classes = random.integers(1, 1000, rows)
    classes[random.choice(rows, max(1, rows // HIT), replace=False)] = 0
    return classes


def files(kind: str) -> list[bytes]:
    """Returns the 500 images that are repeated: "photos-q75", 11 kB each, for `paper_lake`; "tiny-q90" for `far_lake`.

    Of these, those of more than 4 KiB: smaller ones share blocks of 16 KiB, which are read and checked as one.
    """
    count, step = (5_000, 3) if kind == "tiny-q90" else (3_000, 6)
    found = [path.read_bytes() for path in data.jpegs(kind, count).paths[::step]]
    return [file for file in found if kind != "tiny-q90" or len(file) > 4 << 10][:500]


def far_lake(uri: str, rows: int, storage: dict[str, Any]) -> None:
    """Writes a dataset of photographs and classes to an object store."""
    import deeplake

    some = [deeplake.read(file) for file in files("tiny-q90")]
    classes = rare(rows)
    with deeplake.create(uri, storage=deeplake.Storage(**storage)) as ds:
        ds.create_tensor("images", "image.rgb", compression="jpeg")
        ds.create_tensor("labels", "class_label", class_names=[f"class{number}" for number in range(1000)])
        for start in range(0, rows, 5_000):
            stop = min(rows, start + 5_000)
            images = [some[row % len(some)] for row in range(start, stop)]
            ds.extend({"images": images, "labels": classes[start:stop]})
        ds.commit("images")


def boxes(rows: int) -> tuple[list[npt.NDArray[np.float32]], list[npt.NDArray[np.float32]], npt.NDArray[np.int64]]:
    """Returns boxes (n, 4) of images, others to be compared with, and labels: 7 boxes an image, as in COCO.

    In one image of twenty a box is nearly where the other one is, in the rest none is near enough.
    """
    random = np.random.default_rng(SEVEN)
    counts = np.clip(random.poisson(SEVEN, rows), 1, 20)
    total = int(counts.sum())
    corner = random.uniform(0, 150, (total, 2))
    size = random.uniform(20, 100, (total, 2))
    whole = np.concatenate([corner, corner + size], axis=1)
    off = np.repeat(np.where(random.integers(0, 20, rows) == 0, 0.2, 8.0), counts)
    moved = whole + off[:, None] * random.choice([-1.0, 1.0], (total, 4))
    ends = np.cumsum(counts)[:-1]
    split = [np.split(some.astype(np.float32), ends) for some in (whole, moved)]
    return split[0], split[1], random.integers(0, 80, rows)


def paper_lake(rows: int) -> Path:
    """Returns the dataset of the paper's example: images, boxes, training/boxes and labels."""
    import deeplake

    def build(folder: Path) -> None:
        some = [deeplake.read(file) for file in files("photos-q75")]
        one, other, labels = boxes(rows)
        with deeplake.create(folder) as ds:
            ds.create_tensor("images", "image.rgb", compression="jpeg")
            ds.create_tensor("boxes", "bbox")
            ds.create_tensor("training/boxes", "bbox")
            ds.create_tensor("labels", "class_label", class_names=[f"class{number}" for number in range(80)])
            for start in range(0, rows, 5_000):
                stop = min(rows, start + 5_000)
                images = [some[row % len(some)] for row in range(start, stop)]
                part = slice(start, stop)
                ds.extend({"images": images, "boxes": one[part], "training/boxes": other[part], "labels": labels[part]})
            ds.commit("rows")

    return data.dataset(data.CACHE / f"paper-{rows}", build)
