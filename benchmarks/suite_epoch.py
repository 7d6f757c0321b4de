"""An epoch of shuffled batches of 256 images, each loader against ours.

From a local disk: whole images, random crops and stored or cached pixels. From an object store: whole images.
"""

from __future__ import annotations

import math
import shutil
import statistics
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import data
import environments
import numpy as np
import suite_check
from adapters.base import CORES
from loaders import RING
from protocol import Contender, Entry, Turn, faster, race, thriftier
from remote import Servers, Store
from roster import DECODED, ENTRANTS, FAST, RAW, Entrant
from suite import COPY, FAILURES, LIMIT, OUR, OURS, SCRATCH, Chapter, contender, number, spread, versions

BATCH, CROP = 256, 224
TURN = 5.0  # seconds that a turn takes at least, in whole epochs
RATE, RATIO, THRIFT, CPU = "images/s", "ours is, times", "CPU time, times ours", "CPU-s / 1,000"
MEMORY, FIRST, GAP, PIXELS, WORKERS = "memory, MB", "first batch, s", "p99 gap, ms", "pixels as the limit's", "workers"


def local(name: str, count: int, rounds: int, full: bool, names: list[str]) -> Chapter:
    """Whole images from a local disk, page cache warm."""
    entrants = [entrant for entrant in ENTRANTS if entrant.epoch and entrant.local]
    return _local("epoch", name, count, rounds, full, OUR, named(entrants, names))


def crops(name: str, count: int, rounds: int, full: bool, names: list[str]) -> Chapter:
    """Random crops of 224 x 224 with a flip, from a local disk."""
    entrants = [FAST, *(entrant for entrant in ENTRANTS if entrant.crop)]
    chapter = _local("crop", name, count, rounds, full, OUR, named(entrants, names), crop=CROP)
    expected = suite_check.expected(data.jpegs(name, count))
    chapter.notes.append(
        f"Crops take 8 to 100 % of an image and are resized to {CROP}x{CROP}, uint8: with antialiasing by deeplake, "
        "PIL, torchvision and DALI, over areas by FFCV, and plainly bilinear, which reads fewest pixels, by OpenCV and "
        "tf.data. The limit decodes whole images and does nothing else."
    )
    chapter.notes.append(
        f"Every image once and with its label; {suite_check.LOOKED_FOR} crops are looked for in their photographs, and "
        f"their areas and flips told: {expected:.0%} and 50% are to be expected, give or take 5 and 9."
    )
    return chapter


def decoded(name: str, count: int, rounds: int, full: bool, names: list[str]) -> Chapter:
    """Second epochs of loaders that decode once."""
    cached = replace(OUR, options={"cache": 16 << 30}, note="cache= in memory")
    chapter = _local("decoded", name, count, rounds, full, cached, named(DECODED, names))
    chapter.notes.append("Epochs from the second on; the first filled the caches.")
    return chapter


def pixels(name: str, count: int, rounds: int, full: bool, names: list[str]) -> Chapter:
    """Whole images that were decoded when they were written, from a local disk, page cache warm."""
    stored = replace(OUR, options={"decoded": True})
    return _local("pixels", name, count, rounds, full, stored, named(RAW, names))


def _local(
    kind: str,
    name: str,
    count: int,
    rounds: int,
    full: bool,
    mine_is: Entrant,
    entrants: list[Entrant],
    **options: Any,
) -> Chapter:
    files = data.jpegs(name, count)
    chapter = Chapter(
        f"{kind}-{name}",
        f"{name}, {count:,} images of {files.mean_bytes / 1000:.1f} kB",
        RATE,
        [RATIO, CPU, THRIFT, MEMORY, FIRST, GAP, WORKERS, "crops" if options else PIXELS],
        rounds=rounds,
    )
    arguments: dict[str, Any] = {"name": name, "count": count, "batch_size": BATCH, **options}
    with ExitStack() as stack:
        folder = SCRATCH / "ours"
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        ours = stack.enter_context(contender(mine_is, "Peer", uri=str(folder), **arguments))
        ours.call("write")
        mine = _chosen(ours, full)
        all_ours = _limit(stack, chapter, mine["entry"], files, kind in ("decoded", "pixels"))
        for entrant in entrants:
            try:
                chapter.begin()
                one = _one(chapter, entrant, mine["entry"], files, arguments, rounds, full)
            except FAILURES as error:
                chapter.refuse(entrant, error)
                continue
            all_ours.extend(one)
        _line(chapter, mine_is, all_ours, None, mine, ours, files)
    return chapter


def _limit(stack: ExitStack, chapter: Chapter, ours: Entry, files: data.JpegSet, copies: bool) -> Turn:
    """Measures the limit of the machine; returns the turns of ours in the same rounds."""
    if copies:
        size = files.count * math.prod(files.shape)
        options = {"threads": CORES, "megabytes": size // 1_000_000, "ring": RING}
        name, loop = COPY, Contender(COPY, "loaders", "copy_loop", **options)
        note = f"The limit copies as many bytes from memory into a ring of {RING} MB a thread, and does nothing else."
    else:
        size = files.count
        options = {"threads": CORES, "name": files.name, "count": files.count}
        name, loop = LIMIT, Contender(LIMIT, "loaders", "jpeg_loop", **options)
        note = "The limit decodes from memory, into one buffer per thread; it reads no file and delivers nothing."
    turns = race({OURS: ours, name: Entry(stack.enter_context(loop))}, rounds=chapter.rounds)
    chapter.watch(turns[OURS])
    per_epoch(turns[OURS], files.count)
    limit = turns[name]
    for at, value in enumerate(limit.values):
        # the loop of copies moves whole blocks, a little more than requested
        limit.seconds[at] *= size / value["count"]
    cells = {
        RATE: spread([files.count / seconds for seconds in limit.seconds]),
        RATIO: spread(ratios(turns[OURS], limit)),
        CPU: number(statistics.median(limit.cpu) / files.count * 1000),
        WORKERS: str(CORES),
    }
    chapter.limit = part(turns[OURS], limit)
    chapter.add(name, chapter.limit, cells)
    chapter.notes.append(note)
    return turns[OURS]


def remote(name: str, count: int, rounds: int, full: bool, names: list[str]) -> Chapter:
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
        for entrant in (OUR, *named([entrant for entrant in ENTRANTS if entrant.epoch], names)):
            if entrant.not_remote:
                chapter.refuse(entrant, entrant.not_remote)
                continue
            folder = SCRATCH / entrant.factory
            try:
                chapter.begin()
                with contender(entrant, "Peer", uri=str(folder), **arguments) as writer:
                    stored = writer.call("write")["value"]["bytes"]
                    workers = writer.call("choose", most=BATCH, choices=[CORES])["value"]["workers"]
                prefix = entrant.name.replace(" ", "-").lower()
                up.call("upload", folder=str(folder), bucket=bucket, prefix=prefix)
                pairs = {entrant.name: (entrant, f"s3://{bucket}/{prefix}", workers)}
                if entrant is not OUR:
                    pairs = {OURS: (OUR, f"s3://{bucket}/{OURS}", CORES)} | pairs
                pairs |= {"local": (entrant, str(folder), workers)}
                turns = {key: Turn() for key in pairs}
                for number_ in range(rounds):
                    for key in [*pairs][:: 1 if number_ % 2 == 0 else -1]:
                        who, where, with_workers = pairs[key]
                        environment = store.environment()
                        with contender(who, "Peer", environment, uri=where, **arguments) as one:
                            store.reset()
                            answer = one.call("anew", workers=with_workers)
                            answer["value"] |= _traffic(store)
                        turns[key].add(answer, 0)
                        assert answer["value"]["count"] == count, f"{answer['value']['count']} images, want {count}"
            except FAILURES as error:
                chapter.refuse(entrant, error)
                continue
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            turn = turns[entrant.name]
            chapter.watch(turn)
            chapter.versions |= versions(entrant)
            if entrant is OUR:
                all_ours, ours_local, ours_stored = turn, turns["local"].seconds, stored
                continue
            assert all_ours is not None, "ours did not run"
            _remote_line(chapter, entrant, turn, turns["local"].seconds, turns[OURS], workers, count, stored)
            all_ours.extend(turns[OURS])
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
    """Measures another loader; returns the turns of ours in the same rounds."""
    data.say(f"== {entrant.name}")
    folder = files.folder if entrant.reads_files else SCRATCH / entrant.factory
    try:
        with contender(entrant, "Peer", uri=str(folder), **arguments) as peer:
            if not entrant.reads_files:
                peer.call("write")
            chosen = _chosen(peer, full)
            turns = race({OURS: ours, entrant.name: chosen["entry"]}, rounds=rounds)
            chapter.watch(*turns.values())
            for turn in turns.values():
                per_epoch(turn, files.count)
            chapter.publish(entrant, part(turns[OURS], turns[entrant.name]))
            _line(chapter, entrant, turns[entrant.name], turns[OURS], chosen, peer, files)
    finally:
        if not entrant.reads_files:
            shutil.rmtree(folder, ignore_errors=True)
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
    pixels = _pixels(peer.call("check", workers=chosen["workers"])["value"], files.count)
    gaps = [gap for value in turn.values for gap in value["gaps"]]
    p99 = float(np.quantile(gaps, 0.99)) if gaps else 0.0
    cells = {
        RATE: spread([files.count / seconds for seconds in turn.seconds]),
        RATIO: spread(ratios(ours, turn)) if ours is not None else "1",
        CPU: number(statistics.median(turn.cpu) / files.count * 1000),
        THRIFT: spread(thrift(ours, turn)) if ours is not None else "1",
        MEMORY: f"{memory / 1e6:.0f}",
        FIRST: number(chosen["first"]),
        GAP: number(p99 * 1000),
        WORKERS: str(chosen["workers"]) + (f" ({entrant.note})" if entrant.note else ""),
        chapter.columns[-1]: pixels,
    }
    figures = {
        "cpu": statistics.median(turn.cpu) / files.count * 1000,
        "memory": memory,
        "first": chosen["first"],
        "p99": p99,
    }
    chapter.add(entrant.name, part(ours, turn), cells, **figures, seconds=turn.seconds)
    if ours is not None:
        chapter.lines[-1].figures |= {"ratio": ratios(ours, turn)}


def _pixels(found: dict[str, Any], count: int) -> str:
    """Returns the findings of a check in words."""
    if "looked" in found:
        text = f"{found['found']} of {found['looked']} crops found, "
        text += f"{found['area']:.0%} of area, {found['flipped']:.0%} flipped"
    else:
        same = count - found["differ"]
        text = "all" if same == count else f"{same / count:.0%}, the others within {found['furthest']}"
    if not found["once"]:
        text += "; **not every image once**"
    if found["labels_wrong"]:
        text += f"; **{found['labels_wrong']} labels wrong**"
    return text


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
        RATIO: spread(ratios(ours, turn)) if ours is not None else "1",
        "of its local rate": number(of_local),
        CPU: number(statistics.median(turn.cpu) / count * 1000),
        THRIFT: spread(thrift(ours, turn)) if ours is not None else "1",
        FIRST: number(first),
        GAP: number(float(np.quantile(gaps, 0.99)) * 1000) if gaps else "",
        "GETs": number(last["gets"]),
        WORKERS: str(workers),
    }
    if stored:
        cells["bytes fetched / stored"] = number(last["bytes"] / stored)
    chapter.add(entrant.name, part(ours, turn), cells, seconds=turn.seconds, first=first)


def _traffic(store: Store) -> dict[str, Any]:
    """Returns the requests and bytes of the store since it was reset."""
    gets = [one for one in store.requests() or () if one["method"] == "GET"]
    return {"gets": len(gets), "bytes": sum(one["bytes"] for one in gets)}


def _chosen(peer: Contender, full: bool) -> dict[str, Any]:
    found = peer.call("choose", most=(20 if full else 4) * BATCH, choices=[] if full else [CORES])["value"]
    least = TURN if full else 0.0
    return found | {"entry": Entry(peer, {"workers": found["workers"], "least": least})}


def per_epoch(turn: Turn, count: int) -> None:
    """Makes turns of several epochs turns of one.

    Raises:
        AssertionError: an epoch had another number of images.
    """
    for at, value in enumerate(turn.values):
        epochs = value["epochs"]
        assert value["count"] == count * epochs, f"{value['count']} images in {epochs} epochs, want {count} in each"
        turn.seconds[at] /= epochs
        turn.cpu[at] /= epochs


def part(ours: Turn | None, other: Turn) -> float:
    return 1.0 if ours is None else 1 / faster(ours, other).median


def ratios(ours: Turn, other: Turn) -> list[float]:
    found = faster(ours, other)
    return [found.low, found.median, found.high]


def thrift(ours: Turn, other: Turn) -> list[float]:
    found = thriftier(ours, other)
    return [found.low, found.median, found.high]


def named(entrants: Iterable[Entrant], names: list[str]) -> list[Entrant]:
    """Returns the entrants whose names contain one of the names; without names, all."""
    return [one for one in entrants if not names or any(name.lower() in one.name.lower() for name in names)]


def _python(entrant: Entrant) -> str:
    return environments.python(entrant.environment)
