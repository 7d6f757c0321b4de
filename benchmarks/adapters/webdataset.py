"""WebDataset: tar shards, read in sequence; a buffer shuffles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from adapters.base import CORES, SHARD, Adapter, Epoch, Row, remote, stack

SHARDS = 8 * CORES  # at least


class WebDataset(Adapter):
    packages = (
        "webdataset",
        "cv2",
    )

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        import webdataset as wds

        # As many shards for each worker: one more for some of them would be a share of an epoch.
        most = -(-count // SHARDS)
        with wds.ShardWriter(str(folder / "%06d.tar"), maxsize=SHARD, maxcount=most, verbose=0) as out:
            for image, label, number in rows:
                out.write({"__key__": f"{number:08d}", "jpg": image, "cls": label})

    def write_arrays(self, folder: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        import webdataset as wds

        with wds.ShardWriter(str(folder / "%06d.tar"), maxsize=1 << 30, verbose=0) as out:
            for number, array in enumerate(arrays):
                out.write({"__key__": f"{number:08d}", "npy": array})

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        import webdataset as wds

        shards = _shards(uri)
        dataset = (
            wds.WebDataset(shards, shardshuffle=100, seed=0, empty_check=False)
            .shuffle(1000)
            .to_tuple("jpg", "cls", "__key__")
            .map_tuple(self.pixels, int, int)
            .batched(batch_size, partial=True, collation_fn=stack)
        )
        workers = min(workers, len(shards))
        loader = wds.WebLoader(dataset, batch_size=None, num_workers=workers, persistent_workers=workers > 0)
        return lambda: iter(loader)


def _shards(uri: str) -> list[str]:
    if not remote(uri):
        return sorted(str(path) for path in Path(uri).glob("*.tar"))
    from adapters import bucket

    client, (name, _, prefix) = bucket.s3(), uri.removeprefix("s3://").partition("/")
    keys = [found["Key"] for found in client.list_objects_v2(Bucket=name, Prefix=prefix)["Contents"]]
    sign = client.generate_presigned_url
    urls = [sign("get_object", Params={"Bucket": name, "Key": key}) for key in keys if key.endswith(".tar")]
    return [f"pipe:curl -s -f '{url}'" for url in urls]
