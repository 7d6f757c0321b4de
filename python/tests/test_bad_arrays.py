"""Damaged and unsuitable arrays are refused with what is wrong, and leave nothing behind."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import deeplake
import h5py
import numpy as np
import pytest
from test_arrays import RNG, add, group


def npy(shape: str, descr: str = "'<f8'", data: bytes = bytes(24)) -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text + data


BROKEN: dict[str, tuple[bytes, str]] = {
    "cut": (npy("(4,)"), r"it has 90 bytes, want 98 for float64 of shape \(4,\); it is cut: copy or write it again"),
    "huge": (npy("(1000000000000000,)"), "it has 105 bytes, want 8,000,000,000,000,081 for float64"),
    "wide": (npy("(1, 1000000000000000)"), "want 8,000,000,000,000,0"),
    "endless": (npy("(1000000000000000, 0)"), "no bytes, and more rows than 2,147,483,648"),
    "negative": (npy("(-3,)"), r"its shape is \(-3,\), want a tuple of ints from 0"),
    "list": (npy("3"), "its shape is 3, want a tuple of ints"),
    "dtype": (npy("(3,)", "'<q9'"), "cannot be read: data type '<q9' not understood"),
    "code": (npy("(3,)", "__import__('os').abort()"), "cannot be read: malformed node"),
    "pickle": (npy("(3,)", "'|O'"), "pickles are not read: they can run code"),
    "opaque": (npy("(3,)", "'|V8'"), r'"data" holds opaque bytes \(\|V8\), want numbers, texts or lists'),
    "empty": (b"", "it begins with b'', want b'.x93NUMPY'"),
    "short": (npy("(3,)")[:20], "its header has 10 bytes, want"),
    "text": (npy("(2,)", "'S2'", b"\xff\xfeab"), "row 0 is no UTF-8.*takes bytes"),
    "none": (npy("(0,)"), "the source has no rows"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_npy(name: str, tmp_path: Path) -> None:
    content, message = BROKEN[name]
    (tmp_path / "a.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", content)
    for path in ("a.npy", "a.npz"):
        tracemalloc.start()
        with pytest.raises(deeplake.Error, match=message if path == "a.npy" else ".") as caught:
            deeplake.ingest(tmp_path / path, tmp_path / "out", verbose=False)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
        tracemalloc.stop()
        assert path in str(caught.value) or name == "none"
        assert not (tmp_path / "out").exists()


def damaged(path: Path, change: Callable[[bytes], bytes]) -> Path:
    path.write_bytes(change(path.read_bytes()))
    return path


def faults(folder: Path) -> Iterator[tuple[Any, str]]:
    np.savez_compressed(folder / "b.npz", a=RNG.random(10_000))
    yield (
        damaged(folder / "b.npz", lambda b: b[:5000] + bytes(100) + b[5100:]),
        'rows 0 to 10,000 of "a": cannot be read',
    )
    yield damaged(folder / "b.npz", lambda b: b[:-40]), "cannot be read: BadZipFile"
    with zipfile.ZipFile(folder / "d.npz", "w") as archive:
        archive.writestr("a.npy", npy("(3,)"))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.npy", npy("(3,)"))
    yield folder / "d.npz", '2 members "a", want one of each name; write it again by numpy.savez'
    np.savez(folder / "n.npz", x=np.zeros(3), y=np.zeros(4), z=np.zeros(3))
    yield (
        folder / "n.npz",
        (
            'different lengths: 3 rows: "x", "z"; 4 rows: "y"; want one length, so take a part: '
            r'columns=\["x", "z"\], or --columns x,z'
        ),
    )
    np.savez(folder / "c.npz", _x=np.zeros(3), x=np.zeros(3))
    yield folder / "c.npz", 'two arrays would be the tensor "x"; rename one'
    with h5py.File(folder / "t.h5", "w") as file:
        file.create_dataset("x", data=RNG.random(10_000), chunks=(1000,), compression="gzip")
    whole = (folder / "t.h5").read_bytes()
    yield damaged(folder / "t.h5", lambda b: b[:-5000]), "cannot be read: OSError: .*truncated file"
    yield damaged(folder / "t.h5", lambda _: whole[:40000] + bytes(200) + whole[40200:]), "rows 0 to 10,000 of"
    yield damaged(folder / "t.h5", lambda _: b"hello"), "file signature not found; check|file signature not found"
    for name, make, message in (
        ("ref", lambda f: f.create_dataset("x", (3,), h5py.ref_dtype), '"x" holds references'),
        ("opaque", lambda f: f.create_dataset("x", data=np.zeros(3, "V3")), '"x" holds opaque bytes'),
        (
            "enum",
            lambda f: f.create_dataset("x", data=[9], dtype=h5py.enum_dtype({"a": 1})),
            "row 0 is 9, and the enum has",
        ),
        ("bomb", lambda f: f.create_dataset("x", (10**15,), "f8", chunks=(10,)), "of which 0 are stored"),
        ("away", lambda f: f.create_dataset("x", (3,), "f8", external="/etc/passwd"), "has its bytes in other files"),
        ("axes", lambda f: f.create_dataset("x", (1, 1, 1), h5py.string_dtype()), "3 axes, want 1 or 2"),
        ("bare", lambda f: f.attrs.update(a=1), "it has no array with rows"),
    ):
        with h5py.File(folder / f"{name}.h5", "w") as file:
            make(file)
        yield folder / f"{name}.h5", message
    root = group(folder / "f.zarr", 2)
    add(root, "x", np.arange(1000.0), (100,))
    damaged(folder / "f.zarr" / "x" / "5", lambda b: b[: len(b) // 2])
    yield folder / "f.zarr", 'rows 0 to 1,000 of "x": cannot be read'
    about = json.loads((folder / "f.zarr" / "x" / ".zarray").read_text())
    for news in ({"dtype": "|Q9"}, {"dtype": "|O", "filters": [{"id": "pickle", "protocol": 5}]}):
        (folder / "f.zarr" / "x" / ".zarray").write_text(json.dumps({**about, **news}))
        yield folder / "f.zarr", "ingest .*f.zarr.*cannot be read|pickles, which are not read"
    (folder / "f.zarr" / "x" / ".zarray").write_text("{")
    yield folder / "f.zarr" / "x", "cannot be read"
    yield folder / "missing.h5", "there is no such file or folder"
    yield "s3://bucket/x.h5", "hdf5 is read from this machine alone; copy it here first, or give an h5py.File"
    yield "s3://bucket/x.npz", "npz is read from this machine alone; copy it here first$"


def test_faults_leave_nothing(tmp_path: Path) -> None:
    for source, message in faults(tmp_path):
        with pytest.raises(deeplake.Error, match=message):
            deeplake.ingest(source, tmp_path / "out", verbose=False)
        assert not (tmp_path / "out").exists(), source
