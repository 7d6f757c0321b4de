"""A picture too large to be sent whole, in a real browser: it is drawn in tiles."""

from __future__ import annotations

import io
import json
import time

import browser
import deeplake
import numpy as np
import pytest

SIDE = 17_000  # 289 MB, which is more than the server sends as one sample
TOP, LEFT, EXTENT = 11_000, 4_000, 600  # stripes of two pixels, which only the finest level has


@pytest.fixture(scope="module")
def chromium():
    with browser.chromium() as running:
        yield running


@pytest.fixture(scope="module")
def slide():
    with deeplake.create("mem://slide", overwrite=True) as ds:
        ds.create_tensor("slide", "image", dtype="uint8", compression="lz4")
        pixels = np.full((SIDE, SIDE, 1), 60, np.uint8)
        pixels[: SIDE // 2, : SIDE // 2] = 180
        stripes = np.where(np.arange(EXTENT) // 2 % 2, 250, 0).astype(np.uint8)
        pixels[TOP : TOP + EXTENT, LEFT : LEFT + EXTENT, 0] = stripes
        ds.append({"slide": pixels})
        del pixels
        ds.commit("one slide")
        yield ds


def around(tab, x, y, half):
    """Returns the pixels of the page around a point."""
    from PIL import Image

    clip = {"x": x - half, "y": y - half, "width": 2 * half, "height": 2 * half}
    return np.asarray(Image.open(io.BytesIO(tab.page.screenshot(clip=clip))).convert("L")).astype(int)


def until(check, seconds=20):
    """Waits until a check holds, and fails with what it returned last."""
    end = time.monotonic() + seconds
    while True:
        good, seen = check()
        if good:
            return
        assert time.monotonic() < end, seen
        time.sleep(0.1)


def test_zoom_into_a_huge_picture(chromium, slide):
    with slide.visualize(browser=False) as server:
        tab = browser.Tab(chromium, server.link())
        tab.rows("1")
        asked = []
        tab.page.on("request", lambda r: asked.extend(regions(r)))
        tab.at("grid").focus()
        tab.page.keyboard.press("Home")
        tab.page.keyboard.press("Enter")
        canvas = tab.page.locator(".single-canvas")
        canvas.wait_for()
        box = canvas.bounding_box()
        scale = min(box["width"] - 32, box["height"] - 32) / SIDE

        def place(px, py):
            return (
                box["x"] + box["width"] / 2 + (px - SIDE / 2) * scale,
                box["y"] + box["height"] / 2 + (py - SIDE / 2) * scale,
            )

        # The whole picture: its bright quarter, and the stripes as their average.
        bright, dark = place(SIDE / 4, SIDE / 4), place(SIDE * 3 / 4, SIDE * 3 / 4)
        middle = place(LEFT + EXTENT / 2, TOP + EXTENT / 2)

        def whole():
            seen = [int(np.median(around(tab, *p, 3))) for p in (bright, dark, middle)]
            return all(abs(a - b) < 12 for a, b in zip(seen, (180, 60, 125), strict=True)), seen

        until(whole)
        assert [r["region"] for r in asked] == [[0, 0, SIDE, SIDE]]

        # A double click shows its pixels one to one, and reads the tiles in the window alone.
        tab.page.mouse.dblclick(*middle)

        def striped():
            pixels = around(tab, *middle, 40)
            low, high = (pixels < 30).mean(), (pixels > 220).mean()
            return low > 0.45 and high > 0.45, (low, high)

        until(striped)
        fine = asked[1:]
        most = (box["width"] // 512 + 2) * (box["height"] // 512 + 2)
        assert 1 <= len(fine) <= most, fine
        for r in fine:
            top, left, bottom, right = r["region"]
            assert bottom - top <= 512 and right - left <= 512 and r["pixels"] == 512

        # Dragging shows others: the edge of the stripes moves with the mouse.
        x, y = middle
        edge = y - EXTENT / 2 + 50

        def even():
            return (abs(around(tab, x, edge, 20) - 60) < 6).mean()

        assert even() < 0.05
        tab.page.mouse.move(x, y)
        tab.page.mouse.down()
        tab.page.mouse.move(x, y + 100, steps=5)
        tab.page.mouse.up()

        def moved():
            inside = around(tab, x, y + 100, 40)
            return (inside > 220).mean() > 0.45 and even() > 0.95, even()

        until(moved)
        tab.close()


def regions(request):
    """Returns the regions that a request asks for."""
    if not request.url.endswith("api/samples"):
        return []
    return [c for c in json.loads(request.post_data)["columns"] if "region" in c]
