"""The server of the visualizer from Python: links, lifetimes, arguments, the command. test_visualizer_page.py has the
page itself."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import deeplake
import numpy as np
import pytest


class Page:
    """What a page does, without the page."""

    def __init__(self, link):
        self.base, _, key = link.partition("#key=")
        self.token = ""
        self.token = self.post("enter", key=key)["token"]

    def post(self, name, /, **body):
        return json.loads(self.raw(name, **body))

    def raw(self, name, /, **body):
        head = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(f"{self.base}api/{name}", json.dumps(body).encode(), head)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()

    def refused(self, name, /, **body):
        with pytest.raises(urllib.error.HTTPError) as failure:
            self.raw(name, **body)
        return failure.value.code, json.loads(failure.value.read())["error"]


@pytest.fixture
def ds():
    with deeplake.create("mem://visualize", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        ds.create_tensor("labels", "class_label", class_names=["cat", "dog"])
        ds.extend(
            {"images": [np.full((20, 30, 3), i, np.uint8) for i in range(10)], "labels": [i % 2 for i in range(10)]}
        )
        ds.commit("ten")
        yield ds


def test_rows_of_a_dataset(ds):
    with ds.visualize(browser=False) as shown:
        page = Page(shown.link())
        view = page.post("open")
        assert (view["rows"], view["uri"], view["message"]) == (10, "mem://visualize", "ten")
        assert [t["draw"] for t in view["tensors"]] == ["image", "label"]
        cats = page.post("query", view=view["view"], text="SELECT * WHERE labels = 'cat'")
        assert cats["rows"] == 5
        data = page.raw("samples", view=cats["view"], rows=[1], columns=[{"name": "images"}])
        assert data.startswith(b"DLS1") and b"\x89PNG" in data and data.rstrip().endswith(b'"kind":""}')
        assert page.post("versions")["branch"] == "main"
    with pytest.raises(urllib.error.URLError):
        page.raw("open")


def test_a_link_works_once(ds):
    with ds.visualize(browser=False) as shown:
        link = shown.link()
        Page(link)
        with pytest.raises(urllib.error.HTTPError, match="403"):
            Page(link)
        assert link != shown.link() and shown.address in link


def test_views_and_results(ds):
    for view, rows in ((ds[2:5], 3), (ds.query("SELECT labels WHERE labels = 'dog'"), 5), (ds[[7, 1]], 2), (ds[:0], 0)):
        with view.visualize(browser=False) as shown:
            assert Page(shown.link()).post("open")["rows"] == rows


def test_uncommitted_rows_are_shown(ds):
    ds.append({"images": np.zeros((4, 4, 3), np.uint8), "labels": 1})
    with ds.visualize(browser=False) as shown:
        assert Page(shown.link()).post("open")["rows"] == 11


def test_wrong_query(ds):
    with ds.visualize(browser=False) as shown:
        page = Page(shown.link())
        code, error = page.refused("query", view=page.post("open")["view"], text="SELECT * WHERE lables = 1")
        assert code in (400, 404) and error["position"] == 15 and "labels" in error["message"]


def test_closed_dataset(ds):
    with ds.visualize(browser=False) as shown:
        page = Page(shown.link())
        view = page.post("open")["view"]
        ds.close()
        code, error = page.refused("query", view=view, text="SELECT * WHERE labels = 1")
        assert "closed" in error["message"] and code == 404


def test_goes_on_without_a_reference(ds):
    link = ds.visualize(browser=False).link()
    gc.collect()
    page = Page(link)
    assert page.post("open")["rows"] == 10
    from deeplake._show.visualize import _running

    for shown in list(_running):
        shown.close()
        shown.close()
    with pytest.raises(urllib.error.URLError):
        page.raw("open")


def test_notebook(ds, monkeypatch):
    monkeypatch.delenv("JUPYTERHUB_SERVICE_PREFIX", raising=False)
    with ds.visualize(browser=False, height=321) as shown:
        html = shown._repr_html_()
        assert 'height="321"' in html and re.search(r'src="http://127\.0\.0\.1:\d+/#key=[\w-]{43}"', html)
        monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ada/")
        assert f'src="/user/ada/proxy/{shown.address.split(":")[1]}/#key=' in shown._repr_html_()
        assert shown.address in repr(shown) and repr(shown) == repr(shown) != shown.link()
    assert shown._repr_html_() is None and repr(shown) == "Visualizer(closed)"


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({"port": 70000}, "port is 70000"),
        ({"port": True}, "port is True"),
        ({"height": "high"}, "height is 'high'"),
        ({"allow_hosts": "hub.example.org"}, "allow_hosts"),
        ({"allow_hosts": ["https://hub.example.org/"]}, "allow_hosts"),
        ({"hosts": []}, 'unknown argument "hosts"'),
    ],
)
def test_wrong_arguments(ds, arguments, wanted):
    with pytest.raises(deeplake.InvalidArgumentError, match=wanted):
        ds.visualize(browser=False, **arguments)


def test_without_a_page(ds, monkeypatch, tmp_path):
    monkeypatch.setattr("deeplake._show.visualize._PAGE", tmp_path)
    with pytest.raises(deeplake.NotFoundError, match="make web"):
        ds.visualize(browser=False)


def test_port_in_use(ds):
    with ds.visualize(browser=False) as shown, pytest.raises(deeplake.StorageError, match="another port"):
        ds.visualize(browser=False, port=int(shown.address.split(":")[1]))


def test_browser(ds, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    with ds.visualize(browser=True):
        assert len(opened) == 1
        if sys.platform == "linux":
            assert Page(opened[0]).post("open")["rows"] == 10
        else:
            assert opened[0].startswith("file://")
    monkeypatch.setenv("SSH_CONNECTION", "1 2 3 4")
    with ds.visualize():
        assert len(opened) == 1


def test_the_file_for_a_browser_is_private(ds):
    # Systems that cannot tell the account of a connection use it: macOS and Windows.
    with ds.visualize(browser=False) as shown:
        address = shown._private_page()
        path = Path(urllib.request.url2pathname(address.removeprefix("file://")))
        assert path.stat().st_mode & 0o777 == 0o600
        link = re.search(r'url=(http://[^"]+)"', path.read_text())[1]
        assert Page(link).post("open")["rows"] == 10
    assert not path.exists()


def test_addresses_make_no_keys(ds):
    with ds.visualize(browser=False) as shown:
        link = shown.link()
        assert len({shown.address for _ in range(100)}) == 1
        assert Page(link).post("open")["rows"] == 10


def test_command(tmp_path):
    with deeplake.create(str(tmp_path / "ds")) as ds:
        ds.create_tensor("x", dtype="int64")
        ds.extend({"x": list(range(20))})
        ds.commit()
    command = [sys.executable, "-m", "deeplake", "visualize", str(tmp_path / "ds"), "--query", "SELECT * WHERE x < 7"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        page = Page(process.stdout.readline().strip())
        assert page.post("open")["rows"] == 7
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    finally:
        process.kill()
        process.wait()


# Presses Ctrl-C such that the handler runs on another thread, which wakes no system call of the main one.
INTERRUPTED_ELSEWHERE = """
import os, pty, select, signal, sys, threading, time
from deeplake._cli import visualize

def press():
    time.sleep(0.2)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

def wait(ready, write, fail):
    if len(ready) == 1 or printed:  # the line is through: from here on nothing but Ctrl-C ends the wait
        threading.Thread(target=press, daemon=True).start()
    return real(ready, write, fail)

real, select.select, printed = select.select, wait, []
master, slave = pty.openpty()
os.write(master, b"first\\n")
try:
    for line in visualize.lines_until_signal(open(slave) if sys.argv[1] == "terminal" else None):
        printed.append(line)
except KeyboardInterrupt:
    print(printed, "interrupted")
"""


@pytest.mark.parametrize("source", ["terminal", "nothing"])
def test_interrupt_on_another_thread(source):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_ELSEWHERE, source], capture_output=True, text=True, timeout=60
    )
    lines = {"terminal": ["first\n"], "nothing": []}[source]
    assert (done.stdout, done.stderr) == (f"{lines} interrupted\n", "")


def test_exit_ends_the_server(tmp_path):
    code = """
import deeplake
ds = deeplake.create("mem://exit")
ds.create_tensor("x", dtype="int64")
ds.extend({"x": [1, 2]})
ds.commit()
print(ds.visualize(browser=False).link(), flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "#key=" in done.stdout and not done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_forked_child_leaves_the_server_alone(ds):
    with ds.visualize(browser=False) as shown:
        page = Page(shown.link())
        child = os.fork()
        if child == 0:
            shown.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert page.post("open")["rows"] == 10


def test_views_are_saved_where_allowed(ds):
    with ds.visualize(browser=False) as shown:
        page = Page(shown.link())
        view = page.post("open")
        assert "saves" not in view
        code, error = page.refused("save", view=view["view"], name="all")
        assert code == 400 and error["kind"] == "read-only" and "save_views=True" in error["message"]
    with ds.visualize(browser=False, save_views=True) as shown:
        page = Page(shown.link())
        view = page.post("open")
        assert view["saves"]
        cats = page.post("query", view=view["view"], text="SELECT * WHERE labels = 'cat'")
        page.post("save", view=cats["view"], name="cats")
    assert [saved.name for saved in ds.views()] == ["cats"]
    assert len(ds.load_view("cats")) == 5
    with pytest.raises(deeplake.UnsupportedError, match="rows of one dataset"):
        deeplake.query("SELECT labels FROM 'mem://visualize'").visualize(browser=False, save_views=True)
    with pytest.raises(deeplake.InvalidArgumentError, match="save_views"):
        ds.visualize(browser=False, save_views="yes")


def test_queries_of_a_page_read_the_shown_datasets_alone(tmp_path):
    lakes = {}
    for name in ("shown", "other", "joined", "shown-too"):
        with deeplake.create(tmp_path / name) as ds:
            ds.create_tensor("x", dtype="int64")
            ds.extend({"x": [1, 2, 3]})
            ds.commit()
        lakes[name] = str(tmp_path / name)
    ds = deeplake.open(lakes["shown"])

    def answers(page, view, text):
        try:
            return page.post("query", view=view, text=text)["rows"]
        except urllib.error.HTTPError as failure:
            error = json.loads(failure.read())["error"]
            return error["kind"], "--allow" in error["message"]

    def ask(text, **options):
        with ds.visualize(browser=False, **options) as shown:
            page = Page(shown.link())
            return answers(page, page.post("open")["view"], text)

    for address in (lakes["other"], f"file://{lakes['other']}", f"{lakes['shown']}/../other", lakes["shown-too"]):
        for text in (
            f"SELECT x FROM '{address}'",
            f"SELECT x WHERE x IN (SELECT x FROM '{address}')",
            f"WITH o AS (SELECT x FROM '{address}') SELECT o.x FROM o",
        ):
            assert ask(text) == ("denied", True), text
    assert ask(f"SELECT x FROM '{lakes['shown']}' WHERE x > 1") == 2
    assert ask(f"SELECT x FROM '{lakes['other']}'", allow=[lakes["other"]]) == 3
    assert ask(f"SELECT x FROM '{lakes['other']}'", allow=[str(tmp_path)]) == 3
    assert ask(f"SELECT x FROM '{lakes['other']}'", allow=[lakes["joined"]]) == ("denied", True)
    joined = deeplake.query(f"SELECT a.x FROM '{lakes['shown']}' AS a JOIN '{lakes['joined']}' AS b ON a.x = b.x")
    with joined.visualize(browser=False) as shown:
        page = Page(shown.link())
        view = page.post("open")["view"]
        assert answers(page, view, f"SELECT x FROM '{lakes['joined']}'") == 3
        assert answers(page, view, f"SELECT x FROM '{lakes['other']}'") == ("denied", True)
    with pytest.raises(deeplake.InvalidArgumentError, match="allow"):
        ds.visualize(browser=False, allow=lakes["other"])


def test_a_dataset_open_for_reading_saves_no_view(tmp_path):
    with deeplake.create(tmp_path / "lake") as ds:
        ds.create_tensor("x", dtype="int64")
        ds.extend({"x": [1, 2, 3]})
        ds.commit()
    refusal = pytest.raises(deeplake.ReadOnlyError, match=r"start visualizer with save_views: .* is opened read-only")
    with deeplake.open(tmp_path / "lake", read_only=True) as ds, refusal:
        ds.visualize(browser=False, save_views=True)
    with deeplake.open(tmp_path / "lake", at="1") as ds, ds.visualize(browser=False, save_views=True) as shown:
        page = Page(shown.link())
        page.post("save", view=page.post("open")["view"], name="all")  # a view is no part of a commit
        assert [saved.name for saved in ds.views()] == ["all"]
