"""Loaders in fresh processes: the time to the first batch, and epochs over a set that does not fit into memory."""

from __future__ import annotations

import shutil
import statistics
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import cgroup
import data
import suite_check
from adapters.base import CORES
from protocol import Contender, ContenderError, Entry, Turn, race
from roster import ENTRANTS, Entrant
from suite import FAILURES, LIMIT, OUR, OURS, SCRATCH, Chapter, contender, number, spread, versions
from suite_epoch import BATCH, CPU, CROP, FIRST, GAP, RATE, RATIO, THRIFT, WORKERS, named, part, ratios, thrift

IMPORTS, DISK = "imports, s", "the disk, read by C"
SHARE = 2  # a set is so many times as large as the memory


def first(name: str, count: int, rounds: int, names: list[str]) -> Chapter:
    """The first shuffled batch, in a process that has torch imported; page cache warm."""
    files = data.jpegs(name, count)
    chapter = Chapter(
        f"first-{name}", f"{name}, {count:,} images of {files.mean_bytes / 1000:.1f} kB", FIRST, [RATIO, IMPORTS, CPU]
    )
    chapter.rounds = rounds
    arguments: dict[str, Any] = {"name": name, "count": count, "batch_size": BATCH}
    mine = Turn()
    with ExitStack() as stack:
        folder = _written(stack, OUR, arguments)
        for entrant in named([one for one in ENTRANTS if one.epoch and one.local], names):
            try:
                chapter.begin()
                with ExitStack() as own:
                    sides = {OURS: (OUR, folder), entrant.name: (entrant, _folder(own, entrant, files, arguments))}
                    turns = _turns(chapter, sides, "first", arguments)
            except FAILURES as error:
                chapter.refuse(entrant, error)
                continue
            mine.extend(turns[OURS])
            _first_line(chapter, entrant, turns[entrant.name], turns[OURS])
    if mine.seconds:
        _first_line(chapter, OUR, mine, None)
    chapter.notes.append(
        "From opening the set to the first batch of 256 images, by a loader with as many workers as cores. Its own "
        "imports come before; torch is imported by all. CPU time is that of the batch and of the workers' start."
    )
    return chapter


def larger(name: str, count: int, rounds: int, names: list[str]) -> Chapter:
    """Random crops from a set twice as large as the memory, cold; every epoch in a new process."""
    files = data.jpegs(name, count)
    stored = int(files.extents[:, 1].sum())
    chapter = Chapter(
        f"larger-{name}",
        f"{name}, {count:,} images of {files.mean_bytes / 1000:.0f} kB, {stored / 1e9:.1f} GB, in "
        f"{stored / SHARE / 1e9:.1f} GB of memory",
        RATE,
        [RATIO, CPU, THRIFT, FIRST, GAP, WORKERS],
        rounds=rounds,
    )
    arguments: dict[str, Any] = {"name": name, "count": count, "batch_size": BATCH, "crop": CROP, "fits": False}
    mine = Turn()
    with ExitStack() as stack:
        group = stack.enter_context(cgroup.MemoryGroup(stored // SHARE))
        folder = _written(stack, OUR, arguments)
        for entrant in named([one for one in ENTRANTS if one.crop], names):
            try:
                chapter.begin()
                with ExitStack() as own:
                    sides = {OURS: (OUR, folder), entrant.name: (entrant, _folder(own, entrant, files, arguments))}
                    turns = _turns(chapter, sides, "anew", arguments, group)
            except FAILURES as error:
                chapter.refuse(entrant, error)
                continue
            mine.extend(turns[OURS])
            _epoch_line(chapter, entrant, turns[entrant.name], turns[OURS], count)
        if mine.seconds:
            _epoch_line(chapter, OUR, mine, None, count)
            _limits(chapter, mine, files, group)
    expected = suite_check.expected(files)
    chapter.notes += [
        "A control group limits the memory of each loader with its workers, page cache included. Files are dropped "
        "from the cache before every turn, and making the loader counts. FFCV reads in its quasi-random order without "
        "the cache of the operating system, as its guide says for such sets.",
        f"Sizes follow ImageNet's: most images are 500 pixels long, a third varies from 120 to 1,400, one in twenty is "
        f"progressive. Crops take {expected:.0%} of an image in the mean. The limit decodes whole images from memory.",
    ]
    return chapter


def _folder(stack: ExitStack, entrant: Entrant, files: data.JpegSet, arguments: dict[str, Any]) -> Path:
    """Returns the folder that an entrant reads, written where it has a format of its own."""
    data.say(f"== {entrant.name}")
    return files.folder if entrant.reads_files else _written(stack, entrant, arguments)


def _written(stack: ExitStack, entrant: Entrant, arguments: dict[str, Any]) -> Path:
    """Writes the set in the format of an entrant; the files last as long as the stack."""
    folder = SCRATCH / ("ours" if entrant is OUR else entrant.factory)
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    with contender(entrant, "Peer", uri=str(folder), **arguments) as writer:
        writer.call("write")
    return folder


def _turns(
    chapter: Chapter,
    sides: dict[str, tuple[Entrant, Path]],
    call: str,
    arguments: dict[str, Any],
    group: cgroup.MemoryGroup | None = None,
) -> dict[str, Turn]:
    """Lets the sides take turns, each in a new process; in a group, memory is limited and caches are cold."""
    turns = {name: Turn() for name in sides}
    for round_ in range(chapter.rounds):
        for name in [*sides][:: 1 if round_ % 2 == 0 else -1]:
            entrant, folder = sides[name]
            if group is not None:
                cgroup.drop(folder)
            with contender(entrant, "Peer", uri=str(folder), **arguments) as one:
                if group is not None:
                    group.add(one.pid)
                    answer = _within(group, one, call)
                else:
                    answer = one.call(call, workers=CORES)
            turns[name].add(answer, 0)
            data.say(f"  round {round_ + 1} {name}: {answer['seconds']:.3f} s, {answer['cpu']:.2f} CPU-s")
            got, want = answer["value"]["count"], arguments["count"] if call == "anew" else BATCH
            assert got == want, f"{got} images, want {want}"
    chapter.watch(*turns.values())
    return turns


def _within(group: cgroup.MemoryGroup, one: Contender, call: str) -> dict[str, Any]:
    """Calls a contender whose memory is limited.

    Raises:
        ContenderError: it failed; for want of memory, the message says so.
    """
    before = group.killed()
    try:
        return one.call(call, workers=CORES)
    except ContenderError as error:
        if group.killed() == before:
            raise
        raise ContenderError(
            one.name, f"needs more memory than the {group.limit / 1e9:.1f} GB that it may use"
        ) from error


def _limits(chapter: Chapter, ours: Turn, files: data.JpegSet, group: cgroup.MemoryGroup) -> None:
    """Adds the rates of the decoder and of the disk, each by itself."""
    size = int(files.extents[:, 1].sum())
    options = {"threads": CORES, "name": files.name, "count": files.count}
    with Contender(LIMIT, "loaders", "jpeg_loop", **options) as loop:
        decode = race({LIMIT: Entry(loop)}, rounds=chapter.rounds)[LIMIT]
    disk = Turn()
    for _ in range(chapter.rounds):
        cgroup.drop(files.packed.parent)
        with Contender(
            DISK, "queries", "read_loop", threads=CORES, megabytes=size // 1_000_000, file=str(files.packed)
        ) as loop:
            group.add(loop.pid)
            disk.add(loop.call("run"), 0)
    for name, turn in ((LIMIT, decode), (DISK, disk)):
        seconds = statistics.median(turn.seconds)
        share = statistics.median(ours.seconds) / seconds
        cells = {
            RATE: spread([files.count / one for one in turn.seconds]),
            RATIO: f"{1 / share:.3g}",
            CPU: number(statistics.median(turn.cpu) / files.count * 1000),
            WORKERS: str(CORES),
        }
        chapter.add(name, share, cells)


def _first_line(chapter: Chapter, entrant: Entrant, turn: Turn, ours: Turn | None) -> None:
    chapter.versions |= versions(entrant)
    cells = {
        FIRST: spread(turn.seconds),
        RATIO: spread(ratios(ours, turn)) if ours is not None else "1",
        IMPORTS: number(statistics.median(value["imports"] for value in turn.values)),
        CPU: number(statistics.median(turn.cpu) / BATCH * 1000),
    }
    chapter.add(entrant.name, part(ours, turn), cells, seconds=turn.seconds)


def _epoch_line(chapter: Chapter, entrant: Entrant, turn: Turn, ours: Turn | None, count: int) -> None:
    chapter.versions |= versions(entrant)
    gaps = sorted(gap for value in turn.values for gap in value["gaps"])
    cells = {
        RATE: spread([count / seconds for seconds in turn.seconds]),
        RATIO: spread(ratios(ours, turn)) if ours is not None else "1",
        CPU: number(statistics.median(turn.cpu) / count * 1000),
        THRIFT: spread(thrift(ours, turn)) if ours is not None else "1",
        FIRST: number(statistics.median(value["first"] for value in turn.values)),
        GAP: number(gaps[int(len(gaps) * 0.99)] * 1000) if gaps else "",
        WORKERS: str(turn.values[0]["workers"]) + (f" ({entrant.note})" if entrant.note else ""),
    }
    chapter.add(entrant.name, part(ours, turn), cells, seconds=turn.seconds)
