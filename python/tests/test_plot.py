"""Contact sheets: `ds.plot` and `deeplake head --images`."""

from __future__ import annotations

import base64
import io
import os
import pty
import re
import subprocess
import sys

import deeplake
import numpy as np
import pytest
from deeplake._show.terminal_images import detect, encode, sixel
from PIL import Image

RED, BLUE = (230, 20, 20), (20, 30, 230)
TOP, GAP, CELL = 13, 6, 160


def make(place, rows=8):
    ds = deeplake.create(place, overwrite=True)
    ds.create_tensor("images", "image.rgb", compression="png")
    ds.create_tensor("labels", "class_label", class_names=["red", "blue"])
    ds.create_tensor("boxes", "bbox")
    ds.create_tensor("masks", "binary_mask")
    mask = np.zeros((60, 80), bool)
    mask[40:] = True
    for i in range(rows):
        ds.append(
            {
                "images": np.full((60, 80, 3), (RED, BLUE)[i % 2], np.uint8),
                "labels": i % 2,
                "boxes": np.array([[10, 10, 70, 30]], np.float32),
                "masks": mask,
            }
        )
    ds.commit()
    return ds


@pytest.fixture(scope="module")
def ds():
    with make("mem://plot") as ds:
        yield ds


def pixels(plot):
    return np.asarray(Image.open(io.BytesIO(plot.png)).convert("RGB"))


def cell(sheet, i, columns):
    """Returns the square of the picture of one cell; two lines of text stand under it."""
    x = GAP + i % columns * (CELL + GAP)
    y = GAP + TOP + i // columns * (CELL + GAP + 2 * TOP)
    return sheet[y : y + CELL, x : x + CELL]


def test_pictures_with_annotations(ds):
    sheet = pixels(ds.plot(columns=3))
    assert sheet.shape == (3 * (CELL + 2 * TOP + GAP) + GAP, 3 * (CELL + GAP) + GAP, 3)
    for i, color in enumerate((RED, BLUE, RED, BLUE)):
        picture = cell(sheet, i, 3)
        assert (picture[10] == picture[0, 0]).all(), "above the picture is empty"
        assert (picture[70, 5] == color).all()
        # The class colours of the page on light ground (web/src/draw/colors.test.ts).
        kind = np.array([(211, 58, 60), (13, 104, 72)][i % 2])
        assert (picture[20 + 50, 20] == kind).all(), "the left side of the box"
        assert np.abs(picture[20 + 100, 80].astype(int) - (np.array(color) + kind) // 2).max() <= 2, "the mask"
    assert (cell(sheet, 8, 3) == 250).sum() > 0


def test_rows(ds):
    one, again = pixels(ds.plot(1)), pixels(ds.plot([1]))
    assert (one == again).all() and one.shape[1] == CELL + 2 * GAP
    assert (cell(one, 0, 1)[70, 5] == BLUE).all()
    backwards = pixels(ds.plot(slice(None, None, -1), columns=8))
    assert (cell(backwards, 0, 8)[70, 5] == BLUE).all() and (cell(backwards, 7, 8)[70, 5] == RED).all()
    twice = pixels(ds.plot([0, 0, 1], columns=3))
    assert (cell(twice, 0, 3) == cell(twice, 1, 3)).all()
    found = ds.query("SELECT * WHERE labels = 'blue'").plot()
    assert (cell(pixels(found), 0, 4)[70, 5] == BLUE).all()
    assert ds[:0].plot().png.startswith(b"\x89PNG")


def test_other_pictures():
    with deeplake.create("mem://plot-other", overwrite=True) as ds:
        ds.create_tensor("deep", "image.gray", dtype="uint16")
        ds.create_tensor("kinds", "segment_mask")
        ds.create_tensor("outline", "polygon")
        ds.create_tensor("spots", "point")
        ds.create_tensor("joints", "keypoints_coco")
        ramp = np.tile(np.linspace(1000, 60000, 50).astype(np.uint16), (50, 1))[..., None]
        kinds = np.zeros((50, 50), np.uint32)
        kinds[:, 25:] = 7
        ds.append({"deep": ramp, "kinds": kinds, "outline": [np.array([[0, 0], [9, 0], [9, 9]], np.float32)],
                   "spots": np.array([[25, 25], [-(2**31), 2**31 - 1]], np.int32),
                   "joints": np.array([[10], [10], [2], [40], [40], [1]], np.int32)})  # fmt: skip
        ds.append({**dict.fromkeys(ds.tensors), "outline": []})
        ds.commit()
        sheet = pixels(ds.plot(0, cell=100))
        gray = sheet[GAP + TOP + 90, GAP : GAP + 50].astype(int)
        assert gray[0].max() == 0 and (np.diff(gray[:, 0]) >= 0).all() and gray[49].max() > 110
        only = pixels(ds.plot(0, tensor="kinds", cell=100))
        part = only[GAP + TOP : GAP + TOP + 100, GAP : GAP + 100]
        assert (part[50, 10] == 0).all() and np.abs(part[50, 80] - np.array([49, 78, 176]) / 2).max() < 2
        assert pixels(ds.plot(1)).shape[0] > CELL


def test_one_damaged_sample_is_one_grey_cell(tmp_path):
    with deeplake.create(str(tmp_path / "ds")) as ds:
        ds.create_tensor("links", "image.rgb", compression="png")
        good = tmp_path / "good.png"
        Image.new("RGB", (80, 60), RED).save(good)
        bad = tmp_path / "bad.png"
        Image.new("RGB", (80, 60), RED).save(bad)
        ds.extend({"links": [deeplake.link(good), deeplake.link(bad)]})
        ds.commit()
    bad.write_bytes(b"\x89PNG no more")
    with deeplake.open(str(tmp_path / "ds"), read_only=True) as ds:
        sheet = pixels(ds.plot([0, 1], tensor="links", columns=2))
        assert (sheet[GAP + TOP + 75, GAP + 5] == RED).all()
        assert (sheet[GAP + TOP + 150, GAP + CELL + GAP + 150] == (205, 208, 214)).all()


@pytest.mark.parametrize(
    ("arguments", "error", "wanted"),
    [
        ({"cell": 3}, deeplake.InvalidArgumentError, "cell is 3, want 16 to 4096"),
        ({"cell": "big"}, deeplake.InvalidArgumentError, "cell is 'big'"),
        ({"columns": 0}, deeplake.InvalidArgumentError, "columns is 0"),
        ({"columns": True}, deeplake.InvalidArgumentError, "columns is True"),
        ({"tensor": "image"}, deeplake.NotFoundError, 'did you mean "images"'),
        ({"tensor": "labels"}, deeplake.NotFoundError, "no tensor of pictures"),
        ({"tensor": 3}, deeplake.InvalidArgumentError, "tensor is 3"),
        ({"rows": 99}, deeplake.OutOfRangeError, "99 is out of range"),
        ({"rows": "a"}, deeplake.InvalidArgumentError, "index rows"),
        ({"rows": [0] * 3000}, deeplake.InvalidArgumentError, "fewer rows"),
        ({"size": 3}, deeplake.InvalidArgumentError, 'unknown argument "size"'),
    ],
)
def test_wrong_arguments(ds, arguments, error, wanted):
    with pytest.raises(error, match=wanted):
        ds.plot(**arguments)


def test_no_pictures():
    with deeplake.create("mem://plot-none", overwrite=True) as ds:
        ds.create_tensor("x", dtype="int64")
        ds.append({"x": 1})
        ds.commit()
        with pytest.raises(deeplake.NotFoundError, match="no tensor has pictures"):
            ds.plot()


def test_file_and_notebook(ds, tmp_path):
    shown = ds.plot([0], path=tmp_path / "a.png")
    shown.save(tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes() == shown._repr_png_()
    assert repr(shown).startswith("Plot of 1 rows")


@pytest.mark.parametrize(
    ("environ", "protocol"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM": "xterm-ghostty"}, "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "iterm"),
        ({"TERM": "foot"}, "sixel"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, None),
        ({"TERM": "tmux-256color", "KITTY_WINDOW_ID": "1"}, None),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/x"}, None),
        ({}, None),
    ],
)
def test_detection(environ, protocol):
    assert detect(environ) == protocol


def from_sixel(data):
    """Decodes sixels, as a terminal does."""
    body = re.fullmatch(rb'\x1bP0;1q"1;1;(\d+);(\d+)(.*)\x1b\\', data, re.DOTALL)
    width, height = int(body[1]), int(body[2])
    out = np.zeros((height + 6, width, 3), np.uint8)
    palette, color, x, y = {}, 0, 0, 0
    for token in re.finditer(rb"#(\d+)(?:;2;(\d+);(\d+);(\d+))?|!(\d+)([?-~])|([?-~])|(\$)|(-)", body[3]):
        if token[1]:
            color = int(token[1])
            if token[2]:
                palette[color] = [round(int(token[i]) * 2.55) for i in (2, 3, 4)]
        elif token[8]:
            x = 0
        elif token[9]:
            x, y = 0, y + 6
        else:
            count, bits = (int(token[5]), token[6][0] - 63) if token[5] else (1, token[7][0] - 63)
            for k in range(6):
                if bits >> k & 1:
                    out[y + k, x : x + count] = palette[color]
            x += count
    return out[:height]


def test_sixel():
    rng = np.random.default_rng(3)
    picture = rng.integers(0, 256, (31, 40, 3)).astype(np.uint8)
    picture[:7] = (255, 255, 255)
    found = from_sixel(sixel(picture))
    assert found.shape == picture.shape
    assert np.abs(found.astype(int) - picture).max() <= 28
    assert (found[:7] == 255).all()


def from_kitty(data):
    parts = re.findall(rb"\x1b_G([^;]*);([^\x1b]*)\x1b\\", data)
    assert parts[0][0].startswith(b"a=T,f=100,") and all(len(part) <= 4096 for _, part in parts)
    assert [b"m=1" in keys for keys, _ in parts] == [True] * (len(parts) - 1) + [False]
    return base64.b64decode(b"".join(part for _, part in parts))


def test_kitty_and_iterm(ds):
    png = ds.plot().png + bytes(5000)
    assert from_kitty(encode(png, "kitty")) == png
    found = re.fullmatch(rb"\x1b\]1337;File=inline=1;size=(\d+):(.*)\x07", encode(png, "iterm"))
    assert int(found[1]) == len(png) and base64.b64decode(found[2]) == png


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("plot") / "ds"
    make(str(place)).close()
    return place


def on_a_terminal(args, **environ):
    main, terminal = pty.openpty()
    os.set_blocking(main, True)
    child = subprocess.Popen(
        [sys.executable, "-m", "deeplake", *args], stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal,
        env={**{k: v for k, v in os.environ.items() if k not in ("KITTY_WINDOW_ID", "TMUX", "LC_TERMINAL", "KONSOLE_VERSION", "TERM_PROGRAM")}, **environ},
    )  # fmt: skip
    os.close(terminal)
    shown = bytearray()
    try:
        while part := os.read(main, 65536):
            shown += part
    except OSError:
        pass
    os.close(main)
    child.wait(timeout=60)
    return bytes(shown).replace(b"\r\n", b"\n")


def test_terminal_shows_the_sheet(place, ds):
    want = pixels(ds.plot(slice(2)))
    shown = on_a_terminal(["head", "--images", "-n", "2", str(place)], TERM="xterm-kitty")
    assert (np.asarray(Image.open(io.BytesIO(from_kitty(shown))).convert("RGB")) == want).all()
    shown = on_a_terminal(["head", "--images=sixel", "-n", "2", str(place)], TERM="xterm")
    assert np.abs(from_sixel(shown.strip(b"\n")).astype(int) - want).max() <= 28
    shown = on_a_terminal(["head", "--images", str(place)], TERM="xterm")
    assert b"\x1b" not in shown and b"--images=FILE.png" in shown


def test_pipes_get_no_pictures(place, tmp_path):
    def run(*args):
        return subprocess.run(
            [sys.executable, "-m", "deeplake", "head", *args], capture_output=True, timeout=60, cwd=tmp_path
        )

    for form in ("--images", "--images=kitty"):
        done = run(form, "-n", "2", str(place))
        assert done.returncode == 2 and b"\x1b" not in done.stdout + done.stderr and b"FILE.png" in done.stderr
    done = run("--images=out.png", "--query", "SELECT * WHERE labels = 'blue'", str(place))
    assert done.returncode == 0 and b"wrote 4 rows" in done.stdout, done.stderr
    assert (cell(np.asarray(Image.open(tmp_path / "out.png").convert("RGB")), 0, 4)[70, 5] == BLUE).all()
    assert run("--images=gif", str(place)).returncode == 2
    assert run("--images=nowhere/out.png", str(place)).returncode == 2


def classes_of_boxes(**labels):
    """Returns the colors of two boxes on a gray picture, in a dataset with these labels."""
    with deeplake.create("mem://plot-classes", overwrite=True) as ds:
        ds.create_tensor("g/images", "image.rgb", compression="png")
        ds.create_tensor("g/boxes", "bbox", info={"coords": {"mode": "LTRB", "type": "pixel"}})
        for name in labels:
            ds.create_tensor("g/" + name, "class_label", class_names=["cat", "bird", "sky"])
        boxes = np.array([[4, 4, 30, 56], [50, 4, 76, 56]], np.float32)
        row = {"g/images": np.full((60, 80, 3), 128, np.uint8), "g/boxes": boxes}
        ds.append(row | {"g/" + name: label for name, label in labels.items()})
        ds.commit()
        sheet = cell(pixels(ds.plot(columns=1, cell=CELL)), 0, 1)
    middle = sheet[CELL // 2]
    found = [tuple(int(v) for v in one) for one in middle if np.abs(one.astype(int) - 128).max() > 40]
    assert found
    return {found[0], found[-1]}


def test_boxes_have_their_own_classes():
    ours = classes_of_boxes(box_class=np.array([0, 1]))
    assert len(ours) == 2
    # A label of the whole row comes first, and names no box where boxes have labels.
    assert classes_of_boxes(a_class=2, box_class=np.array([0, 1])) == ours
    assert len(classes_of_boxes(a_class=2)) == 1


def test_skeletons_are_drawn():
    points = np.array([[10], [10], [2], [70], [50], [2]], np.float32)  # x, y and visibility of two

    def drawn(info):
        with deeplake.create("mem://plot-skeleton", overwrite=True) as ds:
            ds.create_tensor("images", "image.rgb", compression="png")
            ds.create_tensor("points", "keypoints_coco", dtype="float32", info=info)
            ds.append({"images": np.full((60, 80, 3), 128, np.uint8), "points": points})
            ds.commit()
            sheet = cell(pixels(ds.plot(columns=1, cell=CELL)), 0, 1)
        return int((np.abs(sheet.astype(int) - 128).max(axis=2) > 40).sum())

    assert drawn({"connections": [[0, 1]]}) > drawn({}) + 60
