"""Requests of an object store: what ranges cost over a bare loop, and what samples and commits ask for.

python benchmarks/test_lake_reads.py [--full]
"""

from __future__ import annotations

import time
from typing import Any

import data
import gobench
import numpy as np
import report
from protocol import Figure, Line, Result, Spread, Table
from remote import Servers, Store
from test_open import lake as ten_million

ROWS = 256


def measure(full: bool = False) -> Result:
    """Measures ranges against net/http on loopback, then samples, first batches and commits through 25 ms of delay."""
    result = Result(
        "lake_reads", "Requests of an object store", rounds=7 if full else 3, full=full, packages=("torch",)
    )
    _ranges(result)
    with Servers("s3") as servers:
        _samples(result, servers["s3"], full)
        _commit(result, servers["s3"])
    _map(result)
    result.notes.append(
        "Round trips are the longest chain of requests of which each began after the one before had ended, as the "
        "proxy saw them; each costs 25 ms to the first byte."
    )
    return result


def _ranges(result: Result) -> None:
    found = gobench.run("./core/storage/s3", "^BenchmarkRange$", count=result.rounds, time="1000x")
    for size, bar in ((8192, 0.9), (256, 0.8)):
        names = {"net/http, not signed": "bare", "S3 provider": "provider", "with retry and limit": "stack"}
        rates = {name: [one["MB/s"] / 1000 for one in found[f"{size}KiB/{word}"]] for name, word in names.items()}
        cpu = {name: [one["cpu-us/op"] for one in found[f"{size}KiB/{word}"]] for name, word in names.items()}
        title = "8 MiB" if size == 8192 else "256 KiB"
        lines = [
            Line(name, Spread.of(rate), cpu=Spread.of(cpu[name]).median / 1e6 / (size * 1024 / 1e9))
            for name, rate in rates.items()
        ]
        result.tables.append(Table(f"ranges of {title}, 16 at once, loopback, client and server", "GB/s", "GB", lines))
        bare, stack = rates["net/http, not signed"], rates["with retry and limit"]
        result.figures.append(
            Figure(
                f"ranges of {title}: part of bare net/http",
                Spread.of([ours / loop for ours, loop in zip(stack, bare, strict=True)]),
                bar,
            )
        )


def _samples(result: Result, store: Store, full: bool) -> None:
    import deeplake

    files = data.jpegs("noise-q75", 20_000 if full else 3_000)
    uri = f"s3://{store.bucket()}/lake"
    deeplake.copy(str(data.make_lake(files)), uri, dst_storage=deeplake.Storage(**store.settings(direct=True)))
    storage = deeplake.Storage(**store.settings())
    store.reset()
    begin = time.perf_counter()
    batches = iter(deeplake.open(uri, storage=storage).pytorch(batch_size=ROWS, shuffle=True))
    next(batches)
    first = time.perf_counter() - begin
    # Bytes are requested once the index is known. The prefetch of later batches goes on meanwhile.
    chain = 1 + _chain([one for one in store.requests() if "/data/" not in one["target"]])
    batches.close()
    result.figures.append(Figure("first shuffled batch: round trips in sequence", Spread.of([float(chain)]), 6, "less"))
    result.notes.append(
        f"The first batch took {first:.2f} s in this process; index requests and one for bytes make {chain} in a row."
    )
    images = deeplake.open(uri, storage=storage)["images"]
    rows = np.random.default_rng(1).integers(0, files.count, (result.rounds + 1, ROWS))
    for row in range(0, files.count, 100):
        images.bytes(row)  # the index is warm then
    one, many, seconds, together = [], [], [], []
    for number, chosen in enumerate(rows):
        store.reset()
        begin = time.perf_counter()
        images.bytes(int(chosen[0]))
        seconds.append(time.perf_counter() - begin)
        one.append(float(len(store.requests())))
        store.reset()
        begin = time.perf_counter()
        got = images.bytes(chosen)
        together.append(time.perf_counter() - begin)
        many.append(float(len(store.requests())))
        want = [files.paths[row].read_bytes() for row in chosen.tolist()]
        assert got == want, f"round {number}: samples differ from their files"
    result.checks.append(f"{rows.size} samples from S3 are the bytes of their files")
    result.figures.append(Figure("one random sample, warm index: GETs", Spread.of(one), 1, "less"))
    result.figures.append(
        Figure("one random sample", Spread.of([1000 * value for value in seconds]), None, "less", "ms")
    )
    result.figures.append(Figure("256 random samples at once: GETs", Spread.of(many), None, "less"))
    result.figures.append(
        Figure("256 random samples at once", Spread.of([1000 * value for value in together]), None, "less", "ms")
    )


def _commit(result: Result, store: Store) -> None:
    import deeplake

    uri = f"s3://{store.bucket()}/large"
    deeplake.copy(str(ten_million()), uri, dst_storage=deeplake.Storage(**store.settings(direct=True)))
    ds = deeplake.open(uri, storage=deeplake.Storage(**store.settings()))
    chains, written = [], []
    for _ in range(result.rounds):
        ds.extend({"labels": np.zeros(1000, np.int64), "names": ["more"] * 1000})
        store.reset()
        ds.commit("a thousand rows")
        seen = store.requests()
        chains.append(float(_chain(seen)))
        written.append(sum(one.get("sent", 0) for one in seen) / 1000)
    result.figures.append(
        Figure("commit of 1,000 rows to 10 million: round trips in sequence", Spread.of(chains), 5, "less")
    )
    result.figures.append(Figure("commit of 1,000 rows to 10 million: written", Spread.of(written), None, "less", "kB"))


def _map(result: Result) -> None:
    found = gobench.run("./core/format", "^BenchmarkMapBytes$")
    for name, what in (
        ("jpeg,stats=true", "photographs of any size"),
        ("jpeg,stats=false", "without bounds of shapes"),
    ):
        # an inner page names its children in 34 bytes; half full at worst
        inner = 1.03 * 34 / 1024 * 2
        megabytes = (found[name][0]["bytes/entry"] + inner) * 125e6 / 1e6
        result.figures.append(
            Figure(f"map of a PB in chunks of 8 MB, {what}", Spread.of([megabytes]), 400, "less", "MB")
        )


def _chain(requests: list[dict[str, Any]]) -> int:
    """Returns how many requests at most followed each other, each begun when the one before had ended."""
    count, end = 0, -1.0
    for one in sorted(requests, key=lambda one: one["end_ms"]):
        if one["begin_ms"] >= end:
            count, end = count + 1, one["end_ms"]
    return count


def test_lake_reads(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
