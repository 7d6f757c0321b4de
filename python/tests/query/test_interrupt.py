"""Ctrl-C during a registered function ends that function alone. Each test has its own process."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

BEGIN = """
import signal
import time
import deeplake
import numpy as np
from deeplake import tql

ds = deeplake.create("mem://interrupt", overwrite=True)
ds.create_tensor("x", dtype="int64")
ds.extend({"x": np.arange(100_000)})
ds.commit()

def spin(x):
    print("runs\\n", end="", flush=True)
    while True:
        pass

def stubborn(x):
    print("runs\\n", end="", flush=True)
    while True:
        try:
            while True:
                pass
        except KeyboardInterrupt:
            print("again\\n", end="", flush=True)
            stubborn.seen += 1
            if stubborn.seen >= 3:
                raise

stubborn.seen = 0
tql.register("SPIN", spin)
tql.register("SPIN_LATE", lambda x: (spin(x) if late else np.zeros((len(x), 400, 400))), shape=(400, 400))
tql.register("STUBBORN", stubborn)
tql.register("NESTED", lambda x: np.full(len(x), len(ds.query("SELECT x WHERE SPIN(x) > 0"))))
tql.register("QUIT", lambda x: exit(7))
late = False
"""

END = """
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    print("answered", flush=True)
late = False
tql.register("TWICE", lambda x: x * 2, returns="int64")
for text in ("SELECT TWICE(x) AS y WHERE x < 3", "SELECT x * 2 AS y WHERE TWICE(x) < 6"):
    for _ in range(20):  # nothing is left for what the threads do next
        assert ds.query(text)["y"][:].tolist() == [0, 2, 4]
print("fine", flush=True)
"""


def run(question, presses=1):
    """Interrupts the question whenever it has said something; returns what it said last."""
    code = f"{BEGIN}\ntry:\n    {question}\n{END.strip()}"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        try:
            for _ in range(presses):
                assert p.stdout.readline().strip() in ("runs", "again"), p.stderr.read()
                p.send_signal(signal.SIGINT)
            out, err = p.communicate(timeout=60)
        finally:
            p.kill()
    assert p.returncode == 0, err
    return [line for line in out.splitlines() if line not in ("runs", "again")]


@pytest.mark.parametrize(
    "question",
    [
        'ds.query("SELECT x WHERE SPIN(x) > 0")',
        'ds.query("SELECT SPIN(x) AS y ORDER BY x LIMIT 3")',
        'ds.explain("SELECT x WHERE SPIN(x) > 0", analyze=True)',
        'ds.query("SELECT x WHERE NESTED(x) > 0")',
        'view = ds.query("SELECT SPIN_LATE(x) AS y WHERE x < 5000"); late = True; view["y"][:4]',
        'view = ds.query("SELECT SPIN_LATE(x) AS y WHERE x < 5000"); late = True; view["y"][2]',
        'view = ds.query("SELECT SPIN_LATE(x) AS y WHERE x < 5000"); late = True; view["y"].bytes([1, 2])',
        'view = ds.query("SELECT SPIN_LATE(x) AS y WHERE x < 5000"); late = True; view["y"].bytes(1)',
        'view = ds.query("SELECT SPIN_LATE(x) AS y WHERE x < 5000"); late = True; view[3:].query("SELECT SUM(y) AS s")',
    ],
)
def test_it_ends(question):
    assert run(question) == ["interrupted", "fine"]


def test_again():
    assert run('ds.query("SELECT x WHERE STUBBORN(x) > 0", threads=1)', presses=3) == ["interrupted", "fine"]


def test_other_queries_go_on():
    """Who else asks with the same function, in another thread, is left alone."""
    question = """
    import threading
    answers = []
    def wait(x):
        go.wait(60)
        return x * 1.0
    go, begun = threading.Event(), threading.Event()
    tql.register("WAIT", lambda x: (begun.set(), wait(x))[1])
    other = threading.Thread(target=lambda: answers.append(len(ds.query("SELECT x WHERE WAIT(x) > 5"))))
    other.start()
    begun.wait()
    try:
        ds.query("SELECT x WHERE SPIN(x) > 0")
    finally:
        go.set()
        other.join()
        assert answers == [99_994], answers
"""
    assert run(question.strip()) == ["interrupted", "fine"]


def test_a_function_may_end_the_program():
    code = f"{BEGIN}\nds.query('SELECT x WHERE QUIT(x) > 0')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 7, done.stderr
