"""The map of embeddings: its coordinates, and the page that shows it."""

from __future__ import annotations

import json

import browser
import deeplake
import numpy as np
import pytest
from test_visualize import Page
from test_visualizer_page import COLORS, share, shown

ROWS = 60


@pytest.fixture(scope="module")
def chromium():
    with browser.chromium() as running:
        yield running


@pytest.fixture(scope="module")
def ds():
    """Red pictures in one cluster, blue ones in another."""
    rng = np.random.default_rng(1)
    with deeplake.create("mem://map", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        ds.create_tensor("labels", "class_label", class_names=["red", "blue"])
        ds.create_tensor("vectors", "embedding", dtype="float32")
        for i in range(ROWS):
            color = COLORS["red" if i % 2 == 0 else "blue"]
            ds.append(
                {
                    "images": np.full((20, 20, 3), color, np.uint8),
                    "labels": i % 2,
                    "vectors": ((-3, 3)[i % 2] + 0.3 * rng.normal(size=16)).astype(np.float32),
                }
            )
        ds.commit()
        yield ds


def read(answer):
    size = int.from_bytes(answer[4:8], "little")
    points = np.frombuffer(answer[8 + size :], [("x", "<f4"), ("y", "<f4"), ("row", "<u4")])
    return json.loads(answer[8 : 8 + size]), points


@pytest.mark.parametrize("dim", [3, 64, 1100])
def test_coordinates_are_those_of_numpy(dim):
    rng = np.random.default_rng(dim)
    vectors = (rng.normal(size=(500, 4)) * (9, 5, 1, 0.5)) @ rng.normal(size=(4, dim)) + rng.normal(size=dim)
    vectors = vectors.astype(np.float32)
    with deeplake.create("mem://map-numpy", overwrite=True) as ds:
        ds.create_tensor("vectors", "embedding", dtype="float32")
        ds.extend({"vectors": vectors})
        ds.commit()
        with ds.visualize(browser=False) as server:
            page = Page(server.link())
            head, points = read(page.raw("project", view=page.post("open")["view"], column="vectors"))
    centred = vectors.astype(np.float64) - vectors.astype(np.float64).mean(axis=0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    for k in range(2):
        axis = axes[k] * np.sign(axes[k][np.abs(axes[k]).argmax()])
        want = centred @ axis
        np.testing.assert_allclose(points["xy"[k]], want, atol=1e-4 * np.abs(want).max())
    np.testing.assert_allclose(head["variance"], sizes[:2] ** 2 / (sizes**2).sum(), rtol=1e-4)
    assert (points["row"] == np.arange(500)).all() and head["dim"] == dim


def test_values(ds):
    with ds.visualize(browser=False) as server:
        page = Page(server.link())
        view = page.post("open")["view"]
        values = np.frombuffer(page.raw("values", view=view, column="labels", step=1), "<f4")
        assert (values == np.arange(ROWS) % 2).all()
        assert page.refused("values", view=view, column="images", step=1)[0] == 400
        assert page.refused("values", view=view, column="labels", step=0)[0] == 400


@pytest.mark.slow
def test_lasso_shows_the_rows_of_one_cluster(chromium, ds):
    with shown(chromium, ds) as tab:
        tab.rows("60")
        tab.at("mode-map").click()
        tab.at("map").wait_for()
        tab.page.wait_for_timeout(600)
        box = tab.at("map").bounding_box()
        pixels = tab.drawn()
        part = pixels[int(box["y"]) :, int(box["x"]) : int(box["x"] + box["width"])]
        half = part.shape[1] // 2
        # The class colours of the page, on light or dark ground.
        red, blue = [
            max(share(side, c, 12) for c in ((253, 128, 121), (211, 58, 60)))
            for side in (part[:, :half], part[:, half:])
        ]
        assert max(red, blue) > 20 / part.size, "one half has points of class 0"
        assert min(red, blue) == 0, "the other has none"
        tab.at("map-lasso").click()
        x, y, width, height = (box[name] for name in ("x", "y", "width", "height"))
        start = x + 12 if red > 0 else x + width / 2  # beside the divider of the panel
        mouse = tab.page.mouse
        mouse.move(start, y + 2)
        mouse.down()
        for to in ((start + width / 2 - 14, y + 2), (start + width / 2 - 14, y + height - 3), (start, y + height - 3)):
            mouse.move(*to, steps=4)
        mouse.up()
        tab.rows("30")
        picture = tab.drawn()
        assert share(picture, COLORS["red"]) > 0.02 and share(picture, COLORS["blue"]) == 0
        tab.at("unpick").click()
        tab.rows("60")
        assert share(tab.drawn(), COLORS["blue"]) > 0.02


def test_map_by_keyboard(chromium, ds):
    with shown(chromium, ds) as tab:
        tab.rows("60")
        tab.at("mode-map").click()
        tab.at("map").focus()
        tab.page.wait_for_timeout(300)
        tab.page.keyboard.press("n")
        tab.at("row-panel").get_by_text("red").first.wait_for()
        tab.at("map-count").fill("5")
        tab.at("map").focus()
        tab.page.keyboard.press("Enter")
        tab.rows("5")
        assert share(tab.drawn(), COLORS["red"]) > 0.02
