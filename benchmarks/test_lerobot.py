"""Windows of a LeRobot dataset with two cameras: ours, linked in place, beside LeRobot's own loader; then from S3.

LeRobot's loader runs in the environment of requirements/peers/lerobot.in, or in the interpreter that
DEEPLAKE_LEROBOT_PYTHON names. python benchmarks/test_lerobot.py [--full]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import data
import environments
import lerobot_check
import lerobot_data
import machine
import numpy as np
import pyarrow.parquet as pq
import report
from in_place import upload
from lerobot_data import CAMERAS, Plan, lerobot
from protocol import (
    Contender,
    Entry,
    Figure,
    Line,
    Result,
    Spread,
    Table,
    contenders,
    faster,
    race,
    thriftier,
)
from remote import Servers
from video_data import Track, libraries

BATCH, SEED = 32, 7
WORKERS = 4  # the default of LeRobot's training script
AHEAD = 16  # actions
OURS, FLOATS, PEER = "deeplake, uint8", "deeplake, float32 with channels first", "LeRobot"
CHECKED = 32  # windows of which all values are compared
REMOTE = 320  # windows that an epoch from S3 has


def measure(full: bool = False) -> Result:
    """Measures 24 episodes of 10 s in 640 x 480, of AV1 and of H.264; short: 6 of 2 s of AV1 in 320 x 240."""
    result = Result(
        "lerobot",
        "Windows of LeRobot datasets with two cameras",
        5 if full else 1,
        full,
        packages=("av", "torch", "pyarrow"),
    )
    try:
        python = os.environ.get("DEEPLAKE_LEROBOT_PYTHON") or environments.python("lerobot")
    except environments.MissingError as error:
        python = ""
        result.notes.append(f"LeRobot is absent: {error}")
    for codec in ("av1", "h264") if full else ("av1",):
        plan = Plan.uneven(24, 300, codec=codec) if full else Plan.uneven(6, 60, codec=codec, width=320, height=240)
        root = lerobot(f"{codec}-{plan.frames}", plan)
        _local(result, plan, root, python)
        if codec == "av1":
            _remote(result, plan, root)
    if python:
        result.notes.append(
            f"LeRobot's environment: {_versions(python)}; its decoder uses PyAV's FFmpeg, as ours does."
        )
    result.notes.append(
        f"A window has two frames of one camera and one of the other, the state of now and of 0.1 s ago, and {AHEAD} "
        f"actions. Batches have {BATCH} windows, shuffled; both loaders read the same ones. LeRobot's has the options "
        f"of its training script, {WORKERS} workers or one a core, whichever was faster, and workers that stay."
    )
    return result


def deltas(plan: Plan) -> dict[str, list[float]]:
    """Returns LeRobot's `delta_timestamps`."""
    before = -round(plan.fps / 10) / plan.fps
    return {
        CAMERAS[0]: [before, 0.0],
        CAMERAS[1]: [0.0],
        "observation.state": [before, 0.0],
        "action": [i / plan.fps for i in range(AHEAD)],
    }


def _times(plan: Plan) -> dict[str, Any]:
    """Returns the times of ours that give LeRobot's items."""
    stored = [name for name in lerobot_data.values(plan, 0) if name != "episode_index"]
    return lerobot_check.spec([*stored, *CAMERAS], CAMERAS, deltas(plan))


def _local(result: Result, plan: Plan, root: Path, python: str) -> None:
    size = f"{plan.codec.upper()}, {plan.width} x {plan.height}"
    where = f"{size}, {len(plan.lengths)} episodes"
    data.say(f"== {where}")
    uri = str(_lake(result, plan, root))
    draw = np.random.default_rng(SEED)
    rows = np.sort(draw.permutation(plan.frames)[: 1024 if result.full else 128]).tolist()
    _check(result, plan, root, uri, python, size)
    theirs: dict[str, Any] = {"root": str(root / "v3.0"), "deltas": deltas(plan), "rows": rows, "batch_size": BATCH}
    with ExitStack() as stack:
        made = {
            OURS: _ours(uri, plan, rows),
            FLOATS: _ours(uri, plan, rows, floats=True),
        }
        if python:
            made[PEER] = _faster_peer(python, theirs, result.full)
        contenders(stack, made)
        shapes = {name: one.call("shape")["value"] for name, one in made.items()}
        if PEER in shapes:
            assert shapes[FLOATS] == shapes[PEER], f"batches differ: {shapes}"
        turns = race({name: Entry(one) for name, one in made.items()}, rounds=result.rounds)
        result.watch(turns)
        for name, turn in turns.items():
            assert all(value["count"] == len(rows) for value in turn.values), f"{name} lost windows"
        firsts = race({name: Entry(one) for name, one in made.items()}, call="first", rounds=result.rounds)
        lines = []
        for name, one in made.items():
            rate = Spread.of([len(rows) / seconds for seconds in turns[name].seconds])
            cost = statistics.median(turns[name].cpu) / len(rows) * 1000
            first = statistics.median(firsts[name].seconds)
            note = f"first batch {first:.2f} s{one.name.removeprefix(name)}"
            lines.append(Line(name, rate, cost, one.peak("run"), note))
    about = f"{where}, {plan.frames:,} frames of two cameras, {len(rows):,} windows, {machine.cores()} cores"
    result.tables.append(Table(about, "samples/s", "1,000 samples", lines))
    add = result.figures.append
    for name in (FLOATS, OURS) if python else ():
        add(Figure(f"{size}: {name}, times LeRobot", faster(turns[name], turns[PEER]), 3.0))
        add(Figure(f"{size}: {name}, times LeRobot by CPU time", thriftier(turns[name], turns[PEER]), None))
        add(Figure(f"{size}: {name}, first batch, times LeRobot", faster(firsts[name], firsts[PEER]), None))


def _ours(
    uri: str, plan: Plan, rows: list[int], floats: bool = False, workers: int = machine.cores(), **options: Any
) -> Contender:
    shared: dict[str, Any] = {
        "times": _times(plan),
        "cameras": list(CAMERAS),
        "fps": plan.fps,
        "rows": rows,
        "batch_size": BATCH,
    }
    name = FLOATS if floats else OURS
    return Contender(name, "lerobot_readers", "Windows", uri=uri, workers=workers, floats=floats, **shared, **options)


def _environment() -> dict[str, str]:
    """Returns what LeRobot's interpreter runs in: no network, no cache but here, and FFmpeg for its decoder."""
    cache = data.CACHE / "lerobot-cache"
    return environments.QUIET | {
        "LD_LIBRARY_PATH": libraries(),
        "HF_HOME": str(cache),
        "PYTHONWARNINGS": "ignore",
    }


def _faster_peer(python: str, options: dict[str, Any], full: bool) -> Contender:
    """Returns LeRobot's loader with the number of workers that is faster."""
    tried = []
    for workers in sorted({WORKERS, machine.cores()}) if full else [WORKERS]:
        name = f"{PEER}, {workers} workers"
        one = Contender(
            name, "lerobot_readers", "LeRobot", python=python, environment=_environment(), workers=workers, **options
        )
        one.call("run")  # makes the workers, and opens the decoders
        tried.append((one.call("run")["seconds"], one))
    tried.sort(key=lambda pair: pair[0])
    for _, slower in tried[1:]:
        slower.close()
    return tried[0][1]


def _check(result: Result, plan: Plan, root: Path, uri: str, python: str, where: str) -> None:
    """Compares windows, some at ends of episodes, with LeRobot's items; without LeRobot, the numbers in pictures."""
    import deeplake

    ends = np.cumsum(plan.lengths)
    borders = np.concatenate([ends - 1, ends - AHEAD // 2, np.array(plan.starts), np.array(plan.starts) + 1])
    rest = np.random.default_rng(SEED).integers(0, plan.frames, CHECKED)
    rows = np.unique(np.concatenate([borders[:: len(borders) // CHECKED + 1], rest])).tolist()
    with deeplake.open(uri, read_only=True) as ds:
        view = ds.windows(_times(plan), fps=plan.fps)
        assert len(view) == plan.frames, f"{len(view)} windows, want {plan.frames}"
        names = ("index", "episode_index", *CAMERAS)
        mine = {name: np.stack([np.asarray(view[name][row]) for row in rows]) for name in names}
        lerobot_check.shown(mine, deltas(plan), plan)
        if not python:
            result.checks.append(f"{where}: {len(rows)} windows show the frames of LeRobot's rule")
            return
        with tempfile.TemporaryDirectory(dir=data.CACHE) as folder:
            path = str(Path(folder) / "items.npz")
            with Contender("items", "lerobot_readers", "Items", python=python, environment=_environment()) as items:
                items.call("run", root=str(root / "v3.0"), deltas=deltas(plan), rows=rows, path=path)
            found = dict(np.load(path))
        lerobot_check.shown(found, deltas(plan), plan)
        result.checks.append(f"{where}: {lerobot_check.compare(found, view, rows)}")


def _lake(result: Result, plan: Plan, root: Path) -> Path:
    """Returns the dataset that links the set."""

    def build(folder: Path) -> None:
        with Contender("import", "lerobot_readers", "Import", source=str(root / "v3.0"), uri=str(folder)) as one:
            answer = one.call("run")
        assert answer["value"]["rows"] == len(plan.lengths), f"the import made {answer['value']['rows']} episodes"
        stored = sum(path.stat().st_size for path in root.rglob("v3.0/**/*") if path.is_file())
        title = f"{plan.codec.upper()}: import by links, of {stored / 1e6:.0f} MB"
        result.figures.append(Figure(title, Spread.of([answer["seconds"]]), None, "less", "s"))

    return data.dataset(root / "lake", build)


def _remote(result: Result, plan: Plan, root: Path) -> None:
    """Epochs over the set in a store, the dataset that links it beside it."""
    rows = np.sort(np.random.default_rng(SEED).permutation(plan.frames)[:REMOTE]).tolist()
    alone = machine.cores() > 1
    with ExitStack() as stack:
        servers = stack.enter_context(Servers("s3", core=machine.cores() - 1 if alone else None))
        store = servers["s3"]
        bucket = store.bucket()
        source, uri = upload(store, root / "v3.0", bucket, "set"), f"s3://{bucket}/lake"
        where = "AV1 from S3 (25 ms)"
        direct = store.environment(direct=True)
        with Contender("import", "lerobot_readers", "Import", environment=direct, source=source, uri=uri) as one:
            one.call("run")
        environment = store.environment() | {"DEEPLAKE_BENCH_CORES": "1"}
        made = {"deeplake, S3": _ours(uri, plan, rows, workers=1, environment=environment)}
        contenders(stack, made)
        turns = race({name: Entry(one) for name, one in made.items()}, call="anew", rounds=result.rounds)
        turn = turns["deeplake, S3"]
        result.watch(turns)
        rate = Spread.of([len(rows) / seconds for seconds in turn.seconds])
        first = Spread.of([value["first"] for value in turn.values])
        cost = statistics.median(turn.cpu) / len(rows) * 1000
        note = f"first batch {first.median:.2f} s"
        table = Table(f"{where}, {len(rows)} windows, dataset just opened, one core", "samples/s", "1,000 samples")
        table.lines.append(Line("deeplake, S3", rate, cost, turn.peak, note))
        result.tables.append(table)
        store.reset()
        made["deeplake, S3"].call("anew")
        seen = [one for one in store.requests() if one["method"] == "GET"]
    films = [one for one in seen if "/set/videos/" in one["target"]]
    needed = _needed(plan, root / "v3.0", rows)
    add = result.figures.append
    add(Figure(f"{where}: first batch, dataset just opened", first, 1.0, "less", "s"))
    for what, some, most in (("of videos", films, 1.2), ("in all", seen, None)):
        total = sum(one["bytes"] for one in some)
        add(Figure(f"{where}: bytes a window {what}", Spread.of([total / len(rows)]), None, "less", "B"))
        add(Figure(f"{where}: bytes {what} over those of the packets", Spread.of([total / needed]), most, "less"))
        add(Figure(f"{where}: requests {what}", Spread.of([float(len(some))]), None, "less"))
    result.notes.append(
        f"{where}: the packets of {len(rows)} windows, from key frames on and once each, have {needed / 1e6:.2f} MB."
    )


def _needed(plan: Plan, root: Path, rows: list[int]) -> int:
    """Returns the bytes of the packets that windows need, a packet that several need once."""
    meta = [pq.read_table(path).to_pylist() for path in sorted(root.glob("meta/episodes/*/*.parquet"))]
    episodes = [episode for part in meta for episode in part]
    wanted: dict[Path, set[int]] = {}
    starts = np.array(plan.starts)
    for row in rows:
        number = int(np.searchsorted(starts, row, "right")) - 1
        episode, frame = episodes[number], row - plan.starts[number]
        for camera in CAMERAS:
            chunk, file = (episode[f"videos/{camera}/{kind}_index"] for kind in ("chunk", "file"))
            path = root / f"videos/{camera}/chunk-{chunk:03d}/file-{file:03d}.mp4"
            begin = round(episode[f"videos/{camera}/from_timestamp"] * plan.fps)
            for time in deltas(plan)[camera]:
                at = min(max(frame + round(time * plan.fps), 0), plan.lengths[number] - 1)
                wanted.setdefault(path, set()).add(begin + at)
    total = 0
    for path, frames in wanted.items():
        track = Track.of(path)
        sizes: Mapping[int, int] = {packet.dts: packet.size for frame in frames for packet in track.needed(frame, 1)}
        total += sum(sizes.values())
    return total


def _versions(python: str) -> str:
    """Returns the versions of the packages that matter there."""
    names = ("lerobot", "torch", "torchcodec", "datasets")
    code = f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {names!r}}}))"
    found = json.loads(subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout)
    return ", ".join(f"{name} {version}" for name, version in found.items())


def test_lerobot(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
