"""A dataset cannot control a terminal: every command runs on a pseudo-terminal over a hostile dataset."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys

import deeplake
import pytest
from conftest import encoded, picture
from deeplake._cli.main import cli
from deeplake._text import printable, printable_json, table

# A window title, the one-byte form of CSI, a right-to-left override and isolate, and a line that
# looks like one of ours.
HOSTILE = "a\x1b]0;owned\x07b\x9b31mc\u202ed\u2066e\x7f\rf\nFORGED line\u2028g"
NAME = "n\u202em\u2066"  # the core refuses control characters in names


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("hostile")
    with deeplake.create(root / "d") as ds:
        ds.create_tensor("text", htype="text")
        ds.create_tensor("label", htype="class_label", class_names=[HOSTILE, "other"])
        ds.create_tensor("json", htype="json")
        ds.create_tensor(NAME, dtype="int64")
        ds.extend({"text": [HOSTILE] * 3, "label": [0] * 3, "json": [{HOSTILE: HOSTILE}] * 3, NAME: [1] * 3})
        ds.commit(HOSTILE)
        ds.tags.create("v1", message=HOSTILE)
        ds.checkout("work", create=True)
        ds.append({"text": HOSTILE, "label": 0, "json": HOSTILE, NAME: 1})
        ds.commit(HOSTILE)
        ds.checkout("main")
    folder = root / "files" / "one"
    folder.mkdir(parents=True)
    (folder / "good.jpg").write_bytes(encoded(picture(0)))
    (folder / "a\x1b]0;owned\x07b\x9b\u202e\nFORGED.txt").write_text("no picture")
    return root


COMMANDS = {
    "create": [
        ["create", "{root}/new", "from-{root}/files"],
        ["create", "{root}/new2\x1b]0;owned\x07", "from-nowhere"],
    ],
    "ls": [["ls", "{root}"], ["ls", "{root}/d"]],
    "info": [["info", "{root}/d"], ["info", "{root}/d", "--json"]],
    "head": [
        ["head", "{root}/d"],
        ["head", "{root}/d", "--json"],
        ["head", "{root}/d", "--query", "SELECT text FROM dataset"],
        ["head", "{root}/d", "--images"],
        ["head", "{root}/d", "--images=sixel"],
    ],
    "log": [["log", "{root}/d"], ["log", "{root}/d", "--json"], ["log", "{root}/d", "--graph", "--all"]],
    "diff": [
        ["diff", "{root}/d", "v1", "work"],
        ["diff", "{root}/d", "v1", "work", "--json"],
        ["diff", "{root}/d", "v1", "work", "--rows", "text"],
    ],
    "history": [["history", "{root}/d", "0"], ["history", "{root}/d", "0", "--json"]],
    "branch": [["branch", "{root}/d"], ["branch", "{root}/d", "--json"], ["branch", "{root}/d", "x\x1b]0;owned\x07"]],
    "tag": [["tag", "{root}/d"], ["tag", "{root}/d", "--json"]],
    "query": [
        ["query", "{root}/d", "SELECT text, label, json FROM dataset"],
        ["query", "{root}/d", "SELECT text, label, json FROM dataset", "--json"],
        ["query", "{root}/d", "SELECT text, label, json FROM dataset", "--csv"],
        ["query", "{root}/d", "SELECT text FROM dataset WHERE text = ?", "-p", HOSTILE, "--explain"],
        ["query", "{root}/d", "SELECT text FROM dataset WHERE text = ?", "-p", HOSTILE, "--analyze", "--json"],
        ["query", "{root}/d", "SELECT nothing\x1b]0;owned\x07 FROM dataset"],
    ],
    "bench": [["bench", "{root}/d", "--no-limits"]],
    "completion": [["completion", "zsh"]],
    "fsck": [["fsck", "{root}/d"], ["fsck", "{root}/d", "--json"]],
    "gc": [["gc", "{root}/d", "--dry-run"]],
    "rechunk": [["rechunk", "{root}/d", "-m", HOSTILE]],
    "merge": [["merge", "{root}/d", "work", "-m", HOSTILE]],
    "export": [
        ["export", "{root}/d", "{root}/out1", "--format", "webdataset"],
        ["export", "{root}/d", "{root}/out2", "--format", "tfrecord", "--json"],
        ["export", "{root}/d", "{root}/out3", "--format", "folder"],
        ["export", "{root}/d", "{root}/out4", "--format", "x\x1b]0;owned\x07"],
        ["export", "{root}/d", "{root}/out5\x1b]0;owned\x07", "--format", "mds", "--tensors", "n\x1b]0;owned\x07"],
    ],
    "cp": [["cp", "{root}/d", "{root}/copy", "-m", HOSTILE]],
    # It refuses before it serves: a server would not end.
    "visualize": [
        ["visualize", "{root}/d", "--query", "SELECT nothing\x1b]0;owned\x07 FROM dataset"],
        ["visualize", "{root}/d", "--export", "{root}/site", "--copy"],
    ],
    # On a branch that no other test reads.
    "restore": [
        ["restore", "{root}/d", "v1", "--branch", "work", "-m", HOSTILE],
        ["restore", "{root}/d", "x\x1b]0;owned\x07"],
    ],
    "revert": [
        ["revert", "{root}/d", "v1", "--branch", "work", "-m", HOSTILE],
        ["revert", "{root}/d", "x\x1b]0;owned\x07", "--json"],
    ],
    "rm": [["rm", "{root}/copy", "--yes"]],
}


def test_the_table_names_every_command():
    assert set(COMMANDS) == set(cli.commands)


@pytest.mark.parametrize(
    "args",
    [args for forms in COMMANDS.values() for args in forms],
    ids=lambda args: " ".join(args[:1] + args[2:]).encode("unicode_escape").decode()[:60],
)
def test_no_command_lets_a_dataset_speak_to_the_terminal(place, args):
    shown = on_a_terminal([part.replace("{root}", str(place)) for part in args])
    assert shown.strip(), "it says something"
    for sign in ("\x1b]0;", "\x07", "\x9b", "\u202e", "\u2066", "\x7f", "\x1b[2J", "\x1b[31m", "\u2028"):
        assert sign not in shown, shown
    assert not re.search(r"(^|[\r\n])FORGED", shown), shown


def on_a_terminal(args):
    """Runs the command with a pseudo-terminal for output and errors, and returns the bytes of the terminal."""
    main, terminal = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "deeplake", *args], stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200", "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    os.close(terminal)
    shown = bytearray()
    try:
        while part := os.read(main, 65536):
            shown += part
    except OSError:
        pass  # Linux says so when the last writer has closed the terminal
    os.close(main)
    assert child.wait(timeout=60) in (0, 1)
    text = shown.decode()
    assert "Traceback" not in text, text
    return text


def test_json_keeps_every_character(place):
    done = subprocess.run(
        [sys.executable, "-m", "deeplake", "head", str(place / "d"), "-n", "1", "--json"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    row = json.loads(done.stdout)[0]
    assert row["text"] == HOSTILE and row["label"] == HOSTILE and row["json"] == {HOSTILE: HOSTILE}


def test_csv_in_a_pipe_keeps_every_character(place):
    done = subprocess.run(
        [sys.executable, "-m", "deeplake", "query", str(place / "d"), "SELECT text FROM dataset LIMIT 1", "--csv"],
        capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    assert HOSTILE.encode() in done.stdout


def test_what_python_prints(place, capsys):
    ds = deeplake.open(place / "d")
    ds.summary()
    print(ds, ds[0], list(ds.tensors.values()), ds.log(), ds.tags, ds.branches, ds.diff("v1", "work"))
    shown = capsys.readouterr().out
    assert not [sign for sign in ("\x1b", "\x07", "\x9b", "\u202e", "\u2066", "\nFORGED") if sign in shown], shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("\ud800", "\\ud800"),
        ("日本\u3000語 é ß 🌱", "日本\u3000語 é ß 🌱"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_printable(text, shown):
    assert printable(text) == shown
    assert printable(shown) == shown
    if "\ud800" not in text:
        escaped = printable_json(json.dumps(text, ensure_ascii=False))
        assert json.loads(escaped) == text and printable(escaped) == escaped


def test_a_table_is_as_wide_as_what_it_shows():
    lines = table([["a", "b"], ["\x1b", "x"], ["four", "y"]])
    assert lines == ["  a     b", "  \\x1b  x", "  four  y"]
