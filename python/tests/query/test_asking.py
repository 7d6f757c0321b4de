"""Bad questions, interruptions, several threads, memory, the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time

import deeplake
import numpy as np
import pytest


@pytest.fixture(scope="module")
def ds():
    ds = deeplake.create("mem://asking", overwrite=True)
    ds.create_tensor("x", dtype="int64")
    ds.create_tensor("group/name", "text")
    ds.create_tensor("label", "class_label", class_names=["cat", "dog"])
    ds.create_tensor("v", dtype="float32")
    ds.extend(
        {
            "x": np.arange(100),
            "group/name": [f"w{i}" for i in range(100)],
            "label": np.arange(100) % 2,
            "v": np.ones((100, 3), np.float32),
        }
    )
    ds.commit()
    return ds


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("SELECT lable", deeplake.Error, 'line 1, column 8.*"label"'),
        ("SELECT x WHERE LENGHT(x) > 1", deeplake.Error, "column 16.*LENGTH"),
        ("SELECT x FORM y", deeplake.InvalidArgumentError, "column"),
        ("SELECT x WHERE x ~ 3", deeplake.InvalidArgumentError, "line 1, column 18"),
        ("SELECT ABS(x, 1)", deeplake.Error, "column 8"),
        ("SELECT x + 'a'", deeplake.TensorTypeError, "column 8"),
        ("SELECT x WHERE label = 'cow'", deeplake.Error, "cow"),
        ("SELECT v[7]", deeplake.Error, "7"),
        ("SELECT x LIMIT -1", deeplake.InvalidArgumentError, "LIMIT"),
        ("SELECT x WHERE x = ?", deeplake.InvalidArgumentError, "column 20"),
        ("", deeplake.InvalidArgumentError, "SELECT"),
        ("SELECT * FROM \"mem://there-is-none\"", deeplake.NotFoundError, "there-is-none"),
        ('SELECT * FROM "mem://asking"@nothing', deeplake.NotFoundError, "nothing"),
        ("SELECT x\nFROM dataset\nWHERE y = 1", deeplake.Error, "line 3, column 7"),
    ],
)  # fmt: skip
def test_errors_say_where(ds, text, kind, words):
    import re

    with pytest.raises(kind) as caught:
        ds.query(text)
    assert re.search(words, str(caught.value), re.DOTALL), caught.value
    with pytest.raises(kind):
        ds.explain(text)
    assert ds["x"][5] == 5


def test_odd_texts(ds):
    for text in (
        "(" * 10_000 + "SELECT",
        "SELECT " + "(" * 10_000 + "1" + ")" * 10_000,
        "SELECT " + "NOT " * 20_000 + "x",
        "SELECT '" + "a" * (10 << 20),
    ):
        with pytest.raises(deeplake.Error):
            ds.query(text)
    assert len(ds.query("SELECT x WHERE x IN (" + ",".join(map(str, range(50_000))) + ")")) == 100
    assert len(ds.query("SELECT x" + " " * (1 << 19))) == 100


def test_arguments(ds):
    for options in ({"seed": -1}, {"seed": 1.5}, {"memory": 0}, {"threads": 0}, {"memory": "1GB"}):
        with pytest.raises(deeplake.InvalidArgumentError, match=next(iter(options))):
            ds.query("SELECT x", **options)
    with pytest.raises(deeplake.InvalidArgumentError, match='"seed"'):
        ds.query("SELECT x", sead=1)
    with pytest.raises(deeplake.InvalidArgumentError, match="text"):
        ds.query(3)
    for value in (object(), 1 << 70, 3 + 4j, [[1], [2, 3]], {(1, 2), "a"}):
        with pytest.raises(deeplake.Error, match="parameter 1"):
            ds.query("SELECT x WHERE x = ?", value)
    with pytest.raises(deeplake.InvalidArgumentError, match="FROM"):
        deeplake.query("SELECT 1 AS one")
    with pytest.raises(deeplake.Error):
        ds.query("SELECT x WHERE x > ?", 1, 2)


def test_seeds(ds):
    text = "SELECT x WHERE RANDOM() < 0.5"
    assert ds.query(text, seed=1).indices.tolist() == ds.query(text, seed=1).indices.tolist()
    assert ds.query(text, seed=1).indices.tolist() != ds.query(text, seed=2).indices.tolist()


def test_explain(ds):
    plan = ds.explain("SELECT x WHERE x > 97 ORDER BY v[0] LIMIT 1")
    assert "x > 97" in str(plan) and plan.plan["plan"]["does"] and "done" not in plan.plan
    done = ds.explain("SELECT x WHERE x > 97", analyze=True)
    assert done.plan["done"]["rows"] == 2 and "done in" in str(done)


def test_memory_is_bounded(ds):
    with pytest.raises(deeplake.Error, match="memory"):
        ds.query(
            'SELECT a.x FROM dataset AS a, "mem://asking" AS b, "mem://asking" AS c, "mem://asking" AS d',
            memory=10 << 20,
        )


SLOW = (
    'SELECT SUM(a.x * b.x + c.x) AS s FROM dataset AS a, "mem://asking" AS b, "mem://asking" AS c, "mem://asking" AS d'
)


def test_ctrl_c(ds):
    done = []

    def press():
        time.sleep(0.3)  # long enough for it to run; that it runs is asserted below
        done.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        ds.query(SLOW, memory=1 << 34)
    took = time.perf_counter() - done[0]
    thread.join()
    assert took < 2  # a fifth of a second on a machine that has nothing else to do
    assert len(ds.query("SELECT x WHERE x < 3")) == 3


def test_from_several_threads(ds):
    wrong = []

    def ask(k):
        for i in range(30):
            if ds.query("SELECT x, x + ? AS y WHERE x % 10 = ?", k, i % 10)["y"][0] != i % 10 + k:
                wrong.append((k, i))

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_closed_dataset():
    ds = deeplake.create("mem://closed", overwrite=True)
    ds.create_tensor("x", dtype="int64")
    ds.append({"x": 1})
    ds.commit()
    view = ds.query("SELECT x, x + 1 AS y")
    ds.close()
    with pytest.raises(deeplake.ClosedError):
        ds.query("SELECT x")
    with pytest.raises(deeplake.ClosedError):
        view["x"][:]


# --- the command line


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory):
    uri = str(tmp_path_factory.mktemp("cli") / "ds")
    with deeplake.create(uri) as ds:
        ds.create_tensor("x", dtype="int64")
        ds.create_tensor("s", "text")
        ds.create_tensor("label", "class_label", class_names=["cat", "dog"])
        ds.create_tensor("v", dtype="float32")
        ds.create_tensor("d", dtype="date")
        ds.extend({"x": np.arange(50), "s": [None if i == 1 else f"word {i}" + "!" * 60 * (i == 2) for i in range(50)], "label": np.arange(50) % 2,
                   "v": np.ones((50, 20), np.float32), "d": np.arange(50)})  # fmt: skip
        ds.commit()
    return uri


def cli(*args):
    return subprocess.run([sys.executable, "-m", "deeplake", *args], capture_output=True, text=True, timeout=60)


def test_a_table(on_disk):
    done = cli("query", on_disk, "SELECT x, s, label, v, d, x / 3 AS third WHERE x < 30")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["x", "s", "label", "v", "d", "third"]
    assert "NULL" in lines[2] and "dog" in lines[2] and "float32 (20,)" in lines[1] and "1970-01-02" in lines[2]
    assert "..." in lines[3] and "0.333333" in lines[2] and "10 more rows" in lines[-1] and len(lines) == 22
    assert len(cli("query", on_disk, "SELECT x", "--limit-rows-shown", "3").stdout.splitlines()) == 5


def test_machines(on_disk, tmp_path):
    rows = json.loads(
        cli("query", on_disk, "SELECT x, s, label, v WHERE x = ? OR s = ?", "-p", "1", "-p", "word 3", "--json").stdout
    )
    assert rows == [
        {"x": 1, "s": None, "label": "dog", "v": [1.0] * 20},
        {"x": 3, "s": "word 3", "label": "dog", "v": [1.0] * 20},
    ]
    assert json.loads(cli("query", on_disk, "SELECT x WHERE x < 0", "--json").stdout) == []
    out = cli("query", on_disk, "SELECT x, s WHERE x IN (1, 3)", "--csv").stdout
    assert out == "x,s\n1,\n3,word 3\n"
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    done = cli("query", on_disk, "SELECT x, label, v", "--parquet", str(path))
    assert "wrote 50 rows" in done.stdout and pq.read_table(path).column("label").to_pylist()[1] == "dog"


def test_plans(on_disk):
    assert "x > 3" in cli("query", on_disk, "SELECT x WHERE x > 3", "--explain").stdout
    assert "done in" in cli("query", on_disk, "SELECT x WHERE x > 3", "--analyze").stdout
    assert json.loads(cli("query", on_disk, "SELECT x WHERE x > 3", "--analyze", "--json").stdout)["done"]["rows"] == 46


def test_without_a_dataset(on_disk):
    done = cli("query", f'SELECT COUNT(*) AS n FROM "{on_disk}"', "--json")
    assert json.loads(done.stdout) == [{"n": 50}]


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["SELECT nope"], 1, "line 1, column 8"),
        (["SELECT x", "--json", "--csv"], 2, "exclude"),
        (["SELECT x", "more"], 2, "3 arguments"),
        (["SELECT x WHERE x = ?"], 1, "?"),
        (["SELECT x", "--explain", "--csv"], 2, "they give no rows"),
        (["SELECT x", "--analyze", "--parquet", "rows.parquet"], 2, "they give no rows"),
        (["SELECT x", "--parquet", "there-is-none/rows.parquet"], 2, 'there is no directory "there-is-none"'),
        (["SELECT x", "--parquet", "."], 2, "is a directory"),
    ],
)
def test_mistakes(on_disk, args, code, words):
    done = cli("query", on_disk, *args)
    assert done.returncode == code and words in done.stderr
    assert "Traceback" not in done.stderr


def test_the_place_of_a_mistake(on_disk):
    done = cli("query", on_disk, "SELECT x\nWHERE\tnope > 3")
    lines = done.stderr.splitlines()
    assert lines[0].startswith("deeplake: query, line 2, column 7: ") and len(lines) == 3
    assert lines[1] == "  WHERE nope > 3" and lines[2] == "        ^"
    assert (
        cli("info", on_disk + "\x1b[31m\n").stderr.count("\x1b") == 0
    )  # nothing that a terminal would take for orders


def test_json_of_what_is_no_number(tmp_path):
    uri = str(tmp_path / "ds")
    with deeplake.create(uri) as ds:
        ds.create_tensor("x", dtype="float64")
        ds.create_tensor("m", "json")
        ds.extend({"x": [np.nan, np.inf, 1.5], "m": [{"a": [1.0, None]}, None, [2]]})
        ds.commit()
    done = cli("query", uri, "SELECT x, -x AS y, [x, 1] AS z, m", "--json")
    assert json.loads(done.stdout, parse_constant=pytest.fail) == [
        {"x": None, "y": None, "z": [None, 1.0], "m": {"a": [1.0, None]}},
        {"x": None, "y": None, "z": [None, 1.0], "m": None},
        {"x": 1.5, "y": -1.5, "z": [1.5, 1.0], "m": [2]},
    ], done.stderr


def test_names_in_from(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPLAKE_ROOTS", f"me={tmp_path}")
    monkeypatch.chdir(tmp_path)
    with deeplake.create("deeplake://me/flowers") as made:
        made.create_tensor("x", dtype="int64")
        made.extend({"x": [1, 2, 3]})
        made.commit()
        made.tags.create("first")
        made.append({"x": 4})
        made.commit()
    for name in ("deeplake://me/flowers", f"{tmp_path}/flowers", f"file://{tmp_path}/flowers"):
        assert len(deeplake.query(f'SELECT x FROM "{name}"')) == 4, name
    assert deeplake.query('SELECT x FROM "deeplake://me/flowers"@first')["x"][:].tolist() == [1, 2, 3]
    assert deeplake.query("SELECT x FROM 'deeplake://me/flowers'@first")["x"][:].tolist() == [1, 2, 3]
    assert deeplake.query("SELECT x FROM \"deeplake://me/flowers\" AT 'main'")["x"][-1] == 4
    assert "deeplake://me/nothing" in str(_error('SELECT x FROM "deeplake://me/nothing"'))


def _error(text):
    with pytest.raises(deeplake.NotFoundError) as caught:
        deeplake.query(text)
    return caught.value
