"""Two versions, and truth and predictions, side by side in the browser."""

from __future__ import annotations

import browser
import deeplake
import numpy as np
import pytest
from browser import check_access, share, shown

RED, BLUE, GREEN = (230, 20, 20), (30, 30, 230), (20, 200, 20)


@pytest.fixture(scope="module")
def chromium():
    with browser.chromium() as running:
        yield running


def plain(color):
    return np.full((60, 60, 3), color, np.uint8)


@pytest.fixture(scope="module")
def versions():
    with deeplake.create("mem://compare", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        ds.extend({"images": [plain(RED)] * 6})
        ds.commit("six red ones")
        ds.update(3, {"images": plain(BLUE)})
        ds.delete([0])
        ds.extend({"images": [plain(GREEN)] * 2})
        ds.commit("one is blue")
        yield ds


def compare(tab):
    tab.at("versions").click()
    dialog = tab.page.get_by_role("dialog")
    dialog.get_by_text("six red ones").wait_for()
    radios = dialog.get_by_role("radio")
    labels = [radios.nth(i).get_attribute("aria-label") for i in range(radios.count())]
    froms = sorted((label for label in labels if "from" in label), key=lambda label: int(label.split()[-1]))
    dialog.get_by_label(froms[-2]).check()
    dialog.get_by_label(froms[-1].replace("from", "to")).check()
    tab.at("compare").click()
    tab.at("compare-changed").wait_for()


def part(tab, name):
    """Returns the pixels of an element, once they have not changed for a while."""
    import io

    from PIL import Image

    last = None
    for _ in range(40):
        tab.page.wait_for_timeout(150)
        data = tab.at(name).screenshot()
        if data == last:
            break
        last = data
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def test_compare_rows_and_slider(chromium, versions):
    with shown(chromium, versions) as tab:
        tab.rows("7")
        compare(tab)
        assert "1 changed row" in tab.at("compare-changed").inner_text()
        assert "2 added rows" in tab.at("compare-added").inner_text()
        assert "1 removed row" in tab.at("compare-removed").inner_text()
        before, after = part(tab, "side-before"), part(tab, "side-after")
        assert share(before, RED) > 0.02 > share(before, BLUE)
        assert share(after, BLUE) > 0.02 > share(after, RED)
        check_access(tab, "compare")

        tab.at("layout-slider").click()
        half = part(tab, "slider-view")
        assert share(half, RED) > 0.05 and abs(share(half, RED) - share(half, BLUE)) < 0.05
        check_access(tab, "slider")
        slider = tab.at("slider")
        slider.focus()
        tab.page.keyboard.press("End")
        assert slider.get_attribute("aria-valuenow") == "100"
        whole = part(tab, "slider-view")
        assert share(whole, BLUE) < 0.01 and share(whole, RED) > 0.1
        tab.page.keyboard.press("Home")
        assert share(part(tab, "slider-view"), RED) < 0.01
        box, frame = slider.bounding_box(), tab.at("slider-view").bounding_box()
        tab.page.mouse.move(box["x"] + 8, box["y"] + 40)
        tab.page.mouse.down()
        tab.page.mouse.move(frame["x"] + frame["width"] / 4, box["y"] + 40)
        tab.page.mouse.up()
        assert 23 <= int(slider.get_attribute("aria-valuenow")) <= 27

        tab.at("compare-added").click()
        assert share(part(tab, "side-after"), GREEN) > 0.04
        tab.at("compare-removed").click()
        assert share(part(tab, "side-before"), RED) > 0.02
        assert share(part(tab, "side-after"), RED) < 0.01
        tab.page.keyboard.press("Escape")
        tab.page.get_by_role("dialog").wait_for(state="detached")


@pytest.fixture(scope="module")
def boxes():
    """Grey pictures. Truth is one box; the prediction of rows 0 to 3 agrees, half, not at all, and is none."""
    with deeplake.create("mem://truth", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        ds.create_tensor("truth/boxes", "bbox")
        ds.create_tensor("pred/boxes", "bbox")
        one, far = [20, 20, 80, 80], [150, 90, 190, 110]
        for pred in ([one], [one, far], [far], []):
            ds.append(
                {
                    "images": np.full((120, 200, 3), 128, np.uint8),
                    "truth/boxes": np.array([one], np.float32),
                    "pred/boxes": np.array(pred, np.float32).reshape(-1, 4),
                }
            )
        ds.commit("boxes")
        yield ds


def test_truth_and_predictions_side_by_side(chromium, boxes):
    with shown(chromium, boxes[2:3]) as tab:
        tab.rows("1")
        together = tab.picture()
        tab.at("pair").click()
        apart = tab.picture()
        grey = (128, 128, 128)
        assert 1.8 < share(apart, grey, 4) / share(together, grey, 4) < 2.2
        tab.page.wait_for_url("**pair=truth%2Fboxes&pair=pred%2Fboxes**")
        # The left picture has the box of the truth alone, the right one that of the prediction.
        drawn = np.abs(apart.astype(int) - 128).max(axis=-1) > 30
        ys, xs = np.nonzero(np.abs(apart.astype(int) - 128).max(axis=-1) < 4)
        inside = drawn[ys.min() + 2 : ys.max() - 1, xs.min() + 2 : xs.max() - 1]
        width = inside.shape[1] // 2
        left, right = inside[:, : width - 3], inside[:, width + 3 :]
        assert left.sum() > 50 and right.sum() > 20
        assert left[:, int(0.7 * width) :].sum() == 0 and right[:, : int(0.4 * width)].sum() == 0
        check_access(tab, "pair")
        tab.at("grid").focus()
        tab.page.keyboard.press("Home")
        tab.page.keyboard.press("Enter")
        tab.at("single").wait_for()
        tab.shows(grey, 0.1, near=4)


def test_rows_in_the_order_of_disagreement(chromium, boxes):
    with shown(chromium, boxes) as tab:
        tab.rows("4")
        tab.at("disagreement").click()
        tab.page.wait_for_url("**query=SELECT**")
        text = tab.at("query").input_value()
        assert text.endswith("ORDER BY f1") and 'BOX_MATCHES("truth/boxes", "pred/boxes", 0.5)' in text
        tab.drawn()
        tab.at("grid").focus()
        for key in ("Home", "ArrowRight", "ArrowRight"):
            tab.page.keyboard.press(key)
        tab.at("grid").get_by_text("f1: 0.666667").wait_for(state="attached")
        tab.page.keyboard.press("Enter")
        tab.at("captions").get_by_text("0.666667").wait_for()
        assert tab.at("captions").inner_text().split() == ["f1", "0.666667"]
        check_access(tab, "a score in the single view")
    rows = boxes.query(text.replace("SELECT *", "SELECT ROW_NUMBER() AS n", 1))["n"][:]
    assert [int(row) for row in rows] == [2, 3, 1, 0]


def test_disagreement_of_classes_and_scores(chromium):
    """Rows: another class; the best score takes the box of another; full agreement."""
    one, low, near = [0, 0, 100, 100], [0, 0, 100, 60], [0, 0, 100, 80]
    rows = [([one], [0], [one], [1], [0.9]), ([one, low], [0, 0], [near, one], [0, 0], [0.9, 0.2])]
    rows.append(([one, low], [0, 0], [near, one], [0, 0], [0.2, 0.9]))
    with deeplake.create("mem://scored", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        for group in ("truth", "pred"):
            ds.create_tensor(f"{group}/boxes", "bbox")
            ds.create_tensor(f"{group}/labels", "class_label", class_names=["cat", "dog"])
        ds.create_tensor("pred/scores", dtype="float32")
        for truth, kinds, pred, found, scores in rows:
            ds.append(
                {
                    "images": np.full((120, 200, 3), 128, np.uint8),
                    "truth/boxes": np.array(truth, np.float32),
                    "truth/labels": np.array(kinds, np.uint32),
                    "pred/boxes": np.array(pred, np.float32),
                    "pred/labels": np.array(found, np.uint32),
                    "pred/scores": np.array(scores, np.float32),
                }
            )
        ds.commit("scored")
        with shown(chromium, ds) as tab:
            tab.rows("3")
            tab.at("disagreement").click()
            tab.page.wait_for_url("**query=SELECT**")
            text = tab.at("query").input_value()
            assert '0.5, "truth/labels", "pred/labels", "pred/scores")' in text
        text = text.replace("SELECT *", "SELECT ROW_NUMBER() AS n", 1)
        order = ds.query(text.replace("0.5", "0.7"))["n"][:]
        assert [int(row) for row in order] == [0, 1, 2]
