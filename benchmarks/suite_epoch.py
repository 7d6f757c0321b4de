"""An epoch of shuffled batches of 256 images, everybody against ours: from a local disk, and from an object store."""

from __future__ import annotations

import shutil
import statistics
from contextlib import ExitStack
from typing import Any

import data
import environments
import numpy as np
from adapters.base import CORES
from lake import Place, Servers
from protocol import Contender, Entry, Turn, faster, race, thriftier
from roster import ENTRANTS, Entrant
from suite import FAILURES, LIMIT, OUR, OURS, SCRATCH, Chapter, contender, number, spread, versions

BATCH = 256
RATE, RATIO, THRIFT, CPU = "images/s", "ours is, times", "CPU time, times ours", "CPU-s / 1,000"
MEMORY, FIRST, GAP, PIXELS, WORKERS = "memory, MB", "first batch, s", "p99 gap, ms", "pixels as the limit's", "workers"


def local(name: str, count: int, rounds: int, full: bool, wanted: list[str]) -> Chapter:
    """From a local disk, page cache warm."""
    files = data.jpegs(name, count)
    chapter = Chapter(
        f"epoch-{name}",
        f"{name}, {count:,} images of {files.mean_bytes / 1000:.1f} kB",
        RATE,
        [RATIO, CPU, THRIFT, MEMORY, FIRST, GAP, WORKERS, PIXELS],
        rounds=rounds,
    )
    arguments: dict[str, Any] = {"name": name, "count": count, "batch_size": BATCH}
    with ExitStack() as stack:
        place = SCRATCH / "ours"
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        ours = stack.enter_context(contender(OUR, "Peer", place=str(place), **arguments))
        ours.call("write")
        mine = _chosen(ours, full)
        limit = stack.enter_context(Contender(LIMIT, "loaders", "jpeg_loop", name=name, count=count, threads=CORES))
        turns = race({OURS: mine["entry"], LIMIT: Entry(limit)}, rounds=rounds)
        chapter.watch(turns[OURS])
        cells = {
            RATE: spread([count / seconds for seconds in turns[LIMIT].seconds]),
            RATIO: spread(_ratios(turns[OURS], turns[LIMIT])),
            CPU: number(statistics.median(turns[LIMIT].cpu) / count * 1000),
            WORKERS: str(CORES),
        }
        chapter.add(LIMIT, _part(turns[OURS], turns[LIMIT]), cells)
        all_ours = turns[OURS]
        for entrant in ENTRANTS:
            if entrant.epoch and _is_wanted(entrant, wanted):
                try:
                    one = _one(chapter, entrant, mine["entry"], files, arguments, rounds, full)
                except FAILURES as error:
                    chapter.refuse(entrant, error)
                    continue
                for field in ("seconds", "cpu", "values", "others"):
                    getattr(all_ours, field).extend(getattr(one, field))
        _line(chapter, OUR, all_ours, None, mine, ours, files)
    chapter.notes.append(
        "The limit decodes from memory into one buffer per thread; it reads no file, shuffles and delivers nothing."
    )
    return chapter


def remote(name: str, count: int, rounds: int, full: bool, wanted: list[str]) -> Chapter:
    """From S3 behind 25 ms and 90 MB/s a connection; every epoch in a new process that knows nothing."""
    data.jpegs(name, count)  # made where it is not there
    chapter = Chapter(
        f"lake-{name}",
        f"{name}, {count:,} images, S3 with 25 ms to the first byte and 90 MB/s a connection",
        RATE,
        [RATIO, "of its local rate", CPU, THRIFT, FIRST, GAP, "GETs", "bytes fetched / stored", WORKERS],
        rounds=rounds,
    )
    arguments: dict[str, Any] = {"name": name, "count": count, "batch_size": BATCH}
    uploader = Entrant("upload", "webdataset", "bucket", "Upload")
    with ExitStack() as stack:
        store = stack.enter_context(Servers("s3"))["s3"]
        bucket = store.bucket()
        up = stack.enter_context(
            Contender(
                "upload",
                "adapters.bucket",
                "Upload",
                python=_python(uploader),
                environment=store.environment(direct=True),
            )
        )
        all_ours: Turn | None = None
        ours_local: list[float] = []
        ours_stored = 0
        for entrant in (OUR, *ENTRANTS):
            if not entrant.epoch or not (entrant is OUR or _is_wanted(entrant, wanted)):
                continue
            if entrant.not_remote:
                chapter.refuse(entrant, entrant.not_remote)
                continue
            place = SCRATCH / entrant.module
            try:
                with contender(entrant, "Peer", place=str(place), **arguments) as writer:
                    stored = writer.call("write")["value"]["bytes"]
                    workers = writer.call("choose", most=BATCH, choices=[CORES])["value"]["workers"]
                prefix = entrant.name.replace(" ", "-").lower()
                up.call("upload", folder=str(place), bucket=bucket, prefix=prefix)
                pairs = {entrant.name: (entrant, f"s3://{bucket}/{prefix}", workers)}
                if entrant is not OUR:
                    pairs = {OURS: (OUR, f"s3://{bucket}/{OURS}", CORES)} | pairs
                pairs |= {"local": (entrant, str(place), workers)}
                turns = {key: Turn() for key in pairs}
                for number_ in range(rounds):
                    for key in [*pairs][:: 1 if number_ % 2 == 0 else -1]:
                        who, where, with_workers = pairs[key]
                        environment = store.environment()
                        with contender(who, "Peer", environment, place=where, **arguments) as one:
                            store.reset()
                            answer = one.call("anew", workers=with_workers)
                            answer["value"] |= _traffic(store)
                        turns[key].add(answer, 0)
                        assert answer["value"]["count"] == count, f"{answer['value']['count']} images, want {count}"
            except FAILURES as error:
                chapter.refuse(entrant, error)
                continue
            finally:
                shutil.rmtree(place, ignore_errors=True)
            turn = turns[entrant.name]
            chapter.watch(turn)
            chapter.versions |= versions(entrant)
            if entrant is OUR:
                all_ours, ours_local, ours_stored = turn, turns["local"].seconds, stored
                continue
            assert all_ours is not None, "ours did not run"
            _remote_line(chapter, entrant, turn, turns["local"].seconds, turns[OURS], workers, count, stored)
            for field in ("seconds", "cpu", "values"):
                getattr(all_ours, field).extend(getattr(turns[OURS], field))
        if all_ours is not None:
            _remote_line(chapter, OUR, all_ours, ours_local, None, CORES, count, ours_stored)
    chapter.notes.append(
        "The server (versitygw), the proxy and the loader share the machine. The local rate is that of the same loader "
        "in a new process in the same rounds."
    )
    return chapter


def _one(
    chapter: Chapter,
    entrant: Entrant,
    ours: Entry,
    files: data.JpegSet,
    arguments: dict[str, Any],
    rounds: int,
    full: bool,
) -> Turn:
    """Measures one of the others; returns the turns that ours had meanwhile."""
    data.say(f"== {entrant.name}")
    place = files.folder if entrant.reads_files else SCRATCH / entrant.module
    try:
        with contender(entrant, "Peer", place=str(place), **arguments) as peer:
            if not entrant.reads_files:
                peer.call("write")
            chosen = _chosen(peer, full)
            turns = race({OURS: ours, entrant.name: chosen["entry"]}, rounds=rounds)
            chapter.watch(*turns.values())
            for value in turns[entrant.name].values:
                assert value["count"] == files.count, f"{value['count']} images in an epoch, want {files.count}"
            _line(chapter, entrant, turns[entrant.name], turns[OURS], chosen, peer, files)
    finally:
        if not entrant.reads_files:
            shutil.rmtree(place, ignore_errors=True)
    return turns[OURS]


def _line(
    chapter: Chapter,
    entrant: Entrant,
    turn: Turn,
    ours: Turn | None,
    chosen: dict[str, Any],
    peer: Contender,
    files: data.JpegSet,
) -> None:
    chapter.versions |= versions(entrant)
    memory = peer.peak("run", workers=chosen["workers"])
    found = peer.call("check", workers=chosen["workers"])["value"]
    gaps = [gap for value in turn.values for gap in value["gaps"]]
    p99 = float(np.quantile(gaps, 0.99)) if gaps else 0.0
    same = files.count - found["differ"]
    pixels = "all" if same == files.count else f"{same / files.count:.0%}, the others within {found['furthest']}"
    if not found["once"]:
        pixels += "; **not every image once**"
    if found["labels_wrong"]:
        pixels += f"; **{found['labels_wrong']} labels wrong**"
    cells = {
        RATE: spread([files.count / seconds for seconds in turn.seconds]),
        RATIO: spread(_ratios(ours, turn)) if ours is not None else "1",
        CPU: number(statistics.median(turn.cpu) / files.count * 1000),
        THRIFT: spread(_thrift(ours, turn)) if ours is not None else "1",
        MEMORY: f"{memory / 1e6:.0f}",
        FIRST: number(chosen["first"]),
        GAP: number(p99 * 1000),
        WORKERS: str(chosen["workers"]) + (f" ({entrant.note})" if entrant.note else ""),
        PIXELS: pixels,
    }
    figures = {
        "cpu": statistics.median(turn.cpu) / files.count * 1000,
        "memory": memory,
        "first": chosen["first"],
        "p99": p99,
    }
    chapter.add(entrant.name, _part(ours, turn), cells, **figures, seconds=turn.seconds)
    if ours is not None:
        chapter.lines[-1].figures |= {"ratio": _ratios(ours, turn)}


def _remote_line(
    chapter: Chapter,
    entrant: Entrant,
    turn: Turn,
    local_seconds: list[float],
    ours: Turn | None,
    workers: int,
    count: int,
    stored: int,
) -> None:
    gaps = [gap for value in turn.values for gap in value["gaps"]]
    last = turn.values[-1]
    first = statistics.median(value["first"] for value in turn.values)
    of_local = statistics.median(local_seconds) / statistics.median(turn.seconds[: len(local_seconds)])
    cells = {
        RATE: spread([count / seconds for seconds in turn.seconds]),
        RATIO: spread(_ratios(ours, turn)) if ours is not None else "1",
        "of its local rate": number(of_local),
        CPU: number(statistics.median(turn.cpu) / count * 1000),
        THRIFT: spread(_thrift(ours, turn)) if ours is not None else "1",
        FIRST: number(first),
        GAP: number(float(np.quantile(gaps, 0.99)) * 1000) if gaps else "",
        "GETs": number(last["gets"]),
        WORKERS: str(workers),
    }
    if stored:
        cells["bytes fetched / stored"] = number(last["bytes"] / stored)
    chapter.add(entrant.name, _part(ours, turn), cells, seconds=turn.seconds, first=first)


def _traffic(store: Place) -> dict[str, Any]:
    """Returns what came from the store since it was reset."""
    gets = [one for one in store.requests() or () if one["method"] == "GET"]
    return {"gets": len(gets), "bytes": sum(one["bytes"] for one in gets)}


def _chosen(peer: Contender, full: bool) -> dict[str, Any]:
    found = peer.call("choose", most=(20 if full else 4) * BATCH, choices=[] if full else [CORES])["value"]
    return found | {"entry": Entry(peer, {"workers": found["workers"]})}


def _part(ours: Turn | None, other: Turn) -> float:
    return 1.0 if ours is None else 1 / faster(ours, other).median


def _ratios(ours: Turn, other: Turn) -> list[float]:
    found = faster(ours, other)
    return [found.low, found.median, found.high]


def _thrift(ours: Turn, other: Turn) -> list[float]:
    found = thriftier(ours, other)
    return [found.low, found.median, found.high]


def _is_wanted(entrant: Entrant, wanted: list[str]) -> bool:
    return not wanted or any(one.lower() in entrant.name.lower() for one in wanted)


def _python(entrant: Entrant) -> str:
    return environments.python(entrant.environment)
