"""Writes sets of LitData, and what its own reader gives as JSON.

python make.py FOLDER [ROWS]

The sets of this folder are committed: `make.py .` wrote them, run by the environment "litdata" of
benchmarks/environments.py.
"""

import io
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
from litdata import StreamingDataset, TokensLoader, optimize
from litdata.types import File, Image
from PIL import Image as Pillow

DRAW = np.random.default_rng(0)
ZSTD = {"frames": "batch", "items": "sample", "whole": "chunk"}


def picture(row: int, width: int = 20, height: int = 16) -> Pillow.Image:
    base = np.linspace(0, 200, width * (height + row % 3) * 3).reshape(height + row % 3, width, 3)
    return Pillow.fromarray((base + DRAW.integers(0, 50)).astype(np.uint8))


def encoded(image: Pillow.Image, kind: str) -> bytes:
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def opened(image: Pillow.Image, kind: str) -> Pillow.Image:
    return Pillow.open(io.BytesIO(encoded(image, kind)))


def full(i: int) -> dict:
    """Returns a row with a value of each encoding."""
    return {
        "jpg": opened(picture(i), "JPEG"), "png": Image(bytes=encoded(picture(i), "PNG"), path="a.png"),
        "pil": picture(i, 5, 4), "many": [opened(picture(k), "JPEG") for k in range(1 + i % 2)],
        "text": f"café {i}", "label": i - 3, "real": i / 3, "yes": i % 2 == 0, "raw": bytes([255, i % 256]),
        "file": File(bytes=bytes([1, i % 256]), path="a.xyz"),
        "n1": np.arange(i % 4, dtype=np.int16), "n2": np.full((2, 1 + i % 2), i, np.float16),
        "n8": np.full((2, 2), i % 256, np.uint8), "flags": np.array([i % 2 == 0, True, False]),
        "t1": torch.arange(i % 3), "t2": torch.full((2, 3), i / 2), "tb": torch.tensor([[True, False, i > 3]]),
        "deep": {"pair": (i, f"p{i}"), "x": 2.5},
        "meta": [{"k": i, "s": "\u00fc", "n": None}], "words": ["a", "b"][: i % 3],
    }  # fmt: skip


def plain_row(i: int) -> dict:
    """Returns a row that lies in an Arrow file."""
    return {"id": i, "text": f"café {i}", "score": i / 7, "yes": i % 2 == 0, "numbers": list(range(i % 3))}


def small(i: int) -> dict:
    return {"jpg": opened(picture(i), "JPEG"), "x": torch.full((3, 2), i), "label": i}


def pair(i: int) -> tuple:
    return i, np.arange(i, i + 3, dtype=np.float32)


def tokens(i: int) -> torch.Tensor:
    return torch.arange(10 * i, 10 * i + 1 + i % 4, dtype=torch.int32)


def text(i: int) -> str:
    return f"text of {i}"


def plain(value: object) -> object:
    """Returns a value of the reader as JSON: arrays and pixels with their shapes."""
    if isinstance(value, Pillow.Image):
        value = np.asarray(value)
    if isinstance(value, torch.Tensor):
        if value.ndim == 3:  # pixels of an image file
            value = value.permute(1, 2, 0)
        value = value.numpy()
    if isinstance(value, np.ndarray):
        about = {"dtype": str(value.dtype), "shape": list(value.shape), "sum": value.sum().item()}
        return about if value.size > 20 else {**about, "values": value.ravel().tolist()}
    if isinstance(value, bytes | memoryview):
        return {"hex": bytes(value).hex()}
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def main() -> None:
    folder, rows = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 11
    sets = {
        "full": full,
        "plain": plain_row,
        "pair": pair,
        "text": text,
        "tokens": tokens,
        **dict.fromkeys(ZSTD, small),
    }
    values = {}
    for name, of in sets.items():
        loader = {"item_loader": TokensLoader(block_size=2)} if name == "tokens" else {}
        zstd = {"compression": "zstd", "compression_level": ZSTD[name]} if name in ZSTD else {}
        size = {"chunk_size": 12} if name == "tokens" else {"chunk_size": max(4, rows // 8)}
        if name == "frames":
            zstd["compression_batch_size"] = 3
        out = folder / name
        optimize(of, list(range(rows)), str(out), num_workers=1, verbose=False, **loader, **zstd, **size)
        if name == "tokens":
            values[name] = [plain(tokens(i)) for i in range(rows)]
            read = StreamingDataset(str(out), **loader)
            joined = torch.cat([tokens(i) for i in range(rows)])
            assert sum(len(read[i]) for i in range(len(read))) <= len(joined)
        else:
            # Reading a set decompresses its chunks where they are.
            read = StreamingDataset(shutil.copytree(out, folder / "read" / name), shuffle=False)
            values[name] = [plain(read[i]) for i in range(len(read))]
    shutil.rmtree(folder / "read")
    (folder / "values.json").write_text(json.dumps(values, ensure_ascii=False))


if __name__ == "__main__":
    main()
