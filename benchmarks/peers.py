"""Other loaders over the same JPEG files, from a folder or a bucket: each as its documentation says it is fastest.

This runs with the interpreter of the peers (`lake.peers_python`), where `deeplake` is not installed and their packages
are. All decode with torchvision's libjpeg-turbo and deliver shuffled uint8 torch batches.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import data
import torch
from torch.utils.data import DataLoader
from torchvision import io

WORKERS = 2
SHARD = 64 << 20  # bytes of a shard, as the peers recommend 50 to 100 MB


def decode(file: bytes) -> torch.Tensor:
    return io.decode_jpeg(torch.frombuffer(bytearray(file), dtype=torch.uint8), mode=io.ImageReadMode.RGB)


class Peer:
    """A loader of another project. `place` is a folder or `s3://bucket/prefix`."""

    def __init__(self, kind: str, place: str, batch_size: int) -> None:
        self._kind, self._place, self._batch_size = kind, place, batch_size

    def run(self) -> dict[str, Any]:
        """One epoch in a fresh process, for some leave shared memory behind that the next would stumble over."""
        here, there = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(target=lambda: there.send(self.epoch()))
        child.start()
        there.close()
        found: dict[str, Any] = here.recv()
        child.join()
        return found

    def epoch(self) -> dict[str, Any]:
        """One epoch by a loader made anew, caches empty: making it counts, as does the first batch."""
        begin, first, count = time.perf_counter(), 0.0, 0
        with tempfile.TemporaryDirectory(dir=data.CACHE) as cache:
            for images in LOADERS[self._kind](self._place, self._batch_size, Path(cache)):
                first = first or time.perf_counter() - begin
                count += len(images)
            seconds = time.perf_counter() - begin
        return {"count": count, "first": first, "seconds": seconds}


def webdataset(place: str, batch_size: int, cache: Path) -> Iterator[Any]:
    import webdataset as wds

    shards = _shards(place)
    dataset = (
        wds.WebDataset(shards, shardshuffle=100, seed=0, empty_check=False)
        .shuffle(1000)
        .to_tuple("jpg", "cls")
        .map_tuple(decode, int)
        .batched(batch_size, partial=True)
    )
    for images, _ in wds.WebLoader(dataset, batch_size=None, num_workers=min(WORKERS, len(shards))):
        yield images


def _shards(place: str) -> list[str]:
    if not place.startswith("s3://"):
        return sorted(str(path) for path in Path(place).glob("*.tar"))
    client, (bucket, _, prefix) = s3(), place.removeprefix("s3://").partition("/")
    keys = [found["Key"] for found in client.list_objects_v2(Bucket=bucket, Prefix=prefix)["Contents"]]
    sign = client.generate_presigned_url
    urls = [sign("get_object", Params={"Bucket": bucket, "Key": key}) for key in keys if key.endswith(".tar")]
    return [f"pipe:curl -s -f '{url}'" for url in urls]


def litdata(place: str, batch_size: int, cache: Path) -> Iterable[Any]:
    import litdata

    class Images(litdata.StreamingDataset):  # type: ignore[misc]
        def __getitem__(self, row: Any) -> Any:
            file, label = super().__getitem__(row)
            return decode(file), label

    # Its S3 client refuses plain HTTP, and has no setting for that.
    litdata.streaming.downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True
    storage = {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]} if place.startswith("s3://") else None
    dataset = Images(place, cache_dir=str(cache / "litdata"), shuffle=True, storage_options=storage)
    for images, _ in litdata.StreamingDataLoader(dataset, batch_size=batch_size, num_workers=WORKERS):
        yield images


def lance(place: str, batch_size: int, cache: Path) -> Iterable[Any]:
    dataset = LanceRows(place)
    batches = torch.randperm(len(dataset)).split(batch_size)
    loader = DataLoader(
        dataset,
        batch_sampler=[batch.tolist() for batch in batches],
        num_workers=WORKERS,
        multiprocessing_context="spawn",
    )
    for images, _ in loader:
        yield images


class LanceRows:
    """Rows by `take`, a batch at once."""

    def __init__(self, place: str) -> None:
        self._place, self._rows = place, open_lance(place).count_rows()
        self._dataset: Any = None

    def __len__(self) -> int:
        return int(self._rows)

    def __getitems__(self, rows: list[int]) -> list[Any]:
        if self._dataset is None:
            self._dataset = open_lance(self._place)
        found = self._dataset.take(rows)
        images, labels = found["image"].to_pylist(), found["label"].to_pylist()
        return [(decode(image), label) for image, label in zip(images, labels, strict=True)]


def open_lance(place: str) -> Any:
    import lance

    if not place.startswith("s3://"):
        return lance.dataset(place)
    return lance.dataset(place, storage_options={"allow_http": "true", "aws_endpoint": os.environ["AWS_ENDPOINT_URL"]})


LOADERS = {"WebDataset": webdataset, "LitData": litdata, "Lance": lance}


class Writer:
    """Writes a set in the format of a peer, and puts folders into buckets."""

    def __init__(self, name: str, count: int) -> None:
        self._files = data.jpegs(name, count)

    def write(self, kind: str, place: str) -> dict[str, Any]:
        """Writes the files, in an order that a class-sorted folder does not dictate, to the folder `place`."""
        shutil.rmtree(place, ignore_errors=True)
        Path(place).mkdir(parents=True)
        order = torch.randperm(self._files.count, generator=torch.Generator().manual_seed(0)).tolist()
        WRITERS[kind](Path(place), ((self._files.paths[row].read_bytes(), self._files.labels[row]) for row in order))
        return {}

    def upload(self, folder: str, bucket: str, prefix: str) -> dict[str, Any]:
        client = s3()
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                client.upload_file(str(path), bucket, f"{prefix}/{path.relative_to(folder)}")
        return {}


def _write_tars(place: Path, rows: Iterator[tuple[bytes, int]]) -> None:
    import webdataset as wds

    with wds.ShardWriter(str(place / "%06d.tar"), maxsize=SHARD, verbose=0) as out:
        for number, (image, label) in enumerate(rows):
            out.write({"__key__": f"{number:08d}", "jpg": image, "cls": label})


def _write_litdata(place: Path, rows: Iterator[tuple[bytes, int]]) -> None:
    import litdata
    from litdata.streaming.writer import BinaryWriter

    writer = BinaryWriter(str(place), chunk_bytes=SHARD)
    for number, row in enumerate(rows):
        writer.add_item(number, row)
    writer.done()
    writer.merge()
    assert litdata


def _write_lance(place: Path, rows: Iterator[tuple[bytes, int]]) -> None:
    import lance
    import pyarrow as pa

    images, labels = zip(*rows, strict=True)
    table = pa.table({"image": pa.array(images, pa.large_binary()), "label": pa.array(labels, pa.int64())})
    lance.write_dataset(table, str(place), mode="overwrite")


WRITERS = {"WebDataset": _write_tars, "LitData": _write_litdata, "Lance": _write_lance}


def s3() -> Any:
    import boto3
    from botocore.config import Config

    return boto3.client("s3", config=Config(signature_version="s3v4", s3={"addressing_style": "path"}))
