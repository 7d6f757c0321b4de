"""What the page draws of each htype, in pixels, and what fingers do."""

from __future__ import annotations

import browser
import deeplake
import numpy as np
import pytest
from browser import check_access, share, shown

GREY = np.full((100, 100, 3), 128, np.uint8)


@pytest.fixture(scope="module")
def chromium():
    with browser.chromium() as running:
        yield running


def annotated(name, htype, value, **options):
    ds = deeplake.create(f"mem://drawing-{name}", overwrite=True)
    ds.create_tensor("images", "image.rgb", compression="png")
    ds.create_tensor(name, htype, **options)
    ds.append({"images": GREY, name: value})
    ds.commit(name)
    return ds


def marked(pixels):
    """Returns where something lies over the grey picture, in parts of it: (x, y) of each pixel."""
    grey = np.abs(pixels.astype(int) - 128).max(axis=-1) < 4
    ys, xs = np.nonzero(grey)
    box = pixels[ys.min() : ys.max() + 1, xs.min() : xs.max() + 1].astype(int)
    ys, xs = np.nonzero(np.abs(box - 128).max(axis=-1) > 24)
    return xs / box.shape[1], ys / box.shape[0]


def test_polygons(chromium):
    square = np.array([[20, 20], [80, 20], [80, 80], [20, 80]], np.float32)
    with annotated("outline", "polygon", [square]) as ds, shown(chromium, ds) as tab:
        tab.rows("1")
        x, y = marked(tab.picture())
        assert abs(x.min() - 0.2) < 0.05 and abs(x.max() - 0.8) < 0.05
        assert abs(y.min() - 0.2) < 0.05 and abs(y.max() - 0.8) < 0.05


def test_points(chromium):
    with annotated("spots", "point", np.array([[25, 75], [75, 75]], np.int32)) as ds, shown(chromium, ds) as tab:
        tab.rows("1")
        x, y = marked(tab.picture())
        assert len(x) and (abs(y - 0.75) < 0.08).all()
        assert ((abs(x - 0.25) < 0.08) | (abs(x - 0.75) < 0.08)).all()


def test_keypoints_with_their_skeleton(chromium):
    value = np.array([[20], [50], [2], [80], [50], [2], [50], [90], [0]], np.int32)
    info = {"keypoints": ["a", "b", "c"], "connections": [[0, 1], [1, 2]]}
    with annotated("pose", "keypoints_coco", value, info=info) as ds, shown(chromium, ds) as tab:
        tab.rows("1")
        x, y = marked(tab.picture())
        # The line between both points is there, and that to the one which is not labelled is not.
        assert (abs(x - 0.5) < 0.03).any() and (abs(y - 0.5) < 0.12).all()


def test_a_sequence_plays(chromium):
    from playwright.sync_api import expect

    with deeplake.create("mem://drawing-frames", overwrite=True) as ds:
        ds.create_tensor("frames", "sequence[image]", compression="png")
        colors = [(230, 20, 20), (20, 200, 20), (30, 30, 230)]
        ds.append({"frames": [np.full((60, 60, 3), color, np.uint8) for color in colors]})
        ds.commit("three frames")
        with shown(chromium, ds) as tab:
            tab.rows("1")
            assert share(tab.drawn(), colors[0]) > 0.005
            tab.at("grid").focus()
            tab.page.keyboard.press("Home")
            tab.page.keyboard.press("Enter")
            item = tab.page.get_by_role("slider", name="Item", exact=True)
            item.wait_for()
            tab.page.keyboard.press(".")
            expect(item).to_have_value("1")
            tab.shows(colors[1], 0.1)
            browser.check_access(tab, "player")
            tab.page.get_by_role("button", name="Play (space)").click()
            expect(item).not_to_have_value("1")
            tab.page.get_by_role("button", name="Pause (space)").click()


def test_window_of_16_bits(chromium):
    with deeplake.create("mem://drawing-deep", overwrite=True) as ds:
        ds.create_tensor("images", "image.gray", dtype="uint16")
        values = np.full((60, 60, 1), 1000, np.uint16)
        values[:, 30:] = 3000
        values[:4], values[-4:] = 0, 4000
        ds.append({"images": values})
        ds.commit("deep")
        with shown(chromium, ds) as tab:
            tab.rows("1")
            tab.at("grid").focus()
            tab.page.keyboard.press("Home")
            tab.page.keyboard.press("Enter")
            white = tab.page.get_by_label("White")
            white.wait_for()
            tab.shows((64, 64, 64), 0.05, near=6)
            for _ in range(3):
                white.press("PageDown")
            low = float(white.input_value())
            assert low < 3500
            tab.shows((round(255 * 1000 / low),) * 3, 0.05, near=6)


def test_fingers_scroll_and_pinch(chromium):
    with deeplake.create("mem://drawing-touch", overwrite=True) as ds:
        ds.create_tensor("images", "image.gray", dtype="uint8")
        ds.extend({"images": np.zeros((500, 8, 8, 1), np.uint8)})
        ds.commit("many")
        with shown(chromium, ds, has_touch=True) as tab:
            tab.rows("500")
            tab.drawn()
            box = tab.at("grid").bounding_box()
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            touch = tab.context.new_cdp_session(tab.page)

            def send(kind, *points):
                points = [{"x": px, "y": py, "id": i} for i, (px, py) in enumerate(points)]
                touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

            send("touchStart", (x, y + 200))
            for k in range(1, 11):
                send("touchMove", (x, y + 200 - 40 * k))
            send("touchEnd")
            tab.page.wait_for_url("**first=**")
            size = tab.page.get_by_label("Size of cells")
            before = float(size.input_value())
            send("touchStart", (x - 50, y), (x + 50, y))
            for k in range(1, 6):
                send("touchMove", (x - 50 - 10 * k, y), (x + 50 + 10 * k, y))
            send("touchEnd")
            tab.page.wait_for_url("**cell=**")
            assert abs(float(size.input_value()) - before - 1) < 0.3  # twice as large


def test_more_lines_than_layers(chromium):
    """A page that may use 8 layers of a texture, of the 256 promised, draws more lines than that."""
    rows, cell, gap = 2000, 32, 2
    with deeplake.create("mem://drawing-lines", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        ds.extend(
            {"images": [np.full((4, 4, 3), (16 + i % 100, 16 + i // 100 * 10, 128), np.uint8) for i in range(rows)]}
        )
        ds.commit("a color for each row")
        with shown(chromium, ds) as tab:
            tab.rows("2,000")  # the key of the link is used
            tab.page.add_init_script(
                """const get = WebGL2RenderingContext.prototype.getParameter;
                WebGL2RenderingContext.prototype.getParameter = function (name) {
                    if (name !== this.MAX_ARRAY_TEXTURE_LAYERS) return get.call(this, name);
                    window.asked = 1 + (window.asked ?? 0);
                    return 8;
                };"""
            )
            tab.page.reload()
            tab.rows("2,000")
            tab.page.evaluate("cell => window.__deeplake.grid.setCell(cell)", cell)
            for first in (0, 700):
                tab.page.evaluate("row => window.__deeplake.grid.scrollTo(row)", first)
                frames = tab.page.wait_for_function(
                    "() => { const f = window.__deeplake.grid.frames(); return f.complete && f.count > 100 && f; }"
                ).json_value()
                box = tab.at("grid").bounding_box()
                pixels = tab.drawn()[int(box["y"]) :, int(box["x"]) :].astype(int)
                columns = int((box["width"] - 12 - gap) // (cell + gap))
                left = gap + int((box["width"] - 12 - gap - columns * (cell + gap)) // 2)
                lines = -(-frames["count"] // columns)
                assert lines > 16
                assert tab.page.evaluate("() => window.asked") >= 1
                for line in range(lines - 1):  # the last one may be cut off
                    red, green, _ = pixels[line * (cell + gap) + gap + cell // 2, left + cell // 2]
                    row = red - 16 + round((green - 16) / 10) * 100
                    assert row == frames["first"] + line * columns, (line, red, green)


def test_colors_by_a_column(chromium):
    """Boxes take the colors of scores; borders of cells take those of a computed column."""
    with deeplake.create("mem://drawing-colors", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        ds.create_tensor("pred/boxes", "bbox")
        ds.create_tensor("pred/scores", dtype="float32")
        ds.create_tensor("speed", dtype="float32")
        two = np.array([[5, 5, 45, 95], [55, 5, 95, 95]], np.float32)
        for scores, speed in (([0.1, 0.9], 1), ([0.9, 0.1], 3)):
            values = np.array(scores, np.float32)
            ds.append({"images": GREY, "pred/boxes": two, "pred/scores": values, "speed": np.float32(speed)})
        ds.commit("two rows")
        with shown(chromium, ds) as tab:
            tab.rows("2")
            tab.page.evaluate("() => window.__deeplake.grid.setCell(160)")
            tab.at("color").select_option("pred/scores")
            tab.page.wait_for_url("**color=pred%2Fscores**")
            legend = tab.at("legend")
            assert legend.inner_text().split() == ["0.1", "0.9"]
            low, high = (36, 67, 186), (160, 227, 90)  # the ends of the ramp, about
            pixels = tab.picture()
            first, second = pixels[:, :168], pixels[:, 168:336]
            for cell, (left, right) in ((first, (low, high)), (second, (high, low))):
                half = cell.shape[1] // 2
                assert ends(cell[:, :half]) == (left is high)
                assert ends(cell[:, half:]) == (right is high)
            check_access(tab, "color")
            tab.at("color").select_option("")
            before = tab.picture()
            tab.at("color-expression").fill("speed * 10")
            tab.at("color-expression").press("Enter")
            tab.page.wait_for_url("**color=color**")
            from playwright.sync_api import expect

            expect(legend).to_have_text("1030")
            assert tab.at("query").input_value() == "SELECT *, speed * 10 AS color"
            borders = tab.picture()
            changed = np.abs(borders.astype(int) - before).max(axis=-1) > 20
            assert changed[:, :168].any() and changed[:, 168:336].any()


def ends(pixels):
    """Returns whether more pixels are green, the upper end of a ramp, than blue, the lower end."""
    red, green, blue = (pixels[..., k].astype(int) for k in range(3))
    blues, greens = (blue - green > 60).sum(), (green - blue > 60).sum()
    assert max(blues, greens) > 50 and min(blues, greens) < max(blues, greens) / 4, (blues, greens, red.mean())
    return bool(greens > blues)


def test_json_stands_at_its_picture(chromium):
    note = {"camera": "left", "tags": ["night", "rain"], "text": "x" * 300 + "end"}
    with annotated("note", "json", note) as ds, shown(chromium, ds) as tab:
        tab.rows("1")
        with_line = tab.picture()
        tab.at("eye-note").click()
        assert (tab.picture().shape != with_line.shape) or (tab.picture() != with_line).any()
        tab.at("eye-note").click()
        tab.drawn()
        tab.at("grid").focus()
        tab.page.keyboard.press("Home")
        tab.page.keyboard.press("Enter")
        for text in ("camera", "left", "rain"):
            tab.at("captions").get_by_text(text).wait_for()
        tab.at("captions").get_by_role("button", name="more").click()
        tab.at("captions").get_by_text("xend").wait_for()
        check_access(tab, "JSON below a picture")


def test_table_shows_times(chromium):
    """Numbers that count time have its text, those that a query computes too."""
    with deeplake.create("mem://drawing-times", overwrite=True) as ds:
        ds.create_tensor("seen", dtype="datetime64[us]")
        ds.create_tensor("x", dtype="int64")
        ds.extend({"seen": np.array(["2024-02-29T10:00:00", "1969-12-31T23:59:59"], "datetime64[us]"), "x": [60, 1]})
        ds.commit("two times")
        with shown(chromium, ds) as tab:
            tab.rows("2")
            tab.at("mode-table").click()
            table = tab.at("table")
            for text in ("2024-02-29 10:00:00", "1969-12-31 23:59:59", "60"):
                table.get_by_text(text, exact=True).first.wait_for()
        with shown(chromium, ds.query("SELECT seen - seen AS no_time, x WHERE x = 60")) as tab:
            tab.at("mode-table").click()
            tab.at("table").get_by_text("0:00:00", exact=True).first.wait_for()


def test_table_has_thumbnails(chromium):
    """One request for a screen of rows; what is scrolled past is cancelled, and only rows in sight are elements."""
    colors = [(230, 20, 20), (20, 200, 20), (30, 30, 230)]
    with deeplake.create("mem://drawing-table", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        ds.create_tensor("depth", "image.gray", dtype="uint16")
        ds.create_tensor("x", dtype="int64")
        deep = np.full((30, 20, 1), 9, np.uint16)
        deep[:15] = 60000
        for begin in range(0, 900, 300):
            plain = np.full((40, 60, 3), colors[begin // 300], np.uint8)
            ds.extend({"images": [plain] * 300, "depth": [deep] * 300, "x": list(range(300))})
        ds.commit("three colours")
        with shown(chromium, ds) as tab:
            tab.rows("900")
            tab.drawn()
            asked, cancelled = [], []
            tab.page.on("request", lambda r: asked.append(r.post_data_json) if r.url.endswith("api/samples") else None)
            tab.page.on("requestfailed", lambda r: cancelled.append(r.url))
            tab.at("mode-table").click()
            table = tab.at("table")
            picture = table.get_by_role("img", name="images: 60")
            picture.first.wait_for()
            table.get_by_role("img", name="depth: 20").first.wait_for()
            # The grid has read the other columns.
            assert asked and all(r["columns"] == [{"name": "depth", "pixels": 64}] for r in asked)
            assert picture.count() < 60
            assert share(shot(picture.first), colors[0]) > 0.9
            light = shot(table.get_by_role("img", name="depth: 20").first)
            assert light[:10].mean() > 200 and light[-10:].mean() < 60
            check_access(tab, "table with thumbnails")
            held = []
            # The first request gets no response.
            tab.page.route("**/api/samples", lambda route: route.continue_() if held else held.append(route))
            table.focus()
            tab.page.evaluate("() => (document.querySelector('[data-testid=table]').scrollTop = 400 * 54)")
            wait_until(tab, lambda: held)
            tab.page.keyboard.press("End")
            last = table.locator('[aria-rowindex="900"]').get_by_role("img", name="images: 60")
            last.wait_for()
            assert share(shot(last), colors[2]) > 0.9
            wait_until(tab, lambda: cancelled)  # the event may come after the picture
            tab.page.unroute_all(behavior="ignoreErrors")
            tab.faults = [fault for fault in tab.faults if "ERR_FAILED" not in fault]


def wait_until(tab, happened):
    """Lets the browser run until something has happened, ten seconds at most."""
    for _ in range(500):
        if happened():
            return
        tab.page.wait_for_timeout(20)
    raise AssertionError("it has not happened for ten seconds")


def shot(element):
    """Returns the pixels of an element."""
    import io

    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(element.screenshot())).convert("RGB"))
