"""Shuffled epochs over datasets of Deep Lake 3: where they lie, copied into our format, and by its own loader.

python benchmarks/test_deeplake3.py [--full]
"""

from __future__ import annotations

import dataclasses
import shutil
from contextlib import ExitStack
from typing import Any

import data
import environments
import report
from adapters.base import CORES
from in_place import BATCH, entry, fresh_epochs, local_lines, upload
from protocol import Figure, Result, Spread, Table, faster, race
from remote import Servers
from roster import ENTRANTS, Entrant
from suite import SCRATCH, contender

SMALL = 100_000  # bytes of a chunk, so that 5,000 photographs have a thousand chunks
IN_PLACE, COPIED, THEIRS = "deeplake, in place", "deeplake, copied", "Deep Lake 3"


def measure(full: bool = False) -> Result:
    """Measures 20,000 photographs on a disk, and 5,000 in 1,000 chunks on S3 behind 25 ms; short: 2,000 on a disk."""
    result = Result("deeplake3", "Epochs over datasets of Deep Lake 3", rounds=3, full=full)
    _local(result, data.jpegs("photos-q75", 20_000 if full else 2_000))
    if full:
        _remote(result, data.jpegs("photos-q75", 5_000))
    result.notes.append(
        "Deep Lake 3 is its Python loader with a shuffle buffer; its fast loader was closed and refuses local data. "
        "Ours reads the files that Deep Lake 3 has written, unchanged, or a copy by `deeplake cp`."
    )
    return result


def _theirs(chunk: int = 0) -> Entrant:
    entrant = next(one for one in ENTRANTS if one.name == THEIRS)
    return dataclasses.replace(entrant, options={"chunk": chunk}) if chunk else entrant


def _ours(source: str, copied: bool) -> Entrant:
    name = COPIED if copied else IN_PLACE
    return Entrant(name, environments.HERE, "ours", "DeepLake3Files", {"source": source, "copied": copied})


def _local(result: Result, files: data.JpegSet) -> None:
    source = SCRATCH / "theirs"
    arguments: dict[str, Any] = {"name": files.name, "count": files.count, "batch_size": BATCH}
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, SCRATCH, ignore_errors=True)
        peers = {THEIRS: stack.enter_context(contender(_theirs(), "Peer", uri=str(source), **arguments))}
        stored = peers[THEIRS].call("write")["value"]["bytes"]
        for copied in (False, True):
            one, place = _ours(str(source), copied), SCRATCH / ("copy" if copied else "none")
            peers[one.name] = stack.enter_context(contender(one, "Peer", uri=str(place), **arguments))
        made = peers[COPIED].call("write")
        entries = {name: entry(one, result.full) for name, one in peers.items()}
        turns = race(entries, rounds=result.rounds)
        result.watch(turns)
        lines = local_lines(peers, entries, turns, files, THEIRS)
    about = f"local ({files.count:,} photographs of {files.mean_bytes / 1000:.1f} kB)"
    result.tables.append(Table(about, "images/s", "1,000", lines))
    result.figures += [
        Figure("in place: times the same set in our format", faster(turns[IN_PLACE], turns[COPIED]), 0.9),
        Figure("in place: times Deep Lake 3's own loader", faster(turns[IN_PLACE], turns[THEIRS]), 4.0),
        Figure("copy into our format, MB/s", Spread.of([stored / made["seconds"] / 1e6]), None),
    ]


def _remote(result: Result, files: data.JpegSet) -> None:
    """Each epoch is one of a new process that knows nothing."""
    source = SCRATCH / "theirs"
    arguments: dict[str, Any] = {"name": files.name, "count": files.count, "batch_size": BATCH}
    theirs = _theirs(SMALL)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, SCRATCH, ignore_errors=True)
        store = stack.enter_context(Servers("s3"))["s3"]
        bucket = store.bucket()
        with contender(theirs, "Peer", uri=str(source), **arguments) as peer:
            peer.call("write")
        chunks = len(list((source / "images/chunks").iterdir()))
        place = upload(store, source, bucket, "three")
        who = {IN_PLACE: (_ours(place, copied=False), place, CORES), THEIRS: (theirs, place, CORES)}
        turns, lines = fresh_epochs(who, store, arguments, files.count)
    result.watch(turns)
    about = f"S3 with 25 ms ({files.count:,} photographs of {files.mean_bytes / 1000:.1f} kB in {chunks:,} chunks)"
    result.tables.append(Table(about, "images/s", "1,000", lines))
    first = Spread.of([value["first"] for value in turns[IN_PLACE].values])
    result.figures += [
        Figure("S3: times Deep Lake 3's own loader", faster(turns[IN_PLACE], turns[THEIRS]), 4.0),
        Figure("S3: first batch in place, s", first, 1.0, better="less"),
    ]


def test_deeplake3(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
