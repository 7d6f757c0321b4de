"""Columns and streams of Arrow, compared value by value with what pyarrow reads from them."""

from __future__ import annotations

import datetime
import decimal
import gc
import io
import itertools
import json
import math
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import deeplake
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from PIL import Image

ROWS = 37  # no multiple of 8, so that bitmaps end within a byte


def fresh(**tensors: Any) -> deeplake.Dataset:
    return deeplake.create(f"mem://arrow-{uuid.uuid4().hex}", schema=tensors)


def ints(kind: Any) -> list[int]:
    bits = int(str(kind).strip("uint"))
    low, high = (0, 2**bits - 1) if str(kind).startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return [low, high, 0, 1, 7]


NUMBERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
TEXTS = ["", "a", "twelve bytes", "thirteen byte", "ünï", "日本語のとても長い文章です", "x" * 1000]

# Of each type: values, and the tensor that takes them.
TYPES: dict[str, tuple[Any, list[Any], dict[str, Any]]] = {
    **{str(kind): (kind, ints(kind), {}) for kind in NUMBERS},
    "float": (pa.float32(), [0.5, -1.25, math.inf, 3.0], {}),
    "double": (pa.float64(), [0.1, -math.inf, 1e300, 5e-324], {}),
    "half": (pa.float16(), [np.float16(0.5), np.float16(-2)], {}),
    "bool": (pa.bool_(), [True, False, False], {}),
    "string": (pa.string(), TEXTS, {}),
    "large_string": (pa.large_string(), TEXTS, {}),
    "string_view": (pa.string_view(), TEXTS, {}),
    "binary": (pa.binary(), [b"", b"\xff\x00", b"long" * 99], {}),
    "large_binary": (pa.large_binary(), [b"", b"\xff\x00"], {}),
    "binary_view": (pa.binary_view(), [b"", b"\xff\x00", b"long" * 99], {}),
    "fixed_binary": (pa.binary(3), [b"abc", b"\xff\x00\x01"], {}),
    "date32": (pa.date32(), [datetime.date(1969, 12, 31), datetime.date(2026, 11, 28)], {}),
    "timestamp": (pa.timestamp("us"), [datetime.datetime(1969, 12, 31, 5), datetime.datetime(2026, 11, 28, 1, 2, 3, 4)], {}),
    "list": (pa.list_(pa.int32()), [[1, 2, 3], [], [4]], {}),
    "large_list": (pa.large_list(pa.float64()), [[1.5], [2.5, 3.5]], {}),
    "list_view": (pa.list_view(pa.int16()), [[1, 2, 3], [], [4]], {}),
    "list of bool": (pa.list_(pa.bool_()), [[True], [], [False, True]], {}),
    "fixed list": (pa.list_(pa.float32(), 3), [[1, 2, 3], [4, 5, 6]], {}),
    "matrix": (pa.list_(pa.list_(pa.int64(), 2), 3), [[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]], {}),
    "boxes": (pa.list_(pa.list_(pa.float32(), 4)), [[[1, 2, 3, 4]], [], [[1, 2, 3, 4], [5, 6, 7, 8]]], {"htype": "bbox"}),
    "ragged matrix": (pa.list_(pa.list_(pa.int32())), [[[1, 2], [3, 4]], [[5]], [[1, 2, 3]]], {}),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["cat", "dog", "cat"], {"htype": "text"}),
    "labels": (pa.dictionary(pa.int32(), pa.string()), ["cat", "dog", "cat"], {"htype": "class_label"}),
    "label names": (pa.string(), ["cat", "dog", "cat"], {"htype": "class_label"}),
    "label lists": (pa.list_(pa.string()), [["cat"], [], ["dog", "cat"]], {"htype": "class_label"}),
    "tags": (pa.list_(pa.string()), [["a"], [], ["b", 'c"\\']], {"htype": "tag"}),
    "struct": (pa.struct([("a", pa.int64()), ("b", pa.list_(pa.float64()))]), [{"a": 1, "b": [1.0, 2.5]}, {"a": None, "b": []}], {"htype": "json"}),
    "frames": (pa.list_(pa.list_(pa.uint8())), [[[1], [2, 3]], [[4]]], {"htype": "sequence[generic]", "dtype": "uint8"}),
    "texts": (pa.list_(pa.string()), [["a", "b"], ["c"]], {"htype": "sequence[text]"}),
    "json texts": (pa.string(), ['{"a": [1, null]}', '"text"', "3"], {"htype": "json"}),
}  # fmt: skip


def make(kind: Any, values: list[Any], nulls: bool, pieces: int, shifted: bool) -> Any:
    """Returns ROWS values in some chunks, each a slice of a longer array where shifted."""
    cycle = itertools.cycle(values)
    wanted = [None if nulls and row % 5 == 1 else next(cycle) for row in range(ROWS)]

    def array(part: list[Any]) -> Any:
        if not shifted:
            return pa.array(part, kind)
        return pa.array([*part[:3], None, *part, None], kind).slice(min(3, len(part)) + 1, len(part))

    bounds = np.linspace(0, ROWS, pieces + 1).astype(int)
    return pa.chunked_array([array(wanted[a:b]) for a, b in itertools.pairwise(bounds)], kind)


CARRIERS: dict[str, Callable[[Any], Any]] = {
    "table": lambda column: pa.table({"x": column}),
    "reader": lambda column: pa.table({"x": column}).to_reader(),
    "column": lambda column: {"x": column},
    "arrays": lambda column: {"x": pa.concat_arrays(column.chunks)},
}


def plain(value: Any) -> Any:
    """Returns a value as Python has it, arrays as lists."""
    return plain(value.tolist()) if isinstance(value, np.ndarray | np.generic) else value


def read(ds: deeplake.Dataset, spec: dict[str, Any]) -> list[Any]:
    htype = spec.get("htype", "")
    names = ds["x"].class_names
    out = []
    for value in (ds["x"][row] for row in range(len(ds))):
        if htype == "class_label" and value is not None:
            value = [names[label] for label in value] if np.ndim(value) else names[int(value)]
        out.append(
            [plain(item) for item in value] if htype.startswith("sequence") and value is not None else plain(value)
        )
    return out


def expected(column: Any, name: str) -> list[Any]:
    values = column.to_pylist()
    if name == "json texts":
        return [None if value is None else json.loads(value) for value in values]
    return values


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("carrier", CARRIERS)
def test_every_type(name: str, carrier: str) -> None:
    kind, values, spec = TYPES[name]
    for nulls, pieces, shifted in itertools.product((False, True), (1, 3), (False, True)):
        column = make(kind, values, nulls, pieces, shifted)
        if carrier == "arrays" and (str(kind).startswith("dictionary") or "view" in str(kind)) and pieces > 1:
            continue  # which pyarrow cannot put together
        ds = fresh(x=spec.get("htype", "generic"))
        if "dtype" in spec:
            ds = deeplake.create(f"mem://arrow-{uuid.uuid4().hex}")
            ds.create_tensor("x", spec["htype"], dtype=spec["dtype"])
        ds.extend(CARRIERS[carrier](column))
        want = expected(column, name)
        assert read(ds, spec) == want, (nulls, pieces, shifted)
        ds.commit()
        assert read(ds, spec) == want
        if name in ("boxes", "labels"):
            assert ds["x"].dtype == {"boxes": "float32", "labels": "int64"}[name]
        elif kind in NUMBERS:
            assert ds["x"].dtype == str(kind)


@pytest.mark.parametrize("carrier", ["table", "column"])
def test_types_of_times(carrier: str) -> None:
    moment = datetime.datetime(2026, 11, 28, 1, 2, 3)
    kinds = {
        "date": (pa.date32(), [moment.date()]),
        "timestamp[s]": (pa.timestamp("s"), [moment]),
        "timestamp[ns, Europe/Berlin]": (pa.timestamp("ns", "Europe/Berlin"), [moment]),
        "interval[ms]": (pa.duration("ms"), [datetime.timedelta(seconds=1.5)]),
    }
    for dtype, (kind, values) in kinds.items():
        ds = fresh(x="generic")
        column = pa.chunked_array([pa.array([*values, None], kind)])
        ds.extend(CARRIERS[carrier](column))
        assert ds["x"].dtype == dtype
        assert ds.to_arrow()["x"].cast(kind).to_pylist() == column.to_pylist()


def test_streams_of_other_programs() -> None:
    frame = pl.DataFrame({
        "i": pl.Series([1, None, 3], dtype=pl.Int16),
        "s": ["a", None, "a text of more than twelve bytes"],
        "l": pl.Series([[1.5], [], None], dtype=pl.List(pl.Float64)),
        "c": pl.Series(["x", "y", "x"], dtype=pl.Categorical),
        "a": pl.Series([[1, 2], [3, 4], [5, 6]], dtype=pl.Array(pl.Int32, 2)),
    })  # fmt: skip
    ds = fresh(i="generic", s="text", l="generic", c="class_label", a="generic")
    ds.extend(frame)
    ds.extend(frame.lazy().filter(pl.col("i") == 3).collect())
    assert [plain(v) for v in ds["i"]] == [1, None, 3, 3]
    assert ds["i"].dtype == "int16" and ds["a"].shape == (2,)
    assert list(ds["s"])[2] == "a text of more than twelve bytes" and list(ds["s"])[1] is None
    assert [plain(v) for v in ds["l"]] == [[1.5], [], None, None]
    assert [ds["c"].class_names[int(v)] for v in ds["c"]] == ["x", "y", "x", "x"]
    ds.update(slice(0, 2), {"i": pl.Series([8, 9], dtype=pl.Int16)})
    assert [plain(v) for v in ds["i"]][:2] == [8, 9]


def test_classes_of_batches_with_dictionaries_of_their_own() -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    parts = [["dog", "cat"], ["cat", None, "fox"], ["fox", "dog"]]
    for carrier in ("table", "column"):
        ds = fresh(x="class_label")
        column = pa.chunked_array([pa.array(part, kind) for part in parts])
        ds.extend(CARRIERS[carrier](column))
        assert ds["x"].class_names == ["dog", "cat", "fox"]
        assert [plain(v) for v in ds["x"]] == [0, 1, 1, None, 2, 2, 0]


def test_many_labels() -> None:
    names = [f"name {i}" for i in range(200_000)]
    ds = fresh(x="class_label")
    ds.extend(pa.table({"x": names[::-1]}))
    assert ds["x"].class_names == names[::-1] and int(ds["x"][199_999]) == 199_999
    ds.commit()


def test_dictionaries_with_odd_values() -> None:
    values = pa.array(["cat", None, "dog", "cat"])
    column = pa.DictionaryArray.from_arrays(pa.array([3, 1, 2, 0, None], pa.uint8()), values)
    ds = fresh(x="class_label", y="text")
    ds.extend(pa.table({"x": column, "y": column}))
    assert ds["x"].class_names == ["cat", "dog"]
    assert [plain(v) for v in ds["x"]] == [0, None, 1, 0, None]
    assert list(ds["y"]) == ["cat", None, "dog", "cat", None]


def test_structs_are_groups() -> None:
    ds = fresh(**{"a/x": "generic", "a/b/y": "text", "z": "json"})
    inner = pa.StructArray.from_arrays([pa.array(["p", "q", "r"])], ["y"], mask=pa.array([False, False, True]))
    a = pa.StructArray.from_arrays([pa.array([1, 2, 3]), inner], ["x", "b"], mask=pa.array([False, True, False]))
    ds.extend(pa.table({"a": a, "z": a}).slice(1))
    assert [plain(v) for v in ds["a/x"]] == [None, 3] and list(ds["a/b/y"]) == [None, None]
    assert list(ds["z"]) == [None, {"x": 3, "b": None}]


def picture(mode: str = "RGB", size: tuple[int, int] = (8, 6)) -> bytes:
    file = io.BytesIO()
    Image.new(mode, size, 7).save(file, "PNG")
    return file.getvalue()


def test_pictures_as_hugging_face_stores_them() -> None:
    files = [picture(), picture(size=(5, 5)), picture()]
    column = pa.array(
        [{"bytes": file, "path": "x.png"} for file in files[:2]] + [None, {"bytes": files[2], "path": None}]
    )
    ds = fresh(images="image", frames="sequence[image]", masks="segment_mask", stored="image.rgb")
    frames = pa.array([[{"bytes": files[0], "path": "a"}], [], None, [{"bytes": f, "path": ""} for f in files[:2]]])
    masks = pa.array([picture("L"), None, picture("L"), picture("L")])
    ds.extend(
        pa.table(
            {"images": column, "frames": frames, "masks": masks, "stored": pa.array(files[:1] * 4, pa.large_binary())}
        )
    )
    ds.commit()
    assert [ds["images"].bytes(row) for row in (0, 1, 3)] == files and ds["images"][2] is None
    assert [len(row) if row is not None else None for row in ds["frames"]] == [1, 0, None, 2]
    assert ds["masks"].bytes(0) == picture("L") and ds["masks"][1] is None
    with pytest.raises(deeplake.TensorTypeError, match=r'"images": row 1 has no bytes of its file'):
        ds.extend({**dict.fromkeys(("frames", "masks", "stored"), [None] * 2),
                   "images": pa.array([{"bytes": files[0], "path": "x"}, {"bytes": None, "path": "y"}])})  # fmt: skip


def test_extension_types() -> None:
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(24, dtype=np.int16).reshape(4, 2, 3))
    turned = pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.int16(), (2, 3), permutation=[1, 0]),
        pa.array(np.arange(24).reshape(4, 6).tolist(), pa.list_(pa.int16(), 6)),
    )
    ids = [uuid.UUID(int=i * 7) for i in range(4)]
    table = pa.table({
        "t": tensors,
        "p": turned,
        "u": pa.array([i.bytes for i in ids], pa.uuid()),
        "b": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, 2, None], pa.int8())),
        "j": pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}', "2", "null", None])),
    })  # fmt: skip
    ds = fresh(t="generic", p="generic", u="text", b="generic", j="json")
    for rows in (table, table.slice(1, 2)):
        ds.extend(rows)
    assert ds["t"].dtype == "int16" and ds["t"].shape == (2, 3)
    np.testing.assert_array_equal(ds["t"][4], np.arange(6, 12).reshape(2, 3))
    assert ds["p"].shape == (3, 2)
    np.testing.assert_array_equal(ds["p"][0], np.arange(6).reshape(2, 3).T)
    assert list(ds["u"]) == [str(i) for i in (*ids, *ids[1:3])]
    assert [plain(v) for v in ds["b"]] == [False, True, True, None, True, True]
    assert list(ds["j"])[:2] == [{"a": 1}, 2]


def test_decimals() -> None:
    values = [decimal.Decimal("-12345678901234567.89"), None, decimal.Decimal("0.10")]
    for kind in (pa.decimal128(30, 2), pa.decimal256(60, 2)):
        column = pa.array(values, kind)
        with pytest.raises(deeplake.TensorTypeError, match=r"decimal\d+\(\d0, 2\), which tensors hold as float64 if"):
            fresh(x="generic").extend(pa.table({"x": column}))
        with deeplake.create(f"mem://arrow-{uuid.uuid4().hex}") as ds:
            ds.create_tensor("x", dtype="float64")
            ds.extend(pa.table({"x": column}))
            assert [plain(v) for v in ds["x"]] == [float(v) if v is not None else None for v in values]
            ds.commit()


REFUSED: dict[str, tuple[Any, str, str]] = {
    "time": (pa.array([1], pa.time32("s")), "generic", r"type time32\[s\], which tensors cannot hold; cast it to a duration"),
    "interval": (pa.array([(1, 2, 3)], pa.month_day_nano_interval()), "generic", "month_day_nano_interval, which tensors"),
    "runs": (pa.RunEndEncodedArray.from_arrays(pa.array([3], pa.int32()), pa.array([1])), "generic", "decode its runs first"),
    "struct": (pa.array([{"a": 1}]), "generic", r"struct<a: int64>, want one value a row; store it in a tensor of htype json"),
    "map": (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "generic", r"map<string, int64>, want one value a row"),
    "union": (pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])]), "generic", "union"),
    "nested null": (pa.array([[1], [2, None]]), "generic", "row 1 has a null inside its list"),
    "nested null, fixed": (pa.array([None, [1, 2], [3, None]], pa.list_(pa.int64(), 2)), "generic", "row 2 has a null inside its list"),
    "unequal": (pa.array([[[1], [2]], [[1], [2, 3]]]), "generic", "row 1 has lists of unequal lengths"),
    "list of texts": (pa.array([["a"]]), "generic", "a list of texts suits htype class_label or tag"),
    "a text": (pa.array(["a"]), "image", "deeplake.read"),
    "one value": (pa.array([1]), "sequence[generic]", "want lists: a row of htype"),
    "null in a sequence": (pa.array([[1], [2, None]]), "sequence[generic]", "row 1 has a null in its list"),
    "json": (pa.array(['{"a"']), "json", "which is no JSON; a text itself needs its quotes"),
    "time in json": (pa.array([{"a": datetime.date(2026, 1, 1)}]), "json", r"row 0 has a value of type date32\[day\], which JSON"),
    "nan in json": (pa.array([[1.0], [math.nan]]), "json", "row 1 has the value NaN, which JSON does not have"),
    "number too large": (pa.array([None, 1, 300], pa.int64()), "uint8", "row 2: sample has the value 300, which uint8"),
    "name of no class": (pa.array(["cat", None, "cta"]), "classes", "row 2: class \"cta\" is none of the 2 of the tensor; did you mean"),
    "dictionary of no class": (pa.array(["cat", None, "cta"]).dictionary_encode(), "classes", "row 2: class \"cta\" is none"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("carrier", ["table", "column"])
def test_refusals_name_the_row_and_write_nothing(name: str, carrier: str) -> None:
    column, htype, match = REFUSED[name]
    ds = deeplake.create(f"mem://arrow-{uuid.uuid4().hex}")
    if htype == "classes":
        ds.create_tensor("x", "class_label", class_names=["cat", "dog"])
    else:
        ds.create_tensor("x", "generic" if htype == "uint8" else htype, dtype="uint8" if htype == "uint8" else None)
    before = ds.schema
    with pytest.raises(deeplake.Error, match=match) as caught:
        ds.extend({"x": column} if carrier == "column" else pa.table({"x": column}))
    assert '"x"' in str(caught.value)
    assert len(ds) == 0 and ds.schema == before


def test_text_that_is_no_utf8() -> None:
    raw = pa.py_buffer("aé".encode("latin-1") + b"\xc3\xa9")
    column = pa.Array.from_buffers(pa.string(), 3, [None, pa.array([0, 1, 3, 4], pa.int32()).buffers()[1], raw])
    with pytest.raises(deeplake.TensorTypeError, match="row 1: sample is not valid UTF-8"):
        fresh(x="text").extend(pa.table({"x": column}))
    # each of the two is no character, and both together are one
    halves = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xc3\xa9")]
    )
    with pytest.raises(deeplake.TensorTypeError, match="row 0: sample is not valid UTF-8"):
        fresh(x="text").extend(pa.table({"x": halves}))


def batches(bad: int, error: Exception | None = None) -> Any:
    kind = pa.schema([("x", pa.int64()), ("t", pa.string()), ("c", pa.string())])

    def rows() -> Iterator[Any]:
        for n in range(6):
            if n == bad and error:
                raise error
            numbers = [n * 100, None, n * 100 + 2]
            yield pa.record_batch(
                [pa.array(numbers), pa.array(["a", "b", None]), pa.array([f"c{n}", "c0", "" if n == bad else "d"])],
                schema=kind,
            )

    return pa.RecordBatchReader.from_batches(kind, rows())


@pytest.mark.parametrize("place", ["mem", "file"])
@pytest.mark.parametrize("bad", [0, 1, 4])
def test_a_stream_is_appended_whole_or_not(place: str, bad: int, tmp_path: Any) -> None:
    uri = str(tmp_path / "ds") if place == "file" else f"mem://arrow-{uuid.uuid4().hex}"
    ds = deeplake.create(uri, schema={"x": "generic", "t": "text", "c": "class_label"})
    ds.extend({"x": [5, 6], "t": ["u", "v"], "c": ["first", "c0"]})
    schema = ds.schema
    for error, match in ((None, "class name"), (ValueError("the generator broke"), "generator broke")):
        with pytest.raises(deeplake.Error, match=match) as caught:
            ds.extend(batches(bad, error))
        assert ("rows of the stream" in str(caught.value)) == (bad > 0)
        assert len(ds) == 2 and ds["c"].class_names == ["first", "c0"] and ds.schema == schema
    ds.extend(batches(-1))
    ds.append({"x": 7, "t": "w", "c": "c3"})
    want = [5, 6, *(v for n in range(6) for v in (n * 100, None, n * 100 + 2)), 7]
    ds.commit()
    for opened in (ds, deeplake.open(uri)):
        assert [plain(v) for v in opened["x"]] == want
        assert list(opened["t"]) == ["u", "v", *["a", "b", None] * 6, "w"]
        assert [opened["c"].class_names[int(v)] for v in opened["c"]][:5] == ["first", "c0", "c0", "c0", "d"]
    assert not ds.fsck().problems


def test_a_stream_that_fails_after_its_first_types() -> None:
    kind = pa.schema([("x", pa.int16())])
    parts = [pa.record_batch([pa.array([1, 2], pa.int16())], schema=kind)]

    def rows() -> Iterator[Any]:
        yield from parts
        raise OSError("the disk is gone")

    ds = fresh(x="generic")
    with pytest.raises(deeplake.Error, match=r"after 2 rows of the stream: .*disk is gone"):
        ds.extend(pa.RecordBatchReader.from_batches(kind, rows()))
    assert ds["x"].dtype is None  # no sample has decided it
    ds.append({"x": 0.5})
    assert ds["x"].dtype == "float64"


def test_a_stream_that_writes_to_its_dataset() -> None:
    ds = fresh(x="generic")
    kind = pa.schema([("x", pa.int64())])

    def rows(broken: bool) -> Iterator[Any]:
        for n in range(3):
            ds.append({"x": 100 + n})
            assert len(ds) > 0
            yield pa.record_batch([pa.array([n])], schema=kind)
        if broken:
            raise ValueError("late")

    ds.extend(pa.RecordBatchReader.from_batches(kind, rows(False)))
    assert sorted(plain(v) for v in ds["x"]) == [0, 1, 2, 100, 101, 102]
    with pytest.raises(deeplake.Error, match=r"late.*discard\(\) drops them"):
        ds.extend(pa.RecordBatchReader.from_batches(kind, rows(True)))
    assert len(ds) == 12


def test_a_stream_is_read_once() -> None:
    ds = fresh(x="generic")
    reader = pa.table({"x": [1, 2]}).to_reader()
    ds.extend(reader)
    ds.extend(reader)  # which is at its end

    class Kept:
        def __init__(self) -> None:
            self.capsule = pa.table({"x": [1]}).__arrow_c_stream__()

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return self.capsule

    kept = Kept()
    ds.extend(kept)
    with pytest.raises(deeplake.InvalidArgumentError, match="read before, and gives its rows once"):
        ds.extend(kept)
    assert len(ds) == 3  # none of the rows twice


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"x": [1]}, 'no values for tensor "t"'),
        ({"x": [1], "t": ["a"], "z": [0]}, 'there is no tensor "z"'),
        ({"t": ["a"], "x ": [1]}, 'there is no tensor "x "'),
    ],
)
def test_streams_with_other_columns(columns: dict[str, Any], match: str) -> None:
    ds = fresh(x="generic", t="text")
    with pytest.raises(deeplake.Error, match=match):
        ds.extend(pa.table(columns))
    assert len(ds) == 0


def test_streams_that_are_none() -> None:
    class Odd:
        def __init__(self, value: Any) -> None:
            self.value = value

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            if isinstance(self.value, Exception):
                raise self.value
            return self.value

    ds = fresh(x="generic")
    for value in (None, 7, pa.array([1]).__arrow_c_array__()[0]):
        with pytest.raises(deeplake.InvalidArgumentError, match="want a capsule named arrow_array_stream"):
            ds.extend(Odd(value))
    with pytest.raises(ZeroDivisionError):
        ds.extend(Odd(ZeroDivisionError()))
    with pytest.raises(deeplake.Error, match="no struct of columns"):
        ds.extend(Odd(pa.chunked_array([[1]]).__arrow_c_stream__()))
    assert len(ds) == 0


def test_memory_of_producers_is_given_back() -> None:
    def held() -> int:
        gc.collect()
        return int(pa.total_allocated_bytes())

    before = held()
    ds = fresh(x="generic", t="text")
    for _ in range(3):
        ds.extend(pa.table({"x": np.arange(100_000), "t": ["text"] * 100_000}))
        ds.extend({"x": pa.chunked_array([np.arange(10), np.arange(5)]), "t": pa.array(["t"] * 15)})
        with pytest.raises(deeplake.Error):
            ds.extend(pa.table({"x": np.arange(1000)}))
    assert held() == before


def living() -> deeplake.Dataset:
    """Returns a dataset with holes, deleted rows and many types, of more rows than a batch."""
    ds = fresh(i="generic", f="generic", t="text", c="class_label", b="bbox", v="embedding", j="json", p="image")
    rows = 1000
    ds.extend({
        "i": [None if n % 7 == 3 else n for n in range(rows)],
        "f": np.arange(rows) / 8,
        "t": [None if n % 5 == 1 else "é" * (n % 40) for n in range(rows)],
        "c": [["cat", "dog", "fox"][n % 3] for n in range(rows)],
        "b": [np.zeros((n % 3, 4), np.float32) for n in range(rows)],
        "v": np.arange(rows * 3, dtype=np.float32).reshape(rows, 3),
        "j": [{"n": n} for n in range(rows)],
        "p": [deeplake.read(picture())] * rows,
    })  # fmt: skip
    ds.delete(slice(100, 200))
    ds.commit()
    return ds


def test_readers_give_the_table_in_batches() -> None:
    ds = living()
    table = ds.to_arrow()
    for view in (ds, ds[::3], ds[:0], ds.query("SELECT i, t, f * 2 AS g WHERE f > 20")):
        whole = view.to_arrow()
        for batch_rows in (1, 64, 5000):
            reader = view[: 5 if batch_rows == 1 else None].to_arrow_reader(batch_rows=batch_rows)
            got = reader.read_all()
            assert got.schema == whole.schema and got.to_pylist() == whole.to_pylist()[: 5 if batch_rows == 1 else None]
            assert max([len(batch) for batch in got.to_batches()], default=0) <= batch_rows
    assert ds.to_arrow_reader(tensors=["c", "p"]).schema.names == ["c", "p"]
    assert table.num_rows == 900
    for batch_rows in (0, -1, True, "7"):
        with pytest.raises(deeplake.InvalidArgumentError, match="batch_rows is"):
            ds.to_arrow_reader(batch_rows=batch_rows)  # type: ignore[arg-type]


def test_programs_read_views() -> None:
    ds = living()
    view = ds.query("SELECT i, c WHERE f >= 50")
    table = pa.table(ds)
    assert table.column_names == ["i", "f", "t", "c", "b", "v", "j"]
    assert table.equals(ds.to_arrow(tensors=table.column_names))
    assert pl.DataFrame(ds)["i"].to_list() == table["i"].to_pylist()
    assert pl.DataFrame(view)["c"].to_list() == view.to_arrow()["c"].to_pylist()
    assert duckdb.sql("SELECT c, count(*), sum(i) FROM view GROUP BY c ORDER BY c").fetchall() == [
        (name, *counts)
        for name, *counts in ds.query("SELECT c, COUNT(*) AS n, SUM(i) AS s WHERE f >= 50 GROUP BY c ORDER BY c")
        .to_arrow().to_pandas().astype({"c": str}).itertuples(index=False)
    ]  # fmt: skip
    assert pa.table(ds[["p"]]).column_names == ["p"] and pa.table(ds[["p"]])["p"][0].as_py() == picture()


def test_there_and_back() -> None:
    ds = living()
    copy = fresh(**{name: about["htype"] for name, about in ds.schema.items()})
    copy.extend(ds.to_arrow_reader(batch_rows=99))
    copy.commit()
    assert copy.to_arrow().equals(ds.to_arrow())
    assert copy["p"].bytes(7) == picture()


INFERRED: dict[str, tuple[Callable[[], Any], dict[str, tuple[str, str | None]]]] = {
    "columns": (
        lambda: {"a": [1, None], "b": ["x", "y"], "c": np.zeros((2, 3), np.float32), "d": [{"k": 1}, None], "e": [["x"], []]},
        {"a": ("generic", "int64"), "b": ("text", "string"), "c": ("generic", "float32"), "d": ("json", "json"), "e": ("sequence[text]", "string")},
    ),
    "rows": (
        lambda: [{"a": None, "f": b"raw", "g": [1.5, 2]}, {"a": True, "f": b"", "g": []}],
        {"a": ("generic", "bool"), "f": ("generic", "bytes"), "g": ("generic", "float64")},
    ),
    "pictures": (
        lambda: {"p": [None, deeplake.read(picture())], "s": [[deeplake.read(picture())], []]},
        {"p": ("image", "uint8"), "s": ("sequence[image]", "uint8")},
    ),
    "polars": (
        lambda: pl.DataFrame({
            "c": pl.Series(["x"], dtype=pl.Categorical), "e": pl.Series(["x"], dtype=pl.Enum(["y", "x"])), "s": ["a"],
            "st": [{"p": 1, "q": "z"}], "ls": [["a"]], "n": [[1.5]], "nn": [[{"k": 1}]], "when": [datetime.date(2026, 1, 1)],
        }),
        {"c": ("class_label", "int64"), "e": ("class_label", "int64"), "s": ("text", "string"), "st/p": ("generic", "int64"),
         "st/q": ("text", "string"), "ls": ("sequence[text]", "string"), "n": ("generic", "float64"), "nn": ("json", "json"),
         "when": ("generic", "date")},
    ),
    "arrow": (
        lambda: pa.table({
            "i": [{"bytes": picture(), "path": "a"}], "snd": [{"bytes": b"RIFF....", "path": "a"}],
            "is": [[{"bytes": picture(), "path": "a"}]], "m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
            "d": pa.array(["a"]).dictionary_encode(), "bl": [[b"x"]], "none": pa.nulls(1), "half": pa.array([np.float16(1)]),
            "t": pa.FixedShapeTensorArray.from_numpy_ndarray(np.zeros((1, 2, 3), np.int8)), "u": pa.array([b"0" * 16], pa.uuid()),
        }),
        {"i": ("image", "uint8"), "snd": ("generic", "bytes"), "is": ("sequence[image]", "uint8"), "m": ("json", "json"),
         "d": ("text", "string"), "bl": ("sequence[generic]", "bytes"), "none": ("generic", None), "half": ("generic", "float16"),
         "t": ("generic", "int8"), "u": ("text", "string")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INFERRED)
def test_rows_make_the_tensors_of_an_empty_dataset(name: str) -> None:
    make_rows, want = INFERRED[name]
    ds = fresh()
    ds.extend(make_rows())
    assert {tensor: (about["htype"], about.get("dtype")) for tensor, about in ds.schema.items()} == want
    rows = len(ds)
    ds.extend(make_rows())
    ds.commit()
    assert len(ds) == 2 * rows and not ds.fsck().problems
    assert ds[:rows].to_arrow().equals(ds[rows:].to_arrow())


def test_inferred_classes() -> None:
    frame = pd.DataFrame({"x": pd.Categorical(["b", "a", None], categories=["a", "b", "c"])})
    features = {"info": {"features": {"x": {"names": ["a", "b", "c"], "_type": "ClassLabel"}, "y": {"_type": "Image"}}}}
    face = pa.table({"x": [1, 0, None]}).replace_schema_metadata({"huggingface": json.dumps(features)})
    for rows in (frame, pa.Table.from_pandas(frame), face):
        ds = fresh()
        ds.extend(rows)
        assert ds["x"].htype == "class_label" and ds["x"].class_names == ["a", "b", "c"]
        assert [plain(v) for v in ds["x"]] == [1, 0, None]
    odd = pa.table({"x": [1]}).replace_schema_metadata({"huggingface": "{", "pandas": '{"columns": 3}'})
    ds = fresh()
    ds.extend(odd)
    assert ds["x"].htype == "generic"


@pytest.mark.parametrize(
    "rows",
    [
        {"x": [1, 2], "d": pa.array([decimal.Decimal("1.5")] * 2)},
        pa.table({"x": [1], "d": pa.array([datetime.time(1)])}),
        pa.table({"x": ["a"], "_y": [1]}),
        pa.table({"x": ["a"], "x/y": [1]}),
        {"x": [1, 2], "y": [1]},
        pa.RecordBatchReader.from_batches(pa.schema([("x", pa.list_(pa.int64()))]),
            iter([pa.record_batch([pa.array([v], pa.list_(pa.int64()))], ["x"]) for v in ([1], [1, None])])),
        pa.RecordBatchReader.from_batches(pa.schema([("x", pa.list_(pa.int64()))]),
            iter([pa.record_batch([pa.array(v, pa.list_(pa.int64()))], ["x"]) for v in ([], [[1, None]])])),
    ],
)  # fmt: skip
def test_refused_rows_leave_no_tensors(rows: Any) -> None:
    ds = fresh()
    with pytest.raises(deeplake.Error):
        ds.extend(rows)
    assert len(ds) == 0 and ds.schema == {} and not ds.dirty
    ds.extend({"x": ["a text"]})
    assert ds["x"].htype == "text"


@pytest.mark.parametrize("name", [name for name in TYPES if not name.startswith("json")])
def test_updates_of_committed_rows(name: str) -> None:
    kind, values, spec = TYPES[name]
    column = make(kind, values, False, 1, False)
    ds = deeplake.create(f"mem://arrow-{uuid.uuid4().hex}")
    ds.create_tensor("x", spec.get("htype", "generic"), dtype=spec.get("dtype"))
    ds.extend(pa.table({"x": column}))
    ds.commit()
    before = read(ds, spec)
    for part in (column.slice(1, 2), column.slice(1, 2).combine_chunks()):
        ds.update(slice(0, 2), {"x": part})
        assert read(ds, spec) == before[1:3] + before[2:]
    ds.commit()
    ds.update(slice(0, 1), {"x": pa.array([None], kind)})
    ds.commit()
    assert ds[0]["x"] is None and read(ds[1:], spec) == before[2:3] + before[2:]


def test_first_batches_without_values() -> None:
    for rows, later, want in (
        (pa.table({"x": pa.array([], pa.int16())}), {"x": [1]}, [1]),
        ({"x": pa.array([[]], pa.list_(pa.binary()))}, {"x": pa.array([[b"a"]])}, [[], [b"a"]]),
        ({"x": pa.array([None], pa.binary())}, {"x": [b"a"]}, [None, b"a"]),
        ({"x": []}, {"x": ["a"]}, ["a"]),
    ):
        ds = fresh()
        ds.extend(rows)
        ds.extend(later)
        ds.commit()
        assert [plain(v) for v in ds["x"]] == want


def test_objects_of_polars() -> None:
    ds = fresh()
    with pytest.raises(deeplake.TensorTypeError, match='column "o" has Python objects'):
        ds.extend(pl.DataFrame({"o": pl.Series([object()], dtype=pl.Object)}))
    assert ds.schema == {}


def test_nulls_of_polars() -> None:
    """Arrays of nulls have a buffer in polars, and none in the format."""
    for rows, want in (
        (pl.DataFrame({"x": [1, 2], "a": [None, None]}), [None, None]),
        (pl.DataFrame({"a": [[], []]}), [[], []]),
        (pl.DataFrame({"a": [{"y": 1, "z": None}]}), None),
        ({"x": [1, 2], "a": pl.Series([None, None])}, [None, None]),
    ):
        ds = fresh()
        ds.extend(rows)
        ds.commit()
        if want is None:
            assert plain(ds["a/y"][0]) == 1 and plain(ds["a/z"][0]) is None
        else:
            assert [plain(v) for v in ds["a"]] == want


def test_streams_without_complex_numbers() -> None:
    ds = fresh(x="generic", z="generic")
    ds.extend({"x": [1], "z": np.array([1j])})
    ds.commit()
    assert pa.table(ds).column_names == ["x"]
    with pytest.raises(deeplake.UnsupportedError, match='"z": Arrow has no complex128'):
        ds.to_arrow_reader()
