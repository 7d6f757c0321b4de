"""An epoch over JPEG images, delivered as shuffled uint8 torch batches, against the decoder alone and torch's loader.

python benchmarks/test_epoch.py [--full]
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import data
import machine
import report
from protocol import Contender, Entry, Figure, Line, Result, Spread, Table, contenders, faster, race, thriftier

BATCH = 256
DECODERS = ("PIL", "torchvision", "OpenCV")
LIMIT, OURS = "libjpeg-turbo in C", "deeplake"
TITLES = {
    "noise-q75": "noise, quality 75",
    "photos-q75": "crops of photographs, quality 75",
    "photos-q90": "crops of photographs, quality 90",
}


def measure(full: bool = False) -> Result:
    """Measures 20,000 images of each set; short: 3,000 of two sets, and no search with more workers than cores."""
    result = Result(
        "epoch",
        "Epoch over JPEG images 250x250, shuffled uint8 torch batches of 256",
        rounds=5,
        full=full,
        packages=("torch", "torchvision", "pillow", "opencv-python-headless"),
    )
    for name in ("noise-q75", "photos-q75"):
        _one_set(result, data.jpegs(name, 20_000 if full else 3_000))
    result.notes.append(
        "The limit decodes the packed bytes from memory into one small buffer per thread, with as many threads as the "
        f"loader has ({machine.cores()}); it reads no file, shuffles nothing and delivers nothing."
    )
    result.notes.append(
        "CPU time is that of the whole process tree; memory is the peak of the tree above the interpreter with its "
        "libraries imported, pages shared by several processes counted once, in a round of its own."
    )
    return result


def _one_set(result: Result, files: data.JpegSet) -> None:
    threads, title = machine.cores(), TITLES[files.name]
    lake = data.make_lake(files)
    shared: dict[str, Any] = {"name": files.name, "count": files.count}
    with ExitStack() as stack:
        made = contenders(
            stack,
            {
                OURS: Contender(OURS, "loaders", "Ours", uri=str(lake), batch_size=BATCH, workers=threads),
                LIMIT: Contender(LIMIT, "loaders", "jpeg_loop", threads=threads, **shared),
            }
            | {
                f"torch + {decoder}": Contender(
                    decoder, "loaders", "TorchFiles", batch_size=BATCH, decoder=decoder, **shared
                )
                for decoder in DECODERS
            },
        )
        entries = {
            name: Entry(one, {} if name in (OURS, LIMIT) else {"workers": _best_workers(one, files, result.full)})
            for name, one in made.items()
        }
        turns = race(entries, rounds=result.rounds)
        result.watch(turns)
        for name, turn in turns.items():
            if any(value["count"] != files.count for value in turn.values):
                raise AssertionError(f"{name} delivered {turn.values} images, want {files.count}")
            if name != LIMIT:
                turn.tree_peak = made[name].peak("run", **entries[name].arguments)
        _verify(result, title, made, entries, files)
    lines = []
    for name, turn in turns.items():
        workers = entries[name].arguments.get("workers", threads)
        lines.append(
            Line(
                name,
                Spread.of([files.count / seconds for seconds in turn.seconds]),
                cpu=Spread.of(turn.cpu).median / files.count * 1000,
                memory=turn.tree_peak,
                note=f"{workers} {'threads' if name in (OURS, LIMIT) else 'workers'}",
            )
        )
    result.tables.append(
        Table(f"{title} ({files.count:,} images, {files.mean_bytes / 1000:.1f} kB each)", "images/s", "1,000", lines)
    )
    result.figures.append(Figure(f"{title}: part of the decoder's limit", faster(turns[OURS], turns[LIMIT]), 0.95))
    result.figures.append(
        Figure(f"{title}: the limit's CPU time as a part of ours", thriftier(turns[OURS], turns[LIMIT]), None)
    )
    best = min((name for name in turns if name not in (OURS, LIMIT)), key=lambda name: sum(turns[name].seconds))
    result.figures.append(
        Figure(f"{title}: times the best torch DataLoader ({best})", faster(turns[OURS], turns[best]), 1.3)
    )
    peak = turns[OURS].peak / 1e6
    result.figures.append(
        Figure(f"{title}: peak RSS over the interpreter", Spread(peak, peak, peak), 500, "less", "MB")
    )


def _best_workers(contender: Contender, files: data.JpegSet, full: bool) -> int:
    """Returns the number of workers that is fastest over a part of the set."""
    most = min(files.count, 5_000 if full else 1_000)
    times = {}
    cores = machine.cores()
    for workers in sorted({0, 1, 2, cores, cores + 1, 2 * cores} if full else {0, cores, 2 * cores}):
        contender.call("run", workers=workers, most=most)  # starts the workers
        runs = 2 if full else 1
        times[workers] = min(contender.call("run", workers=workers, most=most)["seconds"] for _ in range(runs))
    return min(times, key=lambda workers: times[workers])


def _verify(
    result: Result, title: str, made: dict[str, Contender], entries: dict[str, Entry], files: data.JpegSet
) -> None:
    for name, one in made.items():
        if name == LIMIT:
            continue
        arguments = {"name": files.name, "count": files.count} if name == OURS else dict(entries[name].arguments)
        found = one.call("check", **arguments)["value"]
        assert found["once"], f"{name}: not every image exactly once"
        assert not found["labels_wrong"], f"{name}: {found['labels_wrong']} wrong labels"
        if name == OURS:
            assert not found["differ"], f"{name}: {found['differ']} images differ from the bare loop's pixels"
        same = files.count - found["differ"]
        text = f"{title}, {name}: each image once, labels right, pixels of {same:,} of {files.count:,} as the limit's"
        result.checks.append(text + (f", the others within {found['furthest']}" if found["differ"] else ""))


def test_epoch(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
