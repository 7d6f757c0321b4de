"""The commands about versions, as a user runs them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import deeplake
import numpy as np
import pytest


@pytest.fixture
def place(tmp_path):
    """A dataset with a branch, a tag and a merge."""
    with deeplake.create(tmp_path / "d", schema={"x": {"dtype": "int64"}}) as ds:
        ds.extend({"x": np.arange(10)})
        ds.commit("ten rows")
        ds.tags.create("v1", message="first")
        ds.checkout("work", create=True)
        ds.update(3, {"x": 33})
        ds.commit("on work")
        ds.checkout("main")
        ds.append({"x": 10})
        ds.commit("on main")
    return str(tmp_path / "d")


@pytest.fixture
def cli(tmp_path):
    def run(*args, code=0):
        done = subprocess.run(
            [sys.executable, "-m", "deeplake", *map(str, args)],
            capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert "Traceback" not in done.stderr and done.returncode == code, done.stderr
        return done.stdout if code < 2 else done.stderr

    return run


def test_names(cli, place):
    assert "work" in cli("branch", place) and "v1" in cli("tag", place)
    assert [b["name"] for b in json.loads(cli("branch", place, "--json"))] == ["main", "work"]
    cli("branch", place, "old", "--at", "v1")
    assert len(deeplake.open(place, branch="old")) == 10
    cli("branch", place, "old", "--delete")
    assert "tagged version 1" in cli("tag", place, "v2", "--at", "work", "-m", "second")
    assert json.loads(cli("tag", place, "--json"))[1]["message"] == "second"
    cli("tag", place, "v2", "-d")
    assert "give the NAME" in cli("branch", place, "-d", code=2)


@pytest.mark.parametrize(
    ("environ", "config", "author"),
    [
        ({"DEEPLAKE_AUTHOR": "Ada"}, "[user]\nname = Grace\n", "Ada"),
        ({}, "[user]\nname = Grace\nemail = g@navy.example\n", "Grace <g@navy.example>"),
        ({"USER": "root"}, "", "root"),
    ],
)
def test_the_log_shows_an_author(environ, config, author, tmp_path, cli):
    (tmp_path / ".gitconfig").write_text(config)
    source = 'import deeplake; d = deeplake.create("ds", schema={"x": "generic"}); d.append({"x": 1}); d.commit()'
    known = {name: value for name, value in os.environ.items() if name not in ("DEEPLAKE_AUTHOR", "USER")}
    known |= {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"} | environ
    subprocess.run([sys.executable, "-c", source], cwd=tmp_path, env=known, check=True, timeout=120)
    assert author in cli("log", "ds")
    assert json.loads(cli("log", "ds", "--json"))[0]["author"] == author


def test_printed_times_can_be_given_back(cli, place):
    for line in cli("log", place).splitlines()[1:]:
        version, commit, when = line.split()[:3]
        assert when.endswith("Z")
        assert f"version  {version} ({commit}, {when})" in cli("info", place, "--at", when)


def test_log_diff_merge(cli, place):
    assert "10 rows" not in cli("diff", place, "main", "work")
    assert "x: 1 row (10) added; 1 row (3) updated" in cli("diff", place, "work", "main")
    assert json.loads(cli("diff", place, "v1", "--json"))["added"] == {"count": 1, "ranges": [[10, 1]]}
    assert "version 3" in cli("merge", place, "work", "-m", "take it")
    assert "already" in cli("merge", place, "work")
    assert deeplake.open(place)["x"].numpy().tolist() == [0, 1, 2, 33, *range(4, 11)]
    drawn = cli("log", place, "--graph").splitlines()
    assert drawn[0].startswith("*  ") and "(main)" in drawn[0] and "take it" in drawn[0]
    assert drawn[1] == "|\\" and any(line.startswith("| *") and "(work)" in line for line in drawn)
    assert any(line.startswith("*  ") and "(v1)" in line for line in drawn)
    assert len(json.loads(cli("log", place, "--graph", "--all", "--json"))) == 6
    assert len(json.loads(cli("log", place, "--branch", "work", "--json"))) == 4


def test_maintenance(cli, place, tmp_path):
    assert "0 problems" in cli("fsck", place)
    assert "removed 0 objects" in cli("gc", place)
    assert "would remove" in cli("gc", place, "--older-than", "0", "--dry-run")
    assert "like 7d" in cli("gc", place, "--older-than", "week", code=2)
    assert "would expire 0 versions" in cli("gc", place, "--expire", "30d", "--dry-run")
    assert json.loads(cli("gc", place, "--expire", "0", "--keep-last", "2", "-n", "--json"))["expired"] > 0
    assert "version 3: 11 samples" in cli("rechunk", place)
    assert "lies well" in cli("rechunk", place)
    assert "copied 1 versions" in cli("cp", place, "one")
    assert "--history copies all versions" in cli("cp", place, "all", "--history", "--at", "1", code=2)
    assert "copied 6 versions" in cli("cp", place, "all", "--history")
    assert len(deeplake.open(tmp_path / "all", branch="work")) == 10
    victim = next(path for path in (tmp_path / "d" / "data").rglob("*") if path.is_file())
    victim.unlink()
    report = json.loads(cli("fsck", place, "--no-data", "--json", code=1))
    assert len(report["problems"]) == 1 and report["problems"][0]["what"] == "chunk"


def test_bars_on_a_terminal_only(place, tmp_path):
    for command in (["fsck", place], ["cp", place, "copy"], ["gc", place], ["rechunk", place]):
        main, terminal = pty.openpty()
        child = subprocess.Popen(
            [sys.executable, "-m", "deeplake", *command], cwd=tmp_path, env={**os.environ, "TERM": "xterm"},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=terminal,
        )  # fmt: skip
        out, _ = child.communicate(timeout=60)
        os.close(terminal)
        shown = os.read(main, 65536).decode()
        os.close(main)
        assert child.returncode == 0 and out and command[0] in shown, shown


def test_restore_and_revert(cli, place):
    assert 'restored "v1" on "main": version 3' in cli("restore", place, "v1")
    assert 'shows "v1" already: version 3' in cli("restore", place, "v1")
    assert len(deeplake.open(place)) == 10
    undone = json.loads(cli("revert", place, "3", "-m", "undo", "--json"))
    assert undone["reverted"] and undone["commit"]["message"] == "undo" and undone["commit"]["rows"] == 11
    assert 'has nothing of "3": version 4' in cli("revert", place, "3")
    cli("revert", place, "work", "--branch", "work")
    assert deeplake.open(place, branch="work")["x"].numpy()[3] == 3
    assert 'branch "main" does not come from this commit' in run_failing(place, "revert", "work")
    assert "no such commit" in run_failing(place, "restore", "v9")


def run_failing(place, command, ref):
    done = subprocess.run(
        [sys.executable, "-m", "deeplake", command, place, ref], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    return done.stderr


def test_changed_rows_and_the_history_of_one(cli, place, tmp_path):
    lines = cli("diff", place, "v1", "work", "--rows", "x").splitlines()
    assert lines[0].split() == ["row", "id", "change", "old", "row", "new", "row", "old", "new"]
    assert lines[1].split()[1:] == ["updated", "3", "3", "3", "33"]
    (line,) = cli("diff", place, "work", "main", "--rows", "x", "-n", "1", "--json").splitlines()
    entry = json.loads(line)
    assert (entry["change"], entry["old_row"], entry["new_row"], entry["old"], entry["new"]) == ("updated", 3, 3, 33, 3)
    cli("diff", place, "v1", "--rows", "y", code=1)
    assert "--limit goes with --rows" in cli("diff", place, "v1", "-n", "3", code=2)
    with deeplake.create(tmp_path / "labels", schema={"label": "class_label"}) as ds:
        ds.extend({"label": ["cat", "dog"]})
        ds.commit()
        ds.update(0, {"label": "dog"})
        ds.commit()
    assert cli("diff", ds.uri, 1, "--rows", "label").splitlines()[1].split()[-2:] == ["cat", "dog"]
    assert [line.split()[3:5] for line in cli("history", place, "3", "--branch", "work").splitlines()[1:]] == [
        ["updated", "x"], ["added", "x"],
    ]  # fmt: skip
    assert json.loads(cli("history", place, "-1", "--json"))[0]["row"] == 10
    log = cli("log", place).splitlines()
    assert log[0].split()[3:8] == ["rows", "added", "updated", "deleted", "author"]
    assert json.loads(cli("log", place, "--json"))[0]["changes"] == {"added": 1, "updated": 0, "deleted": 0}
