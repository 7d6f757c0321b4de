"""Random clips of 16 frames: ours beside torchcodec, PyAV and FFmpeg's decoder alone; then from an object store.

All of them use the FFmpeg libraries of PyAV, the same files and the same clips.
python benchmarks/test_video.py [--full]
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import data
import environments
import machine
import numpy as np
import numpy.typing as npt
import report
from protocol import Contender, Entry, Figure, Line, Result, Spread, Table, Turn, contenders, faster, race, thriftier
from remote import Servers, Store
from video_data import KINDS, Films, Kind, Track, films, libraries
from video_readers import BATCH, LENGTH, Clip

SIDE, SEED = 112, 7
OURS, LOADER, PEER, PYAV = "deeplake, Video.frames", "deeplake, loader", "torchcodec", "PyAV"
BARE, RGB = "FFmpeg's decoder alone", "the same, to RGB by swscale"
# Clips of each film, so that a turn takes one or two seconds.
COUNTS = {"h264-30": 4, "h264-250": 2, "av1-2": 6}
NEAR = 2  # key frames that are no further apart
LIMIT_PART, NEAR_PART, REMOTE_PART = 0.9, 1.3, 0.9
CHECKED = 6  # clips of each contender whose pixels are compared
CLOSE = 4.0  # the mean difference of pixels that are converted in another way


def measure(full: bool = False) -> Result:
    """Measures 8 films of 20 s of each kind, and 200 of 2 s in a store.

    Short: 2 of 4 s of two kinds, on all cores, and 20 of 2 s.
    """
    result = Result(
        "video",
        f"Random clips of {LENGTH} frames of films of 640 x 360",
        5 if full else 1,
        full,
        packages=("av", "torch", "torchvision"),
    )
    try:
        peer = environments.python("torchcodec")
    except environments.MissingError as error:
        peer = ""
        result.notes.append(f"torchcodec is absent: {error}")
    for of in films(8, 20, *COUNTS) if full else films(2, 4, "h264-30", "av1-2"):
        _local(result, of, COUNTS[of.kind] if full else 4, peer)
    for of in films(8 if full else 2, 20 if full else 4, "h264-250"):
        _shared(result, of, peer)
    _remote(result, *films(200 if full else 20, 2, "h264-30"))
    if peer:
        about = ", ".join(f"{name} {version}" for name, version in environments.versions("torchcodec").items())
        result.notes.append(
            f"{about} finds the FFmpeg libraries of PyAV by LD_LIBRARY_PATH, as ours finds them itself."
        )
    result.notes.append(
        f"Contenders with several threads have {machine.cores()}, one for each core, and read one clip on each; those "
        f'of "one core" are kept on it. Resized clips come as batches of {BATCH}. The limit decodes packets that are '
        f"in memory, from the key frame to the last wanted frame, and leaves pixels where FFmpeg writes them. "
        "torchcodec does not seek where the next clip of a film lies ahead in the same group: it decodes on."
    )
    return result


def _clips(of: Films, count: int) -> list[Clip]:
    """Returns the clips that the loader draws, in an order in which neighbours are of other films."""
    import deeplake

    with deeplake.open(of.lake(), read_only=True) as ds:
        drawn = ds.clips("video", length=LENGTH, windows="random", count=count, seed=SEED)._source
        rows, starts = drawn.places
        return list(zip(rows.tolist(), starts.tolist(), strict=True))


def _local(result: Result, of: Films, count: int, peer: str) -> None:
    how, lake = KINDS[of.kind], str(of.lake())
    drawn = _clips(of, count)
    clips = [drawn[i] for i in np.random.default_rng(SEED).permutation(len(drawn)).tolist()]
    data.say(f"== {how.title}: {len(clips)} clips")
    checked = [drawn[i * len(drawn) // CHECKED] for i in range(CHECKED)]
    cores = machine.cores()
    trial = clips[: len(clips) // 2] if result.full else []
    about = f"{how.title} ({len(of.paths)} films, {of.bits / 1000:.0f} kb/s, {len(clips)} clips)"
    places: list[tuple[str, int, int, dict[str, str]]] = [
        ("one core", 1, 0, {"DEEPLAKE_BENCH_CORES": "1"}),
        (f"{cores} cores", cores, 0, {}),
        (f"{cores} cores, resized to {SIDE} x {SIDE}", cores, SIDE, {}),
    ]
    for where, threads, side, environment in places if result.full else places[1:]:
        with ExitStack() as stack:
            made = _made(of, lake, count, threads, side, environment, peer, trial)
            contenders(stack, made)
            if threads > 1:
                _check(result, of, made, checked if not side else drawn[:CHECKED], side, f"{how.title}, {where}")
            entries = {name: Entry(one, {"clips": clips}) for name, one in made.items()}
            turns = race(entries, rounds=result.rounds)
        result.watch(turns)
        frames = len(clips) * LENGTH
        for name, turn in turns.items():
            assert all(value["frames"] == frames for value in turn.values), f"{name} lost frames"
        lines = _lines(turns, len(clips))
        for line, contender in zip(lines, made.values(), strict=True):
            line.note += contender.name.removeprefix(line.name)  # torchcodec's mode
        result.tables.append(Table(f"{about}, {where}", "clips/s", "1,000 frames", lines))
        _figures(result, how, f"{how.title}, {where}", turns)


def _made(
    of: Films,
    lake: str,
    count: int,
    threads: int,
    side: int,
    environment: Mapping[str, str],
    peer: str,
    trial: list[Clip],
) -> dict[str, Contender]:
    shared: dict[str, Any] = {"paths": [str(path) for path in of.paths], "threads": threads}
    place = {"environment": environment}

    def reader(name: str, factory: str, **options: Any) -> Contender:
        return Contender(name, "video_readers", factory, **options)

    made = {}
    if side:
        draws = {"count": count, "seed": SEED, "workers": threads, "side": side}
        made[LOADER] = reader(LOADER, "Loader", uri=lake, **draws, **place)
    else:
        made[OURS] = reader(OURS, "Frames", uri=lake, threads=threads, **place)
    if peer:
        found = environment | environments.QUIET | {"LD_LIBRARY_PATH": libraries()}
        options = shared | {"side": side, "python": peer, "environment": found}
        made[PEER] = _faster_mode(options, trial)
    if not side:
        made[PYAV] = reader(PYAV, "PyAV", **shared, **place)
    made[BARE] = reader(BARE, "Bare", **shared, **place)
    made[RGB] = reader(RGB, "Bare", rgb=True, side=side, **shared, **place)
    return made


def _shared(result: Result, of: Films, peer: str) -> None:
    """Batches of several random clips of one film, which need the same groups of pictures."""
    how, cores = KINDS[of.kind], machine.cores()
    clips = _clips(of, BATCH)
    data.say(f"== {how.title}: {BATCH} clips of each film in a batch")
    shared: dict[str, Any] = {"paths": [str(path) for path in of.paths], "threads": cores}
    loader = {"uri": str(of.lake()), "count": BATCH, "seed": SEED, "workers": cores, "side": SIDE, "shuffle": False}
    made = {LOADER: Contender(LOADER, "video_readers", "Loader", **loader)}
    if peer:
        found = environments.QUIET | {"LD_LIBRARY_PATH": libraries()}
        made[PEER] = Contender(
            PEER, "video_readers", "TorchCodecSampler", side=SIDE, python=peer, environment=found, **shared
        )
    made[BARE] = Contender(BARE, "video_readers", "Bare", shared=True, **shared)
    made[RGB] = Contender(RGB, "video_readers", "Bare", shared=True, rgb=True, side=SIDE, **shared)
    where = f"{how.title}, {BATCH} clips of a film in a batch, {cores} cores, resized to {SIDE} x {SIDE}"
    with ExitStack() as stack:
        contenders(stack, made)
        _check(result, of, {name: one for name, one in made.items() if name != BARE}, clips[:CHECKED], SIDE, where)
        turns = race({name: Entry(one, {"clips": clips}) for name, one in made.items()}, rounds=result.rounds)
    result.watch(turns)
    frames = len(clips) * LENGTH
    for name, turn in turns.items():
        assert all(value["frames"] == frames for value in turn.values), f"{name} lost frames"
    result.tables.append(Table(where, "clips/s", "1,000 frames", _lines(turns, len(clips))))
    add = result.figures.append
    if peer:
        add(Figure(f"{where}: times torchcodec's samplers", faster(turns[LOADER], turns[PEER]), NEAR_PART))
    add(Figure(f"{where}: part of FFmpeg's decoder", faster(turns[LOADER], turns[BARE]), LIMIT_PART))
    add(Figure(f"{where}: part of decoder and swscale", faster(turns[LOADER], turns[RGB]), None))


def _faster_mode(options: dict[str, Any], clips: list[Clip]) -> Contender:
    """Returns torchcodec with tables of frames or in its approximate mode: what is faster over some clips."""
    modes = {f"{PEER}, tables of frames": True, f"{PEER}, approximate": False}
    tried = [
        Contender(name, "video_readers", "TorchCodec", mappings=mappings, **options)
        for name, mappings in list(modes.items())[: 2 if clips else 1]
    ]
    if not clips:
        return tried[0]
    cpu = [sum(one.call("run", clips=clips)["cpu"] for _ in range(3)) for one in tried]  # others disturb this least
    best = cpu.index(min(cpu))
    tried[1 - best].close()
    data.say(f"  torchcodec: tables {cpu[0]:.2f} CPU-s, approximate {cpu[1]:.2f} CPU-s")
    return tried[best]


def _check(result: Result, of: Films, made: Mapping[str, Contender], clips: list[Clip], side: int, where: str) -> None:
    """Compares frames with those that PyAV decodes from the beginning of each film.

    Planes of the limit must be the same. Pictures must be closest to the frame of their number, and close to it.
    """
    wanted = [_reference(of.paths[number], start, side) for number, start in clips]
    differences = {}
    with tempfile.TemporaryDirectory(dir=data.CACHE) as folder:
        for name, contender in made.items():
            if name == RGB:  # converted as the reference is
                continue
            path = str(Path(folder) / "clips.npy")
            contender.call("save", clips=clips, path=path)
            got = np.load(path)
            if name == BARE:
                planes = np.stack([planes for _, planes in wanted])
                assert np.array_equal(got, planes), f"{where}: planes of {name} differ from PyAV's"
                continue
            means = []
            for clip, (pictures, _) in zip(got, wanted, strict=True):
                assert clip.shape == pictures[1:-1].shape, f"{where}: {name} has clips of shape {clip.shape}"
                off = [np.abs(clip - pictures[k : k + LENGTH].astype(np.int16)).mean((1, 2, 3)) for k in range(3)]
                assert (off[1] <= np.minimum(off[0], off[2])).all(), f"{where}: {name} has other frames than PyAV"
                means.append(float(off[1].mean()))
            assert max(means) <= CLOSE, f"{where}: pixels of {name} differ by {max(means):.1f} from PyAV's"
            differences[name] = statistics.mean(means)
    text = ", ".join(f"{name} {value:.2f}" for name, value in differences.items())
    result.checks.append(f"{where}: frames are those of PyAV; mean difference of pixels: {text}; planes are equal")


def _reference(path: Path, start: int, side: int) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.uint8]]:
    """Returns pictures from one frame before a clip to one behind it, repeated at the ends, and planes of the clip."""
    import av
    from av.video.reformatter import Interpolation

    flags = Interpolation.BILINEAR | Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT
    size = {"width": side, "height": side} if side else {}
    pictures, planes = [], []
    with av.open(str(path)) as file:
        for i, frame in enumerate(file.decode(video=0)):
            if start - 1 <= i <= start + LENGTH:
                pictures.append(frame.to_ndarray(format="rgb24", interpolation=int(flags), **size).astype(np.int16))
            if start <= i < start + LENGTH:
                planes.append(frame.to_ndarray())
    if start == 0:
        pictures.insert(0, pictures[0])
    while len(pictures) < LENGTH + 2:
        pictures.append(pictures[-1])
    return np.stack(pictures), np.stack(planes)


def _lines(turns: Mapping[str, Turn], count: int) -> list[Line]:
    lines = []
    for name, turn in turns.items():
        rate = Spread.of([count / seconds for seconds in turn.seconds])
        cost = statistics.median(turn.cpu) / (count * LENGTH) * 1000
        lines.append(Line(name, rate, cost, turn.peak, f"{rate.median * LENGTH:,.0f} frames/s"))
    return lines


def _figures(result: Result, how: Kind, where: str, turns: Mapping[str, Turn]) -> None:
    mine = LOADER if LOADER in turns else OURS
    add = result.figures.append
    add(Figure(f"{where}: part of FFmpeg's decoder", faster(turns[mine], turns[BARE]), LIMIT_PART))
    add(Figure(f"{where}: the same by CPU time", thriftier(turns[mine], turns[BARE]), None))
    if PEER in turns:
        part = NEAR_PART if how.apart <= NEAR else 1.0
        add(Figure(f"{where}: times torchcodec", faster(turns[mine], turns[PEER]), part))
        add(Figure(f"{where}: times torchcodec by CPU time", thriftier(turns[mine], turns[PEER]), None))
        add(Figure(f"{where}: torchcodec, part of FFmpeg's decoder", faster(turns[PEER], turns[BARE]), None))
    if PYAV in turns:
        add(Figure(f"{where}: times PyAV", faster(turns[mine], turns[PYAV]), 1.0))
    add(Figure(f"{where}: part of decoder and swscale", faster(turns[mine], turns[RGB]), None))


def _remote(result: Result, of: Films) -> None:
    """Epochs of one clip of each film from a disk and from a store, in turns."""
    import deeplake

    lake = str(of.lake())
    clips = _clips(of, 1)
    alone = machine.cores() > 1
    with ExitStack() as stack:
        servers = stack.enter_context(Servers("s3", core=machine.cores() - 1 if alone else None))
        store = servers["s3"]
        uri = f"s3://{store.bucket()}/films"
        deeplake.copy(lake, uri, dst_storage=deeplake.Storage(**store.settings(direct=True)))
        shared = {"count": 1, "seed": SEED, "workers": 1, "side": SIDE, "environment": {"DEEPLAKE_BENCH_CORES": "1"}}
        made = {
            "deeplake, local disk": Contender("local", "video_readers", "Loader", uri=lake, **shared),
            "deeplake, S3": Contender("S3", "video_readers", "Loader", uri=uri, storage=store.settings(), **shared),
        }
        contenders(stack, made)
        turns = race({name: Entry(one) for name, one in made.items()}, call="anew", rounds=result.rounds)
        near, far = turns.values()
        result.watch({"local": near})
        lines = _lines(turns, len(clips))
        for line, turn in zip(lines, turns.values(), strict=True):
            line.note += f", first batch {statistics.median(value['first'] for value in turn.values):.2f} s"
        where = f"{len(of.paths)} films of 2 s, one core"
        result.tables.append(Table(f"{where}, local and from S3 (25 ms)", "clips/s", "1,000 frames", lines))
        rates = [_pace(b) / _pace(a) for a, b in zip(near.values, far.values, strict=True)]
        seconds = [value["first"] for value in far.values]
        add = result.figures.append
        add(Figure(f"{where}: S3 as a part of local, opening included", faster(far, near), REMOTE_PART))
        add(Figure(f"{where}: S3 as a part of local, behind the first batch", Spread.of(rates), None))
        add(Figure(f"{where}: first batch from S3, dataset just opened", Spread.of(seconds), 1.0, "less", "s"))
        _traffic(result, of, clips, store, made["deeplake, S3"], where)


def _pace(value: Mapping[str, Any]) -> float:
    """Returns the clips a second behind the first batch."""
    return float((value["frames"] / LENGTH - BATCH) / (value["total"] - value["first"]))


def _traffic(result: Result, of: Films, clips: list[Clip], store: Store, far: Contender, where: str) -> None:
    """One epoch whose requests are counted."""
    needed = sum(packet.size for number, start in clips for packet in Track.of(of.paths[number]).needed(start, LENGTH))
    store.reset()
    far.call("anew")
    seen = [one for one in store.requests() if one["method"] == "GET"]
    chunks = [one for one in seen if "/data/" in one["target"]]
    everything, bytes_ = sum(one["bytes"] for one in seen), sum(one["bytes"] for one in chunks)
    add = result.figures.append
    add(Figure(f"{where}: bytes from S3 over those of the groups", Spread.of([everything / needed]), 1.2, "less"))
    add(Figure(f"{where}: of chunks alone", Spread.of([bytes_ / needed]), None, "less"))
    add(Figure(f"{where}: requests, of chunks", Spread.of([float(len(chunks))]), None, "less"))
    add(Figure(f"{where}: requests, others", Spread.of([float(len(seen) - len(chunks))]), None, "less"))
    stored = sum(path.stat().st_size for path in of.paths)
    result.notes.append(
        f"{where}: the groups of {len(clips)} clips have {needed / 1e6:.1f} MB, the files {stored / 1e6:.1f} MB. The "
        "store and the loader have a core each."
    )


def test_video(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
