"""Annotations over videos in a real browser: the box on show is that of the frame on show, whatever moves it."""

from __future__ import annotations

import io
import time
from fractions import Fraction

import av
import browser
import deeplake
import numpy as np
import pytest
from browser import check_access, shown
from PIL import Image
from test_visualizer_page_films import opened

# A machine without it has no browser either: the fixture below would skip as well.
expect = pytest.importorskip("playwright.sync_api").expect

FRAMES, BITS, SIDE = 96, 7, 32
SIZE = (BITS * SIDE, 128)
STEP = 2  # pixels that the box moves with each frame


@pytest.fixture(scope="module")
def chromium():
    with browser.chromium() as running:
        yield running


def picture(frame):
    """A picture whose upper half has the number of the frame: white squares are ones."""
    pixels = np.full((SIZE[1], SIZE[0], 3), 128, np.uint8)
    for bit in range(BITS):
        pixels[: SIZE[1] // 2, bit * SIDE : (bit + 1) * SIDE] = 255 * (frame >> bit & 1)
    return pixels


def box(frame):
    """The box of a frame: its left side is in the lower half of the picture, at a place of its own."""
    return np.array([[8 + STEP * frame, 80, 8 + STEP * frame + 10, 112]], np.float32)


def ticks(frame, varies):
    """The time of a frame in 1/120 s: at a constant rate, or of 3 to 11 ticks in turn."""
    return 5 * frame if not varies else sum((3, 11, 4, 6)[i % 4] for i in range(frame))


def turn(path):
    """Makes players turn a film by a quarter, clockwise: in the matrix of its track."""
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4 + 40
    matrix = np.array([0, 1 << 16, 0, -1 << 16, 0, 0, SIZE[1] << 16, 0, 1 << 30], ">i4")
    data[at : at + 36] = matrix.tobytes()
    path.write_bytes(data)


def film(path, codec, varies, flags="", **options):
    """Writes frames that show their numbers."""
    with av.open(str(path), "w", options={"movflags": flags} if flags else {}) as file:
        stream = file.add_stream(codec, rate=Fraction(24), options=options)
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        stream.time_base = stream.codec_context.time_base = Fraction(1, 120)
        for i in range(FRAMES):
            one = av.VideoFrame.from_ndarray(picture(i), format="rgb24")
            one.pts, one.time_base = ticks(i, varies), Fraction(1, 120)
            file.mux(stream.encode(one))
        file.mux(stream.encode(None))
    return path


def films(name, path, boxes=None):
    ds = deeplake.create(f"mem://{name}", overwrite=True, schema={"cam/film": "video", "cam/boxes": "sequence[bbox]"})
    ds.create_tensor("cam/labels", "sequence[class_label]", class_names=["left", "right"])
    boxes = [box(i) for i in range(FRAMES)] if boxes is None else boxes
    labels = [[int(i >= FRAMES // 2)] for i in range(len(boxes))]
    ds.append({"cam/film": deeplake.read(path), "cam/boxes": boxes, "cam/labels": labels})
    ds.commit("films")
    return ds


# Reads the number of the frame from the pixels of the player, and the place of the box from
# those of the canvas.
READ = """(video) => {
    const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(video, 0, 0);
    const turned = canvas.height > canvas.width, long = Math.max(canvas.width, canvas.height);
    const squares = turned ? context.getImageData(canvas.width * 3 / 4, 0, 1, long).data
        : context.getImageData(0, canvas.height / 4, long, 1).data;
    let frame = 0;
    for (let bit = 0; bit < BITS; bit++) if (squares[4 * Math.floor((bit + 0.5) * long / BITS)] > 127) frame |= 1 << bit;
    const layer = document.querySelector("[data-testid=film-layer]");
    const scale = Math.min(layer.width / canvas.width, layer.height / canvas.height);
    const left = (layer.width - canvas.width * scale) / 2, top = (layer.height - canvas.height * scale) / 2;
    const [x, y, width, height] = turned ? [Math.round(left + (canvas.width - 108) * scale), 0, 1, layer.height]
        : [0, Math.round(top + 108 * scale), layer.width, 1];
    const copy = new OffscreenCanvas(width, height);
    const drawn = copy.getContext("2d", { willReadFrequently: true });
    drawn.drawImage(layer, x, y, width, height, 0, 0, width, height);
    const line = drawn.getImageData(0, 0, width, height).data;
    let first = -1;
    for (let i = 0; 4 * i < line.length && first < 0; i++) if (line[4 * i + 3] > 200) first = i;
    return { frame, box: first < 0 ? -1 : ((first + 1 - (turned ? top : left)) / scale - 8) / STEP };
}""".replace("BITS", str(BITS)).replace("STEP", str(STEP))


def settled(tab, frame):
    """Waits until the page says which frame is on show, and holds pixels and box against it."""
    expect(tab.at("film-frame")).to_have_text(f"frame {frame} of {FRAMES}")
    eventually(tab, lambda: seen(tab) == (frame, frame), lambda: f"{seen(tab)} is on show, want {frame}")


def seen(tab):
    """Returns the frame that the player shows, and the frame whose box is on the screen."""
    # A canvas at rest has given its pixels away: they are those of the screen.
    shot = canvas(tab)
    shown = tab.at("film").evaluate(READ)["frame"]
    turned = tab.at("film").evaluate("(video) => video.videoHeight > video.videoWidth")
    width, height = SIZE[::-1] if turned else SIZE
    scale = min(shot.shape[1] / width, shot.shape[0] / height)
    left, top = (shot.shape[1] - width * scale) / 2, (shot.shape[0] - height * scale) / 2
    line = shot[:, round(left + (width - 108) * scale)] if turned else shot[round(top + 108 * scale)]
    where = np.flatnonzero(np.ptp(line, axis=-1) > 60)
    return shown, round(((where[0] + 1 - (top if turned else left)) / scale - 8) / STEP) if len(where) else -1


PLAY = f"""() => new Promise((done) => {{
    const video = document.querySelector("video"), seen = [];
    const next = (now, {{ mediaTime }}) => {{
        // The layer draws in the same turn of the browser: its callbacks were registered before.
        requestAnimationFrame(() => seen.push({{ ...({READ})(video), time: mediaTime }}));
        if (!video.ended && video.currentTime < END) video.requestVideoFrameCallback(next);
        else requestAnimationFrame(() => requestAnimationFrame(() => {{ video.pause(); done(seen); }}));
    }};
    video.requestVideoFrameCallback(next);
    video.playbackRate = RATE;
    void video.play();
}})"""


@pytest.mark.parametrize(
    ("codec", "ending", "varies", "options"),
    [
        ("libx264", "mp4", True, {"g": "12", "bf": "3"}),  # an edit list makes up for the delay of B-frames
        pytest.param(
            "libx264", "mp4", False, {"g": "24", "bf": "2", "flags": "negative_cts_offsets"}, marks=pytest.mark.slow
        ),
        pytest.param("libvpx-vp9", "webm", True, {"g": "12"}, marks=pytest.mark.slow),
    ],
)
def test_the_box_is_that_of_the_frame(chromium, tmp_path, codec, ending, varies, options):
    path = film(tmp_path / f"film.{ending}", codec, varies, **options)
    with films(f"page-frames-{codec}-{varies}", path) as ds, shown(chromium, ds) as tab:
        wanted = []
        tab.page.on("request", lambda request: wanted.append(request.url.rsplit("/", 1)[-1]))
        tab.rows("1")
        player = opened(tab)
        times = ds["cam/film"][0].times
        assert len(times) == FRAMES
        settled(tab, 0)
        for frame in (1, 2, 3):
            tab.page.keyboard.press(".")
            settled(tab, frame)
        for frame in (2, 1):
            tab.page.keyboard.press(",")
            settled(tab, frame)
        # Seeks, to the begin of a frame, its middle, and almost its end.
        for frame, part in ((50, 0.01), (17, 0.5), (90, 0.9), (FRAMES - 1, 0.5), (49, 0.5), (48, 0.1)):
            end = times[frame + 1] if frame + 1 < FRAMES else times[frame] + 0.02
            player.evaluate(f"(video) => (video.currentTime = {times[frame] + (end - times[frame]) * part})")
            settled(tab, frame)
        # While it plays, each drawn box is that of the frame that the browser has put on show.
        player.evaluate("(video) => (video.currentTime = 0)")
        settled(tab, 0)
        wanted.clear()
        played = tab.page.evaluate(PLAY.replace("END", str(times[80])).replace("RATE", "0.5"))
        frames = [int(np.searchsorted(times, one["time"] + 1e-4, side="right")) - 1 for one in played]
        wrong = [(frame, one) for frame, one in zip(frames, played, strict=True) if abs(one["box"] - frame) > 0.5]
        assert not wrong, wrong
        # A loaded machine shows few of the frames. A newer one may come while the pixels are read.
        assert len(set(frames)) > 5, played
        assert all(frame <= one["frame"] for frame, one in zip(frames, played, strict=True)), played
        assert np.median([one["frame"] - frame for frame, one in zip(frames, played, strict=True)]) <= 1, played
        # No request for each frame.
        assert sum(name in ("samples", "times") for name in wanted) < 6, wanted
        # The player rests on the frame that it shows.
        tab.page.wait_for_function("() => document.querySelector('video').paused")
        rest = seen(tab)[0]
        expect(tab.at("film-frame")).to_have_text(f"frame {rest} of {FRAMES}")
        tab.page.keyboard.press(",")
        settled(tab, rest - 1)
        check_access(tab, "boxes over a film")


def canvas(tab):
    """Returns the pixels of the player with what is drawn over it: (height, width, 3)."""
    tab.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    area = tab.at("film-layer").bounding_box()
    return np.asarray(Image.open(io.BytesIO(tab.page.screenshot(clip=area))).convert("RGB")).astype(int)


def colored(shot):
    """Returns the left, top, right and bottom of the pixels that are not grey: films here have no color."""
    where = np.argwhere(np.ptp(shot, axis=-1) > 60)
    if len(where) == 0:
        return None
    (top, left), (bottom, right) = where.min(axis=0), where.max(axis=0)
    return np.array([left, top, right + 1, bottom + 1], float)


def eventually(tab, look, found=lambda: "it did not come"):
    """Waits until look() is true: drawing comes after its cause."""
    end = time.monotonic() + browser.PATIENCE / 1000
    while not look():
        assert time.monotonic() < end, found()
        tab.page.wait_for_timeout(50)


def test_layers_classes_and_sizes(chromium, tmp_path):
    """The switches of pictures work over a film, and the box follows the size of the player."""
    path = film(tmp_path / "film.mp4", "libx264", False, g="12")
    with films("page-switches", path) as ds, shown(chromium, ds) as tab:
        tab.rows("1")
        player = opened(tab)
        settled(tab, 0)

        def fits():
            """Compares the box on the screen with that of the frame."""
            shot = canvas(tab)
            scale = min(shot.shape[1] / SIZE[0], shot.shape[0] / SIZE[1])
            left, top = (shot.shape[1] - SIZE[0] * scale) / 2, (shot.shape[0] - SIZE[1] * scale) / 2
            found, want = colored(shot), box(0)[0] * scale + [left, top, left, top]
            # The name of the class stands over the box, and is wider than it.
            return found is not None and np.abs(found - want)[[0, 3]].max() < 4

        eventually(tab, fits)
        tab.page.set_viewport_size({"width": 900, "height": 640})
        eventually(tab, fits)
        tab.page.set_viewport_size({"width": browser.WIDTH, "height": browser.HEIGHT})
        eventually(tab, fits)
        # The point under the pointer names the class of the frame.
        area = player.bounding_box()
        scale = min(area["width"] / SIZE[0], area["height"] / SIZE[1])
        middle = (box(0)[0, :2] + box(0)[0, 2:]) / 2
        at = [
            area["x"] + (area["width"] - SIZE[0] * scale) / 2 + middle[0] * scale,
            area["y"] + (area["height"] - SIZE[1] * scale) / 2 + middle[1] * scale,
        ]
        tab.page.mouse.move(*map(float, at))
        expect(tab.page.locator("footer")).to_contain_text("cam/boxes: left")
        tab.page.mouse.move(5, 5)
        # A class off and on, and the layer.
        tab.page.get_by_label("Show left").click()
        eventually(tab, lambda: colored(canvas(tab)) is None)
        tab.page.get_by_label("Show left").click()
        eventually(tab, fits)
        # The address follows soon. One that is edited before still hides the class.
        tab.page.wait_for_function("() => !location.hash.includes('classes')")
        tab.page.evaluate("() => (location.hash += '&hide=cam%2Fboxes')")
        eventually(tab, lambda: colored(canvas(tab)) is None)
        tab.page.evaluate("() => (location.hash = location.hash.replace('&hide=cam%2Fboxes', ''))")
        eventually(tab, fits)


def test_a_turned_film(chromium, tmp_path):
    """Boxes count in the pixels of frames as they are shown."""
    path = film(tmp_path / "film.mp4", "libx264", False, g="12")
    turn(path)
    boxes = [np.array([[SIZE[1] - b, x, SIZE[1] - t, r]], np.float32) for [[x, t, r, b]] in map(box, range(FRAMES))]
    with films("page-turned", path, boxes) as ds, shown(chromium, ds) as tab:
        assert ds["cam/film"][0][0].shape == (SIZE[0], SIZE[1], 3)
        tab.rows("1")
        player = opened(tab)
        assert player.evaluate("(video) => video.videoHeight > video.videoWidth")
        settled(tab, 0)
        player.evaluate("(video) => (video.currentTime = 2.52)")
        settled(tab, 60)
        tab.page.keyboard.press(",")
        settled(tab, 59)


def test_times_that_come_late(chromium, tmp_path):
    """The browser tells of the first frame while the times of the video are on their way."""
    path = film(tmp_path / "film.mp4", "libx264", False, g="12")
    with films("page-late", path) as ds, shown(chromium, ds) as tab:

        def late(route):
            tab.page.wait_for_timeout(1000)
            route.continue_()

        tab.page.route("**/api/times", late)
        tab.rows("1")
        opened(tab)
        settled(tab, 0)


def test_another_length_is_not_drawn(chromium, tmp_path):
    path = film(tmp_path / "film.mp4", "libx264", False, g="12")
    with films("page-length", path, [box(i) for i in range(FRAMES - 1)]) as ds, shown(chromium, ds) as tab:
        tab.rows("1")
        opened(tab)
        expect(tab.at("film-frame")).to_have_text(f"frame 0 of {FRAMES}")
        expect(tab.at("film-undrawn").first).to_have_text("cam/boxes is not drawn: 95 items, 96 frames")
        assert colored(canvas(tab)) is None
        check_access(tab, "a film with boxes of another length")


def test_many_frames_are_not_read_at_once(chromium, tmp_path):
    """A seek reads the pieces at its place alone."""
    path = film(tmp_path / "film.mp4", "libx264", False, g="12")
    with films("page-pieces-of-boxes", path) as ds, shown(chromium, ds) as tab:
        asked = []

        def note(request):
            if request.url.endswith("api/samples"):
                asked.extend(column for column in request.post_data_json["columns"] if column["name"] == "cam/boxes")

        tab.page.on("request", note)
        tab.rows("1")
        opened(tab)
        settled(tab, 0)
        # The grid requests the first item, the player a piece.
        assert all("items" in column or column == {"name": "cam/boxes"} for column in asked), asked
        assert [column["items"] for column in asked if "items" in column] == [[0, FRAMES]], asked
