"""Writes a set of MosaicML Streaming, and what its own reader gives as JSON.

python make.py FOLDER [COMPRESSION]

The set of this folder is committed: `make.py .` wrote it, run by the environment "streaming" of
benchmarks/environments.py.
"""

import io
import json
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
from PIL import Image
from streaming import MDSWriter, StreamingDataset

ROWS = 12
COLUMNS = {
    "jpg": "jpeg", "png": "png", "raw": "bytes", "text": "str", "label": "int", "i8": "int8", "u16": "uint16",
    "f16": "float16", "f32": "float32", "f64": "float64", "digits": "str_int", "real": "str_float",
    "dec": "str_decimal", "any": "ndarray", "half": "ndarray:float32", "fixed": "ndarray:int16:2,3", "pil": "pil",
    "meta": "json", "many": "list[jpeg]", "ja": "jpeg_array",
}  # fmt: skip
DRAW = np.random.default_rng(0)


def picture(row: int, width: int = 20, height: int = 16) -> Image.Image:
    base = np.linspace(0, 200, width * (height + row % 3) * 3).reshape(height + row % 3, width, 3)
    return Image.fromarray((base + DRAW.integers(0, 50)).astype(np.uint8))


def encoded(image: Image.Image, kind: str) -> bytes:
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def opened(image: Image.Image, kind: str) -> Image.Image:
    return Image.open(io.BytesIO(encoded(image, kind)))


def row_of(i: int) -> dict:
    return {
        "jpg": opened(picture(i), "JPEG"), "png": opened(picture(i), "PNG"), "raw": bytes([255, i]),
        "text": f"café {i}",
        "label": i - 3, "i8": np.int8(-i), "u16": np.uint16(40000 + i), "f16": np.float16(i / 2),
        "f32": np.float32(i / 3), "f64": i / 7, "digits": 10**15 + i, "real": i / 3, "dec": Decimal(f"1.{i}"),
        "any": np.arange(1 + i % 4, dtype=np.int64), "half": np.ones((1 + i % 3, 2), np.float32) * i,
        "fixed": np.full((2, 3), i, np.int16), "pil": picture(i, 5, 4), "meta": {"k": [i, None]},
        "many": [opened(picture(k), "JPEG") for k in range(i % 3)],
        "ja": [encoded(picture(k), "JPEG") for k in range(1 + i % 2)],
    }  # fmt: skip


def plain(value: object) -> object:
    """Returns a value of the reader as JSON: arrays and pixels with their shapes."""
    if isinstance(value, Image.Image):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        about = {"dtype": str(value.dtype), "shape": list(value.shape), "sum": value.sum().item()}
        return about if value.size > 20 else {**about, "values": value.ravel().tolist()}
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, dict | str | int | float) else str(value)


def main() -> None:
    folder, compression = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
    with MDSWriter(
        out=str(folder / "set"), columns=COLUMNS, compression=compression, size_limit=20_000, hashes=["sha1"]
    ) as writer:
        for i in range(ROWS):
            writer.write(row_of(i))
    if compression is None:
        read = StreamingDataset(local=str(folder / "set"), shuffle=False, batch_size=1)
        values = [{name: plain(value) for name, value in read[i].items()} for i in range(ROWS)]
        (folder / "values.json").write_text(json.dumps(values, ensure_ascii=False))


main()
