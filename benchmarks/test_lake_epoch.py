"""A shuffled epoch from an object store against the same loader on the local disk (figure 8 of the paper).

The store answers after 25 ms and gives 90 MB/s to a connection. Every epoch opens the dataset anew, so the first batch
and all index pages count. python benchmarks/test_lake_epoch.py [--full]
"""

from __future__ import annotations

import math
import os
from contextlib import ExitStack
from typing import Any

import data
import machine
import report
from protocol import Contender, Entry, Figure, Line, Result, Spread, Table, Turn, contenders, faster, race
from remote import RemoteContender, Servers, Store
from test_epoch import BATCH, TITLES

LOCAL, REMOTE, BAD = "deeplake, local disk", "deeplake, S3", "deeplake, S3 that fails"
LATER, FAR_LATER = "deeplake, local disk, second epochs", "deeplake, S3, second epochs"
CACHED, FAR_CACHED = "deeplake, local disk, second epochs with cache=", "deeplake, S3, second epochs with cache="
SLOW = "deeplake, S3 behind 1 Gb/s and 2 ms"
LINK = 125e6  # bytes per second of the slow link
STORE = os.environ.get("DEEPLAKE_BENCH_STORE", "s3")  # or minio
PIECE = 8e6  # bytes of a request that suits an object store
HELD = (512 << 20) * 5 // 2  # fetch_bytes: a smaller set is requested at once
# images: of the paper's figure, of those whose pixels fit into memory twice
WHOLE, KEPT, SHORT = 50_000, 20_000, 3_000


def measure(full: bool = False) -> Result:
    """Measures 50,000 images of two sets, as the paper does; short: 3,000 of noise. Other loaders: run_all.py."""
    result = Result(
        "lake_epoch",
        "Epoch from S3 (25 ms, 90 MB/s a connection), shuffled uint8 torch batches of 256, dataset opened anew",
        rounds=5,
        full=full,
        packages=("torch",),
    )
    for name in ("noise-q75", "photos-q75") if full else ("noise-q75",):
        _one_set(result, data.jpegs(name, WHOLE if full else SHORT), data.jpegs(name, KEPT if full else SHORT))
    result.notes.append(
        "Server (versitygw), proxy and loader share the machine, which they would not elsewhere: what the first two "
        "need is lost to the loader. The line without it takes out their processor seconds, divided by the number of "
        "processors and weighed by the part of the time in which the loader was busy. The rate of the local disk is "
        "that of the same loader, alone, in the same run."
    )
    result.notes.append(
        "The memory that the bytes of a first epoch come into is new to the process. A machine that gives free memory "
        "back to its host, as this one does, takes 2 to 4 us for each page of it; later epochs have it. Noise is more "
        "than fits there (1.3 GB) and is fetched in each epoch, photographs are kept."
    )
    result.notes.append(
        f'"{SLOW}": for all connections together. Where nearly all of it is in use until the last byte, bytes are the '
        "limit, not requests. The last window of the order, two thirds of a small set, is decoded after it."
    )
    result.notes.append(
        f'"{BAD}": 503 SlowDown for 10 % of the requests, and 1 % of the bodies stall for 5 s in the middle.'
    )
    return result


def _one_set(result: Result, files: data.JpegSet, kept: data.JpegSet) -> None:
    """Measures epochs of `files`, and second epochs of `kept`."""
    title = TITLES[files.name]
    with ExitStack() as stack:
        servers = stack.enter_context(Servers(STORE))
        store = servers[STORE]
        uri = f"s3://{store.bucket()}/lake"
        _upload(store, files, uri)
        shared: dict[str, Any] = {"batch_size": BATCH, "workers": machine.cores()}
        made = {
            LOCAL: Contender(LOCAL, "loaders", "Ours", uri=str(data.make_lake(files)), **shared),
            REMOTE: RemoteContender(servers, REMOTE, "loaders", "Ours", uri=uri, storage=store.settings(), **shared),
        }
        contenders(stack, made)
        entries = {name: Entry(one) for name, one in made.items()}
        turns = race(entries, call="anew", rounds=result.rounds)
        later = _later(servers, store, (LATER, FAR_LATER), files, uri, shared, result.rounds)
        again = f"s3://{store.bucket()}/lake"
        _upload(store, kept, again)
        room = {"cache": kept.count * math.prod(kept.shape) * 5 // 4}
        # A third of a second each, of one code that reads no store: many of them for as good a
        # figure.
        later |= _later(servers, store, (CACHED, FAR_CACHED), kept, again, shared | room, 12 * result.rounds)
        with RemoteContender(
            servers, REMOTE, "loaders", "Ours", uri=again, storage=store.settings(), **shared
        ) as small:
            few = _requests(store, small)
        requests = _requests(store, made[REMOTE])
        store.profile("bad")
        turns |= race({BAD: Entry(made[REMOTE])}, call="anew", rounds=3, warm_up=False)
        store.profile("slow-link")
        turns |= race({SLOW: Entry(made[REMOTE])}, call="anew", rounds=3, warm_up=False)
        slow = _requests(store, made[REMOTE])
        store.profile("s3")
        for value in turns[BAD].values:
            assert value["count"] == files.count, f"{value} images through faults, want {files.count}"
        found = made[REMOTE].call("check", name=files.name, count=files.count)["value"]
        assert found["once"] and not found["labels_wrong"] and not found["differ"], f"{title}: {found}"
        result.checks.append(f"{title}, S3: each image once, labels and every pixel right")
        for turn in turns.values():
            assert all(value["count"] == files.count for value in turn.values)
        result.watch({name: turns[name] for name in (LOCAL,)})
        turns |= later
    lines = [
        Line(
            name,
            Spread.of([turn.values[0]["count"] / seconds for seconds in turn.seconds]),
            cpu=Spread.of(turn.cpu).median / turn.values[0]["count"] * 1000,
            note=_first(turn),
        )
        for name, turn in turns.items()
    ]
    result.tables.append(Table(f"{title} ({files.count:,} images)", "images/s", "1,000", lines))
    near, far = turns[LOCAL], turns[REMOTE]
    result.figures.append(
        Figure(f"{title}: S3 as a part of local, the servers on the same processors", faster(far, near), 0.95)
    )
    result.figures.append(
        Figure(
            f"{title}: S3 as a part of local, without what the servers took of the processors", _alone(far, near), None
        )
    )
    for near_is, far_is, words in (
        (LATER, FAR_LATER, "from the second epoch on"),
        (CACHED, FAR_CACHED, f"from the second epoch on with cache= ({kept.count:,} images)"),
    ):
        result.figures.append(
            Figure(f"{title}: S3 as a part of local, {words}", faster(turns[far_is], turns[near_is]), 0.95)
        )
    what = f"{title}: S3 as a part of local, from the second epoch on, without what the servers took"
    result.figures.append(Figure(what, _alone(turns[FAR_LATER], turns[LATER]), None))
    clean, bad = Spread.of(turns[REMOTE].seconds).median, turns[BAD].seconds
    result.figures.append(
        Figure(f"{title}: S3 that fails as a part of S3", Spread.of([clean / seconds for seconds in bad]), 0.7)
    )
    first = Spread.of([value["first"] for value in turns[REMOTE].values])
    result.figures.append(Figure(f"{title}: first batch from S3, dataset never seen", first, 0.5, "less", "s"))
    total, small_total = _stored(files), _stored(kept)
    what = f"{title}: GETs of chunks in one epoch of {kept.count:,} images"
    result.figures.append(Figure(what, Spread.of([few["data"]]), small_total / PIECE * 1.2, "less"))
    what = f"{title}: GETs of chunks in one epoch of {files.count:,} images"
    bar = total / PIECE * 1.3 if total > HELD else None
    result.figures.append(Figure(what, Spread.of([requests["data"]]), bar, "less"))
    full = Spread.of([slow["bytes"] / LINK / slow["seconds"]])
    result.figures.append(Figure(f"{title}: part of the slow link in use, first request to last byte", full, 0.9))
    limit = max(requests["bytes"] / LINK, Spread.of(near.seconds).median)
    part = Spread.of([limit / seconds for seconds in turns[SLOW].seconds])
    result.figures.append(Figure(f"{title}: slow link, part of what its bytes and decoding allow", part, None))
    result.figures.append(Figure(f"{title}: other requests", Spread.of([requests["other"]]), None))
    result.figures.append(
        Figure(f"{title}: bytes fetched as a part of those stored", Spread.of([requests["bytes"] / total]), None)
    )


def _alone(far: Turn, near: Turn) -> Spread:
    """Returns the rate from S3 as a part of the local one, if others did what the servers do."""
    own = [seconds - value["lost"] for seconds, value in zip(far.seconds, far.values, strict=True)]
    return Spread.of([local / seconds for local, seconds in zip(near.seconds, own, strict=True)])


def _stored(files: data.JpegSet) -> int:
    """Returns the bytes of all chunks of the dataset."""
    return sum(path.stat().st_size for path in data.make_lake(files).rglob("data/*/*"))


def _first(turn: Turn) -> str:
    """Says when the first batch came, of epochs that open the dataset."""
    seconds = [value["first"] for value in turn.values if "first" in value]
    return f"first batch {Spread.of(seconds).median:.2f} s" if seconds else ""


def _later(
    servers: Servers,
    store: Store,
    names: tuple[str, str],
    files: data.JpegSet,
    uri: str,
    shared: dict[str, Any],
    rounds: int,
) -> dict[str, Turn]:
    """Epochs of loaders that are kept, after a first one: what that fetched or decoded and has room for is there."""
    near, far = names
    with ExitStack() as stack:
        made = {
            near: Contender(near, "loaders", "Ours", uri=str(data.make_lake(files)), **shared),
            far: RemoteContender(servers, far, "loaders", "Ours", uri=uri, storage=store.settings(), **shared),
        }
        contenders(stack, made)
        turns = race({name: Entry(one) for name, one in made.items()}, rounds=rounds)
    for turn in turns.values():
        assert all(value["count"] == files.count for value in turn.values)
    return turns


def _upload(store: Store, files: data.JpegSet, uri: str) -> None:
    import deeplake

    deeplake.copy(str(data.make_lake(files)), uri, dst_storage=deeplake.Storage(**store.settings(direct=True)))


def _requests(store: Store, remote: Contender) -> dict[str, float]:
    store.reset()
    remote.call("anew")
    seen = store.requests()
    chunks = [one for one in seen if one["method"] == "GET" and "/data/" in one["target"]]
    return {
        "data": float(len(chunks)),
        "other": float(len(seen) - len(chunks)),
        "bytes": float(sum(one["bytes"] for one in chunks)),
        "seconds": (max(one["end_ms"] for one in chunks) - min(one["begin_ms"] for one in chunks)) / 1000,
    }


def test_lake_epoch(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
