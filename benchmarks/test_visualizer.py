"""The visualizer: first pictures, filters, statistics, and scrolling, in a headless browser.

python benchmarks/test_visualizer.py [--full]
"""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import data
import machine
import query_data
import report
import visualizer_data
from pages import Page, Tab, chromium
from protocol import Figure, Result, Spread
from remote import Servers

FAR = 2_000  # photographs on the store


def measure(full: bool = False) -> Result:
    """Full measures ten minutes of scrolling, and more rounds."""
    rounds = 7 if full else 3
    result = Result("visualizer", "The visualizer in headless Chromium, 1280x800, software GL", rounds, full)
    # Made before anything is timed.
    data.make_lake(data.jpegs("photos-q75", FAR))
    visualizer_data.crowd(_images(full))
    visualizer_data.overlays()
    query_data.numbers_lake(_scalars(full))
    with chromium() as running:
        for part in (_first, _crowd, _statistics, _scrolling, _overlays):
            with machine.alone(), _watched(result):
                part(result, running, full)
    result.notes.append(
        "Software GL (SwiftShader) draws on the same two cores on which the page's scripts and the server run; no GPU "
        "takes part. The server is this process, in which Playwright runs too. A screen is full when all pictures, "
        "boxes and labels in sight are drawn."
    )
    return result


def _images(full: bool) -> int:
    return visualizer_data.IMAGES if full else 20_000


def _scalars(full: bool) -> int:
    return 10_000_000 if full else 1_000_000


@contextlib.contextmanager
def _watched(result: Result) -> Iterator[None]:
    watch, before = machine.Watch(), machine.cpu_seconds(os.getpid())
    yield
    found = watch.stop(machine.cpu_seconds(os.getpid()) - before)
    result.others.append(found["others"])
    result.stolen.append(found["stolen"])


def _rounds(result: Result, once: Callable[[], dict[str, float]]) -> dict[str, list[float]]:
    """Runs once for the warm-up, and then each round; returns the lists of what it returned."""
    once()
    found = [once() for _ in range(result.rounds)]
    return {name: [one[name] for one in found] for name in found[0]}


def _figure(result: Result, what: str, values: list[float], want: float | None, unit: str = "s") -> None:
    better = "more" if unit == "frames/s" else "less"
    result.figures.append(Figure(what, Spread.of(values), want, better, unit))


def _first(result: Result, running: Any, full: bool) -> None:
    """The first full screen of a local dataset, and of one on a store."""
    import deeplake

    files = data.jpegs("photos-q75", FAR)
    folder, sizes = data.make_lake(files), [path.stat().st_size for path in files.paths]

    def local() -> dict[str, float]:
        with deeplake.open(folder) as ds, Page(running, ds) as page:
            return page.complete()

    found = _rounds(result, local)
    _figure(result, "local photographs: full screen after the page asks", found["asked"], 0.3)
    _figure(result, "local photographs: full screen after navigation", found["opened"], None)
    with Servers("s3") as servers:
        store = servers["s3"]
        uri = f"s3://{store.bucket()}/photographs"
        direct = deeplake.Storage(**store.settings(direct=True))
        deeplake.copy(folder, uri, dst_storage=direct)
        far = deeplake.Storage(**store.settings())
        ratios = []

        def remote() -> dict[str, float]:
            with deeplake.open(uri, storage=far) as ds:
                store.reset()
                with Page(running, ds) as page:
                    found = page.complete()
                    ratios.append(_overhead(page, store, sizes))
                    return found

        found = _rounds(result, remote)
        _figure(result, "photographs on S3 with 25 ms: full screen after the page asks", found["asked"], 1)
        _figure(result, "photographs on S3 with 25 ms: full screen after navigation", found["opened"], None)
        _figure(result, "bytes read from S3 / bytes of the pictures of two screens", ratios[1:], 1.5, "x")


def _overhead(page: Page, store: Any, sizes: list[int]) -> float:
    """Returns the bytes read from the store, as a multiple of the pictures of the screen and of the next one."""
    before = -1
    while before != (before := store.counts()["bytes_out"]):
        time.sleep(0.5)
    first, count = page.rows()
    return before / sum(sizes[first : first + 2 * count])


def _crowd(result: Result, running: Any, full: bool) -> None:
    """The first screen and filters of photographs with many boxes."""
    import deeplake

    images = _images(full)
    folder = visualizer_data.crowd(images)
    name = ".class-name:not(:disabled)"

    def once() -> dict[str, float]:
        begin = time.perf_counter()
        with deeplake.open(folder) as ds, Page(running, ds) as page:
            found = page.complete()
            seconds = time.perf_counter() - begin
            page.page.wait_for_selector(name)
            page.settle()
            clicked = page.click(name)
            return {"first": seconds, "asked": found["asked"], **clicked}

    found = _rounds(result, once)
    what = f"{images:,} photographs with {35 * images / 1e6:.1f} million boxes"
    _figure(result, f"{what}: open, start, and a full screen", found["first"], 2)
    _figure(result, f"{what}: filter by class, rows counted", found["counted"], None)
    _figure(result, f"{what}: filter by class, screen full again", found["drawn"], 0.3)


def _statistics(result: Result, running: Any, full: bool) -> None:
    """Histograms of all scalar columns of a long dataset."""
    import deeplake

    rows = _scalars(full)
    folder = query_data.numbers_lake(rows)
    names = list(query_data.numbers(0, 1))

    def once() -> dict[str, float]:
        with deeplake.open(folder) as ds, Page(running, ds) as page:
            page.settle()
            return page.statistics(names)

    found = _rounds(result, once)
    what = f"{rows:,} rows: histograms of {len(names)} columns"
    _figure(result, f"{what}, first after the section is opened", found["first"], 1)
    _figure(result, f"{what}, exact", found["exact"], 5)


def _rate(times: list[float]) -> dict[str, float]:
    return {"rate": 1000 / statistics.median(times), "slow": statistics.quantiles(times, n=100)[98]}


def _scrolling(result: Result, running: Any, full: bool) -> None:
    """A grid of 100,000 photographs, without and with boxes."""
    import deeplake

    images = min(_images(full), 100_000)
    folder = visualizer_data.crowd(_images(full))
    for shown, fragment in (("photographs", "hide=boxes"), ("photographs with boxes", "")):
        with deeplake.open(folder) as ds, Page(running, ds[:images], fragment) as page:
            page.complete()
            page.settle()
            turns = [_rate(page.scroll(5, step=12, turn=60)) for _ in range(result.rounds)]
            _figure(result, f"scrolling {images:,} {shown}, 720 px/s", [t["rate"] for t in turns], 55, "frames/s")
            _figure(result, f"scrolling {images:,} {shown}, 99th percentile", [t["slow"] for t in turns], 40, "ms")
    with deeplake.open(folder) as ds, Tab(running, ds[:images], "hide=boxes") as tab:
        for _ in range(60 if full else 1):
            tab.scroll(10, step=60, turn=120)
        held = tab.memory()
    minutes = "10 minutes" if full else "10 seconds"
    _figure(result, f"memory of the page after {minutes}", [held["page"] / 1e6], 500, "MB")
    _figure(result, f"memory of the process that draws after {minutes}", [held["gpu"] / 1e6], None, "MB")


def _overlays(result: Result, running: Any, full: bool) -> None:
    """Many boxes and masks in view, which move and change their size."""
    import deeplake

    folder = visualizer_data.overlays()
    small = visualizer_data.SMALL
    with deeplake.open(folder) as ds:
        for what, fragment, view, zoom, want in (
            ("scrolling a grid of 50 pictures with 10,000 boxes and 50 masks", "cell=90", ds[:small], False, 50),
            ("zooming a grid of 50 pictures with 10,000 boxes and 50 masks", "cell=90", ds[:small], True, None),
            ("moving a picture with 10,000 boxes and 50 masks", "row=0&mode=single", ds[small:], False, 50),
            ("zooming a picture with 10,000 boxes and 50 masks", "row=0&mode=single", ds[small:], True, 50),
        ):
            with Page(running, view, fragment) as page:
                page.settle()
                turns = [_rate(page.scroll(5, step=4, turn=1, zoom=zoom)) for _ in range(result.rounds)]
                _figure(result, what, [t["rate"] for t in turns], want, "frames/s")
                _figure(result, f"{what}, 99th percentile", [t["slow"] for t in turns], None, "ms")


def test_visualizer(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
