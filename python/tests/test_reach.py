"""The hosts that a dataset may reach, and the hosts that get secrets. All hosts are recorders."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import deeplake
import numpy as np
import pytest
from conftest import encoded, picture
from recorder import Recorder, recording

FILE = encoded(picture(1))
SECRET = "hunter2"


def secrets(**more: object) -> deeplake.Storage:
    return deeplake.Storage(credentials={"bearer_token": SECRET}, headers={"X-Key": SECRET}, **more)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Recorder]:
    """The host of the datasets."""
    with recording() as here:
        here.folder = tmp_path
        yield here


@pytest.fixture
def foreign() -> Iterator[Recorder]:
    """The host of another user, with a picture and a dataset."""
    with recording() as here:
        here.files["/x.jpg"] = FILE
        yield here


def linked(place: Path, url: str) -> Path:
    """A dataset of one row, the link."""
    with deeplake.create(place) as ds:
        ds.create_tensor("images", "image.rgb", compression="jpeg")
        ds.append({"images": deeplake.link(url)})
        ds.commit()
    return place


def numbers(place: Path, n: int = 3) -> Path:
    with deeplake.create(place, schema={"x": {"dtype": "int64"}}) as ds:
        ds.extend({"x": np.arange(n)})
        ds.commit()
    return place


def test_a_link_gets_no_secrets_of_the_dataset(home, foreign, tmp_path):
    linked(tmp_path / "set", f"{foreign.url}/x.jpg")
    foreign.requests.clear()
    with deeplake.open(f"{home.url}/set", storage=secrets()) as ds:
        with pytest.raises(deeplake.AccessDeniedError, match="link_storage") as refusal:
            ds["images"].bytes(0)
        assert foreign.url in str(refusal.value) and SECRET not in str(refusal.value)
    assert not foreign.requests
    assert home.told("authorization") == {f"Bearer {SECRET}"} and home.told("x-key") == {SECRET}
    for settings, told in (
        (deeplake.Storage(), set()),
        (deeplake.Storage(headers={"X-Key": "theirs"}), {"theirs"}),
    ):
        foreign.requests.clear()
        with deeplake.open(f"{home.url}/set", storage=secrets(), link_storage={foreign.url: settings}) as ds:
            assert ds["images"].bytes(0) == FILE
            assert [len(batch["images"]) for batch in ds.batches(1)] == [1]
        assert foreign.requests and foreign.told("authorization", "x-key") == told
    with (
        deeplake.open(f"{home.url}/set", link_storage={foreign.url: None}) as ds,
        pytest.raises(deeplake.AccessDeniedError, match="refuses"),
    ):
        ds["images"].bytes(0)


def test_links_into_the_own_store_are_read(home, tmp_path):
    (tmp_path / "x.jpg").write_bytes(FILE)
    linked(tmp_path / "set", f"{home.url}/x.jpg")
    home.requests.clear()
    with deeplake.open(f"{home.url}/set", storage=secrets()) as ds:
        assert ds["images"].bytes(0) == FILE
    assert home.requests[-1].path == "/x.jpg" and home.requests[-1].headers["x-key"] == SECRET


def test_a_link_of_this_session_is_read_in_it(foreign, tmp_path):
    with deeplake.create(tmp_path / "set", storage=secrets()) as ds:
        ds.create_tensor("images", "image.rgb", compression="jpeg")
        ds.append({"images": deeplake.link(f"{foreign.url}/x.jpg")})
        assert ds["images"].bytes(0) == FILE
        ds.commit()
        assert in_a_worker(ds) == FILE and in_a_worker(ds, "fork") == FILE
        assert ds.at("1")["images"].bytes(0) == FILE
        ds.query("SELECT images, 1 AS one").save("all")
        assert ds.load_view("all")["images"].bytes(0) == FILE
    assert foreign.told("authorization", "x-key") == set()
    with pytest.raises(deeplake.AccessDeniedError, match="link_storage"):
        deeplake.open(tmp_path / "set")["images"].bytes(0)


def read_first(ds: deeplake.Dataset, answers: object) -> None:
    try:
        answers.put(ds["images"].bytes(0))
    except Exception as err:
        answers.put(repr(err))


def in_a_worker(ds: deeplake.Dataset, how: str = "spawn") -> object:
    """Reads rows in another process, as the worker of a loader does."""
    context = multiprocessing.get_context(how)
    answers = context.Queue()
    worker = context.Process(target=read_first, args=(ds, answers))
    worker.start()
    try:
        return answers.get(timeout=60)
    finally:
        worker.join()


def test_a_worker_follows_the_same_policy(home, foreign, tmp_path):
    linked(tmp_path / "set", f"{foreign.url}/x.jpg")
    theirs = {foreign.url: deeplake.Storage(headers={"X-Key": "theirs"})}
    foreign.requests.clear()
    assert "AccessDeniedError" in str(in_a_worker(deeplake.open(f"{home.url}/set", storage=secrets())))
    assert not foreign.requests
    assert in_a_worker(deeplake.open(f"{home.url}/set", storage=secrets(), link_storage=theirs)) == FILE
    assert foreign.told("authorization", "x-key") == {"theirs"}
    kept = pickle.dumps(deeplake.open(f"{home.url}/set", storage=secrets(), link_storage=theirs))
    assert SECRET.encode() not in kept and b"theirs" not in kept


def test_a_query_takes_no_secrets_along(home, foreign, tmp_path):
    numbers(tmp_path / "set")
    foreign.folder = tmp_path
    with deeplake.open(f"{home.url}/set", storage=secrets()) as ds:
        found = ds.query(f'SELECT b.x FROM dataset AS a JOIN "{foreign.url}/set" AS b ON a.x = b.x')
        assert sorted(found["x"].numpy().tolist()) == [0, 1, 2]
    text = f'SELECT b.x FROM "{home.url}/set" AS a JOIN "{foreign.url}/set" AS b ON a.x = b.x'
    assert len(deeplake.query(text, storage=secrets())) == 3
    assert foreign.requests and foreign.told("authorization", "x-key") == set()
    assert home.told("x-key") == {SECRET}
    theirs = {foreign.url: deeplake.Storage(headers={"X-Key": "theirs"})}
    assert len(deeplake.query(text, storage=secrets(), link_storage=theirs)) == 3
    assert foreign.told("authorization", "x-key") == {"theirs"}


def test_a_saved_view_leads_into_its_own_store_only(home, foreign, tmp_path):
    numbers(tmp_path / "set")
    numbers(tmp_path / "other")
    foreign.folder = tmp_path
    with deeplake.open(tmp_path / "set") as ds:
        for name, place in (
            ("away", f"{foreign.url}/other"),
            ("file", tmp_path / "other"),
        ):
            ds.query(f'SELECT b.x + 1 AS y FROM dataset AS a JOIN "{place}" AS b ON a.x = b.x').save(name)
    foreign.requests.clear()
    with deeplake.open(tmp_path / "set", storage=secrets()) as ds:
        assert sorted(ds.load_view("file")["y"].numpy().tolist()) == [1, 2, 3]
        with pytest.raises(deeplake.AccessDeniedError, match="link_storage"):
            ds.load_view("away")
    assert not foreign.requests
    theirs = {foreign.url: deeplake.Storage()}
    with deeplake.open(tmp_path / "set", storage=secrets(), link_storage=theirs) as ds:
        view = ds.load_view("away")
        assert sorted(view["y"].numpy().tolist()) == [1, 2, 3]
        view.explain()
    assert foreign.requests and foreign.told("authorization", "x-key") == set()
    with deeplake.open(tmp_path / "set", link_storage=theirs) as ds:
        again = pickle.dumps(ds.load_view("away"))
    # In another process it is still the dataset's text, and not the user's.
    with pytest.raises(deeplake.AccessDeniedError, match="link_storage"):
        pickle.loads(again.replace(f'JOIN "{foreign.url}'.encode(), f'JOIN "{home.url}'.encode()))["y"].numpy()
    assert not home.requests


def test_an_import_takes_no_secrets_along(home, foreign, tmp_path):
    from deeplake._cli.create import create

    foreign.files["/list.txt"] = f"x.jpg\n{home.url}/y.jpg\n".encode()
    (tmp_path / "y.jpg").write_bytes(FILE)
    own = [f'--storage=credentials={{"bearer_token": "{SECRET}"}}', f'--storage=headers={{"X-Key": "{SECRET}"}}']
    place = str(tmp_path / "a")
    with pytest.raises(deeplake.AccessDeniedError, match=r"link_storage.*--allow-links"):
        # the other host is not the list's own
        create.main([place, f"from-{foreign.url}/list.txt", *own, "--labels", "none"], standalone_mode=False)
    assert not deeplake.exists(place)
    assert foreign.requests and foreign.told("authorization", "x-key") == set() and not home.requests
    more = ["--source-storage", 'headers={"X-Key": "theirs"}', "--allow-links", home.url, "--labels", "none"]
    create.main([str(tmp_path / "b"), f"from-{foreign.url}/list.txt", *own, *more], standalone_mode=False)
    assert len(deeplake.open(tmp_path / "b")) == 2
    assert foreign.told("authorization", "x-key") == {"theirs"} and home.requests and home.told("x-key") == set()


def test_redirections_take_no_secrets_along(home, foreign, tmp_path):
    numbers(tmp_path / "set")
    foreign.folder = tmp_path
    for path in (tmp_path / "set").rglob("*"):
        if path.is_file():
            name = "/" + path.relative_to(tmp_path).as_posix()
            home.redirects[name] = foreign.url + name
    with pytest.raises(deeplake.AccessDeniedError, match="allow_private"):
        deeplake.open(f"{home.url}/set", storage=secrets())
    assert not foreign.requests
    with deeplake.open(f"{home.url}/set", storage=secrets(allow_private=True)) as ds:
        assert ds["x"].numpy().tolist() == [0, 1, 2]
    assert foreign.requests and foreign.told("authorization", "x-key") == set()


def test_hosts_that_text_chooses_are_public(home, foreign, tmp_path):
    linked(tmp_path / "set", f"{foreign.url}/x.jpg")
    foreign.requests.clear()
    for prefix in ("http://", foreign.url):
        for private in (False, True):
            rule = {prefix: deeplake.Storage(allow_private=private)}
            with deeplake.open(f"{home.url}/set", link_storage=rule) as ds:
                if private or prefix != "http://":
                    assert ds["images"].bytes(0) == FILE
                    continue
                with pytest.raises(deeplake.AccessDeniedError, match="allow_private"):
                    ds["images"].bytes(0)
                assert not foreign.requests


def test_files_are_of_local_datasets_alone(home, tmp_path):
    (tmp_path / "x.jpg").write_bytes(FILE)
    linked(tmp_path / "set", f"file://{tmp_path}/x.jpg")
    assert deeplake.open(tmp_path / "set")["images"].bytes(0) == FILE
    with pytest.raises(deeplake.AccessDeniedError, match=r"another machine.*link_storage"):
        deeplake.open(f"{home.url}/set")["images"].bytes(0)
    allowed = {f"file://{tmp_path}": deeplake.Storage()}
    assert deeplake.open(f"{home.url}/set", link_storage=allowed)["images"].bytes(0) == FILE


@pytest.mark.parametrize("kind", ["fifo", "folder", "device"])
def test_only_regular_files_are_linked(tmp_path, kind):
    path = tmp_path / "x.jpg"
    path.write_bytes(FILE)
    linked(tmp_path / "set", str(path))
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(deeplake.Error, match=r"not a regular file|is a directory"):
        deeplake.open(tmp_path / "set")["images"].bytes(0)


def test_secrets_travel_encrypted(home, tmp_path):
    """The recorder is the proxy, so that it sees requests to other hosts."""
    numbers(tmp_path / "set")
    for name in ("http://data.example/set", "http://10.0.0.1:8080/set"):
        with pytest.raises(deeplake.AccessDeniedError, match="allow_insecure"):
            deeplake.open(name, storage=secrets(proxy=home.url))
    assert not home.requests
    assert len(deeplake.open("http://data.example/set", storage=deeplake.Storage(proxy=home.url))) == 3
    assert home.told("authorization", "x-key") == set() and {asked.host for asked in home.requests} == {"data.example"}
    assert len(deeplake.open("http://data.example/set", storage=secrets(proxy=home.url, allow_insecure=True))) == 3
    assert home.told("x-key") == {SECRET}
    google = {"endpoint": "http://storage.example", "credentials": {"bearer_token": SECRET}, "proxy": home.url}
    home.requests.clear()
    with pytest.raises(deeplake.AccessDeniedError, match="allow_insecure"):
        deeplake.open("gs://bucket/set", storage=deeplake.Storage(**google))
    assert not home.requests
    with pytest.raises(deeplake.Error):
        deeplake.open("gs://bucket/set", storage=deeplake.Storage(**google, allow_insecure=True, retry_time=1))
    assert home.told("authorization") == {f"Bearer {SECRET}"}


def test_link_storage_is_checked(tmp_path):
    for wrong in (["s3://x"], {"s3://x": "y"}, {7: deeplake.Storage()}, {"bucket": deeplake.Storage()}):
        with pytest.raises(deeplake.InvalidArgumentError, match="link_storage"):
            deeplake.create(tmp_path / "set", link_storage=wrong)


NASTY = "\x1b]52;c;ZXZpbA==\x07 \u202e" + "x" * 100_000


@pytest.mark.parametrize("kind", ["http", "s3", "gs"])
def test_what_a_server_says_is_shown_escaped(home, kind):
    """A server answers with control characters of terminals, and with the secrets of its request."""
    token = f"Bearer {SECRET} {SECRET}"
    body, status = f"{token} {NASTY}", 403
    if kind == "http":
        place, storage = f"{home.url}/set", secrets()
    elif kind == "s3":
        place = "s3://bucket/set"
        body = f"<Error><Code>Odd{SECRET}&#9;\u202e{'y' * 1000}</Code><Message>{SECRET} \u202e \u0085 {'x' * 9999}</Message></Error>"
        keys = {"access_key_id": "me", "secret_access_key": "mine", "session_token": SECRET}
        storage = deeplake.Storage(endpoint=home.url, credentials=keys, region="r", retry_time=1)
    else:
        place = "gs://bucket/set"
        body = json.dumps({"error": {"message": body}})
        storage = deeplake.Storage(endpoint=home.url, credentials={"bearer_token": SECRET}, retry_time=1)
    home.answers["*"] = (status, "application/xml" if kind == "s3" else "text/plain", body.encode())
    with pytest.raises(deeplake.Error) as refusal:
        deeplake.open(place, storage=storage)
    text = str(refusal.value)
    assert home.requests and SECRET not in text and len(text) < 2000, text
    assert all(letter.isprintable() or letter == " " for letter in text), text


def test_presigned_urls_stay_out_of_datasets_and_messages(home, tmp_path):
    signed = f"{home.url}/x.jpg?X-Amz-Credential=me&X-Amz-Signature={SECRET}"
    assert SECRET not in repr(deeplake.link(signed)) and "x.jpg?X-Amz-Credential=***" in repr(deeplake.link(signed))
    assert repr(deeplake.link("https://h/x?page=3")) == 'Link("https://h/x?page=3")'
    with deeplake.create(tmp_path / "set", schema={"images": "image.rgb"}) as ds:
        for url in (signed, f"http://me:{SECRET}@{home.url.removeprefix('http://')}/x.jpg"):
            with pytest.raises(deeplake.InvalidArgumentError, match="link_storage") as refusal:
                ds.append({"images": deeplake.link(url)})
            assert SECRET not in str(refusal.value)
    assert not home.requests
    from deeplake._cli.create import create

    home.files.update({"/x.jpg": FILE, "/list.txt": f"{signed}\n".encode()})
    with pytest.raises(deeplake.InvalidArgumentError, match="presigned") as refusal:
        create.main([str(tmp_path / "b"), f"from-{home.url}/list.txt"], standalone_mode=False)
    assert SECRET not in str(refusal.value)
