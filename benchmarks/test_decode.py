"""Decoding alone, on one thread: our JPEG and PNG decoders beside libjpeg-turbo, Pillow and OpenCV.

python benchmarks/test_decode.py [--full]
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import data
import gobench
import machine
import numpy as np
import report
from PIL import Image, ImageFilter
from protocol import Figure, Line, Result, Spread, Table

JPEGS = {
    "photos-q75": "photographs 250x250, quality 75",
    "photos-q90": "photographs 250x250, quality 90",
    "photos500x375-q90": "photographs 500x375, quality 90",
    "progressive": "the same as progressive files",
    "tiny-q90": "photographs 112x112, quality 90",
    "imagenet-like": "sizes and qualities of ImageNet, one in twenty progressive",
    "noise-q75": "noise 250x250, quality 75",
}
OURS, LIBJPEG, PILLOW, OPENCV = "deeplake", "libjpeg-turbo", "Pillow", "OpenCV"
JPEG_AIM, PNG_AIM = 1.5, 1.5


def measure(full: bool = False) -> Result:
    """Measures 400 files of each kind in five rounds; short: 100 in two."""
    result = Result(
        "decode",
        "Decoding on one thread, into memory",
        rounds=5 if full else 2,
        full=full,
        packages=("pillow", "opencv-python-headless"),
    )
    count = 400 if full else 100
    for name, title in JPEGS.items():
        files = _progressive(count) if name == "progressive" else data.jpegs(name, count).folder
        _jpegs(result, files, title)
    for name, title, convert in (
        ("photos", "photographs 500x375, RGB", _photograph),
        ("masks", "masks 500x375, 8 bits", _mask),
    ):
        _pngs(result, _converted(name, count, convert), title, count)
    result.checks.append("JPEG: the pixels of every file equal libjpeg-turbo's")
    result.notes.append(
        "JPEG: both decode each file in turns, into one buffer; of each file the quickest of four turns counts "
        "(`BenchmarkOfLibjpeg`). libjpeg-turbo is Debian's, with its accurate transform, one decompressor for all "
        "files. PNG: each decodes all files into new memory; Pillow's wheels have zlib-ng, ours has libdeflate."
    )
    return result


def _jpegs(result: Result, folder: Path, title: str) -> None:
    environment = {"DEEPLAKE_BENCH_JPEGS": str(folder / "*" / "*.jpg")}
    with machine.alone():
        found = gobench.run(
            "./core/codec/jpeg", "^BenchmarkOfLibjpeg$", count=result.rounds, time="4x", environment=environment
        )["files"]
    lines = [
        Line(name, Spread.of([1e6 / one[unit] for one in found]))
        for name, unit in ((OURS, "us/image"), (LIBJPEG, "libjpeg-us/image"))
    ]
    result.tables.append(Table(f"JPEG: {title}", "images/s", lines=lines))
    times = Spread.of([one["times"] for one in found])
    result.figures.append(Figure(f"JPEG, {title}: times libjpeg-turbo", times, JPEG_AIM))


def _pngs(result: Result, folder: Path, title: str, count: int) -> None:
    import cv2

    cv2.setNumThreads(1)
    files = [path.read_bytes() for path in sorted(folder.glob("*.png"))]
    others: dict[str, Callable[[bytes], Any]] = {
        PILLOW: lambda file: np.asarray(Image.open(io.BytesIO(file))),
        OPENCV: lambda file: cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_UNCHANGED),
    }
    seconds: dict[str, list[float]] = {name: [] for name in (OURS, *others)}
    for _ in range(result.rounds):
        with machine.alone():
            ours = gobench.run(
                "./core/codec/png",
                "^BenchmarkFiles$",
                time=f"{4 * count}x",
                environment={"DEEPLAKE_BENCH_PNGS": str(folder / "*.png")},
            )["at_once"]
            seconds[OURS].append(ours[0]["ns/op"] / 1e9)
            for name, decode in others.items():
                begin = time.perf_counter()
                for file in files:
                    decode(file)
                seconds[name].append((time.perf_counter() - begin) / len(files))
    lines = [Line(name, Spread.of([1 / one for one in some])) for name, some in seconds.items()]
    result.tables.append(Table(f"PNG: {title}", "images/s", lines=lines))
    for name in others:
        times = [other / our for our, other in zip(seconds[OURS], seconds[name], strict=True)]
        aim = PNG_AIM if name == PILLOW else None
        result.figures.append(Figure(f"PNG, {title}: times {name}", Spread.of(times), aim))


def _progressive(count: int) -> Path:
    """Returns the folder of the larger photographs as progressive files with the same coefficients."""
    folder = data.CACHE / f"progressive-{count}"
    if not folder.exists():
        (folder / "all").mkdir(parents=True)
        for path in sorted(data.jpegs("photos500x375-q90", count).folder.glob("*/*.jpg")):
            name = f"{path.parent.name}-{path.name}"
            Image.open(path).save(folder / "all" / name, quality="keep", progressive=True)
    return folder


def _converted(name: str, count: int, convert: Callable[[Image.Image], Image.Image]) -> Path:
    folder = data.CACHE / f"png-{name}-{count}"
    if not folder.exists():
        folder.mkdir(parents=True)
        for path in sorted(data.jpegs("photos500x375-q90", count).folder.glob("*/*.jpg")):
            convert(Image.open(path)).save(folder / f"{path.parent.name}-{path.stem}.png")
    return folder


def _photograph(image: Image.Image) -> Image.Image:
    return image.convert("RGB")


def _mask(image: Image.Image) -> Image.Image:
    """Returns about 16 classes in connected areas."""
    return image.convert("L").filter(ImageFilter.GaussianBlur(6)).point(lambda value: value // 16)


def test_decode(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
