"""Pages of the visualizer in headless Chromium, and what they tell of time.

Chromium is Debian's, with software GL (SwiftShader), at 1280x800: no GPU takes part.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import machine

sys.path.append(str(machine.ROOT / "python" / "tests"))

import browser

# Sets window.__complete to the time of the first frame with all pictures, in ms since navigation.
_WATCH = """
window.__complete = null;
const look = () => {
  const grid = window.__deeplake?.grid;
  if (grid && grid.frames().complete) window.__complete = performance.now();
  else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""

# Clicks, and looks in every frame whether the count of rows is another and all pictures are drawn.
_CLICK = """
async (selector) => {
  const { grid } = window.__deeplake;
  const rows = () => document.querySelector('[data-testid="rows"]').textContent;
  const before = rows();
  const begin = performance.now();
  let counted = 0;
  document.querySelector(selector).click();
  await new Promise((done) => {
    const look = () => {
      if (!counted && rows() !== before) counted = performance.now();
      if (counted && grid.frames().complete) done();
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  return { counted: (counted - begin) / 1000, drawn: (performance.now() - begin) / 1000 };
}
"""

# Opens the section of statistics, and waits until each card has bars, and then exact ones.
_STATISTICS = """
async (names) => {
  const begin = performance.now();
  [...document.querySelectorAll(".section-title")].find((e) => e.textContent === "Statistics").click();
  const all = (what) => new Promise((done) => {
    const look = () => names.every((name) => document.querySelector(`[data-testid="stats-${name}"]${what}`))
      ? done((performance.now() - begin) / 1000) : requestAnimationFrame(look);
    look();
  });
  return { first: await all(" .bar-item"), exact: await all(".exact .bar-item") };
}
"""

# Turns the wheel in every frame, forth and back. Answers the ms between frames.
_SCROLL = """
async ([seconds, step, turn, ctrlKey]) => {
  const target = document.querySelector("canvas");
  const box = target.getBoundingClientRect();
  const clientX = box.x + box.width / 2, clientY = box.y + box.height / 2;
  const times = [];
  const begin = performance.now();
  let last = 0, direction = 1, turned = begin;
  await new Promise((done) => {
    const frame = (now) => {
      if (last) times.push(now - last);
      last = now;
      if (now - begin > 1000 * seconds) return done();
      if (now - turned > 1000 * turn) { direction = -direction; turned = now; }
      target.dispatchEvent(new WheelEvent("wheel", {
        deltaY: direction * step, clientX, clientY, ctrlKey, bubbles: true, cancelable: true,
      }));
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  return times;
}
"""


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """Starts a browser, and ends it with the context."""
    with browser.chromium() as running:
        yield running


class Page:
    """One view in a browser of its own cache."""

    def __init__(self, running: Any, view: Any, fragment: str = "") -> None:
        self._server = view.visualize(browser=False)
        self._context = running.new_context(viewport={"width": browser.WIDTH, "height": browser.HEIGHT})
        self.page = self._context.new_page()
        self.page.set_default_timeout(120_000)
        self.page.add_init_script(_WATCH)
        link = self._server.link()
        self.page.goto(link + (f"&{fragment}" if fragment else ""))

    def complete(self) -> dict[str, float]:
        """Waits for the first full screen. Returns seconds, `opened` since navigation and `asked` since the request."""
        self.page.wait_for_function("() => window.__complete !== null")
        found: dict[str, float] = self.page.evaluate(
            """() => {
                const first = performance.getEntriesByType("resource").find((e) => e.name.endsWith("api/samples"));
                return { opened: window.__complete / 1000, asked: (window.__complete - first.startTime) / 1000 };
            }"""
        )
        return found

    def rows(self) -> tuple[int, int]:
        """Returns the first row in sight, and how many there are."""
        found = self.page.evaluate("() => window.__deeplake.grid.frames()")
        return found["first"], found["count"]

    def settle(self) -> None:
        """Waits until nothing was requested for a second."""
        self.page.wait_for_load_state("networkidle")
        self.page.wait_for_timeout(1000)

    def click(self, selector: str) -> dict[str, float]:
        """Clicks what changes the view. Returns seconds until `counted`, the new number of rows, and `drawn`."""
        found: dict[str, float] = self.page.evaluate(_CLICK, selector)
        return found

    def statistics(self, names: list[str]) -> dict[str, float]:
        """Opens the statistics of tensors. Returns seconds until all have bars, `first`, and `exact` ones."""
        found: dict[str, float] = self.page.evaluate(_STATISTICS, names)
        return found

    def scroll(self, seconds: float, *, step: float, turn: float, zoom: bool = False) -> list[float]:
        """Turns the wheel by `step` pixels in every frame. Returns the ms between frames.

        Args:
            seconds: how long.
            step: pixels for each frame.
            turn: seconds after which the wheel turns the other way.
            zoom: with the key Ctrl, which changes the size of pictures.
        """
        return list(self.page.evaluate(_SCROLL, [seconds, step, turn, zoom]))

    def close(self) -> None:
        self._context.close()
        self._server.close()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Tab:
    """One view in a tab whose memory is measured.

    Playwright is not attached: its log of the network keeps 200 MB of answers in the process of a page.
    """

    def __init__(self, running: Any, view: Any, fragment: str = "") -> None:
        self._server = view.visualize(browser=False)
        self._browser = running.new_browser_cdp_session()
        self._answers: dict[int, dict[str, Any]] = {}
        self._browser.on("Target.receivedMessageFromTarget", self._receive)
        self._context = self._browser.send("Target.createBrowserContext")["browserContextId"]
        where = {"url": "about:blank", "browserContextId": self._context}
        target = self._browser.send("Target.createTarget", where)["targetId"]
        attach = {"targetId": target, "flatten": False}
        self._session = self._browser.send("Target.attachToTarget", attach)["sessionId"]
        self._sent = 0
        size = {"width": browser.WIDTH, "height": browser.HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        self._send("Emulation.setDeviceMetricsOverride", size)
        self._send("Page.navigate", {"url": self._server.link() + (f"&{fragment}" if fragment else "")})
        while not self._evaluate("window.__deeplake?.grid?.frames().complete ?? false"):
            time.sleep(0.1)

    def scroll(self, seconds: float, *, step: float, turn: float) -> list[float]:
        """As `Page.scroll` does."""
        return list(self._evaluate(f"({_SCROLL.strip()})({json.dumps([seconds, step, turn, False])})"))

    def memory(self) -> dict[str, int]:
        """Returns the bytes that the `page` (its process of scripts and pictures) and the `gpu` process hold."""
        held = {"page": 0, "gpu": 0}
        for pid in machine.tree(os.getpid()):
            with contextlib.suppress(OSError):
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                kind = "page" if b"--type=renderer" in command else "gpu" if b"--type=gpu-process" in command else ""
                if kind:
                    held[kind] += machine.own_memory(pid)
        return held

    def close(self) -> None:
        self._browser.send("Target.disposeBrowserContext", {"browserContextId": self._context})
        self._browser.detach()
        self._server.close()

    def __enter__(self) -> Tab:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _evaluate(self, expression: str) -> Any:
        options = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        found = self._send("Runtime.evaluate", options)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"])
        return found["result"].get("value")

    def _send(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._sent += 1
        message = json.dumps({"id": self._sent, "method": method, "params": parameters})
        self._browser.send("Target.sendMessageToTarget", {"sessionId": self._session, "message": message})
        while self._sent not in self._answers:
            # Playwright takes in events during calls.
            self._browser.send("Browser.getVersion")
            time.sleep(0.05)
        answer = self._answers.pop(self._sent)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return dict(answer["result"])

    def _receive(self, event: dict[str, Any]) -> None:
        message = json.loads(event["message"])
        if event["sessionId"] == self._session and "id" in message:
            self._answers[message["id"]] = message
