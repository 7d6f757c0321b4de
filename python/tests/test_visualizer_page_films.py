"""Videos in a real browser: played, stepped through, drawn in cells, and the ways out where that fails."""

from __future__ import annotations

from fractions import Fraction

import av
import browser
import deeplake
import numpy as np
import pytest
from browser import check_access, shown
from test_visualizer_export import export, serving

# A machine without it has no browser either: the fixture below would skip as well.
expect = pytest.importorskip("playwright.sync_api").expect

FRAMES, RATE, SIZE = 48, 24, (320, 192)
PIECE = 1 << 20
RED, BLUE = (200, 30, 30), (30, 30, 200)


@pytest.fixture(scope="module")
def chromium():
    with browser.chromium() as running:
        yield running


def film(path, codec="libx264", colors=(RED, BLUE), frames=FRAMES, noise=0, **options):
    """Writes a film that goes from one color to another."""
    random = np.random.default_rng(1)
    with av.open(str(path), "w") as file:
        stream = file.add_stream(codec, rate=Fraction(RATE), options=options)
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        for i in range(frames):
            part = i / max(1, frames - 1)
            picture = np.empty((SIZE[1], SIZE[0], 3), np.uint8)
            picture[:] = [round(a + (b - a) * part) for a, b in zip(*colors, strict=True)]
            if noise:
                picture[: SIZE[1] // 2] = random.integers(0, 255, (SIZE[1] // 2, SIZE[0], 3), np.uint8)
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        file.mux(stream.encode(None))
    return path


def films(name, *paths):
    ds = deeplake.create(f"mem://{name}", overwrite=True, schema={"film": "video", "label": "text"})
    for i, path in enumerate(paths):
        ds.append({"film": None if path is None else deeplake.read(path), "label": f"film {i}"})
    ds.commit("films")
    return ds


def opened(tab, row=0):
    """Opens a row in the single view, and returns its player once it knows the film."""
    tab.page.evaluate(f"() => (location.hash = 'row={row}&mode=single')")
    player = tab.at("film")
    player.wait_for()
    tab.page.wait_for_function("() => document.querySelector('video')?.readyState >= 2")
    return player


def time_of(player):
    return player.evaluate("(video) => video.currentTime")


@pytest.mark.parametrize(
    ("codec", "ending", "options"),
    [
        ("libx264", "mp4", {"g": "12", "bf": "2"}),
        pytest.param("libvpx-vp9", "webm", {"g": "12"}, marks=pytest.mark.slow),
        pytest.param("libx264", "mov", {"bf": "0"}, marks=pytest.mark.slow),
    ],
)
def test_a_film_plays_and_steps(chromium, tmp_path, codec, ending, options):
    # Grey has no matrix, which browsers guess otherwise where a file does not state it.
    path = film(tmp_path / f"film.{ending}", codec, colors=((30,) * 3, (220,) * 3), **options)
    with films("page-plays", path) as ds, shown(chromium, ds) as tab:
        tab.rows("1")
        player = opened(tab)
        times = ds["film"][0].times
        expect(tab.at("film-facts")).to_contain_text(f"{SIZE[0]} \u00d7 {SIZE[1]}")
        expect(tab.at("film-facts")).to_contain_text(f"frames{FRAMES}, ")
        expect(tab.at("film-frame")).to_have_text(f"frame 0 of {FRAMES}")
        # Steps go through the frames of the table, in both directions, and stay within the film.
        for frame in (1, 2, 3):
            tab.page.keyboard.press(".")
            expect(tab.at("film-frame")).to_have_text(f"frame {frame} of {FRAMES}")
            assert times[frame] < time_of(player) < times[frame + 1]
        for frame in (2, 1, 0, 0):
            tab.page.keyboard.press(",")
            expect(tab.at("film-frame")).to_have_text(f"frame {frame} of {FRAMES}")
        # The picture is that of the frame: each is 4 brighter than the one before.
        for frame in range(1, 25):
            tab.page.keyboard.press(".")
            expect(tab.at("film-frame")).to_have_text(f"frame {frame} of {FRAMES}")
        assert np.abs(pixel(player) - ds["film"][0][24][SIZE[1] // 2, SIZE[0] // 2].astype(int)).max() < 3
        before = time_of(player)
        tab.page.keyboard.press(" ")
        tab.page.wait_for_function(f"() => document.querySelector('video').currentTime > {before + 0.2}")
        tab.page.keyboard.press(" ")
        tab.page.wait_for_function("() => document.querySelector('video').paused")
        # The address keeps the time: a reload comes back to it.
        stood = time_of(player)
        tab.page.wait_for_function(
            f"() => Math.abs(new URLSearchParams(location.hash.slice(1)).get('t') - {stood}) < 0.01"
        )
        tab.page.reload()
        tab.page.wait_for_function(
            f"() => Math.abs((document.querySelector('video')?.currentTime ?? -1) - {stood}) < 0.01"
        )
        check_access(tab, "the player")


def pixel(player):
    """The color in the middle of the frame on show."""
    return np.array(
        player.evaluate(
            """(video) => {
                const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
                const context = canvas.getContext("2d");
                context.drawImage(video, 0, 0);
                return [...context.getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data].slice(0, 3);
            }"""
        ),
        int,
    )


def test_a_film_comes_in_pieces(chromium, tmp_path):
    """A large film begins at once, and seeking fetches the place alone; the token is in no address."""
    path = film(tmp_path / "long.mp4", frames=480, noise=1, g="24", crf="10", preset="ultrafast")
    size = path.stat().st_size
    assert size > 12 * PIECE, size
    with films("page-pieces", path) as ds, shown(chromium, ds) as tab:
        answers = []
        tab.page.on("response", lambda answer: "/api/video/" in answer.url and answers.append(answer))
        tab.rows("1")
        player = opened(tab)
        player.evaluate("(video) => (video.currentTime = 15)")
        tab.page.wait_for_function("() => !document.querySelector('video').seeking")
        expect(tab.at("film-frame")).to_have_text("frame 360 of 480")
        assert {answer.status for answer in answers} == {206}
        lengths = [int(answer.headers["content-length"]) for answer in answers]
        assert max(lengths) <= PIECE and all("authorization" not in answer.request.headers for answer in answers)
        assert all(answer.headers["x-content-type-options"] == "nosniff" for answer in answers)
        # The saved file equals the stored one.
        with tab.page.expect_download() as saved:
            tab.at("film-save").click()
        assert saved.value.suggested_filename == "film-0.mp4"
        assert saved.value.path().read_bytes() == path.read_bytes()


def test_cells_show_first_frames(chromium, tmp_path):
    paths = [film(tmp_path / f"{i}.mp4", colors=(color, (0, 0, 0))) for i, color in enumerate((RED, BLUE))]
    with films("page-cells", *paths, None) as ds, shown(chromium, ds) as tab:
        tab.rows("3")
        for color in (RED, BLUE):
            tab.shows(color, 0.01)
        tab.page.keyboard.press("t")
        table = tab.at("table")
        expect(table.get_by_role("img")).to_have_count(2)
        expect(table).to_contain_text("▶ 2 s")
        expect(table).to_contain_text("missing")
        table.get_by_text("film 1").click()
        expect(tab.at("row-panel")).to_contain_text("h264, 320 \u00d7 192, 2 s")
        with tab.page.expect_download() as saved:
            tab.page.get_by_label("Download film of this row").click()
        assert saved.value.path().read_bytes() == paths[1].read_bytes()
        check_access(tab, "the table of films")


def test_a_film_that_the_browser_does_not_play(chromium, tmp_path):
    """MPEG-4 part 2 is decoded for cells, but no browser plays it: the page says so, and saves it."""
    path = film(tmp_path / "old.mp4", "mpeg4")
    with films("page-codec", path) as ds, shown(chromium, ds) as tab:
        tab.rows("1")
        tab.page.evaluate("() => (location.hash = 'row=0&mode=single')")
        fault = tab.at("film-fault")
        expect(fault).to_contain_text("cannot play the file (mpeg4 in video/mp4)")
        with tab.page.expect_download() as saved:
            tab.at("film-save").click()
        assert saved.value.path().read_bytes() == path.read_bytes()
        check_access(tab, "a film that does not play")


def test_an_address_that_has_ended_is_replaced(chromium, tmp_path):
    """A player that comes back late goes on where it stood."""
    path = film(tmp_path / "film.mp4", frames=480, noise=1, g="24", crf="10", preset="ultrafast")
    with films("page-ended", path) as ds, shown(chromium, ds) as tab:
        tab.rows("1")
        player = opened(tab)
        # The player rests: the next request is that of the seek.
        tab.page.wait_for_function(
            "() => document.querySelector('video').networkState === HTMLMediaElement.NETWORK_IDLE"
        )
        address = player.get_attribute("src")
        refusal = '{"error": {"kind": "denied", "message": "its address was not used"}}'
        tab.page.route(
            f"**/{address}", lambda route: route.fulfill(status=403, content_type="application/json", body=refusal)
        )
        player.evaluate("(video) => (video.currentTime = 12.01)")
        tab.page.wait_for_function(
            f"() => (document.querySelector('video')?.getAttribute('src') ?? '{address}') !== '{address}'"
        )
        expect(tab.at("film-frame")).to_have_text("frame 288 of 480")
        assert time_of(tab.at("film")) == pytest.approx(12.01, abs=0.01)
        tab.faults = [fault for fault in tab.faults if "status of 403" not in fault]


def test_links_and_results_of_queries(chromium, tmp_path):
    path = film(tmp_path / "film.mp4")
    ds = deeplake.create("mem://page-links", overwrite=True, schema={"film": "video", "label": "text"})
    ds.append({"film": deeplake.read(path), "label": "stored"})
    ds.append({"film": deeplake.link(str(path)), "label": "linked"})
    ds.commit("films")
    with ds, shown(chromium, ds) as tab:
        tab.rows("2")
        opened(tab, 1)
        tab.at("query").fill("label = 'linked'")
        tab.at("run").click()
        tab.rows("1")
        tab.page.evaluate("() => (location.hash += '&row=0&mode=single')")
        expect(tab.at("film-facts")).to_contain_text("h264")
        tab.at("query").fill("SELECT *, 1 + 1 AS two")
        tab.at("run").click()
        tab.at("chip-two").wait_for()
        # Computed rows have no table: there is no player, and the file can still be saved.
        tab.page.evaluate(
            "() => (location.hash = location.hash.replace(/&(row|mode)=\\w+/g, '') + '&row=1&mode=single')"
        )
        expect(tab.page.get_by_role("alert")).to_contain_text("computed by a query")
        with tab.page.expect_download() as saved:
            tab.page.get_by_label("Download film of this row").click()
        assert saved.value.suggested_filename == "film-1.mp4"
        assert saved.value.path().read_bytes() == path.read_bytes()
        tab.faults = [fault for fault in tab.faults if "status of 400" not in fault]


def test_a_row_without_a_film(chromium, tmp_path):
    with films("page-none", None, film(tmp_path / "a.mp4")) as ds, shown(chromium, ds) as tab:
        tab.rows("2")
        tab.page.evaluate("() => (location.hash = 'row=0&mode=single')")
        expect(tab.page.get_by_role("alert")).to_contain_text("the row has no video")
        tab.page.keyboard.press("n")
        tab.at("film").wait_for()
        tab.page.keyboard.press("Escape")
        tab.at("grid").wait_for()
        tab.faults = [fault for fault in tab.faults if "status of 404" not in fault]


def test_an_exported_page_plays_a_whole_file(chromium, tmp_path):
    path = film(tmp_path / "film.mp4")
    with deeplake.create(tmp_path / "ds", schema={"film": "video"}) as ds:
        ds.append({"film": deeplake.read(path)})
        ds.commit("film")
    export(tmp_path / "ds", "--export", tmp_path / "site", "--copy")
    with serving(tmp_path / "site") as address:
        tab = browser.Tab(chromium, address)
        tab.rows("1")
        tab.page.evaluate("() => (location.hash = 'row=0&mode=single')")
        expect(tab.at("single")).to_contain_text("video, ")
        tab.at("film-load").click()
        player = tab.at("film")
        player.wait_for()
        tab.page.keyboard.press(" ")
        tab.page.wait_for_function("() => document.querySelector('video').currentTime > 0.2")
        tab.close()
