"""Exchanges datasets with another build: python tools/other_build.py FOLDER

FOLDER is another checkout in which `make build` has run. Each build writes a dataset with every htype, codec, branch,
tag and saved view. The other one reads it, streams it, resumes a state of it, and commits to it. Both must see the same
values, the same order and the same states.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
ROWS = 300


def write(place: str) -> None:
    """Writes a dataset of several commits, with a branch, a tag and a saved view."""
    import deeplake
    import numpy as np

    rng = np.random.default_rng(7)
    ds = deeplake.create(place)
    ds.create_tensor("images", "image.rgb", compression="jpeg", quality=80)
    ds.create_tensor("drawings", "image", compression="png")
    ds.create_tensor("labels", "class_label", class_names=["a", "b", "c"])
    ds.create_tensor("text", "text", compression="zstd")
    ds.create_tensor("numbers", dtype="float32", compression="lz4")
    ds.create_tensor("boxes", "bbox")
    ds.create_tensor("frames", "sequence[image]", compression="webp")
    ds.create_tensor("extra", "json")
    ds.create_tensor("group/embedding", "embedding", dtype="float16")
    append(ds, rng, ROWS)
    ds.commit("first")
    ds.tags.create("v1")
    ds.checkout("work", create=True)
    ds.update(5, {"labels": "c", "numbers": np.ones((2, 2), np.float32)})
    ds.delete(7)
    ds.commit("on work")
    ds.checkout("main")
    append(ds, rng, 20)
    ds.commit("second")
    ds.merge("work")
    ds.query("SELECT images, labels, MEAN(numbers) AS m WHERE labels = 'b' ORDER BY MEAN(numbers)").save("view")
    ds.close()


def append(ds: Any, rng: Any, rows: int) -> None:
    """Appends random samples of every tensor."""
    import numpy as np

    def pixels(*shape: int) -> Any:
        return rng.integers(0, 256, shape, np.uint8)

    ds.extend(
        {
            "images": [pixels(24 + i % 5, 32, 3) for i in range(rows)],
            "drawings": [pixels(8, 8, 4) for _ in range(rows)],
            "labels": rng.integers(0, 3, rows),
            "text": [f"row {i} " * (i % 7) for i in range(rows)],
            "numbers": [rng.random((i % 3, 2), np.float32) for i in range(rows)],
            "boxes": [rng.random((i % 4, 4), np.float32) if i % 11 else None for i in range(rows)],
            "frames": [[pixels(8, 8, 3)] * (i % 3) for i in range(rows)],
            "extra": [{"i": i} for i in range(rows)],
            "group/embedding": rng.random((rows, 16)).astype(np.float16),
        }
    )


def read(place: str, state: str) -> dict[str, Any]:
    """Reads it in every way. Returns digests and counts. `state` is the other build's loader state, or empty."""
    import deeplake
    import numpy as np

    def digest(values: Any) -> str:
        found = hashlib.sha256()
        for value in values:
            if isinstance(value, np.ndarray):
                found.update(repr((value.shape, str(value.dtype))).encode() + np.ascontiguousarray(value).tobytes())
            else:
                found.update(repr(value).encode())
        return found.hexdigest()[:16]

    def flat(value: Any) -> list[Any]:
        return [one for item in value for one in flat(item)] if isinstance(value, list) else [value]

    ds = deeplake.open(place)
    found: dict[str, Any] = {"rows": len(ds), "versions": len(list(ds.log())), "fsck": bool(ds.fsck())}
    for name in ds.tensors:
        found[name] = digest(flat([ds[i][name] for i in range(len(ds))]))
    found["bytes"] = digest(ds["images"].bytes(range(0, len(ds), 7)))
    loader = ds.batches(
        batch_size=16, shuffle=True, seed=3, tensors=["images", "labels", "numbers"], collate="list", num_workers=2
    )
    batches = iter(loader)
    for _ in range(4):
        next(batches)
    found["state"] = loader.state_dict()
    found["rest"] = digest(flat([batch[name] for batch in batches for name in sorted(batch)]))
    if state:
        again = ds.batches(
            batch_size=16, shuffle=True, seed=3, tensors=["images", "labels", "numbers"], collate="list", num_workers=1
        )
        again.load_state_dict(json.loads(state))
        found["resumed"] = digest(flat([batch[name] for batch in again for name in sorted(batch)])) == found["rest"]
    view = ds.load_view("view")
    found["view"] = [len(view), digest(view["m"].numpy())]
    found["tag"] = len(ds.at("v1"))
    found["differs"] = str(ds.diff("v1", "main"))
    return found


def change(place: str) -> None:
    """Commits, merges, rechunks and collects."""
    import deeplake
    import numpy as np

    ds = deeplake.open(place)
    append(ds, np.random.default_rng(9), 30)
    ds.update(11, {"text": "changed"})
    ds.commit("by the other build")
    ds.rechunk()
    ds.gc()
    ds.close()


def run(build: Path, call: str, *arguments: str) -> Any:
    """Calls a function of this file under a build, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(build / "python")}
    command = [sys.executable, str(Path(__file__)), "--call", call, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{call} under {build} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def exchange(writer: Path, reader: Path) -> None:
    """One build writes; both read, change and read again."""
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "data")
        run(writer, "write", place)
        for changer in (reader, writer):
            own = run(writer, "read", place, "")
            other = run(reader, "read", place, json.dumps(own["state"]))
            resumed = other.pop("resumed")
            different = {key: (own[key], other[key]) for key in own if own[key] != other[key]}
            if different or not resumed or not own["fsck"]:
                raise SystemExit(f"the builds differ: {different}; state resumed: {resumed}; fsck: {own['fsck']}")
            print(f"{writer.name} wrote, {reader.name} read {own['rows']} rows of {own['versions']} versions: the same")
            run(changer, "change", place)


def main() -> None:
    if sys.argv[1:2] == ["--call"]:
        call, arguments = sys.argv[2], sys.argv[3:]
        print(json.dumps({"write": write, "read": read, "change": change}[call](*arguments)))
        return
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    other = Path(sys.argv[1]).resolve()
    exchange(other, HERE)
    exchange(HERE, other)


if __name__ == "__main__":
    main()
