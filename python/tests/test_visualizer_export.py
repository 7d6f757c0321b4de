"""Exported pages in a real browser: the page reads a dataset from a plain web server."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import browser
import deeplake
import numpy as np
import pytest
from click.testing import CliRunner
from deeplake._cli.main import cli
from PIL import Image

RED, BLUE = (230, 20, 20), (30, 30, 230)


@pytest.fixture(scope="module")
def chromium():
    with browser.chromium() as running:
        yield running


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The folder of a dataset of six pictures, red and blue, with a box each."""
    folder = tmp_path_factory.mktemp("lake") / "pets"
    with deeplake.create(folder) as ds:
        ds.create_tensor("images", "image.rgb", compression="jpeg")
        ds.create_tensor("labels", "class_label", class_names=["red", "blue"])
        ds.create_tensor("boxes", "bbox")
        for i in range(6):
            ds.append(
                {
                    "images": np.full((120, 160, 3), (RED, BLUE)[i % 2], np.uint8),
                    "labels": i % 2,
                    "boxes": np.array([[40, 30, 120, 90]], np.float32),
                }
            )
        ds.commit("six pictures")
    return folder


@contextlib.contextmanager
def serving(folder, ranges=True, cors=False):
    """Serves the files of a folder, as a bucket does."""

    class Files(SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

        def end_headers(self):
            if cors:
                self.send_header("Access-Control-Allow-Origin", "*")
                self.send_header("Access-Control-Allow-Headers", "Range")
            super().end_headers()

        def do_OPTIONS(self):
            self.send_response(204)
            self.end_headers()

        def do_GET(self):
            span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            path = Path(self.translate_path(self.path))
            try:
                data = path.read_bytes() if span and ranges else None
            except OSError:
                data = None
            if data is None:
                super().do_GET()
                return
            first = int(span[1])
            last = min(int(span[2]) if span[2] else len(data) - 1, len(data) - 1)
            if first > last:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(data)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            self.send_header("Content-Length", str(last - first + 1))
            self.end_headers()
            self.wfile.write(data[first : last + 1])

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def export(*words):
    done = CliRunner().invoke(cli, ["visualize", *map(str, words)])
    assert done.exit_code == 0, done.output + repr(done.exception)


@contextlib.contextmanager
def shown(chromium, address, *others):
    """Opens an exported page. The newest commit is found by asking for the next, which is missing."""
    tab = browser.Tab(chromium, address, allowed=others)
    yield tab
    tab.faults = [fault for fault in tab.faults if "status of 404" not in fault]
    tab.close()


def share(pixels, color):
    return float((np.abs(pixels.astype(int) - color).max(axis=-1) < 40).mean())


def test_copy_beside_the_page(chromium, place, tmp_path):
    export(place, "--export", tmp_path / "site", "--copy")
    with serving(tmp_path / "site") as address, shown(chromium, address) as tab:
        tab.rows("6")
        assert tab.page.title() == "pets \N{EN DASH} Deep Lake"
        assert tab.page.get_by_role("heading", level=1).inner_text() == "pets"
        pixels = tab.drawn()
        assert share(pixels, RED) > 0.02 and share(pixels, BLUE) > 0.02
        tab.at("query").fill("labels = 'blue'")
        tab.at("run").click()
        tab.rows("3")
        pixels = tab.drawn()
        assert share(pixels, BLUE) > 0.02 and share(pixels, RED) < 0.01


def test_a_copy_publishes_the_rows_alone(chromium, place, tmp_path):
    """Deleted and replaced samples, other versions, and the paths of linked files stay at home."""
    linked = tmp_path / "private-name.png"
    Image.fromarray(np.full((64, 64, 3), BLUE, np.uint8)).save(linked)
    with deeplake.create(tmp_path / "pets") as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        ds.create_tensor("words", "text", compression="none")
        ds.create_tensor("labels", "class_label", class_names=["cat", "dog"])
        words = [f"word-{row}-" * 9 for row in range(6)]
        ds.extend({"images": [deeplake.link(linked)] * 6, "words": words, "labels": ["dog", "cat"] * 3})
        ds.commit("secret message")
        ds.delete([1])
        ds.update(2, {"words": "other"})
        ds.commit()
    site = tmp_path / "site"
    for _ in range(2):
        export(tmp_path / "pets", "--export", site, "--copy")
    published = b"".join(path.read_bytes() for path in (site / "data").rglob("*") if path.is_file())
    for kept in (b"word-1-", b"word-3-", b"private-name", b"secret message", str(tmp_path).encode()):
        assert kept not in published
    assert b"word-0-" in published and b"other" in published
    with deeplake.open(site / "data", read_only=True) as copy:
        assert len(copy) == 5 and copy["labels"].class_names == ["cat", "dog"]
        assert (copy["images"][3] == BLUE).all()
    with serving(site) as address, shown(chromium, address) as tab:
        tab.rows("5")
        assert share(tab.drawn(), BLUE) > 0.02


def test_a_folder_without_a_name_in_its_path(place, tmp_path, monkeypatch):
    monkeypatch.chdir(place)
    export(".", "--export", tmp_path / "site", "--copy")
    assert json.loads((tmp_path / "site" / "deeplake.json").read_text())["name"] == "pets"


def test_dataset_of_another_origin(chromium, place, tmp_path):
    with serving(place, cors=True) as data:
        export(data, "--export", tmp_path / "site")
        with serving(tmp_path / "site") as address, shown(chromium, address, data) as tab:
            tab.rows("6")
            assert share(tab.drawn(), RED) > 0.02


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    """A dataset so large that a screen needs parts of its objects: a whole one takes no range request."""
    place = tmp_path_factory.mktemp("noise") / "lake"
    with deeplake.create(place) as ds:
        ds.create_tensor("images", "image.rgb", compression="jpeg")
        ds.extend({"images": np.random.default_rng(0).integers(0, 255, (300, 120, 160, 3), dtype=np.uint8)})
        ds.commit("noise")
    return place


@pytest.mark.parametrize(("options", "says"), [({"ranges": False, "cors": True}, "range requests"), ({}, "CORS")])
def test_servers_that_cannot_be_read(chromium, noise, tmp_path, options, says):
    with serving(noise, **options) as data:
        export(data, "--export", tmp_path / "site")
        with serving(tmp_path / "site") as address, shown(chromium, address, data) as tab:
            tab.page.get_by_text(says).first.wait_for()
            tab.page.close()  # what it reports from now on is of no interest
            tab.faults = []


def test_a_server_without_ranges_gives_one_message(chromium, noise, tmp_path):
    """The page says what is wrong and stops requesting, until a person tries again."""
    export(noise, "--export", tmp_path / "site", "--copy")
    with serving(tmp_path / "site", ranges=False) as address, shown(chromium, address) as tab:
        tab.page.get_by_role("alert").get_by_text("supports range requests").wait_for()
        browser.check_access(tab, "a server without ranges")
        tab.page.wait_for_timeout(500)
        asked = []
        tab.page.on("request", lambda request: asked.append(request.url))
        tab.at("grid").focus()
        for key in ("Home", "PageDown", "PageDown", "End"):
            tab.page.keyboard.press(key)
            tab.page.wait_for_timeout(300)
        assert not asked
        assert tab.page.get_by_role("alert").count() == 1
        assert tab.page.get_by_text("error: read").count() == 0
        tab.page.get_by_role("button", name="Try again now").click()
        tab.page.wait_for_timeout(500)
        assert asked


def test_damaged_config(chromium, place, tmp_path):
    export(place, "--export", tmp_path / "site", "--copy")
    (tmp_path / "site" / "deeplake.json").write_text(json.dumps({"format": 1, "dataset": "javascript:1"}))
    with serving(tmp_path / "site") as address, shown(chromium, address) as tab:
        tab.page.get_by_text("deeplake.json cannot be used").first.wait_for()


@pytest.mark.parametrize("uri", ["s3://bucket/pets", "/data/pets", "https://a b/x", "https://x; script-src */y"])
def test_addresses_that_no_browser_reads(uri, tmp_path):
    done = CliRunner().invoke(cli, ["visualize", uri, "--export", str(tmp_path / "site")])
    assert done.exit_code != 0 and not (tmp_path / "site").exists()


def test_other_files_are_left_alone(place, tmp_path):
    (tmp_path / "mine").write_text("x")
    done = CliRunner().invoke(cli, ["visualize", str(place), "--export", str(tmp_path), "--copy"])
    assert done.exit_code != 0 and [p.name for p in tmp_path.iterdir()] == ["mine"]


def test_small_forms_and_computed_columns(chromium, tmp_path):
    """Pictures much larger than their cells come as pixels; classes of groups come as lists."""
    with deeplake.create(tmp_path / "lake") as ds:
        ds.create_tensor("images", "image.rgb", compression="jpeg")
        ds.create_tensor("labels", "class_label", class_names=["red", "blue"])
        for i in range(4):
            ds.append({"images": np.full((1500, 2000, 3), (RED, BLUE)[i % 2], np.uint8), "labels": i % 2})
        ds.commit("four pictures")
    export(tmp_path / "lake", "--export", tmp_path / "site", "--copy")
    with deeplake.open(tmp_path / "site" / "data") as copied:
        # No message names a folder of this machine.
        assert [commit.message for commit in copied.log()] == ["copy of lake", "create dataset"]
    with serving(tmp_path / "site") as address, shown(chromium, address) as tab:
        tab.rows("4")
        tab.shows(RED, 0.02)
        tab.shows(BLUE, 0.02)
        tab.at("query").fill(
            "SELECT images, labels + 1 AS next, REGEXP_EXTRACT('a12', '[0-9]+') AS text WHERE labels = 1"
        )
        tab.at("run").click()
        tab.rows("2")
        pixels = tab.drawn()
        assert share(pixels, BLUE) > 0.02 and share(pixels, RED) < 0.01
        tab.at("query").fill("SELECT labels, LIST(labels) AS each, COUNT(*) AS many GROUP BY labels")
        tab.at("run").click()
        tab.page.get_by_text("many", exact=True).first.wait_for()
