"""Writes files of FFCV by their layout, and reads them as its own reader does: by dtypes of NumPy.

The package cannot be installed without a compiler, OpenCV and TurboJPEG. NumPy lays out the records here, as it does
there.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

PAGE = 1 << 21  # the smallest page that FFCV writes
HEADER = np.dtype(
    [("version", "<u2"), ("fields", "<u2"), ("page", "<u4"), ("samples", "<u8"), ("table", "<u8")], align=True
)
FIELD = np.dtype([("type", "<u1"), ("name", "<u1", 16), ("arguments", "<u1", 1024)], align=True)
ALLOCATION = np.dtype([("sample", "<u8"), ("ptr", "<u8"), ("size", "<u8")])
ARRAY = np.dtype([("shape", "<u8", 32), ("length", "<u8")])
PLACE = np.dtype([("ptr", "<u8"), ("size", "<u8")])
IMAGE = np.dtype([("mode", "<u1"), ("width", "<u2"), ("height", "<u2"), ("ptr", "<u8")])
RECORDS: dict[int, Any] = {0: "<f8", 1: "<i8", 2: IMAGE, 3: PLACE, 4: "<u8", 5: PLACE, 6: "<u8"}


@dataclass
class Field:
    """A field of a file. Values are numbers, bytes, documents, arrays, and for images the bytes of
    a JPEG file, or an array of pixels.
    """

    type: int
    shape: tuple[int, ...] = ()
    dtype: Any = "<f4"

    def arguments(self) -> bytes:
        if self.type not in (4, 6):
            return b""
        out = np.zeros(1, ARRAY)
        out["shape"][0][: len(self.shape)] = self.shape
        descr = json.dumps(np.dtype(self.dtype).descr).encode()
        out["length"] = len(descr)
        return out.tobytes() + descr


def encoded(pixels: np.ndarray[Any, Any]) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=90)
    return out.getvalue()


DRAW = np.random.default_rng(5)
FIELDS = {
    "image": Field(2),
    "label": Field(1),
    "weight": Field(0),
    "mask": Field(4, (3, 4, 2), "<u2"),
    "caption": Field(3),
    "meta": Field(5),
    "embedding": Field(6, (8,), "<f4"),
    "turned": Field(4, (2, 2), ">i4"),
    "flags": Field(4, (5,), "?"),
    "pixels": Field(2),
    "a name that is cut off": Field(1),
}


def pixels(row: int) -> np.ndarray[Any, Any]:
    ramp = np.linspace(0, 200, (20 + row % 3) * 24 * 3).reshape(20 + row % 3, 24, 3)
    return np.asarray(ramp + row % 50, np.uint8)


def samples(n: int) -> list[list[Any]]:
    return [
        [
            encoded(pixels(i)),
            i - 3,
            i / 7,
            DRAW.integers(0, 1 << 16, (3, 4, 2)).astype("<u2"),
            b"" if i % 5 == 2 else b"\xff" * (i % 4) + f"caption {i}".encode(),
            {"é": [i, None], "row": f"{i}"},
            DRAW.standard_normal(8).astype("<f4"),
            DRAW.integers(-9, 9, (2, 2)).astype(">i4"),
            DRAW.integers(0, 2, 5).astype("?"),
            pixels(i + 1),
            i * 1000,
        ]
        for i in range(n)
    ]


@dataclass
class _Pages:
    """The pages of the writer's processes: each has one of its own, and flushes it when it is full."""

    page: int
    start: int
    done: list[bytes] = field(default_factory=list)
    open: dict[int, tuple[int, bytearray]] = field(default_factory=dict)
    table: list[tuple[int, int, int]] = field(default_factory=list)

    def put(self, worker: int, sample: int, values: Sequence[bytes]) -> list[int]:
        """Returns the positions of the values of a sample, all in one page."""
        number, data = self.open.get(worker, (-1, bytearray(self.page)))
        if len(data) + sum(map(len, values)) > self.page:
            self.flush(worker)
            number, data = len(self.done), bytearray()
            self.done.append(b"")
        self.open[worker] = number, data
        places = []
        for value in values:
            places.append(self.start + number * self.page + len(data))
            self.table.append((sample, places[-1], len(value)))
            data += value
        return places

    def flush(self, worker: int) -> None:
        number, data = self.open.get(worker, (-1, bytearray()))
        if number >= 0:
            self.done[number] = bytes(data.ljust(self.page, b"\0"))


def write(
    path: Path, fields: dict[str, Field], samples: Sequence[Sequence[Any]], *, page: int = PAGE, workers: int = 1
) -> None:
    """Writes samples as `workers` processes do: of each hundred samples, one by one of them."""
    record = np.dtype([("", RECORDS[f.type]) for f in fields.values()], align=True)
    records = np.zeros(len(samples), record)
    descriptions = np.zeros(len(fields), FIELD)
    for description, (name, one) in zip(descriptions, fields.items(), strict=True):
        description["type"] = one.type
        for part, text in (("name", name.encode("ascii")[:16]), ("arguments", one.arguments())):
            description[part][: len(text)] = np.frombuffer(text, "u1")
    ends = HEADER.itemsize + descriptions.nbytes + records.nbytes
    pages = _Pages(page, -(-ends // page) * page)
    for number, sample in enumerate(samples):
        stored, where = [], []
        for at, (one, value) in enumerate(zip(fields.values(), sample, strict=True)):
            if one.type in (0, 1):
                records[f"f{at}"][number] = value
                continue
            where.append((at, one, value))
            if one.type == 5:
                stored.append((json.dumps(value) + "\0").encode())
            elif isinstance(value, np.ndarray):
                stored.append(value.tobytes())
            else:
                stored.append(value)
        places = pages.put(number // 100 % workers, number, stored)
        for (at, one, value), place, data in zip(where, places, stored, strict=True):
            to = records[f"f{at}"][number : number + 1]
            if one.type in (4, 6):
                to[:] = place
                continue
            to["ptr"] = place
            if one.type != 2:
                to["size"] = len(data)
                continue
            is_raw = isinstance(value, np.ndarray)
            height, width = value.shape[:2] if is_raw else Image.open(io.BytesIO(value)).size[::-1]
            to["mode"], to["width"], to["height"] = int(is_raw), width, height
    for worker in list(pages.open):
        pages.flush(worker)
    header = np.zeros(1, HEADER)
    header[["version", "fields", "page", "samples"]] = (2, len(fields), page, len(samples))
    header["table"] = pages.start + page * len(pages.done)
    table = np.array(pages.table[::-1], ALLOCATION)  # FFCV keeps no order
    with path.open("wb") as out:
        out.write(header.tobytes() + descriptions.tobytes() + records.tobytes())
        out.write(bytes(pages.start - ends) + b"".join(pages.done) + table.tobytes())


def read(path: Path) -> dict[str, list[Any]]:
    """Returns the values of a file by field, of JPEG files their bytes."""
    data = path.read_bytes()
    header = np.frombuffer(data, HEADER, 1)[0]
    descriptions = np.frombuffer(data, FIELD, header["fields"], HEADER.itemsize)
    kinds = [int(one["type"]) for one in descriptions]
    record = np.dtype([("", RECORDS[kind]) for kind in kinds], align=True)
    records = np.frombuffer(data, record, header["samples"], HEADER.itemsize + descriptions.nbytes)
    table = np.frombuffer(data, ALLOCATION, -1, int(header["table"]))
    sizes = {int(row["ptr"]): int(row["size"]) for row in table if row["size"]}
    out: dict[str, list[Any]] = {}
    for at, (description, kind) in enumerate(zip(descriptions, kinds, strict=True)):
        name = description["name"].tobytes().split(b"\0")[0].decode()
        out[name] = [_value(data, description, kind, one, sizes) for one in records[f"f{at}"]]
    return out


def _value(data: bytes, description: Any, kind: int, one: Any, sizes: dict[int, int]) -> Any:
    if kind in (0, 1):
        return one.item()
    if kind in (4, 6):
        about = description["arguments"].tobytes()
        head = np.frombuffer(about, ARRAY, 1)[0]
        text = about[ARRAY.itemsize :][: int(head["length"])]
        dtype = np.dtype([tuple(part) for part in json.loads(text)])["f0"]
        shape = tuple(int(n) for n in head["shape"] if n)
        return np.frombuffer(data, dtype, int(np.prod(shape)), int(one)).reshape(shape)
    place = int(one["ptr"])
    if kind == 2:
        height, width = int(one["height"]), int(one["width"])
        if one["mode"] == 0:
            return data[place:][: sizes[place]]
        return np.frombuffer(data, "u1", height * width * 3, place).reshape(height, width, 3)
    value = data[place:][: int(one["size"])] if one["size"] else b""
    return value if kind == 3 else json.loads(value.split(b"\0")[0])
