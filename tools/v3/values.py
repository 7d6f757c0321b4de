"""Writes values as JSON that a program without deeplake 3 can read, large arrays as .npy files.

An array of up to 1,024 bytes stands in the JSON: {"shape", "dtype", "data"}, base64 in C order.
A larger one is {"npy": file}, named by its SHA-256, so that versions share it.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

INLINE_BYTES = 1024


class Values:
    """Encodes values for one folder of expected values."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "arrays").mkdir(parents=True, exist_ok=True)

    def array(self, value: Any) -> dict[str, Any]:
        """Returns the JSON of one array."""
        array = np.asarray(value, order="C")
        if array.dtype.kind == "O":
            raise TypeError(f"want an array of numbers, got {array.dtype}: {value!r:.80}")
        data = array.tobytes()
        if len(data) <= INLINE_BYTES:
            text = base64.b64encode(data).decode()
            return {"shape": list(array.shape), "dtype": array.dtype.str, "data": text}
        key = hashlib.sha256(repr((array.shape, array.dtype.str)).encode() + data).hexdigest()
        name = f"arrays/{key[:20]}.npy"
        if not (self.folder / name).exists():
            np.save(self.folder / name, array, allow_pickle=False)
        return {"npy": name}

    def arrays(self, value: Any) -> dict[str, Any]:
        """Returns the JSON of an array, or of lists of arrays however deep."""
        if isinstance(value, (list, tuple)):
            return {"items": [self.arrays(item) for item in value]}
        return self.array(value)

    def plain(self, value: Any) -> Any:
        """Returns a JSON value in which arrays and bytes are objects with a marked key."""
        if isinstance(value, np.ndarray) and value.dtype != object:
            return {"__array__": self.array(value)}
        if isinstance(value, np.ndarray):
            return [self.plain(item) for item in value.tolist()]
        if isinstance(value, np.generic):
            return self.plain(value.item())
        if isinstance(value, bytes):
            return {"__bytes__": base64.b64encode(value).decode()}
        if isinstance(value, dict):
            return {str(key): self.plain(item) for key, item in value.items()}
        if isinstance(value, (list, tuple, set)):
            return [self.plain(item) for item in value]
        return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
