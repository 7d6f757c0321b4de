"""Results of transforms: workers take what the calling thread takes, and structures collate as in torch."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import namedtuple
from functools import partial
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest
import torch
from torch.utils.data import default_collate

Pair = namedtuple("Pair", "left right")
ROWS = 6


@pytest.fixture(scope="module")
def ds(tmp_path_factory: Any) -> Any:
    with deeplake.create(
        str(tmp_path_factory.mktemp("results") / "ds"), schema={"x": {"dtype": "int64"}, "facts": "json"}
    ) as made:
        made.extend({"x": np.arange(ROWS), "facts": [{"n": i} for i in range(ROWS)]})
        made.commit()
    with deeplake.open(str(made.uri), read_only=True) as opened:
        yield opened


def of(make: Any, row: Any) -> dict[str, Any]:
    return {"y": make(int(row["x"]))}


MAKERS: dict[str, Any] = {
    "no boxes": lambda i: np.zeros((0, 4), np.float32),
    "boxes of the first alone": lambda i: np.ones((int(i == 0), 4), np.float32),
    "boxes but of the first": lambda i: np.ones((int(i > 0), 4), np.float32),
    "no elements in between": lambda i: np.zeros((2, 0, 3)),
    "empty tensor": lambda i: torch.zeros(0, 4),
    "parameter": lambda i: torch.nn.Parameter(torch.full((2,), float(i))),
    "gradient": lambda i: torch.full((2,), float(i), requires_grad=True) * 2,
    "conjugated": lambda i: torch.tensor([i + 2j, 1]).conj(),
    "negated": lambda i: torch.tensor([i + 2j, 1]).conj().imag,
    "float8": lambda i: torch.full((600,), float(i % 8)).to(torch.float8_e4m3fn),
    "bfloat16": lambda i: torch.full((3, 300), float(i), dtype=torch.bfloat16),
    "transposed": lambda i: torch.arange(6.0).reshape(2, 3).t() + i,
    "expanded": lambda i: torch.tensor([float(i)]).expand(700),
    "bool tensor": lambda i: torch.tensor([True, False]),
    "uint16": lambda i: np.full(3, i, np.uint16),
    "float16": lambda i: np.full(3, i, np.float16),
    "big endian": lambda i: np.full(3, i, ">i4"),
    "read-only": lambda i: np.broadcast_to(np.float32(i), (4, 5)),
    "float": lambda i: 1_700_000_000 + i / 30,
    "int": lambda i: i,
    "bool": lambda i: i % 2 == 0,
    "complex": lambda i: i + 1j,
    "huge int": lambda i: 2**70 + i,
    "float or int": lambda i: i if i % 2 else i / 2,
    "text": lambda i: f"row {i}",
    "text of NumPy": lambda i: np.str_(f"row {i}"),
    "array of text": lambda i: np.array(["a", str(i)]),
    "time": lambda i: np.datetime64("2026-01-01") + i,
    "None": lambda i: None,
    "object": lambda i: Path(str(i)),
    "sparse": lambda i: torch.eye(2).to_sparse() * i,
    "dict": lambda i: {"a": np.full(2, i), "b": {"c": float(i), "d": f"{i}"}},
    "tuple": lambda i: (np.full(2, i), i, "a"),
    "named tuple": lambda i: Pair(torch.full((2,), i), {"z": i}),
    "empty dict": lambda i: {},
    "dicts that differ": lambda i: {"a": i} if i % 2 else {"b": i},
    "tuples that differ": lambda i: (i,) * (1 + i % 2),
    "list": lambda i: [i, i + 1],
}  # fmt: skip


def told(value: Any) -> Any:
    """A form of a batch to compare: types, dtypes, shapes and values."""
    if isinstance(value, torch.Tensor):
        dense = value.detach().to_dense() if value.layout != torch.strided else value.detach()
        return (
            str(value.dtype),
            tuple(value.shape),
            dense.double().tolist() if not value.is_complex() else dense.tolist(),
        )
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tolist())
    if isinstance(value, dict):
        return {key: told(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return (type(value).__name__, [told(part) for part in value])
    return (type(value).__name__, value)


def every(makers: dict[str, Any], row: Any) -> dict[str, Any]:
    return {name: make(int(row["x"])) for name, make in makers.items()}


def batches(ds: Any, host: str, makers: dict[str, Any], workers: int, collate: str) -> Any:
    """What an epoch gives, or the error that ends it."""
    try:
        loader = getattr(ds, host)(
            batch_size=3, transform=partial(every, makers), python_workers=workers, worker_start="fork", collate=collate
        )
        return [told(batch) for batch in loader]
    except deeplake.Error as err:
        return (type(err).__name__, str(err).split("; ")[0])


@pytest.mark.parametrize("host", ["pytorch", "batches"])
@pytest.mark.parametrize("collate", ["stack", "pad", "list"])
def test_workers_take_what_the_loop_takes(ds: Any, host: str, collate: str) -> None:
    alone = {name: batches(ds, host, {name: make}, 0, collate) for name, make in MAKERS.items()}
    refused = [name for name, got in alone.items() if isinstance(got, tuple)]
    assert len(refused) <= 4, refused
    for name in refused:
        assert batches(ds, host, {name: MAKERS[name]}, 2, collate) == alone[name]
    taken = {name: make for name, make in MAKERS.items() if name not in refused}
    together = batches(ds, host, taken, 2, collate)
    assert len(together) == 2
    for name in taken:
        for number, batch in enumerate(together):
            want = alone[name][number]
            assert {key: batch[key] for key in want} == want, name


@pytest.mark.parametrize(
    "name",
    [
        "float",
        "int",
        "bool",
        "text",
        "dict",
        "named tuple",
        "conjugated",
        "float16",
        "gradient",
        "uint16",
        "bfloat16",
        "no boxes",
    ],
)
def test_the_collation_of_torch(ds: Any, name: str) -> None:
    make = MAKERS[name]
    got = next(iter(ds.pytorch(batch_size=3, transform=lambda row: of(make, row))))["y"]
    want = default_collate([of(make, {"x": i}) for i in range(3)])["y"]
    assert told(got) == told(want)


def test_tuples_and_documents(ds: Any) -> None:
    batch = next(
        iter(ds.pytorch(batch_size=2, transform=lambda row: {**row, "pair": (int(row["x"]), "a"), "names": ("a", "b")}))
    )
    assert batch["pair"][0].tolist() == [0, 1] and batch["pair"][1] == ["a", "a"]
    assert batch["names"] == [("a", "b"), ("a", "b")]  # nothing in it is an array
    assert batch["facts"] == [{"n": 0}, {"n": 1}]  # a json tensor stays a list of its documents
    padded = next(
        iter(ds.batches(batch_size=2, collate="pad", transform=lambda row: {"d": {"v": np.ones(int(row["x"]) + 1)}}))
    )
    assert padded["d"]["v"].shape == (2, 2) and padded["d_shape"]["v"].tolist() == [[1], [2]]
    with pytest.raises(deeplake.TensorTypeError, match=r"d\['v'\].*shape"):
        next(iter(ds.batches(batch_size=2, transform=lambda row: {"d": {"v": np.ones(int(row["x"]) + 1)}})))


EXITS = """
import sys, numpy as np, deeplake
ds = deeplake.open(sys.argv[1])
def big(row):
    return {"y": np.full((1_000_000,), int(row["x"]))}
if __name__ == "__main__":
    for k in range(8):
        loader = ds.pytorch(batch_size=2, transform=big, python_workers=2, worker_start=sys.argv[2])
        it = iter(loader)
        for _ in range(k % 3):
            next(it)
        del it, loader
"""


@pytest.mark.parametrize(
    "start", ["forkserver", pytest.param("spawn", marks=pytest.mark.slow), pytest.param("fork", marks=pytest.mark.slow)]
)
def test_workers_end_before_their_memory(ds: Any, start: str, tmp_path: Path) -> None:
    script = tmp_path / "exits.py"
    script.write_text(EXITS)
    done = subprocess.run(
        [sys.executable, str(script), str(ds.uri), start],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONFAULTHANDLER": "1"},
    )
    assert done.returncode == 0 and "Bus error" not in done.stderr, done.stderr[-2000:]


SEARCH = """
import sys, deeplake
ds = deeplake.open(sys.argv[1])
def double(row):
    import mine
    return {"y": mine.FACTOR * int(row["x"])}
print([batch["y"].tolist() for batch in ds.pytorch(batch_size=6, transform=double, python_workers=2, worker_start=sys.argv[2])])
"""


@pytest.mark.parametrize("start", ["forkserver", "spawn"])
def test_the_current_folder_hides_no_module(ds: Any, start: str, tmp_path: Path) -> None:
    """Workers find modules of the user there, behind all others."""
    for name in ("json", "pickle", "socket", "selectors", "cloudpickle", "numpy", "deeplake"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the current folder was searched')")
    (tmp_path / "mine.py").write_text("FACTOR = 2")
    # The loop has its modules before the current folder is searched.
    program = (
        "import sys; here = sys.path.pop(0); import deeplake, torch, json, pickle, selectors, cloudpickle; sys.path.insert(0, here)\n"
        + SEARCH
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(ds.uri), start], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert done.stdout.strip() == "[[0, 2, 4, 6, 8, 10]]", done.stderr[-2000:]
