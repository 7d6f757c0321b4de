"""Steps: what `next(loader)` takes when a batch lies ready, what grows over many epochs, and a training fed from S3.

python benchmarks/test_step.py [--full]
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import data
import machine
import report
from protocol import Contender, Entry, Figure, Line, Result, Spread, Table, contenders, race
from remote import RemoteContender, Servers
from test_epoch import TITLES
from test_lake_epoch import STORE

BATCH = 64
MEMORY, REMOTE, NOTHING = "deeplake, memory", "deeplake, S3", "no loader, tensors in memory"
HOW = {
    "busy": "right after the one before",
    "idle": "the loader at rest",
    "plain": "a plain generator instead, the loader at rest",
}
GROWTH = {"threads": "threads", "python_threads": "threads of Python", "descriptors": "open files"}


def measure(full: bool = False) -> Result:
    """Measures 500 steps, 200 epochs and trainings of 24 steps; short: 100, 40 and 8."""
    result = Result(
        "step",
        "Steps of a loop over shuffled uint8 torch batches",
        rounds=5 if full else 2,
        full=full,
        packages=("torch",),
    )
    _next(result, 500 if full else 100)
    _grow(result, 200 if full else 40)
    _train(result, data.jpegs("photos-q75", 3_000), 24 if full else 8)
    return result


def _next(result: Result, steps: int) -> None:
    files = data.jpegs("photos-q75", 3_000)
    lake = str(data.make_lake(files))
    lines = []
    for size in (8, BATCH):
        with Contender("steps", "records", "Steps", uri=lake, batch_size=size, workers=machine.cores()) as one:
            one.call("ready", steps=steps // 5)
            found = one.call("ready", steps=steps)["value"]
        for how, title in HOW.items():
            took = sorted(second * 1e6 for second in found[how])
            value = Spread(took[len(took) // 2], took[0], took[int(len(took) * 0.99)])
            lines.append(Line(f"batches of {size}, {title}", value))
            want = None if how == "plain" else 50
            result.figures.append(Figure(f"next(loader), batch of {size}, {title}", value, want, "less", "us"))
    result.tables.append(Table("next(loader) for a ready batch", "us", lines=lines, better="less"))
    result.notes.append(
        f"next(loader): the median of {steps} steps, with the least and the 99th percentile. The loop lets go of each "
        "batch before it asks for the next. At rest: all batches that may be made ahead are, and the loop has slept; "
        "decoding them has meanwhile taken the caches from the code of Python, torch and the core. A generator that "
        "makes two tensors of arrays at hand is measured in the same state: so much of it is nobody's to save."
    )


def _grow(result: Result, epochs: int) -> None:
    lake = str(data.make_lake(data.jpegs("photos-q75", 500)))
    with Contender("growth", "records", "Steps", uri=lake, batch_size=BATCH, workers=machine.cores()) as one:
        grown = one.call("grow", epochs=epochs)["value"]
    for key, what in GROWTH.items():
        result.figures.append(Figure(f"{what} more after {epochs} epochs", Spread.of([grown[key]]), 0, "less"))
    size = Spread.of([max(grown["bytes"], 0) / 1e6])
    result.figures.append(Figure(f"memory grown over {epochs} epochs", size, 10, "less", "MB"))
    result.notes.append(
        f"Growth: {epochs} epochs of 500 photographs with one loader; of four, two are whole, one is left after three "
        "batches, in one a second iteration begins and is closed. Half as many epochs go before and do not count: they "
        "bring the memory that is used again, for as many batches as are ever on their way at once."
    )


def _train(result: Result, files: data.JpegSet, steps: int) -> None:
    import deeplake

    with ExitStack() as stack:
        servers = stack.enter_context(Servers(STORE))
        store = servers[STORE]
        uri = f"s3://{store.bucket()}/lake"
        lake = str(data.make_lake(files))
        deeplake.copy(lake, uri, dst_storage=deeplake.Storage(**store.settings(direct=True)))
        shared: dict[str, Any] = {"batch_size": BATCH, "workers": machine.cores()}
        made = {
            MEMORY: Contender(MEMORY, "records", "Training", uri=lake, memory=True, **shared),
            REMOTE: RemoteContender(
                servers, REMOTE, "records", "Training", uri=uri, storage=store.settings(), **shared
            ),
            NOTHING: Contender(NOTHING, "records", "Training", uri=lake, resident=True, **shared),
        }
        contenders(stack, made)
        arguments = {"steps": steps}
        # Twice as many turns as others take: what a step of the network takes changes by a fifth
        # from one to the next.
        turns = race({name: Entry(one, arguments) for name, one in made.items()}, rounds=2 * result.rounds)
        result.watch({name: turns[name] for name in (MEMORY, NOTHING)})
    for name, turn in turns.items():
        assert all(value["steps"] == steps for value in turn.values), f"{name}: {turn.values}, want {steps} steps"
    lines = [
        Line(
            name,
            Spread.of([value["count"] / seconds for seconds, value in zip(turn.seconds, turn.values, strict=True)]),
            cpu=Spread.of(
                [cpu / value["count"] * 1000 for cpu, value in zip(turn.cpu, turn.values, strict=True)]
            ).median,
            note=f"first batch {Spread.of([value['first'] for value in turn.values]).median:.2f} s",
        )
        for name, turn in turns.items()
    ]
    title = f"training a small CNN on the CPU, {TITLES[files.name]}"
    result.tables.append(Table(f"{title} ({steps} steps of {BATCH})", "images/s", "1,000", lines))
    near, far, bare = (turns[name].seconds for name in (MEMORY, REMOTE, NOTHING))
    lost = [value["lost"] for value in turns[REMOTE].values]
    result.figures += [
        Figure("training from S3, wall time over that from memory", _ratio(far, near), 1.02, "less"),
        Figure(
            "the same, without what the servers took of the processors",
            _ratio([a - b for a, b in zip(far, lost, strict=True)], near),
            None,
        ),
        Figure("what the servers took of that time", _ratio(lost, far), None),
        Figure("training by the loader, wall time over that without a loader", _ratio(near, bare), None),
    ]
    result.notes.append(
        "Training: three convolutions over 250x250, from the first batch in hand "
        "to the end of the last step; the dataset is opened anew each time. From memory is the same loader over "
        "mem://, so that both decode; on a CPU decoding takes from the model what a GPU would not miss. Server "
        "(versitygw), proxy and training share the processors; theirs are counted from before the first batch."
    )


def _ratio(above: list[float], below: list[float]) -> Spread:
    return Spread.of([a / b for a, b in zip(above, below, strict=True)])


def test_step(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
