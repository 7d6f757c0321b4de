"""Writing, until everything is durable: the JPEG files, and arrays one after the other."""

from __future__ import annotations

import shutil
import statistics
from contextlib import ExitStack
from typing import Any

import data
from protocol import Entry, Turn, faster, race
from roster import ENTRANTS, Entrant
from suite import FAILURES, OUR, OURS, SCRATCH, Chapter, contender, number, spread, versions

RATIO, CPU, DISK = "ours is, times", "CPU-s / GB", "bytes on disk / bytes of the samples"


def arrays(count: int, rounds: int, wanted: list[str]) -> Chapter:
    """Arrays of 1024x1024x3 (noise), one call for each where the format can."""
    total = count * 1024 * 1024 * 3
    chapter = Chapter(
        "arrays",
        f"{count:,} arrays, {total / 1e9:.1f} GB",
        "MB/s",
        [RATIO, CPU, DISK],
        rounds=rounds,
    )
    with ExitStack() as stack:
        ours = stack.enter_context(contender(OUR, "ArrayWriter", folder=str(SCRATCH / "arrays-ours")))
        mine = Turn()
        for entrant in ENTRANTS:
            if not entrant.arrays or not _is_wanted(entrant, wanted):
                continue
            data.say(f"== {entrant.name}")
            folder = SCRATCH / f"arrays-{entrant.module}"
            try:
                with contender(entrant, "ArrayWriter", folder=str(folder)) as peer:
                    entries = {OURS: Entry(ours, {"count": count}), entrant.name: Entry(peer, {"count": count})}

                    def clear(one: Any = peer) -> None:
                        one.call("remove")
                        ours.call("remove")

                    turns = race(entries, rounds=rounds, warm_up=False, before=clear)
                    clear()
            except FAILURES as error:
                chapter.refuse(entrant, error)
                continue
            finally:
                for leftover in (folder, SCRATCH / "arrays-ours"):
                    shutil.rmtree(leftover, ignore_errors=True)
            mine.extend(turns[OURS])
            _line(chapter, entrant, turns[entrant.name], turns[OURS], total)
        _line(chapter, OUR, mine, None, total)
    chapter.notes.append("TFRecord and ArrayRecord get the bytes of an array as a record; Parquet a row group each.")
    return chapter


def images(name: str, count: int, rounds: int, wanted: list[str]) -> Chapter:
    """JPEG files as they are, each with a label and its number, from memory."""
    files = data.jpegs(name, count)
    total = int(files.extents[:, 1].sum())
    chapter = Chapter(
        f"write-{name}", f"{name}, {count:,} files, {total / 1e6:.0f} MB", "MB/s", [RATIO, CPU, DISK], rounds=rounds
    )
    arguments: dict[str, Any] = {"name": name, "count": count, "batch_size": 256}
    with ExitStack() as stack:
        ours = stack.enter_context(contender(OUR, "Peer", uri=str(SCRATCH / "ours"), **arguments))
        mine = Turn()
        for entrant in ENTRANTS:
            if entrant.reads_files or entrant.module == "tensorstore" or not _is_wanted(entrant, wanted):
                continue
            if entrant.options.get("way") == "pytorch":
                continue  # it reads the files of the entrant before it
            data.say(f"== {entrant.name}")
            folder = SCRATCH / entrant.module
            try:
                with contender(entrant, "Peer", uri=str(folder), **arguments) as peer:
                    entries = {OURS: Entry(ours), entrant.name: Entry(peer)}
                    turns = race(entries, call="write", rounds=rounds, warm_up=False)
            except FAILURES as error:
                chapter.refuse(entrant, error)
                continue
            finally:
                for leftover in (folder, SCRATCH / "ours"):
                    shutil.rmtree(leftover, ignore_errors=True)
            mine.extend(turns[OURS])
            _line(chapter, entrant, turns[entrant.name], turns[OURS], total)
        _line(chapter, OUR, mine, None, total)
    return chapter


def _line(chapter: Chapter, entrant: Entrant, turn: Turn, ours: Turn | None, total: int) -> None:
    if not turn.seconds:
        return
    chapter.watch(turn)
    chapter.versions |= versions(entrant)
    ratio, part = "1", 1.0
    if ours is not None:
        found = faster(ours, turn)
        part = 1 / found.median
        ratio = spread([found.low, found.median, found.high])
    cells = {
        "MB/s": spread([total / 1e6 / seconds for seconds in turn.seconds]),
        RATIO: ratio,
        CPU: number(statistics.median(turn.cpu) / total * 1e9),
        DISK: f"{turn.values[-1]['bytes'] / total:.2f}",
    }
    name = entrant.name.replace("tf.data", "TFRecord").replace("Grain + ", "")
    chapter.add(name, part, cells, seconds=turn.seconds)


def _is_wanted(entrant: Entrant, wanted: list[str]) -> bool:
    return not wanted or any(one.lower() in entrant.name.lower() for one in wanted)
