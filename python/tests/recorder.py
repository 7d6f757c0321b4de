"""A web server that records which host was asked for what, with which headers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass(frozen=True)
class Asked:
    """One request. `host` and `path` are those of the URL, also where the server is used as a proxy."""

    method: str
    host: str
    path: str
    headers: Mapping[str, str]  #: names in lower case


@dataclass
class Recorder:
    """A running server. Tests change `files`, `folder`, `redirects` and `answers` as they like."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)  #: by path, like "/a.jpg"
    folder: Path | None = None  #: served where `files` has nothing
    redirects: dict[str, str] = field(default_factory=dict)  #: URL by path
    # : status, type, body by path; "*": any
    answers: dict[str, tuple[int, str, bytes]] = field(default_factory=dict)
    requests: list[Asked] = field(default_factory=list)

    def told(self, *headers: str) -> set[str]:
        """The values of some headers in all requests so far."""
        return {asked.headers[name] for asked in self.requests for name in headers if name in asked.headers}

    def content(self, path: str) -> bytes | None:
        if path in self.files:
            return self.files[path]
        place = None if self.folder is None else self.folder / path.lstrip("/")
        return place.read_bytes() if place is not None and place.is_file() else None


@contextlib.contextmanager
def recording() -> Iterator[Recorder]:
    """A recorder on a free port of this machine, stopped at the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            path = unquote(url.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            here.requests.append(Asked(self.command, url.netloc or headers.get("host", ""), path, headers))
            if path in here.redirects:
                self.answer(302, "text/plain", b"", {"Location": here.redirects[path]})
            elif answer := here.answers.get(path, here.answers.get("*")):
                status, kind, body = answer
                self.answer(status, kind, body, {})
            elif (data := here.content(path)) is None:
                self.answer(404, "text/plain", b"no such file", {})
            elif (part := headers.get("range", "")).startswith("bytes="):
                first, _, last = part.removeprefix("bytes=").partition("-")
                piece = data[int(first) : int(last) + 1 if last else None]
                if not piece:
                    self.answer(416, "text/plain", b"", {"Content-Range": f"bytes */{len(data)}"})
                    return
                span = f"bytes {first}-{int(first) + len(piece) - 1}/{len(data)}"
                self.answer(206, "application/octet-stream", piece, {"Content-Range": span, "ETag": '"1"'})
            else:
                self.answer(200, "application/octet-stream", data, {"ETag": '"1"'})

        do_HEAD = do_GET  # noqa: N815

        def answer(self, status: int, kind: str, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    here = Recorder(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
