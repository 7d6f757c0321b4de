"""SECURITY.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()
TESTS = re.compile(r"`((?:Test|Fuzz|test_)\w+)`")


def test_every_test_that_the_page_names_is_there():
    sources = [
        path.read_text() for folder in ("core", "go", "capi", "cuda") for path in (ROOT / folder).rglob("*_test.go")
    ]
    sources += [path.read_text() for path in (ROOT / "python" / "tests").rglob("test_*.py")]
    text = "\n".join(sources)
    named = set(TESTS.findall(PAGE))
    assert len(named) > 10
    missing = [name for name in sorted(named) if f"func {name}(" not in text and f"def {name}(" not in text]
    assert not missing


def test_every_promise_names_a_test():
    """A file alone does not say which of its tests would fail without the promise."""
    tables = re.findall(r"^\| promise \|.*?\n\|---.*?\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    rows = [row for table in tables for row in table.splitlines()]
    assert len(tables) == 3 and len(rows) > 20
    assert [row for row in rows if not TESTS.search(row.rsplit("|", 2)[1])] == []


def test_every_file_that_the_page_names_is_there():
    paths = re.findall(r"`((?:core|go|python)/[\w/.]+)`", PAGE) + re.findall(r"\]\(([\w/.]+)\)", PAGE)
    missing = [path for path in paths if not (ROOT / path).exists()]
    assert paths and not missing
