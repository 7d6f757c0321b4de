"""Makes the pictures of docs/visualizer.md: the page in Chromium, showing photographs that scikit-image ships.

python tools/web_pictures.py

The boxes of each photograph are written here; masks and predictions are made from them.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
MOST_BYTES = 150_000
sys.path.insert(0, str(ROOT / "python" / "tests"))

CLASSES = ["person", "animal", "cup", "rocket"]
# The class and the boxes (left, top, right, bottom) of each photograph.
PHOTOGRAPHS = {
    "astronaut": ("person", [[90, 10, 420, 510], [170, 60, 285, 200]]),
    "chelsea": ("animal", [[80, 15, 350, 285]]),
    "coffee": ("cup", [[150, 60, 450, 330]]),
    "rocket": ("rocket", [[295, 90, 345, 345]]),
}


def photographs():
    """Returns (class, pixels, boxes) of photographs, in several cuts so that the cells differ."""
    from skimage import data

    for k in range(6):
        for name, (kind, boxes) in PHOTOGRAPHS.items():
            whole = getattr(data, name)()
            height, width = whole.shape[:2]
            top, left = height * (k % 3) // 24, width * (k // 3) // 16
            pixels = np.ascontiguousarray(whole[top : top + 11 * height // 12, left : left + 15 * width // 16])
            if k % 2:
                pixels = np.ascontiguousarray(pixels[:, ::-1])
            yield kind, pixels, cut(np.array(boxes, np.float32), top, left, pixels.shape, mirrored=k % 2 == 1)


def cut(boxes, top, left, shape, mirrored):
    """Returns boxes as they lie in a part of the photograph."""
    moved = np.clip(boxes - [left, top, left, top], 0, [shape[1], shape[0]] * 2).astype(np.float32)
    return moved if not mirrored else (np.array([shape[1], 0, shape[1], 0]) + moved[:, [2, 1, 0, 3]] * [-1, 1, -1, 1])


def masked(boxes, shape):
    """Returns the ellipse of the last box as a mask."""
    left, top, right, bottom = boxes[-1]
    y, x = np.mgrid[: shape[0], : shape[1]]
    return ((2 * x - left - right) / (right - left)) ** 2 + ((2 * y - top - bottom) / (bottom - top)) ** 2 < 1


def dataset():
    import deeplake

    ds = deeplake.create("mem://photographs", overwrite=True)
    ds.create_tensor("images", "image.rgb", compression="jpeg", quality=90)
    ds.create_tensor("labels", "class_label", class_names=CLASSES)
    ds.create_tensor("truth/boxes", "bbox")
    ds.create_tensor("predicted/boxes", "bbox")
    ds.create_tensor("masks", "binary_mask")
    ds.create_tensor("score", dtype="float32")
    random = np.random.default_rng(1)
    for kind, pixels, boxes in photographs():
        found = boxes + random.normal(0, 12, boxes.shape)
        ds.append(
            {
                "images": pixels,
                "labels": CLASSES.index(kind),
                "truth/boxes": boxes.astype(np.float32),
                "predicted/boxes": found[random.random(len(found)) < 0.9].astype(np.float32),
                "masks": masked(boxes, pixels.shape),
                "score": np.float32(random.random()),
            }
        )
    ds.commit("photographs")
    for row in (0, 7):
        pixels = ds["images"][row]
        ds.update(row, {"images": 80 + pixels // 2})
    ds.commit("two of them paler")
    return ds


FRAMES, RATE = 48, 24


def film():
    """Returns a dataset of one video: a window that moves over a photograph, with its boxes."""
    from fractions import Fraction

    import av
    import deeplake
    from skimage import data

    ds = deeplake.create("mem://film", overwrite=True)
    ds.create_tensor("camera/video", "video")
    ds.create_tensor("camera/boxes", "sequence[bbox]")
    ds.create_tensor("camera/labels", "sequence[class_label]", class_names=CLASSES)
    kind, whole = "cup", data.coffee()
    boxes = np.array(PHOTOGRAPHS["coffee"][1], np.float32)
    out = io.BytesIO()
    each = []
    with av.open(out, "w", format="mp4") as file:
        stream = file.add_stream("libx264", rate=Fraction(RATE), options={"crf": "20", "g": "12"})
        stream.width, stream.height, stream.pix_fmt = 480, 320, "yuv420p"
        for i in range(FRAMES):
            left, top = 2 * i, i
            pixels = np.ascontiguousarray(whole[top : top + 320, left : left + 480])
            file.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
            each.append(np.clip(boxes - [left, top, left, top], 0, [480, 320] * 2).astype(np.float32))
        file.mux(stream.encode(None))
    names = [np.full(len(boxes), CLASSES.index(kind), np.uint32)] * FRAMES
    ds.append({"camera/video": out.getvalue(), "camera/boxes": each, "camera/labels": names})
    ds.commit("a film")
    return ds


def save(tab, name):
    """Writes what the tab shows, as the best JPEG within the bound."""
    from PIL import Image

    image = Image.open(io.BytesIO(tab.page.screenshot())).convert("RGB")
    for quality in range(88, 30, -6):
        out = io.BytesIO()
        image.save(out, "JPEG", quality=quality, optimize=True, progressive=True)
        if out.tell() <= MOST_BYTES:
            break
    else:
        raise SystemExit(f"{name}: {out.tell()} bytes at the least quality, want at most {MOST_BYTES}")
    (DOCS / name).write_bytes(out.getvalue())
    print(f"docs/{name}: {out.tell():,} bytes, quality {quality}")


def main():
    import browser

    with browser.chromium() as chromium, dataset() as ds, browser.shown(chromium, ds) as tab:
        tab.rows("24")
        tab.page.get_by_role("button", name="Statistics").click()
        tab.at("stats-score").scroll_into_view_if_needed()
        tab.at("stats-score").get_by_role("list").wait_for()
        tab.at("grid").focus()
        tab.page.keyboard.press("Home")
        tab.at("stats-labels").evaluate("(e) => e.scrollIntoView()")
        tab.drawn()
        save(tab, "visualizer.jpg")

        tab.page.keyboard.press("Enter")
        tab.at("single").wait_for()
        tab.page.wait_for_timeout(1500)
        save(tab, "visualizer-single.jpg")
        tab.page.keyboard.press("Escape")

        tab.at("query").fill("labels = 'animal' AND SHA")
        tab.page.get_by_role("option").first.wait_for()
        tab.drawn()
        save(tab, "visualizer-query.jpg")
        tab.at("query").fill("")

        tab.at("pair").click()
        tab.drawn()
        save(tab, "visualizer-truth.jpg")
        tab.at("pair").click()

        tab.at("versions").click()
        dialog = tab.page.get_by_role("dialog")
        dialog.get_by_label("Compare from version 1").check()
        dialog.get_by_label("Compare to version 2").check()
        tab.at("compare").click()
        tab.at("layout-slider").click()
        tab.at("slider").focus()
        tab.page.wait_for_timeout(2000)
        save(tab, "visualizer-compare.jpg")

    with browser.chromium() as chromium, film() as ds, browser.shown(chromium, ds) as tab:
        tab.rows("1")
        tab.page.evaluate("() => (location.hash = 'row=0&t=1&mode=single')")
        tab.page.get_by_text(f"frame {RATE} of {FRAMES}").wait_for()
        tab.page.wait_for_timeout(2000)
        save(tab, "visualizer-film.jpg")


if __name__ == "__main__":
    main()
