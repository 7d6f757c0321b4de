"""Files of videos: folders, shards and lists come in byte for byte, and go out as they came."""

from __future__ import annotations

import functools
import http.server
import json
import random
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest
from conftest import encoded, picture
from kills import killed_after_a_commit
from test_export import tree
from test_parquet import version_of
from test_video import FILES, MATROSKA, encode

MP4, MOV, MKV, WEBM = FILES / "h264.mp4", FILES / "color.mov", MATROSKA / "h264.mkv", MATROSKA / "vp9.webm"
LARGE = 5 << 20  # bytes that a film is copied in more than one piece from


def padded(path: Path, more: int) -> bytes:
    """A film of MP4 with a box behind it that no reader needs."""
    box = (bytes(range(256)) * (more // 256 + 1))[:more]
    return path.read_bytes() + (more + 8).to_bytes(4, "big") + b"free" + box


def films(root: Path) -> dict[str, bytes]:
    """Writes films in folders of splits and classes, and returns them."""
    made = {
        "train/jump/a.mp4": MP4.read_bytes(),
        "train/jump/B é #1.MOV": MOV.read_bytes(),
        "train/run away/c%20d.mkv": MKV.read_bytes(),
        "train/run away/[e] & f.WebM": WEBM.read_bytes(),
        "val/jump/a.mp4": padded(MP4, LARGE),
        "val/run away/日本.mp4": padded(FILES / "gop2.mp4", 100),
    }
    for name, data in made.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return made


def bad(root: Path) -> dict[str, str]:
    """Writes files beside films that are none, and returns a part of the reason for each."""
    files = {
        "train/jump/empty.mp4": (b"", "the file is empty"),
        "train/jump/cut.MP4": (MP4.read_bytes()[:2000], "the file ends at byte 2000"),
        "train/jump/text.mp4": (b"a text that is no film", "not a video of MP4 or Matroska"),
        "train/run away/cut.webm": (WEBM.read_bytes()[:500], "ends at byte 500"),
        "val/jump/sound.mp4": ((FILES / "sound.mp4").read_bytes(), "no track of pictures"),
        "val/jump/notes.txt": (b"notes", "not a video"),
    }
    for name, (data, _) in files.items():
        (root / name).write_bytes(data)
    return {name: reason for name, (_, reason) in files.items()}


def create(*args: Any, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deeplake", "create", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code and "Traceback" not in done.stderr, done.stderr
    return done


def check(ds: deeplake.Dataset, files: dict[str, bytes]) -> None:
    """Compares a dataset with the films of a folder."""
    assert ds.source(range(len(ds))) == sorted(files, key=str.encode)
    for row, name in enumerate(sorted(files, key=str.encode)):
        assert ds["videos"].bytes(row) == files[name], name
        assert len(ds["videos"][row].frames([0, -1])) == 2
        assert ds["labels"].class_names[int(ds["labels"][row])] == name.split("/")[1]


@pytest.mark.parametrize("link", [False, True], ids=["copied", "linked"])
def test_a_folder_of_films(tmp_path: Path, link: bool) -> None:
    root = tmp_path / "films"
    files, reasons = films(root), bad(root)
    done = create(tmp_path / "lake", f"from-{root}", *(["--link"] if link else []), "--json")
    report = json.loads(done.stdout)
    assert (report["format"], report["rows"], report["skipped"]) == ("videos", 6, len(reasons))
    assert report["splits"] == [{"name": "train", "rows": 4}, {"name": "val", "rows": 2}]
    left = {skip["path"]: skip["reason"] for skip in report["skips"]}
    assert left.keys() == reasons.keys() and all(reasons[name] in left[name] for name in left), left
    with deeplake.open(tmp_path / "lake") as ds:
        assert set(ds.tensors) == {"videos", "labels"} and ds["videos"].htype == "video"
        assert ds["labels"].class_names == ["jump", "run away"]
        check(ds, files)
        assert len(ds.load_view("val").clips("videos", length=4)) > 0
    stored = sum(path.stat().st_size for path in (tmp_path / "lake").rglob("*") if path.is_file())
    assert (stored < LARGE) == link
    again = create(tmp_path / "lake", f"from-{root}", *(["--link"] if link else []))
    assert again.stdout.startswith("unchanged ") and "6 files were known and have not changed" in again.stdout
    assert "6 files were left out:" in again.stdout


@pytest.mark.parametrize("link", [False, True], ids=["copied", "linked"])
def test_ingest(tmp_path: Path, link: bool, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "films"
    files = films(root)
    check(deeplake.ingest(root, tmp_path / "lake", link=link, verbose=False), files)
    bad(root)
    with pytest.raises(deeplake.InvalidArgumentError, match=r"train/jump/cut\.MP4: .*the file ends at byte 2000"):
        deeplake.ingest(root, tmp_path / "raised", link=link, on_error="raise", verbose=False)
    assert not deeplake.exists(tmp_path / "raised")
    check(deeplake.ingest(root, tmp_path / "skipped", link=link), files)
    assert "train/jump/text.mp4: not a video of MP4 or Matroska" in capsys.readouterr().err


def test_images_and_videos(tmp_path: Path) -> None:
    root = tmp_path / "mixed"
    (root / "a").mkdir(parents=True)
    (root / "a/film.mp4").write_bytes(MP4.read_bytes())
    (root / "a/cover.jpg").write_bytes(encoded(picture(1)))
    refused = create(tmp_path / "lake", f"from-{root}", code=1)
    assert 'it has images, such as "a/cover.jpg", and videos, such as "a/film.mp4"' in refused.stderr
    assert not deeplake.exists(tmp_path / "lake")
    for kind, other in (("images", "a/film.mp4: a video, and "), ("videos", "a/cover.jpg: an image, and ")):
        done = create(tmp_path / kind, f"from-{root}", "--format", kind)
        assert "1 rows in 1 classes" in done.stdout and other in done.stdout
        ds = deeplake.ingest(root, f"mem://only-{kind}", format=kind, verbose=False)
        assert set(ds.tensors) == {kind, "labels"} and len(ds) == 1
    for option, given in (("--size", 32), ("--compression", "png"), ("--on-error", "accept")):
        done = create(tmp_path / "lake", f"from-{root}", "--format", "videos", option, given, code=1)
        assert " is for images, and " in done.stderr
    (root / "a/cover.jpg").unlink()
    empty = create(root, code=2)
    assert "has videos, like a/film.mp4, and no dataset" in empty.stderr


def test_kills(tmp_path: Path) -> None:
    """Imports of films that are killed have no row twice, and lose none."""
    root, uri = tmp_path / "films", str(tmp_path / "lake")
    files = {}
    for i in range(300):
        name = f"c{i // 100}/{i:03}.mp4"
        files[name] = padded(MP4, 1 + i)
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(files[name])
    command = [sys.executable, "-m", "deeplake", "create", uri, f"from-{root}", "--checkpoint", "10"]
    draw, kills = random.Random(6), 0
    for _ in range(3):
        kills += killed_after_a_commit(command, functools.partial(version_of, uri), 0.03, draw)
    report = json.loads(create(uri, f"from-{root}", "--checkpoint", "10", "--json").stdout)
    assert report["rows"] == 300 and kills > 0 and report["skipped"] == 0
    ds = deeplake.open(uri)
    assert ds.source(range(300)) == sorted(files)
    assert ds["videos"].bytes(range(300)) == [files[name] for name in sorted(files)]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address of a server that shows it."""
    folder = tmp_path / "site"
    folder.mkdir()
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_list_of_urls(tmp_path: Path, site: tuple[Path, str]) -> None:
    folder, address = site
    (folder / "x").mkdir()
    (folder / "x/1.mp4").write_bytes(MP4.read_bytes())
    (folder / "x/2.webm").write_bytes(WEBM.read_bytes())
    (folder / "list.txt").write_text(f"x/1.mp4\n{address}/x/2.webm\nx/gone.mp4\n")
    report = json.loads(create(tmp_path / "lake", f"from-{address}/list.txt", "--json").stdout)
    assert (report["format"], report["rows"], report["skipped"]) == ("videos", 2, 1)
    with deeplake.open(tmp_path / "lake") as ds:
        assert sorted(ds["videos"].bytes(range(2))) == sorted([MP4.read_bytes(), WEBM.read_bytes()])
        assert ds["labels"].class_names == ["x"]


@pytest.mark.parametrize("link", [False, True], ids=["copied", "linked"])
def test_folders_come_back(tmp_path: Path, link: bool) -> None:
    """An export has the files, with the endings of their content, and an import of it the rows."""
    root = tmp_path / "films"
    files = films(root)
    ds = deeplake.ingest(root, tmp_path / "lake", link=link, verbose=False)
    report = ds.export(tmp_path / "out", format="folder")
    wanted = {name.replace(".MOV", ".mov").replace(".WebM", ".webm"): data for name, data in files.items()}
    assert tree(tmp_path / "out") == wanted
    assert (report.rows, report.files, report.bytes) == (6, 6, sum(map(len, files.values())))
    again = deeplake.ingest(tmp_path / "out", tmp_path / "again", verbose=False)
    check(again, wanted)
    assert [(v.name, v.rows) for v in again.views()] == [("train", 4), ("val", 2)]
    if link:
        (root / "val/jump/a.mp4").write_bytes(MP4.read_bytes())
        with pytest.raises(deeplake.CorruptError, match=r"has changed since"):
            ds.export(tmp_path / "changed", format="folder")


@pytest.mark.parametrize("link", [False, True], ids=["copied", "linked"])
def test_shards_come_back(tmp_path: Path, link: bool) -> None:
    schema = {
        "videos": {"htype": "video", "info": {"camera": "left"}},
        "front": "video",
        "labels": "class_label",
        "text": "text",
    }
    ds = deeplake.create(tmp_path / "lake", schema=schema)
    pad = padded(MP4, LARGE)
    (tmp_path / "large.mp4").write_bytes(pad)
    rows = [(MP4, WEBM), (MOV, None), (tmp_path / "large.mp4", MKV), (None, MP4)]
    take = deeplake.link if link else deeplake.read
    for i, (one, other) in enumerate(rows):
        both = {name: None if path is None else take(path) for name, path in (("videos", one), ("front", other))}
        ds.append({**both, "labels": f"class {i % 2}", "text": f"row {i}"})
    ds.commit()
    ds.export(tmp_path / "out", format="webdataset")
    with tarfile.open(tmp_path / "out/00000.tar") as shard:
        members = [name for name in shard.getnames() if not name.endswith((".cls", ".txt"))]
    assert members == [
        "00000000.mp4", "00000000.front.webm", "00000001.mov", "00000002.mp4", "00000002.front.mkv", "00000003.front.mp4",
    ]  # fmt: skip
    for how in (False, True):
        back = deeplake.ingest(tmp_path / "out", tmp_path / f"back-{how}", link=how, verbose=False)
        assert set(back.tensors) == set(schema) and back["labels"].class_names == ["class 0", "class 1"]
        assert back["videos"].info == {"camera": "left"}
        for row, (one, other) in enumerate(rows):
            for name, path in (("videos", one), ("front", other)):
                assert back[name].bytes(row) == (None if path is None else path.read_bytes()), (name, row)
        assert np.array_equal(back["front"][2].frames(), ds["front"][2].frames())


@pytest.mark.parametrize("kind", ["mds", "tfrecord", "parquet"])
def test_other_formats_have_the_bytes(tmp_path: Path, kind: str) -> None:
    ds = deeplake.create("mem://films-of-other-formats", schema={"videos": "video"}, overwrite=True)
    ds.extend({"videos": [deeplake.read(path) for path in (MP4, WEBM)]})
    ds.commit()
    ds.export(tmp_path / "out", format=kind)
    back = deeplake.ingest(tmp_path / "out", f"mem://films-of-{kind}", verbose=False, overwrite=True)
    assert back["videos"].bytes(range(2)) == [MP4.read_bytes(), WEBM.read_bytes()]


def test_exports_at_the_command_line(tmp_path: Path) -> None:
    root = tmp_path / "films"
    for i in range(3):
        path = root / f"fade {i % 2}" / f"{i}.mkv"
        path.parent.mkdir(parents=True, exist_ok=True)
        encode(path, frames=12 + i)
    create(tmp_path / "lake", f"from-{root}")
    command = [sys.executable, "-m", "deeplake", "export", str(tmp_path / "lake"), str(tmp_path / "out")]
    done = subprocess.run([*command, "--format", "folder"], capture_output=True, text=True, timeout=120, check=True)
    assert "Traceback" not in done.stderr and tree(tmp_path / "out") == tree(root)
    shutil.rmtree(tmp_path / "out")
    for words in (["head"], ["query", "SELECT videos, labels LIMIT 2", "--json"]):
        command = [sys.executable, "-m", "deeplake", words[0], str(tmp_path / "lake"), *words[1:]]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        assert "Video(h264, 96 x 64, 12 frames" in shown.stdout and "fade 0" in shown.stdout
    view = deeplake.open(tmp_path / "lake").query("SELECT videos, labels WHERE labels = 'fade 1'")
    assert view.export(tmp_path / "out", format="folder").files == 1
    computed = deeplake.open(tmp_path / "lake").query("SELECT videos, labels, 1 + 1 AS two")
    computed.export(tmp_path / "computed", format="folder")
    assert sorted(tree(tmp_path / "computed").values()) == sorted(tree(root).values())
