"""A real browser for tests: Debian's Chromium, driven by Playwright. Drawing is software GL."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

WIDTH, HEIGHT = 1280, 800
PATIENCE = 60_000  # milliseconds, on a machine that also builds
AXE = Path(__file__).resolve().parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = [
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    "--disable-background-networking",
    "--disable-component-update",
]


def executable():
    """Returns the path of a Chromium, or skips with the way to one."""
    named = os.environ.get("DEEPLAKE_CHROMIUM")
    for name in [named] if named else _NAMES:
        if found := shutil.which(name):
            return found
    pytest.skip("there is no Chromium: install Debian's package chromium, or name one in DEEPLAKE_CHROMIUM")


@contextlib.contextmanager
def chromium():
    """Starts a browser without a window."""
    sync_api = pytest.importorskip("playwright.sync_api")
    path = executable()
    sync_api.expect.set_options(timeout=PATIENCE)
    with sync_api.sync_playwright() as playwright:
        # Chromium's sandbox refuses root, as which containers run tests.
        flags = [*_FLAGS, "--no-sandbox"] if os.geteuid() == 0 else _FLAGS
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """A page in a context of its own, with everything that a test must not overlook."""

    def __init__(self, browser, link, *, allowed=(), **options):
        options.setdefault("viewport", {"width": WIDTH, "height": HEIGHT})
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.faults = []  # messages of scripts, and of the content policy
        self.foreign = []  # requests to other places
        self.allowed = allowed  # such places that may be asked
        self.origin = link.split("/#")[0]
        self.page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))
        self.page.on("console", self._console)
        self.page.on("dialog", self._dialog)
        self.page.on("request", self._request)
        self.page.goto(link)

    def _console(self, message):
        if message.type in ("error", "warning") and "GPU stall" not in message.text:
            self.faults.append(f"console: {message.text}")

    def _dialog(self, dialog):
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request):
        if not request.url.startswith((self.origin, "blob:", "data:", *self.allowed)):
            self.foreign.append(request.url)

    def at(self, name):
        """Returns the element of a test id."""
        return self.page.get_by_test_id(name)

    def drawn(self):
        """Waits until the grid shows all of its samples and stands still, and returns the pixels of the page.

        Returns: an array of shape (height, width, 3) and dtype uint8.
        """
        self.page.wait_for_function(
            """() => {
                const page = window.__deeplake, grid = page.grid ? page.grid.frames() : null;
                const now = grid ? grid.drawn : 1, whole = !grid || grid.count === 0 || grid.complete;
                const still = page.last === now && performance.now() - page.since > 400;
                if (page.last !== now) { page.last = now; page.since = performance.now(); }
                return now > 0 && whole && still;
            }"""
        )
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.page.screenshot())).convert("RGB"))

    def shows(self, color, least, near=40):
        """Waits until more than a part of the page has a color, nearly: a loaded machine draws late."""
        end = time.monotonic() + PATIENCE / 1000
        while (found := share(self.drawn(), color, near)) <= least:
            assert time.monotonic() < end, f"{found:.4f} of the page is {color}, want more than {least:.4f}"

    def picture(self):
        """Returns the pixels of the grid alone, as `drawn` does of the page."""
        box = self.at("grid").bounding_box()
        x, y = int(box["x"]) + 4, int(box["y"]) + 4
        return self.drawn()[y : y + int(box["height"]) - 8, x : x + int(box["width"]) - 8]

    def rows(self, text):
        """Waits until the page says how many rows there are."""
        from playwright.sync_api import expect

        expect(self.at("rows")).to_contain_text(text)

    def close(self):
        self.context.close()
        assert not self.foreign, self.foreign
        assert not self.faults, self.faults


@contextlib.contextmanager
def shown(chromium, view, **options):
    """Opens a view in a tab. At the end no script has failed, and no other place was asked."""
    with view.visualize(browser=False) as server:
        tab = Tab(chromium, server.link(), **options)
        yield tab
        tab.close()


def share(pixels, color, near=40):
    """Returns the part of the pixels that have a color, nearly."""
    return float((np.abs(pixels.astype(int) - color).max(axis=-1) < near).mean())


def check_access(tab, state):
    """Fails with what axe finds wrong on the page as it is now."""
    assert AXE.exists(), f"{AXE} is missing: python tools/web.py fetches it"
    # The protocol of the browser evaluates past the content policy of the page.
    if not tab.page.evaluate("() => 'axe' in window"):
        tab.page.evaluate(AXE.read_text(encoding="utf-8"))
    found = tab.page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")["violations"]
    lines = [f"{v['id']}: {v['help']}: {[n['html'][:160] for n in v['nodes'][:4]]}" for v in found]
    assert not lines, state + "\n" + "\n".join(lines)
