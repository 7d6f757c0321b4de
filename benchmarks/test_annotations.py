"""Images with annotations of COCO into a dataset, beside orjson and copies of the files.

python benchmarks/test_annotations.py [--full]
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import data
import deeplake
import machine
import orjson
import report
from protocol import Figure, Line, Result, Spread, Table

ROUNDS = 3
OURS = "deeplake, ingest"
SYNCED = "orjson, copies with fsync of each"
PLAIN = "orjson, copies with one sync"
BOXES = 10  # of an image
FOLDERS = 8


def measure(full: bool = False) -> Result:
    """Takes in 100,000 images with a million boxes and outlines; short: a tenth."""
    count = 100_000 if full else 10_000
    result = Result("annotations", "Images with annotations of COCO into a dataset", ROUNDS, full)
    with tempfile.TemporaryDirectory(dir=data.CACHE) as name:
        folder = Path(name) / "set"
        _write(folder, count)
        size = sum(file.stat().st_size for file in folder.glob("*/*.jpg"))
        document = (folder / "annotations/instances_train2017.json").stat().st_size
        result.notes.append(
            f"{count:,} JPEG files of {size / count / 1e3:.0f} kB, {BOXES * count:,} objects with box and outline in a "
            f"document of {document / 1e6:.0f} MB."
        )
        ways: dict[str, Callable[[Path, Path], None]] = {OURS: _ours, SYNCED: _synced, PLAIN: _plain}
        costs: dict[str, list[float]] = {way: [] for way in ways}
        cpu: dict[str, float] = {}
        for number in range(ROUNDS + 1):
            for way, run in ways.items():
                place = Path(name) / "into"
                place.mkdir()
                os.sync()
                begin, used = time.perf_counter(), time.process_time()
                run(folder, place)
                if number:
                    costs[way].append(time.perf_counter() - begin)
                    cpu[way] = time.process_time() - used
                shutil.rmtree(place)
        table = Table("the whole set", "images/s")
        for way, seconds in costs.items():
            note = f"{cpu[way] / count * 1e3:.3f} CPU-seconds a thousand images"
            table.lines.append(Line(way, Spread.of([count / s for s in seconds]), note=note))
        result.tables.append(table)
        for way in (SYNCED, PLAIN):
            ratios = [theirs / ours for theirs, ours in zip(costs[way], costs[OURS], strict=True)]
            result.figures.append(Figure(f"annotations, against {way}", Spread.of(ratios), 0.8))
        command = [sys.executable, __file__, "--peak", str(folder)]
        peak = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        result.figures.append(Figure("peak memory of ingest, annotations, MB", Spread.of([peak / 1e6]), 400, "less"))
    return result


def _write(folder: Path, count: int) -> None:
    """Writes the images as links to few files, and the document of their objects."""
    files = sorted(data.jpegs("photos-q90", 500).folder.rglob("*.jpg"))
    draw = random.Random(1)
    images, objects = [], []
    for i in range(count):
        name = f"{i:012d}.jpg"
        place = folder / f"part{i % FOLDERS}"
        place.mkdir(parents=True, exist_ok=True)
        os.link(files[i % len(files)], place / name)
        images.append({"id": 3 * i + 7, "file_name": name, "width": 250, "height": 250, "license": 1})
        for _ in range(BOXES):
            left, top = draw.uniform(0, 200), draw.uniform(0, 200)
            width, height = draw.uniform(5, 50), draw.uniform(5, 50)
            outline = [round(v + draw.uniform(0, 20), 2) for _ in range(12) for v in (left, top)]
            objects.append(
                {
                    "id": len(objects) + 1, "image_id": 3 * i + 7, "category_id": draw.randint(1, 90), "iscrowd": 0,
                    "bbox": [round(v, 2) for v in (left, top, width, height)], "area": width * height,
                    "segmentation": [outline],
                }
            )  # fmt: skip
    draw.shuffle(objects)
    classes = [{"id": i, "name": f"class {i}", "supercategory": "thing"} for i in range(1, 91)]
    (folder / "annotations").mkdir()
    document = {"info": {}, "licenses": [], "images": images, "annotations": objects, "categories": classes}
    (folder / "annotations/instances_train2017.json").write_text(json.dumps(document))


def _ours(folder: Path, place: Path) -> None:
    deeplake.ingest(folder, place / "ds", verbose=False).close()


def _copied(folder: Path, place: Path, is_synced: bool) -> None:
    document = orjson.loads((folder / "annotations/instances_train2017.json").read_bytes())
    for part in range(FOLDERS):
        (place / f"part{part}").mkdir()
    for i, image in enumerate(document["images"]):
        name = f"part{i % FOLDERS}/{image['file_name']}"
        with (place / name).open("wb") as out:
            out.write((folder / name).read_bytes())
            if is_synced:
                out.flush()
                os.fsync(out.fileno())
    os.sync()


def _synced(folder: Path, place: Path) -> None:
    _copied(folder, place, True)


def _plain(folder: Path, place: Path) -> None:
    _copied(folder, place, False)


def _peak(folder: Path) -> None:
    """Prints the peak memory of a process that takes the set in, in bytes."""
    with tempfile.TemporaryDirectory(dir=data.CACHE) as place:
        _ours(folder, Path(place))
    print(machine.memory()["peak"])


def test_annotations(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        _peak(Path(sys.argv[2]))
    else:
        report.main(measure)
