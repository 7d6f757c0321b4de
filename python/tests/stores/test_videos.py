"""Films in buckets: imported, linked, exported and imported again, with real servers."""

from __future__ import annotations

from pathlib import Path

import deeplake
import numpy as np
import pytest
from servers import Server
from test_video import FILES, MATROSKA
from test_video_files import LARGE, padded


def films(server: Server, bucket: str) -> dict[str, bytes]:
    """Puts films into a bucket, and returns them by name."""
    made = {
        "clips/jump/a é.mp4": (FILES / "h264.mp4").read_bytes(),
        "clips/jump/large.mp4": padded(FILES / "gop2.mp4", 2 * LARGE),
        "clips/run/b.mov": (FILES / "color.mov").read_bytes(),
        "clips/run/c.mkv": (MATROSKA / "h264.mkv").read_bytes(),
        "clips/run/d.webm": (MATROSKA / "vp9.webm").read_bytes(),
    }
    for name, data in made.items():
        server.put(bucket, name, data)
    server.put(bucket, "clips/run/cut.mp4", made["clips/jump/a é.mp4"][:2000])
    return {name.removeprefix("clips/"): data for name, data in made.items()}


@pytest.mark.parametrize("link", [False, True], ids=["copied", "linked"])
def test_films_of_a_bucket(store: Server, tmp_path: Path, link: bool) -> None:
    storage, theirs = deeplake.Storage(**store.settings()), store.new_bucket()
    files = films(store, theirs)
    # The dataset lies elsewhere: the settings are those of the source alone.
    ds = deeplake.ingest(
        store.uri(theirs, "clips"), tmp_path / "lake", link=link, source_storage=storage, verbose=False
    )
    names = sorted(files, key=str.encode)
    assert ds.source(range(5)) == names and ds["labels"].class_names == ["jump", "run"]
    assert ds["videos"].bytes(range(5)) == [files[name] for name in names]
    assert len(ds["videos"][4].frames()) == len(ds["videos"][4])
    for kind in ("folder", "webdataset"):
        out = store.uri(store.new_bucket(), kind)
        report = ds.export(out, format=kind, storage=storage)
        assert report.rows == 5
        again = deeplake.ingest(
            out, f"mem://{kind}-{store.scheme}-{link}", link=link, source_storage=storage, verbose=False
        )
        assert sorted(again["videos"].bytes(range(5))) == sorted(files.values())
        row = again["videos"].bytes(range(5)).index(files[names[3]])
        assert np.array_equal(again["videos"][row].frames(), ds["videos"][3].frames())


def test_parts_of_a_film_in_a_bucket(store: Server) -> None:
    storage, theirs = deeplake.Storage(**store.settings()), store.new_bucket()
    data = padded(FILES / "gop250.mp4", 2 * LARGE)
    store.put(theirs, "film.mp4", data)
    here = deeplake.create(store.uri(store.new_bucket(), "lake"), storage=storage, schema={"video": "video"})
    url, place = store.uri(theirs, "film.mp4"), {store.uri(theirs, ""): storage}
    with deeplake.open(here.uri, storage=storage, link_storage=place) as ds:
        ds.append({"video": deeplake.link(url)})
        ds.extend({"video": [deeplake.link(url, begin=i / 10, end=i / 10 + 0.2) for i in range(4)]})
        ds.commit()
    with deeplake.open(here.uri, storage=storage, link_storage=place) as ds:
        whole, times = ds["video"][0].frames(), np.array(ds["video"][0].times)
        for i in range(4):
            at = (times > i / 10 - 1e-4) & (times < i / 10 + 0.2 - 1e-4)
            part = ds["video"][1 + i]
            assert np.array_equal(part.frames(), whole[at])
            assert len(bytes(part)) == part.info.bytes < LARGE
        clips = ds.select(range(1, 5)).frames("video")
        got = [x for batch in clips.pytorch(batch_size=4) for x in batch["video"].numpy()]
        want = [x for i in range(4) for x in ds["video"][1 + i].frames()]
        assert np.array_equal(got, want)


def test_a_frame_takes_four_round_trips(proxy: Server) -> None:
    bucket = proxy.new_bucket()
    proxy.put(bucket, "film.mp4", padded(FILES / "gop250.mp4", 2 * LARGE))
    direct, url = deeplake.Storage(**proxy.settings()), proxy.uri(bucket, "film.mp4")
    place = proxy.uri(bucket, "lake")
    with deeplake.create(place, storage=direct, schema={"stored": "video", "linked": "video"}) as ds:
        ds.append({"stored": deeplake.read(FILES / "gop250.mp4"), "linked": deeplake.link(url)})
        ds.append({"stored": None, "linked": None})
        ds.commit()
    proxy.profile("s3")  # 25 ms to the first byte
    for name in ("stored", "linked"):
        with deeplake.open(place, storage=deeplake.Storage(**proxy.settings(through_proxy=True))) as ds:
            proxy.reset()
            assert len(ds[name][0].frames([100])) == 1
            chain, end = 0, -1.0
            for one in sorted(proxy.requests(), key=lambda one: float(one["end_ms"])):
                if one["begin_ms"] >= end:
                    chain, end = chain + 1, one["end_ms"]
            assert chain <= 4, proxy.requests()
            assert ds[name][1] is None
