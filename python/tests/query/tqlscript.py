"""Reads the scripts of core/query/testdata, as core/query/script_test.go does, which describes them."""

from __future__ import annotations

import datetime
import json
import math
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import deeplake
import numpy as np

SCRIPTS = sorted((Path(__file__).resolve().parents[3] / "core/query/testdata").glob("*.tql"))


@dataclass
class Block:
    line: int
    kind: str
    words: str
    body: list[str] = field(default_factory=list)
    expect: list[str] = field(default_factory=list)
    ordered: bool = True
    fails: str = ""


def blocks(path: Path) -> list[Block]:
    out: list[Block] = []
    now, part = None, ""
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        line = line.rstrip(" ")
        if line.startswith("#"):
            continue
        first, _, rest = line.partition(" ")
        if not line:
            now = None
        elif now is None:
            assert first in ("load", "query"), f"{path.name}:{number}"
            now, part = Block(number, first, rest), "body"
            out.append(now)
        elif part == "body" and now.kind == "query" and first == "expect":
            part, now.ordered = "expect", rest != "in any order"
        elif part == "body" and now.kind == "query" and first == "error":
            part, now.fails = "error", rest
        else:
            assert part in ("body", "expect"), f"{path.name}:{number}"
            (now.body if part == "body" else now.expect).append(line)
    return out


def load(
    block: Block, *, prefix: str = "mem://", rows_per_commit: int | None = None, **options: Any
) -> deeplake.Dataset:
    """Makes the dataset of a load block."""
    ds = deeplake.create(prefix + block.words, overwrite=True)
    columns = {}
    for line in block.body:
        head, _, values = line.partition(": ")
        name, _, kind = head.strip().partition(" ")
        name, kind = name.strip('"'), kind.strip()
        spec, convert = _kind(kind)
        ds.create_tensor(name, **spec, **options.get(name, {}))
        columns[name] = [None if value is None else convert(value) for value in json.loads(values)]
    ds.extend(columns)
    ds.commit()
    return ds


def _kind(kind: str):
    """The arguments of create_tensor, and what makes samples of JSON values."""
    base, _, rest = kind.removesuffix(")").partition("(")
    if base.startswith("sequence["):
        item = base.removeprefix("sequence[").removesuffix("]")
        spec, convert = _kind(item)
        htype = spec.get("htype", "generic")
        return {**spec, "htype": f"sequence[{htype}]"}, lambda row: [convert(value) for value in row]
    if base in ("text", "json"):
        return {"htype": base}, lambda value: value
    if base == "date":
        return _dated(base), lambda text: np.int64((datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days)
    if base == "timestamp":
        return _dated(base), lambda text: np.datetime64(text, "us").astype(np.int64)
    if base == "class_label":
        names = [name.strip() for name in rest.split(",")]
        return {"htype": base, "class_names": names, "dtype": "int64"}, partial(_label, names)
    if base == "bbox":
        info = {"coords": {"mode": rest, "type": "pixel"}} if rest else None
        return {"htype": base, "info": info}, lambda value: np.asarray(value, np.float32).reshape(-1, 4)
    return {"dtype": base}, lambda value: _array(value, base)


def _label(names: list[str], value: Any) -> Any:
    """A class by its name, or classes by their numbers."""
    return np.int64(names.index(value)) if isinstance(value, str) else np.asarray(value, np.int64)


def _dated(unit: str) -> dict[str, Any]:
    return {"dtype": unit}


def _array(value: Any, dtype: str) -> np.ndarray:
    if isinstance(value, dict):
        return np.zeros(value["shape"], dtype)
    if isinstance(value, list):
        return np.asarray(_numbers(value), dtype)
    return np.asarray(_numbers(value)).astype(dtype) if isinstance(value, str) else np.asarray(value, dtype)


def _numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return float(value) if isinstance(value, str) else value


def params(block: Block) -> tuple[str, list[Any]]:
    """The table that a query is asked of, "" for the last one, and its parameters."""
    name, _, values = f" {block.words}".partition(" with ")
    out = json.loads(values) if values else []
    if isinstance(out, dict):
        return name.strip(), [{key: _param(value) for key, value in out.items()}]
    return name.strip(), [_param(value) for value in out]


def _param(value: Any) -> Any:
    if not isinstance(value, list) or (value and isinstance(value[0], str)):
        return value
    return np.asarray(value, np.float64)


def plain(value: Any, unit: str | None = None) -> Any:
    """A sample as scripts have it."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.astype(np.int64) if value.dtype.kind in "mM" else value
        if unit == "date":
            return str(np.datetime64(int(value), "D"))
        if unit == "timestamp":
            return (
                str(np.datetime64(int(value), "us"))
                .replace("T", " ")
                .removesuffix(".000000")
                .rstrip("0" if "." in str(np.datetime64(int(value), "us")).removesuffix(".000000") else "")
            )
        return value.tolist()
    if isinstance(value, list):
        return [plain(item, unit) for item in value]
    return value


def rows(view: deeplake.View) -> list[list[Any]]:
    units = {name: about.get("time", "").partition("[")[0] for name, about in view._source.tensors().items()}
    columns = []
    for name in view.tensors:
        values = view[name][:]
        columns.append([None if value is None else plain(value, units[name]) for value in values])
    return [list(row) for row in zip(*columns, strict=True)] if columns else []


def check(view: deeplake.View, block: Block) -> None:
    got, want = rows(view), list(block.expect)
    if want and want[0].startswith("names "):
        assert " ".join(view.tensors) == want.pop(0).removeprefix("names ")
    assert len(view) == len(want), got
    wanted = [json.loads(line) for line in want]
    if not block.ordered:
        got, wanted = sorted(got, key=_key), sorted(wanted, key=_key)
    for number, (row, expected) in enumerate(zip(got, wanted, strict=True)):
        assert same(row, expected), f"row {number} is {row}, want {expected}; all rows: {got}"


def _key(row: Any) -> str:
    if isinstance(row, list):
        return "[" + ", ".join(_key(item) for item in row) + "]"
    if isinstance(row, float):
        return '"' + str(row) + '"' if not math.isfinite(row) else f"{row:.6g}"
    return json.dumps(row)


def same(got: Any, want: Any) -> bool:
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, str) and isinstance(got, float):
        return str(got) == want
    if isinstance(want, float):
        return isinstance(got, float) and (
            got == want or abs(got - want) <= 1e-6 * max(abs(got), abs(want)) or abs(got - want) < 1e-9
        )
    return type(got) is type(want) and got == want


def failed(message: str, want: str) -> bool:
    """Whether an error is the one that a script wants."""
    place, _, words = want.partition(" ")
    found = re.fullmatch(r"(\d+):(\d+)", place)
    if not found:
        return want in message
    return f"line {found[1]}, column {found[2]}:" in message and words in message
