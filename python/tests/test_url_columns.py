"""Columns of URLs, as LAION has them: objects are fetched beside the other columns of a table."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pyarrow as pa
import pytest
from kills import killed_after_a_commit
from PIL import Image
from pyarrow import parquet

ALLOWED = deeplake.Storage(allow_private=True)


def place() -> str:
    return f"mem://urls-{uuid.uuid4().hex}"


def picture(number: int, kind: str = "jpeg") -> bytes:
    out = io.BytesIO()
    Image.fromarray(np.full((12, 10 + number % 7, 3), number % 251, np.uint8)).save(out, kind)
    return out.getvalue()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked: dict[str, int]
    lock: threading.Lock

    def do_GET(self) -> None:
        kind, _, rest = self.path.strip("/").partition("/")
        with self.lock:
            self.asked[self.path] = self.asked.get(self.path, 0) + 1
        if kind == "gone":
            self.answer(404, b"no")
        elif kind == "page":
            self.answer(200, b"<html>please log in</html>")
        elif kind == "busy" and self.asked[self.path] < 3:
            self.answer(503, b"later")
        elif kind == "deep":
            out = io.BytesIO()
            Image.fromarray(np.full((9, 9), 300, np.uint16)).save(out, "png")
            self.answer(200, out.getvalue())
        elif kind == "cut":
            self.answer(200, picture(int(rest))[:-40])
        else:
            number = int(rest.partition(".")[0])
            self.answer(200, picture(number, "png" if number % 10 == 9 else "jpeg"))

    def answer(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class Quiet(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Killed clients close their connections."""


@pytest.fixture
def server() -> Iterator[Any]:
    handler = type("Handler", (Handler,), {"asked": {}, "lock": threading.Lock()})
    with Quiet(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        running.url = f"http://127.0.0.1:{running.server_port}"  # type: ignore[attr-defined]
        running.asked = handler.asked  # type: ignore[attr-defined]
        yield running
        running.shutdown()
        thread.join()


KINDS = ["gone", "page", "busy", "cut", "none", "bad"]


def table(url: str, rows: int, kinds: bool = True) -> Any:
    def one(row: int) -> str | None:
        kind = KINDS[row % 40] if kinds and row % 40 < len(KINDS) else "ok"
        return {"none": None, "bad": "no URL at all"}.get(kind, f"{url}/{kind}/{row}")

    return pa.table(
        {
            "url": [one(row) for row in range(rows)],
            "caption": [f"picture {row}" for row in range(rows)],
            "id": np.arange(rows),
        }
    )


def check(ds: deeplake.Dataset, row: int, number: int) -> None:
    assert ds["image"].bytes(row) == picture(number, "png" if number % 10 == 9 else "jpeg")


def test_rows_keep_their_reasons(server: Any, tmp_path: Path, capsys: Any) -> None:
    rows = 300
    parquet.write_table(table(server.url, rows), tmp_path / "t.parquet", row_group_size=70)
    ds = deeplake.ingest(tmp_path / "t.parquet", place(), urls="url", source_storage=ALLOWED)
    assert len(ds) == rows and ds["id"].numpy().tolist() == list(range(rows))
    assert ds["caption"][17] == "picture 17" and ds["url"][6] == f"{server.url}/ok/6"
    wanted = {"gone": "404", "page": "not a", "cut": "", "bad": ""}
    for row in range(rows):
        kind = KINDS[row % 40] if row % 40 < len(KINDS) else "ok"
        reason = ds["image_error"][row]
        if kind in wanted:
            assert ds["image"][row] is None and reason is not None and wanted[kind] in reason, (row, reason)
        elif kind == "none":
            assert ds["image"][row] is None and reason is None
        else:
            assert reason is None
            check(ds, row, row)
    told = capsys.readouterr().err
    assert "of 292 URLs gave no object" in told and "404 Not Found" in told
    assert max(server.asked.values()) == 3  # the busy ones


def test_rows_are_left_out(server: Any, tmp_path: Path) -> None:
    rows = 300
    parquet.write_table(table(server.url, rows), tmp_path / "t.parquet")
    ds = deeplake.ingest(
        tmp_path / "t.parquet",
        place(),
        urls={"url": "picture"},
        on_error="skip",
        columns=["id"],
        source_storage=ALLOWED,
        verbose=False,
    )
    good = [row for row in range(rows) if row % 40 not in (0, 1, 3, 5)]
    assert ds["id"].numpy().tolist() == good
    assert sorted(ds.tensors) == ["id", "picture", "url"]
    assert ds["picture"].bytes(len(good) - 1) == picture(good[-1], "png" if good[-1] % 10 == 9 else "jpeg")
    uri = place()
    with pytest.raises(deeplake.InvalidArgumentError, match=r"t\.parquet: row 0: url: 404 Not Found"):
        deeplake.ingest(
            tmp_path / "t.parquet", uri, urls="url", on_error="raise", source_storage=ALLOWED, verbose=False
        )
    assert not deeplake.exists(uri)


def test_bytes_of_any_kind(server: Any, tmp_path: Path) -> None:
    parquet.write_table(table(server.url, 45), tmp_path / "t.parquet")
    schema = {"page": {"dtype": "bytes"}}
    ds = deeplake.ingest(
        tmp_path / "t.parquet", place(), urls={"url": "page"}, schema=schema, source_storage=ALLOWED, verbose=False
    )
    assert ds["page"][1] == b"<html>please log in</html>" and ds["page"][0] is None and "404" in ds["page_error"][0]


def test_images_of_one_size(server: Any, tmp_path: Path) -> None:
    parquet.write_table(table(server.url, 45), tmp_path / "t.parquet")
    ds = deeplake.ingest(tmp_path / "t.parquet", place(), urls="url", size=8, source_storage=ALLOWED, verbose=False)
    assert ds["image"].shape == (8, 8, 3) and ds["image"].compression == "jpeg"
    assert abs(int(ds["image"][7].mean()) - 7) < 3 and ds["image"][0] is None
    with pytest.raises(deeplake.InvalidArgumentError, match="size is for images"):
        deeplake.ingest(tmp_path / "t.parquet", place(), size=8, verbose=False)


def test_images_that_the_tensor_does_not_take(server: Any, tmp_path: Path) -> None:
    """An image of another dtype or shape is a row with a reason, and ends no import."""
    urls = [f"{server.url}/{kind}/{row}" for row, kind in enumerate(["deep", "ok", "deep", "ok", "ok"])]
    parquet.write_table(pa.table({"url": urls}), tmp_path / "t.parquet")
    ds = deeplake.ingest(tmp_path / "t.parquet", place(), urls="url", source_storage=ALLOWED, verbose=False)
    assert [ds["image"][row] is None for row in range(5)] == [True, False, True, False, False]
    assert ds["image_error"][2] == "the image has dtype uint16, want uint8"
    schema = {"image": {"htype": "image", "shape": (None, 11, 3)}}
    ds = deeplake.ingest(
        tmp_path / "t.parquet", place(), urls="url", schema=schema, source_storage=ALLOWED, verbose=False
    )
    assert [ds["image"][row] is None for row in range(5)] == [True, False, True, True, True]
    assert "has shape (12, 13, 3), want (?, 11, 3)" in ds["image_error"][3]


def test_private_addresses_are_refused(server: Any, tmp_path: Path) -> None:
    """A table that strangers wrote leads to no address of this machine, unless that is allowed."""
    urls = [
        f"{server.url}/ok/1",
        server.url.replace("127.0.0.1", "localhost") + "/ok/2",
        "file:///etc/passwd",
        "http://169.254.169.254/latest",
    ]
    parquet.write_table(pa.table({"url": urls}), tmp_path / "t.parquet")
    ds = deeplake.ingest(tmp_path / "t.parquet", place(), urls="url", verbose=False)
    assert [ds["image"][row] for row in range(4)] == [None] * 4
    assert all(ds["image_error"][row] for row in range(4)) and server.asked == {}


def test_what_is_refused(server: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(table(server.url, 5), path)
    for options, match in (
        ({"urls": "link"}, 'no column "link", which the option for URLs names'),
        ({"urls": "id"}, 'column "id" has type int64, want URLs as text'),
        ({"urls": {"url": "caption"}}, 'would go to tensor "caption", which is a column'),
        ({"urls": {"url": "url"}}, "want names that differ"),
        ({"urls": "url", "on_error": "keep"}, 'on_error is "keep"'),
    ):
        with pytest.raises(deeplake.Error, match=match):
            deeplake.ingest(path, place(), source_storage=ALLOWED, verbose=False, **options)
    for source in ([{"url": "x"}], 7, iter([{"url": "x"}])):
        with pytest.raises(
            deeplake.InvalidArgumentError, match="want a path, a table, a data frame or a dict of columns"
        ):
            deeplake.ingest(source, place(), urls="url", verbose=False)


def test_tables_in_memory(server: Any) -> None:
    """Columns of URLs of every kind of table are fetched as those of files, and nothing else is left."""
    import pandas as pd
    import polars as pl

    whole = table(server.url, 20, kinds=False)
    wanted = None
    for source in (
        whole,
        whole.to_reader(7),
        whole.to_pandas(),
        pl.from_arrow(whole),
        whole.to_pydict(),
        pd.DataFrame(whole.to_pydict()),
    ):
        ds = deeplake.ingest(source, place(), urls="url", source_storage=ALLOWED, size=16, verbose=False)
        got = [ds["image"][row].tolist() for row in range(20)]
        wanted = wanted or got
        assert got == wanted and ds["image"].shape == (16, 16, 3)
        assert [ds["caption"][row] for row in range(20)] == whole["caption"].to_pylist()
    some = deeplake.ingest(whole, place(), columns=["url"], urls="url", source_storage=ALLOWED, verbose=False)
    assert list(some.tensors) == ["url", "image"]


def test_kill_and_go_on(server: Any, tmp_path: Path) -> None:
    """An import that is killed goes on: no row comes twice, none is lost, few objects are fetched again."""
    rows = 3000
    parquet.write_table(table(server.url, rows, kinds=False), tmp_path / "t.parquet")
    uri = str(tmp_path / "ds")
    command = [
        sys.executable, "-m", "deeplake", "create", uri, f"from-{tmp_path}/t.parquet", "--url-column", "url", "--checkpoint", "300",
        "--source-storage", "allow_private=true", "--json",
    ]  # fmt: skip
    draw, kills = random.Random(5), 0
    for _ in range(3):
        kills += killed_after_a_commit(command, lambda: rows_of(uri), 0.1, draw)
        assert rows_of(uri) % 64 == 0 or rows_of(uri) == rows
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["rows"] == rows and kills > 0
    ds = deeplake.open(uri)
    assert ds["id"].numpy().tolist() == list(range(rows))
    for row in range(0, rows, 371):
        check(ds, row, row)


def rows_of(uri: str) -> int:
    try:
        return len(deeplake.open(uri))
    except deeplake.Error:
        return 0
