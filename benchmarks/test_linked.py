"""Shuffled epochs over files of other loaders: their own loader, and ours by links into the same files.

python benchmarks/test_linked.py [--full]
"""

from __future__ import annotations

import shutil
import statistics
from contextlib import ExitStack
from typing import Any

import data
import environments
import report
from adapters.base import CORES
from protocol import Contender, Entry, Figure, Line, Result, Spread, Table, Turn, faster, race
from remote import Servers
from roster import ENTRANTS, Entrant
from suite import SCRATCH, contender
from suite_epoch import per_epoch

BATCH = 256
TURN = 5.0  # seconds that a turn takes at least, in whole epochs
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
        entries = {ours.name: _entry(mine, result.full), entrant.name: _entry(peer, result.full)}
        turns = race(entries, rounds=result.rounds)
        result.watch(turns)
        lines = []
        for name, one in ((ours.name, mine), (entrant.name, peer)):
            turn, workers = turns[name], entries[name].arguments["workers"]
            per_epoch(turn, files.count)
            found = one.call("check", workers=workers)["value"]
            assert found["once"] or name != ours.name, f"{name}: not every image exactly once"
            assert not found["labels_wrong"], f"{name}: {found['labels_wrong']} wrong labels"
            lines.append(
                Line(
                    name,
                    Spread.of([files.count / seconds for seconds in turn.seconds]),
                    cpu=statistics.median(turn.cpu) / files.count * 1000,
                    memory=one.peak("run", workers=workers),
                    note=f"{workers} workers" + ("" if found["once"] else ", **not every image once**"),
                )
            )
    about = f"files of {entrant.name}, local ({files.count:,} photographs of {files.mean_bytes / 1000:.1f} kB)"
    result.tables.append(Table(about, "images/s", "1,000", lines))
    result.figures.append(
        Figure(f"{entrant.name}, local: times its own loader", faster(turns[ours.name], turns[entrant.name]), 1.0)
    )
    rate = Spread.of([stored / made["seconds"] / 1e6])
    result.figures.append(Figure(f"{entrant.name}, local: import, MB/s", rate, None))


def _entry(one: Contender, full: bool) -> Entry:
    found = one.call("choose", most=(20 if full else 4) * BATCH, choices=[] if full else [CORES])["value"]
    return Entry(one, {"workers": found["workers"], "least": TURN if full else 0.0})


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
        with Contender(
            "upload",
            "adapters.bucket",
            "Upload",
            python=environments.python("webdataset"),
            environment=store.environment(direct=True),
        ) as up:
            up.call("upload", folder=str(source), bucket=bucket, prefix=prefix)
        place = f"s3://{bucket}/{prefix}"
        ours = _linked(place, columns)
        with contender(ours, "Peer", store.environment(), uri=str(index), **arguments) as mine:
            made = mine.call("write")
        who = {ours.name: (ours, str(index), CORES), entrant.name: (entrant, place, workers)}
        turns = {name: Turn() for name in who}
        gets = dict.fromkeys(who, 0)
        for number in range(3):
            for name in [*who][:: 1 if number % 2 == 0 else -1]:
                one, uri, with_workers = who[name]
                with contender(one, "Peer", store.environment(), uri=uri, **arguments) as running:
                    store.reset()
                    answer = running.call("anew", workers=with_workers)
                gets[name] = sum(request["method"] == "GET" for request in store.requests() or ())
                turns[name].add(answer, 0)
                assert answer["value"]["count"] == files.count, f"{name}: {answer['value']['count']} images"
    result.watch(turns)
    lines = [
        Line(
            name,
            Spread.of([files.count / seconds for seconds in turn.seconds]),
            cpu=statistics.median(turn.cpu) / files.count * 1000,
            note=f"{gets[name]} GETs, first batch {statistics.median(v['first'] for v in turn.values):.2f} s",
        )
        for name, turn in turns.items()
    ]
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
