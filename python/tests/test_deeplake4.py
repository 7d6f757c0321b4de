"""The door to datasets of Deep Lake 4: a process that dies, lies, waits or is not there. Scripts stand in for it.

test_deeplake4_package.py reads a dataset by the package itself.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import stat
import subprocess
import sys
import tarfile
import textwrap
import time
from pathlib import Path
from typing import Any

import deeplake
import pyarrow as pa
import pytest

HEAD = f"""#!{sys.executable}
import io, json, os, sys, time
import pyarrow as pa
request = json.loads(sys.stdin.readline())
log = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "log"), "w")
log.write(json.dumps([os.getpid(), sys.argv[1:], request])); log.close()
out = sys.stdout.buffer
def stream(total, schema, rows=None, batch=10, info=None):
    about = {{"rows": total, "package": "4.7.4", "version": "v1", "left_out": {{"video": "no bytes"}}, "metadata": info or {{}}, "schema": schema}}
    table = pa.table({{"id": list(range(total if rows is None else rows)), "text": ["a"] * (total if rows is None else rows)}})
    writer = pa.ipc.new_stream(out, table.schema.with_metadata({{"deeplake4": json.dumps(about)}}))
    for one in table.to_batches(batch):
        writer.write_batch(one.replace_schema_metadata(table.schema.metadata))
        out.flush()
    return writer
SCHEMA = {{"id": {{"dtype": "int64"}}, "text": {{"htype": "text"}}}}
"""


@pytest.fixture
def stand_in(tmp_path: Path):
    """Returns a function that makes an interpreter of a script."""

    def make(script: str) -> str:
        path = tmp_path / "python"
        path.write_text(HEAD + textwrap.dedent(script))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return make


def started(tmp_path: Path) -> list[Any]:
    """Returns the number of the process, its arguments and its request."""
    for _ in range(1000):
        try:
            return json.loads((tmp_path / "log").read_text())
        except (OSError, ValueError):
            time.sleep(0.01)
    raise AssertionError("the process did not start")


def is_gone(process: int) -> bool:
    """Returns whether a process ends within seconds."""
    for _ in range(500):
        try:
            os.kill(process, 0)
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.01)
    return False


def test_rows_become_a_dataset(stand_in, tmp_path, capsys):
    python = stand_in('stream(25, SCHEMA, info={"a": 1}).close()')
    rows = deeplake.deeplake4("some/set", python=python, at="v1")
    with deeplake.ingest(rows, "mem://deeplake4-a", overwrite=True) as ds:
        assert ds["id"].numpy().tolist() == list(range(25)) and ds.schema["text"]["htype"] == "text"
        assert ds.info == {
            "a": 1,
            "deeplake4": {"version": "v1", "package": "4.7.4", "left_out": {"video": "no bytes"}},
        }
        ds.extend(rows)
        assert len(ds) == 50
        ds.discard()
    assert 'column "video" is left out: no bytes' in capsys.readouterr().err
    _, arguments, request = started(tmp_path)
    assert arguments[0] == "-I" and arguments[1].endswith("deeplake4_reader.py") and len(arguments) == 2
    assert request == {"uri": str(Path("some/set").absolute()), "at": "v1", "columns": None}
    assert pa.RecordBatchReader.from_stream(rows).read_all().num_rows == 25
    with deeplake.create("mem://deeplake4-b", overwrite=True) as new:
        new.extend(rows)
        assert list(new.tensors) == ["id", "text"] and len(new) == 25
        new.discard()


@pytest.mark.parametrize(
    ("script", "kind", "match"),
    [
        ("sys.exit(7)", deeplake.WorkerError, "ended with status 7, before the last row"),
        ("print('hello'); sys.exit(0)", deeplake.WorkerError, "ended with status 0, before the last row"),
        ("out.write(b'\\xff' * 100000)", deeplake.WorkerError, "ended with status 0|no stream of Arrow"),
        ("out.write(os.urandom(1 << 20))", deeplake.WorkerError, "status 0|no stream of Arrow"),
        ("sys.stderr.write('first\\nthe \\x1b[31m reason'); os._exit(1)", deeplake.WorkerError, r"the \\x1b\[31m reason"),
        ("pa.ipc.new_stream(out, pa.schema([])).close()", deeplake.WorkerError, "no stream of Arrow of ours|status 0"),
        ("stream(25, SCHEMA, rows=20).close()", deeplake.WorkerError, "its stream ended after 20 of 25 rows"),
        ("stream(25, SCHEMA, rows=20); os._exit(0)", deeplake.WorkerError, "after 20 of 25 rows"),
        ("stream(25, SCHEMA); out.flush(); os.kill(os.getpid(), 11)", deeplake.WorkerError, "SIGSEGV after 25 rows; leave a column out"),
        ("stream(25, SCHEMA, rows=20); out.write(b'\\xff\\xff\\xff\\xff\\x00\\x01\\x00\\x00'); out.flush(); os._exit(2)", deeplake.WorkerError, "status 2 after 20 rows"),
        ("stream(25, SCHEMA, rows=20); out.flush(); time.sleep(100)", deeplake.WorkerError, "silent for 5 s after 20 rows, and was killed; give a longer timeout"),
        ("time.sleep(100)", deeplake.WorkerError, "silent for 5 s, and was killed"),
        ("sys.stderr.write('x' * (1 << 20)); sys.exit(5)", deeplake.WorkerError, "status 5.*its last output: xxx"),
        ("sys.stderr.write('deeplake4-error: {\"kind\": \"missing\", \"text\": \"deeplake 3.9.52 is installed there\"}\\n'); os._exit(3)", deeplake.UnsupportedError, r"deeplake 3.9.52 is installed there, want deeplake 4.7.*pip install"),
        ("sys.stderr.write('deeplake4-error: {\"kind\": \"absent\", \"text\": \"no dataset\"}\\n'); os._exit(3)", deeplake.NotFoundError, "no dataset"),
        ("stream(25, SCHEMA, rows=20); out.flush(); sys.stderr.write('deeplake4-error: {\"kind\": \"read\", \"text\": \"damage\"}\\n'); os._exit(3)", deeplake.WorkerError, "stopped after 20 rows: damage; columns="),
    ],
)  # fmt: skip
def test_a_process_that_fails_is_one_error(stand_in, tmp_path, script, kind, match):
    rows = deeplake.deeplake4("flowers", python=stand_in(script), timeout=5 if "sleep" in script else 60)
    with pytest.raises(deeplake.Error, match=match) as caught:
        deeplake.ingest(rows, tmp_path / "ds", verbose=False)
    assert type(caught.value) is kind
    assert f'"{Path("flowers").absolute()}"' in str(caught.value) and f'"{tmp_path / "python"}"' in str(caught.value)
    assert not deeplake.exists(tmp_path / "ds") and not [one for one in tmp_path.rglob("ds/**/*") if one.is_file()]
    assert is_gone(started(tmp_path)[0])


@pytest.mark.parametrize("is_dirty", [False, True])
def test_extend_takes_all_rows_or_none(stand_in, is_dirty):
    with deeplake.create("mem://deeplake4-c", overwrite=True, schema={"id": {"dtype": "int64"}, "text": "text"}) as ds:
        ds.append({"id": -1, "text": "before"})
        if not is_dirty:
            ds.commit()
        with pytest.raises(deeplake.WorkerError, match="after 20 of 25 rows"):
            ds.extend(deeplake.deeplake4("a", python=stand_in("stream(25, SCHEMA, rows=20).close()")))
        assert ds["id"].numpy().tolist() == [-1] and ds.dirty == is_dirty
        ds.discard()


def test_an_interpreter_that_is_none(tmp_path, monkeypatch):
    monkeypatch.delenv("DEEPLAKE4_PYTHON", raising=False)
    with pytest.raises(deeplake.InvalidArgumentError, match=r"python is missing.*pip install.*or set DEEPLAKE4_PYTHON"):
        deeplake.deeplake4("flowers")
    monkeypatch.setenv("DEEPLAKE4_PYTHON", str(tmp_path / "nothing"))
    with pytest.raises(deeplake.UnsupportedError, match="does not start: No such file"):
        deeplake.ingest(deeplake.deeplake4("flowers"), tmp_path / "ds")
    # This interpreter has a package deeplake, which is not that of Deep Lake 4.
    with pytest.raises(deeplake.UnsupportedError, match=r"deeplake.* is.* installed there, want deeplake 4"):
        deeplake.ingest(deeplake.deeplake4("flowers", python=sys.executable), tmp_path / "ds")
    for wrong in ({"timeout": 0}, {"python": 5}, {"at": None}, {"columns": "images"}, {"timeot": 5}):
        with pytest.raises((deeplake.InvalidArgumentError, TypeError)):
            deeplake.deeplake4("flowers", **{"python": "python", **wrong})


def test_no_dataset_chooses_the_interpreter(stand_in, tmp_path, monkeypatch):
    """Only the argument and the environment do, and no shell reads them."""
    python = stand_in("stream(1, SCHEMA).close()")
    monkeypatch.chdir(tmp_path)
    hostile = "set; touch stolen $(touch stolen)"
    with deeplake.ingest(
        deeplake.deeplake4(hostile, python="./python"), "mem://deeplake4-d", overwrite=True, verbose=False
    ) as ds:
        assert len(ds) == 1
    assert not (tmp_path / "stolen").exists()
    assert started(tmp_path)[2]["uri"] == str(tmp_path / hostile) and python.endswith("python")
    spaced = tmp_path / "a b;c"
    Path(python).rename(spaced)
    with deeplake.ingest(
        deeplake.deeplake4("x", python=spaced), "mem://deeplake4-d", overwrite=True, verbose=False
    ) as ds:
        assert len(ds) == 1


def test_a_reader_that_is_dropped_ends_the_process(stand_in, tmp_path):
    python = stand_in("stream(1000, SCHEMA, rows=20); out.flush(); time.sleep(100)")
    reader = pa.RecordBatchReader.from_stream(deeplake.deeplake4("a", python=python))
    assert len(reader.read_next_batch()) == 10
    process = started(tmp_path)[0]
    del reader
    gc.collect()
    assert is_gone(process)


PROGRAM = """
import deeplake, sys
ds = deeplake.create("mem://x")
print("go", flush=True)
try:
    if sys.argv[2] == "extend":
        ds.extend(deeplake.deeplake4("a", python=sys.argv[1]))
    else:
        deeplake.ingest(deeplake.deeplake4("a", python=sys.argv[1]), "mem://y", verbose=False)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("how", ["ingest", "extend"])
@pytest.mark.parametrize("script", ["time.sleep(100)", "stream(1000, SCHEMA, rows=20); out.flush(); time.sleep(100)"])
def test_ctrl_c_ends_the_process(stand_in, tmp_path, script, how):
    command = [sys.executable, "-c", PROGRAM, stand_in(script), how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        process = started(tmp_path)[0]
        time.sleep(0.3)
        start = time.monotonic()
        program.send_signal(signal.SIGINT)  # to the program alone, as a notebook does
        out, _ = program.communicate(timeout=20)
    assert "interrupted" in out and time.monotonic() - start < 10
    assert is_gone(process)


@pytest.mark.parametrize("crashes", [3, 4])
def test_a_process_that_crashes_starts_again(stand_in, tmp_path, crashes):
    """The package crashes in some starts. A crash behind the first row is an error: see above."""
    python = stand_in(
        f"""
        count = os.path.join(os.path.dirname(os.path.abspath(__file__)), "starts")
        done = os.path.getsize(count) if os.path.exists(count) else 0
        open(count, "a").write("x")
        if done < {crashes}:
            os.kill(os.getpid(), 11)
        stream(25, SCHEMA).close()
        """
    )
    rows = deeplake.deeplake4("set", python=python, timeout=20)
    if crashes == 3:
        assert len(deeplake.ingest(rows, "mem://deeplake4-crashes", verbose=False)) == 25
    else:
        with pytest.raises(deeplake.WorkerError, match="ended by SIGSEGV"):
            deeplake.ingest(rows, "mem://deeplake4-crashes-on", verbose=False)
    assert (tmp_path / "starts").read_text() == "xxxx"


def test_a_killed_program_leaves_no_process(tmp_path):
    """The reader of ours ends with its standard input, also while the other package waits."""
    site = tmp_path / "site"
    (site / "deeplake-4.7.4.dist-info").mkdir(parents=True)
    (site / "deeplake-4.7.4.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: deeplake\nVersion: 4.7.4\n")
    (site / "deeplake.py").write_text(
        "import os, time\ndef open_read_only(uri):\n    print('noise')\n    open(uri, 'w').write(str(os.getpid()))\n    time.sleep(100)\n"
    )
    python = tmp_path / "python"
    python.write_text(
        f"#!/bin/sh\nexec {sys.executable} -I -c \"import sys, runpy; sys.path.insert(0, '{site}'); sys.argv = sys.argv[2:]; runpy.run_path(sys.argv[0], run_name='__main__')\" \"$@\"\n"
    )
    python.chmod(0o755)
    place = tmp_path / "opened"
    program = subprocess.Popen([sys.executable, "-c", PROGRAM.replace('"a"', repr(str(place))), str(python), "ingest"])
    try:
        for _ in range(1000):
            if place.exists() and place.read_text():
                break
            time.sleep(0.01)
        process = int(place.read_text())
    finally:
        program.kill()
        program.wait()
    assert is_gone(process)


def test_a_place_of_deep_lake_4_is_told(tmp_path):
    (tmp_path / "flowers/_deeplake_log/_meta").mkdir(parents=True)
    with pytest.raises(
        deeplake.NotFoundError, match=r"Deep Lake 4 wrote the dataset there; .*deeplake.deeplake4\(path"
    ):
        deeplake.open(tmp_path / "flowers")
    with pytest.raises(deeplake.InvalidArgumentError, match=r"Deep Lake 4 wrote the dataset there"):
        deeplake.ingest(tmp_path / "flowers", tmp_path / "ds")


def test_files_of_deep_lake_4_name_the_way(tmp_path):
    with tarfile.open(Path(__file__).parent / "deeplake4.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    way = r"_deeplake_log/_meta/\*\.jsonl.*Deep Lake 4.*deeplake\.deeplake4\(uri, python=\.\.\.\)"
    place = tmp_path / "kinds"
    before = sorted(place.rglob("*"))
    with pytest.raises(deeplake.UnsupportedError, match=way):
        deeplake.open(place)
    for overwrite in (False, True):
        with pytest.raises(deeplake.AlreadyExistsError, match=way):
            deeplake.create(place, overwrite=overwrite)
    with pytest.raises(deeplake.InvalidArgumentError, match=r"deeplake\.deeplake4"):
        deeplake.ingest(place, tmp_path / "ds")
    done = subprocess.run(
        [sys.executable, "-m", "deeplake", "create", str(tmp_path / "ds"), f"from-{place}"],
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0 and "deeplake.deeplake4" in done.stderr
    assert sorted(place.rglob("*")) == before
