"""The visualizer: a server of pages in this process, and the ways to show one."""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from html import escape
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from deeplake import _native
from deeplake._errors import InvalidArgumentError
from deeplake._rows.video import decoder_folders
from deeplake._stores import storage as _storage

if TYPE_CHECKING:
    from deeplake._rows.source import Pinned

_PAGE = Path(__file__).parents[1] / "web"
_MOST_HEIGHT = 10_000

# Servers go on after the last reference, as a REPL keeps none: until close(), or the end of the
# process.
_running: set[Visualizer] = set()


class Visualizer:
    """A server of pages that show a view, in this process. `View.visualize` makes one.

    A page reads what it shows. It changes nothing, except that it saves views if `save_views` is
    set. A link works once, for one browser: `link()` makes another. `repr` shows the same link each
    time. A notebook shows the page under the cell.

    Example:
        with ds.visualize(browser=False) as shown:
            print(shown.link())
    """

    __slots__ = ("__weakref__", "_height", "_native", "_pages", "_shown")

    def __init__(
        self,
        source: Pinned,
        host: str,
        port: int,
        allow_hosts: Sequence[str],
        height: int,
        save_views: bool,
        allow: Sequence[str],
    ) -> None:
        self._height = height
        self._pages: list[Path] = []
        self._native = _native.visualize(
            source.view(),
            source.version.handle(),
            {
                "page": str(_PAGE),
                "host": host,
                "port": port,
                "allow_hosts": list(allow_hosts),
                "save_views": save_views,
                "allow": list(allow),
                "folders": decoder_folders(),
                **_storage.reach(source.version.storage),
            },
        )
        self._shown = ""
        _running.add(self)

    @property
    def address(self) -> str:
        """The address that the server listens on, as "127.0.0.1:40213"."""
        return str(self._native.link(_native.KEY_NONE)["address"])

    def link(self) -> str:
        """Returns a new link for one browser. Its key works once."""
        return self._link(self._key())

    def open_browser(self) -> bool:
        """Opens a new page in a browser, and returns whether there is one.

        The argument list of a browser can be read by all accounts. So the link in it has a key for
        browsers of this account alone; where the system cannot tell accounts, the browser gets a
        private file with the link.
        """
        key = str(self._native.link(_native.KEY_OWN)["key"])
        return webbrowser.open(self._link(key) if key else self._private_page())

    def close(self) -> None:
        """Ends the server. Open pages say so. A second close does nothing."""
        _running.discard(self)
        self._native.close()
        while self._pages:
            self._pages.pop().unlink(missing_ok=True)

    def __enter__(self) -> Visualizer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if not self._native.alive:
            return "Visualizer(closed)"
        # A server keeps few unused keys: a REPL that shows its variables must not use them up.
        self._shown = self._shown or self.link()
        return f"Visualizer({self._shown})"

    def _repr_html_(self) -> str | None:
        if not self._native.alive:
            return None
        port = self.address.rpartition(":")[2]
        # A hub reaches ports of the notebook's machine by jupyter-server-proxy.
        hub = os.environ.get("JUPYTERHUB_SERVICE_PREFIX")
        base = f"{hub.rstrip('/')}/proxy/{port}/" if hub else f"http://{_reachable(self.address)}/"
        source = escape(f"{base}#key={self._key()}", quote=True)
        look = f'width="100%" height="{self._height}" style="border: 0" allow="fullscreen"'
        return f'<iframe src="{source}" {look}></iframe>'

    def _key(self) -> str:
        return str(self._native.link(_native.KEY_ANY)["key"])

    def _link(self, key: str) -> str:
        return f"http://{_reachable(self.address)}/#key={key}"

    def _private_page(self) -> str:
        """Writes a file that leads to a new link, which this account alone reads."""
        number, name = tempfile.mkstemp(".html", "deeplake-")  # mode 0600
        os.close(number)
        page = Path(name)
        self._pages.append(page)
        page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(self.link())}">', "utf-8")
        return page.as_uri()


def visualize(
    source: Pinned,
    *,
    host: str,
    port: int,
    allow_hosts: Sequence[str],
    height: int,
    browser: bool | None,
    save_views: bool,
    allow: Sequence[str],
) -> Visualizer:
    """Starts a visualizer, and opens a browser if that is wanted or likely."""
    for name, value, most in (("port", port, 65535), ("height", height, _MOST_HEIGHT)):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise InvalidArgumentError(f"visualize: {name} is {value!r}, want an int of 0 to {most}")
    if not isinstance(host, str) or isinstance(allow_hosts, str) or not all(isinstance(h, str) for h in allow_hosts):
        raise InvalidArgumentError(
            f"visualize: host is {host!r} and allow_hosts {allow_hosts!r}, want a str and a list"
        )
    if isinstance(allow, str) or not all(isinstance(one, str) for one in allow):
        raise InvalidArgumentError(f"visualize: allow is {allow!r}, want a list of addresses")
    if save_views is not True and save_views is not False:
        raise InvalidArgumentError(f"visualize: save_views is {save_views!r}, want True or False")
    shown = Visualizer(source, host, port, allow_hosts, height, save_views, allow)
    if browser or (browser is None and _has_browser()):
        shown.open_browser()
    return shown


def _reachable(address: str) -> str:
    """Returns the address by which this machine reaches a server on every interface."""
    host, _, port = address.rpartition(":")
    return f"localhost:{port}" if host in ("0.0.0.0", "[::]") else address


def _has_browser() -> bool:
    """Whether a person sits here: at a terminal or a REPL, not in a notebook or a remote shell."""
    if "SSH_CONNECTION" in os.environ or "ipykernel" in sys.modules:
        return False
    desktop = sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return desktop and (hasattr(sys, "ps1") or sys.stdout.isatty())


@atexit.register
def _close_all() -> None:
    for shown in list(_running):
        shown.close()
