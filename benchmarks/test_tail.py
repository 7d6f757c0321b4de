"""Epochs from an object store with some slow or silent requests, against epochs without them.

python benchmarks/test_tail.py [--full]
"""

from __future__ import annotations

import statistics
from typing import Any

import data
import machine
import report
from protocol import Contender, Figure, Line, Result, Spread, Table, Turn, faster
from remote import RemoteContender, Servers, Store

BATCH = 64
SLOW, SILENT = 0.01, 0.001  # shares of the requests
TIMES = 20  # a slow request takes so many times as long as the others
CLEAN, TAILS = "clean", "1 % slow, 0.1 % silent"
# Memory for less than the dataset, so that each epoch fetches: by some hundred requests of about
# 1 MB, or by thousands for single images.
ORDERS: dict[str, dict[str, Any]] = {
    "shuffle=True": {"shuffle": True, "shuffle_bytes": 12 << 20, "fetch_bytes": 64 << 20},
    'shuffle="full"': {"shuffle": "full", "fetch_bytes": 64 << 20},
}


def measure(full: bool = False) -> Result:
    """Lets a loader of each order read epochs with and without slow requests in turns."""
    import deeplake

    result = Result(
        "tail", "Epochs from a store with slow and silent requests", 21 if full else 7, full, packages=("torch",)
    )
    files = data.jpegs("noise-q75", 20_000 if full else 3_000)
    with Servers("s3") as servers:
        store = servers["s3"]
        uri = f"s3://{store.bucket()}/dataset"
        deeplake.copy(str(data.make_lake(files)), uri, dst_storage=deeplake.Storage(**store.settings(direct=True)))
        for order, options in ORDERS.items():
            with RemoteContender(
                servers,
                "deeplake",
                "loaders",
                "Ours",
                uri=uri,
                batch_size=BATCH,
                workers=machine.cores(),
                storage=store.settings(),
                **options,
            ) as ours:
                _one_order(result, store, ours, order, files)
    result.notes.append(
        "The first fifth of the batches of an epoch does not count as gaps: the window of the loader fills meanwhile."
    )
    return result


def _one_order(result: Result, store: Store, ours: Contender, order: str, files: data.JpegSet) -> None:
    turns = {CLEAN: Turn(), TAILS: Turn()}
    skip = files.count // BATCH // 5
    usual = _usual(store, ours, skip)
    met = requests = 0
    for number in range(result.rounds):
        names = list(turns)
        for name in names if number % 2 == 0 else reversed(names):
            store.rules(_rules(usual, number) if name == TAILS else [])
            turns[name].add(ours.call("paced", skip=skip), ours.baseline)
            if name == TAILS:
                *_, silent, slow = store.counts()["rules"]
                met, requests = met + silent["hit"] + slow["hit"], requests + silent["matched"]
    assert all(value["count"] == files.count for turn in turns.values() for value in turn.values)
    result.watch(turns)
    lines = []
    for name, turn in turns.items():
        median, p99 = _gaps(turn)
        note = f"gaps: median {1000 * median:.1f} ms, p99 {1000 * p99:.1f} ms"
        rate = Spread.of([files.count / seconds for seconds in turn.seconds])
        lines.append(Line(name, rate, statistics.median(turn.cpu) / files.count * 1000, note=note))
    result.tables.append(Table(f"{files.name}, {files.count:,} images, {order}", "images/s", "1,000", lines))
    result.figures.append(
        Figure(f"{order}: rate with slow requests, times the clean one", faster(turns[TAILS], turns[CLEAN]), 0.9)
    )
    median, p99 = _gaps(turns[TAILS])
    ratio = Spread.of([p99 / median])
    result.figures.append(Figure(f"{order}: p99 of the gaps between batches, times their median", ratio, 3, "less"))
    hedges = sum(value["hedges"] for value in turns[TAILS].values)
    result.notes.append(
        f"{order}: requests for data take {1000 * usual:.0f} ms, slow ones {1000 * TIMES * usual:.0f} ms longer. Of "
        f"{requests:,} requests, {met} were slow or silent; {hedges} were sent again for being late."
    )


def _usual(store: Store, ours: Contender, skip: int) -> float:
    """Warms up, and returns the seconds that half of the requests for data take."""
    for _ in range(2):
        store.reset()
        ours.call("paced", skip=skip)
    times = [one["end_ms"] - one["begin_ms"] for one in store.requests() if "/data/" in one["target"]]
    return statistics.median(times) / 1000


def _rules(usual: float, number: int) -> list[dict[str, Any]]:
    """Returns the rules of a round. The number of rules before them decides which requests they hit."""
    idle = {"path": "/none/", "do": {"fault": "delay", "delay_ms": 1}}
    hit = {"method": "GET", "path": "/data/"}
    slow = {"p": SLOW, "do": {"fault": "delay", "delay_ms": 1000 * TIMES * usual}}
    silent = {"p": SILENT, "do": {"fault": "delay", "delay_ms": 3_600_000}}
    return [*[idle] * (2 * number), hit | silent, hit | slow]


def _gaps(turn: Turn) -> tuple[float, float]:
    """Returns the median and the 99th percentile of all gaps of a turn."""
    gaps = sorted(gap for value in turn.values for gap in value["gaps"])
    return statistics.median(gaps), gaps[len(gaps) * 99 // 100]


def test_tail(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
