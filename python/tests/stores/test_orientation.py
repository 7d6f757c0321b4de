"""The orientation of Exif data, of files that lie in a bucket."""

from __future__ import annotations

import io

import deeplake
import numpy as np
import PIL.Image
import PIL.ImageOps
from servers import Server

ROWS = 60


def file_of(row: int) -> bytes:
    """A file of 40 x 56 pixels of noise, in each orientation in turn."""
    exif = PIL.Image.Exif()
    exif[0x0112] = 1 + row % 8
    noise = np.random.default_rng(row).integers(0, 256, (40, 56, 3), np.uint8)
    out = io.BytesIO()
    PIL.Image.fromarray(noise).save(out, "JPEG", exif=exif, quality=95)
    return out.getvalue()


def test_a_loader_turns_prefetched_files(proxy: Server) -> None:
    """The option takes the prefetched bytes. Where they come window by window, it fetches some files twice."""
    uri = proxy.uri(proxy.new_bucket(), "turned")
    files = [file_of(row) for row in range(ROWS)]
    with deeplake.create(uri, storage=deeplake.Storage(**proxy.settings())) as ds:
        ds.create_tensor("images", "image.rgb", chunk_bytes=16 << 10)
        ds.extend({"images": [deeplake.read(data) for data in files]})
        ds.commit()
    for options in ({}, {"fetch_bytes": 100_000, "shuffle_bytes": 40_000}):
        requests, received = [], []
        for given in (False, True):
            # On a busy machine, a late first byte makes a second request for the same bytes.
            storage = deeplake.Storage(**proxy.settings(through_proxy=True), hedge=False)
            with deeplake.open(uri, storage=storage) as ds:
                loader = ds.batches(
                    8, shuffle=True, collate="list", return_index=True, apply_exif_orientation=given, **options
                )
                proxy.reset()
                seen = []
                for batch in loader:
                    for row, image in zip(batch["_index"].tolist(), batch["images"], strict=True):
                        picture = PIL.Image.open(io.BytesIO(files[row]))
                        want = PIL.ImageOps.exif_transpose(picture) if given else picture
                        assert np.array_equal(image, np.asarray(want)), row
                        seen.append(row)
                assert sorted(seen) == list(range(ROWS))
                counts = proxy.counts()
                requests.append(counts["requests"])
                received.append(counts["bytes_out"])
        if options:
            # The planner reads some files before their window is fetched. Requests vary by six.
            assert received[1] <= received[0] * 1.5 and requests[1] <= requests[0] + ROWS // 4, (requests, received)
        else:
            assert received[1] <= received[0] * 1.01 and requests[1] <= requests[0] + 2, (requests, received)
