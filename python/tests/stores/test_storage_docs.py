"""The Python in docs/storage.md runs, against the servers of the tests in place of its addresses and keys."""

from __future__ import annotations

import re
from pathlib import Path

from servers import Server

PAGE = Path(__file__).resolve().parents[3] / "docs" / "storage.md"


def test_page(s3: Server, gcs: Server) -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3
    names: dict[str, object] = {"__name__": "__main__"}
    places = {
        "http://127.0.0.1:9000": s3.endpoint,
        "http://127.0.0.1:4443": gcs.endpoint,
        '"KEY"': repr(s3.access_key),
        '"SECRET"': repr(s3.secret_key),
        "s3://my-bucket": s3.uri(s3.new_bucket()),
        "gs://my-bucket": gcs.uri(gcs.new_bucket()),
    }
    for block in blocks:
        for name, real in places.items():
            block = block.replace(name, real)
        exec(compile(block, str(PAGE), "exec"), names)
