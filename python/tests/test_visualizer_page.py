"""The page of the visualizer in a real browser: what a person sees after each step."""

from __future__ import annotations

import subprocess
import sys

import browser
import deeplake
import numpy as np
import pytest
from browser import share, shown
from PIL import Image

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


def test_panel_names_the_file_of_a_row(chromium, tmp_path):
    """The name is hostile text; the result of a query keeps it."""
    (tmp_path / "photos" / "red").mkdir(parents=True)
    for name in ("0.jpg", "<img src=x onerror=document.title='run'>.jpg"):
        Image.new("RGB", (40, 30), COLORS["red"]).save(tmp_path / "photos" / "red" / name)
    command = [sys.executable, "-m", "deeplake", "create", tmp_path / "lake", "--from", tmp_path / "photos"]
    subprocess.run(command, check=True, capture_output=True)
    with shown(chromium, deeplake.open(tmp_path / "lake")) as tab:
        tab.rows("2")
        tab.at("grid").focus()
        tab.page.keyboard.press("Home")
        tab.at("source").get_by_text("red/0.jpg").wait_for()
        tab.at("query").fill("SELECT * WHERE SOURCE() LIKE '%onerror%'")
        tab.at("run").click()
        tab.rows("1")
        tab.at("grid").focus()
        tab.page.keyboard.press("Home")
        tab.at("source").get_by_text("red/<img src=x").wait_for()
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


def lose_first_save(tab):
    """Lets the server save, but not answer the first time. Returns the bodies of the requests."""
    sent = []

    def answer(route):
        sent.append(route.request.post_data_json)
        if len(sent) == 1:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    tab.page.route("**/api/save", answer)
    return sent


def test_save_whose_response_is_lost(chromium):
    """The page sends the save again, and finds its own view; rows of a query, and all rows."""
    with deeplake.create("mem://page-save-lost", overwrite=True) as ds:
        ds.create_tensor("x", dtype="int64")
        ds.extend({"x": list(range(4))})
        ds.commit("four")
        with ds.visualize(browser=False, save_views=True) as server:
            tab = browser.Tab(chromium, server.link())
            for query, rows in (("x > 1", "2"), ("", "4")):
                tab.at("query").fill(query)
                tab.at("run").click()
                tab.rows(rows)
                sent = lose_first_save(tab)
                tab.at("save").click()
                tab.at("save-name").fill(f"rows {rows}")
                tab.at("save-now").click()
                tab.page.get_by_text(f"Saved as the view rows {rows}").wait_for()
                assert tab.page.get_by_role("dialog").count() == 0
                assert len(sent) == 2 and sent[0] == sent[1]
                tab.page.unroute("**/api/save")
            tab.faults = [fault for fault in tab.faults if "409" not in fault and "ERR_FAILED" not in fault]
            tab.close()
        assert len(ds.load_view("rows 2")) == 2 and len(ds.load_view("rows 4")) == 4


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


@pytest.fixture(scope="module")
def branches():
    """Four rows on main. On the branch fix one score and one label differ; then another score."""
    with deeplake.create("mem://page-branches", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        ds.create_tensor("labels", "class_label", class_names=list(COLORS))
        ds.create_tensor("score", dtype="float64")
        pictures = [np.full((30, 30, 3), COLORS["red"], np.uint8)] * 4
        ds.extend({"images": pictures, "labels": [0] * 4, "score": [0.5] * 4})
        ds.commit("four on main")
        ds.tags.create("v1", message="a tag")
        ds.checkout("fix", create=True)
        ds.update(2, {"labels": 1, "score": 9.5})
        ds.commit("a better label")
        ds.update(1, {"score": 7.25})
        ds.commit("a better score")
        ds.checkout("main")
        ds.update(3, {"score": 0.75})
        ds.commit("main moves on")
        yield ds


def versions_of(tab):
    """Opens the dialog of versions."""
    tab.rows("4")
    tab.at("versions").click()
    return tab.page.get_by_role("dialog")


def test_versions_of_another_branch(chromium, branches):
    with shown(chromium, branches) as tab:
        dialog = versions_of(tab)
        dialog.get_by_text("main moves on").wait_for()
        browser.check_access(tab, "versions")
        dialog.get_by_role("button", name="fix version").click()
        tab.page.wait_for_url("**at=fix**")
        tab.rows("4")
        tab.at("versions").click()
        dialog.get_by_text("a better score").wait_for()
        assert dialog.get_by_text("main moves on").count() == 0
        assert dialog.get_by_text("Commits of fix").count() == 1
        dialog.get_by_role("button", name="Back to the version at the start").click()
        tab.page.wait_for_url(lambda url: "at=" not in url)


def test_compare_shows_values(chromium, branches):
    with shown(chromium, branches) as tab:
        dialog = versions_of(tab)
        dialog.get_by_label("From tag v1").check()
        dialog.get_by_label("To branch fix").check()
        assert tab.at("compare-chosen").inner_text() == "From v1 to fix"
        tab.at("compare").click()
        values = tab.at("changed-values")
        values.get_by_role("heading", name="Row 1").wait_for()
        values.get_by_role("row", name="score 0.5 7.25").wait_for()
        assert values.get_by_role("row", name="labels").count() == 0
        side = tab.at("side-after")
        side.focus()
        tab.page.keyboard.press("End")
        values.get_by_role("heading", name="Row 2").wait_for()
        values.get_by_role("row", name="score 0.5 9.5").wait_for()
        values.get_by_role("row", name="labels red green").wait_for()
        browser.check_access(tab, "values of a changed row")
        tab.page.keyboard.press("Escape")
        tab.page.evaluate("() => (location.hash = 'at=fix')")
        tab.page.get_by_text("fix", exact=True).first.wait_for()
        tab.at("versions").click()
        dialog.get_by_text("a better score").wait_for()
        dialog.get_by_role("button", name="Compare with the one before").first.click()
        values.get_by_role("row", name="score 0.5 7.25").wait_for()
        assert "1 changed row" in tab.at("compare-changed").inner_text()


@pytest.mark.parametrize("wrong", ["at=nosuch", "saved=nosuch"])
def test_an_address_of_no_version(chromium, branches, wrong):
    with shown(chromium, branches) as tab:
        tab.rows("4")
        tab.page.goto(tab.page.url.split("#")[0] + "#" + wrong)
        tab.page.reload()
        tab.at("open-start").click()
        tab.rows("4")
        assert "nosuch" not in tab.page.url
        tab.faults = [fault for fault in tab.faults if "status of 404" not in fault]


def test_a_row_behind_the_end(chromium, branches):
    with shown(chromium, branches) as tab:
        tab.rows("4")
        tab.page.goto(tab.page.url.split("#")[0] + "#row=99999")
        tab.page.get_by_text("Rows go from 0 to 3.").wait_for()
        tab.at("row-panel").get_by_role("heading", name="Row 3").wait_for()
        tab.page.wait_for_url("**row=3")


def test_sort_by_a_header(chromium, ds):
    with shown(chromium, ds) as tab:
        tab.rows("12")
        tab.at("mode-table").click()
        header = tab.page.get_by_role("columnheader", name="score")
        for order, sort in (("ascending", '"score"'), ("descending", '"score" DESC')):
            tab.at("sort-score").click()
            tab.page.wait_for_function(f"() => document.querySelector('[aria-sort={order}]')")
            assert header.get_attribute("aria-sort") == order
            assert tab.at("query").input_value() == f"ORDER BY {sort}"
        tab.page.get_by_role("gridcell", name="2.3").first.wait_for()
        assert tab.page.get_by_role("row").nth(1).get_by_text("2.3").count() == 1
        browser.check_access(tab, "a sorted table")
        tab.at("sort-score").click()
        tab.page.wait_for_function("() => !document.querySelector('[aria-sort=descending]')")
        assert tab.at("query").input_value() == ""


def test_nothing_is_found(chromium, ds):
    with shown(chromium, ds) as tab:
        tab.rows("12")
        assert tab.at("query").get_attribute("placeholder") == "labels = 'red'"
        tab.at("query").fill("score > 100")
        tab.page.keyboard.press("Enter")
        tab.rows("0")
        browser.check_access(tab, "no rows")
        tab.at("clear-query").click()
        tab.rows("12")
        assert tab.at("query").input_value() == ""


def test_keys_to_the_rows_and_in_the_classes(chromium, ds):
    with shown(chromium, ds) as tab:
        tab.rows("12")
        tab.page.keyboard.press("Tab")
        assert tab.at("skip").evaluate("(e) => e === document.activeElement")
        tab.page.keyboard.press("Enter")
        assert tab.at("grid").evaluate("(e) => e === document.activeElement")
        eyes = tab.page.get_by_role("button", name="Show red")
        eyes.focus()
        tab.page.keyboard.press("ArrowDown")
        focused = "() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
        tab.page.wait_for_function(f"() => ({focused})() === 'Show green'")
        tab.page.keyboard.press("ArrowRight")
        tab.page.wait_for_function(f"() => ({focused})() === 'green'")
        assert tab.page.locator("[data-line] [tabindex='0']").count() == 1
        tab.page.keyboard.press("Home")
        tab.page.keyboard.press("ArrowLeft")
        tab.page.wait_for_function(f"() => ({focused})() === 'Show red'")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**classes=labels%3A0")
        tab.page.reload()
        tab.rows("12")
        assert tab.page.get_by_role("button", name="Show red").get_attribute("aria-pressed") == "false"


def test_boxes_have_their_own_classes(chromium):
    """A class of the picture neither colours its boxes nor hides them."""
    with deeplake.create("mem://page-classes", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        ds.create_tensor("kind", "class_label", class_names=["indoor", "outdoor"])
        ds.create_tensor("boxes", "bbox")
        ds.create_tensor("box_class", "class_label", class_names=["cat", "dog", "bird"])
        ds.create_tensor("vector", "embedding")
        boxes = np.array([[10, 30, 40, 80], [50, 30, 90, 80]], np.float32)
        for count in (2, 1):
            row = {"boxes": boxes[:count], "box_class": np.array([0, 2][:count]), "vector": np.zeros(4, np.float32)}
            ds.append({"images": np.full((100, 100, 3), 128, np.uint8), "kind": 1, **row})
        ds.commit("two")
        with shown(chromium, ds) as tab:
            tab.rows("2")
            assert tab.at("eye-vector").count() == 0  # it is never drawn
            before = tab.picture()
            tab.page.get_by_label("Show outdoor").click()
            assert (tab.picture() == before).all()
            tab.page.get_by_label("Classes of", exact=True).select_option("box_class")
            tab.page.locator("[data-line='1']").get_by_text("bird").wait_for()  # counted, so behind "cat"
            tab.page.get_by_label("Show bird").click()
            changed = np.argwhere((tab.picture() != before).any(axis=-1))
            assert len(changed) > 50 and np.ptp(changed[:, 1]) < 160  # one box of the first picture


def test_masks_without_pictures(chromium):
    with deeplake.create("mem://page-masks", overwrite=True) as ds:
        ds.create_tensor("mask", "binary_mask")
        ds.create_tensor("value", dtype="float32")
        mask = np.zeros((60, 80), bool)
        mask[10:50, 10:70] = True
        ds.extend({"mask": [mask] * 3, "value": np.arange(3, dtype=np.float32)})
        ds.commit("three")
        with shown(chromium, ds) as tab:
            tab.rows("3")
            ground = tab.picture()[-1, -1].astype(int)
            assert (np.abs(tab.picture() - ground).max(axis=-1) > 40).sum() > 3000
            tab.at("grid").focus()
            tab.page.keyboard.press("Home")
            tab.page.keyboard.press("Enter")
            tab.at("single").wait_for()


def test_the_range_of_values_stays(chromium):
    with deeplake.create("mem://page-range", overwrite=True) as ds:
        ds.create_tensor("images", "image.gray", dtype="uint16", compression="png")
        ramp = np.arange(10_000, dtype=np.uint16).reshape(100, 100, 1)
        ds.extend({"images": [ramp, ramp + 100]})
        ds.commit("two")
        with shown(chromium, ds) as tab:
            tab.rows("2")
            tab.at("grid").focus()
            tab.page.keyboard.press("Home")
            tab.page.keyboard.press("Enter")
            white = tab.page.get_by_label("White")
            white.press("PageDown")
            chosen = white.input_value()
            assert float(chosen) < 9999
            tab.page.get_by_label("Next row").click()
            tab.page.get_by_role("region", name="Row 1").wait_for()
            assert white.input_value() == chosen
            tab.page.get_by_role("button", name="Reset").click()
            assert float(white.input_value()) == 10_099
