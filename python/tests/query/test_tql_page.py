"""The tables of functions in docs/tql.md are true, and name every function."""

from __future__ import annotations

import json
import re
from pathlib import Path

import deeplake
import pytest
import tqlscript
from deeplake import tql

PAGE = (Path(__file__).resolve().parents[3] / "docs/tql.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([A-Z][A-Z0-9_]*\(.*?)` \| `(.*?)` \|", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def one():
    ds = deeplake.create("mem://page", overwrite=True)
    ds.create_tensor("one", dtype="int64")
    ds.append({"one": 1})
    ds.commit()
    return ds


@pytest.mark.parametrize(("call", "gives"), ROWS, ids=[call for call, _ in ROWS])
def test_example(one, call, gives):
    (row,) = tqlscript.rows(one.query(f"SELECT {call} AS r"))
    assert tqlscript.same(row[0], json.loads(gives)), row


def test_every_function_is_there():
    missing = [about.name for about in tql.functions() if not re.search(rf"\b{about.name}\b", PAGE)]
    assert not missing


def test_every_function_says_what_it_does():
    assert not [about.name for about in tql.functions() if not about.doc]
