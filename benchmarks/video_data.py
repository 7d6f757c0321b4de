"""Films to measure on: photographs, panned and zoomed slowly, with the noise of a camera; made once.

They have 640 x 360 pixels, 30 frames a second. The kinds of one length show the same pictures.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import data
import numpy as np
import numpy.typing as npt

WIDTH, HEIGHT, RATE = 640, 360, 30
NOISE = 3.0  # standard deviation
SCENES = ("astronaut", "chelsea", "coffee", "hubble", "motorcycle", "rocket", "china", "flower")


@dataclass(frozen=True)
class Kind:
    """A way to encode films."""

    title: str
    codec: str
    apart: int  # frames from one key frame to the next
    options: dict[str, str]


_X264 = {"preset": "medium", "crf": "20", "bf": "2", "sc_threshold": "0", "pix_fmt": "yuv420p"}
KINDS = {
    "h264-30": Kind("H.264, a key frame each 30", "libx264", 30, _X264),
    "h264-250": Kind("H.264, a key frame each 250", "libx264", 250, _X264),
    "h264-large": Kind(
        "H.264 of 4.6 Mb/s, a key frame each 250",
        "libx264",
        250,
        {"preset": "veryfast", "b": "4600000", "sc_threshold": "0", "pix_fmt": "yuv420p"},
    ),
    "av1-2": Kind("AV1, a key frame each 2", "libsvtav1", 2, {"preset": "10", "crf": "32"}),
}


@dataclass(frozen=True)
class Films:
    """Files of one kind."""

    kind: str
    paths: tuple[Path, ...]

    @property
    def bits(self) -> float:
        """Bits a second."""
        seconds = sum(len(Track.of(path).times) for path in self.paths) / RATE
        return 8 * sum(path.stat().st_size for path in self.paths) / seconds

    def lake(self) -> Path:
        """Returns the dataset of the files: they are its tensor `video`."""

        def build(folder: Path) -> None:
            import deeplake

            with deeplake.create(folder) as ds:
                ds.create_tensor("video", "video")
                for path in self.paths:
                    ds.append({"video": deeplake.read(path)})
                ds.commit()

        return data.dataset(self.paths[0].parent.with_name(f"lake-{self.kind}"), build)


def films(count: int, seconds: int, *kinds: str) -> list[Films]:
    """Returns films of each kind, made first where they are not there."""
    root = data.CACHE / f"films-{count}x{seconds}"
    absent = [kind for kind in kinds if not (root / kind).exists()]
    if absent:
        data.say(f"making {count} films of {seconds} s: {', '.join(absent)}")
        for kind in absent:
            shutil.rmtree(root / f"{kind}.new", ignore_errors=True)
            (root / f"{kind}.new").mkdir(parents=True)
        # In a process of its own: SVT-AV1 gives the process real-time priority, where it may.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            for number in range(count):
                targets = {kind: root / f"{kind}.new" / f"{number:03d}.mp4" for kind in absent}
                pool.submit(_encode, number, seconds * RATE, targets).result()
        for kind in absent:
            (root / f"{kind}.new").rename(root / kind)
    return [Films(kind, tuple(sorted((root / kind).glob("*.mp4")))) for kind in kinds]


def long_film(minutes: int) -> Path:
    """Returns a film of 4.6 Mb/s: one minute, again and again. Its tables lie behind its pictures."""
    import av

    path = data.CACHE / f"film-{minutes}.mp4"
    if path.exists():
        return path
    (minute,) = films(1, 60, "h264-large")[0].paths
    data.say(f"making a film of {minutes} minutes")
    new = path.with_suffix(".new.mp4")
    with av.open(str(minute)) as source, av.open(str(new), "w") as target:
        stream = source.streams.video[0]
        copied = target.add_stream_from_template(stream)
        span = round(60 / stream.time_base)
        packets = [packet for packet in source.demux(stream) if packet.size]
        for turn in range(minutes):
            for packet in packets:
                packet.stream = copied
                target.mux(packet)
                packet.pts, packet.dts, packet.time_base = packet.pts + span, packet.dts + span, stream.time_base
            if turn == 0:
                assert packets[0].pts >= span, "packets of a minute overlap"
    new.rename(path)
    return path


def libraries() -> str:
    """Returns a search path with the libraries of PyAV under the names that torchcodec looks for."""
    found = importlib.util.find_spec("av")
    assert found is not None and found.submodule_search_locations, "PyAV is not installed"
    source = Path(found.submodule_search_locations[0]).with_name("av.libs")
    folder = data.CACHE / "ffmpeg"
    folder.mkdir(parents=True, exist_ok=True)
    for path in source.glob("lib[as][vw]*.so.*"):
        name, _, version = path.name.partition(".so.")
        link = folder / f"{name.partition('-')[0]}.so.{version.partition('.')[0]}"
        link.unlink(missing_ok=True)
        link.symlink_to(path)
    return f"{folder}:{source}"


def _encode(number: int, frames: int, targets: dict[str, Path]) -> None:
    """Writes one film in each of some kinds."""
    import av

    files = {kind: av.open(str(path), "w") for kind, path in targets.items()}
    streams = {}
    for kind, file in files.items():
        how = KINDS[kind]
        stream = file.add_stream(how.codec, rate=Fraction(RATE), options=how.options | {"g": str(how.apart)})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        streams[kind] = stream
    for picture in _pictures(number, frames):
        frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p")
        for kind, stream in streams.items():
            files[kind].mux(stream.encode(frame))
    for kind, stream in streams.items():
        files[kind].mux(stream.encode())
        files[kind].close()


def _pictures(number: int, frames: int) -> Iterator[npt.NDArray[np.uint8]]:
    import cv2

    draw = np.random.default_rng(number)
    whole = data.photograph(SCENES[number % len(SCENES)])
    noise = draw.normal(0, NOISE, (HEIGHT + 64, WIDTH + 64, 3)).round().astype(np.int16)
    height, width = whole.shape[:2]
    widest = min(width, height * WIDTH / HEIGHT)
    pace, phase = draw.uniform(0.6, 1.2, 3), draw.uniform(0, 2 * np.pi, 3)
    for i in range(frames):
        turn = np.sin(pace * 2 * np.pi * i / (20 * RATE) + phase)
        view = widest * (0.7 + 0.15 * turn[0])
        scale = view / WIDTH
        left = (width - view) * (1 + turn[1]) / 2
        top = (height - view * HEIGHT / WIDTH) * (1 + turn[2]) / 2
        place = np.array([[scale, 0, left], [0, scale, top]])
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        picture = cv2.warpAffine(whole, place, (WIDTH, HEIGHT), flags=flags, borderMode=cv2.BORDER_REFLECT)
        down, across = draw.integers(0, 64, 2)
        mixed = picture + noise[down : down + HEIGHT, across : across + WIDTH]
        yield np.clip(mixed, 0, 255).astype(np.uint8)


@dataclass(frozen=True)
class Track:
    """The packets of a film, in the order of decoding, and its frames."""

    packets: list[Any]  # of PyAV, apart from their file
    keys: list[int]
    shown: list[int]  # the packet of each frame
    times: list[int]  # of each frame, in ticks
    ticks: int  # of one frame
    codec: str
    setup: bytes | None

    @classmethod
    def of(cls, path: Path) -> Track:
        import av

        with av.open(str(path)) as file:
            stream = file.streams.video[0]
            packets = []
            for one in file.demux(stream):
                if one.size:
                    packet = av.Packet(bytes(one))
                    packet.pts, packet.dts, packet.time_base = one.pts, one.dts, one.time_base
                    packet.is_keyframe = one.is_keyframe
                    packets.append(packet)
            codec, setup = stream.codec_context.name, stream.codec_context.extradata
            ticks = round(1 / stream.time_base / RATE)
        shown = sorted(range(len(packets)), key=lambda i: packets[i].pts)
        keys = [i for i, packet in enumerate(packets) if packet.is_keyframe]
        return cls(packets, keys, shown, [packets[i].pts for i in shown], ticks, codec, setup)

    def needed(self, start: int, length: int) -> list[Any]:
        """Returns the packets that frames need: from a key frame to the last one of them."""
        wanted = self.shown[start : start + length]
        first = max(key for key in self.keys if key <= min(wanted) and self.packets[key].pts <= self.times[start])
        return self.packets[first : max(wanted) + 1]

    def mappings(self) -> str:
        """Returns the table of frames that torchcodec takes in place of a scan."""
        keys = set(self.keys)
        frames = [
            {"pts": time, "duration": self.ticks, "key_frame": int(packet in keys)}
            for time, packet in zip(self.times, self.shown, strict=True)
        ]
        return json.dumps({"frames": frames})
