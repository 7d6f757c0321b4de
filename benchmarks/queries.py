"""Contenders that answer queries, each in its process: ours, DuckDB, NumPy, pylance and Deep Lake 3.

Each imports its library itself, since those of peers are in environments of their own.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import data
import numpy as np
import query_data
from loaders import Loop


def read_loop(threads: int, megabytes: int, file: str = "", small: bool = False) -> Loop:
    """The limit: every byte of memory added up, in huge pages or small ones, or of a file that is in the page cache."""
    options = ["-t", str(threads), "-m", str(megabytes), *(["-f", file] if file else []), *(["-s"] if small else [])]
    return Loop([str(data.program("read_limit")), *options])


class Ours:
    """`ds.query(...)` of a dataset."""

    def __init__(self, uri: str, threads: int, storage: dict[str, Any] | None = None) -> None:
        import deeplake

        self._settings = deeplake.Storage(**storage) if storage else None
        self._uri, self._threads, self._deeplake = uri, threads, deeplake
        self._ds = deeplake.open(uri, storage=self._settings)

    def anew(self) -> dict[str, Any]:
        """Opens it again: what was kept of it is gone."""
        self._ds.close()
        self._ds = self._deeplake.open(self._uri, storage=self._settings)
        return {}

    def table(self, text: str) -> dict[str, Any]:
        """Every value of the few rows of a result."""
        rows = self._ds.query(text, threads=self._threads)
        columns = [np.asarray(rows[name].numpy()).reshape(-1).tolist() for name in rows.tensors]
        return {"rows": list(zip(*columns, strict=True))}

    def arrays(self, text: str) -> dict[str, Any]:
        """Every value of a result of many rows, as NumPy arrays; returns how many, and the sum of the first column."""
        rows = self._ds.query(text, threads=self._threads)
        columns = [rows[name].numpy() for name in rows.tensors]
        return {"count": len(columns[0]), "sum": float(columns[0].sum(dtype=np.float64))}

    def count(self, text: str) -> dict[str, Any]:
        """How many rows a result has. `read` is what this process asked the system to read meanwhile, in bytes."""
        before = _asked()
        rows = len(self._ds.query(text, threads=self._threads))
        return {"count": rows, "read": _asked() - before}

    def top(self, text: str) -> dict[str, Any]:
        """The rows that are nearest to the vector."""
        rows = self._ds.query(text, query_data.wanted(), threads=self._threads)
        return {"rows": rows.indices.tolist()}

    def far(self, text: str) -> dict[str, Any]:
        """Opens, asks, and reads the images of the result: seconds to the first one, and in all."""
        begin = time.perf_counter()
        ds = self._deeplake.open(self._uri, storage=self._settings)
        opened = time.perf_counter() - begin
        rows = ds.query(text, threads=self._threads)
        count = len(rows)
        asked = time.perf_counter() - begin
        first = len(rows["images"].bytes(0))
        one = time.perf_counter() - begin
        total = sum(map(len, rows["images"].bytes(range(count))))
        seconds = time.perf_counter() - begin
        indices = rows.indices.tolist()
        label = np.dtype(ds["labels"].dtype).itemsize
        ds.close()
        return {
            "seconds": seconds,
            "opened": opened,
            "asked": asked,
            "first": one,
            "size": first,
            "count": count,
            "bytes": total,
            "rows": indices,
            "label": label,
        }

    def paper(self, text: str) -> dict[str, Any]:
        """The example of the paper: crops decoded, boxes normalised, in the order asked for."""
        begin = time.perf_counter()
        rows = self._ds.query(text, threads=self._threads)
        asked = time.perf_counter() - begin
        crops, found = rows["crop"].numpy(), rows["box"].numpy()
        return {
            "asked": asked,
            "rows": rows.indices.tolist(),
            "pixels": int(sum(int(crop.sum(dtype=np.int64)) for crop in crops)),
            "box": [float(np.float64(one.sum(dtype=np.float64))) for one in found],
        }


class Duck:
    """DuckDB on a Parquet file."""

    def __init__(self, file: str, threads: int) -> None:
        import duckdb

        self._connection = duckdb.connect()
        self._connection.execute(f"SET threads = {threads}")
        self._file = file

    def table(self, text: str) -> dict[str, Any]:
        found = self._connection.execute(text.replace("WHERE", f"FROM '{self._file}' WHERE")).fetchall()
        return {"rows": found}

    def arrays(self, text: str) -> dict[str, Any]:
        found = self._connection.execute(text.replace("WHERE", f"FROM '{self._file}' WHERE")).fetchnumpy()
        columns = list(found.values())
        return {"count": len(columns[0]), "sum": float(columns[0].sum(dtype=np.float64))}


class Lance:
    """pylance: its filter, and Arrow's kernels for what comes of it."""

    def __init__(self, folder: str, threads: int) -> None:
        import pyarrow

        pyarrow.set_cpu_count(threads)
        self._folder = Path(folder)

    def write(self, rows: int) -> dict[str, Any]:
        import lance
        import pyarrow as pa

        shutil.rmtree(self._folder, ignore_errors=True)
        whole = {name: np.concatenate([some[name] for some in query_data.tables(rows)]) for name in "abcde"}
        lance.write_dataset(pa.table(whole), str(self._folder))
        return {}

    def load(self) -> dict[str, Any]:
        import lance

        self._dataset = lance.dataset(str(self._folder))
        return {"count": self._dataset.count_rows()}

    def table(self, where: str, by: str = "") -> dict[str, Any]:
        import pyarrow.compute as pc

        found = self._dataset.to_table(filter=where, columns=["a", "b", "c", *([by] if by else [])])
        if by:
            wanted = [("a", "count"), ("a", "sum"), ("b", "mean"), ("c", "min"), ("c", "max")]
            groups = found.group_by(by).aggregate(wanted).sort_by(by)
            names = [by, "a_count", "a_sum", "b_mean", "c_min", "c_max"]
            return {"rows": list(zip(*[groups[name].to_pylist() for name in names], strict=True))}
        bounds = pc.min_max(found["c"])
        row = (found.num_rows, pc.sum(found["a"]), pc.mean(found["b"]), bounds["min"], bounds["max"])
        return {"rows": [[getattr(value, "as_py", lambda v=value: v)() for value in row]]}

    def arrays(self, where: str) -> dict[str, Any]:
        found = self._dataset.to_table(filter=where, columns=["a", "b", "c"])
        columns = [found[name].to_numpy() for name in "abc"]
        return {"count": len(columns[0]), "sum": float(columns[0].sum(dtype=np.float64))}


class Arrays:
    """NumPy over vectors in memory, its matrix product with as many threads as there are cores."""

    def __init__(self, rows: int) -> None:
        self._all = np.empty((rows, query_data.AXES), np.float32)
        step = query_data.STEP // 10  # as the dataset was made
        for start in range(0, rows, step):
            stop = min(rows, start + step)
            self._all[start:stop] = query_data.vectors(start, stop)

    def top(self, kind: str, k: int) -> dict[str, Any]:
        query = query_data.wanted()
        if kind == "dot":
            score = -(self._all @ query)
        elif kind == "cosine":  # the lengths are part of the question: nothing was computed before
            score = -(self._all @ query) / np.sqrt(np.einsum("ij,ij->i", self._all, self._all))
        else:
            score = np.empty(len(self._all), np.float32)
            for start in range(0, len(self._all), 1024):  # intermediate results stay in the cache
                score[start : start + 1024] = np.linalg.norm(self._all[start : start + 1024] - query, axis=1)
        nearest = np.argpartition(score, k)[:k]
        return {"rows": nearest[np.argsort(score[nearest], kind="stable")].tolist()}


class Three:
    """Deep Lake 3: its filter by a function of Python, which is what it has for this."""

    def __init__(self, folder: str, rows: int) -> None:
        self._folder, self._rows = folder, rows

    def write(self) -> dict[str, Any]:
        import deeplake
        from deeplake.core.sample import Sample

        files = query_data.files("photos-q75")
        one, other, labels = query_data.boxes(self._rows)
        ds = deeplake.empty(self._folder, overwrite=True)
        with ds:
            ds.create_tensor("images", htype="image", sample_compression="jpeg")
            ds.create_tensor("boxes", htype="bbox", dtype="float32")
            ds.create_tensor("training/boxes", htype="bbox", dtype="float32")
            ds.create_tensor("labels", htype="class_label")
            for start in range(0, self._rows, 1000):
                stop = min(self._rows, start + 1000)
                images = [files[row % len(files)] for row in range(start, stop)]
                ds.images.extend([Sample(buffer=image, compression="jpeg") for image in images])
                ds.boxes.extend(one[start:stop])
                ds["training/boxes"].extend(other[start:stop])
                ds.labels.extend(labels[start:stop].astype(np.uint32))
        return {}

    def paper(self, workers: int) -> dict[str, Any]:
        import deeplake

        ds = deeplake.load(self._folder, read_only=True, verbose=False)
        begin = time.perf_counter()

        def near(sample: Any) -> bool:
            return bool(_best(sample.boxes.numpy(), sample["training/boxes"].numpy()) > 0.95)

        view = ds.filter(near, num_workers=workers, progressbar=False)
        rows = [int(row) for row in view.sample_indices]
        asked = time.perf_counter() - begin
        best = [_best(view.boxes[i].numpy(), view["training/boxes"][i].numpy()) for i in range(len(rows))]
        labels = [int(view.labels[i].numpy().reshape(-1)[0]) for i in range(len(rows))]
        order = _spread(np.argsort(best, kind="stable").tolist(), labels)
        pixels, found = 0, []
        for i in order:
            pixels += int(view.images[i].numpy()[100:500, 100:500, 0:2].sum(dtype=np.int64))
            box = (view.boxes[i].numpy() - np.float32(100)) / np.float32(300)
            found.append(float(box.sum(dtype=np.float64)))
        seconds = time.perf_counter() - begin
        return {"seconds": seconds, "asked": asked, "rows": [rows[i] for i in order], "pixels": pixels, "box": found}


def _best(a: Any, b: Any) -> float:
    """Returns the best intersection over union of boxes (n, 4) and (m, 4), corners in order."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    both = np.prod(np.clip(high - low, 0, None), axis=2)
    area_a, area_b = np.prod(a[:, 2:] - a[:, :2], axis=1), np.prod(b[:, 2:] - b[:, :2], axis=1)
    return float((both / (area_a[:, None] + area_b[None] - both)).max())


def _spread(order: list[int], labels: list[int]) -> list[int]:
    """Returns the order with equal labels spread evenly: ARRANGE BY."""
    counts = np.bincount(labels, minlength=1)
    seen = np.zeros_like(counts)
    folders = []
    for i in order:
        folders.append((seen[labels[i]] + 0.5) / counts[labels[i]])
        seen[labels[i]] += 1
    return [order[k] for k in np.argsort(folders, kind="stable").tolist()]


def _asked() -> int:
    """Returns how many bytes this process has asked the system to read, from wherever they came."""
    for line in Path("/proc/self/io").read_text().splitlines():
        if line.startswith("rchar:"):
            return int(line.split()[1])
    return 0
