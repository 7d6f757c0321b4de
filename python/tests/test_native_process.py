"""Life inside a Python process: fork, spawn, signals, panics, exit. Each case is a process of its own with a time limit,
so that a hang or a crash fails one test alone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest

PREAMBLE = """
import os, signal, sys, threading, time
import numpy as np
from deeplake import _errors, _native

def make(uri, rows=64):
    ds = _native.create(uri)
    ds.create_tensor({"name": "x", "dtype": "int64"})
    ds.append({"x": np.arange(rows)})
    ds.commit()
    return ds

def total(uri):
    view = _native.open(uri, read_only=True).view()
    batches = view.loader({"batch_size": 7, "num_workers": 2}).start(0)
    return sum(int(b.numpy()["x"].sum()) for b in batches)
"""


def run(tmp_path, body: str, *, limit: float = 60, status: int = 0) -> str:
    """Runs body with PREAMBLE and `path`, a place for a dataset, and returns its output."""
    code = PREAMBLE + f"path = {str(tmp_path / 'ds')!r}\n" + textwrap.dedent(body)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=limit)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def test_import_loads_no_core(tmp_path):
    out = run(tmp_path, "print(_native.loaded(), 'libdeeplake' in open('/proc/self/maps').read())")
    assert out.split() == ["False", "False"]


FORK = """
    make(path).close()
    want = sum(range(64))
    stop = False
    def busy():
        while not stop:
            assert total(path) == want
    threads = [threading.Thread(target=busy) for _ in range(2)]
    for t in threads:
        t.start()

    def child(depth):
        assert total(path) == want, "wrong rows"
        if depth:
            pid = os.fork()
            if pid == 0:
                os._exit(child(depth - 1))
            return os.waitpid(pid, 0)[1] != 0
        return 0

    for i in range(%d):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = child(1)
            finally:
                os._exit(code)
        deadline = time.monotonic() + 30
        while True:
            done, code = os.waitpid(pid, os.WNOHANG)
            if done:
                break
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
                sys.exit(f"child {i} hangs")
            time.sleep(0.002)
        if code:
            sys.exit(f"child {i}: {code}")
    stop = True
    for t in threads:
        t.join()
    print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a forked child needs memfd_create")
def test_fork_child_and_grandchild(tmp_path):
    assert run(tmp_path, FORK % 5, limit=120) == "done\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a forked child needs memfd_create")
def test_fork_a_hundred_times(tmp_path):
    assert run(tmp_path, FORK % 100, limit=600) == "done\n"


@pytest.mark.skipif(sys.platform != "linux", reason="a forked child needs memfd_create")
def test_handles_of_the_parent_are_dead_in_the_child(tmp_path):
    out = run(
        tmp_path,
        """
        ds = make(path)
        view = ds.view()
        epoch = view.loader({"batch_size": 8}).start(0)
        batch = next(epoch)
        array = batch.columns()["x"]
        before = _native.generation()
        pid = os.fork()
        if pid == 0:
            assert not _native.loaded() and _native.generation() != before
            for f in (ds.describe, view.names, lambda: next(epoch), lambda: view.column("x"), lambda: len(view)):
                try:
                    f()
                except _errors.ForkedError as e:
                    assert "open" in str(e)
                else:
                    os._exit(1)
            assert not ds.alive and ds.generation == before
            assert list(array.numpy()) == list(range(8))     # memory of the parent can still be read
            assert not _native.loaded()
            for h in (epoch, view, ds):
                h.close()
            assert total(path) == sum(range(64)) and _native.loaded()
            del ds, view, epoch, batch, array, h, f
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert ds.alive and ds.describe()["rows"] == 64 and len(next(epoch)) == 8
        print(sum(range(64)))
        """,
    )
    assert out.split() == ["2016"]


@pytest.mark.skipif(sys.platform != "linux", reason="a forked child needs memfd_create")
def test_child_whose_parent_died(tmp_path):
    out = run(
        tmp_path,
        """
        make(path).close()
        read, write = os.pipe()
        if os.fork() == 0:
            total(path)
            parent = os.getpid()
            if os.fork() == 0:
                while os.getppid() == parent:
                    time.sleep(0.005)
                os.write(write, str(total(path)).encode())
            os._exit(0)
        os.wait()
        os.close(write)
        print(os.read(read, 100).decode())
        """,
    )
    assert out.split() == ["2016"]


@pytest.mark.skipif(sys.platform != "linux", reason="a forked child needs memfd_create")
def test_child_that_closed_every_descriptor(tmp_path):
    out = run(
        tmp_path,
        """
        make(path).close()
        pid = os.fork()
        if pid == 0:
            os.closerange(3, 256)
            os._exit(0 if total(path) == 2016 else 1)
        print(os.waitpid(pid, 0)[1])
        """,
    )
    assert out.split() == ["0"]


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_multiprocessing(tmp_path, method):
    script = tmp_path / "pool.py"
    script.write_text(
        PREAMBLE
        + textwrap.dedent(
            f"""
            import multiprocessing
            if __name__ == "__main__":
                path = {str(tmp_path / "ds")!r}
                make(path).close()
                with multiprocessing.get_context({method!r}).Pool(2) as pool:
                    print(pool.map(total, [path] * 4, chunksize=1))
            """
        )
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.stdout == "[2016, 2016, 2016, 2016]\n", done.stdout + done.stderr


@pytest.mark.parametrize("where", ["call", "task"])
def test_panic_is_an_error_and_poisons(tmp_path, where):
    out = run(
        tmp_path,
        f"""
        for call in (lambda: _native._test_panic({where!r}), _native.error_table, lambda: _native.exists(path)):
            try:
                call()
            except _errors.InternalError as e:
                print("panic" in str(e), "stopped working" in str(e))
        """,
    )
    assert out.split() == ["True", "False", "True", "True", "True", "True"]


INTERRUPT = """
    started = threading.Event()
    def interrupt():
        started.wait()
        time.sleep(0.3)
        global sent
        sent = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt).start()
    try:
        %s
    except KeyboardInterrupt:
        late = time.monotonic() - sent
        print(late)
"""


def answers_soon(tmp_path, body):
    """Whether Ctrl-C comes through within 0.2 s; the best of three, because the machine may be busy with other things."""
    late = []
    for i in range(3):
        late.append(float(run(tmp_path / str(i), "    os.makedirs(os.path.dirname(path))" + INTERRUPT % body)))
        if late[-1] < 0.2:
            return True
    raise AssertionError(late)


@pytest.mark.alone
def test_ctrl_c_while_batches_come(tmp_path):
    answers_soon(
        tmp_path,
        "make(path); loader = _native.open(path).view().loader({'batch_size': 1}); started.set()\n"
        "        while True:\n"
        "            for _ in loader.start(0): pass",
    )


@pytest.mark.alone
def test_ctrl_c_in_a_long_call(tmp_path):
    answers_soon(
        tmp_path,
        "ds = make(path); view = ds.view(); started.set()\n"
        "        while True: view.read(np.zeros(200_000, dtype='int64'))",
    )


def test_signal_handler_may_call_the_core(tmp_path):
    out = run(
        tmp_path,
        """
        ds = make(path)
        seen = []
        signal.signal(signal.SIGALRM, lambda *_: seen.append(ds.describe()["rows"] + len(ds.log())))
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        view = ds.view()
        end = time.monotonic() + 1
        while time.monotonic() < end:
            view.read(np.zeros(50_000, dtype="int64"))
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(len(seen) > 3, set(seen))
        """,
    )
    assert out.split() == ["True", "{66}"]


@pytest.mark.parametrize(
    "ending", ["pass", "sys.exit(0)", "os.kill(os.getpid(), signal.SIGTERM)", "raise SystemExit(0)", "thread.join(0.1)"]
)
def test_exit_with_a_live_loader(tmp_path, ending):
    body = """
        ds = make(path, rows=100_000)
        view = ds.view()
        epoch = view.loader({"batch_size": 10, "num_workers": 4}).start(0)
        kept = [next(epoch), next(epoch).numpy()]
        def consume():
            while True:
                for batch in view.loader({"batch_size": 10}).start(0):
                    batch.numpy()
                    consuming.set()
        consuming = threading.Event()
        thread = threading.Thread(target=consume, daemon=True)
        thread.start()
        consuming.wait(60)
        print("end", flush=True)
    """
    killed = -signal.SIGTERM if "SIGTERM" in ending else 0
    assert run(tmp_path, textwrap.dedent(body) + ending, status=killed) == "end\n"


def test_the_environment_passes_through(tmp_path):
    run(
        tmp_path,
        """
        _native.configure({"gogc": 50, "memory_limit": 1 << 30, "gomaxprocs": 1, "env": {"A": "b", "C": None}})
        for wrong, word in (({"gomaxproc": 1}, "gomaxprocs"), ({"gomaxprocs": 0}, "at least"), ({"gogc": "x"}, "number")):
            try:
                _native.configure(wrong)
            except _errors.InvalidArgumentError as e:
                assert word in str(e), e
            else:
                sys.exit("no error for " + repr(wrong))
        """,
    )


def test_a_core_that_cannot_be_loaded(tmp_path):
    package = tmp_path / "deeplake"
    package.mkdir()
    import deeplake._errors
    import deeplake._native

    # A copy, because the extension looks beside its real place.
    for module in (deeplake._native, deeplake._errors):
        shutil.copy(module.__file__, package)
    (package / "__init__.py").touch()
    code = """if True:
        from deeplake import _errors, _native
        for i in range(2):
            try:
                _native.version()
            except _errors.UnsupportedError as e:
                print(e)
    """
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60, env=env
    )
    assert done.stdout.count("libdeeplake.so") >= 2, done.stderr
