"""The loader into CUDA tensors, on one real GPU, beside the limits of the machine and other decoders.

Needs torch with a device, and datasets that lie on the machine: `--photos` names one of JPEG files of 250 x 250 in a
tensor "images", `--larger` one of larger files. Entrants take turns. The page goes to benchmarks/results/gpu/, named
after the device.
"""

from __future__ import annotations

import argparse
import datetime
import io
import itertools
import math
import os
import platform
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import deeplake
import deeplake._native
import loaders
import machine
import numpy as np
import torch
from PIL import Image

RESULTS = Path(__file__).resolve().parent / "results/gpu"
ROUNDS = 5
LEAST = 1.0  # seconds that a turn takes at least, in whole epochs
MOST_FILES = 4096  # that torchvision decodes in a turn

# A turn returns how much it has done, in the unit of its table, and the seconds.
Turn = Callable[[], tuple[float, float]]


def timed(work: Callable[[], float]) -> tuple[float, float]:
    torch.cuda.synchronize()
    began, done = time.perf_counter(), 0.0
    while time.perf_counter() - began < LEAST:
        done += work()
        torch.cuda.synchronize()
    return done, time.perf_counter() - began


def race(turns: dict[str, Turn], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Returns (rate, CPU-seconds per unit) of each turn; the first turn of each is not counted."""
    for turn in turns.values():
        turn()
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in turns}
    for number in range(rounds):
        names = list(turns)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            before = os.times()
            done, seconds = turns[name]()
            after = os.times()
            cpu = after.user + after.system - before.user - before.system
            found[name].append((done / seconds, cpu / done))
    return found


def table(title: str, unit: str, turns: dict[str, Turn], rounds: int, ours: str, outside: str = "") -> list[str]:
    """Races turns, and returns a table of them in proportion to `ours`. `outside` is a turn of another process."""
    found = race(turns, rounds)
    lines = [f"## {title}", "", f"| | {unit} | in proportion to ours | CPU-s per 1,000 |", "|---|---|---|---|"]
    base = [rate for rate, _ in found[ours]]
    for name, values in found.items():
        rates = [rate for rate, _ in values]
        ratios = [rate / other for rate, other in zip(rates, base, strict=True)]
        cpu = "" if name == outside else f"{statistics.median(cost for _, cost in values) * 1000:.3g}"
        lines.append(f"| {name} | {_spread(rates)} | {_spread(ratios)} | {cpu} |")
    print("\n".join(lines), flush=True)
    return [*lines, ""]


def _spread(values: list[float]) -> str:
    return f"{_number(statistics.median(values))} ({_number(min(values))}-{_number(max(values))})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def epoch(ds: Any, count: Callable[[Any], float], **options: Any) -> Turn:
    """Returns a turn over epochs of a loader, which lives on."""
    loader = ds.pytorch(**options)
    numbers = itertools.count()

    def turn() -> tuple[float, float]:
        def work() -> float:
            loader.set_epoch(next(numbers))
            return sum(count(batch) for batch in loader)

        return timed(work)

    return turn


def raw(folder: Path, workers: int, rounds: int) -> list[str]:
    """Uncompressed uint8 batches, beside a copy out of page-locked memory."""
    with deeplake.create(str(folder / "raw")) as ds:
        ds.create_tensor("images", dtype="uint8")
        pixels = np.random.default_rng(0).integers(0, 256, (512, 224, 224, 3), np.uint8)
        with (folder / "plain").open("wb") as plain:
            for _ in range(16):
                ds.extend({"images": pixels})
                plain.write(pixels)
        ds.commit()
        size = 256 * 224 * 224 * 3
        pinned = torch.empty(size, dtype=torch.uint8, pin_memory=True)
        device = torch.empty(size, dtype=torch.uint8, device="cuda")

        def copy() -> tuple[float, float]:
            def work() -> float:
                for _ in range(64):
                    device.copy_(pinned, non_blocking=True)
                return 64 * size / 1e9

            return timed(work)

        def count(batch: Any) -> float:
            return batch["images"].nbytes / 1e9

        loop = loaders.copy_loop(workers, 10_000, str(folder / "plain"), size // 256, 64)

        def pread() -> tuple[float, float]:
            done = loop.run()
            return done["count"] / 1e9, done["seconds"]

        options = {"batch_size": 256, "num_workers": workers, "prefetch": 4}
        reading = "pread of rows by as many threads, not copied"
        turns = {
            "deeplake": epoch(ds, count, device="cuda", **options),
            "deeplake on the CPU, not copied": epoch(ds, count, **options),
            "page-locked copy": copy,
            reading: pread,
        }
        return table("Uncompressed batches of 224 x 224 x 3", "GB/s", turns, rounds, "deeplake", reading)


def photographs(uri: str, workers: int, rounds: int) -> list[str]:
    """JPEG files of 250 x 250, shuffled."""
    ds = deeplake.open(uri)
    options = {"batch_size": 256, "shuffle": True, "num_workers": workers, "tensors": ["images"], "prefetch": 4}

    def count(batch: Any) -> float:
        return float(len(batch["images"]))

    def moved(batch: Any) -> float:
        return count({"images": batch["images"].pin_memory().to("cuda", non_blocking=True)})

    turns: dict[str, Turn] = {
        "deeplake": epoch(ds, count, device="cuda", **options),
        "deeplake on the CPU, not copied": epoch(ds, count, **options),
        "deeplake on the CPU, copied by pin_memory().to()": epoch(ds, moved, **options),
        **inexact(ds, count, **options),
    }
    try:
        from torchvision.io import decode_jpeg
    except ImportError:
        decode_jpeg = None
    if decode_jpeg is not None:
        files = stored(ds, workers)

        def nvjpeg() -> tuple[float, float]:
            def work() -> float:
                for at in range(0, len(files) - 255, 256):
                    decode_jpeg(files[at : at + 256], device="cuda")
                return float(len(files) // 256 * 256)

            return timed(work)

        turns["torchvision on CUDA, files in memory"] = nvjpeg
    return table("Photographs of 250 x 250", "images/s", turns, rounds, "deeplake")


def stored(ds: Any, workers: int) -> list[torch.Tensor]:
    """Returns files as torchvision takes them."""
    loader = ds.pytorch(256, tensors=["images"], decode={"images": "bytes"}, num_workers=workers)
    files = (data for batch in loader for data in batch["images"])
    return [torch.frombuffer(bytearray(data), dtype=torch.uint8) for data in itertools.islice(files, MOST_FILES)]


def inexact(ds: Any, count: Callable[[Any], float], **options: Any) -> dict[str, Turn]:
    """Returns the turn of exact=False, none where there is no nvJPEG. The first epochs find the split."""
    try:
        turn = epoch(ds, count, device="cuda", exact=False, **options)
    except deeplake.UnsupportedError as err:
        print(err, flush=True)
        return {}
    turn()
    return {"deeplake, exact=False": turn}


def first(uri: str, workers: int) -> list[str]:
    """The first batches of new loaders: memory is page-locked meanwhile."""
    from deeplake import transforms

    ds = deeplake.open(uri)
    crop = {"images": [transforms.RandomResizedCrop(224), transforms.ToFloat("bf16")]}
    lines = ["## First batches of new loaders", "", "| | first batch, ms | 8 batches, ms |", "|---|---|---|"]
    kinds: dict[str, dict[str, Any]] = {
        "photographs": {"device": "cuda"},
        "crops": {"device": "cuda", "transform": crop},
        "photographs on the CPU": {},
        "crops on the CPU": {"transform": crop},
    }
    for name, options in kinds.items():
        seconds: list[tuple[float, float]] = []
        for _ in range(3):
            began = time.perf_counter()
            loader = ds.pytorch(256, tensors=["images"], num_workers=workers, prefetch=4, **options)
            batches = iter(loader)
            next(batches)
            torch.cuda.synchronize()
            one = time.perf_counter() - began
            for _ in itertools.islice(batches, 7):
                pass
            torch.cuda.synchronize()
            seconds.append((one, time.perf_counter() - began))
            del batches, loader
        cells = [_spread([values[k] * 1000 for values in seconds]) for k in range(2)]
        lines.append(f"| {name} | {cells[0]} | {cells[1]} |")
    print("\n".join(lines), flush=True)
    return [*lines, ""]


def difference(uri: str, workers: int) -> list[str]:
    """Compares the pixels of nvJPEG with libjpeg-turbo's."""
    ds = deeplake.open(uri)
    options = {"batch_size": 64, "tensors": ["images"], "num_workers": workers, "device": "cuda"}
    lines = ["## Pixels of exact=False", ""]
    try:
        loader = ds.pytorch(exact=False, **options)
    except deeplake.UnsupportedError as err:
        return [*lines, f"Not measured: {err}", ""]
    for _ in range(5):  # it finds its split
        for _ in loader:
            pass
    most, total, squares, pixels, files = 0, 0.0, 0.0, 0, 0
    for ours, exact in zip(loader, ds.pytorch(**options), strict=True):
        gap = (ours["images"].int() - exact["images"].int()).abs().flatten(1)
        gap = gap[gap.amax(1) > 0].double()
        files += len(gap)
        pixels += gap.numel()
        most = max(most, int(gap.max()) if len(gap) else 0)
        total += float(gap.sum())
        squares += float((gap * gap).sum())
    if files == 0:
        return [
            *lines,
            f"All {len(ds):,} pictures equal libjpeg-turbo's; split {loader.stats()['device']['split']}.",
            "",
        ]
    noise = 10 * math.log10(255**2 / (squares / pixels))
    mean = total / pixels
    told = f"{files:,} of {len(ds):,} pictures differ: by {most} at most, {mean:.3f} in the mean, PSNR {noise:.1f} dB."
    return [*lines, told, ""]


def crops(uri: str, workers: int, rounds: int) -> list[str]:
    """Photographs for training: crops of 224 x 224, flipped, normalized, bfloat16, channels first."""
    from deeplake import transforms

    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    training = [
        transforms.RandomResizedCrop(224),
        transforms.HorizontalFlip(),
        transforms.Normalize(mean, std),
        transforms.ToFloat("bf16"),
        transforms.CHW(),
    ]
    ds = deeplake.open(uri)
    options = {"batch_size": 256, "shuffle": True, "num_workers": workers, "tensors": ["images"], "prefetch": 4}

    def moved(batch: Any) -> float:
        return float(len(batch["images"].pin_memory().to("cuda", non_blocking=True)))

    turns: dict[str, Turn] = {
        "deeplake": epoch(
            ds, lambda batch: float(len(batch["images"])), device="cuda", transform={"images": training}, **options
        ),
        "deeplake on the CPU, not copied": epoch(
            ds, lambda batch: float(len(batch["images"])), transform={"images": training}, **options
        ),
        "deeplake on the CPU, copied by pin_memory().to()": epoch(ds, moved, transform={"images": training}, **options),
        **inexact(ds, lambda batch: float(len(batch["images"])), transform={"images": training}, **options),
    }
    try:
        from torchvision.io import decode_jpeg
        from torchvision.transforms import v2
    except ImportError:
        return table("Crops for training", "images/s", turns, rounds, "deeplake")
    files = stored(ds, workers)
    one = v2.Compose(
        [
            v2.RandomResizedCrop(224),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(mean, std),
        ]
    )

    def torchvision() -> tuple[float, float]:
        def work() -> float:
            for at in range(0, len(files) - 255, 256):
                torch.stack([one(image) for image in decode_jpeg(files[at : at + 256], device="cuda")]).bfloat16()
            return float(len(files) // 256 * 256)

        return timed(work)

    turns["torchvision on CUDA, files in memory"] = torchvision
    return table("Crops for training", "images/s", turns, rounds, "deeplake")


def threads(uris: list[str], most: int, rounds: int) -> list[str]:
    """exact=False beside the default on 2, 4, 8 ... decode threads."""
    lines = ["## exact=False by decode threads", "", "| set | threads | images/s | exact=False | times |"]
    lines.append("|---|---|---|---|---|")
    for uri in uris:
        ds = deeplake.open(uri)
        for count in (2, 4, 8, 16):
            if count > most:
                break
            options = {"batch_size": 256, "shuffle": True, "num_workers": count, "tensors": ["images"], "prefetch": 4}
            turns = {"exact": epoch(ds, _rows, device="cuda", **options), **inexact(ds, _rows, **options)}
            if len(turns) == 1:
                return [*lines, ""]
            exact, other = ([rate for rate, _ in rates] for rates in race(turns, rounds).values())
            times = _spread([fast / slow for fast, slow in zip(other, exact, strict=True)])
            name = Path(uri).parent.name
            lines.append(f"| {name} | {count} | {_spread(exact)} | {_spread(other)} | {times} |")
            print(lines[-1], flush=True)
    return [*lines, ""]


def _rows(batch: Any) -> float:
    return float(len(batch["images"]))


def small(folder: Path, workers: int, rounds: int) -> list[str]:
    """Files of some 4.75 kB."""
    rng = np.random.default_rng(1)
    with deeplake.create(str(folder / "small")) as ds:
        ds.create_tensor("images", "image", compression="jpeg")
        y, x = np.mgrid[0:128, 0:128].astype(np.float32)
        size = 0
        for _ in range(64):
            samples = []
            for _ in range(256):
                a, b, c = rng.uniform(0.02, 0.3, 3)
                plane = 128 + 60 * np.sin(a * x + b * y) + 40 * np.cos(c * x) + rng.normal(0, 6, x.shape)
                out = io.BytesIO()
                Image.fromarray(np.clip(plane, 0, 255).astype(np.uint8)).convert("RGB").save(out, "JPEG", quality=75)
                size += len(out.getvalue())
                samples.append(deeplake.read(out.getvalue()))
            ds.extend({"images": samples})
        ds.commit()
        options = {"batch_size": 1024, "shuffle": True, "num_workers": workers, "prefetch": 4}
        turns = {
            "deeplake": epoch(ds, lambda batch: float(len(batch["images"])), device="cuda", **options),
            "deeplake on the CPU": epoch(ds, lambda batch: float(len(batch["images"])), **options),
        }
        title = f"Small files of 128 x 128, {size / len(ds):,.0f} bytes each"
        return table(title, "images/s", turns, rounds, "deeplake")


def step(uri: str, workers: int, rounds: int) -> list[str]:
    """A training step of ResNet-50 on batches of the loader, beside one batch again and again."""
    try:
        from torchvision.models import resnet50
    except ImportError:
        return ["## Training step", "", "Not measured: torchvision is missing.", ""]
    from deeplake import transforms

    ds = deeplake.open(uri)
    model = resnet50().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    labels = torch.randint(0, 1000, (256,), device="cuda")
    steps = 20

    def train(images: Any) -> None:
        with torch.autocast("cuda", torch.bfloat16):
            pixels = images.permute(0, 3, 1, 2).float().div_(255).contiguous(memory_format=torch.channels_last)
            loss = torch.nn.functional.cross_entropy(model(pixels), labels[: len(images)])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    crop = {"images": transforms.RandomResizedCrop(224)}
    loader = ds.pytorch(
        256, shuffle=True, drop_last=True, tensors=["images"], transform=crop, num_workers=workers, device="cuda"
    )
    kept = next(iter(loader))["images"].clone()

    def endless() -> Iterator[Any]:
        while True:
            yield from loader

    batches = endless()

    def fed() -> tuple[float, float]:
        def work() -> float:
            for batch in itertools.islice(batches, steps):
                train(batch["images"])
            return float(steps)

        return timed(work)

    def repeated() -> tuple[float, float]:
        def work() -> float:
            for _ in range(steps):
                train(kept)
            return float(steps)

        return timed(work)

    turns = {"fed by deeplake": fed, "one batch repeated": repeated}
    return table("Training step of ResNet-50, 256 images, bfloat16", "steps/s", turns, rounds, "fed by deeplake")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--photos", help="a dataset of JPEG files of 250 x 250")
    parser.add_argument("--larger", help="a dataset of larger JPEG files, for exact=False on few threads")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    device = torch.cuda.get_device_name(0)
    lines = [
        f"# {device}",
        "",
        f"{datetime.date.today()}, commit {machine.commit()}, {arguments.rounds} rounds, {arguments.workers} threads; "
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}, "
        f"driver {deeplake._native.devices()['version']}. Medians, with the least and the most in brackets.",
        "",
    ]
    with tempfile.TemporaryDirectory() as folder:
        lines += raw(Path(folder), arguments.workers, arguments.rounds)
        lines += small(Path(folder), arguments.workers, arguments.rounds)
        if arguments.photos:
            lines += photographs(arguments.photos, arguments.workers, arguments.rounds)
            lines += crops(arguments.photos, arguments.workers, arguments.rounds)
            lines += difference(arguments.photos, arguments.workers)
            lines += first(arguments.photos, arguments.workers)
            lines += step(arguments.photos, arguments.workers, arguments.rounds)
            larger = [arguments.larger] if arguments.larger else []
            lines += threads([*larger, arguments.photos], arguments.workers, arguments.rounds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines.append(f"Peak resident memory of the process: {peak:,.0f} MB.")
    RESULTS.mkdir(parents=True, exist_ok=True)
    page = RESULTS / f"{device.replace(' ', '-')}.md"
    page.write_text("\n".join(lines) + "\n")
    print(f"written to {page}")


if __name__ == "__main__":
    main()
