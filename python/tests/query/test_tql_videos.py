"""FRAMES, DURATION, FPS and SHAPE of videos, which read their tables alone."""

from __future__ import annotations

import deeplake
import pytest
import tqlscript
from test_video import FILES, MATROSKA

NAMES = ["h264.mp4", None, "turned.mp4", "vfr.mp4", "av1.mp4", "color.mov"]


@pytest.fixture(scope="module")
def films():
    ds = deeplake.create("mem://tql-films", overwrite=True)
    ds.create_tensor("video", "video")
    ds.create_tensor("n", dtype="int64")
    for i, name in enumerate(NAMES):
        ds.append({"video": name and deeplake.read(FILES / name), "n": i})
    ds.append({"video": deeplake.link(FILES / "gop2.mp4", begin=0.2, end=0.5), "n": 6})
    ds.append({"video": deeplake.link(MATROSKA / "h264.mkv"), "n": 7})
    ds.commit()
    return ds


def test_facts_are_those_of_the_videos(films):
    found = tqlscript.rows(films.query("SELECT FRAMES(video), DURATION(video), FPS(video), SHAPE(video)"))
    for video, row in zip(films["video"][:], found, strict=True):
        if video is None:
            assert list(row) == [None] * 4
            continue
        info = video.info
        assert row[0] == info.frames and row[1] == pytest.approx(info.duration) and row[2] == pytest.approx(info.fps)
        assert list(row[3]) == [info.frames, info.height, info.width, 3]


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ("FRAMES(video) > 10", lambda v: v.info.frames > 10),
        ("DURATION(video) < 0.5", lambda v: v.info.duration < 0.5),
        ("SHAPE(video)[1] > SHAPE(video)[2]", lambda v: v.info.height > v.info.width),
        (
            "FPS(video) BETWEEN 20 AND 26 AND FRAMES(video) % 2 = 0",
            lambda v: 20 <= v.info.fps <= 26 and len(v) % 2 == 0,
        ),
    ],
)
def test_conditions(films, where, holds):
    want = [i for i, v in enumerate(films["video"][:]) if v is not None and holds(v)]
    assert list(films.query(f"SELECT n WHERE {where}")["n"].numpy()) == want and 0 < len(want) < 8
    assert list(films.query(f"SELECT * WHERE {where}").query("SELECT n WHERE FRAMES(video) > 0")["n"].numpy()) == want


def test_order_group_and_views(films):
    by = tqlscript.rows(films.query("SELECT n ORDER BY FRAMES(video) DESC, n LIMIT 3"))
    frames = [(0 if v is None else -len(v), i) for i, v in enumerate(films["video"][:]) if v is not None]
    assert [row[0] for row in by] == [i for _, i in sorted(frames)[:3]]
    assert tqlscript.rows(films.query("SELECT SUM(FRAMES(video))"))[0][0] == -sum(n for n, _ in frames)
    assert films.select([2, 0]).query("SELECT FRAMES(video) AS f")["f"].numpy().tolist() == [
        -frames[1][0],
        -frames[0][0],
    ]
    renamed = films.query("SELECT video AS film, n + 1 AS m").query("SELECT FRAMES(film) AS f WHERE m = 1")
    assert renamed["f"].numpy().tolist() == [-frames[0][0]]
    crossed = films.query("SELECT SHAPE(a.video) AS s FROM dataset AS a JOIN dataset AS b ON a.n = 2")["s"]
    assert len(crossed) == 8 and all(list(s) == list(films["video"][2].frames().shape) for s in crossed)
    joined = films.query("SELECT a.n, FRAMES(b.video) FROM dataset AS a JOIN dataset AS b ON a.n = b.n WHERE b.n = 0")
    assert tqlscript.rows(joined)[0][1] == -frames[0][0]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT FRAMES(n)", "FRAMES wants a column of videos"),
        ("SELECT FRAMES(video, n)", "2 arguments, want 1"),
        ("SELECT FPS()", "0 arguments, want 1"),
        ("SELECT FRAMES(video) FROM (SELECT video WHERE n > 0)", "write FRAMES in the query of the dataset"),
        ("WITH a AS (SELECT n, video) SELECT SHAPE(video) FROM a", "write SHAPE in the query of the dataset"),
        ("SELECT SHAPE(COALESCE(video, video))", "write SHAPE in the query of the dataset"),
        (
            "SELECT (SELECT MAX(SHAPE(a.video)[0] + b.n) FROM dataset AS b) FROM dataset AS a",
            "SHAPE in the query of the",
        ),
        ("SELECT SHAPE(FIRST(video))", "write SHAPE in the query of the dataset"),
        ("SELECT DURATION(1)", "wants a column of videos"),
    ],
)
def test_other_arguments(films, query, reason):
    with pytest.raises(deeplake.Error, match=reason):
        films.query(query)


def test_saved_views(films, tmp_path):
    with deeplake.create(tmp_path / "lake", schema={"video": "video", "n": {"dtype": "int64"}}) as ds:
        ds.extend({"video": [deeplake.read(FILES / "h264.mp4")] * 3, "n": [1, 2, 3]})
        ds.commit()
        want = [len(ds["video"][0])] * 2
        ds.query("SELECT * WHERE n > 1").save("some")
        ds.query("SELECT n, video AS film WHERE n > 1").save("named")
        assert ds.load_view("some").query("SELECT FRAMES(video) AS f")["f"].numpy().tolist() == want
        assert ds.load_view("some").query("SELECT SHAPE(video)[0] AS f")["f"].numpy().tolist() == want
        assert ds.load_view("named").query("SELECT FRAMES(film) AS f")["f"].numpy().tolist() == want


def test_tables_are_no_columns(films):
    assert films.query("SELECT *")[0].keys() == {"video", "n"}
    assert tqlscript.rows(films.query("SELECT SOURCE()"))[0][0] is None
    with pytest.raises(deeplake.NotFoundError):
        films.query("SELECT _video_frames")
