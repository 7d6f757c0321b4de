"""Writes small datasets of deeplake 3, and beside each the values that deeplake 3 reads from it.

Runs in an environment of tools/v3/v3.in: write.py OUT_DIR [--only NAME,...] [--photos N].
NAME.expected/ stands beside the dataset NAME; expected.py describes it.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import offline  # noqa: F401  isort: skip  (before deeplake, which asks the network on import)

import case_bulk
import case_history
import case_images
import case_links
import case_media
import case_numbers
import case_rest
import case_texts
import expected
from cases import CASES

# Their import fills CASES.
MODULES = [
    case_numbers,
    case_images,
    case_texts,
    case_links,
    case_history,
    case_media,
    case_bulk,
    case_rest,
]


def main() -> int:
    """Runs the cases that the command line names."""
    options = parsed()
    wanted = options.only.split(",") if options.only else [] if options.photos else [*CASES]
    unknown = sorted(set(wanted) - set(CASES))
    if unknown:
        print(f"unknown case {unknown[0]!r}, want some of {', '.join(CASES)}", file=sys.stderr)
        return 2
    root = options.out.resolve()
    root.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        run(name, root)
    if options.photos:
        case_bulk.photos(root, options.photos, options.chunk, options.files)
    return 0


def parsed() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", help="names of cases with commas between; all without it")
    parser.add_argument("--photos", type=int, default=0, help="write a dataset of N photographs")
    parser.add_argument("--chunk", type=int, help="bytes of a chunk of photographs")
    parser.add_argument("--files", type=Path, help="folder of the JPEG files to take instead")
    return parser.parse_args()


def run(name: str, root: Path) -> None:
    """Runs one case: its datasets, then their expected values."""
    start = time.monotonic()
    found = CASES[name](root)
    written = time.monotonic()
    for dataset, notes in found.items():
        expected.export(dataset, root / dataset, root / f"{dataset}.expected", notes)
    end = time.monotonic()
    print(f"{name}: written in {written - start:.1f} s, read in {end - written:.1f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
