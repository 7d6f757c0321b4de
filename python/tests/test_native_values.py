"""Values that an append takes, and their samples. The oracle is NumPy."""

from __future__ import annotations

import array
import itertools

import numpy as np
import pytest
from deeplake import _errors, _native

numbers = itertools.count()

FIXED = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
FIXED += ["float16", "float32", "float64", "complex64", "complex128"]


def dataset(**types):
    """A dataset in memory with a tensor for each name; the value is its dtype or htype."""
    ds = _native.create(f"mem://values-{next(numbers)}")
    for name, kind in types.items():
        spec = {"name": name, "htype": "generic", "dtype": kind}
        if kind in ("text", "json") or kind.startswith("sequence"):
            spec = {"name": name, "htype": kind.replace("sequence[", "sequence[")}
            if kind == "sequence[int64]":
                spec = {"name": name, "htype": "sequence[generic]", "dtype": "int64"}
        ds.create_tensor(spec)
    return ds


def back(ds, name="x"):
    """Every sample of a tensor."""
    view = ds.view()
    return view.read(range(len(view)), {"tensors": [name], "collate": "list"}).numpy()[name]


@pytest.mark.parametrize("dtype", FIXED)
@pytest.mark.parametrize("order", ["=", ">"])
def test_arrays_of_every_dtype_and_byte_order(dtype, order):
    ds = dataset(x=dtype)
    values = (np.arange(24) % 7 - (0 if dtype[0] in "ub" else 3)).reshape(4, 2, 3).astype(dtype)
    assert ds.append({"x": values.astype(np.dtype(dtype).newbyteorder(order))}) == 4
    ds.append({"x": list(values.astype(np.dtype(dtype).newbyteorder(order)))})
    got = back(ds)
    assert len(got) == 8 and all(g.dtype == np.dtype(dtype) for g in got)
    np.testing.assert_array_equal(np.stack(got), np.concatenate([values, values]))


def test_strided_arrays_are_copied_right():
    ds = dataset(x="int32")
    base = np.arange(2 * 3 * 4 * 5, dtype=np.int32).reshape(2, 3, 4, 5)
    for values in (base[:, ::2], base.transpose(0, 3, 1, 2), base[::-1], np.asfortranarray(base), base[:, :0]):
        before = len(ds.view())
        ds.append({"x": values})
        for got, want in zip(back(ds)[before:], values, strict=True):
            np.testing.assert_array_equal(got, want)


def test_arrays_of_others():
    ds = dataset(x="float64")
    ds.append({"x": array.array("d", [1, 2])})  # the buffer protocol
    ds.append({"x": memoryview(np.array([3.0]))})

    class Duck:
        def __array__(self, dtype=None, copy=None):
            return np.array([4.0, 5.0])

    ds.append({"x": Duck()})
    assert [float(v) for v in back(ds)] == [1, 2, 3, 4, 5]


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    ds = dataset(x="float32", h="bfloat16", b="bool")
    t = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    bits = torch.tensor([True, False, True])
    ds.append({"x": t.requires_grad_(), "h": t.to(torch.bfloat16), "b": bits})
    ds.append({"x": list(t.t()[:3]), "h": [v.to(torch.bfloat16) for v in t], "b": list(bits)})
    assert [v.tolist() for v in back(ds)] == [*t.tolist(), *t.t()[:3].tolist()]
    assert [bool(v) for v in back(ds, "b")] == [True, False, True] * 2
    batch = ds.view().read([0, 1, 2], {"tensors": ["h"]})
    h = torch.from_dlpack(batch.columns()["h"])
    assert h.dtype == torch.bfloat16 and h.tolist() == t.tolist()


def test_bfloat16_by_name():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    ds = dataset(x="bfloat16")
    values = np.array([1, 2.5, -3], dtype=ml_dtypes.bfloat16)
    ds.append({"x": values})
    got = ds.view().read([0, 1, 2]).numpy()["x"]
    assert got.dtype == values.dtype
    np.testing.assert_array_equal(got, values)


@pytest.mark.parametrize(
    ("dtype", "value", "want"),
    [
        ("uint8", 255, 255),
        ("uint8", [1, 2], [1, 2]),
        ("int8", [[-128], [127]], [[-128], [127]]),
        ("float32", 3, 3.0),
        ("float16", [1, 2.5], [1, 2.5]),
        ("float64", True, 1.0),
        ("int64", [], []),
        ("complex64", 2, 2 + 0j),
        ("bool", True, True),
        ("uint64", 2**64 - 1, 2**64 - 1),
    ],
)
def test_literals_become_the_dtype(dtype, value, want):
    ds = dataset(x=dtype)
    ds.append({"x": [value]}, {"x": dtype})
    (got,) = back(ds)
    assert got.dtype == np.dtype(dtype) and got.tolist() == want


@pytest.mark.parametrize(
    ("dtype", "value", "error", "words"),
    [
        ("uint8", 256, _errors.InvalidArgumentError, ["256", "uint8"]),
        ("uint8", [0, -1], _errors.InvalidArgumentError, ["-1", "uint8", "row 0"]),
        ("int64", 0.5, _errors.TensorTypeError, ["float64", "int64"]),
        ("float32", 1j, _errors.TensorTypeError, ["complex", "float32"]),
        ("uint8", np.float32(1), _errors.TensorTypeError, ["float32", "uint8"]),
        ("uint8", "text", _errors.TensorTypeError, ["x"]),
        ("uint8", object(), _errors.TensorTypeError, ["object", "row 0"]),
        ("uint8", [[1], [1, 2]], _errors.InvalidArgumentError, ["row 0"]),
        ("float64", np.zeros(2, dtype="longdouble"), _errors.TensorTypeError, ["cannot hold"]),
        ("float64", np.zeros(2, dtype="datetime64[s]"), _errors.TensorTypeError, ["timestamp[s]", "plain numbers"]),
    ],
)
def test_values_that_do_not_fit(dtype, value, error, words):
    ds = dataset(x=dtype)
    with pytest.raises(error) as caught:
        ds.append({"x": [value]}, {"x": dtype})
    for word in words:
        assert word in str(caught.value)
    assert len(ds.view()) == 0


def test_text_json_bytes_and_holes():
    ds = dataset(t="text", j="json", b="bytes", x="int64")
    types = {"t": "string", "j": "json", "b": "bytes", "x": "int64"}
    columns = {
        "t": ["", "héllo 😀", None, "a\0b"],
        "j": [{"a": [1, None, 2.5]}, "text", [np.int64(3)], {"n": np.arange(2)}],
        "b": [b"", bytearray(b"\0\xff"), memoryview(b"abcdef")[::2], None],
        "x": [1, None, [2, 3], np.int64(4)],
    }
    assert ds.append(columns, types) == 4
    assert back(ds, "t") == columns["t"]
    assert back(ds, "j") == [{"a": [1, None, 2.5]}, "text", [3], {"n": [0, 1]}]
    assert back(ds, "b") == [b"", b"\0\xff", b"ace", None]
    assert [None if v is None else v.tolist() for v in back(ds, "x")] == [1, None, [2, 3], 4]
    assert ds.append({"t": np.array(["x", "yz"]), "j": [1, 2], "b": np.array([b"q", b"r"]), "x": [0, 0]}, types) == 2
    assert back(ds, "t")[4:] == ["x", "yz"] and back(ds, "b")[4:] == [b"q", b"r"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"t": ["\ud800"]}, ["UTF-8", "row 0"]),
        ({"j": [{"a": float("nan")}]}, ["JSON"]),
        ({"j": [object()]}, ["JSON", "object"]),
        ({"t": "one"}, ["str", "list"]),
        ({"t": {"a": 1}}, ["dict"]),
        ({"x": 5}, ["int", "list"]),
        ({"x": np.array(5)}, ["axes"]),
        ({"x": [1, 2], "t": ["a"]}, ["has 1", "has 2"]),
        ({5: [1]}, ["int", "str"]),
    ],
)
def test_columns_that_are_none(columns, words):
    ds = dataset(t="text", j="json", x="int64")
    with pytest.raises((_errors.InvalidArgumentError, _errors.TensorTypeError)) as caught:
        ds.append(columns, {"t": "string", "j": "json", "x": "int64"})
    for word in words:
        assert word in str(caught.value)


def test_sequences():
    ds = dataset(s="sequence[int64]", t="sequence[text]")
    types = {"s": "sequence[int64]", "t": "sequence[string]"}
    ds.append({"s": [[1, [2, 3]], np.arange(6).reshape(3, 2), []], "t": [["a", "b"], [], ("c",)]}, types)
    assert [[v.tolist() for v in row] for row in back(ds, "s")] == [[1, [2, 3]], [[0, 1], [2, 3], [4, 5]], []]
    assert back(ds, "t") == [["a", "b"], [], ["c"]]


def test_encoded_samples_are_kept_verbatim():
    image = pytest.importorskip("PIL.Image")
    import io

    file = io.BytesIO()
    image.fromarray(np.full((8, 9, 3), 100, dtype=np.uint8)).save(file, "JPEG")

    class Sample:
        __deeplake_encoded__ = file.getvalue()

    ds = _native.create("mem://values-encoded")
    ds.create_tensor({"name": "x", "htype": "image", "compression": "jpeg"})
    ds.append({"x": [Sample(), np.zeros((4, 4, 3), dtype=np.uint8)]}, {"x": "uint8"})
    column = ds.view().column("x")
    assert column.bytes(0) == Sample.__deeplake_encoded__
    assert column.bytes_many([1, 0])[1] == Sample.__deeplake_encoded__
    assert column.sizes([0]).tolist() == [len(Sample.__deeplake_encoded__)]
    assert _native.inspect(column.bytes(1))["shape"] == [4, 4, 3]
    assert _native.decode(Sample.__deeplake_encoded__).shape == (8, 9, 3)
    assert _native.decode(Sample.__deeplake_encoded__, channels=1).shape == (8, 9, 1)
    for data, error in ((b"", _errors.UnsupportedError), (column.bytes(0)[:200], _errors.CorruptError)):
        with pytest.raises(error):
            _native.decode(data)


def test_update_and_delete_rows():
    ds = dataset(x="int64")
    ds.append({"x": np.arange(5)})
    ds.update([1, 3], {"x": [10, 30]}, {"x": "int64"})
    ds.delete_rows(np.array([0], dtype=np.uint8))
    assert [int(v) for v in back(ds)] == [10, 2, 30, 4]
    for rows, values in (([0], [1, 2]), ([0.5], [1]), ([[0]], [1])):
        with pytest.raises(_errors.InvalidArgumentError):
            ds.update(rows, {"x": values}, {"x": "int64"})
    with pytest.raises(_errors.OutOfRangeError):
        ds.delete_rows([4])
