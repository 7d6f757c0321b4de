"""Python callables in worker processes: torchvision, albumentations, a tokenizer, nothing, and a pause.

python benchmarks/test_python.py [--full]
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from typing import Any

import callables
import data
import machine
import report
from protocol import Contender, Entry, Figure, Line, Result, Spread, Table, Turn, contenders, faster, race, thriftier

BATCH = 256
COPIES = 4  # of the texts
DECODERS = {"torchvision": ("PIL", "torchvision", "OpenCV"), "albumentations": ("OpenCV",)}
SLEEPERS = 16


def measure(full: bool = False) -> Result:
    """Measures 2,000 photographs of 250x250; short: 1,000, and one decoder for torch."""
    result = Result(
        "python",
        "Python callables in worker processes, shuffled torch batches of 256",
        rounds=5 if full else 3,
        full=full,
        packages=("torch", "torchvision", "albumentations", "tokenizers", "pillow", "opencv-python-headless"),
    )
    files = data.jpegs("photos-q75", 2_000 if full else 1_000)
    lake = str(data.make_lake(files))
    for kind in DECODERS:
        _images(result, files, lake, kind)
    _text(result)
    _nothing(result, lake, files.count)
    _pause(result, lake)
    _first(result, files, lake)
    result.notes.append(
        "torchvision: RandomResizedCrop(224, antialias=True), ColorJitter(0.4, 0.4, 0.4), ToDtype(float32). "
        "albumentations: RandomResizedCrop, HorizontalFlip, ColorJitter, Normalize, ToTensorV2. The tokenizer is a "
        f"byte-level BPE of {callables.VOCABULARY:,} words over pieces of Python's standard library, cut and filled "
        f"up to {callables.TOKENS} tokens. The number of workers is the faster one of cores and cores + 1; the "
        "DataLoader's workers stay between epochs and are forked, unless the line says otherwise."
    )
    return result


def _images(result: Result, files: data.JpegSet, lake: str, kind: str) -> None:
    decoders = DECODERS[kind] if result.full else DECODERS[kind][:1]
    with ExitStack() as stack:
        made = contenders(
            stack,
            {"deeplake": Contender("deeplake", "callables", "Ours", uri=lake, kind=kind, batch_size=BATCH)}
            | {
                f"torch + {decoder}": Contender(
                    decoder,
                    "callables",
                    "Torch",
                    name=files.name,
                    count=files.count,
                    kind=kind,
                    decoder=decoder,
                    batch_size=BATCH,
                )
                for decoder in decoders
            },
        )
        turns, workers = _race(result, made, files.count)
    best = _table(result, f"{kind}, {files.count:,} photographs of 250x250", turns, workers, files.count)
    ours = turns["deeplake"]
    result.figures += [
        Figure(f"{kind}: times the best torch DataLoader ({best})", faster(ours, turns[best]), 1.3),
        Figure(
            f"{kind}: CPU time, part of its",
            Spread.of([a / b for a, b in zip(ours.cpu, turns[best].cpu, strict=True)]),
            0.75 if kind == "torchvision" else None,
            "less",
        ),
    ]


def _text(result: Result) -> None:
    import deeplake

    every = callables.texts() * COPIES
    folder = data.CACHE / f"texts-{len(every)}"
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        with deeplake.create(str(folder / "lake")) as ds:
            ds.create_tensor("texts", "text")
            ds.extend({"texts": every})
            ds.commit()
        (folder / "done").touch()
    callables.tokenizer()  # trained once
    with ExitStack() as stack:
        made = contenders(
            stack,
            {
                "deeplake": Contender("deeplake", "callables", "OursText", uri=str(folder / "lake"), batch_size=BATCH),
                "torch": Contender("torch", "callables", "TorchText", copies=COPIES, batch_size=BATCH),
                "the tokenizer alone": Contender(
                    "the tokenizer alone", "callables", "AloneText", copies=COPIES, batch_size=BATCH
                ),
            },
        )
        turns, workers = _race(result, made, len(every))
    _table(result, f"tokenizer, {len(every):,} texts, whole batches", turns, workers, len(every), "texts")
    result.figures += [
        Figure("tokenizer: times the best torch DataLoader", faster(turns["deeplake"], turns["torch"]), 1.2),
        Figure(
            "tokenizer: CPU time of the tokenizer alone, part of ours",
            thriftier(turns["deeplake"], turns["the tokenizer alone"]),
            None,
        ),
        Figure("tokenizer: its CPU time, times ours", thriftier(turns["deeplake"], turns["torch"]), None),
    ]


def _nothing(result: Result, lake: str, count: int) -> None:
    with ExitStack() as stack:
        made = contenders(
            stack,
            {
                name: Contender(name, "callables", "Ours", uri=lake, kind=kind, batch_size=BATCH)
                for name, kind in (("without a callable", None), ("a callable that does nothing", "nothing"))
            },
        )
        workers = dict.fromkeys(made, machine.cores())
        turns = race({name: Entry(one, {"workers": workers[name]}) for name, one in made.items()}, rounds=result.rounds)
    result.watch(turns)
    _table(result, f"nothing, {count:,} photographs of 250x250", turns, workers, count)
    plain, nothing = turns.values()
    result.figures.append(Figure("a callable that does nothing: part of the loader", faster(nothing, plain), 0.8))


def _pause(result: Result, lake: str) -> None:
    # Every epoch begins with a batch to decode, which a short one shows as a loss.
    with Contender("pause", "callables", "Ours", uri=lake, kind="pause", batch_size=BATCH, repeat=4) as ours:
        turns = race({"pause": Entry(ours, {"workers": SLEEPERS})}, rounds=result.rounds)
        count = turns["pause"].values[0]["count"]
    result.watch(turns)
    ideal = count * callables.PAUSE / SLEEPERS
    result.figures.append(
        Figure(
            f"a pause of 10 ms a sample: part of {SLEEPERS} workers that never wait",
            Spread.of([ideal / seconds for seconds in turns["pause"].seconds]),
            0.95,
        )
    )


def _first(result: Result, files: data.JpegSet, lake: str) -> None:
    """The first batch of a new process, its libraries imported."""
    shared: dict[str, Any] = {"kind": "torchvision", "batch_size": BATCH}
    entries = {
        f"{name}, {start}": (factory, {**shared, **more, "start": start})
        for start in ("forkserver", "fork")
        for name, factory, more in (
            ("deeplake", "Ours", {"uri": lake}),
            ("torch + torchvision", "Torch", {"name": files.name, "count": files.count, "decoder": "torchvision"}),
        )
    }
    turns = {name: Turn() for name in entries}
    for _ in range(result.rounds):
        for name, (factory, arguments) in entries.items():
            with Contender(name, "callables", factory, **arguments) as one:
                turns[name].add(one.call("first", workers=machine.cores()), one.baseline)
    result.watch(turns)
    lines = [Line(name, Spread.of(turn.seconds), note=f"{machine.cores()} workers") for name, turn in turns.items()]
    result.tables.append(Table("first batch of 256 photographs, torchvision", "s", lines=lines, better="less"))
    for start in ("forkserver", "fork"):
        ours, torch = turns[f"deeplake, {start}"], turns[f"torch + torchvision, {start}"]
        result.figures.append(
            Figure(
                f"first batch, {start}: times torch's persistent workers",
                Spread.of([a / b for a, b in zip(ours.seconds, torch.seconds, strict=True)]),
                1.5,
                "less",
            )
        )


def _race(result: Result, made: dict[str, Contender], count: int) -> tuple[dict[str, Turn], dict[str, int]]:
    workers = {name: _best_workers(one, result.full) for name, one in made.items()}
    turns = race({name: Entry(one, {"workers": workers[name]}) for name, one in made.items()}, rounds=result.rounds)
    result.watch(turns)
    for name, turn in turns.items():
        if any(value["count"] != count for value in turn.values):
            raise AssertionError(f"{name} delivered {turn.values}, want {count}")
    return turns, workers


def _best_workers(contender: Contender, full: bool) -> int:
    if not full:
        return machine.cores()
    times = {}
    for workers in (machine.cores(), machine.cores() + 1):
        contender.call("run", workers=workers)  # starts the workers
        times[workers] = contender.call("run", workers=workers)["seconds"]
    return min(times, key=lambda workers: times[workers])


def _table(
    result: Result, title: str, turns: dict[str, Turn], workers: dict[str, int], count: int, what: str = "images"
) -> str:
    """Adds a table, and returns the fastest of torch's."""
    lines = [
        Line(
            name,
            Spread.of([count / seconds for seconds in turn.seconds]),
            cpu=Spread.of(turn.cpu).median / count * 1000,
            note=f"{workers[name]} workers",
        )
        for name, turn in turns.items()
    ]
    result.tables.append(Table(title, f"{what}/s", "1,000", lines))
    rest = [name for name in turns if name != "deeplake"]
    return min(rest, key=lambda name: sum(turns[name].seconds))


def test_python(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
