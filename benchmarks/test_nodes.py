"""What 16 nodes of 2 ranks take from S3 in one epoch, also where nodes leave and join in its midst.

Each node is a network namespace with an address, a link of 20 MB/s and a cache directory of its own; each rank is a
process in it. They step together, as in synchronous training. One machine plays all nodes: bytes and rows are judged,
times are only told.

python benchmarks/test_nodes.py [--full]
"""

from __future__ import annotations

import re
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import data
import numpy as np
import pytest
import report
from environments import MissingError
from node import Job, Network
from protocol import Figure, Line, Result, Spread, Table
from remote import Servers, Store

NODES, PER_NODE, RATE = 16, 2, 20_000_000
LEAVERS = (1, 6, 9, 14)  # gone for the second third of the epoch
ROW_BYTES = 110_000
# Of prefetched objects in each process: 32 of them share the memory of this machine.
FETCH_BYTES = 192_000_000
STEP_S = 0.5  # of computing, after each batch
STEADY, LEAVING, BARE = "nobody leaves", "4 nodes are gone for a third", "nobody leaves, no cache_dir"


@dataclass
class Epoch:
    """One epoch, in one part or in three with other nodes each."""

    rows: int
    batch: int
    seconds: list[float] = field(default_factory=list)  # by part
    sent: int = 0  # bytes out of the store
    again: int = 0  # bytes that a node took though it had them
    requests: int = 0
    took: list[float] = field(default_factory=list)  # seconds, by request
    received: list[int] = field(default_factory=list)  # bytes, by node
    reports: list[list[dict[str, Any]]] = field(default_factory=list)  # of the ranks, by part

    @property
    def title(self) -> str:
        return f"{self.rows:,} rows, batches of {self.batch}"

    @property
    def bytes(self) -> int:
        return self.rows * ROW_BYTES


def measure(full: bool = False) -> Result:
    """Epochs of 1.1 GB; with `full` also of 9.9 GB, in batches of two sizes."""
    result = Result("nodes", f"{NODES} nodes of {PER_NODE} ranks read one epoch from S3", rounds=1, full=full)
    try:
        # Servers hands its names on as they are, after its own options.
        with Network(NODES, RATE) as network, Servers("-listen", network.address, "s3") as servers:
            epochs = _epochs(network, servers["s3"], full)
    except MissingError as error:
        raise SystemExit(f"nodes: {error}") from error
    _show(result, epochs)
    return result


def _epochs(network: Network, store: Store, full: bool) -> list[tuple[str, Epoch]]:
    found = []
    for rows, batches in ((10_000, (32,)), *(((90_000, (32, 64)),) if full else ())):
        uri = upload(store, rows)
        for batch in batches:
            for name in (STEADY, LEAVING, BARE):
                # a comparison only, and the bytes of it are many
                if name != BARE or rows == 10_000:
                    found.append((name, read(network, store, uri, rows, batch, name)))
    return found


def upload(store: Store, rows: int) -> str:
    """Writes noise that begins with the number of its row, and returns where it is."""
    import deeplake

    data.say(f"writing {rows:,} rows")
    uri = f"s3://{store.bucket()}/dataset"
    rng = np.random.default_rng(0)
    with deeplake.create(uri, storage=deeplake.Storage(**store.settings(direct=True))) as ds:
        ds.create_tensor("x", dtype="uint8")
        for begin in range(0, rows, 500):
            numbers = np.arange(begin, min(begin + 500, rows), dtype="<i8")
            noise = rng.integers(0, 256, (len(numbers), ROW_BYTES), np.uint8)
            noise[:, :8] = numbers[:, None].view(np.uint8)
            ds.extend({"x": noise})
        ds.commit("noise")
    return uri


def read(network: Network, store: Store, uri: str, rows: int, batch: int, name: str) -> Epoch:
    """Reads one epoch, with empty caches at its start. A node that comes back still has its own."""
    every = list(range(NODES))
    fewer = [node for node in every if node not in LEAVERS]
    third = rows // 3
    # (nodes, rows of the part; 0: the rest)
    parts = [(every, third), (fewer, third), (every, 0)] if name == LEAVING else [(every, 0)]
    epoch = Epoch(rows, batch)
    data.say(f"reading {epoch.title}: {name}")
    scratch = data.CACHE / "pages"
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        store.reset()
        before, state = network.received(), None
        for nodes, some in parts:
            with Job(network, nodes, PER_NODE) as job:
                job.start(
                    [
                        {
                            "uri": uri,
                            "storage": store.settings() | _cache(name, Path(folder, f"node{node}")),
                            "loader": {"batch_size": batch, "fetch_bytes": FETCH_BYTES},
                            "state": state,
                            "steps": max(1, some // (batch * len(nodes) * PER_NODE)) if some else None,
                            "step_s": STEP_S,
                        }
                        for node in nodes
                        for _ in range(PER_NODE)
                    ]
                )
                begin = time.perf_counter()
                reports = job.run()
                epoch.seconds.append(time.perf_counter() - begin)
            epoch.reports.append(reports)
            state = reports[0]["state"]
            assert all(one["state"] == state for one in reports), "the states of the ranks differ"
        counts, requests = store.counts(), store.requests()
        epoch.sent, epoch.requests, epoch.again = counts["bytes_out"], counts["requests"], again(requests)
        epoch.took = [(one["end_ms"] - one["begin_ms"]) / 1e3 for one in requests]
        epoch.received = [after - early for after, early in zip(network.received(), before, strict=True)]
    _check(epoch)
    return epoch


def again(requests: list[dict[str, Any]]) -> int:
    """Counts the bytes of objects that a node took more than once."""
    taken: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for one in requests:
        found = re.fullmatch(r"bytes=(\d+)-\d+", one.get("range", ""))
        if found:
            begin = int(found.group(1))
            taken.setdefault((one["client"], one["target"]), []).append((begin, begin + one["bytes"]))
    total = 0
    for parts in taken.values():
        end = 0
        for begin, stop in sorted(parts):
            total += max(min(end, stop) - begin, 0)
            end = max(end, stop)
    return total


def _cache(name: str, folder: Path) -> dict[str, Any]:
    return {} if name == BARE else {"cache_dir": str(folder), "cache_bytes": 64 << 30}


def _check(epoch: Epoch) -> None:
    """Each row came to one rank, once. That a row has its own bytes, the ranks have checked."""
    taken = np.concatenate([rank["rows"] for part in epoch.reports for rank in part])
    times = np.bincount(taken, minlength=epoch.rows)
    missing, more = np.flatnonzero(times == 0), np.flatnonzero(times > 1)
    assert not len(missing) and not len(more) and len(times) == epoch.rows, (
        f"{epoch.title}: {len(missing)} rows never came, as {missing[:5].tolist()}, and {len(more)} came again, as "
        f"{more[:5].tolist()}"
    )


def _show(result: Result, epochs: list[tuple[str, Epoch]]) -> None:
    sent = Table("bytes out of the store in one epoch", "times the dataset", better="less")
    twice = Table("bytes that a node took again, of both its ranks", "times the dataset", better="less")
    spread = Table("bytes to the node that receives most", "times the mean of all nodes", better="less")
    asked = Table("requests to the store", "for 8 MB of the dataset", better="less")
    for name, epoch in epochs:
        line = f"{epoch.title}: {name}"
        times = Spread.of([epoch.sent / epoch.bytes])
        sent.lines.append(Line(line, times, note=_waits(epoch)))
        tenths = statistics.quantiles(epoch.took, n=10)
        hedges = sum(rank["fetch"]["store"]["hedges"] for part in epoch.reports for rank in part)
        note = f"a request takes {tenths[4]:.1f} s, one in ten {tenths[8]:.1f} s or more; {hedges:,} are hedges"
        twice.lines.append(Line(line, Spread.of([epoch.again / epoch.bytes]), note=note))
        most = max(epoch.received) / statistics.mean(epoch.received)
        spread.lines.append(Line(line, Spread.of([most]), note=f"{min(epoch.received) / 1e6:,.0f} MB at least"))
        asked.lines.append(Line(line, Spread.of([epoch.requests / (epoch.bytes / 8e6)])))
        if name != BARE:
            # A node that takes over blocks of one that left must fetch them again: no bound is known.
            want = 1.1 if name == STEADY else None
            result.figures.append(Figure(f"bytes out of the store, {line}", times, want, "less", "times the dataset"))
    result.tables += [sent, twice, spread, asked]
    result.checks.append(
        "in each epoch every row came to one rank, once, with its own bytes, and at each checkpoint all ranks gave the "
        "same state"
    )
    result.notes += [
        f"{NODES} network namespaces on one machine, each with {RATE / 1e6:.0f} MB/s both ways (tc tbf) and a cache "
        f"directory of its own; the store is behind 25 ms and 90 MB/s per connection. A rank computes for {STEP_S} s "
        "after each batch, and waits for all others. Its prefetched objects take "
        f"{FETCH_BYTES / 1e6:.0f} MB at most; the window of all ranks together is 512 MiB, the default.",
        "Where nodes leave, all ranks end at a third of the epoch, and 12 nodes go on from the state. At two thirds "
        "they end again, and all 16 go on, with the caches that they had. A node that takes over blocks of others "
        "fetches them again, and whatever was prefetched beyond a checkpoint is in the wrong cache.",
        "All ranks, the store and its proxy share the cores of this machine: times do not tell how fast a cluster is. "
        "Requests take longer than a cluster's, too.",
    ]


def _waits(epoch: Epoch) -> str:
    """Says how long ranks waited for batches, how fast all were, and the memory of a rank."""
    parts = zip(epoch.reports, epoch.seconds, strict=True)
    shares = [sum(rank["waits"]) / seconds for part, seconds in parts for rank in part]
    peak = max(rank["peak"] for part in epoch.reports for rank in part)
    return (
        f"{epoch.rows / sum(epoch.seconds):,.0f} rows a second; waits for batches are {statistics.mean(shares):.0%} of "
        f"the time, of the slowest rank {max(shares):.0%}; a rank holds up to {peak / 1e6:.0f} MB"
    )


def test_nodes(bench: report.Bench) -> None:
    try:
        with Network(1, RATE):
            pass
    except MissingError as error:
        pytest.skip(str(error))
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
