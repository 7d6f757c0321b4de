"""The page of the visualizer without a mouse: names, contrast, focus, keys, and small windows."""

from __future__ import annotations

import browser
import deeplake
import numpy as np
import pytest
from browser import check_access, shown

HOSTILE = "<img src=x onerror=\"document.title='run'\">"


@pytest.fixture(scope="module")
def chromium():
    with browser.chromium() as running:
        yield running


@pytest.fixture(scope="module")
def ds():
    with deeplake.create("mem://access", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        ds.create_tensor("labels", "class_label", class_names=["cat", HOSTILE])
        ds.create_tensor("truth/boxes", "bbox")
        ds.create_tensor("pred/boxes", "bbox")
        ds.create_tensor("caption", "text")
        ds.create_tensor("score", dtype="float64")
        for i in range(8):
            box = np.array([[10, 10, 60, 50]], np.float32)
            ds.append(
                {
                    "images": np.full((80, 100, 3), 20 * i, np.uint8),
                    "labels": i % 2,
                    "truth/boxes": box,
                    "pred/boxes": box + i,
                    "caption": HOSTILE,
                    "score": i / 7,
                }
            )
        ds.commit("eight")
        ds.update(0, {"images": np.zeros((80, 100, 3), np.uint8)})
        ds.commit("a change")
        yield ds


def show_statistic(tab, name):
    """Scrolls to a histogram until it is there: those above grow when they arrive, and push it out of view."""
    from playwright.sync_api import TimeoutError

    for attempt in range(20):
        tab.at(name).scroll_into_view_if_needed()
        try:
            tab.at(name).get_by_role("list").wait_for(timeout=1000)
        except TimeoutError:
            if attempt == 19:
                raise
        else:
            return


@pytest.mark.parametrize("colors", [pytest.param("light", marks=pytest.mark.slow), "dark"])
def test_axe_finds_nothing(chromium, ds, colors):
    with shown(chromium, ds, color_scheme=colors) as tab:
        tab.rows("8")
        tab.page.get_by_role("button", name="Statistics").click()
        show_statistic(tab, "stats-score")
        bins = tab.at("stats-score").get_by_role("button")
        bins.first.focus()
        tab.page.keyboard.press("End")
        assert bins.last.evaluate("(e) => e === document.activeElement && e.tabIndex === 0")
        assert bins.first.evaluate("(e) => e.tabIndex") == -1
        check_access(tab, "grid")
        tab.at("grid").focus()
        tab.page.keyboard.press("Home")
        tab.at("row-panel").get_by_text("onerror").first.wait_for()
        check_access(tab, "selected row")
        tab.page.keyboard.press("Enter")
        tab.at("single").wait_for()
        check_access(tab, "single")
        tab.at("mode-table").click()
        tab.at("table").wait_for()
        check_access(tab, "table")
        tab.at("query").fill("score > nothing")
        tab.at("run").click()
        tab.at("error").wait_for()
        check_access(tab, "a wrong query")
        tab.at("query").fill("scor")
        tab.page.get_by_role("option").first.wait_for()
        check_access(tab, "completion")
        assert tab.page.title() != "run"
        tab.faults = [fault for fault in tab.faults if "status of 40" not in fault]


def test_dialogs_have_names_and_give_the_focus_back(chromium, ds):
    with shown(chromium, ds) as tab:
        tab.rows("8")
        for key, button in (("?", "Keys and help (?)"), ("v", "versions (v)")):
            opener = tab.page.get_by_role("button", name=button)
            opener.focus()
            tab.page.keyboard.press(key)
            tab.page.get_by_role("dialog").wait_for()
            check_access(tab, button)
            tab.page.keyboard.press("Escape")
            tab.page.get_by_role("dialog").wait_for(state="detached")
            assert opener.evaluate("(e) => e === document.activeElement"), button


def test_dividers_take_keys_and_the_pointer_and_are_remembered(chromium, ds):
    with shown(chromium, ds) as tab:
        tab.rows("8")
        divider = tab.at("divider-left")
        before = int(divider.get_attribute("aria-valuenow"))
        divider.focus()
        tab.page.keyboard.press("ArrowRight")
        assert int(divider.get_attribute("aria-valuenow")) == before + 16
        box = divider.bounding_box()
        tab.page.mouse.move(box["x"] + 3, 400)
        tab.page.mouse.down()
        tab.page.mouse.move(box["x"] + 103, 400)
        tab.page.mouse.up()
        wide = int(divider.get_attribute("aria-valuenow"))
        assert abs(wide - before - 116) <= 2
        assert abs(tab.at("sidebar").bounding_box()["width"] - wide) < 3
        tab.page.reload()
        tab.rows("8")
        assert int(tab.at("divider-left").get_attribute("aria-valuenow")) == wide
        tab.at("divider-left").focus()
        tab.page.keyboard.press("Home")
        assert tab.at("divider-left").get_attribute("aria-valuenow") == "180"


def test_small_window(chromium, ds):
    with shown(chromium, ds, viewport={"width": 800, "height": 600}) as tab:
        tab.rows("8")
        grid = tab.at("grid").bounding_box()
        assert grid["width"] > 400 and grid["height"] > 300
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= 800
        for name in ("query", "run", "versions", "mode-table", "go"):
            box = tab.at(name).bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= 800, name
        check_access(tab, "800 x 600")


def test_table_opens_a_row_by_keyboard(chromium, ds):
    with shown(chromium, ds) as tab:
        tab.rows("8")
        tab.at("mode-table").click()
        tab.at("table").focus()
        tab.page.keyboard.press("End")
        row = tab.at("table").get_attribute("aria-activedescendant")
        assert tab.page.locator(f"[id='{row}']").get_attribute("aria-rowindex") == "8"
        tab.page.keyboard.press("Enter")
        tab.at("single").wait_for()


def test_phone(chromium, ds):
    """The bar takes two lines. What they have no room for is in a menu, for keys and screen readers too."""
    with ds.visualize(browser=False, save_views=True) as server:
        tab = browser.Tab(chromium, server.link(), viewport={"width": 360, "height": 740})
        tab.rows("8")
        assert tab.page.get_by_role("banner").bounding_box()["height"] < 90
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= 360
        for name in ("query", "run", "versions", "mode-table", "menu", "rows"):
            box = tab.at(name).bounding_box()
            assert box["x"] >= 0 and box["width"] > 20 and box["x"] + box["width"] <= 360, name
        check_access(tab, "phone")

        menu, items = tab.at("menu"), tab.at("menu-items")
        assert menu.get_attribute("aria-expanded") == "false"
        menu.focus()
        tab.page.keyboard.press("Enter")
        items.wait_for()
        assert menu.get_attribute("aria-expanded") == "true"
        names = [items.get_by_role("button").nth(i).inner_text() for i in range(items.get_by_role("button").count())]
        assert names == [
            "Explain the query",
            "Copy as Python",
            "Save as a view",
            "Copy the link",
            "Colors: auto",
            "Keys and help",
            "Selected row",
        ]
        box = items.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 360 and box["y"] + box["height"] <= 740
        check_access(tab, "menu")
        tab.page.keyboard.press("Tab")
        assert tab.at("go").evaluate("(e) => e === document.activeElement")
        tab.page.keyboard.press("Escape")
        items.wait_for(state="detached")
        focused = "(e) => e === document.activeElement"
        assert menu.evaluate(focused)

        menu.click()
        items.get_by_role("button", name="Keys and help").click()
        tab.page.get_by_role("dialog").wait_for()
        tab.page.keyboard.press("Escape")
        tab.page.get_by_role("dialog").wait_for(state="detached")
        assert menu.evaluate(focused) and items.count() == 0
        menu.click()
        tab.at("rows").click()
        items.wait_for(state="detached")
        tab.page.keyboard.press("g")
        tab.page.wait_for_function("() => document.activeElement.dataset.testid === 'go'")
        tab.at("go").fill("5")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**row=5**")
        items.wait_for(state="detached")
        tab.page.set_viewport_size({"width": 1280, "height": 800})
        tab.page.get_by_role("button", name="Explain").wait_for()
        assert menu.count() == 0
        tab.close()
