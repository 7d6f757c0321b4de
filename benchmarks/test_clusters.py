"""Ray over a dataset, beside Ray over Parquet of the same samples, and beside our own reader and loader.

python benchmarks/test_clusters.py [--full]
"""

from __future__ import annotations

import io
import logging
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import data
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import report
from PIL import Image
from protocol import Figure, Line, Result, Spread, Table
from remote import Servers, Store
from test_tables import SCHEMA, table_of

ROUNDS, TASKS = 5, 8
# Of the set in a store, in bytes. Its rounds are fewer.
ROW_BYTES, STORE_ROUNDS = 110_000, 3


def measure(full: bool = False) -> Result:
    """Reads and writes through Ray on this machine."""
    os.environ.update({"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"})
    os.environ["RAY_DATA_DISABLE_PROGRESS_BARS"] = "1"
    import ray

    rows, images, samples = (10_000_000, 20_000, 90_000) if full else (1_000_000, 2_000, 4_000)
    result = Result("clusters", f"Ray: {rows:,} rows of a table, {images:,} images", ROUNDS, full)
    ray.init(include_dashboard=False, log_to_driver=False)
    logging.getLogger("ray").setLevel(logging.WARNING)
    try:
        with tempfile.TemporaryDirectory() as folder:
            result.tables.append(_table(rows, Path(folder), result))
            result.tables.append(_written(rows, Path(folder), result))
            result.tables.append(_pictures(images, Path(folder), result))
        with Servers("s3") as servers:
            result.tables.append(_from_store(servers["s3"], samples, result))
    finally:
        ray.shutdown()
    result.notes.append(
        f"One node, Ray {ray.__version__}, {TASKS} tasks. Tables are those of the chapter on tables; Parquet has "
        f"{TASKS} files with Snappy. Images are 250x250, as JPEG files in Parquet, which Pillow decodes in "
        "`map_batches`. Ray's object store has its default size, 30 % of the memory. The store and its proxy, with "
        "25 ms and 90 MB/s for each connection, run on the same cores."
    )
    return result


def _turns(work: dict[str, Callable[[], int]], count: int, rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Returns the seconds of each, which take turns; the first round warms all."""
    costs: dict[str, list[float]] = {name: [] for name in work}
    for number in range(rounds + 1):
        for name, run in work.items():
            start = time.perf_counter()
            assert run() == count, name
            if number:
                costs[name].append(time.perf_counter() - start)
    return costs


def _rows(batches: Iterable[dict[str, Any]], name: str) -> int:
    return sum(len(batch[name]) for batch in batches)


def _table(rows: int, folder: Path, result: Result) -> Table:
    import deeplake.ray
    import ray

    table = table_of(rows)
    (folder / "parquet").mkdir()
    for part in range(TASKS):
        start, stop = rows * part // TASKS, rows * (part + 1) // TASKS
        pq.write_table(table.slice(start, stop - start), folder / "parquet" / f"{part}.parquet")
    with deeplake.create(folder / "lake", schema=SCHEMA) as ds:
        ds.extend(table)
        ds.commit()

    def ours() -> Any:
        return deeplake.ray.read(folder / "lake", override_num_blocks=TASKS)

    def theirs() -> Any:
        return ray.data.read_parquet(str(folder / "parquet"), override_num_blocks=TASKS)

    def selected(source: Any) -> int:
        few = source.filter(expr=ray.data.expressions.col("id") < 1000).select_columns(["id", "score"])
        return _rows(few.iter_batches(batch_size=None, batch_format="pyarrow"), "id")

    def whole(source: Any) -> int:
        return _rows(source.iter_batches(batch_size=None, batch_format="pyarrow"), "id")

    with deeplake.open(folder / "lake", read_only=True) as ds:
        work = {
            "Ray, our dataset": lambda: whole(ours()),
            "Ray, Parquet": lambda: whole(theirs()),
            "our reader, without Ray": lambda: sum(len(batch) for batch in ds.to_arrow_reader()),
        }
        costs = _turns(work, rows)
    shown = Table("a table, all columns", "million rows a second")
    for name, seconds in costs.items():
        shown.lines.append(Line(name, Spread.of([rows / s / 1e6 for s in seconds])))
    ratios = [b / a for a, b in zip(costs["Ray, our dataset"], costs["Ray, Parquet"], strict=True)]
    result.figures.append(Figure("Ray over a table, against Ray over Parquet", Spread.of(ratios), 1.0))
    ratios = [b / a for a, b in zip(costs["Ray, our dataset"], costs["our reader, without Ray"], strict=True)]
    result.figures.append(Figure("a table through Ray, against our reader", Spread.of(ratios), 0.9))
    few = _turns({"a": lambda: selected(ours()), "b": lambda: selected(theirs())}, 1000)
    ratios = [b / a for a, b in zip(few["a"], few["b"], strict=True)]
    result.figures.append(
        Figure("two columns of 1,000 rows by a filter, against Ray over Parquet", Spread.of(ratios), 1.0)
    )
    return shown


def _written(rows: int, folder: Path, result: Result) -> Table:
    import deeplake.ray
    import ray

    source = ray.data.read_parquet(str(folder / "parquet"), override_num_blocks=TASKS).materialize()

    def ours() -> int:
        shutil.rmtree(folder / "into", ignore_errors=True)
        return deeplake.ray.write(source, folder / "into", schema=SCHEMA).rows

    def theirs() -> int:
        shutil.rmtree(folder / "other", ignore_errors=True)
        source.write_parquet(str(folder / "other"))
        return rows

    costs = _turns({"our dataset, one commit": ours, "files of Parquet": theirs}, rows)
    shown = Table("a table out of Ray", "million rows a second")
    for name, seconds in costs.items():
        shown.lines.append(Line(name, Spread.of([rows / s / 1e6 for s in seconds])))
    ours_, theirs_ = costs.values()
    ratios = [b / a for a, b in zip(ours_, theirs_, strict=True)]
    result.figures.append(Figure("a write through Ray, against files of Parquet", Spread.of(ratios), 0.8))
    return shown


def _pictures(count: int, folder: Path, result: Result) -> Table:
    import deeplake.ray
    import ray

    files = data.jpegs("photos-q90", count)
    lake = data.make_lake(files)
    (folder / "pictures").mkdir()
    for part in range(TASKS):
        some = files.paths[count * part // TASKS : count * (part + 1) // TASKS]
        table = pa.table({"images": [path.read_bytes() for path in some]})
        pq.write_table(table, folder / "pictures" / f"{part}.parquet", compression="none")

    def decoded(batch: dict[str, Any]) -> dict[str, Any]:
        return {"images": np.stack([np.asarray(Image.open(io.BytesIO(one))) for one in batch["images"]])}

    def through(source: Any) -> int:
        batches = source.iter_batches(batch_size=64, batch_format="numpy")
        return sum(len(batch["images"]) for batch in batches if batch["images"].shape[1:] == files.shape)

    with deeplake.open(lake, read_only=True) as ds:
        parquet = str(folder / "pictures")
        work = {
            "Ray, our dataset": lambda: through(deeplake.ray.read(lake, columns=["images"], override_num_blocks=TASKS)),
            "Ray, Parquet and Pillow": lambda: through(
                ray.data.read_parquet(parquet, override_num_blocks=TASKS).map_batches(decoded, batch_size=64)
            ),
            "our loader, without Ray": lambda: _rows(ds.batches(64, tensors=["images"]), "images"),
        }
        costs = _turns(work, count)
    shown = Table("images, decoded", "images a second")
    for name, seconds in costs.items():
        shown.lines.append(Line(name, Spread.of([count / s for s in seconds])))
    ours, parquet_, loader = costs.values()
    ratios = [b / a for a, b in zip(ours, parquet_, strict=True)]
    result.figures.append(Figure("images through Ray, against Parquet and Pillow", Spread.of(ratios), 1.2))
    ratios = [b / a for a, b in zip(ours, loader, strict=True)]
    result.figures.append(Figure("images through Ray, against our loader", Spread.of(ratios), 0.9))
    return shown


def _from_store(store: Store, count: int, result: Result) -> Table:
    """Reads noise from S3: samples of one shape in ours, bytes in Parquet, which Ray does not convert."""
    import deeplake
    import deeplake.ray
    import ray
    from pyarrow import fs

    bucket = store.bucket()
    uri, storage = f"s3://{bucket}/lake", deeplake.Storage(**store.settings())

    def files(endpoint: str) -> Any:
        keys = {"access_key": store.access_key, "secret_key": store.secret_key, "region": store.region}
        return fs.S3FileSystem(**keys, endpoint_override=endpoint.removeprefix("http://"), scheme="http")

    rng = np.random.default_rng(0)
    with deeplake.create(uri, storage=deeplake.Storage(**store.settings(direct=True))) as ds:
        ds.create_tensor("x", dtype="uint8")
        for part in range(TASKS):
            start, stop = count * part // TASKS, count * (part + 1) // TASKS
            with files(store.endpoint).open_output_stream(f"{bucket}/parquet/{part}.parquet") as out:
                schema = pa.schema([("x", pa.binary())])  # a list of uint8 takes four bytes for each
                with pq.ParquetWriter(out, schema, compression="none", use_dictionary=False) as writer:
                    for begin in range(start, stop, 500):
                        noise = rng.integers(0, 256, (min(500, stop - begin), ROW_BYTES), np.uint8)
                        ds.extend({"x": noise})
                        writer.write_table(pa.table({"x": list(map(bytes, noise))}, schema=schema))
        ds.commit("noise")

    def through(source: Any) -> int:
        return _rows(source.iter_batches(batch_size=None, batch_format="pyarrow"), "x")

    def loader() -> int:
        with deeplake.open(uri, storage=storage, read_only=True) as ds:
            return _rows(ds.batches(64), "x")

    tasks = max(TASKS, count * ROW_BYTES >> 27)  # of the size of Ray's largest block
    options = {"filesystem": files(store.proxy), "override_num_blocks": tasks}
    work = {
        "Ray, our dataset": lambda: through(deeplake.ray.read(uri, storage=storage, override_num_blocks=tasks)),
        "Ray, Parquet": lambda: through(ray.data.read_parquet(f"{bucket}/parquet", **options)),
        "our loader, without Ray": loader,
    }
    costs = _turns(work, count, STORE_ROUNDS)
    shown = Table(f"{count * ROW_BYTES / 1e9:.1f} GB of arrays from S3", "MB a second")
    for name, seconds in costs.items():
        shown.lines.append(Line(name, Spread.of([count * ROW_BYTES / 1e6 / s for s in seconds])))
    ours, parquet, alone = costs.values()
    ratios = [b / a for a, b in zip(ours, parquet, strict=True)]
    result.figures.append(Figure("arrays from S3 through Ray, against Parquet", Spread.of(ratios), 2))
    ratios = [b / a for a, b in zip(ours, alone, strict=True)]
    result.figures.append(Figure("arrays from S3 through Ray, against our loader", Spread.of(ratios), 0.9))
    return shown


def test_clusters(bench: report.Bench) -> None:
    if sys.version_info >= (3, 14):
        pytest.skip("the tests pin Ray below Python 3.14: it has no wheel without the GIL")
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
