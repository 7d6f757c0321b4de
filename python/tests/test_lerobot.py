"""Datasets of LeRobot: their episodes as rows. The sets are written here as LeRobot writes them, by pyarrow and PyAV."""

from __future__ import annotations

import functools
import http.server
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from servers import send_range
from test_video import dataset, encode

FPS = 24
LENGTHS = (9, 14, 7, 11)
TASKS = ("put the cube into the box", "open the drawer")
CAMERA = "observation.images.top"
FEATURES: dict[str, dict[str, Any]] = {
    "observation.state": {"dtype": "float32", "shape": [3], "names": {"motors": ["base", "arm", "hand"]}},
    "action": {"dtype": "float32", "shape": [2, 2], "names": None},
    "next.done": {"dtype": "bool", "shape": [1], "names": None},
    CAMERA: {"dtype": "video", "shape": [64, 96, 3], "names": ["height", "width", "channels"]},
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    **{
        name: {"dtype": "int64", "shape": [1], "names": None}
        for name in ("frame_index", "episode_index", "index", "task_index")
    },
}


def starts() -> list[int]:
    return [sum(LENGTHS[:e]) for e in range(len(LENGTHS))]


def frames(e: int) -> dict[str, Any]:
    """The columns of an episode."""
    draw, n, first = np.random.default_rng(e), LENGTHS[e], starts()[e]
    return {
        "observation.state": list(draw.normal(size=(n, 3)).astype(np.float32)),
        "action": [list(row) for row in draw.normal(size=(n, 2, 2)).astype(np.float32)],
        "next.done": [i == n - 1 for i in range(n)],
        "timestamp": np.arange(n, dtype=np.float32) / np.float32(FPS),
        "frame_index": list(range(n)),
        "episode_index": [e] * n,
        "index": list(range(first, first + n)),
        "task_index": [e % 2] * n,
    }


TYPES = pa.schema(
    [
        ("observation.state", pa.list_(pa.float32(), 3)),
        ("action", pa.list_(pa.list_(pa.float32()))),
        ("next.done", pa.bool_()),
        ("timestamp", pa.float32()),
        *((name, pa.int64()) for name in ("frame_index", "episode_index", "index", "task_index")),
    ]
)


def write_table(path: Path, columns: dict[str, Any], schema: pa.Schema | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns, schema=schema), path, row_group_size=10)


def write_info(root: Path, version: str, data: str, video: str) -> None:
    info = {
        "codebase_version": version,
        "robot_type": "so100",
        "total_episodes": len(LENGTHS),
        "total_frames": sum(LENGTHS),
        "total_tasks": len(TASKS),
        "chunks_size": 1000,
        "fps": FPS,
        "splits": {"train": f"0:{len(LENGTHS)}"},
        "data_path": data,
        "video_path": video,
        "features": FEATURES,
    }
    (root / "meta").mkdir(parents=True, exist_ok=True)
    (root / "meta/info.json").write_text(json.dumps(info))


def three(root: Path) -> Path:
    """A set of version 3: two episodes in each data file, all in one film."""
    write_info(
        root,
        "v3.0",
        "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
    )
    for file in range(2):
        parts = [pa.table(frames(e), schema=TYPES) for e in (2 * file, 2 * file + 1)]
        write_table(root / f"data/chunk-000/file-{file:03d}.parquet", dict(pa.concat_tables(parts).to_pydict()), TYPES)
    first = starts()
    write_table(
        root / "meta/episodes/chunk-000/file-000.parquet",
        {
            "episode_index": list(range(len(LENGTHS))),
            "tasks": [[TASKS[e % 2]] for e in range(len(LENGTHS))],
            "length": list(LENGTHS),
            "dataset_from_index": first,
            "dataset_to_index": [a + n for a, n in zip(first, LENGTHS, strict=True)],
            "data/chunk_index": [0] * len(LENGTHS),
            "data/file_index": [0, 0, 1, 1],
            f"videos/{CAMERA}/chunk_index": [0] * len(LENGTHS),
            f"videos/{CAMERA}/file_index": [0] * len(LENGTHS),
            f"videos/{CAMERA}/from_timestamp": [a / FPS for a in first],
            f"videos/{CAMERA}/to_timestamp": [(a + n) / FPS for a, n in zip(first, LENGTHS, strict=True)],
            "stats/action/mean": [[0.0]] * len(LENGTHS),
        },
    )
    write_table(root / "meta/tasks.parquet", {"task_index": [0, 1], "__index_level_0__": list(TASKS)})
    (root / "meta/stats.json").write_text(json.dumps({"action": {"mean": [[0.5, 1], [2, 3]], "count": [41]}}))
    film = root / f"videos/{CAMERA}/chunk-000/file-000.mp4"
    film.parent.mkdir(parents=True)
    encode(film, frames=sum(LENGTHS), g="2", bf="0")
    return root


def two(root: Path) -> Path:
    """A set of version 2.1: a data file and a film for each episode."""
    write_info(
        root,
        "v2.1",
        "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
    )
    films = root / f"videos/chunk-000/{CAMERA}"
    films.mkdir(parents=True)
    lines = []
    for e, n in enumerate(LENGTHS):
        write_table(root / f"data/chunk-000/episode_{e:06d}.parquet", frames(e), TYPES)
        encode(films / f"episode_{e:06d}.mp4", frames=n, g="2", bf="0")
        lines.append(json.dumps({"episode_index": e, "tasks": [TASKS[e % 2]], "length": n}))
    (root / "meta/episodes.jsonl").write_text("\n".join(lines) + "\n")
    tasks = [json.dumps({"task_index": i, "task": task}) for i, task in enumerate(TASKS)]
    (root / "meta/tasks.jsonl").write_text("\n".join(tasks) + "\n")
    return root


@pytest.fixture(scope="module", params=[three, two])
def robots(request, tmp_path_factory) -> Path:
    return request.param(tmp_path_factory.mktemp("robots"))


def film_of(root: Path, e: int) -> tuple[Path, int]:
    """The film of an episode, and the number of its first frame there."""
    if (root / "meta/tasks.parquet").exists():
        return root / f"videos/{CAMERA}/chunk-000/file-000.mp4", starts()[e]
    return root / f"videos/chunk-000/{CAMERA}/episode_{e:06d}.mp4", 0


def pictures(path: Path) -> np.ndarray:
    """All frames of a film, as they are read from the whole file: test_video.py compares them with FFmpeg."""
    with dataset(path, place="mem://whole") as ds:
        return ds["video"][0].frames()


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "deeplake", *arguments], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("link", [False, True])
def test_episodes_are_rows(robots, link, tmp_path):
    ds = deeplake.ingest(robots, tmp_path / "robot.lake", link=link, verbose=False)
    assert len(ds) == len(LENGTHS) and ds["episode_index"][:].tolist() == [0, 1, 2, 3]
    assert ds.info["fps"] == FPS and ds.info["robot_type"] == "so100"
    assert ds["observation.state"].info["names"] == {"motors": ["base", "arm", "hand"]}
    assert ds["task_index"].info["tasks"] == list(TASKS)
    films = sum(path.stat().st_size for path in robots.rglob("*.mp4"))
    copied = max(path.stat().st_size for path in (tmp_path / "robot.lake").rglob("*") if path.is_file())
    assert copied < films / 4 if link else copied > films / 2
    for e, n in enumerate(LENGTHS):
        want = frames(e)
        for name in want:
            if name == "episode_index":
                continue
            got = ds[name][e]
            assert got.dtype == FEATURES[name]["dtype"]
            assert np.array_equal(got, np.array(want[name], got.dtype)), name
        assert ds["task"][e] == TASKS[e % 2]
        path, first = film_of(robots, e)
        film = ds[CAMERA][e]
        assert len(film) == n and np.allclose(film.times, np.arange(n) / FPS, atol=1e-6)
        got, decoded = film.frames(), pictures(path)[first : first + n]
        assert np.array_equal(got, decoded)


def test_windows_have_the_frames_of_lerobot(robots, tmp_path):
    ds = deeplake.ingest(robots, tmp_path / "robot.lake", link=True, verbose=False)
    view = ds.windows({CAMERA: [-1 / FPS, 0], "action": [0, 1 / FPS, 2 / FPS], "observation.state": 0}, fps=FPS)
    assert len(view) == sum(LENGTHS)
    row = starts()[1] + 3
    want = frames(1)
    assert np.array_equal(view["observation.state"][row], want["observation.state"][3])
    assert np.array_equal(view["action"][row], np.array(want["action"][3:6], np.float32))
    assert view["task"][row] == TASKS[1]
    path, first = film_of(robots, 1)
    decoded = pictures(path)[[first + 2, first + 3]]
    assert np.array_equal(view[CAMERA][row], decoded)
    batch = next(iter(view.batches(8, tensors=[CAMERA, "action"], shuffle=True)))
    assert batch[CAMERA].shape == (8, 2, 64, 96, 3)


def test_moments_of_all_features(robots, tmp_path):
    ds = deeplake.ingest(robots, tmp_path / "robot.lake", link=True, verbose=False)
    view = ds.windows({CAMERA: [-1 / FPS, 0], "action": [0, 1 / FPS]}, others="frame")  # fps is in the info
    seen = 0
    for batch in view.pytorch(batch_size=8):
        for i, index in enumerate(batch["index"].tolist()):
            e = int(batch["episode_index"][i])
            want, frame = frames(e), index - starts()[e]
            assert int(batch["frame_index"][i]) == frame and batch["task"][i] == TASKS[e % 2]
            assert np.array_equal(batch["observation.state"][i], want["observation.state"][frame])
            assert bool(batch["next.done"][i]) == want["next.done"][frame]
            assert float(batch["timestamp"][i]) == want["timestamp"][frame]
            assert batch["action_is_pad"][i].tolist() == [False, frame + 1 == LENGTHS[e]]
            seen += 1
    assert seen == sum(LENGTHS)
    with pytest.raises(deeplake.InvalidArgumentError, match='"episode" or "frame"'):
        ds.windows({"action": 0}, others="all")


def test_the_command(robots, tmp_path):
    place = tmp_path / "robot.lake"
    done = cli("create", str(place), f"from-{robots}", "--link", "--columns", f"action,{CAMERA}")
    assert done.returncode == 0 and "4 rows" in done.stdout, done.stderr
    with deeplake.open(place) as ds:
        assert list(ds.tensors) == ["episode_index", "task", "action", CAMERA]
    done = cli("create", str(place), f"from-{robots}", "--link", "--columns", f"action,{CAMERA}")
    assert "4 episodes were known" in done.stdout, done.stdout + done.stderr
    for arguments, says in (
        (["--columns", "actoin"], 'there is no feature "actoin"; did you mean "action"?'),
        (["--labels", "none"], "labels is not for episodes"),
        (["--decode"], "compression is not for episodes"),
        (["--format", "lerobot", "--masks"], "masks is not for episodes"),
        (["--columns", "action=embedding"], "schema is not for episodes"),
    ):
        done = cli("create", str(tmp_path / "other"), f"from-{robots}", *arguments)
        assert done.returncode != 0 and says in done.stderr, done.stderr
    assert not (tmp_path / "other").exists()


def test_some_episodes(robots, tmp_path):
    ds = deeplake.ingest(robots, tmp_path / "some", episodes=range(1, 3), link=True, verbose=False)
    assert ds["episode_index"][:].tolist() == [1, 2] and ds["task"][:] == [TASKS[1], TASKS[0]]
    path, first = film_of(robots, 2)
    assert np.array_equal(ds[CAMERA][1].frames(), pictures(path)[first : first + LENGTHS[2]])
    for episodes, says in (
        ([7, 0], "there is no episode 7; the 4 episodes have numbers from 0 to 3"),
        ([], "episodes is empty"),
        ("0-2", "episodes is '0-2', want integers"),
        ([1.5], r"episodes is \[1.5\], want integers"),
        ([1 << 63], "episodes has 9223372036854775808, which is beyond 64 bits"),
    ):
        with pytest.raises(deeplake.Error, match=says):
            deeplake.ingest(robots, tmp_path / "none", episodes=episodes, verbose=False)
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(deeplake.InvalidArgumentError, match="episodes are of LeRobot"):
        deeplake.ingest(tmp_path / "table.csv", tmp_path / "none", episodes=[0], verbose=False)
    with pytest.raises(deeplake.InvalidArgumentError, match=r"episodes .* are of files; got no path"):
        deeplake.ingest({"a": [1]}, tmp_path / "none", episodes=[0], verbose=False)
    assert not (tmp_path / "none").exists()

    place = tmp_path / "robot.lake"
    done = cli("create", str(place), f"from-{robots}", "--episodes", "3, 0-1")
    assert done.returncode == 0 and "3 rows" in done.stdout, done.stderr
    done = cli("create", str(place), f"from-{robots}")
    assert "1 rows added, 0 replaced; 3 episodes were known" in done.stdout, done.stdout + done.stderr
    with deeplake.open(place) as ds:
        assert ds["episode_index"][:].tolist() == [0, 1, 3, 2]
    for given in ("1-", "a", "-1", "5-2", "1,,2", "9" * 50, "0-99999999999"):
        done = cli("create", str(tmp_path / "none"), f"from-{robots}", "--episodes", given)
        assert done.returncode == 2 and "--episodes: " in done.stderr, done.stderr


def test_damaged_episodes_are_left_out(tmp_path):
    root = two(tmp_path / "robots")
    (root / f"videos/chunk-000/{CAMERA}/episode_000001.mp4").write_bytes(b"")
    encode(root / f"videos/chunk-000/{CAMERA}/episode_000002.mp4", frames=LENGTHS[2] - 2, g="2", bf="0")
    with (root / "meta/episodes.jsonl").open("a") as file:
        file.write(json.dumps({"episode_index": 4, "length": 5}) + "\n")
    done = cli("create", str(tmp_path / "lake"), f"from-{root}", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["format"] == "lerobot" and report["rows"] == 2 and report["skipped"] == 3
    assert [(Path(skip["path"]).name, skip["reason"].split(":")[0]) for skip in report["skips"]] == [
        ("episode_000001.mp4", "episode 1"),
        ("episode_000002.mp4", "episode 2"),
        ("episode_000004.parquet", "episode 4"),
    ]
    assert "total_frames is 41" in json.dumps(report["warnings"])
    shown = cli("create", str(tmp_path / "lake"), f"from-{root}", "--overwrite").stdout
    assert "3 episodes were left out:" in shown and "2 warnings:" in shown
    with pytest.raises(deeplake.InvalidArgumentError, match="episode 1: the file is empty"):
        deeplake.ingest(root, tmp_path / "none", on_error="raise", verbose=False)
    assert not deeplake.exists(tmp_path / "none")


class Files(http.server.SimpleHTTPRequestHandler):
    """A web server with ranges, which lists nothing."""

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if path.is_file():
            send_range(self, path.read_bytes(), {"ETag": f'"{path.stat().st_mtime_ns}"'})
        else:
            self.send_error(404)

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("link", [False, True])
def test_a_web_server(robots, link, tmp_path):
    handler = functools.partial(Files, directory=str(robots.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        try:
            ds = deeplake.ingest(
                f"{address}/{robots.name}", tmp_path / "lake", format="lerobot", link=link, verbose=False
            )
            assert len(ds) == len(LENGTHS)
            assert np.array_equal(ds["observation.state"][2], np.array(frames(2)["observation.state"]))
            with deeplake.open(tmp_path / "lake", link_storage={address: deeplake.Storage()}) as again:
                assert again[CAMERA][3].frames().shape == (LENGTHS[3], 64, 96, 3)
        finally:
            server.shutdown()
