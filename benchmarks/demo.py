"""The whole way on real photographs: a folder of JPEG files, a dataset, a stream, a trained network.

    make demo

Everything lies under build/demo, which is made anew each time. Nothing is downloaded. Ends with an error where a step
does not do what it says.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import data
import deeplake
import machine
import numpy as np
import numpy.typing as npt
import torch
from loaders import FileDataset, read_pil
from PIL import Image
from torch import nn

FOLDER = data.HERE.parent / "build" / "demo"
PER_CLASS = 300
HELD_OUT = 50
BATCH = 128
EPOCHS = 2
WANTED = 0.6  # of 10 classes: chance is 0.1

_begin = time.perf_counter()


def main() -> None:
    torch.manual_seed(0)
    shutil.rmtree(FOLDER, ignore_errors=True)
    figures: dict[str, str] = {}

    step(f"1. Crops of {len(data.PHOTOGRAPHS)} real photographs as JPEG files of 250x250, a folder for each photograph")
    train, test = FOLDER / "photographs" / "train", FOLDER / "photographs" / "test"
    counts = write_crops(train, test)
    tell(f"{counts[0]:,} images to train on from the left or upper part of each photograph,")
    tell(f"{counts[1]:,} to test on from the rest, so that no pixel is in both")

    step("2. The command line turns each folder into a dataset; the files are stored as they are")
    for folder, count in zip((train, test), counts, strict=True):
        seconds = create(folder, count)
        if folder == train:
            figures["deeplake create, the process included"] = f"{count / seconds:,.0f} files/s"

    step("3. What is in it")
    ds = deeplake.open(lake(train))
    print(ds)
    check_bytes(ds, train)

    step("4. An epoch of shuffled batches as torch tensors, against torch's DataLoader and the decoder alone")
    figures |= compare(ds, train)

    step(f"5. A small network, {EPOCHS} epochs, from deeplake to the optimiser")
    network = Network(len(data.PHOTOGRAPHS))
    figures["training"] = f"{fit(network, ds):,.0f} images/s"

    step("6. How well it names the photograph that a crop is from, on parts that it has not seen")
    accuracy = evaluate(network, deeplake.open(lake(test)))
    chance = 1 / len(data.PHOTOGRAPHS)
    figures["accuracy on held-out crops"] = f"{accuracy:.1%} (chance: {chance:.1%})"
    want(accuracy >= WANTED, f"accuracy is {accuracy:.1%}, want at least {WANTED:.0%}")

    figures["the whole demo"] = f"{time.perf_counter() - _begin:.0f} s"
    width = max(map(len, figures))
    print("\n" + "-" * 78)
    for name, figure in figures.items():
        print(f"{name.ljust(width)}  {figure}")
    print(f"{machine.cores()} cores; the dataset stays in {os.path.relpath(lake(train))}")


def write_crops(train: Path, test: Path) -> tuple[int, int]:
    """Writes the crops; returns how many to train and to test on."""
    random = np.random.default_rng(0)
    for name in data.PHOTOGRAPHS:
        seen, held_out = parts(data.photograph(name))
        for folder, part, count in ((train, seen, PER_CLASS), (test, held_out, HELD_OUT)):
            (folder / name).mkdir(parents=True)
            for number in range(count):
                crop = random_crop(part, random)
                crop.save(folder / name / f"{number:04d}.jpg", quality=85)
    return PER_CLASS * len(data.PHOTOGRAPHS), HELD_OUT * len(data.PHOTOGRAPHS)


def parts(photograph: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Cuts a photograph across its longer side: three fifths to train on, two to test on."""
    axis = 0 if photograph.shape[0] > photograph.shape[1] else 1
    cut = photograph.shape[axis] * 3 // 5
    first, second = np.split(photograph, [cut], axis=axis)
    return first, second


def random_crop(part: npt.NDArray[np.uint8], random: np.random.Generator) -> Image.Image:
    """Returns a square of the part at 250x250, turned over now and then."""
    shorter = min(part.shape[:2])
    side = int(random.integers(shorter // 2, shorter + 1))
    top, left = (int(random.integers(0, length - side + 1)) for length in part.shape[:2])
    crop = Image.fromarray(part[top : top + side, left : left + side]).resize((data.SIDE, data.SIDE))
    return crop.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if random.integers(2) else crop


def lake(folder: Path) -> Path:
    return FOLDER / f"{folder.name}.lake"


def create(folder: Path, count: int) -> float:
    """Runs the command line; returns the seconds it took."""
    arguments = ["create", os.path.relpath(lake(folder)), f"from-{os.path.relpath(folder)}"]
    print(f"   $ {' '.join(['deeplake', *arguments])}")
    begin = time.perf_counter()
    subprocess.run([*data.deeplake_command(), *arguments], check=True)
    seconds = time.perf_counter() - begin
    rows = len(deeplake.open(lake(folder)))
    want(rows == count, f"the dataset has {rows} rows, want {count}")
    tell(f"{count:,} files in {seconds:.2f} s, durable")
    return seconds


def check_bytes(ds: deeplake.Dataset, folder: Path) -> None:
    """Holds the dataset to the files it was made from: every byte, every label."""
    files = sorted(folder.glob("*/*.jpg"))
    names, labels = ds["labels"].class_names, np.asarray(ds["labels"].numpy()).reshape(-1).tolist()
    for path, stored, label in zip(files, ds["images"].bytes(slice(None)), labels, strict=True):
        want(stored == path.read_bytes() and names[label] == path.parent.name, f"{path.name}: another file came back")
    tell(f"all {len(files):,} files and class names came back as they went in")


def compare(ds: deeplake.Dataset, folder: Path) -> dict[str, str]:
    """Measures an epoch each way, in turns; returns the figures."""
    files = [str(path) for path in sorted(folder.glob("*/*.jpg"))]
    count, cores = len(files), machine.cores()
    ours = ds.pytorch(batch_size=BATCH, shuffle=True, num_workers=cores)
    ways: dict[str, Callable[[], float]] = {"deeplake": lambda: epoch(batch["images"] for batch in ours)}
    for workers in (cores, 2 * cores):
        loader = torch.utils.data.DataLoader(
            FileDataset(files, [0] * count, read_pil),  # type: ignore[arg-type]
            batch_size=BATCH,
            shuffle=True,
            num_workers=workers,
            persistent_workers=workers > 0,
        )
        ways[f"torch DataLoader + PIL, {workers} workers"] = lambda loader=loader: epoch(batch[0] for batch in loader)
    limit = start_limit(files, cores)
    if limit is not None:
        ways["libjpeg-turbo in C, nothing delivered"] = limit
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(4):
        for name, way in ways.items():
            seconds = way()
            if turn:  # the first warms up
                rates[name].append(count / seconds)
    medians = {name: float(np.median(found)) for name, found in rates.items()}
    for name, rate in medians.items():
        tell(f"{name}: {rate:,.0f} images/s, {rate / medians['deeplake']:.2f} of deeplake's")
    return {f"an epoch, {name}": f"{rate:,.0f} images/s" for name, rate in medians.items()}


def epoch(batches: Iterable[torch.Tensor]) -> float:
    """Runs through the batches and returns the seconds; all images of the folder must come."""
    begin, count = time.perf_counter(), 0
    for images in batches:
        want(images.dtype == torch.uint8 and images.shape[1:] == (data.SIDE, data.SIDE, 3), f"got {images.shape}")
        count += len(images)
    want(count == PER_CLASS * len(data.PHOTOGRAPHS), f"{count} images came")
    return time.perf_counter() - begin


def start_limit(files: list[str], threads: int) -> Callable[[], float] | None:
    """Starts the bare decoding loop; None where it cannot be compiled."""
    try:
        program = data.jpeg_limit()
    except (OSError, subprocess.CalledProcessError):
        tell("no C compiler or no libjpeg here: the decoder's limit is left out")
        return None
    command = [str(program), "-i", "-t", str(threads), *files]
    loop = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def turn() -> float:
        assert loop.stdin is not None and loop.stdout is not None
        loop.stdin.write("\n")
        loop.stdin.flush()
        return float(loop.stdout.readline().split()[1])

    return turn


class Network(nn.Sequential):
    """Three convolutions over the picture at a quarter of its size."""

    def __init__(self, classes: int) -> None:
        layers: list[nn.Module] = [nn.AvgPool2d(4)]
        for inputs, outputs in ((3, 16), (16, 32), (32, 64)):
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2)]
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))


def pixels(batch: dict[str, Any]) -> torch.Tensor:
    """Returns the images of a batch as the network takes them."""
    images: torch.Tensor = batch["images"].permute(0, 3, 1, 2).float()
    return images / 127.5 - 1


def fit(network: Network, ds: deeplake.Dataset) -> float:
    """Trains; returns images a second."""
    loader = ds.pytorch(batch_size=BATCH // 2, shuffle=True)
    optimiser = torch.optim.AdamW(network.parameters(), lr=3e-3)
    begin, count = time.perf_counter(), 0
    for number in range(EPOCHS):
        losses = []
        for batch in loader:
            loss = nn.functional.cross_entropy(network(pixels(batch)), batch["labels"].flatten())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
            count += len(batch["labels"])
        tell(f"epoch {number + 1}: loss {losses[0]:.2f} at its start, {np.mean(losses[-10:]):.2f} at its end")
    stats = loader.stats()
    if "bottleneck" in stats:
        tell(f"the loader says: {stats['bottleneck']}")
    return count / (time.perf_counter() - begin)


@torch.no_grad()
def evaluate(network: Network, ds: deeplake.Dataset) -> float:
    """Returns the part of the images whose class the network names, and tells it for each class."""
    network.eval()
    names = ds["labels"].class_names
    right, seen = np.zeros(len(names)), np.zeros(len(names))
    for batch in ds.pytorch(batch_size=BATCH):
        labels = batch["labels"].flatten()
        hits = network(pixels(batch)).argmax(dim=1) == labels
        for label, hit in zip(labels.tolist(), hits.tolist(), strict=True):
            seen[label] += 1
            right[label] += hit
    tell(", ".join(f"{name} {part:.0%}" for name, part in zip(names, right / seen, strict=True)))
    return float(right.sum() / seen.sum())


def step(text: str) -> None:
    print(f"\n[{time.perf_counter() - _begin:5.1f} s] {text}", flush=True)


def tell(text: str) -> None:
    print(f"   {text}", flush=True)


def want(true: bool, otherwise: str) -> None:
    if not true:
        raise SystemExit(f"demo: {otherwise}")


if __name__ == "__main__":
    main()
