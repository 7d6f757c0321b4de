"""Windows of episodes. The oracle is NumPy over lists of dicts, and LeRobot's rule for times."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest
from conftest import host
from deeplake import transforms
from test_video import encode

FPS = 24
Episode = dict[str, Any]


@pytest.fixture(scope="module")
def films(tmp_path_factory) -> dict[int, Path]:
    folder = tmp_path_factory.mktemp("films")
    return {frames: encode(folder / f"{frames}.mp4", frames=frames, g="6") for frames in (9, 14)}


def episode(draw: np.random.Generator, frames: int, films: dict[int, Path] | None = None) -> Episode:
    """One row: states, rewards, pictures and words by frame, and a task."""
    made: Episode = {
        "state": draw.normal(size=(frames, 3)).astype(np.float32),
        "reward": draw.normal(size=frames),
        "pictures": [draw.integers(0, 255, (4, 6, 3), dtype=np.uint8) for _ in range(frames)],
        "words": [f"word {draw.integers(9)}" for _ in range(frames)],
        "task": f"task {draw.integers(5)}",
    }
    if films:
        made["camera"] = deeplake.read(films[frames])
    return made


def dataset(
    place: str, episodes: list[Episode], *, chunk_bytes: int = 1 << 20, compression: str = "lz4"
) -> deeplake.Dataset:
    """A dataset of episodes, a commit in their middle."""
    ds = deeplake.create(place, overwrite=True)
    if "camera" in episodes[0]:
        ds.create_tensor("camera", "video")
    ds.create_tensor("state", dtype="float32", compression=compression, chunk_bytes=chunk_bytes)
    ds.create_tensor("reward", dtype="float64", chunk_bytes=chunk_bytes)
    ds.create_tensor("pictures", "sequence[image]", compression="png", chunk_bytes=chunk_bytes)
    ds.create_tensor("words", "sequence[text]")
    ds.create_tensor("task", "text")
    for i, row in enumerate(episodes):
        ds.append(row)
        if i == len(episodes) // 2:
            ds.commit()
    ds.commit()
    return ds


def windows(episodes: list[Episode], deltas: dict[str, Any], step: int = 1) -> list[Episode]:
    """The windows of episodes: entries clamp to the ends, as in LeRobot."""
    out = []
    for row in episodes:
        frames = len(row["reward"])
        for frame in range(0, frames, step):
            window = {**row, "frame_index": np.int64(frame)}
            for name, times in deltas.items():
                at = frame + np.round(np.asarray(times) * FPS).astype(int)
                inside = np.clip(at, 0, frames - 1)
                entries = np.asarray(row[name], dtype=object if isinstance(row[name][0], str) else None)
                window[name] = entries[inside]
                if at.ndim:
                    window[f"{name}_is_pad"] = (at < 0) | (at >= frames)
            out.append(window)
    return out


def same(got: Any, want: Any) -> bool:
    if isinstance(want, str):
        return bool(got == want)
    return np.asarray(got).dtype == np.asarray(want).dtype and np.array_equal(got, want)


@pytest.mark.parametrize("seed", range(8))
def test_against_numpy(place, seed):
    """Whatever chunks, codecs and times: rows are those of the oracle, singly and from a loader."""
    draw = np.random.default_rng(seed)
    episodes = [episode(draw, int(draw.integers(1, 30))) for _ in range(draw.integers(1, 7))]
    deltas: dict[str, Any] = {
        name: draw.integers(-20, 20, draw.integers(1, 6)) / FPS for name in ("state", "pictures", "reward")
    }
    deltas["words"] = int(draw.integers(-3, 3)) / FPS
    deltas["reward"] = 0 if seed % 2 else deltas["reward"].tolist()
    step = int(draw.integers(1, 4))
    options = {
        "chunk_bytes": int(draw.choice([4096, 1 << 20])),
        "compression": str(draw.choice(["none", "lz4", "zstd"])),
    }
    with dataset(place, episodes, **options) as ds:
        view = ds.windows(deltas, fps=FPS, step=step)
        want = windows(episodes, deltas, step)
        names = list(want[0])
        assert len(view) == len(want) and set(view.tensors) == set(names)
        changed = [*deltas, *(name for name in names if name.endswith("_is_pad")), "task", "frame_index"]
        assert view["state"].shape == (len(deltas["state"]), 3) and view["words"].htype == "text"
        assert isinstance(view["state"].numpy(), np.ndarray) and view["frame_index"].dtype == "int64"
        for i, row in enumerate(want):
            assert all(same(view[name][i], row[name]) for name in changed), i
        got = [
            {name: batch[name][k] if name in ("task", "words") else np.asarray(batch[name][k]) for name in changed}
            for batch in view.batches(batch_size=7, tensors=changed)
            for k in range(len(batch["task"]))
        ]
        assert all(same(a[name], b[name]) for a, b in zip(got, want, strict=True) for name in changed)


def test_videos_of_episodes(films):
    """Cameras and states of one moment: in order, shuffled, by ranks, and resumed."""
    host("torch")
    draw = np.random.default_rng(1)
    episodes = [episode(draw, frames, films) for frames in (9, 14, 9)]
    deltas = {"camera": [-2 / FPS, 0, 1 / FPS], "state": [0, 3 / FPS], "reward": 0}
    with dataset("mem://windows-videos", episodes) as ds:
        view = ds.windows(deltas, fps=FPS)
        whole = [{**row, "camera": ds["camera"][i].frames()} for i, row in enumerate(episodes)]
        want = windows(whole, deltas)
        assert len(view) == 32 and view["camera"][0].shape == (3, 64, 96, 3)
        for i in (0, 1, 8, 9, 22, 31):
            assert all(same(view[name][i], want[i][name]) for name in ("camera", "camera_is_pad", "state", "reward"))

        def keys(batches: Any) -> list[bytes]:
            return [
                np.asarray(batch["state"][k]).tobytes() + np.asarray(batch["camera"][k]).tobytes()
                for batch in batches
                for k in range(len(batch["reward"]))
            ]

        options = {"batch_size": 5, "tensors": ["camera", "camera_is_pad", "state", "reward"]}
        rows = sorted(row["state"].tobytes() + row["camera"].tobytes() for row in want)
        for shuffle in (False, True, "full"):
            loader = view.pytorch(shuffle=shuffle, seed=2, **options)
            assert sorted(keys(loader)) == rows
            some, state = [], None
            first = view.pytorch(shuffle=shuffle, seed=2, **options)
            for i, batch in enumerate(first):
                some.append(batch)
                if i == 2:
                    state = first.state_dict()
                    break
            rest = view.pytorch(shuffle=shuffle, seed=2, **options)
            rest.load_state_dict(state)
            assert sorted(keys(some) + keys(rest)) == rows
            ranks = [view.pytorch(shuffle=shuffle, seed=2, rank=rank, world_size=2, **options) for rank in range(2)]
            assert sorted(keys(ranks[0]) + keys(ranks[1])) == rows
        small = view.pytorch(transform={"camera": [transforms.Resize((32, 48))]}, **options)
        assert next(iter(small))["camera"].shape == (5, 3, 32, 48, 3)
        one = ds.windows({"camera": 0, "reward": 0}, fps=FPS)
        assert one["camera"].htype == "image.rgb" and np.array_equal(one["camera"][10], want[10]["camera"][1])


def test_pictures_of_sequences_are_transformed():
    draw = np.random.default_rng(5)
    with dataset("mem://windows-transformed", [episode(draw, frames) for frames in (4, 6)]) as ds:
        view = ds.windows({"pictures": [-1 / FPS, 0], "reward": 0}, fps=FPS)
        options = {"batch_size": 10, "transform": {"pictures": [transforms.Resize((8, 9)), transforms.ToFloat()]}}
        got = np.asarray(next(iter(view.batches(tensors=["pictures"], **options)))["pictures"])
        whole = ds.batches(batch_size=1, tensors=["pictures"], transform=options["transform"])
        want = np.concatenate([np.stack(batch["pictures"][0]) for batch in whole])
        before = [0, 0, 1, 2, 4, 4, 5, 6, 7, 8]
        assert got.shape == (10, 2, *want.shape[1:])
        assert np.array_equal(got[:, 1], want) and np.array_equal(got[:, 0], want[before])


def test_windows_are_views(films, tmp_path):
    """They are selected, split, mixed with others, pickled, and stay as they were made."""
    draw = np.random.default_rng(2)
    episodes = [episode(draw, frames, films) for frames in (9, 14)]
    deltas = {"camera": [0.0], "state": [-1 / FPS, 0]}
    want = windows([{**row, "camera": np.zeros(len(row["reward"]))} for row in episodes], deltas)
    with dataset(str(tmp_path / "ds"), episodes) as ds:
        view = ds.windows(deltas, fps=FPS)
        some = view[[20, 3, 3]]
        assert [same(some["state"][i], want[k]["state"]) for i, k in enumerate([20, 3, 3])] == [True] * 3
        again = pickle.loads(pickle.dumps(some))
        assert all(same(again[name][0], some[name][0]) for name in ("state", "state_is_pad", "camera", "task"))
        late = ds[1:].windows(deltas, fps=FPS)
        assert len(late) == 14 and same(late["state"][4], want[13]["state"])
        parts = view.split([0.5, 0.5], seed=3)
        assert [len(part) for part in parts] == [12, 11]
        mixed = deeplake.mix([view, late], mode="sequential").batches(batch_size=37, tensors=["state", "state_is_pad"])
        assert same(next(iter(mixed))["state"][23], want[9]["state"])
        found = view.filter(lambda row: bool(row["state_is_pad"].any()))
        assert len(found) == 2
        ds["state"][0] = np.zeros((9, 3), np.float32)
        ds.commit()
        assert same(view["state"][1], want[1]["state"])
        asked = ds.query("SELECT * WHERE task = ?", episodes[1]["task"])
        assert episodes[0]["task"] != episodes[1]["task"] and len(asked.windows(deltas, fps=FPS)) == 14
        with pytest.raises(deeplake.UnsupportedError, match="query: the rows of a view of"):
            view.query("SELECT *")


def test_what_is_refused(films):
    draw = np.random.default_rng(3)
    rows = [episode(draw, 9, films), episode(draw, 14, films)]
    with dataset("mem://windows-refused", rows) as ds:
        ds.create_tensor("frame_index", dtype="int64")
        ds.create_tensor("action_is_pad", dtype="bool")
        ds.create_tensor("action", dtype="float32")
        nothing = dict.fromkeys(ds.tensors)
        film = deeplake.read(films[9])
        ds.append({**nothing, "camera": film, "state": np.zeros((10, 3), np.float32)})  # row 2
        ds.append({**nothing, "state": np.zeros((8, 3), np.float32)})
        ds.append({**nothing, "camera": film, "state": np.zeros((0, 3), np.float32)})
        ds.commit()
        whole = ds[:2]
        for call, error, text in (
            (lambda: whole.windows({}, fps=FPS), deeplake.InvalidArgumentError, "no tensor is named"),
            (lambda: whole.windows({"stat": 0}, fps=FPS), deeplake.NotFoundError, 'no tensor "stat".*state'),
            (lambda: whole.windows({"task": 0}, fps=FPS), deeplake.TensorTypeError, "its samples are string"),
            (lambda: whole.windows({"words": [0]}, fps=FPS), deeplake.TensorTypeError, "give a single time"),
            (lambda: whole.windows({"state": []}, fps=FPS), deeplake.InvalidArgumentError, "0 times"),
            (lambda: whole.windows({"state": "now"}, fps=FPS), deeplake.InvalidArgumentError, "'now', want seconds"),
            (lambda: whole.windows({"state": [[0]]}, fps=FPS), deeplake.InvalidArgumentError, "want seconds"),
            (lambda: whole.windows({"state": [np.nan]}, fps=FPS), deeplake.InvalidArgumentError, "want seconds"),
            (lambda: whole.windows({"state": [1e300]}, fps=FPS), deeplake.InvalidArgumentError, "too far"),
            (
                lambda: whole.windows({"state": [0.02]}, fps=FPS),
                deeplake.InvalidArgumentError,
                "0.02 s is 0.020000 s from",
            ),
            (lambda: whole.windows({"state": 0}, fps=0), deeplake.InvalidArgumentError, "fps is 0"),
            (lambda: whole.windows({"state": 0}, fps="24"), deeplake.InvalidArgumentError, "fps is '24'"),
            (lambda: whole.windows({"state": 0}, fps=FPS, step=0), deeplake.InvalidArgumentError, "step is 0"),
            (
                lambda: whole.windows({"state": 0}, fps=FPS, tolerance=1),
                deeplake.InvalidArgumentError,
                "tolerance is 1 s",
            ),
            (
                lambda: whole.windows({"state": 0}, fps=FPS, tolerance=-1),
                deeplake.InvalidArgumentError,
                "tolerance is -1",
            ),
            (lambda: whole.windows(["state"], fps=FPS), deeplake.InvalidArgumentError, "want a dict"),
            (
                lambda: whole.windows({"camera": 0}, fps=25),
                deeplake.InvalidArgumentError,
                "frame 1 of the video of row 0",
            ),
            (
                lambda: ds.windows({"camera": 0, "state": 0}, fps=FPS),
                deeplake.InvalidArgumentError,
                "row 2 has 9 frames",
            ),
            (
                lambda: ds[3:].windows({"camera": 0, "state": 0}, fps=FPS),
                deeplake.InvalidArgumentError,
                "row 0 has no sample",
            ),
            (
                lambda: ds[:3].windows({"state": 0, "reward": 0}, fps=FPS),
                deeplake.InvalidArgumentError,
                "row 2 has no sample, and 10 entries",
            ),
            (lambda: whole.windows({"action": [0]}, fps=FPS), deeplake.AlreadyExistsError, "action_is_pad"),
        ):
            with pytest.raises(error, match=text):
                call()
        assert len(ds[4:].windows({"camera": 0, "state": 0}, fps=FPS)) == 0  # no frames, no windows
        assert ds[:1].windows({"state": 0}, fps=FPS)["frame_index"][0] is None  # the dataset's
        assert len(ds.windows({"reward": 0}, fps=FPS)) == 23  # rows without the tensor have none


def test_others_at_the_frame(films):
    with deeplake.create("mem://windows-others", overwrite=True) as ds:
        for name, htype in (
            ("camera", "video"),
            ("note", "text"),
            ("said", "sequence[text]"),
            ("views", "sequence[generic]"),
        ):
            ds.create_tensor(name, htype)
        for name in ("state", "number", "map"):
            ds.create_tensor(name, dtype="int64")
        for n in sorted(films):
            ds.append(
                {
                    "camera": deeplake.read(films[n]),
                    "note": "x" * n,
                    "said": [str(i) for i in range(n)],
                    "views": [np.full((2, 2), i) for i in range(n)],
                    "state": np.arange(n),
                    "number": n,
                    "map": np.zeros((3, 5), np.int64),
                }
            )
        ds.commit()
        with pytest.raises(deeplake.InvalidArgumentError, match="give fps"):
            ds.windows({"state": 0})
        ds.info = {"fps": 24}
        ds.commit()
        view = ds.windows({"state": [0, 1 / 24]}, others="frame")
        for row in view:
            frame = row["frame_index"]
            assert row["said"] == str(frame) and np.array_equal(row["views"], np.full((2, 2), frame))
            assert row["camera"].shape == (64, 96, 3)
            assert row["map"].shape == (3, 5) and len(row["note"]) == row["number"]
        assert set(view[0]) == {*ds[0], "state_is_pad", "frame_index"}
        plain = ds.windows({"state": [0]})
        assert len(plain["views"][0]) == len(plain["said"][0]) > 1
        assert len(ds.select([]).windows({"state": 0}, others="frame")) == 0


def test_a_damaged_episode_costs_itself(films, tmp_path):
    draw = np.random.default_rng(4)
    data = bytearray(films[9].read_bytes())
    at = data.index(b"mdat") + 4
    size = int.from_bytes(data[at - 8 : at - 4]) - 8
    data[at : at + size] = b"\xff" * size
    (tmp_path / "damaged.mp4").write_bytes(data)
    bad = episode(draw, 9) | {"camera": deeplake.read(tmp_path / "damaged.mp4")}
    with dataset("mem://windows-damaged", [episode(draw, 14, films), bad, episode(draw, 9, films)]) as ds:
        view = ds.windows({"camera": [0.0], "state": [0.0]}, fps=FPS)
        with pytest.raises(deeplake.CorruptError, match="row 1"):
            list(view.batches(batch_size=4, tensors=["camera", "state"]))
        good = list(view.batches(batch_size=4, tensors=["camera", "state"], on_error="skip"))
        assert sum(len(batch["state"]) for batch in good) == 23
