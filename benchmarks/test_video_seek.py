"""Reads of single frames and of ranges out of one long film in an object store, linked and stored.

python benchmarks/test_video_seek.py [--full]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import report
from protocol import Contender, Figure, Result, Spread
from remote import Servers, Store
from test_lake_reads import _chain
from video_data import RATE, long_film

SEED = 11
RANGE = 30 * RATE  # frames of a range: 30 s
FULL, SHORT = (60, 30), (2, 1)  # minutes of the linked film and of the stored one


def measure(full: bool = False) -> Result:
    """Seeks within a linked film of an hour, 2 GB, and reads ranges of it and of a stored one of 1 GB.

    Short: films of two minutes and one.
    """
    minutes = FULL if full else SHORT
    result = Result("video_seek", "Frames of one long film in S3", 15 if full else 3, full, packages=("av",))
    with Servers("s3") as servers:
        store = servers["s3"]
        for linked, length in zip((True, False), minutes, strict=True):
            film = long_film(length)
            with _stored(store, film, linked) as reader:
                _measure(result, store, reader, film, linked)
    result.notes.append(
        "The film has a key frame each 250, and a frame is decoded from the key frame in front of it. Each read has "
        "the dataset just opened, in a process that has read from the store before. Round trips are the longest chain "
        "of requests of which each began after the one before had ended; each costs 25 ms to the first byte."
    )
    return result


def _stored(store: Store, film: Path, linked: bool) -> Contender:
    """Makes the dataset of a film in the store, and returns a reader of it."""
    import deeplake

    bucket = store.bucket()
    direct = deeplake.Storage(**store.settings(direct=True))
    source = str(film)
    if linked:
        source = f"s3://{bucket}/{film.name}"
        _upload(store, film, f"{bucket}/{film.name}")
    options: dict[str, Any] = {"link_storage": {f"s3://{bucket}": direct}} if linked else {}
    uri = f"s3://{bucket}/lake"
    with deeplake.create(uri, storage=direct, **options) as ds:
        ds.create_tensor("video", "video")
        ds.append({"video": deeplake.link(source) if linked else deeplake.read(source)})
        ds.commit()
    return Contender("seek", "video_readers", "Seek", environment=store.environment(), uri=uri)


def _upload(store: Store, film: Path, key: str) -> None:
    from pyarrow.fs import LocalFileSystem, S3FileSystem, copy_files

    scheme, _, host = store.endpoint.partition("://")
    there = S3FileSystem(
        access_key=store.access_key,
        secret_key=store.secret_key,
        region=store.region,
        scheme=scheme,
        endpoint_override=host,
    )
    copy_files(str(film), key, source_filesystem=LocalFileSystem(), destination_filesystem=there, chunk_size=8 << 20)


def _measure(result: Result, store: Store, reader: Contender, film: Path, linked: bool) -> None:
    index = _Index.of(film)
    size, frames = film.stat().st_size, len(index.times)
    where = f"a {'linked' if linked else 'stored'} film of {size / 1e9:.2g} GB"
    starts = np.random.default_rng(SEED).integers(1, frames - RANGE, result.rounds + 1).tolist()
    reader.call("read", start=0, count=1)
    seconds, chains, requests, bytes_, tables = [], [], [], [], []
    for start in starts[1:]:
        reader.call("open")
        store.reset()
        found = reader.call("read", start=start, count=1)["value"]
        seen = store.requests()
        seconds.append(found["took"])
        chains.append(float(_chain(seen)))
        requests.append(float(len(seen)))
        off = [np.abs(np.array(found["pixels"], np.int16) - one).mean() for one in index.around(film, start)]
        assert off[1] < min(off[0], off[2]), f"frame {start} is closer to another one of PyAV's: {off}"
        reader.call("open")
        store.reset()
        reader.call("read", start=start, count=RANGE)
        read: dict[str, int] = {}
        for one in store.requests():
            if one["method"] == "GET":
                read[one["target"]] = read.get(one["target"], 0) + one["bytes"]
        own = max(read.values())  # of the object with the film
        tables.append((sum(read.values()) - own) / 1e3)
        bytes_.append(own / index.needed(start, RANGE))
    add = result.figures.append
    add(Figure(f"{where}: seconds to a frame", Spread.of(seconds), 0.3 if linked else None, "less", "s"))
    add(Figure(f"{where}: round trips in sequence", Spread.of(chains), 4 if linked else None, "less"))
    add(Figure(f"{where}: requests for a frame", Spread.of(requests), None, "less"))
    add(Figure(f"{where}: bytes of a range of 30 s over those of its packets", Spread.of(bytes_), 1.05, "less"))
    add(Figure(f"{where}: other bytes, tables above all", Spread.of(tables), None, "less", "kB"))
    result.checks.append(f"{where}: {len(seconds)} frames are those of PyAV")


class _Index(NamedTuple):
    """The packets of a film, in the order of decoding, without their bytes."""

    sizes: npt.NDArray[np.int64]
    keys: npt.NDArray[np.int64]  # packets
    shown: npt.NDArray[np.int64]  # the packet of each frame
    times: npt.NDArray[np.int64]  # of each frame, in ticks

    @classmethod
    def of(cls, film: Path) -> _Index:
        import av

        with av.open(str(film)) as file:
            packets = [(one.size, one.is_keyframe, one.pts) for one in file.demux(video=0) if one.size]
        sizes, keys, times = (np.array(column) for column in zip(*packets, strict=True))
        shown = np.argsort(times)
        return cls(sizes, np.flatnonzero(keys), shown, times[shown])

    def needed(self, start: int, count: int) -> int:
        """Returns the bytes of the packets that frames need."""
        wanted = self.shown[start : start + count]
        first = self.keys[np.searchsorted(self.keys, wanted.min(), "right") - 1]
        return int(self.sizes[first : wanted.max() + 1].sum())

    def around(self, film: Path, frame: int) -> list[npt.NDArray[np.int16]]:
        """Returns some pixels of a frame between those of its neighbours, as PyAV decodes them."""
        import av

        wanted, out = self.times[frame - 1 : frame + 2].tolist(), []
        with av.open(str(film)) as file:
            file.seek(wanted[0], stream=file.streams.video[0])
            for one in file.decode(video=0):
                if one.pts in wanted:
                    out.append(one.to_ndarray(format="rgb24")[::20, ::20].astype(np.int16))
                if len(out) == len(wanted):
                    return out
        raise AssertionError(f"{film} has no frame {frame}")


def test_video_seek(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
