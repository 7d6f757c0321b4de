"""Arrays of NumPy files, HDF5 and Zarr become datasets, whose first axis counts rows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deeplake
import h5py
import numpy as np
import pytest
import zarr

HAS_V3 = int(zarr.__version__.partition(".")[0]) >= 3
RNG = np.random.default_rng(7)
DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", ">i2", ">f8", ">c8", "M8[s]", "m8[us]"),
]
SHAPES = [(1,), (7,), (5, 3), (4, 0), (3, 2, 2), (6, 1, 4, 3)]


def place() -> str:
    return f"mem://arrays-{uuid.uuid4().hex}"


def take(source: Any, **options: Any) -> deeplake.Dataset:
    return deeplake.ingest(source, place(), verbose=False, **options)


def numbers(dtype: str, shape: tuple[int, ...]) -> Any:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return RNG.integers(0, 2, shape).astype(bool)
    if kind.kind in "mM":
        return RNG.integers(0, 1 << 30, shape).astype("i8").view(kind)
    if kind.kind in "iu":
        return np.frombuffer(RNG.bytes(int(np.prod(shape)) * kind.itemsize), kind).reshape(shape)
    return (RNG.standard_normal(shape) + (1j * RNG.standard_normal(shape) if kind.kind == "c" else 0)).astype(kind)


def same(ds: deeplake.Dataset, name: str, array: Any) -> None:
    got: Any = ds[name].numpy()
    assert got.dtype == array.dtype.newbyteorder("=") and got.shape == array.shape, name
    assert np.array_equal(got, array), name


def group(path: Path, version: int) -> Any:
    options: dict[str, Any] = {"zarr_format": version} if HAS_V3 else {}
    return zarr.open_group(str(path), mode="w", **options)


def add(node: Any, name: str, array: Any, chunks: tuple[int, ...], **options: Any) -> Any:
    if not HAS_V3:
        return node.create_dataset(name, data=array, chunks=chunks, **options)
    made = node.create_array(name, shape=array.shape, dtype=array.dtype, chunks=chunks, **options)
    made[...] = array
    return made


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_dtypes_and_shapes(dtype: str, tmp_path: Path) -> None:
    for at, shape in enumerate(SHAPES):
        array = numbers(dtype, shape)
        np.save(tmp_path / "a.npy", array)
        same(take(tmp_path / "a.npy"), "data", array)
        np.savez_compressed(tmp_path / "a.npz", x=array, f=np.asfortranarray(array))
        for ds in (take(tmp_path / "a.npz"), take(np.load(tmp_path / "a.npz"))):
            same(ds, "x", array)
            same(ds, "f", array)
        if at % 2 and array.dtype.kind not in "mM":
            with h5py.File(tmp_path / "a.h5", "w") as file:
                file["x"] = array
            same(take(tmp_path / "a.h5"), "x", array)
        if array.size and array.dtype.kind not in "mM":
            add(group(tmp_path / "a.zarr", 2), "x", array, tuple(max(1, n // 2) for n in shape))
            same(take(tmp_path / "a.zarr"), "x", array)


def test_names_of_a_single_array(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.asfortranarray(np.arange(6).reshape(3, 2)))
    assert list(take(tmp_path / "a.npy").tensors) == ["data"]
    assert list(take(tmp_path / "a.npy", columns=["x"]).tensors) == ["x"]
    ds = take(f"file://{tmp_path}/a.npy", schema={"vector": {"htype": "embedding", "dtype": "float32"}})
    assert ds["vector"].htype == "embedding" and ds["vector"][2].tolist() == [4, 5]
    np.save(tmp_path / "pictures.npy", np.zeros((3, 8, 9, 3), np.uint8))
    assert take(tmp_path / "pictures.npy")["data"].htype == "generic"
    assert take(tmp_path / "pictures.npy", schema={"data": "image"})["data"].htype == "image"


def test_structured_arrays(tmp_path: Path) -> None:
    kind = np.dtype([("id", ">i4"), ("at", [("x", "f4"), ("_y", "f8", (2,))]), ("name", "U5"), ("code", "S3")])
    array = np.zeros(4, kind)
    array["id"], array["name"], array["code"], array["at"]["_y"][2] = range(4), list("abcé"), b"ab", [7, 8]
    np.save(tmp_path / "a.npy", array)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["data"] = array[["id", "at", "code"]]
    for path in ("a.npy", "a.h5"):
        ds = take(tmp_path / path)
        assert sorted({*ds.tensors} - {"data/name"}) == ["data/at/x", "data/at/y", "data/code", "data/id"]
        assert ds["data/at/y"][2].tolist() == [7, 8] and ds["data/code"][:] == ["ab"] * 4
    assert take(tmp_path / "a.npy")["data/name"][:] == ["a", "b", "c", "é"]
    assert list(take(tmp_path / "a.npy", columns=["data/at"]).tensors) == ["data/at/x", "data/at/y"]


@pytest.fixture
def hdf5(tmp_path: Path) -> Path:
    path = tmp_path / "all.h5"
    with h5py.File(path, "w") as file:
        file.attrs.update({"made": "2026", "sizes": np.arange(3)})
        options: dict[str, Any] = {"chunks": (7, 8, 8, 3), "compression": "gzip", "shuffle": True}
        pictures = file.create_dataset("train/pictures", data=pixels(), **options)
        pictures.attrs.update({"unit": b"counts", "scale": np.float32(0.5), "bad": float("nan")})
        pictures.attrs["other"] = file.ref
        file["train/word"] = [f"é{row}" for row in range(50)]
        file["train/fixed"] = np.array([b"a%d" % row for row in range(50)])
        file["train/pairs"] = np.array([["a", "b"]] * 50, h5py.string_dtype())
        file.create_dataset("kind", data=np.arange(50) % 2 * 5, dtype=h5py.enum_dtype({"cat": 5, "dog": 0}, ">i2"))
        file.create_dataset("flags", data=np.ones((50, 2), int), dtype=h5py.enum_dtype({"off": 0, "on": 1}, "u1"))
        for name, dtype in (("ragged", "<i4"), ("turned", ">f4")):
            ragged = file.create_dataset(name, (50,), h5py.vlen_dtype(dtype))
            for row in range(50):
                ragged[row] = np.arange(row % 4, dtype=dtype)
        file.create_dataset("filled", (50,), "f8", chunks=(10,), fillvalue=3.5)
        file["scalar"] = 3.0
        file["empty"] = h5py.Empty("f4")
        file["again"] = h5py.SoftLink("/kind")
    return path


def pixels() -> Any:
    return np.random.default_rng(1).integers(0, 255, (50, 8, 8, 3), np.uint8)


def test_hdf5(hdf5: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ds = deeplake.ingest(hdf5, place())
    told = capfd.readouterr().err
    assert 'left out: "scalar" has no rows: a single float64' in told and 'left out: "empty", which is empty' in told
    assert ds.info == {"made": "2026", "sizes": [0, 1, 2]} and len(ds) == 50 and ds.head.version == 1
    assert ds["train/pictures"].info == {"unit": "counts", "scale": 0.5} and ds["train/pictures"].htype == "generic"
    same(ds, "train/pictures", pixels())
    assert ds["train/word"][:] == [f"é{row}" for row in range(50)] and ds["train/fixed"][49] == "a49"
    assert ds["train/pairs"][3] == ["a", "b"]
    assert ds["kind"].class_names == ["dog", "cat"] and ds["kind"][:4].tolist() == [0, 1, 0, 1]
    assert ds["flags"][7].tolist() == [1, 1] and ds["flags"].class_names == ["off", "on"]
    for name, dtype in (("ragged", "int32"), ("turned", "float32")):
        assert [row.tolist() for row in ds[name][:]] == [list(range(row % 4)) for row in range(50)]
        assert ds[name].dtype == dtype
    assert ds["filled"][:].tolist() == [3.5] * 50 and "again" not in ds.tensors


def test_objects_of_h5py(hdf5: Path) -> None:
    with h5py.File(hdf5) as file:
        assert list(take(file, columns=["train/word", "kind"]).tensors) == ["train/word", "kind"]
        assert sorted(take(file["train"]).tensors) == ["fixed", "pairs", "pictures", "word"]
        same(take(file["train/pictures"]), "data", pixels())
        assert take(file, columns=["kind"], schema={"kind": {"dtype": "int32"}})["kind"][1] == 5
        with pytest.raises(deeplake.InvalidArgumentError, match=r"format is .hdf5., and the source is no path"):
            take(file, format="hdf5")
    with pytest.raises(deeplake.InvalidArgumentError, match="ingest of a File: its file is closed; open it again"):
        take(file)


@pytest.mark.parametrize("version", [2, 3] if HAS_V3 else [2])
def test_zarr(version: int, tmp_path: Path) -> None:
    root = group(tmp_path / "a.zarr", version)
    root.attrs.update({"k": [1, {"z": None}]})
    numbers = np.arange(200.0).reshape(100, 2)
    options: dict[str, Any] = {"shards": (32, 2)} if version == 3 else {}
    add(root, "x", numbers, (8, 1), **options).attrs.update({"unit": "m"})
    inner = root.create_group("g")
    add(inner, "y", np.arange(100, dtype=">u2"), (7,))
    add(inner, "name", np.array([f"é{row}" for row in range(100)]), (9,))
    texts = [f"text {row}" for row in range(100)]
    if HAS_V3:
        add(root, "text", np.array(texts, np.dtypes.StringDType()), (30,))
        root.create_array("part", shape=(100,), chunks=(10,), dtype="i4", fill_value=7)[:10] = 1
    else:
        root.create_dataset("text", data=np.array(texts, object), dtype=str)
        root.create_dataset("part", shape=(100,), chunks=(10,), dtype="i4", fill_value=7)[:10] = 1
    (tmp_path / "a.zarr").rename(tmp_path / "folder")
    for source in (tmp_path / "folder", zarr.open_group(str(tmp_path / "folder"), mode="r")):
        ds = take(source)
        assert sorted(ds.tensors) == ["g/name", "g/y", "part", "text", "x"] and ds.info == {"k": [1, {"z": None}]}
        same(ds, "x", numbers)
        same(ds, "g/y", np.arange(100, dtype="u2"))
        assert ds["x"].info == {"unit": "m"} and ds["text"][:] == texts and ds["g/name"][99] == "é99"
        assert ds["part"][:].tolist() == [1] * 10 + [7] * 90
    same(take(zarr.open_array(str(tmp_path / "folder" / "x"), mode="r")), "data", numbers)
    same(take(tmp_path / "folder" / "x"), "data", numbers)


def test_blocks_of_several_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {name: RNG.random((100, n)) for name, n in (("a", 3), ("b", 2), ("c", 40))}
    np.savez_compressed(tmp_path / "a.npz", **columns)  # type: ignore[arg-type]
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, rows in (("a", 7), ("b", 9), ("c", 100)):
            file.create_dataset(name, data=columns[name], chunks=(rows, 2))
    for block, bands in ((1, 1), (4_000, 1), (4_000, 1 << 20), (9_000, 3_000)):
        monkeypatch.setattr("deeplake._data.arrays._BLOCK", block)
        monkeypatch.setattr("deeplake._data.arrays._BANDS", bands)
        for path in ("a.npz", "a.h5"):
            ds = take(tmp_path / path)
            for name, array in columns.items():
                same(ds, name, array)


def test_options(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros(3), y=np.zeros(3))
    for options, message in (
        ({"urls": "x"}, "are not for arrays; leave them out"),
        ({"columns": ["z"]}, 'the source has no column "z"'),
        ({"schema": {"xx": "image"}}, 'the source has no column "xx"'),
        ({"schema": {"x": 3}}, "want an htype or a dict"),
        ({"schema": {"x": {"kind": 3}}}, 'unknown argument "kind"'),
        ({"format": "hdf5"}, "file signature not found"),
        ({"format": "npi"}, "want one of .*npy, npz, hdf5, zarr"),
    ):
        with pytest.raises(deeplake.Error, match=message):
            deeplake.ingest(tmp_path / "a.npz", tmp_path / "out", verbose=False, **options)  # type: ignore[arg-type]
        assert not (tmp_path / "out").exists()
    (tmp_path / "a.npz").rename(tmp_path / "plain")
    assert list(take(tmp_path / "plain", format="npz", columns=["y"]).tensors) == ["y"]


def test_ctrl_c_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "a.npy", np.zeros((9, 1 << 20)))
    extend, calls = deeplake.Dataset.extend, []

    def interrupted(self: deeplake.Dataset, rows: Any) -> Any:
        calls.append(len(self))
        return extend(self, rows) if len(calls) < 3 else signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(deeplake.Dataset, "extend", interrupted)
    with pytest.raises(KeyboardInterrupt):
        deeplake.ingest(tmp_path / "a.npy", tmp_path / "out", verbose=False)
    assert calls == [0, 2, 4] and not deeplake.exists(tmp_path / "out")
    assert not [*(tmp_path / "out").rglob("*")]


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
def test_memory_is_bounded(tmp_path: Path, run_python: Callable[..., Any]) -> None:
    array = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", "f4", (50_000, 1000))
    array[:] = np.arange(1000)
    del array
    program = """
import sys, deeplake, numpy
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) >> 10
deeplake.ingest({"x": numpy.zeros(10)}, "mem://first", verbose=False)
before = peak()
ds = deeplake.ingest(sys.argv[1], sys.argv[2], verbose=False)
assert len(ds) == 50_000 and ds["data"][49_999].tolist() == list(range(1000))
print(peak() - before)
"""
    assert int(run_python(program, str(tmp_path / "a.npy"), str(tmp_path / "out")).stdout) < 100


def deeplake_create(*args: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deeplake", "create", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "COLUMNS": "200"})


def test_command(hdf5: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = deeplake_create(out, f"from-{hdf5}", "--columns", "train/word,kind", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 50 and list(deeplake.open(out).tensors) == ["train/word", "kind"]
    again = deeplake_create(out, f"from-{hdf5}", "--columns", "kind")
    assert again.returncode == 1 and "exists" in again.stderr and "Traceback" not in again.stderr
    np.save(tmp_path / "x.npy", np.zeros((3, 4, 4, 3), np.uint8))
    (tmp_path / "x.npy").rename(tmp_path / "known-by-content")
    done = deeplake_create(tmp_path / "x", f"from-{tmp_path}/known-by-content", "--columns", "pictures=image")
    assert done.returncode == 0 and "3 rows; tensors: pictures" in done.stdout, done.stderr
    assert deeplake.open(tmp_path / "x")["pictures"].htype == "image"
    refused = deeplake_create(tmp_path / "y", f"from-{hdf5}", "--link")
    assert refused.returncode == 2 and "--link is not for arrays" in refused.stderr
    (tmp_path / "bad.h5").write_text("hello")
    refused = deeplake_create(tmp_path / "y", f"from-{tmp_path}/bad.h5")
    assert refused.returncode == 1 and "file signature not found" in refused.stderr and not (tmp_path / "y").exists()


def test_other_sources_import_no_reader(run_python: Callable[..., Any]) -> None:
    run_python("""
import sys
import deeplake._cli.create
assert not {"numpy", "h5py", "zarr", "deeplake._data.arrays"} & sys.modules.keys()
import numpy, deeplake
deeplake.ingest({"x": numpy.zeros(3)}, "mem://other", verbose=False)
assert not {"h5py", "zarr"} & sys.modules.keys()
""")


@pytest.mark.parametrize("name", ["h5py", "zarr"])
def test_without_the_reader(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "a").touch()
    with pytest.raises(deeplake.UnsupportedError, match=f"{name} is not installed; pip install {name}"):
        take(tmp_path / "a", format="hdf5" if name == "h5py" else "zarr")
