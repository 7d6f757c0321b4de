"""Case of links: to files, and to addresses that nobody answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deeplake
import numpy as np
from cases import attempt, case, fresh
from pictures import crop, encoded, saved

URL = "https://host.invalid/pictures/{}.jpg"


@case
def links(root: Path) -> dict[str, dict[str, Any]]:
    """Writes links to local files and to http and s3 addresses, with and without credentials."""
    skipped: dict[str, str] = {}
    folder = root / "links.files"
    paths = [saved(folder, f"{i}.jpg", encoded(crop(i, 40 + i, 50), "JPEG")) for i in range(6)]
    paths.append(saved(folder, "six.png", encoded(crop(6, 33, 44), "PNG", "RGBA")))
    with fresh(root, "links") as ds:
        for key in ("first_key", "second_key"):
            ds.add_creds_key(key)
            # Only names are stored; a link whose key holds nothing is refused.
            ds.populate_creds(key, {"aws_access_key_id": "none"})
        local(ds, paths)
        remote(ds)
        attempt("s3", lambda: bucket(ds), skipped)
        sequences(ds, paths, skipped)
        attempt("tiles", lambda: tiles(ds, paths), skipped)
    return {"links": {"skipped": skipped, "files": "links.files", "root": str(root)}}


def local(ds: Any, paths: list[str]) -> None:
    """Writes links to files: verified, and without a check."""
    ds.create_tensor("checked", htype="link[image]", sample_compression="jpeg")
    for path in paths:
        ds.checked.append(deeplake.link(path))
    ds.checked.append(None)
    ds.checked[1] = deeplake.link(paths[5])
    ds.create_tensor("unchecked", htype="link[image]", sample_compression="jpeg", verify=False)
    ds.unchecked.extend([deeplake.link(path) for path in paths[:3]])
    ds.unchecked.append(deeplake.link("file://" + paths[0]))
    # The package reads a relative path from the folder of its process.
    ds.unchecked.append(deeplake.link("links.files/0.jpg"))
    ds.unchecked.append(deeplake.link(str(Path(paths[0]).parent / "absent.jpg")))


def remote(ds: Any) -> None:
    """Writes links to addresses, in runs of one key each."""
    ds.create_tensor("remote", htype="link[image]", sample_compression="jpeg", verify=False)
    keys = [None, None, "first_key", "first_key", "second_key", None, "second_key"]
    for i, key in enumerate(keys):
        ds.remote.append(deeplake.link(URL.format(i), creds_key=key))
    ds.remote.append(deeplake.link("https://host.invalid/a%20path/é.jpg?size=2&x=1"))
    ds.remote.append(None)
    ds.remote[3] = deeplake.link(URL.format("changed"), creds_key="second_key")
    ds.create_tensor("remote_video", htype="link[video]", sample_compression="mp4", verify=False)
    ds.remote_video.append(deeplake.link("https://host.invalid/film.mp4"))


def bucket(ds: Any) -> None:
    """Writes a link into a bucket; the package opens a client first."""
    ds.remote.append(deeplake.link("s3://bucket/path/to.jpg", creds_key="first_key"))


def sequences(ds: Any, paths: list[str], skipped: dict[str, str]) -> None:
    """Writes sequences of links, an empty one among them."""
    rows = [paths[:2], [], paths[2:5]]

    def write() -> None:
        kind = "sequence[link[image]]"
        ds.create_tensor("albums", htype=kind, sample_compression="jpeg", verify=False)
        for row in rows:
            ds.albums.append([deeplake.link(path) for path in row])

    attempt("albums", write, skipped)


def tiles(ds: Any, paths: list[str]) -> None:
    """Writes one sample that is a grid of links to pictures of one size."""
    folder = Path(paths[0]).parent
    grid = []
    for y in range(2):
        row = [saved(folder, f"tile_{y}_{x}.jpg", tile(3 * y + x)) for x in range(3)]
        grid.append(row)
    ds.create_tensor("tiles", htype="link[image]", sample_compression="jpeg", verify=False)
    ds.tiles.append(deeplake.link_tiled(np.array(grid).reshape(2, 3, 1)))


def tile(number: int) -> bytes:
    """Returns one picture of a grid."""
    return encoded(crop(100 + number, 30, 40), "JPEG")
