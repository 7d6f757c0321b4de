"""LeRobot datasets made from code alone: the same episodes in the layouts v3.0 and v2.1, with two cameras.

Every picture carries its number: the index of its frame in the dataset and the number of its camera are bits, shown as
blocks of 16 x 16 pixels, black or white, from the upper left corner on. `numbers` reads them out of decoded pictures,
so a test sees which frame it was given, however the colours were converted.

python benchmarks/lerobot_data.py FOLDER [--codec h264] [--episodes N] [--seconds S] writes FOLDER/v3.0 and FOLDER/v2.1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import data
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

CAMERAS = ("observation.images.top", "observation.images.wrist")
TASKS = ("Put the cube into the box.", "Open the drawer.")
JOINTS = ("base", "shoulder", "elbow", "wrist", "hand", "gripper")
BLOCK = 16  # pixels of the side of a bit
BITS, CAMERA_BITS = 16, 4  # of the number of a frame, and of that of a camera
SCENES = ("coffee", "motorcycle", "rocket", "china", "flower", "astronaut", "chelsea", "hubble")
# As LeRobot writes: key frames 2 apart, its quality, its preset.
CODECS = {
    "av1": ("libsvtav1", {"g": "2", "crf": "30", "preset": "12"}),
    "h264": ("libx264", {"g": "2", "crf": "30"}),
}
_ADDED = {"timestamp": "float32", "frame_index": "int64", "episode_index": "int64", "index": "int64"}

Layout = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What a dataset holds. The files of layout v3.0 end after so many episodes, which is what small sizes do there."""

    lengths: tuple[int, ...]  # frames of each episode
    codec: str = "av1"
    fps: int = 30
    width: int = 640
    height: int = 480
    scenes: bool = True  # photographs with a camera's noise, else plain colours
    data_episodes: int = 4  # in a file of rows
    video_episodes: int = 3  # in a file of a camera
    meta_episodes: int = 5  # in a file of metadata
    chunk_files: int = 2  # in a folder
    # As LeRobot 0.4 converts v2.1: lists of any length, and data/file_index is one too low where a
    # file begins.
    converted: bool = False

    @classmethod
    def uneven(cls, episodes: int, frames: int, **rest: Any) -> Plan:
        """Episodes of about so many frames, no two neighbours alike."""
        draw = np.random.default_rng(episodes * frames)
        return cls(tuple(int(n) for n in draw.integers(max(frames * 2 // 3, 2), frames * 4 // 3 + 1, episodes)), **rest)

    @property
    def starts(self) -> list[int]:
        """The index of the first frame of each episode."""
        return [0, *np.cumsum(self.lengths).tolist()[:-1]]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The index of the first frame of each episode, and that behind its last one."""
        return [(start, start + length) for start, length in zip(self.starts, self.lengths, strict=True)]

    @property
    def frames(self) -> int:
        return sum(self.lengths)

    def task(self, episode: int) -> int:
        return episode % len(TASKS)


def lerobot(name: str, plan: Plan) -> Path:
    """Returns a folder with the dataset of a plan in `v3.0` and `v2.1`, made first where it is not there."""
    root = data.CACHE / f"lerobot-{name}"
    wanted = json.dumps(asdict(plan))
    stamp = root / "plan.json"
    if not stamp.exists() or stamp.read_text() != wanted:
        data.say(f"making {len(plan.lengths)} LeRobot episodes, {plan.frames:,} frames of {len(CAMERAS)} cameras")
        partly = root.with_name(f"{root.name}.new")
        for stale in (partly, root):
            shutil.rmtree(stale, ignore_errors=True)
        write(partly, plan)
        partly.rename(root)
        stamp.write_text(wanted)
    return root


def write(folder: Path, plan: Plan) -> None:
    """Writes the episodes of a plan into `folder/v2.1`, and what LeRobot makes of them into `folder/v3.0`."""
    old, new = folder / "v2.1", folder / "v3.0"
    # In a process of its own: SVT-AV1 gives the process real-time priority, where it may.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for episode in range(len(plan.lengths)):
            for camera in range(len(CAMERAS)):
                target = old / _old_video(CAMERAS[camera], episode)
                target.parent.mkdir(parents=True, exist_ok=True)
                pool.submit(_encode, plan, episode, camera, target).result()
    tables = [_rows(plan, episode) for episode in range(len(plan.lengths))]
    stats = [_statistics(plan, episode, table) for episode, table in enumerate(tables)]
    _write_old(old, plan, tables, stats)
    _write_new(new, old, plan, tables, stats)


def numbers(pictures: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns the numbers of the frames and of the cameras that pictures (..., height, width, 3) show."""
    across = pictures.shape[-2] // BLOCK
    quarter = BLOCK // 4  # the borders of a block are those that coding blurs
    frame, camera = np.zeros((2, *pictures.shape[:-3]), np.int64)
    for bit in range(BITS + CAMERA_BITS):
        down, right = bit // across * BLOCK, bit % across * BLOCK
        inner = pictures[..., down + quarter : down + BLOCK - quarter, right + quarter : right + BLOCK - quarter, :]
        shown = (inner.mean((-3, -2, -1)) > 127).astype(np.int64)
        if bit < BITS:
            frame |= shown << bit
        else:
            camera |= shown << (bit - BITS)
    return frame, camera


def values(plan: Plan, episode: int) -> dict[str, npt.NDArray[Any]]:
    """Returns the features of an episode that are no videos, an entry for each frame."""
    frames, draw = plan.lengths[episode], np.random.default_rng([episode, 1])
    path = np.cumsum(draw.normal(0, 0.02, (frames + 1, len(JOINTS))), axis=0).astype(np.float32)
    at = np.arange(frames)
    return {
        "observation.state": path[:-1],
        "action": path[1:],
        "next.reward": draw.random(frames).astype(np.float32),
        "next.done": at == frames - 1,
        "timestamp": (at / plan.fps).astype(np.float32),
        "frame_index": at,
        "episode_index": np.full(frames, episode),
        "index": at + plan.starts[episode],
        "task_index": np.full(frames, plan.task(episode)),
    }


def _old_video(camera: str, episode: int) -> str:
    return f"videos/chunk-000/{camera}/episode_{episode:06d}.mp4"


def _rows(plan: Plan, episode: int) -> pa.Table:
    columns = {}
    for name, of in values(plan, episode).items():
        column = pa.array(of.reshape(-1))
        columns[name] = pa.FixedSizeListArray.from_arrays(column, of.shape[1]) if of.ndim == 2 else column
    return pa.table(columns)


def _loose(table: pa.Table) -> pa.Table:
    """Returns a table with lists of any length, as it comes from pandas."""
    kinds = [pa.list_(of.type.value_type) if pa.types.is_fixed_size_list(of.type) else of.type for of in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


def _features(plan: Plan, old: bool) -> Layout:
    """Returns `features` of info.json."""
    out: Layout = {}
    for name in ("observation.state", "action"):
        out[name] = {"dtype": "float32", "shape": [len(JOINTS)], "names": list(JOINTS)}
    info = {
        "video.height": plan.height,
        "video.width": plan.width,
        "video.codec": plan.codec,
        "video.pix_fmt": "yuv420p",
        "video.is_depth_map": False,
        "video.fps": plan.fps,
        "video.channels": 3,
        "has_audio": False,
    }
    for camera in CAMERAS:
        names = ["height", "width", "channels"]
        out[camera] = {"dtype": "video", "shape": [plan.height, plan.width, 3], "names": names, "info": info}
    out["next.reward"] = {"dtype": "float32", "shape": [1], "names": None}
    out["next.done"] = {"dtype": "bool", "shape": [1], "names": None}
    for name, dtype in (_ADDED | {"task_index": "int64"}).items():
        out[name] = {"dtype": dtype, "shape": [1], "names": None}
    if not old:  # the conversion adds this to all but videos
        for about in out.values():
            if about["dtype"] != "video":
                about["fps"] = plan.fps
    return out


def _write_old(root: Path, plan: Plan, tables: list[pa.Table], stats: list[Layout]) -> None:
    """Writes rows and metadata of layout v2.1: files of one episode, metadata by line."""
    meta, rows = root / "meta", root / "data" / "chunk-000"
    for place in (meta, rows):
        place.mkdir(parents=True, exist_ok=True)
    for episode, table in enumerate(tables):
        pq.write_table(table, rows / f"episode_{episode:06d}.parquet")
    episodes = [
        {"episode_index": i, "tasks": [TASKS[plan.task(i)]], "length": length} for i, length in enumerate(plan.lengths)
    ]
    _lines(meta / "episodes.jsonl", episodes)
    _lines(meta / "tasks.jsonl", [{"task_index": i, "task": task} for i, task in enumerate(TASKS)])
    _lines(meta / "episodes_stats.jsonl", [{"episode_index": i, "stats": one} for i, one in enumerate(stats)])
    info = {
        "codebase_version": "v2.1",
        "robot_type": "so100",
        "total_episodes": len(tables),
        "total_frames": plan.frames,
        "total_tasks": len(TASKS),
        "total_videos": len(tables) * len(CAMERAS),
        "total_chunks": 1,
        "chunks_size": 1000,
        "fps": plan.fps,
        "splits": {"train": f"0:{len(tables)}"},
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
        "features": _features(plan, True),
    }
    (meta / "info.json").write_text(json.dumps(info, indent=4))


def _lines(path: Path, values: list[Layout]) -> None:
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values))


def _write_new(root: Path, old: Path, plan: Plan, tables: list[pa.Table], stats: list[Layout]) -> None:
    """Writes layout v3.0: many episodes in a file, joined without coding them again."""
    episodes: list[Layout] = []
    for i, (length, start) in enumerate(zip(plan.lengths, plan.starts, strict=True)):
        named = max(i - 1, 0) if plan.converted else i
        episodes.append({"episode_index": i, "tasks": [TASKS[plan.task(i)]], "length": length})
        episodes[i] |= _place("data", plan, named // plan.data_episodes)
        episodes[i] |= {"dataset_from_index": start, "dataset_to_index": start + length}
    for number, part in enumerate(_parts(tables, plan.data_episodes)):
        path = root / _file("data", plan, number, "parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(_loose(pa.concat_tables(part)) if plan.converted else pa.concat_tables(part), path)
    for camera in CAMERAS:
        films = [old / _old_video(camera, i) for i in range(len(tables))]
        for number, paths in enumerate(_parts(films, plan.video_episodes)):
            path = root / "videos" / _file(camera, plan, number, "mp4")
            path.parent.mkdir(parents=True, exist_ok=True)
            _join(paths, path)
            begin = 0.0
            for offset, film in enumerate(paths):
                end = begin + _seconds(film)
                entry = episodes[number * plan.video_episodes + offset]
                entry |= _place(f"videos/{camera}", plan, number)
                entry |= {f"videos/{camera}/from_timestamp": begin, f"videos/{camera}/to_timestamp": end}
                begin = end
    for number, group in enumerate(_parts(list(zip(episodes, stats, strict=True)), plan.meta_episodes)):
        path = root / "meta" / _file("episodes", plan, number, "parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        flat = [{**entry, **_flat(of, "stats"), **_place("meta/episodes", plan, number)} for entry, of in group]
        pq.write_table(pa.Table.from_pylist(flat), path)
    _write_tasks(root / "meta" / "tasks.parquet")
    (root / "meta" / "stats.json").write_text(json.dumps(_aggregate(stats), indent=4))
    info = {
        "codebase_version": "v3.0",
        "robot_type": "so100",
        "total_episodes": len(tables),
        "total_frames": plan.frames,
        "total_tasks": len(TASKS),
        "chunks_size": plan.chunk_files,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": plan.fps,
        "splits": {"train": f"0:{len(tables)}"},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
        "features": _features(plan, False),
    }
    (root / "meta" / "info.json").write_text(json.dumps(info, indent=4))


def _parts(of: list[Any], size: int) -> list[list[Any]]:
    return [of[i : i + size] for i in range(0, len(of), size)]


def _place(kind: str, plan: Plan, number: int) -> Layout:
    chunk, file = divmod(number, plan.chunk_files)
    return {f"{kind}/chunk_index": chunk, f"{kind}/file_index": file}


def _file(kind: str, plan: Plan, number: int, extension: str) -> str:
    chunk, file = divmod(number, plan.chunk_files)
    return f"{kind}/chunk-{chunk:03d}/file-{file:03d}.{extension}"


def _write_tasks(path: Path) -> None:
    """Writes what pandas writes of a table whose index is the tasks."""
    import pandas

    pandas.DataFrame({"task_index": range(len(TASKS))}, index=list(TASKS)).to_parquet(path)


def _statistics(plan: Plan, episode: int, rows: pa.Table) -> Layout:
    """Returns the statistics of an episode by feature; those of pictures are of channels, over a few of them."""
    out: Layout = {}
    for name, of in values(plan, episode).items():
        out[name] = _summary(of.reshape(len(of), -1).astype(np.float64), len(rows))
    for camera, name in enumerate(CAMERAS):
        seen = [picture[::4, ::4].reshape(-1, 3) for picture in islice(_pictures(plan, episode, camera), 4)]
        found = _summary(np.concatenate(seen) / 255.0, len(seen))
        out[name] = {key: [[[one]] for one in value] if key != "count" else value for key, value in found.items()}
    return out


def _summary(of: npt.NDArray[np.float64], count: int) -> Layout:
    found = {"min": of.min(0), "max": of.max(0), "mean": of.mean(0), "std": of.std(0)}
    found |= {f"q{part:02d}": np.quantile(of, part / 100, axis=0) for part in (1, 10, 50, 90, 99)}
    return {key: value.tolist() for key, value in found.items()} | {"count": [count]}


def _aggregate(stats: list[Layout]) -> Layout:
    """Returns the statistics of all episodes, as LeRobot joins them: quantiles are means."""
    out: Layout = {}
    for name in stats[0]:
        counts = np.array([one[name]["count"][0] for one in stats], np.float64)
        weights = counts / counts.sum()
        of = {key: np.array([one[name][key] for one in stats]) for key in stats[0][name] if key != "count"}
        by = {key: np.tensordot(weights, value, 1) for key, value in of.items()}
        spread = np.tensordot(weights, of["std"] ** 2 + (of["mean"] - by["mean"]) ** 2, 1)
        by |= {"min": of["min"].min(0), "max": of["max"].max(0), "std": np.sqrt(spread)}
        out[name] = {key: value.tolist() for key, value in by.items()} | {"count": [int(counts.sum())]}
    return out


def _flat(of: Layout, above: str) -> Layout:
    out: Layout = {}
    for key, value in of.items():
        out |= _flat(value, f"{above}/{key}") if isinstance(value, dict) else {f"{above}/{key}": value}
    return out


def _encode(plan: Plan, episode: int, camera: int, target: Path) -> None:
    """Writes the film of one camera of one episode."""
    os.environ["SVT_LOG"] = "1"  # errors alone
    import av

    codec, options = CODECS[plan.codec]
    with av.open(str(target), "w") as file:
        stream = file.add_stream(codec, rate=Fraction(plan.fps), options=options)
        stream.width, stream.height, stream.pix_fmt = plan.width, plan.height, "yuv420p"
        for picture in _pictures(plan, episode, camera):
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        file.mux(stream.encode())


def _pictures(plan: Plan, episode: int, camera: int) -> Iterator[npt.NDArray[np.uint8]]:
    """Yields the pictures of a camera that moves slowly, with their numbers."""
    draw = np.random.default_rng([episode, camera, 2])
    height, width, room = plan.height, plan.width, 64
    tall, wide = height + room, width + room
    if plan.scenes:
        import cv2

        photo = data.photograph(SCENES[(2 * episode + camera) % len(SCENES)])
        photo = cv2.resize(photo, None, fx=2, fy=2, interpolation=cv2.INTER_LINEAR)  # as soft as a cheap camera
        down, right = max(tall - photo.shape[0], 0), max(wide - photo.shape[1], 0)
        scene = np.pad(photo, ((0, down), (0, right), (0, 0)), "symmetric")[:tall, :wide].astype(np.int16)
        noise = draw.normal(0, 2, (tall, wide, 3)).round().astype(np.int16)
    else:
        scene = np.full((tall, wide, 3), draw.integers(64, 192, 3), np.int16)
        scene += np.linspace(0, 48, wide, dtype=np.int16)[:, None]
        noise = np.zeros_like(scene)
    phase, pace = draw.uniform(0, 2 * np.pi, 2), draw.uniform(0.5, 1.0, 2) * 2 * np.pi / (8 * plan.fps)
    for i in range(plan.lengths[episode]):
        down, right = (room * (1 + np.sin(phase + pace * i)) / 2).astype(int).tolist()
        other = draw.integers(0, room, 2).tolist()
        picture = scene[down : down + height, right : right + width]
        picture = picture + noise[other[0] : other[0] + height, other[1] : other[1] + width]
        yield _numbered(np.clip(picture, 0, 255).astype(np.uint8), plan.starts[episode] + i, camera)


def _numbered(picture: npt.NDArray[np.uint8], frame: int, camera: int) -> npt.NDArray[np.uint8]:
    across = picture.shape[1] // BLOCK
    assert frame < 1 << BITS, f"frame {frame} has a number of more than {BITS} bits"
    assert across * (picture.shape[0] // BLOCK) >= BITS + CAMERA_BITS, f"pictures of {picture.shape} are too small"
    shown = frame | camera << BITS
    for bit in range(BITS + CAMERA_BITS):
        down, right = bit // across * BLOCK, bit % across * BLOCK
        picture[down : down + BLOCK, right : right + BLOCK] = 255 if shown >> bit & 1 else 0
    return picture


def _join(paths: list[Path], target: Path) -> None:
    """Joins films as LeRobot does: FFmpeg's concat demuxer, packets copied, the index in front."""
    import av

    names = target.with_suffix(".ffconcat")
    names.write_text("ffconcat version 1.0\n" + "".join(f"file '{path.resolve()}'\n" for path in paths))
    with (
        av.open(str(names), format="concat", options={"safe": "0"}) as source,
        av.open(str(target), "w", options={"movflags": "faststart"}) as file,
    ):
        stream = file.add_stream_from_template(source.streams.video[0], opaque=True)
        stream.time_base = source.streams.video[0].time_base
        for packet in source.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                file.mux(packet)
    names.unlink()


def _seconds(path: Path) -> float:
    import av

    with av.open(str(path)) as file:
        stream = file.streams.video[0]
        assert stream.duration is not None and stream.time_base is not None
        return float(stream.duration * stream.time_base)


def main() -> None:
    parser = argparse.ArgumentParser(description="writes a LeRobot dataset in the layouts v3.0 and v2.1")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--codec", choices=list(CODECS), default="av1")
    parser.add_argument("--episodes", type=int, default=11)
    parser.add_argument("--frames", type=int, default=45, help="of an episode, about")
    parser.add_argument("--fps", type=int, default=30)
    parser.add_argument("--size", type=int, nargs=2, default=(640, 480), metavar=("WIDTH", "HEIGHT"))
    parser.add_argument("--plain", action="store_true", help="plain colours in place of photographs")
    parser.add_argument("--converted", action="store_true", help="with the faults of LeRobot's old conversions")
    given = parser.parse_args()
    width, height = given.size
    rest = {"codec": given.codec, "fps": given.fps, "width": width, "height": height, "converted": given.converted}
    write(given.folder, Plan.uneven(given.episodes, given.frames, scenes=not given.plain, **rest))


if __name__ == "__main__":
    main()
