"""Writes by many programs: a commit of 10,000 fragments, a new column by processes, a transform.

python benchmarks/test_fragments.py [--full]
"""

from __future__ import annotations

import json
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import data
import machine
import numpy as np
import report
from protocol import Contender, Figure, Line, Result, Spread, Table
from suite import SCRATCH

PROCESSES = 2
WIDTH = 512  # numbers of a vector
CHUNK = 8 << 20  # bytes of the files of the limit
SIDE = 96  # pixels of the pictures that the transform makes


class Writer:
    """One of the programs that write a dataset."""

    def __init__(self, folder: str) -> None:
        import deeplake

        self._deeplake, self._folder = deeplake, folder

    def tasks(self, count: int) -> None:
        """Runs tasks of 100 rows of five tensors, and keeps their fragments."""
        schema = {"x": {"dtype": "int64"}, "v": {"dtype": "float32", "shape": (8,)}, "t": "text", "b": "bbox"}
        classes = {"htype": "class_label", "class_names": ["a", "b"]}
        ds = self._deeplake.create(self._folder, schema={**schema, "l": classes})
        draw = np.random.default_rng(0)
        write = ds.distributed_write()
        fragments = []
        for task in range(count):
            with write.task(task) as part:
                part.extend(
                    {
                        "x": np.arange(100) + 100 * task,
                        "v": draw.normal(size=(100, 8)).astype(np.float32),
                        "t": [f"row {row}" for row in range(100)],
                        "b": [draw.random((row % 4, 4)).astype(np.float32) for row in range(100)],
                        "l": [row % 2 for row in range(100)],
                    }
                )
                fragments.append(part.fragment().text)
        Path(f"{self._folder}.json").write_text(json.dumps([write._token, fragments]))

    def commit(self) -> dict[str, Any]:
        """Commits the fragments, in a process that has done nothing else."""
        from deeplake._data.committing import write_of

        token, fragments = json.loads(Path(f"{self._folder}.json").read_text())
        ds = self._deeplake.open(self._folder)
        before = machine.memory()["now"]
        begin = time.perf_counter()
        done = write_of(ds, token).commit(fragments)
        seconds = time.perf_counter() - begin
        assert done.rows == 100 * len(fragments)
        return {"took": seconds, "grown": machine.memory()["peak"] - before, "bytes": sum(map(len, fragments))}

    def column(self, token: str, start: int, stop: int) -> dict[str, Any]:
        """Writes vectors for a range of rows."""
        from deeplake._data.committing import write_of

        write = write_of(self._deeplake.open(self._folder), token)
        block = np.tile(np.random.default_rng(start).normal(size=(64, WIDTH)).astype(np.float32), (256, 1))
        with write.task(start) as part:
            part.create_tensor("vector", "embedding", dtype="float32", compression="none")
            for at in range(start, stop, len(block)):
                end = min(at + len(block), stop)
                part["vector"][at:end] = block[: end - at]
            return {"fragment": part.fragment().text}

    def files(self, start: int, stop: int) -> None:
        """Writes as many bytes as files of the size of a chunk, each durable."""
        folder = Path(f"{self._folder}-files")
        folder.mkdir(exist_ok=True)
        block = np.random.default_rng(start).bytes(CHUNK)
        for at in range(start * WIDTH * 4, stop * WIDTH * 4, CHUNK):
            with (folder / str(at)).open("wb", buffering=0) as file:
                file.write(block)
                os.fsync(file.fileno())

    def by_hand(self, source: str, start: int, stop: int) -> None:
        """Reads, resizes and writes a range of pictures in a loop."""
        ds = self._deeplake.open(source)
        out = self._deeplake.create(self._folder, schema={"images": {"htype": "image", "compression": "jpeg"}})
        made = []
        for row in ds[start:stop]:
            made.append(smaller({"images": row["images"]})["images"])
            if len(made) == 512:
                out.extend({"images": made})
                made = []
        if made:
            out.extend({"images": made})
        out.commit()

    def transform(self, source: str) -> None:
        """The same by `deeplake.transform`."""
        ds = self._deeplake.open(source)
        schema = {"images": {"htype": "image", "compression": "jpeg"}}
        self._deeplake.transform(ds, smaller, self._folder, columns=["images"], schema=schema, workers=PROCESSES)


def smaller(row: dict[str, Any]) -> dict[str, Any]:
    from PIL import Image

    return {"images": np.asarray(Image.fromarray(row["images"]).resize((SIDE, SIDE)))}


def measure(full: bool = False) -> Result:
    """Measures 10,000 fragments, 1,000,000 vectors and 20,000 photographs; short: a tenth of each."""
    result = Result("fragments", "Writes by many programs", rounds=3, full=full)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    try:
        _commits(result, 10_000 if full else 1_000)
        _columns(result, 1_000_000 if full else 100_000)
        _transforms(result, data.jpegs("photos-q75", 20_000 if full else 2_000))
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
    return result


def _commits(result: Result, count: int) -> None:
    seconds, grown, size = [], [], 0
    for number in range(result.rounds):
        folder = str(SCRATCH / f"commit{number}")
        with Contender("tasks", "test_fragments", "Writer", folder=folder) as one:
            one.call("tasks", count=count)
        with Contender("commit", "test_fragments", "Writer", folder=folder) as one:
            value = one.call("commit")["value"]
        seconds.append(value["took"])
        grown.append(value["grown"] / 1e6)
        size = value["bytes"] // count
        shutil.rmtree(folder)
    result.figures += [
        Figure(f"commit of {count:,} fragments", Spread.of(seconds), 5, "less", "s"),
        Figure("memory grown by it", Spread.of(grown), 300, "less", "MB"),
    ]
    result.notes.append(f"A fragment of 100 rows of five tensors is a text of {size:,} bytes.")


def _together(who: list[str], call: str, each: list[dict[str, Any]]) -> tuple[float, list[Any]]:
    """Calls processes at once, which have the core loaded. Returns the seconds and the values."""
    with ExitStack() as stack:
        peers = [stack.enter_context(Contender(call, "test_fragments", "Writer", folder=folder)) for folder in who]
        with ThreadPoolExecutor(len(peers)) as pool:
            begin = time.perf_counter()
            answers = list(pool.map(lambda pair: pair[0].call(call, **pair[1]), zip(peers, each, strict=True)))
            return time.perf_counter() - begin, [answer["value"] for answer in answers]


def _parts(count: int) -> list[dict[str, Any]]:
    bounds = np.linspace(0, count, PROCESSES + 1).astype(int).tolist()
    return [{"start": start, "stop": stop} for start, stop in pairwise(bounds)]


def _columns(result: Result, rows: int) -> None:
    import deeplake

    ours, files = [], []
    size = rows * WIDTH * 4 / 1e6
    for number in range(result.rounds):
        folder = str(SCRATCH / f"column{number}")
        ds = deeplake.create(folder, schema={"n": {"dtype": "int64"}})
        ds.extend({"n": np.arange(rows)})
        ds.commit()
        write = ds.distributed_write()
        before = {path: path.stat().st_mtime_ns for path in Path(folder).glob("data/**/*") if path.is_file()}
        given = [{**part, "token": write._token} for part in _parts(rows)]
        seconds, made = _together([folder] * PROCESSES, "column", given)
        begin = time.perf_counter()
        write.commit([one["fragment"] for one in made])
        ours.append(size / (seconds + time.perf_counter() - begin))
        files.append(size / _together([folder] * PROCESSES, "files", _parts(rows))[0])
        assert {path: path.stat().st_mtime_ns for path in before} == before, "an old chunk was written again"
        assert ds["vector"][rows - 1].shape == (WIDTH,)
        ds.close()
        shutil.rmtree(folder)
        shutil.rmtree(f"{folder}-files")
    named = {"deeplake: a new column": ours, "limit: files of 8 MB, synchronised": files}
    lines = [Line(name, Spread.of(rates)) for name, rates in named.items()]
    result.tables.append(Table(f"{rows:,} vectors of {WIDTH} float32 by {PROCESSES} processes", "MB/s", lines=lines))
    part = Spread.of([a / b for a, b in zip(ours, files, strict=True)])
    result.figures.append(Figure("a new column: of the rate of plain files", part, 0.8))


def _transforms(result: Result, files: data.JpegSet) -> None:
    import deeplake

    source = str(SCRATCH / "photos")
    ds = deeplake.create(source, schema={"images": {"htype": "image", "compression": "jpeg"}})
    ds.extend({"images": [deeplake.read(path) for path in files.paths]})
    ds.commit()
    ours, hand = [], []
    for number in range(result.rounds):
        ours.append(files.count / _together([str(SCRATCH / f"t{number}")], "transform", [{"source": source}])[0])
        who = [str(SCRATCH / f"h{number}-{k}") for k in range(PROCESSES)]
        hand.append(
            files.count / _together(who, "by_hand", [{**one, "source": source} for one in _parts(files.count)])[0]
        )
    lines = [Line("deeplake.transform", Spread.of(ours)), Line("a loop in each process", Spread.of(hand))]
    about = f"{files.count:,} photographs of {files.mean_bytes / 1000:.1f} kB through PIL, by {PROCESSES} processes"
    result.tables.append(Table(about, "images/s", lines=lines))
    part = Spread.of([a / b for a, b in zip(ours, hand, strict=True)])
    result.figures.append(Figure("transform: of the rate of loops", part, 0.95))


def test_fragments(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
