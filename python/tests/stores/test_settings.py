"""deeplake.Storage, credentials, and datasets in buckets: through real servers of S3 and of Google Cloud Storage."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import deeplake
import numpy as np
import pytest
from deeplake._stores.environ import environ
from servers import Server

SECRET = "t0ps3cret"
EVERYTHING = {
    "endpoint": "http://127.0.0.1:1",
    "region": "eu-west-1",
    "profile": "work",
    "credentials": {"access_key_id": "AKIA", "secret_access_key": SECRET, "session_token": SECRET + "2"},
    "anonymous": True,
    "path_style": True,
    "requester_pays": True,
    "user_project": "payer",
    "encryption": "aws:kms",
    "encryption_key": "alias/key",
    "customer_key": SECRET + "3",
    "checksums": "when_required",
    "headers": {"Authorization": SECRET + "4"},
    "ca_file": "/etc/ca.pem",
    "proxy": f"http://me:{SECRET}5@proxy:3128",
    "max_connections": 7,
    "max_bytes_in_flight": 8,
    "connect_timeout": 1.5,
    "timeout": 2,
    "retry_time": 3.5,
    "max_attempts": 4,
    "hedge": False,
    "cache_dir": "/cache",
    "cache_bytes": 9,
    "cache_memory_bytes": 10,
    "max_pixels": 11,
}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """An environment without credentials, where no file of this machine's user counts."""
    for name in environ():
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return monkeypatch


def test_environ_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "one")
    monkeypatch.setenv("PATH_OF_OTHERS", "x")
    assert environ()["AWS_PROFILE"] == "one"
    assert "PATH_OF_OTHERS" not in environ()
    monkeypatch.setenv("AWS_PROFILE", "two")
    assert environ()["AWS_PROFILE"] == "two"
    monkeypatch.delenv("AWS_PROFILE")
    assert "AWS_PROFILE" not in environ()
    with mock.patch.object(os, "environ", {"HF_TOKEN": "t"}):
        assert environ() == {"HF_TOKEN": "t"}


@pytest.fixture
def place(store: Server) -> str:
    return store.uri(store.new_bucket(), "team", "numbers")


@pytest.fixture
def settings(store: Server) -> deeplake.Storage:
    return deeplake.Storage(**store.settings())


def fill(uri: str, storage: deeplake.Storage | None = None) -> deeplake.Dataset:
    ds = deeplake.create(uri, schema={"x": {"dtype": "int64"}, "word": "text"}, storage=storage)
    ds.extend({"x": np.arange(100), "word": [f"w{i}" for i in range(100)]})
    ds.commit("a hundred rows")
    return ds


# --- settings as a value


def test_every_field_reaches_the_core() -> None:
    fields = deeplake.Storage(**EVERYTHING).settings()
    assert len(fields) == len(EVERYTHING) + 2  # credentials are three fields
    # The core knows every one of them, or it would refuse; it fails later, as there is no such
    # server.
    with pytest.raises(deeplake.Error) as caught:
        deeplake.exists("s3://bucket/x", storage=deeplake.Storage(**EVERYTHING))
    assert "unknown option" not in str(caught.value) and SECRET not in str(caught.value)


def test_equality_and_hash() -> None:
    one, same, other = (deeplake.Storage(**EVERYTHING | {"region": r}) for r in ("a", "a", "b"))
    assert one == same and hash(one) == hash(same) and one != other and one != 1
    assert len({one, same, other, deeplake.Storage(), deeplake.Storage()}) == 3


def test_settings_cannot_be_changed() -> None:
    storage = deeplake.Storage(region="a")
    with pytest.raises(AttributeError, match="cannot be changed"):
        storage.region = "b"  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        storage._fields = {}
    with pytest.raises(TypeError):
        deeplake.Storage("http://endpoint")  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"regin": "x"}, r'Storage: unknown argument "regin"; did you mean "region"'),
        ({"region": 1}, "region is a int, want a str"),
        ({"credentials": {"acess_key_id": SECRET}}, 'no "acess_key_id".*did you mean "access_key_id"'),
        ({"credentials": {"access_key_id": SECRET}}, "go together"),
        ({"credentials": {"bearer_token": 73570}}, "is a int, want a str"),
        ({"credentials": [SECRET]}, "want a dict or the path"),
        ({"customer_key": SECRET.encode()}, "customer_key is a bytes"),
        ({"headers": {"a": 73570}}, "headers"),
        ({"headers": SECRET}, "want a dict"),
        ({"max_connections": -1}, "want an int >= 0"),
        ({"max_connections": 1.5}, "want an int >= 0"),
        ({"timeout": float("nan")}, "want a number >= 0"),
        ({"timeout": True}, "want a number"),
        ({"anonymous": "yes"}, "want True or False"),
        ({"cache_dir": ""}, "want a path"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, object], says: str) -> None:
    with pytest.raises(deeplake.InvalidArgumentError, match=says) as caught:
        deeplake.Storage(**given)  # type: ignore[arg-type]
    assert SECRET not in str(caught.value) and "73570" not in str(caught.value)


def test_something_else_than_settings_is_refused() -> None:
    for call in (deeplake.open, deeplake.create, deeplake.exists, deeplake.delete):
        with pytest.raises(deeplake.InvalidArgumentError, match=r"got dict, want deeplake\.Storage"):
            call("s3://bucket/x", storage={"secret_access_key": SECRET})  # type: ignore[operator]


# --- secrets


def test_secrets_never_show() -> None:
    storage = deeplake.Storage(**EVERYTHING)
    texts = [repr(storage), str(storage), f"{storage}", repr([storage]), repr(vars(type(storage)))]
    texts += [repr(pickle.loads(pickle.dumps(storage)))]
    assert all(SECRET not in text for text in texts) and "AKIA" in texts[0] and "***" in texts[0]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert SECRET.encode() not in pickle.dumps(storage, protocol)
    with pytest.raises(TypeError):
        json.dumps(storage)


def test_settings_without_secrets_pickle_whole() -> None:
    storage = deeplake.Storage(region="a", headers={}, timeout=3, cache_dir="here", credentials="key.json")
    assert pickle.loads(pickle.dumps(storage)) == storage
    assert storage.settings()["credentials_file"] == os.path.abspath("key.json")  # noqa: PTH100


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_keep_secrets(copied: Callable[[deeplake.Storage], deeplake.Storage]) -> None:
    storage = deeplake.Storage(**EVERYTHING)
    assert copied(storage).settings() == storage.settings()


def test_what_lost_its_secrets_says_so() -> None:
    lost = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(deeplake.Storage(**EVERYTHING)))))
    assert lost != deeplake.Storage(**EVERYTHING)
    with pytest.raises(deeplake.InvalidArgumentError, match=r'"secret_access_key".*left out.*give storage= again'):
        deeplake.open("s3://bucket/x", storage=lost)


def _tell(pipe: multiprocessing.connection.Connection, storage: deeplake.Storage) -> None:
    pipe.send(storage.settings() == deeplake.Storage(**EVERYTHING).settings())


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_processes_that_are_started_get_secrets(method: str) -> None:
    context = multiprocessing.get_context(method)
    here, there = context.Pipe()
    process = context.Process(target=_tell, args=(there, deeplake.Storage(**EVERYTHING)))
    process.start()
    try:
        assert here.poll(60) and here.recv() is True
    finally:
        process.join(60)


def test_a_pickled_dataset_has_no_secrets(s3: Server) -> None:
    storage = deeplake.Storage(**s3.settings())
    with fill(s3.uri(s3.new_bucket(), "set"), storage) as ds:
        for value in (ds, ds[3:], ds["x"], ds.batches(4)):
            data = pickle.dumps(value)
            assert s3.secret_key.encode() not in data and s3.secret_key not in repr(value)
        view = pickle.loads(pickle.dumps(ds[3:]))
        with pytest.raises(deeplake.InvalidArgumentError, match="left out when they were pickled"):
            view["x"].numpy()


def test_with_credentials_of_the_environment_pickles_work(s3: Server, environment: pytest.MonkeyPatch) -> None:
    for name, value in s3.environment().items():
        environment.setenv(name, value)
    with fill(s3.uri(s3.new_bucket(), "set")) as ds:
        data = pickle.dumps(ds[90:])
        assert s3.secret_key.encode() not in data
        assert pickle.loads(data)["x"].numpy().tolist() == list(range(90, 100))


# --- datasets in a bucket


def test_a_dataset_in_a_bucket(place: str, settings: deeplake.Storage) -> None:
    assert not deeplake.exists(place, storage=settings)
    with fill(place, settings) as ds:
        first = ds.head
        ds.append({"x": 100, "word": "last"})
        ds.commit("one more")
        with deeplake.open(place, storage=settings) as again:
            assert len(again) == 101 and again[100]["word"] == "last" and again[-1]["x"] == 100
            assert again["x"].numpy().tolist() == list(range(101))
            assert [commit.message for commit in again.log()][:2] == ["one more", "a hundred rows"]
            assert len(again.at(first)) == 100
            again.update(5, {"x": -5})
            again.commit("another")
        ds.refresh()
        assert ds[5]["x"] == -5
        got = sorted(x for batch in ds.batches(16, shuffle=True) for x in batch["x"].tolist())
        assert got == sorted([-5, *(i for i in range(101) if i != 5)])
    with pytest.raises(deeplake.AlreadyExistsError):
        deeplake.create(place, storage=settings)
    assert deeplake.exists(place, storage=settings)
    deeplake.delete(place, storage=settings)
    assert not deeplake.exists(place, storage=settings)


def test_a_commit_of_the_past_keeps_its_settings(place: str, settings: deeplake.Storage) -> None:
    with fill(place, settings) as ds:
        past = ds.at(ds.log()[1])
        assert len(past) == 0 and past._source.storage is settings


def test_a_cache_answers_for_the_store(s3: Server, proxy: Server, tmp_path: Path) -> None:
    uri = s3.uri(s3.new_bucket(), "set")
    fill(uri, deeplake.Storage(**s3.settings())).close()
    storage = deeplake.Storage(**proxy.settings(through_proxy=True), cache_dir=tmp_path / "cache")
    seen = []
    for _ in range(2):
        proxy.reset()
        with deeplake.open(uri, storage=storage) as ds:
            assert ds["x"].numpy().sum() == 4950
        seen.append([r for r in proxy.requests() if "/data/" in r["target"]])
    assert seen[0] and not seen[1]


# --- the environment of now


def test_changes_of_the_environment_are_seen(store: Server, place: str, environment: pytest.MonkeyPatch) -> None:
    fill(place, deeplake.Storage(**store.settings())).close()
    found = store.environment()
    for name, value in found.items():
        environment.setenv(name, value)
    with deeplake.open(place) as ds:
        assert len(ds) == 100
    pointer = "STORAGE_EMULATOR_HOST" if store.scheme == "gs" else "AWS_ENDPOINT_URL"
    environment.setenv(pointer, "http://127.0.0.1:1")
    with pytest.raises(deeplake.StorageError, match="cannot be reached"):
        deeplake.open(place)
    environment.setenv(pointer, found[pointer])
    assert deeplake.exists(place)
    if store.scheme == "s3":
        environment.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        with pytest.raises(deeplake.AccessDeniedError) as caught:
            deeplake.open(place)
        assert SECRET not in str(caught.value)


def test_profiles(s3: Server, environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "creds").write_text(
        f"[work]\naws_access_key_id = {s3.access_key}\naws_secret_access_key = {s3.secret_key}\n"
    )
    (tmp_path / "config").write_text(f"[profile work]\nregion = {s3.region}\nendpoint_url = {s3.endpoint}\n")
    environment.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "creds"))
    environment.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    uri = s3.uri(s3.new_bucket(), "set")
    with fill(uri, deeplake.Storage(profile="work")) as ds:
        assert len(ds) == 100
    environment.setenv("AWS_PROFILE", "work")
    assert deeplake.exists(uri)


# --- other processes

PROGRAM = """
import os, sys
import numpy as np
import deeplake

def child(work):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, repr(work()).encode())
        except BaseException as err:
            os.write(write, f"{type(err).__name__}: {err}".encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as f:
        text = f.read()
    os.waitpid(pid, 0)
    return text

if __name__ == "__main__":
    uri, endpoint, region, key, secret = sys.argv[1:]
    storage = deeplake.Storage(
        endpoint=endpoint, region=region, credentials={"access_key_id": key, "secret_access_key": secret}
    )
    ds = deeplake.open(uri, storage=storage)
    view = ds[10:]
    ds[0]["x"]
    print(child(lambda: (ds[3]["x"].item(), view["x"].numpy().sum().item(), child(lambda: ds[4]["word"]))))
    print(child(lambda: (ds.append({"x": 1000, "word": "child"}), ds.commit(), len(ds))[-1]))
    import torch
    for method in ("fork", "spawn", "forkserver"):
        loader = torch.utils.data.DataLoader(
            view.torch_dataset(), batch_size=8, num_workers=2, multiprocessing_context=method, timeout=50
        )
        print(method, [x for batch in loader for x in batch["x"].tolist()] == list(range(10, 100)))
"""


@pytest.mark.slow
def test_forks_spawns_and_workers(s3: Server, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    uri = s3.uri(s3.new_bucket(), "set")
    fill(uri, deeplake.Storage(**s3.settings())).close()
    (tmp_path / "program.py").write_text(PROGRAM)
    arguments = [uri, s3.endpoint, s3.region, s3.access_key, s3.secret_key]
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["(3, 4905, \"'w4'\")", "101", "fork True", "spawn True", "forkserver True"]


# --- deeplake://org/name


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Callable[..., str]]:
    def run(*arguments: str, check: bool = True, **variables: str) -> str:
        kept = {name: value for name, value in os.environ.items() if name not in environ()}
        done = subprocess.run(
            [sys.executable, "-m", "deeplake", *arguments],
            capture_output=True, text=True, timeout=60, check=False, env=kept | {"HOME": str(tmp_path)} | variables,
        )  # fmt: skip
        assert (done.returncode == 0) == check, done.stderr
        return done.stdout if check else done.stderr

    return run


def test_names_in_a_bucket(store: Server, command: Callable[..., str]) -> None:
    bucket = store.new_bucket()
    storage = deeplake.Storage(**store.settings())
    for name in ("flowers", "birds"):
        fill(store.uri(bucket, "root", name), storage).close()
    store.put(bucket, "root/readme.txt", b"no dataset")
    store.put(bucket, "root/other/file", b"no dataset")
    environ = store.environment() | {
        "DEEPLAKE_ROOTS": f"lab={store.uri(bucket, 'root')};gone={store.scheme}://no-such-bucket"
    }
    want = [{"uri": f"deeplake://lab/{name}", "rows": 100} for name in ("birds", "flowers")]
    assert json.loads(command("ls", "deeplake://lab/", "--json", **environ)) == want
    assert json.loads(command("ls", "deeplake://lab", "--json", **environ)) == want
    assert json.loads(command("ls", "--json", **environ)) == want, "a root that cannot be listed is left out"
    assert json.loads(command("ls", store.uri(bucket, "root"), "--json", **environ)) == [
        {"uri": store.uri(bucket, "root", name), "rows": 100} for name in ("birds", "flowers")
    ]
    assert [t["name"] for t in json.loads(command("ls", "deeplake://lab/birds", "--json", **environ))] == ["x", "word"]
    assert "no-such-bucket" in command("ls", "deeplake://gone/", check=False, **environ)
    command("rm", "-y", "deeplake://lab/birds", **environ)
    assert not deeplake.exists(store.uri(bucket, "root", "birds"), storage=storage)
