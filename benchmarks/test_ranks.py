"""What ranks read of a windowed shuffle, how they mix batches, and what a shared cache saves.

The tables of blocks are counted on the order: nothing is timed, and they are the same on every machine. The bytes of
ranks with a cache are counted by a proxy, while the ranks run.

python benchmarks/test_ranks.py [--full]
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import data
import gobench
import numpy as np
import report
from protocol import Contender, Figure, Line, Result, Spread, Table, contenders
from remote import Servers, Store

TABLES = (("512", "32", "512 MiB, the default"), ("512", "256", "512 MiB, the default"), ("2048", "256", "2 GiB"))
WORLDS = (1, 2, 4, 8, 16, 32, 64)
# Of the set that ranks with a cache read.
ROW_BYTES, BATCH, RANKS = 110_000, 32, 8


def measure(full: bool = False) -> Result:
    """The same blocks, short or full; bytes of 1,000 or 10,000 rows."""
    result = Result(
        "ranks",
        'Ranks under shuffle="window": 300,000 rows of 110 kB, blocks of 8 MB',
        rounds=3 if full else 1,
        full=full,
        packages=("torch",),
    )
    found = gobench.run("./core/order", "^BenchmarkRanksRead$", time="1x")
    for window, batch, about in TABLES:
        lines = []
        for world in WORLDS:
            figures = found[f"{window}/{batch}/{world}"][0]
            note = f"the rows of its batch come from {figures['blocks']:.0f} blocks"
            lines.append(Line(f"{world} rank{'s' * (world > 1)}", Spread.of([figures["shares"]]), note=note))
        title = f"blocks that a rank reads, batches of {batch}, shuffle_bytes {about}"
        result.tables.append(Table(title, "1/world_size of all", lines=lines, better="less"))
    result.notes.append("Blocks are counted for the rank in the middle, over one epoch.")
    shared_cache(result, rows=10_000 if full else 1_000)
    return result


def shared_cache(result: Result, rows: int) -> None:
    """Adds the bytes that ranks take from the store in their first epoch, all at once."""
    seen: dict[str, list[float]] = {}
    with Servers("s3") as servers:
        store = servers["s3"]
        uri = _upload(store, rows)
        for _ in range(result.rounds):
            for name, ranks, shares, cached in (
                ("1 process", 1, True, True),
                (f"{RANKS} processes, each its share", RANKS, True, True),
                (f"{RANKS} processes, each all rows", RANKS, False, True),
                (f"{RANKS} processes, each its share, no cache", RANKS, True, False),
            ):
                sent = _epoch(servers, store, uri, ranks, rows, shares=shares, cached=cached)
                seen.setdefault(name, []).append(sent / (rows * ROW_BYTES))
    lines = [Line(name, Spread.of(parts)) for name, parts in seen.items()]
    title = f"bytes from the store in the first epoch of ranks that share a cache_dir, {rows:,} rows of 110 kB"
    result.tables.append(Table(title, "times the dataset", lines=lines, better="less"))
    alone = seen["1 process"]
    for name in list(seen)[1:3]:
        ratio = Spread.of([many / one for many, one in zip(seen[name], alone, strict=True)])
        result.figures.append(Figure(f"bytes from the store, {name}, times those of one", ratio, 1.1, "less"))
    result.notes.append(
        "The processes start together, with an empty cache, at a server behind 25 ms and 90 MB/s per connection."
    )


def _upload(store: Store, rows: int) -> str:
    import deeplake

    uri = f"s3://{store.bucket()}/dataset"
    rng = np.random.default_rng(0)
    with deeplake.create(uri, storage=deeplake.Storage(**store.settings(direct=True))) as ds:
        ds.create_tensor("x", dtype="uint8")
        for begin in range(0, rows, 500):
            ds.extend({"x": rng.integers(0, 256, (min(500, rows - begin), ROW_BYTES), np.uint8)})
        ds.commit("noise")
    return uri


def _epoch(servers: Servers, store: Store, uri: str, ranks: int, rows: int, *, shares: bool, cached: bool) -> int:
    """Lets processes read one epoch at once, and returns the bytes taken from the store."""
    scratch = data.CACHE / "pages"
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder, ExitStack() as stack:
        cache = {"cache_dir": str(Path(folder) / "cache"), "cache_bytes": 64 << 30} if cached else {}
        made = contenders(
            stack,
            {
                f"rank {rank}": Contender(
                    f"rank {rank}",
                    "loaders",
                    "Ours",
                    uri=uri,
                    batch_size=BATCH,
                    workers=1,
                    tensor="x",
                    storage=store.settings() | cache,
                    **({"rank": rank, "world_size": ranks} if shares else {}),
                )
                for rank in range(ranks)
            },
        )
        store.reset()
        with ThreadPoolExecutor(ranks) as pool:
            answers = list(pool.map(lambda one: one.call("anew"), made.values()))
        assert sum(answer["value"]["count"] for answer in answers) == rows * (1 if shares else ranks)
        return int(store.counts()["bytes_out"])


def test_ranks(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
