"""Videos: stored byte for byte, read frame by frame. PyAV is the oracle."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import av
import deeplake
import numpy as np
import pytest
from av.video.reformatter import Interpolation
from conftest import host
from deeplake import transforms

FILES = Path(__file__).resolve().parents[2] / "core/media/mp4/testdata"
MATROSKA = FILES.parents[1] / "matroska/testdata"
# FFmpeg's demuxer differs from the standard's rule here: it leaves out a frame that an edit list
# cuts, and shows frames of fragments that lie before the edit.
CUT = {"cut.mov", "cut_between.mp4", "frag_cut.mp4"}
REFUSED = {"encrypted.mp4", "prores.mov", "sound.mp4", "prores.mkv", "sound.mka"}
SOUND = sorted(
    path
    for path in (*FILES.iterdir(), *MATROSKA.iterdir())
    if path.suffix != ".json" and path.name not in {*REFUSED, *CUT}
)
# As core/media/color says: with these flags swscale gives the same numbers within 2.
ACCURATE = (
    Interpolation.BILINEAR | Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT | Interpolation.FULL_CHR_H_INP
)


def pictures(path: Path) -> list[np.ndarray]:
    """The frames of a file in RGB, by PyAV."""
    with av.open(str(path)) as file:
        return [
            frame.reformat(format="rgb24", interpolation=int(ACCURATE)).to_ndarray()
            for frame in file.decode(file.streams.video[0])
        ]


def encode(path: Path, codec: str = "libx264", **options: Any) -> Path:
    """Writes a film of moving stripes."""
    if codec == "libsvtav1":
        # As root, this encoder gives its process real-time priority, for good.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(encode_here, path, codec=codec, **options).result()
    return encode_here(path, codec=codec, **options)


def encode_here(
    path: Path, frames: int = 48, codec: str = "libx264", size: tuple[int, int] = (96, 64), **options: str
) -> Path:
    """`encode`, in this process."""
    with av.open(str(path), "w") as file:
        stream = file.add_stream(codec, rate=Fraction(24), options=options)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        across, down = np.meshgrid(np.arange(size[0]), np.arange(size[1]))
        for i in range(frames):
            wave = np.stack([across * 2 + 5 * i, down * 3 - 4 * i, across + down + 2 * i], axis=2)
            picture = (127 + 100 * np.sin(wave / 23)).astype(np.uint8)
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                file.mux(packet)
        for packet in stream.encode():
            file.mux(packet)
    return path


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """48 frames at 24 a second, a key frame each 12, with pictures that are shown out of order."""
    return encode(tmp_path / "film.mp4", g="12", bf="2")


def dataset(*files: Path | None, place: str = "mem://videos") -> deeplake.Dataset:
    ds = deeplake.create(place, overwrite=True)
    ds.create_tensor("video", "video")
    ds.create_tensor("name", "text")
    for file in files:
        ds.append({"video": None if file is None else deeplake.read(file), "name": file.name if file else "none"})
    ds.commit()
    return ds


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.name)
def test_frames_are_those_of_ffmpeg(path):
    with dataset(path) as ds:
        video = ds["video"][0]
        assert bytes(video) == path.read_bytes() == ds["video"].bytes(0)
        got, want = video.frames(), pictures(path)
        assert len(got) == len(want) == len(video) == video.info.frames == len(video.times)
        with av.open(str(path)) as file:
            turned = {0: 0, 90: 3, 180: 2, -180: 2, -90: 1, 270: 1}[round(next(file.decode(video=0)).rotation)]
        for mine, theirs in zip(got, want, strict=True):
            theirs = np.rot90(theirs, -turned)
            assert mine.shape == theirs.shape == (video.info.height, video.info.width, 3)
            assert np.abs(mine.astype(int) - theirs).max() <= 2
        assert video.info.rotation == 90 * turned


@pytest.mark.parametrize("name", sorted(CUT))
def test_a_cut_shows_the_frames_of_its_edit_list(name):
    with dataset(FILES / name) as ds:
        video = ds["video"][0]
        times = video.times
        # Each frame ends after time 0, and begins before the end.
        assert (np.append(times[1:], video.info.duration) > 0).all() and times[-1] < video.info.duration
        assert len(video.frames()) == len(times)


@pytest.mark.parametrize(
    ("codec", "ending", "options"),
    [
        ("libx264", "mp4", {"g": "250", "bf": "3"}),
        ("libx264", "mov", {"g": "2"}),
        ("libx264", "mkv", {"g": "12", "bf": "3"}),
        ("libvpx", "webm", {"g": "9", "auto-alt-ref": "1", "lag-in-frames": "16"}),
        ("libx265", "mp4", {"x265-params": "keyint=10:open-gop=1:log-level=none"}),
        ("libvpx-vp9", "mp4", {"g": "9"}),
        ("libsvtav1", "mp4", {"g": "2", "preset": "12"}),
        ("mpeg4", "mp4", {"g": "12"}),
    ],
)
def test_any_frames_of_any_codec(tmp_path, codec, ending, options):
    path = encode(tmp_path / f"film.{ending}", codec=codec, **options)
    with dataset(path) as ds:
        video = ds["video"][0]
        everything = video.frames()
        assert max(np.abs(a.astype(int) - b).max() for a, b in zip(everything, pictures(path), strict=True)) <= 2
        draw = np.random.default_rng(3)
        for _ in range(6):
            some = draw.integers(-48, 48, size=draw.integers(1, 9))
            assert np.array_equal(video.frames(some), everything[some])
        assert np.array_equal(video[10], everything[10]) and np.array_equal(video[-1], everything[47])
        assert np.array_equal(video[40:10:-7], everything[40:10:-7])
        assert np.array_equal(video.frames(7, 30, 4), everything[7:30:4]) and np.array_equal(
            video.frames(45), everything[45:]
        )
        assert video.frames([]).shape == (0, 64, 96, 3)
        assert all(np.array_equal(a, b) for a, b in zip(video, everything, strict=True))


def test_frames_by_time(film):
    with dataset(film, FILES / "vfr.mp4", FILES / "late.mp4") as ds:
        for row in range(3):
            video = ds["video"][row]
            times, everything = video.times, video.frames()
            assert (np.diff(times) > 0).all()
            for i in range(len(times)):  # a frame is shown from its time on, until the next one's
                end = times[i + 1] if i + 1 < len(times) else video.info.duration
                assert video.index_at(times[i]) == i and video.index_at((times[i] + end) / 2) == i
            wanted = np.linspace(times[0], video.info.duration, 20, endpoint=False)
            assert np.array_equal(video.at(wanted), everything[video.index_at(wanted)])
            assert np.array_equal(video.at(float(times[3])), everything[3])
            for outside in (times[0] - 0.01, video.info.duration, video.info.duration + 5, np.nan, -np.inf):
                with pytest.raises(deeplake.OutOfRangeError, match="no frame is shown at"):
                    video.at(outside)
        assert ds["video"][2].info.begin > 0


def test_what_a_video_is(film, tmp_path):
    with dataset(film, None) as ds:
        video = ds["video"][0]
        assert video.info == deeplake.VideoInfo("h264", 96, 64, 48, 4, 0.0, 2.0, 24.0, 0, film.stat().st_size)
        assert repr(video) == f"Video(h264, 96 x 64, 48 frames, 2.00 s, {film.stat().st_size} bytes)"
        assert ds["video"][1] is None and ds["video"][0:2][1] is None and ds[1]["video"] is None
        assert isinstance(ds[0]["video"], deeplake.Video) and ds["video"].dtype == "bytes"
        assert [type(getattr(video.info, name)) for name in ("begin", "duration", "fps")] == [float] * 3
        video.save(tmp_path / "again.mp4")
        assert (tmp_path / "again.mp4").read_bytes() == film.read_bytes()
        ds.append({"video": video, "name": "again"})
        ds.commit()
        assert np.array_equal(ds["video"][2][5], video[5])


def test_bad_calls_say_what_is_wanted(film):
    with dataset(film) as ds:
        video = ds["video"][0]
        for call, error, text in (
            (lambda: video.frames([48]), deeplake.OutOfRangeError, "frame 48 is out of range, the video has 48"),
            (lambda: video.frames([-49]), deeplake.OutOfRangeError, "frame -49 is out of range"),
            (lambda: video[48], deeplake.OutOfRangeError, "frame 48"),
            (lambda: video.frames(0, 4, 0), deeplake.InvalidArgumentError, "step is 0, want 1 to"),
            (lambda: video.frames([1.5]), deeplake.InvalidArgumentError, "want integers"),
            (lambda: video.frames([1], 3), deeplake.InvalidArgumentError, "give frame numbers alone"),
            (lambda: video.at(["1"]), deeplake.InvalidArgumentError, "want numbers"),
            (lambda: video.at([[1], [1, 2]]), deeplake.InvalidArgumentError, "times are lists of several lengths"),
            (lambda: video[0:2:1.5], deeplake.InvalidArgumentError, "the step of a slice is 1.5, want an integer"),
            (lambda: video["a":], deeplake.InvalidArgumentError, "the start of a slice is 'a', want an integer"),
            (lambda: ds.clips("name", length=2), deeplake.TensorTypeError, "frames are of htype video"),
            (lambda: ds.clips("nothing", length=2), deeplake.NotFoundError, "nothing"),
            (lambda: ds.clips("video", length=0), deeplake.InvalidArgumentError, "length is 0 frames, want 1 to"),
            (lambda: ds.clips("video", length=2, stride=0), deeplake.InvalidArgumentError, "stride is 0"),
            (lambda: ds.clips("video", length=4.0), deeplake.InvalidArgumentError, "length is 4.0, want an integer"),
            (lambda: ds.clips("video", length=2, seed=-1), deeplake.InvalidArgumentError, "seed is -1, want 0 to"),
            (lambda: ds.clips("video", length=2, fps=0), deeplake.InvalidArgumentError, "fps is 0"),
            (lambda: ds.clips("video", length=2, fps=float("nan")), deeplake.InvalidArgumentError, "fps is nan"),
            (
                lambda: ds.clips("video", length=8, windows="random", count=2**31 - 1),
                deeplake.InvalidArgumentError,
                "count is 2147483647, want 1 to",
            ),
            (
                lambda: video.frames(np.array([2**64 - 1], np.uint64)),
                deeplake.OutOfRangeError,
                "frame 18446744073709551615",
            ),
            (lambda: video[10**40], deeplake.OutOfRangeError, "frame 1000000000000000"),
            (lambda: video[::0], deeplake.InvalidArgumentError, "step of a slice is 0"),
            (lambda: video[True], deeplake.InvalidArgumentError, "want integers"),
            (lambda: video.frames(0, 4, 2.0), deeplake.InvalidArgumentError, "step is 2.0, want an integer"),
            (lambda: video.frames([[1], [1, 2]]), deeplake.InvalidArgumentError, "lists of several lengths"),
            (lambda: ds.clips("video", length=2, step=0), deeplake.InvalidArgumentError, "step is 0"),
            (lambda: ds.clips("video", length=2, fps=-1), deeplake.InvalidArgumentError, "fps is -1"),
            (lambda: ds.clips("video", length=2, fps="30"), deeplake.InvalidArgumentError, "fps is '30'"),
            (lambda: ds.clips("video", length=2, fps=True), deeplake.InvalidArgumentError, "fps is True"),
            (lambda: ds.clips("video", length=2**63), deeplake.InvalidArgumentError, "length is 9223372036854775808"),
            (
                lambda: ds.clips("video", length=2, windows="all", step=2),
                deeplake.InvalidArgumentError,
                'step is for windows="sliding"',
            ),
            (
                lambda: ds.clips("video", length=2, count=2),
                deeplake.InvalidArgumentError,
                'count is for windows="random"',
            ),
            (lambda: ds.clips("video", length=2, windows="some"), deeplake.InvalidArgumentError, "windows"),
            (lambda: ds.clips("video", length=2).query("SELECT *"), deeplake.UnsupportedError, "query: the rows of a"),
            (lambda: ds.clips("video", length=2).to_pandas(), deeplake.UnsupportedError, "to_pandas: the rows of a"),
            (lambda: ds.append({"video": b"", "name": ""}), deeplake.InvalidArgumentError, "the file is empty"),
            (lambda: ds.create_tensor("x", "video", compression="zstd"), deeplake.InvalidArgumentError, "leave it out"),
            (lambda: ds.create_tensor("x", "sequence[video]"), deeplake.InvalidArgumentError, "for each camera"),
            (lambda: ds.append({"video": str(film), "name": ""}), deeplake.TensorTypeError, r"deeplake.read\(path\)"),
            (
                lambda: ds.append({"video": b"GIF89a", "name": ""}),
                deeplake.InvalidArgumentError,
                "no video of MP4 or Matroska",
            ),
            (lambda: ds.append({"video": film.read_bytes()[:700], "name": ""}), deeplake.InvalidArgumentError, "ends"),
        ):
            with pytest.raises(error, match=text):
                call()
        assert len(ds) == 1
        for name, text in (
            ("encrypted.mp4", "encrypted"),
            ("prores.mov", "apch"),
            ("sound.mp4", "no track of pictures"),
        ):
            with pytest.raises(deeplake.Error, match=text):
                ds.append({"video": deeplake.read(FILES / name), "name": name})


def test_a_view_of_clips_names_what_was_called(film, tmp_path):
    with dataset(film) as ds:
        ds.commit()
        clips = ds.clips("video", length=4)
        refused = [
            (lambda: clips[["video"]], r'select tensors: .* choose them first, as ds\[\["video"\]\]\.clips'),
            (lambda: clips.select_columns(["video"]), "select tensors: .* tensors= of the loader"),
            (lambda: clips.clips("video", length=2), "clips: .* make other ones of the dataset"),
            (lambda: clips.frames("video"), "frames: .* make other ones of the dataset"),
            (lambda: clips.windows({"video": 0}), "windows: .* make other ones of the dataset"),
            (lambda: clips.query("SELECT *"), r"query: .* first, as ds\.query\(\.\.\.\)\.clips"),
            (lambda: clips.explain("SELECT *"), "explain: .* first"),
            (lambda: clips.save("x"), "save: .*ds.load_view"),
            (lambda: clips.plot(), "plot: .* take the rows of the dataset, with its whole videos"),
            (lambda: clips.export(tmp_path, format="mds"), "export: .* append the arrays of these rows"),
            (lambda: clips.to_arrow(), "to_arrow: .* append the arrays of these rows"),
            (lambda: clips.__arrow_c_stream__(), "convert to Arrow: .* append the arrays of these rows"),
        ]
        for call, text in refused:
            with pytest.raises(deeplake.UnsupportedError, match=text):
                call()
        ds.query("SELECT * WHERE name != ''").save("named")
        with pytest.raises(deeplake.UnsupportedError, match=r"split by saved views: .* first"):
            clips.split(["named"])
        # The advice of the messages works.
        wanted = next(iter(clips.batches(2, tensors=["video"])))["video"]
        for view in (ds[["video"]], ds.query("SELECT *"), ds.load_view("named")):
            assert np.array_equal(next(iter(view.clips("video", length=4).batches(2)))["video"], wanted)


def test_a_video_is_saved(film, tmp_path):
    with dataset(film) as ds:
        ds["video"][0].save(tmp_path / "x.mp4")
        assert (tmp_path / "x.mp4").read_bytes() == film.read_bytes()
        with pytest.raises(deeplake.NotFoundError, match=r'save video to ".*": there is no folder ".*no"') as caught:
            ds["video"][0].save(tmp_path / "no" / "x.mp4")
        assert isinstance(caught.value, FileNotFoundError)
        with pytest.raises(deeplake.StorageError, match="Is a directory"):
            ds["video"][0].save(tmp_path)


def test_a_first_video_makes_a_tensor_of_videos(film):
    with deeplake.create("mem://first", overwrite=True) as ds:
        ds.append({"film": deeplake.read(film), "n": 1})
        assert ds["film"].htype == "video" and len(ds["film"][0]) == 48
        ds.discard()
    assert repr(deeplake.read(film)) == f'Sample("{film}", {film.stat().st_size} bytes)'


def test_a_damaged_file_costs_itself(film, tmp_path):
    data = bytearray(film.read_bytes())
    at = data.index(b"mdat") + 4
    data[at : at + 3000] = b"\xff" * 3000  # from the first packet on: the decoder has no picture to conceal by
    (tmp_path / "damaged.mp4").write_bytes(data)
    with dataset(film, tmp_path / "damaged.mp4", film) as ds:
        clips = ds.clips("video", length=48)
        assert len(clips) == 3
        with pytest.raises(deeplake.CorruptError, match="row 1"):
            ds["video"][1].frames()
        host("torch")
        with pytest.raises(deeplake.CorruptError, match="row 1"):
            list(clips.pytorch(batch_size=3))
        loader = clips.pytorch(batch_size=3, on_error="skip")
        whole = ds["video"][0].frames()
        got = [clip for batch in loader for clip in batch["video"]]
        assert len(got) == 2 and all(np.array_equal(np.asarray(clip), whole) for clip in got)


def test_damage_on_disk_is_found(film, tmp_path):
    with dataset(film, place=str(tmp_path / "ds")):
        pass
    stored = [path for path in (tmp_path / "ds/data").rglob("*") if path.is_file()]
    chunk = max(stored, key=lambda path: path.stat().st_size)
    data = bytearray(chunk.read_bytes())
    data[film.stat().st_size // 2] ^= 1
    chunk.chmod(0o644)
    chunk.write_bytes(data)
    with deeplake.open(str(tmp_path / "ds")) as ds:
        with pytest.raises(deeplake.CorruptError, match="of the video have checksum"):
            ds["video"][0].frames()
        with pytest.raises(deeplake.CorruptError, match="checksum"):
            ds["video"].bytes(0)


def windows(video: np.ndarray, length: int, stride: int, step: int, short: str) -> list[np.ndarray]:
    """The clips of a video, by the text of the docstring."""
    out, reach = [], (length - 1) * stride + 1
    for first in range(0, len(video), step):
        numbers = first + stride * np.arange(length)
        if numbers[-1] >= len(video) and short == "drop":
            break
        out.append(video[np.minimum(numbers, len(video) - 1)])
        if first + reach >= len(video):
            break
    return out


@pytest.mark.parametrize(
    ("length", "stride", "step", "short"),
    [
        (8, 1, None, "repeat"),
        (8, 2, 5, "repeat"),
        (8, 2, None, "drop"),
        (4, 3, 1, "drop"),
        (1, 1, None, "repeat"),
        (60, 1, None, "repeat"),
    ],
)
def test_sliding_clips(film, length, stride, step, short):
    with dataset(film, None, FILES / "faststart.mp4", FILES / "gop2.mp4") as ds:
        want = []
        for row in (0, 2, 3):
            found = windows(ds["video"][row].frames(), length, stride, step or length * stride, short)
            want += [(ds["name"][row], clip) for clip in found]
        view = ds.clips("video", length=length, stride=stride, step=step, short=short)
        assert len(view) == len(want)
        for i, (name, clip) in enumerate(want):
            assert view["name"][i] == name and np.array_equal(view["video"][i], clip)
            assert np.array_equal(view[i]["video"], clip)
        if want:
            part = view[::2][1:]
            assert [part["name"][i] for i in range(len(part))] == [name for name, _ in want[::2][1:]]
            assert all(np.array_equal(part["video"][i], clip) for i, (_, clip) in enumerate(want[::2][1:]))


def test_clips_at_another_rate(film):
    with dataset(film, FILES / "vfr.mp4", FILES / "late.mp4") as ds:
        view = ds.clips("video", length=4, stride=2, fps=10, windows="all", short="drop")
        k = 0
        for row in range(3):
            video = ds["video"][row]
            begin, end = video.info.begin, video.info.duration
            positions = int(np.ceil((end - begin) * 10 - 1e-6))
            for first in range(positions - 6):
                assert np.array_equal(view["video"][k], video.at(begin + (first + 2 * np.arange(4)) / 10))
                k += 1
        assert k == len(view)


def test_clips_at_the_rate_of_a_film_with_a_coarse_clock(tmp_path):
    with dataset(encode(tmp_path / "film.mkv", g="12", bf="2")) as ds:
        assert all(np.array_equal(ds.frames("video", fps=24)["video"][i], ds["video"][0][i]) for i in range(48))


def test_films_without_key_frames_of_their_own(tmp_path):
    options = {"x264-params": "intra-refresh=1:keyint=20:bframes=0:ref=1"}
    with dataset(encode(tmp_path / "film.mp4", frames=120, **options)) as ds:
        video = ds["video"][0]
        want = pictures(tmp_path / "film.mp4")
        assert len(want) == 120
        for i in (119, 30, 55, 3, 21, 60, 84, 103):
            assert np.abs(video[i].astype(int) - want[i]).max() <= 2
        assert all(np.abs(a.astype(int) - b).max() <= 2 for a, b in zip(video.frames(), want, strict=True))


def test_a_film_of_centuries_is_refused(film):
    with av.open(str(film.with_suffix(".mkv")), "w") as file:
        stream = file.add_stream("libx264", rate=24)
        stream.width, stream.height, stream.codec_context.time_base = 96, 64, Fraction(1, 1000)
        for pts in (0, 10**12):
            frame = av.VideoFrame.from_ndarray(np.zeros((64, 96, 3), np.uint8), format="rgb24")
            frame.pts, frame.time_base = pts, Fraction(1, 1000)
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    refused = pytest.raises(deeplake.InvalidArgumentError, match=r"row 1 has \d+ clips, and a view at most")
    with dataset(film, film.with_suffix(".mkv")) as ds, refused:
        ds.clips("video", length=8, fps=30, windows="all")


def test_videos_of_computed_rows_say_why_they_have_no_frames(film):
    with dataset(film) as ds:
        computed = ds.query("SELECT *, 1 + 1 AS two")
        assert "unreadable" in repr(computed["video"][0]) and bytes(computed["video"][0]) == film.read_bytes()
        with pytest.raises(deeplake.UnsupportedError, match="materialize"):
            computed["video"][0].frames()


def test_random_clips_are_drawn_by_their_seed(film):
    with dataset(film, film) as ds:

        def drawn(seed: int) -> list[bytes]:
            view = ds.clips("video", length=4, windows="random", count=3, seed=seed)
            assert len(view) == 6
            return [view["video"][i].tobytes() for i in range(6)]

        assert drawn(1) == drawn(1) != drawn(2)
        host("torch")
        loader = ds.clips("video", length=4, windows="random", count=3, seed=1).pytorch(batch_size=6, seed=5)
        epochs = [[clip.numpy().tobytes() for batch in loader for clip in batch["video"]] for _ in range(3)]
        assert epochs[0] == drawn(1) and len({tuple(epoch) for epoch in epochs}) == 3
        loader.set_epoch(1)
        assert [clip.numpy().tobytes() for batch in loader for clip in batch["video"]] == epochs[1]


def test_frames_as_rows(film):
    with dataset(film, FILES / "faststart.mp4") as ds:
        everything = ds["video"][0].frames()
        view = ds.frames("video", step=5)
        assert len(view) == 10 + 4 and view["video"].htype == "image.rgb"
        assert all(np.array_equal(view["video"][i], everything[5 * i]) for i in range(10))
        slow = ds.frames("video", fps=2)
        assert len(slow) == 4 + 2 and np.array_equal(slow["video"][3], everything[36])


def clips_in_order(batches: list[dict[str, object]]) -> list[bytes]:
    return sorted(np.asarray(clip).tobytes() for batch in batches for clip in batch["video"])  # type: ignore[union-attr]


@pytest.mark.parametrize("shuffle", [False, True, "full"])
def test_loaders_of_clips(film, shuffle):
    host("torch")
    with dataset(film, film, film) as ds:
        view = ds.clips("video", length=6)
        want = sorted(view["video"][i].tobytes() for i in range(len(view)))
        loader = view.pytorch(batch_size=5, shuffle=shuffle, seed=1)
        batches = list(loader)
        assert [tuple(batch["video"].shape) for batch in batches] == [(5, 6, 64, 96, 3)] * 4 + [(4, 6, 64, 96, 3)]
        assert clips_in_order(batches) == want
        state = None
        seen = []
        first = view.pytorch(batch_size=5, shuffle=shuffle, seed=1)
        for i, batch in enumerate(first):
            seen.append(batch)
            if i == 1:
                state = first.state_dict()
                break
        rest = view.pytorch(batch_size=5, shuffle=shuffle, seed=1)
        rest.load_state_dict(state)
        assert clips_in_order([*seen, *rest]) == want
        other = ds.clips("video", length=6, step=3).pytorch(batch_size=5, shuffle=shuffle, seed=1)
        with pytest.raises(deeplake.InvalidArgumentError, match="it is of other rows or another order"):
            other.load_state_dict(state)


def test_frames_of_a_clip_are_transformed_alike(film):
    host("torch")
    with dataset(film) as ds:
        view = ds.clips("video", length=6)
        steps = [transforms.RandomResizedCrop(32), transforms.RandomHorizontalFlip()]
        got = next(iter(view.pytorch(batch_size=8, transform={"video": steps}, seed=4)))["video"]
        assert tuple(got.shape[:2]) == (8, 6)
        draws = {tuple(np.asarray(clip).ravel()[:50]) for clip in got}
        assert len(draws) == 8  # each clip has its own
        # From frame 45 on, a clip repeats the last frame of the film.
        last = ds.clips("video", length=6, step=45)[1:]
        clip = np.asarray(next(iter(last.pytorch(batch_size=1, transform={"video": steps}, seed=4)))["video"])[0]
        assert not np.array_equal(clip[1], clip[2])
        assert all(np.array_equal(clip[2], frame) for frame in clip[3:])
        plain = next(iter(view.pytorch(batch_size=8, transform={"video": [transforms.Resize((32, 48))]})))["video"]
        assert tuple(plain.shape) == (8, 6, 32, 48, 3)
        singles = ds.frames("video")
        one = next(iter(singles.pytorch(batch_size=48, transform={"video": [transforms.Resize((32, 48))]})))["video"]
        assert np.array_equal(np.asarray(plain).reshape(48, 32, 48, 3), np.asarray(one))


def test_clips_in_a_mixture(film):
    """Steps resize the frames of each clip, in a mixture as in its views."""
    with dataset(film, film) as ds:
        views = [ds.clips("video", length=6), ds.clips("video", length=6, step=7)]
        options = {"batch_size": 4, "transform": {"video": [transforms.Resize((32, 48))]}}
        want = [
            np.asarray(clip).tobytes() for view in views for batch in view.batches(**options) for clip in batch["video"]
        ]
        mixed = deeplake.mix(views, mode="sequential").batches(**options)
        got = [np.asarray(clip) for batch in mixed for clip in batch["video"]]
        assert {clip.shape for clip in got} == {(6, 32, 48, 3)}
        assert [clip.tobytes() for clip in got] == want


def test_weighted_clips_outlive_the_view_they_are_made_of(film):
    with dataset(film) as ds:
        view = ds.clips("video", length=6)
        want = {view["video"][i].tobytes() for i in (1, 3)}
        batches = iter(view.batches(batch_size=4, weights=[0, 1, 0, 1, 0, 0, 0, 0], seed=3))
        del view
        gc.collect()
        got = [np.asarray(clip).tobytes() for batch in batches for clip in batch["video"]]
        assert len(got) == 8 and set(got) == want


def test_versions_and_copies_keep_frames(film, tmp_path):
    with dataset(film, FILES / "h264.mp4", place=str(tmp_path / "ds")) as ds:
        first = ds["video"][0][7]
        old = ds.log()[0].id
        ds["video"][0] = deeplake.read(FILES / "gop2.mp4")
        ds.commit()
        assert ds["video"][0].info.frames == 20
        assert np.array_equal(ds.at(old)["video"][0][7], first)
        with ds.query("SELECT * WHERE name = 'h264.mp4'").materialize(str(tmp_path / "part")) as part:
            assert np.array_equal(part["video"][0][5], ds["video"][1][5])
        copied = pickle.loads(pickle.dumps(ds["video"][1]))
        assert np.array_equal(copied[5], ds["video"][1][5])
        view = pickle.loads(pickle.dumps(ds.clips("video", length=5)[3:]))
        assert np.array_equal(view["video"][0], ds.clips("video", length=5)["video"][3])
    deeplake.copy(str(tmp_path / "ds"), str(tmp_path / "copy"))
    with deeplake.open(str(tmp_path / "copy")) as copy:
        assert len(copy["video"][0].frames()) == 20


def test_linked_videos(film, tmp_path):
    with deeplake.create(str(tmp_path / "ds")) as ds:
        ds.create_tensor("video", "video")
        ds.append({"video": deeplake.link(film)})
        ds.commit()
        video = ds["video"][0]
        with dataset(film) as copy:
            assert np.array_equal(video.frames(), copy["video"][0].frames())
        assert bytes(video) == film.read_bytes()
        assert len(ds.clips("video", length=12)) == 4
    stored = sum(path.stat().st_size for path in (tmp_path / "ds").rglob("*") if path.is_file())
    assert stored < film.stat().st_size
    encode(film, frames=30)
    with deeplake.open(str(tmp_path / "ds")) as ds, pytest.raises(deeplake.CorruptError, match="has changed since"):
        ds["video"][0].frames()


def test_without_ffmpeg_the_error_says_what_to_install(film):
    program = f"""
import deeplake
ds = deeplake.create("mem://x"); ds.create_tensor("video", "video"); ds.append({{"video": deeplake.read({str(film)!r})}})
print(ds["video"][0].info.frames)
try:
    ds["video"][0][0]
except deeplake.UnsupportedError as err:
    print(err)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={"DEEPLAKE_FFMPEG": "/nowhere"},
        timeout=120,
    )
    assert done.stdout.startswith("48\n"), done.stderr
    assert "pip install deeplake[video]" in done.stdout


def test_variables_that_a_program_changes_before_the_import(film):
    """They count, and a missing decoder is no bad sample."""
    program = f"""
import os, sys
if sys.argv[1] == "set":
    os.environ["DEEPLAKE_FFMPEG"], os.environ["DEEPLAKE_AUTHOR"] = "/nowhere", "Ada"
else:
    del os.environ["DEEPLAKE_FFMPEG"], os.environ["DEEPLAKE_AUTHOR"]
import deeplake
ds = deeplake.create("mem://x"); ds.create_tensor("video", "video"); ds.append({{"video": deeplake.read({str(film)!r})}})
print(ds.commit().author)
for loader in (ds.clips("video", length=4).batches(2, on_error="skip"), ds.clips("video", length=4).batches(2)):
    try:
        print(len(list(loader)))
    except deeplake.UnsupportedError as err:
        print("/nowhere" in str(err))
"""
    variables = {"DEEPLAKE_FFMPEG": "/nowhere", "DEEPLAKE_AUTHOR": "Ada"}
    plain = {name: value for name, value in os.environ.items() if name not in variables}
    said = {}
    for how, environment in (("set", plain), ("removed", {**plain, **variables})):
        command = [sys.executable, "-c", program, how]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
        said[how] = done.stdout.splitlines()
        assert len(said[how]) == 3, done.stderr
    assert said["set"] == ["Ada", "True", "True"]
    assert said["removed"][0] != "Ada" and said["removed"][1:] == ["6", "6"]
