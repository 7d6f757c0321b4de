"""Datasets of Deep Lake 3, written by the published package and compared with its own reading.

The archive was made by tools/v3/write.py, below a path of as many characters as `places` makes:
links name their files by absolute paths.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest
from deeplake3 import ARCHIVES, array_of, differences, index_of
from PIL import Image
from servers import send_range

WRITTEN = b"/tmp/deeplakev3"
# The rows that the package reads and this library does not, or in another form.
KNOWN = {
    "failed_extend": {"png", "ragged"},  # rows behind a failed write cannot be told apart
    "images": {"file_png_P", "file_tiff_CMYK", "file_tiff_F"},  # test_palettes_have_their_colors
    "links": {"checked", "remote", "unchecked"},  # test_links
    "rare_files": {"cmyk", "gray_float", "gray_int32", "mixed", "planar", "tiles"},  # test_rare_files
    "scalars": {"long_double"},
}


@pytest.fixture(scope="module")
def places() -> Iterator[Path]:
    """Unpacks the archive, and moves the paths of links."""
    root = Path(tempfile.mkdtemp(prefix="dl", dir="/tmp"))
    try:
        for name in ARCHIVES:
            with tarfile.open(name) as archive:
                archive.extractall(root, filter="data")
        moved = str(root).encode()
        assert len(moved) == len(WRITTEN)
        paths = [root / "links.expected/index.json", *(root / "links").rglob("*")]
        for path in paths:
            if path.is_file() and WRITTEN in (data := path.read_bytes()):
                path.write_bytes(data.replace(WRITTEN, moved))
        yield root
    finally:
        shutil.rmtree(root)


def names() -> list[str]:
    found = []
    for name in ARCHIVES:
        with tarfile.open(name) as archive:
            found += [m.name for m in archive.getmembers() if m.name.endswith(".expected/index.json")]
    return sorted(Path(name).parent.name.removesuffix(".expected") for name in found)


def at(place: Path, version: dict[str, Any]) -> deeplake.Dataset:
    if version["head"]:
        return deeplake.open(place, branch=version["branch"])
    return deeplake.open(place, branch=version["branch"], at=version["id"])


def unknown(name: str, found: Iterator[str]) -> list[str]:
    known = KNOWN.get(name, set())
    return [line for line in found if line.split("[")[0] not in known]


@pytest.mark.parametrize("name", names())
def test_all_versions_read_as_the_package_reads_them(places: Path, name: str) -> None:
    folder = places / f"{name}.expected"
    for version in index_of(folder)["versions"]:
        if not version.get("error"):
            ds = at(places / name, version)
            assert unknown(name, differences(ds, folder, version)) == [], version["id"]


COPIED = ["history", "tiled", "sequences", "labels", "texts", "images", "removed", "large_items", "rare_files"]


@pytest.mark.parametrize("name", COPIED)
@pytest.mark.parametrize("history", [True, False])
def test_copies_hold_the_same_values(places: Path, tmp_path: Path, name: str, history: bool) -> None:
    before = {p: p.stat() for p in (places / name).rglob("*")}
    report = deeplake.copy(places / name, tmp_path / "copy", history=history)
    assert report.objects > 0
    copy = deeplake.open(tmp_path / "copy")
    assert copy.fsck()
    folder = places / f"{name}.expected"
    for version in index_of(folder)["versions"]:
        if history or (version["head"] and version["branch"] == "main"):
            short = version["id"][:32]
            if not version["head"]:
                version["id"] = short if not short.startswith("first") else 1
            ds = at(tmp_path / "copy", version)
            assert unknown(name, differences(ds, folder, version)) == [], version["id"]
    # Nothing was written to the source.
    assert {p: p.stat().st_mtime_ns for p in (places / name).rglob("*")} == {
        p: stat.st_mtime_ns for p, stat in before.items()
    }


def test_palettes_have_their_colors(places: Path) -> None:
    ds = deeplake.open(places / "images")
    for row in range(2):
        with Image.open(io.BytesIO(ds["file_png_P"].bytes(row))) as image:
            assert image.mode == "P"
            assert np.array_equal(ds["file_png_P"][row], np.asarray(image.convert("RGB")))


def test_files_come_byte_for_byte(places: Path, tmp_path: Path) -> None:
    deeplake.copy(places / "images", tmp_path / "copy")
    folder = places / "images.expected"
    version = index_of(folder)["versions"][-1]
    v3, copy = deeplake.open(places / "images"), deeplake.open(tmp_path / "copy")
    checked = 0
    for tensor in version["tensors"]:
        if tensor["hidden"] or tensor["sample_compression"] not in ("jpeg", "png", "webp"):
            continue
        for row, want in enumerate(tensor["samples"]):
            if "sha256" not in want or not want["bytes"] or v3[tensor["name"]].dtype != "uint8":
                continue
            for ds in (v3, copy):
                data = ds[tensor["name"]].bytes(row)
                assert hashlib.sha256(data).hexdigest() == want["sha256"], tensor["name"]
            checked += 1
    assert checked > 10


def test_a_copy_goes_on_like_any_dataset(places: Path, tmp_path: Path) -> None:
    deeplake.copy(places / "history", tmp_path / "copy", history=True)
    ds = deeplake.open(tmp_path / "copy")
    rows = len(ds)
    ds.append(dict.fromkeys(ds.tensors) | {"numbers": ds["numbers"][0]})
    ds["numbers"][0] = ds["numbers"][1]
    commit = ds.commit("goes on")
    again = deeplake.open(tmp_path / "copy")
    assert len(again) == rows + 1
    assert np.array_equal(again["numbers"][0], again["numbers"][1])
    assert [c.message for c in again.log()][:2] == [commit.message, "uncommitted changes"]
    assert again.fsck()


def test_an_interrupted_copy_goes_on(places: Path, tmp_path: Path) -> None:
    whole = deeplake.copy(places / "history", tmp_path / "copy", history=True)
    (tmp_path / "copy/tsf.json").unlink()
    again = deeplake.copy(places / "history", tmp_path / "copy", history=True)
    assert again.skipped > 0
    assert again.bytes < whole.bytes
    ds = deeplake.open(tmp_path / "copy")
    assert ds.fsck()
    folder = places / "history.expected"
    head = next(v for v in index_of(folder)["versions"] if v["head"] and v["branch"] == "main")
    assert list(differences(ds, folder, head)) == []


def test_log_branches_and_differences(places: Path) -> None:
    index = index_of(places / "history.expected")
    ds = deeplake.open(places / "history")
    assert set(ds.branches) == {v["branch"] for v in index["versions"]}
    commits = {v["id"][:32]: v for v in index["versions"] if not v["head"]}
    logged = {str(c.id): c for c in ds.log()}
    for number, version in commits.items():
        if version["branch"] == "main" and not number.startswith("first"):
            commit = logged[number]
            assert (commit.message, commit.author) == (version["message"], version["user"])
    assert "numbers: 2 rows (3, 20) updated" in str(ds.diff(1, 2))
    assert 'group/new: renamed from "group/old"' in str(ds.diff(2, 3))


def test_saved_views(places: Path, tmp_path: Path) -> None:
    index = index_of(places / "views.expected")
    ds = deeplake.open(places / "views")
    deeplake.copy(places / "views", tmp_path / "copy", history=True)
    copy = deeplake.open(tmp_path / "copy")
    wanted = {v["id"]: v["rows"] for v in index["views"] if v["id"] != "views.outside"}
    assert {v.name for v in ds.views()} == set(wanted)
    for name, rows in wanted.items():
        assert ds.load_view(name).rows.tolist() == rows
        assert copy.load_view(name).rows.tolist() == rows


def test_links_follow_the_policy(places: Path, tmp_path: Path) -> None:
    folder = places / "links.expected"
    tensors = {t["name"]: t for t in index_of(folder)["versions"][-1]["tensors"]}
    ds = deeplake.open(places / "links")
    for row, want in enumerate(tensors["checked"]["samples"]):
        if want["link"].endswith(".jpg"):
            got = ds["checked"][row]
            value = array_of(folder, want["value"])
            assert np.abs(got.astype(int) - value.astype(int)).max() <= 24
    with pytest.raises(deeplake.CorruptError, match="gone"):
        ds["unchecked"][5]
    with pytest.raises(deeplake.AccessDeniedError, match="relative-path"):
        ds["unchecked"][4]
    with pytest.raises(deeplake.Error, match="link_storage"):
        ds["remote"][0]
    # A grid of links is one picture, of which a region takes the files that it touches.
    grid = array_of(folder, tensors["tiles"]["samples"][0]["value"])
    assert np.abs(ds["tiles"][0].astype(int) - grid.astype(int)).max() <= 24
    assert ds["tiles"].htype == "image" and ds["albums"].htype == "sequence[image]"
    assert [len(ds["albums"][row]) for row in range(3)] == [2, 0, 3]
    deeplake.copy(places / "links", tmp_path / "copy")
    left = deeplake.open(tmp_path / "copy").info["deeplake3"]["left_out"]
    assert set(left) == {"checked", "remote", "tiles", "unchecked"}
    assert "links" in left["remote"] and "grid" in left["tiles"]


def test_damage_is_named(places: Path) -> None:
    ds = deeplake.open(places / "failed_extend")
    with pytest.raises(deeplake.CorruptError, match="failed write"):
        ds["png"][0]
    index = index_of(places / "missing_chunk.expected")
    head = next(v for v in index["versions"] if v["head"])
    broken = [
        t["name"]
        for t in head["tensors"]
        if not t["hidden"] and any("error" in s for s in t.get("samples", [{"error": ""}]))
    ]
    ds = deeplake.open(places / "missing_chunk")
    with pytest.raises(deeplake.CorruptError, match="older commit"):
        [ds[name][row] for name in broken for row in range(len(ds))]


def test_it_is_read_and_never_written(places: Path, tmp_path: Path) -> None:
    place = places / "labels"
    ds = deeplake.open(place)
    assert ds.read_only
    for write in (
        lambda: ds.append({"label": 1}),
        lambda: ds.create_tensor("x"),
        lambda: ds.delete(0),
        lambda: ds.checkout("x", create=True),
        lambda: ds.fsck(),
        lambda: ds.query("SELECT * LIMIT 1").save("x"),
        lambda: ds.rechunk(),
        lambda: ds.gc(),
        lambda: deeplake.create(place),
        lambda: deeplake.create(place, overwrite=True),
        lambda: deeplake.delete(place),
        lambda: deeplake.copy(place, place),
    ):
        with pytest.raises(deeplake.Error):
            write()
    with pytest.raises(deeplake.AlreadyExistsError, match="Deep Lake 3"):
        deeplake.create(place)
    deeplake.create(tmp_path / "ours").close()
    with pytest.raises(deeplake.AlreadyExistsError, match="Deep Lake 3"):
        deeplake.copy(tmp_path / "ours", place)
    assert not (place / "tsf.json").exists()
    with pytest.raises(deeplake.ReadOnlyError, match=r"deeplake\.copy"):
        ds.append({"label": 1})
    assert deeplake.exists(place)


def test_commands(places: Path, tmp_path: Path) -> None:
    def run(*args: str) -> str:
        done = subprocess.run([sys.executable, "-m", "deeplake", *args], capture_output=True, text=True, check=True)
        return done.stdout

    listed = run("ls", str(places))
    assert "labels" in listed and "history" in listed
    copied = run("cp", str(places / "scalars"), str(tmp_path / "copy"), "--history")
    assert "long_double" in copied and "float128" in copied


def test_a_web_server_needs_no_listing(places: Path) -> None:
    class Files(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = places / self.path[1:]
            if path.is_file():
                with contextlib.suppress(OSError):  # the core may end a request that it repeats
                    send_range(self, path.read_bytes(), {"ETag": f'"{path.stat().st_mtime_ns}"'})
                return
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        uri = f"http://127.0.0.1:{server.server_port}"
        folder = places / "history.expected"
        main = [v for v in index_of(folder)["versions"] if v["branch"] == "main"]
        for version in (main[1], main[-1]):
            ds = deeplake.open(f"{uri}/history", at=None if version["head"] else version["id"])
            few = {**version, "tensors": [{**t, "samples": t["samples"][:3]} for t in version["tensors"]]}
            assert list(differences(ds, folder, few)) == [], version["id"]
        assert deeplake.open(f"{uri}/views").load_view("chosen").rows.tolist() == [5, 2, 2, 29]
    finally:
        server.shutdown()
        server.server_close()


def test_loaders_queries_and_resume(places: Path) -> None:
    ds = deeplake.open(places / "history")
    photos = ds.query("SELECT photos, labels, numbers WHERE labels[0] >= 0")
    assert 0 < len(photos) <= len(ds)
    photos = ds.query("SELECT labels WHERE labels IS NOT NULL")
    loader = photos.pytorch(batch_size=4, shuffle=True, seed=3)
    first = [batch["labels"] for batch in loader]
    loader = photos.pytorch(batch_size=4, shuffle=True, seed=3)
    taken = []
    for batch in loader:
        taken.append(batch["labels"])
        if len(taken) == 3:
            state = loader.state_dict()
            break
    loader = photos.pytorch(batch_size=4, shuffle=True, seed=3)
    loader.load_state_dict(state)
    taken += [batch["labels"] for batch in loader]
    assert [str(a) for a in taken] == [str(b) for b in first]


def test_rare_files_are_bytes_at_their_rows_alone(places: Path) -> None:
    folder = places / "rare_files.expected"
    tensors = {t["name"]: t for t in index_of(folder)["versions"][-1]["tensors"]}
    ds = deeplake.open(places / "rare_files")
    assert ds["numbers"][1].tolist() == [2]
    for row in (0, 2):
        assert np.array_equal(ds["mixed"][row], array_of(folder, tensors["mixed"]["samples"][row]))
    with pytest.raises(deeplake.UnsupportedError, match=r"tiff file is not decoded here: .*compression.*bytes\(row\)"):
        ds["mixed"][1]
    undecoded = 0
    for name, tensor in tensors.items():
        for row, want in enumerate(tensor["samples"] if tensor["sample_compression"] == "tiff" else []):
            try:
                got = ds[name][row]
            except deeplake.Error as error:
                assert "tiff" in str(error) and "bytes(row) returns the file" in str(error)
                data = ds[name].bytes(row)
                assert hashlib.sha256(data).hexdigest() == want["sha256"]
                with Image.open(io.BytesIO(data)) as image:
                    assert image.format == "TIFF"
                undecoded += 1
            else:
                assert np.array_equal(got, array_of(folder, want)), name
    assert undecoded > 1
    assert deeplake.open(places / "rare_files").query("SELECT numbers WHERE numbers[0] > 1").rows.tolist() == [1, 2]


def test_diff_tells_removed_rows_from_others(places: Path) -> None:
    ds = deeplake.open(places / "removed")
    diff = ds.diff(1, 2)
    assert (list(diff.deleted), list(diff.added)) == ([0, 4, 17], [17, 18, 19])
    assert list(diff.tensors["numbers"].updated) == [5]
    assert not diff.tensors["text"].updated and not diff.tensors["labels"].updated
    head = ds.diff(3, 4)
    assert (list(head.deleted), list(head.added)) == ([10, 11, 12, 13, 14], [])
    changes = [version.change for version in ds.history(2)]
    assert changes == ["updated", "added"]
