"""Shuffled epochs over files of other loaders: their own loader, and ours by links into the same files.

python benchmarks/test_linked.py [--full]
"""

from __future__ import annotations

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

# Names of entrants; the columns of images, labels and numbers in their files, as ours names them.
FILES = {
    "MosaicML Streaming": ("image", "label", "row"),
    "LitData": ("0", "1", "2"),
    "WebDataset": ("images", "labels", ""),
    "Hugging Face streaming": ("image", "label", "row"),
}


def measure(full: bool = False) -> Result:
    """Measures 20,000 photographs on a disk, and 5,000 on S3 behind 25 ms; short: 2,000 on a disk alone."""
    count = 20_000 if full else 2_000
    result = Result("linked", "Epochs over files of other loaders, by links into them", rounds=3, full=full)
    for name, columns in FILES.items():
        entrant = next(one for one in ENTRANTS if one.name == name)
        _local(result, entrant, columns, data.jpegs("photos-q75", count))
    if full:
        for name, columns in FILES.items():
            entrant = next(one for one in ENTRANTS if one.name == name)
            _remote(result, entrant, columns, data.jpegs("photos-q75", 5_000))
    result.notes.append(
        "Ours reads the files that the other loader has written, unchanged. The import is `deeplake create --link`, "
        "which reads each file once. Ours decodes by its own decoder, the others by OpenCV."
    )
    return result


def _linked(source: str, columns: tuple[str, str, str]) -> Entrant:
    image, label, number = columns
    options = {"source": source, "image": image, "label": label, "number": number}
    return Entrant("deeplake, linked", environments.HERE, "ours", "Linked", options)


def _local(result: Result, entrant: Entrant, columns: tuple[str, str, str], files: data.JpegSet) -> None:
    data.say(f"== {entrant.name}, local")
    source, index = SCRATCH / "theirs", SCRATCH / "index"
    arguments: dict[str, Any] = {"name": files.name, "count": files.count, "batch_size": BATCH}
    ours = _linked(str(source), columns)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, SCRATCH, ignore_errors=True)
        peer = stack.enter_context(contender(entrant, "Peer", uri=str(source), **arguments))
        stored = peer.call("write")["value"]["bytes"]
        mine = stack.enter_context(contender(ours, "Peer", uri=str(index), **arguments))
        made = mine.call("write")
        entries = {ours.name: entry(mine, result.full), entrant.name: entry(peer, result.full)}
        turns = race(entries, rounds=result.rounds)
        result.watch(turns)
        lines = local_lines({ours.name: mine, entrant.name: peer}, entries, turns, files, entrant.name)
    about = f"files of {entrant.name}, local ({files.count:,} photographs of {files.mean_bytes / 1000:.1f} kB)"
    result.tables.append(Table(about, "images/s", "1,000", lines))
    result.figures.append(
        Figure(f"{entrant.name}, local: times its own loader", faster(turns[ours.name], turns[entrant.name]), 1.0)
    )
    rate = Spread.of([stored / made["seconds"] / 1e6])
    result.figures.append(Figure(f"{entrant.name}, local: import, MB/s", rate, None))


def _remote(result: Result, entrant: Entrant, columns: tuple[str, str, str], files: data.JpegSet) -> None:
    """Each epoch is one of a new process that knows nothing but, of ours, the index on the disk."""
    data.say(f"== {entrant.name}, S3")
    source, index = SCRATCH / "theirs", SCRATCH / "index"
    arguments: dict[str, Any] = {"name": files.name, "count": files.count, "batch_size": BATCH}
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, SCRATCH, ignore_errors=True)
        store = stack.enter_context(Servers("s3"))["s3"]
        bucket, prefix = store.bucket(), entrant.factory.lower()
        with contender(entrant, "Peer", uri=str(source), **arguments) as peer:
            stored = peer.call("write")["value"]["bytes"]
            workers = peer.call("choose", most=BATCH, choices=[CORES])["value"]["workers"]
        place = upload(store, source, bucket, prefix)
        ours = _linked(place, columns)
        with contender(ours, "Peer", store.environment(), uri=str(index), **arguments) as mine:
            made = mine.call("write")
        who = {ours.name: (ours, str(index), CORES), entrant.name: (entrant, place, workers)}
        turns, lines = fresh_epochs(who, store, arguments, files.count)
    result.watch(turns)
    about = f"files of {entrant.name}, S3 with 25 ms ({files.count:,} photographs of {files.mean_bytes / 1000:.1f} kB)"
    result.tables.append(Table(about, "images/s", "1,000", lines))
    result.figures.append(
        Figure(f"{entrant.name}, S3: times its own loader", faster(turns[ours.name], turns[entrant.name]), 1.0)
    )
    result.figures.append(
        Figure(f"{entrant.name}, S3: import, MB/s", Spread.of([stored / made["seconds"] / 1e6]), None)
    )


def test_linked(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
