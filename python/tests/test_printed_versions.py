"""Each printed time, commit and tag names its version in every command and every `at=`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

import deeplake
import numpy as np
import pytest
from click.testing import CliRunner
from deeplake._cli.main import cli

_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Three versions, a branch, a tag, a saved view."""
    uri = str(tmp_path_factory.mktemp("printed") / "d")
    with deeplake.create(uri, schema={"x": {"dtype": "int64"}}) as ds:
        for i in range(2):
            ds.extend({"x": np.arange(3)})
            ds.commit(f"rows {i}")
        ds.tags.create("v1", at=1, message="first")
        ds.branches.create("work", at=1)
        ds[:2].save("some")
    return uri


def run(*args, code=0):
    done = CliRunner().invoke(cli, [str(arg) for arg in args])
    if code:
        assert done.exit_code != 0
        return f"{done.output}{done.exception}"
    assert done.exit_code == 0, f"{args}: {done.output}{done.exception}"
    return done.output


def printed(place):
    """Returns texts that name versions, each with what shows it."""
    with deeplake.open(place) as ds:
        return {
            "log": run("log", place),
            "log --graph": run("log", place, "--graph", "--all"),
            "log --json": run("log", place, "--json"),
            "branch": run("branch", place),
            "tag": run("tag", place),
            "info": run("info", place),
            "history": run("history", place, 0),
            "diff": run("diff", place, "v1"),
            "cli json": run("info", place, "--json") + run("history", place, 0, "--json") + run("tag", place, "--json"),
            "reprs": repr([ds.head, ds.log(), ds.branches, ds.tags, ds.views(), ds.history(0), ds.diff(1)]),
            "str(time)": f"{ds.head.time} {ds.head.time.isoformat()} {ds.tags['v1'].commit.time}",
        }


def test_each_printed_name_finds_its_version(place):
    with deeplake.open(place) as ds:
        commits = {c.id: c for name in ds.branches for c in ds.at(name).log()}
        author = ds.head.author  # may have hexadecimal digits
        for what, text in printed(place).items():
            text = text.replace(author, "")
            times = set(re.findall(_TIME, text))
            ids = set(re.findall(r"\b[0-9a-f]{8}\b|\b[0-9a-f]{32}\b", text))
            assert times or what == "diff", what
            assert ids or what == "str(time)", what
            for name in ids:
                found = ds.at(name).head
                assert found.id.startswith(name) and found.id in commits, (what, name)
            for name in times:
                when = ds.at(name).head.time
                assert name.endswith("Z") or what == "str(time)", (what, name)
                made = datetime.fromisoformat(re.sub(r"(\.\d{6})\d*", r"\1", name.replace("Z", "+00:00")))
                assert timedelta(0) <= made - when < timedelta(minutes=5), (what, name)
        newest = ds.log()[0]
        for name in (newest._time, newest.id[:8], f"main@{newest.version}", str(newest.time), newest.time, newest):
            assert ds.at(name).head == newest


COMMANDS = [
    ["info", "{}", "--at"], ["head", "{}", "--at"], ["log", "{}", "--at"], ["log", "{}", "--graph", "--at"],
    ["history", "{}", "0", "--at"], ["diff", "{}"], ["diff", "{}", "main"], ["diff", "{}", "--rows", "x", "main"],
    ["query", "{}", "SELECT COUNT(*)", "--at"], ["restore", "{}", "--branch", "work"], ["merge", "{}", "--into", "work"],
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_takes_every_name(command, place):
    (line,) = (line for line in run("log", place).splitlines() if line.lstrip().startswith("1 "))
    version, commit, when = line.split()[:3]
    number = f"main@{version}" if "work" in command else version  # numbers count on the branch
    said = {run(*(part.format(place) for part in command), ref) for ref in (number, commit, when)}
    if command[0] in ("info", "head", "log", "history", "query"):
        (one,) = said
        assert run(*(part.format(place) for part in command), "v1") == one
    assert "no such commit" in run(*(part.format(place) for part in command), "nowhere", code=1)


def test_names_for_new_names_and_copies(place, tmp_path):
    version, commit, when = run("log", place).splitlines()[2].split()[:3]
    for i, ref in enumerate((version, commit, when, "v1")):
        run("branch", place, f"b{i}", "--at", ref)
        assert f"tagged version 1 ({commit})" in run("tag", place, f"t{i}", "--at", ref)
        run("cp", place, tmp_path / f"copy{i}", "--at", ref)
        assert len(deeplake.open(tmp_path / f"copy{i}")) == len(deeplake.open(place, branch=f"b{i}")) == 3
    with deeplake.open(place) as ds:
        for i, ref in enumerate((int(version), commit, when, "v1", ds.tags["v1"], ds.tags["v1"].commit)):
            ds.checkout(ref)
            assert ds.head.id.startswith(commit)
            ds.checkout("main")
            ds.branches.create(f"c{i}", at=ref)
            assert ds.tags.create(f"u{i}", at=ref).commit.version == 1
            deeplake.copy(place, tmp_path / f"python{i}", at=ref)
            assert ds.diff(ref).a.version == ds.merge(ref).version - 1
            with deeplake.open(place, branch=f"c{i}") as other:
                ref = f"main@{ref}" if ref == 1 else ref
                assert other.restore(ref).version == 0, "it shows that version"
                other.revert(ref)
                assert len(other) == 0


def test_a_time_before_all_versions(place):
    with deeplake.open(place) as ds:
        first = ds.log()[-1]
        before = first.time - timedelta(days=1)
        for ref in (before, before.isoformat(), f"main@{before.isoformat()}"):
            for read in (ds.at, ds.diff, ds.restore, ds.checkout):
                with pytest.raises(deeplake.NotFoundError, match="had no version then; its first one is of ") as caught:
                    read(ref)
                assert first._time in str(caught.value)
        assert len(ds.at(datetime.now(timezone.utc))) == 6
        for text, wanted in (
            ("2026-01-31", "write 2026-01-31T00:00:00Z"),
            ("2026-01-31 12:00:00", "12:00:00Z for UTC"),
        ):
            with pytest.raises(deeplake.InvalidArgumentError, match=wanted):
                ds.at(text)
    assert first._time in run("info", place, "--at", before.isoformat(), code=1)
    assert "--at goes with a URI" in run("query", f'SELECT * FROM "{place}"', "--at", "v1", code=2)
