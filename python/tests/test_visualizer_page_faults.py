"""The page of the visualizer when something breaks, or is very large."""

from __future__ import annotations

import shutil
import time

import browser
import deeplake
import numpy as np
import pytest
from browser import share, shown

RED = (230, 20, 20)


@pytest.fixture(scope="module")
def chromium():
    with browser.chromium() as running:
        yield running


def reds(place, rows=40):
    ds = deeplake.create(place, overwrite=True)
    ds.create_tensor("images", "image.rgb", compression="png")
    ds.extend({"images": [np.full((40, 40, 3), RED, np.uint8)] * rows})
    ds.commit("red")
    return ds


def test_a_lost_context_comes_back(chromium):
    with reds("mem://faults-context") as ds, shown(chromium, ds) as tab:
        tab.rows("40")
        before = share(tab.drawn(), RED)
        tab.page.evaluate(
            """async () => {
                const gl = document.querySelector("[data-testid=grid]").getContext("webgl2");
                const lose = gl.getExtension("WEBGL_lose_context");
                lose.loseContext();
                await new Promise((go) => setTimeout(go, 200));
                lose.restoreContext();
            }"""
        )
        tab.shows(RED, before - 0.02)
        assert share(tab.drawn(), RED) < before + 0.02
        tab.faults = [fault for fault in tab.faults if "CONTEXT_LOST" not in fault]


def test_two_browsers_on_one_server(chromium):
    with reds("mem://faults-two") as ds, ds.visualize(browser=False) as server:
        tabs = [browser.Tab(chromium, server.link()) for _ in range(2)]
        for tab, text, rows in zip(tabs, ("LIMIT 3", "LIMIT 5"), ("3", "5"), strict=True):
            tab.rows("40")
            tab.at("query").fill(text)
            tab.at("run").click()
            tab.rows(rows)
        for tab in tabs:
            assert share(tab.drawn(), RED) > 0.02
            tab.close()


def test_server_closed_while_scrolling(chromium):
    with reds("mem://faults-closed", rows=3000) as ds, ds.visualize(browser=False) as server:
        tab = browser.Tab(chromium, server.link())
        tab.rows("3,000")
        tab.drawn()
        tab.page.clock.install()
        sent = []
        tab.page.on("request", lambda request: sent.append(request.url))
        server.close()
        tab.at("grid").focus()
        for _ in range(5):
            tab.page.keyboard.press("PageDown")
            tab.page.clock.run_for(300)
        tab.page.get_by_text("tries again by itself").wait_for()
        for _ in range(20):
            tab.page.clock.run_for(8000)
            tab.page.wait_for_timeout(20)
        tab.page.get_by_text("open its new link").wait_for()
        tab.page.get_by_role("button", name="Reload the page").wait_for()
        assert len(sent) < 60
        before = len(sent)
        for _ in range(5):
            tab.page.keyboard.press("PageDown")
            tab.page.clock.run_for(60_000)
        assert len(sent) == before
        tab.page.get_by_role("button", name="Try again now").click()
        tab.page.wait_for_timeout(200)
        assert before < len(sent) < before + 8
        tab.context.close()
        assert not [fault for fault in tab.faults if fault.startswith(("exception", "dialog"))]


def test_the_store_goes_away(chromium, tmp_path):
    place = tmp_path / "ds"
    with reds(str(place), rows=4) as ds, shown(chromium, ds) as tab:
        tab.rows("4")
        tab.drawn()
        shutil.rmtree(place)
        tab.at("versions").click()
        dialog = tab.page.get_by_role("dialog")
        dialog.get_by_role("alert").wait_for()
        tab.page.keyboard.press("Escape")
        dialog.wait_for(state="detached")
        # What the page has stays, and it says what another version lacks.
        assert share(tab.drawn(), RED) > 0.02
        tab.page.evaluate("() => (location.hash = 'at=1')")
        tab.at("error").wait_for()
        tab.rows("4")
        tab.faults = [fault for fault in tab.faults if "status of" not in fault]


@pytest.mark.slow
def test_ten_thousand_tensors(chromium):
    with deeplake.create("mem://faults-many", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        for i in range(10_000):
            ds.create_tensor(f"t{i}", dtype="int8")
        row = {f"t{i}": np.int8(i % 100) for i in range(10_000)}
        ds.append({"images": np.full((40, 40, 3), RED, np.uint8), **row})
        ds.commit("wide")
        begin = time.perf_counter()
        with shown(chromium, ds) as tab:
            tab.rows("1")
            assert share(tab.drawn(), RED) > 0.002
            assert time.perf_counter() - begin < 15
            tab.page.get_by_label("Find a tensor").fill("t9999")
            tab.at("chip-t9999").wait_for()
            assert tab.page.locator("*").count() < 3000
            tab.at("grid").focus()
            tab.page.keyboard.press("Home")
            tab.at("row-panel").get_by_text("t10").first.wait_for()
