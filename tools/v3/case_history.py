"""Cases of versions: commits, branches and merges, saved views, damage that the package does."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
from cases import attempt, case, fresh
from pictures import crop

NAMES = ["ant", "bee", "cat"]


@case
def history(root: Path) -> dict[str, dict[str, Any]]:
    """Writes a dataset of three branches with updates, deletions, renames and a merge."""
    rng = np.random.default_rng(5)
    with fresh(root, "history") as ds:
        first(ds, rng)
        changes(ds, rng)
        other_branches(ds, rng)
        late_branches(ds)
        ds.checkout("main")
        # A merge commits of itself.
        ds.merge("feature", conflict_resolution="theirs")
        ds.numbers.append(rng.integers(0, 9, 50).astype("int32"))
        ds.text[0] = "changed at the head, not committed"
    return {"history": {"uncommitted": ["main", "side"]}, "rechunked": rechunked(root)}


def rechunked(root: Path) -> dict[str, Any]:
    """Writes many small chunks over three commits, then lets the package join them."""
    skipped: dict[str, str] = {}
    rng = np.random.default_rng(6)
    with fresh(root, "rechunked") as ds:
        ds.create_tensor("numbers", dtype="int32", max_chunk_size=4000)
        ds.create_tensor("photos", htype="image", sample_compression="jpeg", max_chunk_size=8000)
        ds.create_tensor("text", htype="text", chunk_compression="lz4", max_chunk_size=500)
        for part in range(3):
            for i in range(20):
                row = rng.integers(0, 99, 40).astype("int32")
                ds.append({"numbers": row, "photos": crop(i, 20, 28), "text": f"{part} {i} " * i})
            ds.commit(f"part {part}")
        attempt("rechunk", lambda: ds.rechunk(num_workers=0, progressbar=False), skipped)
        ds.numbers[7] = np.zeros(3, "int32")
        ds.commit("rechunked, then updated")
    return {"skipped": skipped}


def first(ds: Any, rng: np.random.Generator) -> None:
    """Writes the first commit, with several chunks a tensor."""
    ds.create_tensor("numbers", dtype="int32", max_chunk_size=2000)
    ds.create_tensor("packed", dtype="int32", max_chunk_size=2000, chunk_compression="lz4")
    ds.create_tensor("photos", htype="image", sample_compression="jpeg", max_chunk_size=8000)
    ds.create_tensor("labels", htype="class_label", class_names=NAMES)
    ds.create_tensor("text", htype="text", max_chunk_size=500)
    ds.create_tensor("group/old", dtype="float32")
    ds.create_tensor("doomed", dtype="int8")
    ds.create_tensor("frames", htype="sequence", dtype="int16")
    for i in range(40):
        row = rng.integers(0, 99, 50).astype("int32")
        sample = {"numbers": row, "packed": row, "labels": i % 3, "text": f"row {i} " * (i % 5)}
        sample.update({"photos": crop(i, 24, 32), "group/old": np.float32(i)})
        sample.update({"doomed": np.int8(i), "frames": [np.full(2, i, "int16")] * (i % 3)})
        ds.append(sample)
    ds.info["step"] = 1
    ds.commit("first")


def changes(ds: Any, rng: np.random.Generator) -> None:
    """Writes three commits: updates; a rename, a deletion and a creation; removals."""
    ds.numbers[3] = np.full(50, -3, "int32")
    ds.numbers[20] = np.arange(7, dtype="int32")
    ds.packed[39] = np.full(10, -39, "int32")
    ds.photos[5] = crop(100, 40, 20)
    ds.text[1] = "changed in the second commit"
    ds.labels[0] = 2
    ds.frames[4] = [np.arange(3, dtype="int16")]
    ds.info["step"] = 2
    ds.commit("updates")
    ds.rename_tensor("group/old", "group/new")
    ds.delete_tensor("doomed", large_ok=True)
    ds.create_tensor("fresh", dtype="float64")
    ds.fresh.extend(rng.random((40, 2)))
    ds.labels.info["class_names"] = [*NAMES, "dog"]
    # A name whose key an earlier version holds.
    ds.create_tensor("group/old", dtype="int64")
    ds["group/old"].extend(np.arange(40))
    ds.commit("another set of tensors")
    # The package does not take away an empty sequence, here rows 0 and 39: `frames` keeps 39.
    for row in (39, 17, 0):
        ds.pop(row)
    row = {name: ds[name][0].numpy() for name in ("numbers", "packed", "fresh", "group/old")}
    ds.append(row, skip_ok=True)
    ds.commit("removals")


def other_branches(ds: Any, rng: np.random.Generator) -> None:
    """Writes two branches: one to be merged, and one with a change that is not committed."""
    ds.checkout("feature", create=True)
    ds.numbers[2] = np.full(50, 222, "int32")
    ds.numbers.extend(rng.integers(0, 99, (3, 50)).astype("int32"))
    ds.create_tensor("score", dtype="float32")
    ds.score.extend(np.linspace(0, 1, 10, dtype="float32"))
    ds.commit("feature: scores")
    ds.text[2] = "feature"
    ds.commit("feature: text")
    ds.checkout("main")
    ds.numbers[2] = np.full(50, 111, "int32")
    ds.commit("main: a conflict")
    ds.checkout("side", create=True)
    ds.numbers.clear()
    ds.numbers.extend(rng.integers(0, 9, (4, 5)).astype("int32"))
    ds.commit("side: cleared")
    ds.photos.append(crop(200, 16, 16))
    ds.flush()


def late_branches(ds: Any) -> None:
    """Writes a branch off the first commit, and one that is deleted again."""
    ds.checkout("main")
    oldest = ds.commits[-1]["commit"]
    ds.checkout(oldest)
    ds.checkout("old", create=True)
    ds.numbers[0] = np.zeros(1, "int32")
    ds.doomed.append(np.int8(-1))
    ds.commit("old: from the first commit")
    ds.checkout("gone", create=True)
    ds.numbers.append(np.zeros(2, "int32"))
    ds.commit("gone: a commit")
    ds.checkout("main")
    ds.delete_branch("gone")


@case
def damaged(root: Path) -> dict[str, dict[str, Any]]:
    """Writes the damage of section 11.1 of the format page, a dataset a kind."""
    found: dict[str, dict[str, Any]] = {}
    for part in (failed_extend, padded_tag, late_values, missing_chunk):
        found[part.__name__] = part(root)
    return found


def failed_extend(root: Path) -> dict[str, Any]:
    """Leaves samples in a chunk that its index does not count."""
    failed: dict[str, str] = {}
    with fresh(root, "failed_extend") as ds:
        ds.create_tensor("ragged", dtype="int32")
        ds.create_tensor("fixed", dtype="int32")
        ds.create_tensor("text", htype="text")
        ds.create_tensor("png", htype="image", sample_compression="png")
        good: dict[str, list[Any]] = {
            "ragged": [np.arange(n, dtype="int32") for n in (1, 2, 3)],
            "fixed": [np.full(2, n, "int32") for n in (1, 2, 3)],
            "text": ["one", "two", "three"],
            "png": [crop(i, 8 + i, 8) for i in range(3)],
        }
        for name, samples in good.items():
            ds[name].append(samples[0])
            row = [samples[1], object()]
            attempt(name, lambda name=name, row=row: ds[name].extend(row), failed)
            ds[name].append(samples[2])
    return {"failed": failed, "appended": "samples 0 and 2; sample 1 is the orphan"}


def padded_tag(root: Path) -> dict[str, Any]:
    """Assigns past the end of tags, which the package cannot pad."""
    failed: dict[str, str] = {}

    def write() -> None:
        with fresh(root, "padded_tag") as ds:
            ds.create_tensor("tag", htype="tag")
            ds.tag.extend([["a"], ["b", "c"]])
            ds.commit("good")
            ds.tag[5] = ["d"]

    attempt("padding", write, failed)
    return {"failed": failed}


def late_values(root: Path) -> dict[str, Any]:
    """Commits absent samples before the first real one."""
    with fresh(root, "late_values") as ds:
        ds.create_tensor("late", dtype="int32")
        ds.create_tensor("picture", htype="image", sample_compression="png")
        for tensor in (ds.late, ds.picture):
            tensor.extend([None, None])
        ds.commit("absent only")
        ds.late.append(np.arange(3, dtype="int32"))
        ds.picture.append(crop(1, 9, 9))
    return {}


def missing_chunk(root: Path) -> dict[str, Any]:
    """Takes away a chunk that the head names, as after a writer that was killed."""
    with fresh(root, "missing_chunk") as ds:
        ds.create_tensor("numbers", dtype="int32")
        ds.numbers.extend(np.arange(10, dtype="int32"))
        ds.commit("good")
        ds.numbers.extend(np.arange(10, 20, dtype="int32"))
        head = ds.pending_commit_id
    shutil.rmtree(root / "missing_chunk" / "versions" / head / "numbers" / "chunks")
    return {"head": head}


@case
def views(root: Path) -> dict[str, dict[str, Any]]:
    """Writes saved views: of rows, of a filter, of one sample, and one with its data copied."""
    skipped: dict[str, str] = {}
    with fresh(root, "views") as ds:
        ds.create_tensor("photos", htype="image", sample_compression="jpeg")
        ds.create_tensor("labels", htype="class_label", class_names=NAMES)
        ds.create_tensor("numbers", dtype="int32")
        for i in range(30):
            row = {"photos": crop(i, 20, 24), "labels": i % 3}
            ds.append({**row, "numbers": np.arange(i % 4, dtype="int32")})
        first = ds.commit("thirty")
        ds[:10].save_view(id="first_ten", message="the first ten", verbose=False)
        ds[[5, 2, 2, 29]].save_view(id="chosen", verbose=False)
        ds[7].save_view(id="single", verbose=False)
        ds[::7].save_view(id="strided", optimize=True, verbose=False, num_workers=0)
        ds[8].save_view(id="single_copied", optimize=True, verbose=False)
        ds[20:24].save_view(id="copied_later", verbose=False)
        found = ds.filter("labels == 1", progressbar=False)
        found.save_view(id="query", message="label one", verbose=False)
        found = ds.filter(lambda row: row.numbers.shape[0] > 2, progressbar=False)
        found.save_view(id="lambda", verbose=False)
        found.save_view(id="lambda_copied", optimize=True, tensors=["labels"], verbose=False)
        attempt("sliced", lambda: ds[3:9, 2:5].save_view(id="sliced", verbose=False), skipped)
        outside = root / "views.outside"
        shutil.rmtree(outside, ignore_errors=True)
        ds[4:8].save_view(path=str(outside), verbose=False)
        ds.labels[0] = 2
        ds.commit("a version without views")
    # This leaves its dataset at the commit of the view; a write would go to a branch of its own.
    later = deeplake.load(str(root / "views"), verbose=False)
    later.get_view("copied_later").optimize(progressbar=False)
    return {"views": {"skipped": skipped, "commit": first, "outside": "views.outside"}}
