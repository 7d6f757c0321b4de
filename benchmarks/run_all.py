"""`make bench-all`: ours against every other loader and format, one after the other.

python benchmarks/run_all.py [--list] [--short] [--images N] [--rounds N] [--only NAME]... [chapter...]

Run the chapters one by one, by name: each ends within an hour, has a date of its own, and replaces its own results
alone. They need 12 GB of disk under build/bench and a machine that does nothing else. --short takes half an hour for
all of them, and twice that on busy cores. Tables and plots go to benchmarks/results/peers, and name the reason for
every absent loader. If the machine also builds, name a file in DEEPLAKE_BENCH_LOCK and build by `flock FILE make`: no
turn then runs beside a build.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import suite
import suite_epoch
import suite_fresh
import suite_random
import suite_write
from suite import SCRATCH, Chapter

SETS = ("noise-q75", "photos-q75")
CROPPED = {
    "photos-q90": 1,
    "photos500x375-q90": 2,
}  # with the part of the count that is taken: larger files, larger pixels


def main() -> int:
    parser = argparse.ArgumentParser(description="ours beside every other loader")
    parser.add_argument("--list", action="store_true", help="only print a command for each chapter")
    parser.add_argument("--short", action="store_true", help="3,000 images and fewer rounds, for a machine in use")
    parser.add_argument("--images", type=int, help="how many images (20,000)")
    parser.add_argument("--rounds", type=int, help="turns of each (5)")
    parser.add_argument(
        "--only", action="append", default=[], help="only entrants whose name contains this; the rest stays as it was"
    )
    parser.add_argument("chapters", nargs="*")
    arguments = parser.parse_args()
    if arguments.short:
        # a loader that hangs costs no more than the others
        os.environ.setdefault("DEEPLAKE_BENCH_LIMIT_S", "120")
    count, rounds = (3_000, 2) if arguments.short else (20_000, 5)
    chapters = _chapters(arguments.short, arguments.images or count, arguments.rounds or rounds, arguments.only)
    unknown = sorted(set(arguments.chapters) - set(chapters))
    if unknown:
        parser.error(f"no chapter {', '.join(unknown)}; there are {', '.join(chapters)}")
    if arguments.list:
        print("".join(f"make bench-all ALL={name}\n" for name in chapters), end="")
        return 0
    for name in arguments.chapters or chapters:
        print(f"==== {name}", file=sys.stderr, flush=True)
        _clear()
        SCRATCH.mkdir(parents=True)
        try:
            chapters[name]().save(only=bool(arguments.only))
        finally:
            shutil.rmtree(SCRATCH, ignore_errors=True)
    print(f"written to {suite.FOLDER / 'README.md'}", file=sys.stderr)
    return 0


def _clear() -> None:
    """Removes the files of killed runs."""
    if SCRATCH.parent.exists():
        for folder in SCRATCH.parent.iterdir():
            if folder.name.isdigit() and not Path("/proc", folder.name).exists():
                shutil.rmtree(folder, ignore_errors=True)


def _chapters(short: bool, count: int, rounds: int, only: list[str]) -> dict[str, Callable[[], Chapter]]:
    few = max(2, rounds - 2)
    found: dict[str, Callable[[], Chapter]] = {}
    for name in SETS[1:] if short else SETS:
        found[f"epoch-{name}"] = partial(suite_epoch.local, name, count, rounds, not short, only)
    for name, part in CROPPED.items():
        found[f"crop-{name}"] = partial(suite_epoch.crops, name, count // part, rounds, not short, only)
    found["pixels-photos-q75"] = partial(suite_epoch.pixels, "photos-q75", count, rounds, not short, only)
    found["decoded-photos-q75"] = partial(suite_epoch.decoded, "photos-q75", count, rounds, not short, only)
    found["random-photos-q75"] = partial(suite_random.local, "photos-q75", count, rounds, 0.4 if short else 3.0, only)
    found["fetch-noise-q75"] = partial(suite_random.remote, "noise-q75", count, few, only)
    for name in SETS[:1] if short else SETS:
        found[f"lake-{name}"] = partial(suite_epoch.remote, name, count, few, not short, only)
    found["first-photos-q75"] = partial(suite_fresh.first, "photos-q75", count, rounds, only)
    found["crop-imagenet-like"] = partial(suite_epoch.crops, "imagenet-like", count // 2, rounds, not short, only)
    found["larger-imagenet-like"] = partial(suite_fresh.larger, "imagenet-like", count * 3 // 2, few, only)
    found["write-photos-q75"] = partial(suite_write.images, "photos-q75", count, few, only)
    found["write-noise-q75"] = partial(suite_write.images, "noise-q75", count, few, only)
    found["arrays"] = partial(suite_write.arrays, 32 if short else 1_000, few, only)
    return found


if __name__ == "__main__":
    sys.exit(main())
