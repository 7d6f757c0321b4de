"""The comparison with other loaders can start: what its table of entrants names is there."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    before = set(sys.modules)
    yield importlib.import_module("suite")
    for name in set(sys.modules) - before:
        if str(ROOT / "benchmarks") in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_every_entrant_has_an_adapter_and_a_lock(suite: ModuleType) -> None:
    roster, environments = sys.modules["roster"], sys.modules["environments"]
    others = (*roster.ENTRANTS, *roster.PLAIN, *roster.DECODED, *roster.RAW)
    for entrant in (suite.OUR, roster.FAST, *others):
        adapter = importlib.import_module(f"adapters.{entrant.module}")
        assert issubclass(getattr(adapter, entrant.factory), adapter.Adapter), entrant.name
        inspect.signature(getattr(adapter, entrant.factory)).bind(**entrant.options)
        if entrant.environment == environments.HERE:
            continue
        pinned = environments.versions(entrant.environment)
        wanted = (environments.LOCKS / f"{entrant.environment}.in").read_text()
        assert pinned, f"{entrant.name}: its lock pins nothing that it asks for"
        for package, version in pinned.items():
            assert f"{package}==" not in wanted or f"=={version}" in wanted, f"{package} is locked as {version}"


def test_who_is_absent_is_named_with_the_reason(
    suite: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "PLACE", tmp_path)
    chapter = suite.Chapter("epoch-noise", "three images", "images/s", ["workers"])
    chapter.add("deeplake", 3.0, {"images/s": "3", "workers": "2"})
    chapter.add("slower | odd", 1.0, {"images/s": "1"})
    chapter.refuse(sys.modules["roster"].ENTRANTS[0], "Traceback:\n  somewhere\nImportError: no such library\n")
    chapter.save()
    page = (tmp_path / "README.md").read_text()
    assert f"Absent: {sys.modules['roster'].ENTRANTS[0].name}: ImportError: no such library" in page
    assert page.index("| deeplake | 3 | 2 |") < page.rindex("| slower")  # the overview has it, too
    assert page.count("| slower \\| odd | 1") == 2, "a bar in a name ends its cell"
    assert (tmp_path / "epoch-noise.svg").exists()
    again = suite.Chapter("epoch-noise", "three images", "images/s", ["workers"])
    again.add("deeplake", 3.0, {"images/s": "4"})
    again.save(only=True)
    page = (tmp_path / "README.md").read_text()
    assert "| deeplake | 4 |" in page
    assert "slower" in page
    assert "no such library" in page


def test_lines_keep_the_commit_and_date_of_their_run(
    suite: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "PLACE", tmp_path)

    def measure(commit: str, date: str, name: str, rounds: int = 5, *, only: bool) -> str:
        monkeypatch.setattr(suite.machine, "commit", lambda: commit)
        monkeypatch.setattr(suite, "today", lambda: date)
        chapter = suite.Chapter("epoch-noise", "three images", "images/s", [], rounds=rounds)
        chapter.add(name, 1.0, {"images/s": "3"})
        chapter.save(only=only)
        return (tmp_path / "README.md").read_text()

    assert "; commit 1111, 2026-01-01:" not in measure("1111", "2026-01-01", "first", only=False)
    before = tmp_path / "epoch-noise.json"
    found = json.loads(before.read_text())
    assert tuple(found["lines"][0].pop(key) for key in ("commit", "date", "rounds")) == ("1111", "2026-01-01", 5)
    before.write_text(json.dumps(found))  # as it was written before lines had them
    page = measure("2222", "2026-02-02", "second", only=True)
    assert "commit 2222, 2026-02-02, 5 rounds: second; commit 1111, 2026-01-01, 5 rounds: first;" in page
    page = measure("2222", "2026-02-02", "first", rounds=7, only=True)
    assert "commit 2222, 2026-02-02, 7 rounds: first; commit 2222, 2026-02-02, 5 rounds: second;" in page
    page = measure("2222", "2026-02-02", "first", only=True)
    assert "; commit 2222; 2026-02-02; 5 rounds;" in page


@pytest.mark.parametrize(
    ("offered", "choices", "want"),
    [
        ((0, 2, 4), [2], [2]),
        ((0, 2, 4), [4], [4]),
        ((0, 2), [16], [2]),
        ((0, 2, 16, 32), [16], [16]),
        ((0, 1, 2), [1], [1]),
        ((0,), [8], [0]),
        ((0, 2), [1], [0]),
        ((0, 2, 4), [3, 4], [2, 4]),
    ],
)
def test_workers_are_those_nearest_to_the_choice(
    suite: ModuleType, offered: tuple[int, ...], choices: list[int], want: list[int]
) -> None:
    assert importlib.import_module("peers").nearest(offered, choices) == want


def test_an_environment_that_cannot_be_made_says_why(suite: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    environments = sys.modules["environments"]
    monkeypatch.setattr(environments, "_has", lambda library: False)
    monkeypatch.setattr(environments, "PLACE", Path("nowhere"))
    with pytest.raises(environments.MissingError, match="pkg-config finds no opencv4"):
        environments.python("ffcv")
