"""Exports from a bucket into another, and gone on with there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import deeplake
import numpy as np
import pytest
from conftest import encoded, picture
from servers import Server


def lake(uri: str, storage: deeplake.Storage | None, rows: int = 60) -> deeplake.Dataset:
    """Writes pictures with numbers and texts, in two classes."""
    ds = deeplake.create(uri, storage=storage)
    ds.create_tensor("images", "image", compression="jpeg")
    ds.create_tensor("labels", "class_label", class_names=["a", "b"])
    ds.create_tensor("x", dtype="float32")
    files = [deeplake.read(encoded(picture(i))) for i in range(rows)]
    ds.extend({"images": files, "labels": [i % 2 for i in range(rows)], "x": np.arange(rows, dtype=np.float32)})
    ds.commit()
    return ds


def export(server: Server, *args: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deeplake", "export", *args]
    env = {**os.environ, **server.environment()}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.parametrize("kind", ["webdataset", "parquet", "mds", "folder"])
def test_a_bucket_into_another(store: Server, kind: str) -> None:
    storage = deeplake.Storage(**store.settings())
    theirs, ours = store.uri(store.new_bucket(), "lake"), store.uri(store.new_bucket(), "out")
    ds = lake(theirs, storage)
    size = None if kind == "folder" else 8192
    report = ds.export(ours, format=kind, shard_bytes=size, storage=storage)
    assert report.rows == 60 and report.uri == ours and report.resumed == 0 and report.files > 5
    again = deeplake.ingest(ours, f"mem://{kind}-{store.scheme}", source_storage=storage, verbose=False)
    assert len(again) == 60 and again["labels"].class_names == ["a", "b"]
    files = {data: int(ds["labels"][i]) for i, data in enumerate(ds["images"].bytes(list(range(60))))}
    back = again["images"].bytes(list(range(60)))
    assert {data: int(again["labels"][i]) for i, data in enumerate(back)} == files
    with pytest.raises(deeplake.AlreadyExistsError, match="the place has files, such as"):
        ds.export(ours, format=kind, shard_bytes=size, storage=storage)
    with pytest.raises(deeplake.InvalidArgumentError, match="the place lies inside the dataset"):
        ds.export(f"{theirs}/out", format=kind, storage=storage)


def test_zarr_in_a_bucket(store: Server, tmp_path: Path) -> None:
    """A bucket has the objects that a folder has as files."""
    storage = deeplake.Storage(**store.settings())
    target = store.uri(store.new_bucket(), "out")
    ds = lake(f"mem://zarr-to-a-bucket-{store.scheme}", None)
    report = ds.export(target, format="zarr", shard_bytes=8192, storage=storage)
    here = ds.export(tmp_path / "out", format="zarr", shard_bytes=8192)
    assert (report.rows, report.files, report.bytes) == (here.rows, here.files, here.bytes)
    with pytest.raises(deeplake.AlreadyExistsError, match="the place has files"):
        ds.export(target, format="zarr", storage=storage)


def test_a_killed_export_goes_on(proxy: Server) -> None:
    """Both places are given by the environment, and the target by settings too."""
    bucket = proxy.new_bucket()
    source, target = proxy.uri(bucket, "lake"), proxy.uri(bucket, "out")
    storage = deeplake.Storage(**proxy.settings())
    lake(source, storage).close()
    settings = ["--target-storage", f"endpoint={proxy.endpoint}", "--target-storage", f"region={proxy.region}"]
    command = [source, target, "--format", "webdataset", "--shard-size", "1K", "--json"]
    env = {**os.environ, **proxy.environment(through_proxy=True)}
    running = subprocess.Popen(
        [sys.executable, "-m", "deeplake", "export", *command], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    end = time.monotonic() + 60
    while running.poll() is None and not records(proxy) and time.monotonic() < end:
        time.sleep(0.01)
    running.kill()
    running.communicate()
    assert records(proxy)
    report = json.loads(export(proxy, *command, *settings).stdout)
    assert report["rows"] == 60 and 0 < report["resumed"] < 60
    again = deeplake.ingest(target, "mem://gone-on", source_storage=storage, verbose=False)
    assert again["x"].numpy().tolist() == list(range(60)) and again["labels"].class_names == ["a", "b"]
    assert again["images"].bytes(list(range(60))) == [encoded(picture(i)) for i in range(60)]
    told = export(proxy, *command, *settings, code=1).stderr
    assert 'the place has files, such as "' in told and ".export" not in told


def records(server: Server) -> list[str]:
    """Returns the requests that wrote the record of a part."""
    return [
        one["target"]
        for one in server.requests()
        if one["method"] == "PUT" and "/.export/part-" in one["target"] and one["status"] == 200
    ]
