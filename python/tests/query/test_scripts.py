"""The scripts that specify the language, through the package."""

from __future__ import annotations

import deeplake
import pytest
import tqlscript


@pytest.mark.parametrize("path", tqlscript.SCRIPTS, ids=lambda path: path.stem)
def test_script(path):
    tables, last, wrong = {}, "", []
    for block in tqlscript.blocks(path):
        if block.kind == "load":
            tables[block.words] = tqlscript.load(block)
            last = block.words
            continue
        name, params = tqlscript.params(block)
        text = "\n".join(block.body)
        try:
            try:
                view = tables[name or last].query(text, *params)
                rows = tqlscript.rows(view) if block.fails else None
            except deeplake.Error as err:
                assert block.fails, f"{type(err).__name__}: {err}"
                assert tqlscript.failed(str(err), block.fails), f"the error is {err}, want {block.fails}"
            else:
                assert not block.fails, f"it gives {rows}, want the error {block.fails}"
                tqlscript.check(view, block)
        except AssertionError as err:
            wrong.append(f"{path.name}:{block.line}: {text}\n{err}")
    assert not wrong, f"{len(wrong)} of the queries:\n" + "\n\n".join(wrong)


def test_there_are_enough_scripts():
    assert sum(block.kind == "query" for path in tqlscript.SCRIPTS for block in tqlscript.blocks(path)) >= 400
