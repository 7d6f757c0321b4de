"""Repositories of Hugging Face by hf:// addresses, against a server that answers as theirs does."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import deeplake
import numpy as np
import pytest
from PIL import Image
from servers import send_range

COMMIT = hashlib.sha1(b"a commit").hexdigest()


class Hub(ThreadingHTTPServer):
    """Serves a folder as the repository owner/name."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.folder = folder

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        if path.startswith("/api/datasets/owner/name"):
            self.tell(json.dumps(self.listing()).encode(), "application/json")
            return
        _, _, rest = path.partition("/datasets/owner/name/resolve/")
        revision, _, name = rest.partition("/")
        file = self.server.folder / name
        if revision not in ("main", COMMIT) or not file.is_file():
            self.send_error(404)
            return
        self.tell(file.read_bytes(), "application/octet-stream")

    def do_HEAD(self) -> None:
        self.do_GET()

    def tell(self, p: bytes, kind: str) -> None:
        tag = f'"{hashlib.sha1(p).hexdigest()}"'
        send_range(self, p, {"Content-Type": kind, "X-Repo-Commit": COMMIT, "ETag": tag})

    def listing(self) -> dict[str, Any]:
        files = sorted(file for file in self.server.folder.rglob("*") if file.is_file())
        siblings = [
            {
                "rfilename": file.relative_to(self.server.folder).as_posix(),
                "size": file.stat().st_size,
                "blobId": hashlib.sha1(file.read_bytes()).hexdigest(),
            }
            for file in files
        ]
        return {"_id": "0" * 24, "id": "owner/name", "sha": COMMIT, "private": False, "tags": [], "siblings": siblings}

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    (tmp_path / "repository").mkdir()
    with Hub(tmp_path / "repository") as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield server
        server.shutdown()


def place() -> str:
    return f"mem://hub-{uuid.uuid4().hex}"


def test_the_server_answers_as_hugging_face_does(hub: Hub, tmp_path: Path) -> None:
    """Their own client reads the server of these tests."""
    from huggingface_hub import HfApi, hf_hub_download

    (hub.folder / "data").mkdir()
    (hub.folder / "data" / "train.csv").write_text("a\n1\n")
    about = HfApi(endpoint=hub.endpoint).dataset_info("owner/name", revision="main", files_metadata=True)
    assert about.sha == COMMIT and [(one.rfilename, one.size) for one in about.siblings or ()] == [
        ("data/train.csv", 4)
    ]
    got = hf_hub_download(
        "owner/name", "data/train.csv", repo_type="dataset", endpoint=hub.endpoint, cache_dir=tmp_path / "cache"
    )
    assert Path(got).read_text() == "a\n1\n"


def test_a_dataset_with_splits(hub: Hub) -> None:
    """The layout of `push_to_hub`: Parquet files with pictures and classes; each split is a view."""
    import datasets

    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])})
    for name, rows, shards in (("train", 30, 2), ("test", 10, 1), ("validation", 5, 1)):
        pictures = [Image.fromarray(np.full((8, 8, 3), n, np.uint8)) for n in range(rows)]
        whole = datasets.Dataset.from_dict(
            {"image": pictures, "label": [n % 2 for n in range(rows)]}, features=features
        )
        for shard in range(shards):
            part = whole.shard(shards, shard, contiguous=True)
            file = hub.folder / "data" / f"{name}-{shard:05}-of-{shards:05}.parquet"
            file.parent.mkdir(exist_ok=True)
            part.to_parquet(str(file))
    (hub.folder / "README.md").write_text("about")
    ds = deeplake.ingest("hf://datasets/owner/name", place(), verbose=False)
    assert len(ds) == 45 and ds["image"].htype == "image" and ds["label"].class_names == ["cat", "dog"]
    assert ds["split"].class_names == ["train", "validation", "test"]
    train, valid, test = ds.split(["train", "validation", "test"])
    assert (len(train), len(valid), len(test)) == (30, 5, 10)
    assert [int(train["image"][n].max()) for n in range(30)] == list(range(30))
    some = deeplake.ingest("hf://datasets/owner/name/data", place(), columns=["label"], verbose=False)
    assert len(some) == 45 and list(some.tensors) == ["label"]
    one = deeplake.ingest("hf://datasets/owner/name/data/test-00000-of-00001.parquet", place(), verbose=False)
    assert len(one) == 10 and "split" not in one.tensors


def test_the_command_goes_on(hub: Hub, tmp_path: Path) -> None:
    """A second run of the command adds new files, and saves the views anew."""
    (hub.folder / "train.csv").write_text("a\n1\n2\n")
    (hub.folder / "test.csv").write_text("a\n3\n")
    command = [
        sys.executable,
        "-m",
        "deeplake",
        "create",
        str(tmp_path / "ds"),
        "from-hf://datasets/owner/name",
        "--json",
    ]

    def run() -> dict[str, Any]:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    assert run()["splits"] == [{"name": "train", "rows": 2}, {"name": "test", "rows": 1}]
    (hub.folder / "train-2.csv").write_text("a\n4\n")
    report = run()
    assert (report["added"], report["unchanged"]) == (1, 2)
    assert report["splits"] == [{"name": "train", "rows": 3}, {"name": "test", "rows": 1}]
    ds = deeplake.open(tmp_path / "ds")
    assert sorted(ds.load_view("train")["a"].numpy().tolist()) == [1, 2, 4]


def test_pictures_and_datasets(hub: Hub) -> None:
    """Folders of pictures come in as from a bucket, and datasets of ours are read where they lie."""
    for kind in ("cat", "dog"):
        (hub.folder / "pictures" / kind).mkdir(parents=True)
        for n in range(3):
            Image.new("RGB", (8, 8), n).save(hub.folder / "pictures" / kind / f"{n}.png")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "deeplake",
            "create",
            str(hub.folder / "ours"),
            "from-hf://datasets/owner/name/pictures",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "6 rows" in done.stdout, done.stderr
    ds = deeplake.open("hf://datasets/owner/name/ours")
    assert len(ds) == 6 and ds["labels"].class_names == ["cat", "dog"] and ds["images"][5].shape == (8, 8, 3)
    with pytest.raises(deeplake.Error):
        ds.append({"images": np.zeros((8, 8, 3), np.uint8), "labels": "cat"})
        ds.commit()


def test_what_is_refused(hub: Hub) -> None:
    for address, match in (
        ("hf://models/owner/name", "want hf://datasets/owner/name"),
        ("hf://datasets/owner/other", "private or gated one needs a token"),
        ("hf://datasets/owner/name/none.parquet", "no file there has a table"),
    ):
        with pytest.raises(deeplake.Error, match=match):
            deeplake.ingest(address, place())
    for address in ("hf://datasets/owner/name", "hf://datasets/owner/name/none.parquet"):
        with pytest.raises(deeplake.UnsupportedError, match="links into a repository of Hugging Face cannot be read"):
            deeplake.ingest(address, place(), link=True)


def test_names_of_splits(tmp_path: Path) -> None:
    """Folders and beginnings of names are splits if all files have one, and there are several."""
    for files, wanted in (
        (["train/a.csv", "val/a.csv"], {"train": 1, "val": 1}),
        (["plain/train/0.csv", "plain/test/0.csv"], {"train": 1, "test": 1}),
        (["train_a.csv", "train_b.csv", "test.csv"], {"train": 2, "test": 1}),
        (["train.csv", "other.csv"], None),
        (["train.csv", "train2.csv"], None),
        (["training-set.csv", "testing-set.csv"], {"training": 1, "testing": 1}),
        (["trains.csv", "tests.csv"], None),
    ):
        folder = tmp_path / uuid.uuid4().hex
        for file in files:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text("a\n1\n")
        ds = deeplake.ingest(folder, place(), verbose=False)
        assert ("split" in ds.tensors) == (wanted is not None), files
        if wanted is not None:
            assert {name: len(ds.load_view(name)) for name in ds["split"].class_names or ()} == wanted
    own = tmp_path / "own"
    own.mkdir()
    for name in ("train", "test"):
        (own / f"{name}.csv").write_text("split,a\nmine,1\n")
    ds = deeplake.ingest(own, place(), verbose=False)
    assert ds["split"].htype == "text" and ds["split"][0] == "mine"
