"""Random crops out of JPEG images: RandomResizedCrop(224) and a flip, against decoding the whole images and torch.

python benchmarks/test_transform.py [--full]
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import data
import machine
import report
from augmented import PLAIN
from protocol import Contender, Entry, Figure, Line, Result, Spread, Table, Turn, contenders, faster, race, thriftier

BATCH = 256
DECODERS = (PLAIN, "PIL", "torchvision", "OpenCV")
LIMIT = "libjpeg-turbo in C, whole images"
OURS, FLOATS, KEPT = "deeplake", "deeplake, normalized float32", "deeplake, pixels in memory"
TITLES = {
    "photos500x375-q90": "photographs 500x375, quality 90",
    "photos-q75": "photographs 250x250, quality 75",
    "noise-q75": "noise 250x250, quality 75",
}
WANT = {"photos500x375-q90": 1.0, "photos-q75": 0.85, "noise-q75": 0.85}


def measure(full: bool = False) -> Result:
    """Measures three sets of 2,000 to 6,000 images; short: 1,000 of the first, one way of decoding for torch."""
    result = Result(
        "transform",
        "RandomResizedCrop(224) and HorizontalFlip, shuffled uint8 torch batches of 256",
        rounds=5 if full else 3,
        full=full,
        packages=("torch", "torchvision", "pillow", "opencv-python-headless"),
    )
    for name in TITLES if full else list(TITLES)[:1]:
        count = (2_000 if name.startswith("photos500") else 6_000) if full else 1_000
        _one_set(result, data.jpegs(name, count))
    result.notes.append(
        "The limit decodes whole images from memory into one small buffer per thread, with as many threads as the "
        f"loader has ({machine.cores()}); it reads no file, crops, resizes, shuffles and delivers nothing. A crop "
        "takes 0.08 to 1 of an image, so decoding less can win, but resizing to 224x224 is paid on top, and an image "
        "of 250x250 has little to leave out: two thirds of our CPU time there are libjpeg's, which still has to read "
        "all that lies above the crop's last row, a fifth is resizing, a twentieth its weights."
    )
    result.notes.append(
        f"The best torch DataLoader is the fastest of all, antialiased or not. Ours is antialiased; {PLAIN} reads "
        "fewer pixels."
    )
    result.notes.append(
        f'"{KEPT}": cache=, every pixel kept from the first epoch; each later epoch draws new crops of them.'
    )
    return result


def _one_set(result: Result, files: data.JpegSet) -> None:
    threads, title = machine.cores(), TITLES[files.name]
    shared: dict[str, Any] = {"name": files.name, "count": files.count}
    ours: dict[str, Any] = {"uri": str(data.make_lake(files)), "batch_size": BATCH, "workers": threads}
    with ExitStack() as stack:
        made = contenders(
            stack,
            {
                OURS: Contender(OURS, "augmented", "Augmented", **ours),
                FLOATS: Contender(FLOATS, "augmented", "Augmented", **ours, floats=True),
                KEPT: Contender(KEPT, "augmented", "Augmented", **ours, cache=8 << 30),
                LIMIT: Contender(LIMIT, "loaders", "jpeg_loop", threads=threads, **shared),
            }
            | {
                f"torch + {decoder}": Contender(
                    decoder, "augmented", "TorchAugmented", batch_size=BATCH, decoder=decoder, **shared
                )
                for decoder in (DECODERS if result.full else DECODERS[:1])
            },
        )
        workers = {name: _best_workers(one, result.full) for name, one in made.items() if name.startswith("torch + ")}
        entries = {
            name: Entry(one, {"workers": workers[name]} if name in workers else {}) for name, one in made.items()
        }
        turns = race(entries, rounds=result.rounds)
        result.watch(turns)
        for name, turn in turns.items():
            if any(value["count"] != files.count for value in turn.values):
                raise AssertionError(f"{name} delivered {turn.values} images, want {files.count}")
        _verify(result, title, made[OURS], files)
    lines = [
        Line(
            name,
            Spread.of([files.count / seconds for seconds in turn.seconds]),
            cpu=Spread.of(turn.cpu).median / files.count * 1000,
            note=f"{workers[name]} workers" if name in workers else f"{threads} threads",
        )
        for name, turn in turns.items()
    ]
    result.tables.append(
        Table(f"{title} ({files.count:,} images, {files.mean_bytes / 1000:.1f} kB each)", "images/s", "1,000", lines)
    )
    best = min(workers, key=lambda name: sum(turns[name].seconds))
    one, limit = turns[OURS], turns[LIMIT]
    result.figures += [
        Figure(f"{title}: part of decoding them whole", faster(one, limit), WANT[files.name]),
        Figure(f"{title}: the CPU time of decoding them whole as a part of ours", thriftier(one, limit), None),
        Figure(f"{title}: times the best torch DataLoader ({best})", faster(one, turns[best]), 1.8),
        *_antialiased(title, turns),
        Figure(f"{title}: its CPU time, times ours", thriftier(one, turns[best]), None),
        Figure(f"{title}: normalized float32, part of uint8", faster(turns[FLOATS], one), 0.9),
        Figure(f"{title}: pixels in memory, times decoding", faster(turns[KEPT], one), None),
    ]


def _antialiased(title: str, turns: dict[str, Turn]) -> list[Figure]:
    """Compares with the fastest loader of antialiased crops, as ours are."""
    rest = [name for name in turns if name.startswith("torch + ") and name != f"torch + {PLAIN}"]
    if not rest:
        return []
    best = min(rest, key=lambda name: sum(turns[name].seconds))
    return [Figure(f"{title}: times the best antialiased one ({best})", faster(turns[OURS], turns[best]), None)]


def _best_workers(contender: Contender, full: bool) -> int:
    """Returns the number of workers that is fastest over a part of the set; fewer than cores never were."""
    if not full:
        return machine.cores()
    times = {}
    for workers in (machine.cores(), machine.cores() + 1):
        contender.call("run", workers=workers, most=1_000)  # starts the workers
        times[workers] = contender.call("run", workers=workers, most=1_000)["seconds"]
    return min(times, key=lambda workers: times[workers])


def _verify(result: Result, title: str, ours: Contender, files: data.JpegSet) -> None:
    found = ours.call("check", name=files.name, count=files.count)["value"]
    assert found["once"], f"{title}: not every image exactly once"
    assert not found["labels_wrong"], f"{title}: {found['labels_wrong']} wrong labels"
    # torchvision's weights have fewer bits, and its passes another order where Pillow's are the
    # other way round.
    assert found["furthest"] <= 3, f"{title}: crops are {found['furthest']} from torchvision's, want at most 3"
    result.checks.append(
        f"{title}, deeplake: each image once, labels right, the pixels of 64 crops within {found['furthest']} of "
        f"torchvision's same crops, {found['mean']:.2g} on average in the furthest"
    )


def test_transform(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
