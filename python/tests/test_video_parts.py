"""Links to parts of videos, by time. PyAV and the whole file are the oracles."""

from __future__ import annotations

import io
import pickle
from fractions import Fraction
from pathlib import Path

import av
import deeplake
import numpy as np
import pytest
from test_video import ACCURATE, encode


def shown(data: bytes) -> tuple[list[np.ndarray], list[float]]:
    """The frames of a file in memory, and their times, by PyAV."""
    with av.open(io.BytesIO(data)) as file:
        frames = list(file.decode(file.streams.video[0]))
        pictures = [f.reformat(format="rgb24", interpolation=int(ACCURATE)).to_ndarray() for f in frames]
        return pictures, [f.time for f in frames]


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two seconds each, 24 frames a second."""
    at = tmp_path_factory.mktemp("films")
    return {
        "h264": encode(at / "h264.mp4", g="12", bf="2"),
        "open": encode(at / "open.mp4", g="12", bf="3", **{"x264-params": "open-gop=1"}),
        "hevc": encode(at / "hevc.mp4", codec="libx265", g="12", **{"x265-params": "log-level=none"}),
        "av1": encode(at / "av1.mp4", codec="libsvtav1", g="2", preset="12"),
        "mkv": encode(at / "h264.mkv", g="250"),
    }


PARTS = [(0, None), (0, 0.5), (0.25, 1.25), (10 / 24, 11 / 24), (1.95, 2.1), (1.0000001, 1.4999999), (0.26, 5)]


@pytest.mark.parametrize("kind", ["h264", "open", "hevc", "av1", "mkv"])
def test_a_part_has_the_frames_of_its_time(films, kind, tmp_path):
    path = films[kind]
    with deeplake.create("mem://video-parts-parts", overwrite=True) as ds:
        ds.create_tensor("video", "video")
        ds.append({"video": deeplake.read(path)})
        ds.extend({"video": [deeplake.link(path, begin=b, end=e) for b, e in PARTS]})
        ds.commit()
        whole = ds["video"][0]
        pictures, times = whole.frames(), np.array(whole.times)
        for row, (begin, end) in enumerate(PARTS, 1):
            tick = 1e-3 if kind == "mkv" else 1e-4
            wanted = np.flatnonzero((times >= begin - tick) & (times < (end or 99) - tick))
            part = ds["video"][row]
            assert len(part) == len(wanted) > 0
            assert np.array_equal(part.frames(), pictures[wanted])
            assert np.allclose(part.times, times[wanted] - begin, atol=2 * tick)
            assert np.array_equal(part.frames(len(part) - 1, len(part))[0], pictures[wanted[-1]])
            # The bytes are a file of these frames.
            data = bytes(part)
            assert data == ds["video"].bytes(row) and len(data) == part.info.bytes
            theirs, at = shown(data)
            assert len(theirs) == len(wanted)
            assert all(np.abs(a.astype(int) - b).max() <= 2 for a, b in zip(theirs, pictures[wanted], strict=True))
            assert np.allclose(np.array(at) - at[0], times[wanted] - times[wanted[0]], atol=2 * tick)


def test_copies_of_parts_are_files(films, tmp_path):
    place = tmp_path / "linked"
    with deeplake.create(place) as ds:
        ds.create_tensor("video", "video")
        ds.extend({"video": [deeplake.link(films["h264"], begin=i / 4, end=i / 4 + 0.5) for i in range(6)]})
        ds.commit()
        frames = [ds["video"][i].frames() for i in range(6)]
        files = [bytes(ds["video"][i]) for i in range(6)]
        clips = ds.clips("video", length=4, windows="all")["video"]
        assert clips[0].shape == (4, 64, 96, 3) and np.array_equal(clips[0], frames[0][:4])
        with ds.query("SELECT * WHERE TRUE").materialize("mem://video-parts-copied", overwrite=True) as copied:
            assert [bytes(v) for v in copied["video"][:]] == files
            assert all(np.array_equal(copied["video"][i].frames(), frames[i]) for i in range(6))
        ds.export(tmp_path / "out", format="folder")
    assert sorted(p.read_bytes() for p in (tmp_path / "out").rglob("*.mp4")) == sorted(files)
    deeplake.copy(place, tmp_path / "again")
    with deeplake.open(tmp_path / "again", link_storage={films["h264"].parent.as_uri(): deeplake.Storage()}) as again:
        again.rechunk()
        again.commit()
        assert all(np.array_equal(again["video"][i].frames(), frames[i]) for i in range(6))
        assert not again.fsck().problems
        again["video"][0] = deeplake.link(films["h264"], begin=1)
        assert len(again["video"][0]) == 24


def test_large_parts_are_exported_in_pieces(tmp_path):
    path = tmp_path / "noise.mp4"
    random = np.random.default_rng(1)
    with av.open(str(path), "w") as file:
        stream = file.add_stream("libx264", rate=24, options={"crf": "1", "preset": "ultrafast", "g": "6"})
        stream.width, stream.height, stream.pix_fmt = 640, 480, "yuv420p"
        for _ in range(24):
            picture = random.integers(0, 256, (480, 640, 3), dtype=np.uint8)
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        file.mux(stream.encode(None))
    with deeplake.create("mem://video-parts-large", overwrite=True) as ds:
        ds.create_tensor("video", "video")
        ds.append({"video": deeplake.link(path, begin=0.3, end=0.9)})
        ds.commit()
        data = bytes(ds["video"][0])
        assert len(data) > 5 << 20
        ds.export(tmp_path / "out", format="folder")
        (file,) = (tmp_path / "out").rglob("*.mp4")
        assert file.read_bytes() == data
        pictures, _ = shown(data)
        assert np.abs(ds["video"][0].frames().astype(int) - np.stack(pictures)).max() <= 2


def test_parts_are_small(films):
    with deeplake.create("mem://video-parts-small", overwrite=True) as ds:
        ds.create_tensor("video", "video")
        ds.append({"video": deeplake.link(films["av1"], begin=0.5, end=0.75)})
        ds.commit()
        assert ds["video"][0].info.bytes < films["av1"].stat().st_size / 2
        assert len(ds["video"][0]) == 6


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ({"begin": 9}, "no frame begins at a time from 9.000"),
        ({"begin": 0.51, "end": 0.52}, "no frame begins"),
        ({"offset": 1, "begin": 1}, "video of MP4"),
    ],
)
def test_parts_that_are_not_there(films, link, reason):
    with deeplake.create("mem://video-parts-refused", overwrite=True) as ds:
        ds.create_tensor("video", "video")
        with pytest.raises(deeplake.Error, match=reason):
            ds.append({"video": deeplake.link(films["h264"], **link)})
        assert len(ds) == 0


def test_parts_of_other_codecs_and_samples(tmp_path, films):
    vp9 = encode(tmp_path / "vp9.webm", codec="libvpx-vp9", frames=12)
    with deeplake.create("mem://video-parts-refused", overwrite=True) as ds:
        ds.create_tensor("video", "video")
        ds.create_tensor("image", "image", compression="png")
        with pytest.raises(deeplake.UnsupportedError, match="vp9"):
            ds.append({"video": deeplake.link(vp9, begin=0.1), "image": None})
        with pytest.raises(deeplake.Error, match="htype video"):
            ds.append({"video": None, "image": deeplake.link(films["h264"], begin=0.1)})


def test_links_make_tensors_of_videos(films):
    with deeplake.create("mem://video-parts-inferred", overwrite=True) as ds:
        ds.extend({"part": [deeplake.link(films["h264"], end=1)], "film": [deeplake.link(films["mkv"])]})
        ds.commit()
        assert ds["part"].htype == ds["film"].htype == "video"
        assert len(ds["part"][0]) == 24 and ds["film"].bytes(0) == films["mkv"].read_bytes()
        again = pickle.loads(pickle.dumps(ds["film"]))
        assert again.bytes(0) == ds["film"].bytes(0)


@pytest.mark.parametrize(
    "part",
    [
        {"begin": -1},
        {"begin": "1"},
        {"end": 0},
        {"begin": 2, "end": 2},
        {"end": float("nan")},
        {"begin": True},
        {"begin": 10**400},
    ],
)
def test_times_that_are_none(part):
    with pytest.raises(deeplake.InvalidArgumentError, match=r'link "s3://b/x\.mp4"'):
        deeplake.link("s3://b/x.mp4", **part)


def test_links_to_parts_are_values():
    part = deeplake.link("s3://b/x.mp4", begin=1, end=2.5)
    assert pickle.loads(pickle.dumps(part)) == part != deeplake.link("s3://b/x.mp4", begin=1)
    assert repr(part) == 'Link("s3://b/x.mp4", begin=1.0, end=2.5)' and (part.begin, part.end) == (1, 2.5)
    assert deeplake.link("s3://b/x.mp4", begin=np.float32(1), end=Fraction(5, 2)) == part


def test_parts_begin_where_pictures_are_complete(tmp_path):
    """Films with a gradual refresh have key packets at which decoding gives no whole picture yet."""
    path = encode(tmp_path / "refresh.mp4", frames=60, g="20", **{"intra-refresh": "1", "x264-params": "scenecut=0"})
    with deeplake.create("mem://video-parts-refresh", overwrite=True) as ds:
        ds.create_tensor("video", "video")
        ds.append({"video": deeplake.read(path)})
        whole, times = ds["video"][0].frames(), ds["video"][0].times
        ds.extend({"video": [deeplake.link(path, begin=times[i], end=times[i] + 1 / 24) for i in range(0, 60, 3)]})
        ds.commit()
        for row, i in enumerate(range(0, 60, 3), 1):
            assert np.array_equal(ds["video"][row].frames(), whole[i : i + 1])
            theirs, _ = shown(bytes(ds["video"][row]))
            assert len(theirs) == 1 and np.abs(theirs[0].astype(int) - whole[i]).max() <= 2


def test_the_rate_of_a_part_is_that_of_the_film(films):
    with deeplake.create("mem://video-parts-rates", overwrite=True) as ds:
        ds.create_tensor("video", "video")
        ds.extend({"video": [deeplake.link(films["h264"], begin=0.41, end=e) for e in (0.42, 0.81, 1.37)]})
        ds.commit()
        assert all(video.info.fps == pytest.approx(24) for video in ds["video"])
