"""Contenders that read clips of films: ours, torchcodec, PyAV, and FFmpeg's decoder alone.

A clip is the number of a film and its first frame. Those with several threads give each thread decoders of its own.
They run in processes of their own (contender.py), so this module imports at its top only what all of them need.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from video_data import Track

LENGTH = 16  # frames of a clip
BATCH = 8  # clips of a batch

Clip = tuple[int, int]


class Reader:
    """Reads clips one by one, on some threads."""

    def __init__(self, paths: list[str], threads: int) -> None:
        self._paths, self._own = paths, threading.local()
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def run(self, clips: list[Clip]) -> dict[str, Any]:
        """Reads clips. Returns how many frames came."""
        return {"frames": sum(len(clip) for clip in self._all(clips))}

    def save(self, clips: list[Clip], path: str) -> dict[str, Any]:
        """Writes clips into a file, (clips, frames, height, width, 3), to be compared."""
        np.save(path, np.stack([np.asarray(clip) for clip in self._all(clips)]))
        return {}

    def _all(self, clips: Iterable[Clip]) -> Iterator[Any]:
        return self._pool.map(self._one, clips) if self._pool else map(self._one, clips)

    def _one(self, clip: Clip) -> Any:
        number, start = clip
        opened = self._own.__dict__
        if number not in opened:
            opened[number] = self._open(self._paths[number])
        return self._clip(opened[number], start)

    def _open(self, path: str) -> Any:
        raise NotImplementedError

    def _clip(self, film: Any, start: int) -> Any:
        raise NotImplementedError


class Frames(Reader):
    """`Video.frames` of ours; one dataset serves all threads."""

    def __init__(self, uri: str, threads: int) -> None:
        import deeplake

        super().__init__([], threads)
        self._videos = deeplake.open(uri, read_only=True)["video"]
        self._kept: dict[int, Any] = {}

    def _one(self, clip: Clip) -> Any:
        number, start = clip
        if number not in self._kept:
            self._kept[number] = self._videos[number]
        return self._kept[number].frames(np.arange(start, start + LENGTH))


class Loader:
    """`ds.clips(...).pytorch(...)` of ours, with frames resized to a square where `side` is given."""

    def __init__(
        self,
        uri: str,
        count: int,
        seed: int,
        workers: int,
        side: int = 0,
        storage: dict[str, Any] | None = None,
        shuffle: bool = True,
    ) -> None:
        import deeplake
        import torch  # noqa: F401  (in the baseline of memory)
        from deeplake import transforms

        settings = deeplake.Storage(**storage) if storage else None
        self._open = lambda: deeplake.open(uri, storage=settings, read_only=True)
        self._clips = {"length": LENGTH, "windows": "random", "count": count, "seed": seed}
        self._options: dict[str, Any] = {"batch_size": BATCH, "num_workers": workers}
        if side:
            self._options["transform"] = {"video": [transforms.Resize((side, side))]}
        self._made: Any = None
        self._shuffle = shuffle

    def run(self, clips: list[Clip] | None = None) -> dict[str, Any]:
        """One epoch of a loader that is kept, over the clips that all others read."""
        if self._made is None:
            self._made = self._loader(self._shuffle)
        # Each epoch draws other clips, and the peers read those of the first one.
        self._made.set_epoch(0)
        return {"frames": sum(len(batch["video"]) * LENGTH for batch in self._made)}

    def anew(self) -> dict[str, Any]:
        """One epoch, the dataset opened for it. `first` is the time until its first batch."""
        self._made = None
        begin, first, count = time.perf_counter(), 0.0, 0
        for batch in self._loader(self._shuffle):
            first = first or time.perf_counter() - begin
            count += len(batch["video"])
        return {"frames": count * LENGTH, "first": first, "total": time.perf_counter() - begin}

    def save(self, clips: list[Clip], path: str) -> dict[str, Any]:
        """Writes the first clips in the order of the view."""
        got = [np.asarray(clip) for batch in self._loader(False) for clip in batch["video"]]
        np.save(path, np.stack(got[: len(clips)]))
        return {}

    def _loader(self, shuffle: bool) -> Any:
        return self._open().clips("video", **self._clips).pytorch(shuffle=shuffle, **self._options)


class Seek:
    """Single reads of one film, each with the dataset just opened."""

    def __init__(self, uri: str) -> None:
        import deeplake

        self._open = lambda: deeplake.open(uri, read_only=True)
        self._ds = self._open()

    def open(self) -> dict[str, Any]:
        """Opens the dataset again."""
        self._ds = self._open()
        return {}

    def read(self, start: int, count: int) -> dict[str, Any]:
        """Reads frames in sequence. `took` is the time of it in seconds, `pixels` are some of the first frame."""
        begin = time.perf_counter()
        frames = self._ds["video"][0].frames(start, start + count)
        return {"took": time.perf_counter() - begin, "pixels": frames[0, ::20, ::20].tolist()}


class TorchCodec(Reader):
    """torchcodec as its documentation advises: decoders of one FFmpeg thread that stay open.

    With a table of frames (`mappings`) or in approximate mode, frames resized while they are decoded, several decoders
    in a pool of threads.
    """

    def __init__(self, paths: list[str], threads: int, side: int = 0, mappings: bool = True) -> None:
        import torch
        from torchcodec.decoders import VideoDecoder
        from torchcodec.transforms import Resize

        super().__init__(paths, threads)
        torch.set_num_threads(1)
        self._decoder, self._stack, self._side = VideoDecoder, torch.stack, side
        self._options: dict[str, Any] = {"num_ffmpeg_threads": 1}
        if side:
            self._options["transforms"] = [Resize((side, side))]
        self._tables = {path: Track.of(Path(path)).mappings() for path in paths} if mappings else {}

    def run(self, clips: list[Clip]) -> dict[str, Any]:
        """Reads clips; resized ones become batches, as a loader has them."""
        if not self._side:
            return super().run(clips)
        frames, batch = 0, []
        for number, clip in enumerate(self._all(clips)):
            batch.append(clip)
            if len(batch) == BATCH or number + 1 == len(clips):
                frames += len(self._stack(batch)) * LENGTH
                batch = []
        return {"frames": frames}

    def save(self, clips: list[Clip], path: str) -> dict[str, Any]:
        np.save(path, np.stack([clip.permute(0, 2, 3, 1).numpy() for clip in self._all(clips)]))
        return {}

    def _open(self, path: str) -> Any:
        if path in self._tables:
            return self._decoder(path, custom_frame_mappings=self._tables[path], **self._options)
        return self._decoder(path, seek_mode="approximate", **self._options)

    def _clip(self, film: Any, start: int) -> Any:
        return film.get_frames_in_range(start, start + LENGTH).data


class TorchCodecSampler(TorchCodec):
    """torchcodec as its samplers do it: the frames of all clips of a film by one call, each frame once, in order."""

    def _all(self, clips: Iterable[Clip]) -> Iterator[Any]:
        films = [list(group) for _, group in groupby(clips, key=itemgetter(0))]
        for batch in self._pool.map(self._film, films) if self._pool else map(self._film, films):
            yield from batch

    def _film(self, clips: list[Clip]) -> list[Any]:
        opened, number = self._own.__dict__, clips[0][0]
        if number not in opened:
            opened[number] = self._open(self._paths[number])
        wanted = np.array([np.arange(start, start + LENGTH) for _, start in clips])
        distinct, places = np.unique(wanted, return_inverse=True)
        frames = opened[number].get_frames_at(distinct.tolist()).data
        return [frames[places.reshape(wanted.shape)[k].tolist()] for k in range(len(clips))]


class PyAV(Reader):
    """PyAV: containers that stay open; a seek to the key frame, then frame by frame."""

    def __init__(self, paths: list[str], threads: int) -> None:
        super().__init__(paths, threads)
        self._times = {path: Track.of(Path(path)).times for path in paths}

    def _open(self, path: str) -> Any:
        import av

        file = av.open(path)
        file.streams.video[0].thread_count = 1
        return file, file.streams.video[0], self._times[path]

    def _clip(self, film: Any, start: int) -> Any:
        file, stream, times = film
        file.seek(times[start], stream=stream)
        pictures: list[Any] = []
        for frame in file.decode(stream):
            if frame.pts >= times[start]:
                pictures.append(frame.to_ndarray(format="rgb24", threads=1))
                if len(pictures) == LENGTH:
                    break
        return np.stack(pictures)


class Bare(Reader):
    """The limit: FFmpeg's decoder over exactly the packets that clips need, which are in memory.

    `rgb` has swscale convert the frames; with `side` it scales them, too. Pixels are left where FFmpeg writes them.
    """

    def __init__(self, paths: list[str], threads: int, rgb: bool = False, side: int = 0, shared: bool = False) -> None:
        super().__init__(paths, threads)
        self._shared = shared  # the clips of a film are decoded together
        self._tracks = {path: Track.of(Path(path)) for path in paths}
        self._to: dict[str, Any] = {"threads": 1}
        if rgb:
            self._to["format"] = "rgb24"
        if side:
            self._to |= {"width": side, "height": side}
        self._plain, self._keep = not rgb, False

    def run(self, clips: list[Clip]) -> dict[str, Any]:
        """Decodes clips, and lets go of each frame at once."""
        return {"frames": sum(self._all(clips))}

    def save(self, clips: list[Clip], path: str) -> dict[str, Any]:
        """Writes the planes of frames."""
        self._keep = True
        np.save(path, np.stack([[frame.to_ndarray() for frame in clip] for clip in self._all(clips)]))
        self._keep = False
        return {}

    def _open(self, path: str) -> Any:
        import av
        from av.video.reformatter import VideoReformatter

        track = self._tracks[path]
        decoder = av.CodecContext.create(track.codec, "r")
        decoder.extradata, decoder.thread_count = track.setup, 1
        return track, decoder, VideoReformatter()

    def _clip(self, film: Any, start: int) -> Any:
        frames = self._frames(film, start)
        return list(frames) if self._keep else sum(1 for _ in frames)

    def _all(self, clips: Iterable[Clip]) -> Iterator[Any]:
        if not self._shared:
            return super()._all(clips)
        films = [list(group) for _, group in groupby(clips, key=itemgetter(0))]
        return self._pool.map(self._film, films) if self._pool else map(self._film, films)

    def _film(self, clips: list[Clip]) -> int:
        """Decodes each packet that the clips of a film need once. Returns the frames of the clips."""
        opened, number = self._own.__dict__, clips[0][0]
        if number not in opened:
            opened[number] = self._open(self._paths[number])
        track, decoder, scaler = opened[number]
        packets = {packet.dts: packet for _, start in clips for packet in track.needed(start, LENGTH)}
        wanted = {shown for _, start in clips for shown in track.times[start : start + LENGTH]}
        for packet in [*(packets[sent] for sent in sorted(packets)), None]:
            for frame in decoder.decode(packet):
                if frame.pts in wanted and not self._plain:
                    scaler.reformat(frame, **self._to)
        decoder.flush_buffers()
        return len(clips) * LENGTH

    def _frames(self, film: Any, start: int) -> Iterator[Any]:
        track, decoder, scaler = film
        first, last = track.times[start], track.times[start + LENGTH - 1]
        for packet in [*track.needed(start, LENGTH), None]:
            for frame in decoder.decode(packet):
                if first <= frame.pts <= last:
                    yield frame if self._plain else scaler.reformat(frame, **self._to)
        decoder.flush_buffers()
