"""Samples at random as they are stored, one by one and 256 at once: from a local disk, and from an object store."""

from __future__ import annotations

import shutil
import statistics
from contextlib import ExitStack
from typing import Any

import data
import environments
from protocol import Contender, Entry, Turn, faster, race
from remote import Servers, Store
from roster import ENTRANTS, PLAIN, Entrant
from suite import FAILURES, OUR, OURS, SCRATCH, Chapter, contender, number, spread, versions

MANY = 256
# calls of so many samples, of a process that knows nothing of an object store
CALLS = {1: 64, MANY: 8}
ALONE, TOGETHER = "alone/s", f"{MANY} at once/s"
RATIO = "ours is, times"
UNABLE = "reads in sequence only"


def local(name: str, count: int, rounds: int, seconds: float, wanted: list[str]) -> Chapter:
    """Page cache warm, everything open; every sample is compared with its file before.

    A turn is as many reads as take the other about so many seconds.
    """
    files = data.jpegs(name, count)
    chapter = Chapter(
        f"random-{name}",
        f"{name}, {count:,} samples of {files.mean_bytes / 1000:.1f} kB",
        ALONE,
        [RATIO, "CPU-us", TOGETHER, f"{RATIO} ({MANY})", f"CPU-us ({MANY})"],
        rounds=rounds,
    )
    arguments: dict[str, Any] = {"name": name, "count": count, "batch_size": MANY}
    with ExitStack() as stack:
        folder = SCRATCH / "ours"
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        ours = stack.enter_context(contender(OUR, "Peer", uri=str(folder), **arguments))
        _prepare(ours)
        all_ours = [Turn(), Turn()]
        for entrant in _entrants(chapter, wanted):
            data.say(f"== {entrant.name}")
            folder = SCRATCH / entrant.factory
            try:
                chapter.begin()
                with contender(entrant, "Peer", uri=str(folder), **arguments) as peer:
                    _prepare(peer)
                    pairs = []
                    for size in (1, MANY):
                        trial = peer.call("fetch", reads=2 * MANY, size=size, seed=1)["seconds"]
                        reads = max(2, min(400, round(2 * seconds / trial))) * MANY
                        call = {"reads": reads, "size": size, "seed": 5}
                        entries = {OURS: Entry(ours, call), entrant.name: Entry(peer, call)}
                        turns = race(entries, call="fetch", rounds=rounds)
                        totals = {value["bytes"] for turn in turns.values() for value in turn.values}
                        assert len(totals) == 1, f"they read different amounts: {totals}"
                        pairs.append((turns[OURS], turns[entrant.name]))
                alone = 1 / faster(*pairs[0]).median
                if entrant is PLAIN[0]:
                    chapter.limit = alone
                chapter.publish(entrant, alone)
            except FAILURES as error:
                chapter.refuse(entrant, error)
                continue
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            for mine, (turn, _) in zip(all_ours, pairs, strict=True):
                for field in ("seconds", "cpu", "values", "others"):
                    getattr(mine, field).extend(getattr(turn, field))
            _line(chapter, entrant, [turn for _, turn in pairs], [turn for turn, _ in pairs])
        if all_ours[0].seconds:
            _line(chapter, OUR, all_ours, None)
    chapter.notes.append(
        f"Stored bytes in Python, nothing decoded; all {count:,} compared with their files. pread is that of Python "
        "from one open file, the places in a list. All cores read batches of ours: compare them with pread in as many "
        "threads."
    )
    return chapter


def remote(name: str, count: int, rounds: int, wanted: list[str]) -> Chapter:
    """From S3 behind 25 ms and 90 MB/s a connection; samples and batches each in a new process that knows nothing."""
    data.jpegs(name, count)  # made where it is not there
    chapter = Chapter(
        f"fetch-{name}",
        f"{name}, {count:,} samples, S3 with 25 ms to the first byte and 90 MB/s a connection",
        "alone, ms",
        [
            RATIO,
            "first, s",
            "GETs",
            "bytes fetched / useful",
            f"{MANY} at once, ms",
            f"{RATIO} ({MANY})",
            f"first, s ({MANY})",
            f"GETs ({MANY})",
            f"bytes fetched / useful ({MANY})",
            "CPU-s",
        ],
        rounds=rounds,
    )
    arguments: dict[str, Any] = {"name": name, "count": count, "batch_size": MANY}
    with ExitStack() as stack:
        store = stack.enter_context(Servers("s3"))["s3"]
        bucket, keys = store.bucket(), store.environment(direct=True)
        boto = environments.python("webdataset")
        up = stack.enter_context(Contender("upload", "adapters.bucket", "Upload", python=boto, environment=keys))
        all_ours = {size: Turn() for size in CALLS}
        for entrant in (OUR, *_entrants(chapter, wanted)):
            if entrant.not_remote:
                chapter.refuse(entrant, entrant.not_remote)
                continue
            data.say(f"== {entrant.name}")
            folder, prefix = SCRATCH / entrant.factory, entrant.name.replace(" ", "-").replace(",", "").lower()
            try:
                with contender(entrant, "Peer", uri=str(folder), **arguments) as writer:
                    writer.call("write")
                up.call("upload", folder=str(folder), bucket=bucket, prefix=prefix)
                if entrant is OUR:
                    continue
                pairs = [(OUR, OURS), (entrant, prefix)]
                turns = {one.name: {size: Turn() for size in CALLS} for one, _ in pairs}
                for turn in range(rounds):
                    for who, where in pairs[:: 1 if turn % 2 == 0 else -1]:
                        for size in CALLS:
                            uri = f"s3://{bucket}/{where}"
                            turns[who.name][size].add(_anew(store, who, size, turn, uri=uri, **arguments), 0)
            except FAILURES as error:
                chapter.refuse(entrant, error)
                continue
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            for size, ours in all_ours.items():
                for field in ("seconds", "cpu", "values", "others"):
                    getattr(ours, field).extend(getattr(turns[OURS][size], field))
            _remote_line(chapter, entrant, turns[entrant.name], turns[OURS])
        if all_ours[1].seconds:
            _remote_line(chapter, OUR, all_ours, None)
    chapter.notes.append(
        f"A new process opens the dataset and reads {CALLS[1]} samples one after the other, another one {CALLS[MANY]} "
        f"batches of {MANY}, none twice, all compared with their files: the mean of a call from nothing on, opening "
        "included, imports not. Loaders that fetch whole shards or chunks pay for them in the first calls."
    )
    return chapter


def _anew(store: Store, who: Entrant, size: int, seed: int, **arguments: Any) -> dict[str, Any]:
    """Lets a new process read, and adds the requests of the store to its answer."""
    with contender(who, "Peer", store.environment(), **arguments) as one:
        store.reset()
        answer = one.call("fetch_anew", calls=CALLS[size], size=size, seed=seed)
    value, gets = answer["value"], [got for got in store.requests() if got["method"] == "GET"]
    assert not value["wrong"], f"{value['wrong']} samples differ from their files"
    value |= {"gets": len(gets), "fetched": sum(got["bytes"] for got in gets)}
    return answer


def _entrants(chapter: Chapter, wanted: list[str]) -> list[Entrant]:
    """Returns the entrants to measure, and notes the reasons of the others."""
    found = []
    for entrant in (*PLAIN, *ENTRANTS):
        limit = entrant is PLAIN[0]  # the others are measured by it
        if wanted and not limit and not any(one.lower() in entrant.name.lower() for one in wanted):
            continue
        if entrant.fetch:
            found.append(entrant)
        elif entrant.module in ("webdataset", "squirrel", "tensorflow"):
            chapter.refuse(entrant, UNABLE)
        elif entrant.name == "FFCV":
            chapter.refuse(entrant, "draws at random, but hands out nothing that is not decoded")
    return found


def _prepare(peer: Contender) -> None:
    peer.call("write")
    wrong = peer.call("verify")["value"]["wrong"]
    assert not wrong, f"{wrong} samples differ from their files"


def _line(chapter: Chapter, entrant: Entrant, turns: list[Turn], ours: list[Turn] | None) -> None:
    chapter.watch(*turns)
    chapter.versions |= versions(entrant)
    cells, part = {}, 1.0
    for at, suffix in enumerate(("", f" ({MANY})")):
        turn = turns[at]
        reads = [value["reads"] for value in turn.values]
        cells |= {
            (ALONE, TOGETHER)[at]: spread(
                [amount / seconds for amount, seconds in zip(reads, turn.seconds, strict=True)]
            ),
            RATIO + suffix: "1",
            "CPU-us" + suffix: number(sum(turn.cpu) / sum(reads) * 1e6),
        }
        if ours is not None:
            speed = faster(ours[at], turn)
            cells[RATIO + suffix] = spread([speed.low, speed.median, speed.high])
            part = 1 / speed.median if at == 0 else part
    chapter.add(entrant.name.replace("Grain + ", ""), part, cells, seconds=[turn.seconds for turn in turns])


def _remote_line(chapter: Chapter, entrant: Entrant, turns: dict[int, Turn], ours: dict[int, Turn] | None) -> None:
    cells, part, seconds = {}, 1.0, {}
    for size, turn in turns.items():
        chapter.watch(turn)
        suffix = "" if size == 1 else f" ({size})"
        seconds[size], last = [whole / CALLS[size] for whole in turn.seconds], turn.values[-1]
        cells |= {
            "alone, ms" if size == 1 else f"{size} at once, ms": spread([1000 * one for one in seconds[size]]),
            RATIO + suffix: "1",
            "first, s" + suffix: number(statistics.median(value["first"] for value in turn.values)),
            "GETs" + suffix: number(last["gets"]),
            "bytes fetched / useful" + suffix: number(last["fetched"] / last["useful"]),
        }
        if ours is not None:
            mine = [whole / CALLS[size] for whole in ours[size].seconds]
            ratios = [theirs / one for one, theirs in zip(mine, seconds[size], strict=True)]
            cells[RATIO + suffix] = spread(ratios)
            part = 1 / statistics.median(ratios) if size == 1 else part
    cells["CPU-s"] = number(sum(statistics.median(turn.cpu) for turn in turns.values()))
    chapter.versions |= versions(entrant)
    chapter.add(entrant.name, part, cells, alone=seconds[1], together=seconds[MANY])
