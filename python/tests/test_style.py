"""The shape of the package's files: docstrings and comments of 100 columns, no file over 400 lines."""

from __future__ import annotations

import ast
import tokenize
from pathlib import Path

import deeplake
import pytest

COLUMNS, LINES = 100, 400
PACKAGE = Path(deeplake.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_prose_ends_at_100_columns(path: Path) -> None:
    lines = path.read_text().splitlines()
    prose: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            first, last = node.body[0].lineno, node.body[0].end_lineno
            prose.update(range(first, (last or first) + 1))
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            # Comments behind code are held by ruff's limit for code.
            if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
                prose.add(token.start[0])
    assert [number for number in sorted(prose) if len(lines[number - 1]) > COLUMNS] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_are_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LINES
