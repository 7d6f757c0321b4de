"""Writes what deeplake 3 itself reads from a dataset: every version, tensor and sample.

OUT/index.json, beside OUT/arrays/*.npy:

    name, deeplake, notes        the case, the version of the package, what the case says of itself
    branches                     {branch: id of its head}
    versions                     by distance from the first, heads included
      id, parent, branch, head, message, user, time
      log                        ids of the commits that Dataset.commits lists, newest first
      info, groups, diff         of the dataset; diff is against the version before
      tensors                    one object a tensor, hidden ones included
        name, key, hidden, htype, dtype, sample_compression, chunk_compression, is_sequence,
        is_link, length, min_shape, max_shape, info, meta
        samples                  one object a sample
    views                        saved views: id, entry of queries.json, length, rows, tensors;
                                 one saved outside the dataset has its folder as id

A sample is one of {"shape", "dtype", "data"}, {"npy"}, {"text"}, {"json"}, {"list"},
{"items": [...]} (a sequence, or the polygons of one sample), {"link", "creds", "value"?} and
{"error"} where the package fails. "bytes" and "sha256" describe Tensor.tobytes(), if it works.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import shutil
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
from deeplake.core.chunk_engine import ChunkEngine
from deeplake.core.index import Index
from values import Values

TOGETHER = 50
REMOTE = ("http://", "https://", "s3://", "gcs://")


def export(name: str, dataset: Path, folder: Path, notes: dict[str, Any]) -> None:
    """Writes the expected values of a dataset to a folder, instead of those there."""
    shutil.rmtree(folder, ignore_errors=True)
    writer = Values(folder)
    ds = opened(dataset)
    nodes = ds.version_state["commit_node_map"]
    index = {
        "name": name,
        "deeplake": deeplake.__version__,
        "notes": writer.plain(notes),
        "branches": dict(ds.version_state["branch_commit_map"]),
        "versions": [version(ds, node, writer) for node in sorted(nodes.values(), key=age)],
        "views": views(dataset, writer),
    }
    text = json.dumps(index, indent=1)
    (folder / "index.json").write_text(text)


def opened(dataset: Path) -> Any:
    """Opens a dataset; each of its credential keys gets a value, without which no link is read."""
    ds = deeplake.load(str(dataset), read_only=True, verbose=False)
    for key in ds.get_creds_keys():
        ds.populate_creds(key, {"aws_access_key_id": "none"})
    return ds


def age(node: Any) -> tuple[int, float]:
    """Orders versions by their distance from the first, then by time."""
    depth, parent = 0, node.parent
    while parent is not None:
        depth, parent = depth + 1, parent.parent
    return depth, node.commit_time.timestamp() if node.commit_time else float("inf")


def version(ds: Any, node: Any, writer: Values) -> dict[str, Any]:
    """Returns one version of the dataset, with all its tensors."""
    found: dict[str, Any] = {
        "id": node.commit_id,
        "parent": node.parent.commit_id if node.parent else None,
        "branch": node.branch,
        "head": node.is_head_node,
        "message": node.commit_message,
        "user": node.commit_user_name,
        "time": str(node.commit_time) if node.commit_time else None,
    }
    try:
        ds.checkout(node.branch if node.is_head_node else node.commit_id)
    except Exception as error:
        return {**found, "error": said(error), "tensors": []}
    return {
        **found,
        "log": [commit["commit"] for commit in ds.commits],
        "info": writer.plain(dict(ds.info.items())),
        "groups": list(ds.meta.groups),
        "diff": diff(ds, writer),
        "tensors": tensors(ds, writer),
    }


def diff(ds: Any, writer: Values) -> Any:
    """Returns what Dataset.diff says of a version and the one before it."""
    try:
        return writer.plain(ds.diff(as_dict=True))
    except Exception as error:
        return {"error": said(error)}


def tensors(ds: Any, writer: Values) -> list[dict[str, Any]]:
    """Returns all tensors of a version or a view."""
    hidden = set(ds.meta.hidden_tensors)
    return [one(name, t, t.key in hidden, writer) for name, t in ds._tensors().items()]


def one(name: str, tensor: Any, hidden: bool, writer: Values) -> dict[str, Any]:
    """Returns one tensor with its samples."""
    meta = tensor.meta
    found = {
        "name": name,
        "key": tensor.key,
        "hidden": hidden,
        "htype": tensor.htype,
        "dtype": meta.dtype,
        "sample_compression": meta.sample_compression,
        "chunk_compression": meta.chunk_compression,
        "is_sequence": meta.is_sequence,
        "is_link": meta.is_link,
        "min_shape": list(meta.min_shape),
        "max_shape": list(meta.max_shape),
    }
    try:
        found["info"] = writer.plain(dict(tensor.info.items()))
        found["samples"] = samples(tensor, writer)
        found["length"] = len(found["samples"])
    except Exception as error:
        found["error"] = said(error)
    return found


def samples(tensor: Any, writer: Values) -> list[dict[str, Any]]:
    """Returns the samples of a tensor: one at a time, or together if they are many numbers."""
    # In a view of one sample, an index would reach into the sample.
    many = tensor.index.values[0].subscriptable()
    items = [tensor[i] for i in range(len(tensor))] if many else [tensor]
    plain = tensor.base_htype not in ("text", "json", "list", "tag", "polygon")
    if len(items) < TOGETHER or not plain or tensor.is_sequence or tensor.is_link:
        return [sample(item, writer) for item in items]
    try:
        # Each read of one sample starts threads in the package, which takes 20 ms.
        arrays = tensor.numpy(aslist=True)
    except Exception:
        return [sample(item, writer) for item in items]
    found = [writer.array(array) for array in arrays]
    if not tensor.meta.sample_compression:
        return found
    return [{**value, **stored(item)} for value, item in zip(found, items, strict=True)]


def sample(item: Any, writer: Values) -> dict[str, Any]:
    """Returns one sample, with the length and the hash of its stored bytes."""
    try:
        found = link(item, writer) if item.is_link else value(item, writer)
    except Exception as error:
        found = {"error": said(error)}
    return found if item.is_link else {**found, **stored(item)}


def stored(item: Any) -> dict[str, Any]:
    """Returns the length and the hash of the bytes that are stored for a sample."""
    try:
        data = bytes(item.tobytes())
    except Exception:
        return {}
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def link(item: Any, writer: Values) -> dict[str, Any]:
    """Returns a link, or a grid of them, and what they lead to if those are files."""
    row = item.index.values[0].value
    grid = item.chunk_engine.tile_encoder is not None and row in item.chunk_engine.tile_encoder
    path = np.asarray(tiles(item, row) if grid else item.path(), dtype=object)
    flat = [str(part) for part in path.ravel()]
    whole = path.tolist() if grid else flat
    found: dict[str, Any] = {"link": whole if grid or item.is_sequence else flat[0]}
    found["creds"] = item.creds_key()
    if not any(part.startswith(REMOTE) for part in flat):
        try:
            found["value"] = value(item, writer)
        except Exception as error:
            found["value"] = {"error": said(error)}
    return found


def tiles(item: Any, row: int) -> Any:
    """Returns the paths of a grid, which Tensor.path cannot read."""
    read = ChunkEngine.get_basic_sample
    return read(item.chunk_engine, row, Index(row), False, is_tile=True).path_array


def value(item: Any, writer: Values) -> dict[str, Any]:
    """Returns the value of one sample by its htype."""
    base = item.base_htype
    if base in ("text", "json", "list", "tag"):
        data = item.data()["value"]
        kind = {"text": "text", "json": "json"}.get(base, "list")
        return {kind: writer.plain(data)}
    if item.is_sequence or base == "polygon":
        return writer.arrays(item.numpy(aslist=True))
    return writer.array(item.numpy())


def views(dataset: Path, writer: Values) -> list[dict[str, Any]]:
    """Returns the saved views of a dataset."""
    ds = opened(dataset)
    with contextlib.redirect_stdout(io.StringIO()):
        loaded = [(entry.id, entry.info, entry.load(verbose=False)) for entry in ds.get_views()]
    for path in sorted(dataset.parent.glob(f"{dataset.name}.outside*")):
        view = opened(path)
        loaded.append((path.name, {"path": path.name}, view))
    return [
        {
            "id": name,
            "entry": writer.plain(info),
            "length": len(view),
            "rows": [int(row) for row in view.sample_indices],
            "tensors": tensors(view, writer),
        }
        for name, info, view in loaded
    ]


def said(error: Exception) -> str:
    """Returns the class and the first line of an error."""
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:200]}"
