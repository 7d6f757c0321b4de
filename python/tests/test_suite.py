"""The comparison with other loaders can start: all entrants of its table exist."""

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


def test_no_module_has_the_name_of_a_test_folder() -> None:
    def modules(folder: Path) -> set[str]:
        return {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}

    shared = modules(ROOT / "benchmarks") & modules(ROOT / "python" / "tests")
    imported = {name for name in shared if name != "conftest" and not name.startswith("test_")}
    assert not imported, "both folders are on the path in one test process: the first one wins"


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
    monkeypatch.setattr(suite, "FOLDER", tmp_path)
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
    monkeypatch.setattr(suite, "FOLDER", tmp_path)

    def measure(commit: str, date: str, name: str, about: str = "three images", *, only: bool) -> str:
        monkeypatch.setattr(suite.machine, "commit", lambda: commit)
        monkeypatch.setattr(suite.machine, "today", lambda: date)
        chapter = suite.Chapter("epoch-noise", about, "images/s", [], rounds=5)
        chapter.add(name, 1.0, {"images/s": "3"})
        chapter.save(only=only)
        return (tmp_path / "README.md").read_text()

    first = "| first | 3 | 2026-01-01, 1111, 5 rounds | three images |"
    page = measure("1111", "2026-01-01", "first", only=False)
    assert first in page
    assert "| measured | 2026-01-01 |" in page, "the overview has dates, too"
    before = tmp_path / "epoch-noise.json"
    found = json.loads(before.read_text())
    for key in ("commit", "date", "rounds", "about"):
        del found["lines"][0][key]
    before.write_text(json.dumps(found))  # files of before have them for the chapter alone
    page = measure("2222", "2026-02-02", "second", "nine images", only=True)
    assert first in page
    assert "| second | 3 | 2026-02-02, 2222, 5 rounds | nine images |" in page
    assert "| measured | 2026-01-01 to 2026-02-02 |" in page
    assert first not in measure("3333", "2026-03-03", "first", only=False), "a chapter replaces its own results"


def test_earlier_lines_stay_of_entrants_that_this_run_could_not_measure(
    suite: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "FOLDER", tmp_path)
    unbuilt, late, failed = sys.modules["roster"].ENTRANTS[:3]
    before = suite.Chapter("epoch-noise", "three images", "images/s", [], rounds=5)
    for entrant in (unbuilt, late, failed):
        before.add(entrant.name, 1.0, {"images/s": "3"})
    before.save()
    again = suite.Chapter("epoch-noise", "three images", "images/s", [], rounds=5)
    again.add("deeplake", 1.0, {"images/s": "4"})
    again.refuse(unbuilt, sys.modules["environments"].MissingError("no compiler"))
    again.refuse(late, suite.HourOverError("not measured"))
    again.refuse(failed, suite.ContenderError(failed.name, "ended with status 1"))
    again.save()
    found = json.loads((tmp_path / "epoch-noise.json").read_text())
    assert {line["name"] for line in found["lines"]} == {"deeplake", unbuilt.name, late.name}
    assert set(found["absent"]) == {failed.name}


def test_a_row_that_misses_the_shown_figure_is_withdrawn(
    suite: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "FOLDER", tmp_path)
    entrant = sys.modules["roster"].ENTRANTS[0]
    monkeypatch.setattr(suite.shown, "SHOWN", {"epoch-noise": {entrant.name: (0.6, "its page")}})
    chapter = suite.Chapter("epoch-noise", "three images", "images/s", [])
    chapter.publish(entrant, 0.1)  # without a limit there is nothing to compare with
    chapter.limit = 0.5
    chapter.publish(entrant, 0.21)
    with pytest.raises(suite.UnpublishedError, match=r"withdrawn: 0\.38 of the limit here, 0\.6 in its page"):
        chapter.publish(entrant, 0.19)
    monkeypatch.setattr(suite.shown, "EXPLAINED", {"epoch-noise": {entrant.name: "its images are larger"}})
    chapter.publish(entrant, 0.19)
    assert f"{entrant.name}: its images are larger" in chapter.notes


def test_shown_figures_are_of_entrants_of_their_chapters(suite: ModuleType) -> None:
    roster = sys.modules["roster"]
    names = {entrant.name for entrant in (*roster.ENTRANTS, *roster.PLAIN)}
    for found in (*suite.shown.SHOWN.values(), *suite.shown.EXPLAINED.values()):
        assert set(found) <= names
    chapters = importlib.import_module("run_all")._chapters(False, 1, 1, [])
    assert set(suite.shown.SHOWN) | set(suite.shown.EXPLAINED) <= set(chapters)


def test_no_entrant_begins_after_the_hour(suite: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    chapter = suite.Chapter("epoch-noise", "three images", "images/s", [])
    chapter.begin()
    monkeypatch.setattr(suite, "HOUR", -1.0)
    with pytest.raises(suite.UnpublishedError, match="use --only"):
        chapter.begin()


class Queue:
    """A loader whose workers stay: unread batches come first in the next epoch."""

    def __init__(self) -> None:
        self.left: list[int] = []

    def __call__(self) -> Iterator[tuple[list[int], None, None]]:
        self.left = self.left or [8, 8, 8]
        while self.left:
            yield [0] * self.left.pop(), None, None


def test_runs_leave_nothing_queued(suite: ModuleType) -> None:
    peer = object.__new__(importlib.import_module("peers").Peer)
    queue = Queue()
    peer._epochs = {2: queue}
    assert peer.run(2, most=8)["count"] == 8
    assert not queue.left, "the rest of the epoch is timed with the next run"
    found = peer.run(2)
    assert (found["count"], found["epochs"], len(found["gaps"])) == (24, 1, 2)
    found = peer.run(2, least=0.01)
    assert found["epochs"] > 1
    assert found["count"] == 24 * found["epochs"]
    assert len(found["gaps"]) == 2 * found["epochs"], "the time between epochs is no gap of batches"


def test_turns_of_several_epochs_are_those_of_one(suite: ModuleType) -> None:
    epochs, protocol = importlib.import_module("suite_epoch"), sys.modules["protocol"]
    turn = protocol.Turn(seconds=[6.0, 2.0], cpu=[3.0, 1.0])
    turn.values = [{"epochs": 3, "count": 30}, {"epochs": 1, "count": 10}]
    epochs.per_epoch(turn, 10)
    assert (turn.seconds, turn.cpu) == ([2.0, 2.0], [1.0, 1.0])
    turn.values[1]["count"] = 9
    with pytest.raises(AssertionError, match="9 images"):
        epochs.per_epoch(turn, 10)


def test_more_threads_than_cores_are_refused(
    suite: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cores = importlib.import_module("cores")
    monkeypatch.setattr(suite.machine, "cores", lambda: 2)
    monkeypatch.setattr(sys, "argv", ["cores.py", "--threads", "16"])
    with pytest.raises(SystemExit):
        cores.main()
    assert "16 threads need as many cores, and this machine has 2" in capsys.readouterr().err
    monkeypatch.setattr(cores, "_one", lambda *_: cores.Turn(seconds=[1.0]))
    files = type("Files", (), {"name": "x", "count": 3, "mean_bytes": 1.0})()
    monkeypatch.setattr(cores, "SCRATCH", tmp_path / "scratch")
    results = [(len(one.figures), one.notes) for one in cores.measure(files, [1, 2], 1, 0.0)]
    assert [figures for figures, _ in results] == [0, 1]  # one result after each count, each with all figures up to it
    assert "Left out: 4, 8, 16 threads, since the machine has 2 cores." in results[0][1]


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
    monkeypatch.setattr(environments, "FOLDER", Path("nowhere"))
    with pytest.raises(environments.MissingError, match="pkg-config finds no opencv4"):
        environments.python("ffcv")
