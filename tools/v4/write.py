"""Writes small datasets of deeplake 4, and beside them the values that deeplake 4 reads from them.

Runs in an environment of tools/v4/v4.txt, without a network, which the package would report to:
`unshare -n python tools/v4/write.py python/tests/deeplake4.tar.gz`.
"""

from __future__ import annotations

import base64
import io
import json
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
from deeplake import types
from PIL import Image

ROWS = 3


def picture(codec: str, seed: int) -> bytes:
    """Returns a picture of noise as a file."""
    out = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 255, (24 + seed, 32, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(out, codec)
    return out.getvalue()


def full(shape: tuple[int, ...], value: int, dtype: str = "uint8") -> np.ndarray:
    """Returns an array of one value."""
    return np.full(shape, value, dtype)


def kinds() -> dict[str, tuple[Any, list[Any]]]:
    """Returns a type and three values for each column."""
    jpegs, pngs = [picture("JPEG", i) for i in range(3)], [picture("PNG", i) for i in range(3)]
    square, triangle = np.array([[0, 0], [4, 0], [4, 4], [0, 4]], "float32"), np.array([[0, 0], [1, 0], [0, 1]], "f4")
    nullable, one, two = types.Nullable, full((2, 3), 1, "int16"), full((1, 1), 2, "int16")
    return {
        "int8": ("int8", [-1, 0, 127]),
        "int64": ("int64", [1, -2, 2**62]),
        "uint64": ("uint64", [1, 2, 2**63]),
        "float16": ("float16", [0.5, 1, 2]),
        "float64": ("float64", [0.1, 1e300, -3]),
        "bool": ("bool", [True, False, True]),
        "text": (types.Text(), ["a", "é \n", ""]),
        "bytes": (types.Bytes(), [b"a", b"\0\xff", b""]),
        "dict": (types.Dict(), [{"a": 1}, {"b": [1, {"c": "x"}], "f": 1.5}, {}]),
        "struct": (types.Struct({"f": types.Int16(), "t": "text"}), [{"f": i, "t": str(i)} for i in range(3)]),
        "embedding": (types.Embedding(4), [np.arange(4, dtype="float32") + i for i in range(3)]),
        "jpeg": (types.Image(sample_compression="jpg"), jpegs),
        "png": (types.Image(sample_compression="png"), [*pngs[:2], full((5, 6, 3), 7)]),
        "png16": (types.Image("uint16", "png"), [full((5, 6, 1), 300 * i, "uint16") for i in range(3)]),
        "pixels": (types.Image(sample_compression="null"), [full((5 + i, 6, 3), i) for i in range(3)]),
        "label": (types.ClassLabel("uint32"), [0, 2, 1]),
        "number": (types.ClassLabel("uint32"), [0, 2, 1]),
        "labels": (types.ClassLabel(types.Array("uint32", 1)), [full((i,), i, "uint32") for i in (2, 0, 1)]),
        "boxes": (types.BoundingBox("float32", "ltwh"), [full((i, 4), i, "float32") for i in (2, 0, 1)]),
        "box": (types.BoundingBox("int32"), [full((4,), i, "int32") for i in range(3)]),
        "segments": (types.SegmentMask(sample_compression="lz4"), [full((5, 6), i) for i in range(3)]),
        "segments_png": (types.SegmentMask(sample_compression="png"), [full((5, 6), i) for i in range(3)]),
        "segments_mixed": (types.SegmentMask(), [full((5, 6), 1), full((5, 6, 2), 2), full((5, 6), 3)]),
        "binary": (types.BinaryMask(chunk_compression="lz4"), [full((5, 6, 2), i % 2, "bool") for i in range(3)]),
        "polygons": (types.Polygon(), [[square, triangle], [square], [triangle, triangle]]),
        "points": (types.Point(2), [full((i, 2), i, "float32") for i in (2, 1, 3)]),
        "array": (types.Array("float32", 2), [full((2, 3), 1, "float32"), full((0, 3), 0, "float32"),
                                              full((1, 4), 2, "float32")]),
        "array_fixed": (types.Array("int16", shape=[2, 3]), [full((2, 3), i, "int16") for i in range(3)]),
        "sequence": (types.Sequence("int32"), [[1, 2], [], [3]]),
        "sequence_jpeg": (types.Sequence(types.Image(sample_compression="jpg")), [jpegs[:2], [], jpegs[2:]]),
        "nullable_text": (nullable(types.Text()), ["a", None, ""]),
        "nullable_int": (nullable(types.Int32()), [1, None, 3]),
        "nullable_dict": (nullable(types.Dict()), [{"s": "x", "n": [1.5]}, None, {}]),
        "nullable_array": (nullable(types.Array("int16", 2)), [one, None, two]),
        "nullable_embedding": (nullable(types.Embedding(2)), [np.ones(2, "float32"), None, np.zeros(2, "float32")]),
        "nullable_label": (nullable(types.ClassLabel("uint32")), [1, None, 0]),
        "nullable_boxes": (nullable(types.BoundingBox()), [full((2, 4), 1, "f4"), None, full((1, 4), 2, "f4")]),
        "nullable_polygons": (nullable(types.Polygon()), [[square, triangle], None, [square]]),
        "nullable_png": (nullable(types.Image(sample_compression="png")), [pngs[0], None, pngs[2]]),
        "link": (types.Link(types.Image(sample_compression="jpg")), [f"https://example.org/{i}.jpg" for i in range(3)]),
        "medical": (types.Medical("nii.gz"), [b"not", b"really", b"NIfTI"]),
        "int128": (types.Int128(), [1, 2, 2**100]),
    }  # fmt: skip


def write(place: Path) -> None:
    """Writes the dataset: three rows; the tag "first"; three rows more, with later columns; a branch with others."""
    given = kinds()
    dataset = deeplake.create(str(place))
    for name, (kind, _) in given.items():
        dataset.add_column(name, kind)
    for name in ("label", "labels", "nullable_label"):
        dataset[name].metadata["class_names"] = ["cat", "dog", "fox"]
    dataset["int8"].metadata["unit"] = "m"
    dataset.metadata["source"] = "tools/v4"
    rows = {name: values for name, (_, values) in given.items()}
    dataset.append(rows)
    dataset.commit("first")
    dataset.tag("first")
    later = {"late_text": types.Text(), "late_jpeg": types.Image(sample_compression="jpg"), "late_int": "int32"}
    for name, kind in later.items():
        dataset.add_column(name, kind)
    values = [["x", "y", "z"], [picture("JPEG", i) for i in range(3)], [7, 8, 9]]
    dataset.append({**rows, **dict(zip(later, values, strict=True))})
    dataset.commit("second")
    dataset.branch("side")
    side = dataset.branches["side"].open()
    side.append({**rows, **dict(zip(later, values, strict=True))})
    side.commit("third")


def plain(value: Any) -> Any:
    """Returns a value that the package has read, as JSON."""
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"dtype": str(value.dtype), "shape": list(value.shape), "data": data}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if hasattr(value, "to_dict"):
        return {"json": json.loads(json.dumps(value.to_dict(), default=lambda one: one.tolist()))}
    if isinstance(value, (list, tuple)):
        return {"items": [plain(one) for one in value]}
    return {"value": value}


def attempted(read: Callable[[int], Any], row: int) -> Any:
    """Returns the value that the package reads, or its error."""
    try:
        return plain(read(row))
    except (RuntimeError, ValueError, KeyError) as err:
        return {"error": str(err)[:80]}


def expected(place: Path) -> dict[str, Any]:
    """Returns each sample of the main branch, and its stored bytes where the package gives them."""
    dataset = deeplake.open_read_only(str(place))
    out: dict[str, Any] = {"rows": len(dataset), "version": dataset.version, "columns": {}}
    for definition in dataset.schema.columns:
        column = dataset[definition.name]
        reads = (("read", column.__getitem__), ("stored", column.get_bytes))
        samples = [{key: attempted(read, row) for key, read in reads} for row in range(len(dataset))]
        out["columns"][definition.name] = {"type": str(definition.dtype), "samples": samples}
    return out


def main() -> int:
    """Writes the archive that the command line names."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "kinds")
        write(place)
        Path(folder, "kinds.json").write_text(json.dumps(expected(place), indent=0))
        for lock in place.rglob("*.lock"):
            lock.unlink()
        with tarfile.open(Path(folder, "out.tar.gz"), "w:gz") as archive:
            for path in sorted(Path(folder).rglob("*")):
                if path.is_file() and path.name != "out.tar.gz":
                    archive.add(path, path.relative_to(folder))
        shutil.move(Path(folder, "out.tar.gz"), sys.argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
