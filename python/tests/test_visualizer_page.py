"""The page of the visualizer in a real browser: what a person sees after each step."""

from __future__ import annotations

import browser
import deeplake
import numpy as np
import pytest
from browser import share, shown

HOSTILE = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"
COLORS = {"red": (230, 20, 20), "green": (20, 200, 20), "blue": (30, 30, 230)}


@pytest.fixture(scope="module")
def chromium():
    with browser.chromium() as running:
        yield running


@pytest.fixture(scope="module")
def ds():
    """Twelve pictures in three colours, with a white box in the middle of each."""
    with deeplake.create("mem://page", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        ds.create_tensor("labels", "class_label", class_names=list(COLORS))
        ds.create_tensor("boxes", "bbox")
        ds.create_tensor("masks", "binary_mask")
        ds.create_tensor("caption", "text")
        ds.create_tensor("score", dtype="float64")
        for i, color in enumerate(COLORS.values()):
            for k in range(4):
                ds.append(
                    {
                        "images": np.full((120, 160, 3), color, np.uint8),
                        "labels": i,
                        "boxes": np.array([[40, 30, 120, 90]], np.float32),
                        "masks": np.zeros((120, 160), bool),
                        "caption": f"{HOSTILE} {k}",
                        "score": i + k / 10,
                    }
                )
        ds.commit("three colours")
        yield ds


def test_grid_shows_the_pictures(chromium, ds):
    with shown(chromium, ds) as tab:
        tab.rows("12")
        pixels = tab.drawn()
        for name in COLORS:
            assert share(pixels, COLORS[name]) > 0.02, name


def test_key_leaves_the_address_and_a_reload_works(chromium, ds):
    with shown(chromium, ds) as tab:
        tab.rows("12")
        assert "key" not in tab.page.url
        tab.page.reload()
        tab.rows("12")
        second = tab.context.new_page()
        second.goto(tab.page.url)  # a tab without the token
        second.get_by_text("needs a link").first.wait_for()
        second.close()


def test_query(chromium, ds):
    with shown(chromium, ds) as tab:
        tab.rows("12")
        tab.at("query").fill("labels = 'blue' AND score > 2.15")
        tab.at("run").click()
        tab.rows("2")
        pixels = tab.drawn()
        assert share(pixels, COLORS["blue"]) > 0.02 and share(pixels, COLORS["red"]) < 0.01
        assert "query=" in tab.page.url


def test_wrong_query(chromium, ds):
    with shown(chromium, ds) as tab:
        tab.rows("12")
        tab.at("query").fill("SELECT * WHERE lables = 1")
        tab.at("run").click()
        tab.at("error").get_by_text("labels").first.wait_for()
        tab.rows("12")
        tab.faults = [fault for fault in tab.faults if "status of 40" not in fault]


def test_boxes_are_drawn_and_hidden(chromium, ds):
    with shown(chromium, ds[:1]) as tab:
        tab.rows("1")
        with_boxes = tab.picture()
        tab.at("eye-boxes").click()
        without = tab.picture()
        assert (with_boxes != without).any(axis=-1).sum() > 50
        tab.page.wait_for_url("**hide=boxes**")
        tab.at("eye-boxes").click()
        assert (with_boxes == tab.picture()).all()


def test_single_sample_and_back(chromium, ds):
    with shown(chromium, ds) as tab:
        tab.rows("12")
        small = share(tab.drawn(), COLORS["red"])
        tab.at("grid").focus()
        tab.page.keyboard.press("Home")
        tab.page.keyboard.press("Enter")
        tab.at("single").wait_for()
        tab.shows(COLORS["red"], max(small, 0.15))
        tab.page.keyboard.press("Escape")
        tab.at("single").wait_for(state="detached")
        tab.shows(COLORS["green"], 0.02)


def test_panel_shows_hostile_text_as_text(chromium, ds):
    with shown(chromium, ds) as tab:
        tab.rows("12")
        tab.at("grid").focus()
        tab.page.keyboard.press("Home")
        tab.at("row-panel").get_by_text("onerror").first.wait_for()
        assert tab.page.title() != "run"


def test_help_by_keyboard(chromium, ds):
    with shown(chromium, ds) as tab:
        tab.rows("12")
        tab.at("grid").focus()
        tab.page.keyboard.press("?")
        tab.page.get_by_role("dialog").wait_for()
        tab.page.keyboard.press("Escape")
        tab.page.get_by_role("dialog").wait_for(state="detached")


def test_versions(chromium):
    with deeplake.create("mem://page-versions", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        ds.extend({"images": [np.full((30, 30, 3), COLORS["red"], np.uint8)] * 4})
        ds.commit("four red ones")
        ds.extend({"images": [np.full((30, 30, 3), COLORS["blue"], np.uint8)] * 3})
        ds.commit("and three blue ones")
        with shown(chromium, ds) as tab:
            tab.rows("7")
            tab.at("versions").click()
            tab.page.get_by_text("four red ones").first.wait_for()
            tab.page.keyboard.press("Escape")
            tab.page.goto(tab.page.url.split("#")[0] + "#at=1")
            tab.page.reload()
            tab.rows("4")
            assert share(tab.drawn(), COLORS["blue"]) < 0.001


def test_no_pictures_and_no_rows(chromium):
    with deeplake.create("mem://page-table", overwrite=True) as ds:
        ds.create_tensor("x", dtype="int64")
        ds.extend({"x": list(range(1000))})
        ds.commit()
        with shown(chromium, ds) as tab:
            tab.rows("1,000")
        with shown(chromium, ds[:0]) as tab:
            tab.rows("0")


def test_server_goes_away(chromium, ds):
    with ds.visualize(browser=False) as server:
        tab = browser.Tab(chromium, server.link())
        tab.rows("12")
        server.close()
        tab.at("query").fill("labels = 'red'")
        tab.at("run").click()
        tab.page.get_by_role("alert").first.wait_for()
        tab.context.close()
        assert not tab.foreign and not [fault for fault in tab.faults if fault.startswith(("exception", "dialog"))]


def test_many_rows_scroll(chromium):
    with deeplake.create("mem://page-many", overwrite=True) as ds:
        ds.create_tensor("images", "image.gray", dtype="uint8")
        for begin in range(0, 20_000, 2000):
            ds.extend({"images": np.full((2000, 4, 4, 1), begin // 100, np.uint8)})
        ds.commit()
        with shown(chromium, ds) as tab:
            tab.rows("20,000")
            dark = tab.drawn()
            tab.at("grid").focus()
            tab.page.keyboard.press("End")
            tab.shows((180, 180, 180), share(dark, (180, 180, 180)) + 0.05)


def test_save_as_a_view(chromium):
    with deeplake.create("mem://page-save", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        ds.create_tensor("labels", "class_label", class_names=list(COLORS))
        ds.extend({"images": [np.full((30, 30, 3), COLORS["red"], np.uint8)] * 4, "labels": [0, 1, 0, 1]})
        ds.commit("four")
        with shown(chromium, ds) as tab:
            tab.rows("4")
            assert tab.at("save").count() == 0
        with ds.visualize(browser=False, save_views=True) as server:
            tab = browser.Tab(chromium, server.link())
            tab.rows("4")
            tab.at("query").fill("labels = 'green'")
            tab.at("run").click()
            tab.rows("2")
            tab.at("save").click()
            tab.page.get_by_role("dialog").wait_for()
            browser.check_access(tab, "save as a view")
            tab.at("save-name").fill("greens")
            tab.page.keyboard.press("Enter")
            tab.page.get_by_role("dialog").wait_for(state="detached")
            tab.page.get_by_text("Saved as the view greens").wait_for()
            tab.at("save").click()
            tab.at("save-name").fill("greens")
            tab.at("save-now").click()
            tab.page.get_by_role("alert").wait_for()
            assert "exists" in tab.page.get_by_role("alert").inner_text()
            tab.faults = [
                fault for fault in tab.faults if "status of 409" not in fault
            ]  # the console notes the refusal
            tab.at("save-name").fill(HOSTILE)
            tab.at("save-now").click()
            tab.page.get_by_role("dialog").wait_for(state="detached")
            tab.at("versions").click()
            tab.page.get_by_role("button", name="greens").click()
            tab.page.wait_for_url(lambda url: "saved=greens" in url)
            tab.rows("2")
            tab.close()
        assert len(ds.load_view("greens")) == 2 and len(ds.load_view(HOSTILE)) == 2


def test_text_that_is_typed_early(chromium):
    with deeplake.create("mem://page-early", overwrite=True) as ds:
        ds.create_tensor("labels", "class_label", class_names=list(COLORS))
        ds.extend({"labels": [0, 1, 0, 1]})
        ds.commit("four")
        with shown(chromium, ds) as tab:
            tab.rows("4")
            held = []
            tab.page.route("**/api/open", lambda route: held.append(route))
            tab.page.reload()
            tab.at("query").fill("labels = 'green'")
            while not held:
                tab.page.wait_for_timeout(20)
            assert tab.at("rows").count() == 0
            held[0].continue_()
            tab.rows("4")
            assert tab.at("query").input_value() == "labels = 'green'"
            tab.page.keyboard.press("Enter")
            tab.rows("2")
