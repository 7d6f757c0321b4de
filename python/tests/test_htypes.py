"""Values of every htype and dtype: they come back unchanged, or are refused with the row and the reason."""

from __future__ import annotations

import re

import deeplake
import numpy as np
import pytest

DTYPES = [
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip


def write(place, samples, htype="generic", **spec):
    ds = deeplake.create(place)
    ds.create_tensor("t", htype, **spec)
    ds.extend({"t": samples})
    ds.commit()
    return deeplake.open(place)["t"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("compression", ["none", "lz4", "zstd"])
def test_dtypes(place, dtype, compression):
    array = np.array([[0, 1, 2], [3, 100, 0]]).astype(dtype)
    tensor = write(place, np.stack([array, array[::-1]]), dtype=dtype, compression=compression)
    assert tensor.dtype == dtype and tensor.numpy().dtype == dtype
    assert (tensor[0] == array).all() and (tensor[1] == array[::-1]).all()


def test_bfloat16(place):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([1.5, -2], ml_dtypes.bfloat16)
    tensor = write(place, [array], dtype="bfloat16")
    assert tensor[0].dtype == ml_dtypes.bfloat16 and (tensor[0] == array).all()


def test_bfloat16_through_torch(place, monkeypatch):
    torch = pytest.importorskip("torch")
    write(place, [torch.tensor([1.5, -2], dtype=torch.bfloat16)], dtype="bfloat16")
    batch = next(iter(deeplake.open(place).pytorch()))
    assert batch["t"].dtype == torch.bfloat16 and batch["t"].tolist() == [[1.5, -2]]
    monkeypatch.setattr("deeplake._rows.source.find_spec", lambda name: None)
    with pytest.raises(deeplake.UnsupportedError, match="pip install ml_dtypes"):
        deeplake.open(place)["t"].numpy()
    with pytest.raises(deeplake.UnsupportedError, match="ml_dtypes"):
        deeplake.open(place).batches()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=">i4").reshape(3, 4),
        np.arange(24, dtype=np.int32).reshape(3, 8)[:, ::2],
        np.arange(12, dtype=np.int32).reshape(4, 3).T,
        np.asfortranarray(np.arange(12, dtype=np.int32).reshape(3, 4)),
        np.arange(12, dtype=np.int32).reshape(3, 4)[::-1],
    ],
    ids=["big-endian", "strided", "transposed", "fortran", "reversed"],
)
def test_arrays_of_any_layout(place, array):
    tensor = write(place, array, dtype="int32")
    assert (tensor.numpy() == array).all()
    with deeplake.open(place) as ds:
        ds.append({"t": array[0]})
        assert (ds["t"][-1] == array[0]).all()
        ds.discard()


def test_torch_and_dlpack_come_in(place):
    torch = pytest.importorskip("torch")
    tensor = write(place, torch.arange(6, dtype=torch.int32).reshape(3, 2), dtype="int32")
    assert tensor.numpy().tolist() == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize(
    ("htype", "spec", "samples"),
    [
        ("text", {}, ["a", "", "\u65e5\u672c \U0001f600", "x" * 100_000]),
        ("json", {}, [{"a": [1, 2.5, None, True]}, [], "text", 3, {"\u00e9": "\u00e9"}]),
        ("list", {}, [[1, "a"], [], [[1], {"k": None}]]),
        ("tag", {}, [["a", "b"], [], ["\u00e9"]]),
        ("generic", {"dtype": "bytes"}, [b"", b"\0\1", bytes(1000)]),
        ("generic", {"dtype": "string"}, ["a", "b"]),
    ],
)
def test_values_without_a_shape(place, htype, spec, samples):
    tensor = write(place, samples, htype, **spec)
    assert tensor.numpy() == samples
    assert tensor[0] == samples[0] and type(tensor[0]) is type(samples[0])
    assert deeplake.open(place)[1]["t"] == samples[1]
    assert [b["t"] for b in deeplake.open(place).batches(len(samples))] == [samples]


TEXTS = [
    (np.array(["x", "y"]), ["x", "y"]),
    (np.array([["x", "y"]]), [["x", "y"]]),
    (np.array([["x", "y"]], object), [["x", "y"]]),
    (np.array([["x"], ["x", "y"]], object), [["x"], ["x", "y"]]),
    ([np.array("x")], ["x"]),
    ([None, np.array("x", object), "y"], [None, "x", "y"]),
    (["x", np.array("y")], ["x", "y"]),
    ([np.array(["x", "y"])], [["x", "y"]]),
    ([np.array(["x"]), None, ["y"]], [["x"], None, ["y"]]),
    ([["x"], np.array(["x", "y"], object)], [["x"], ["x", "y"]]),
    *(
        ([np.array(["x", "y"], np.dtypes.StringDType())], [["x", "y"]])
        for _ in range(hasattr(np.dtypes, "StringDType"))
    ),
]


def has_lists(want):
    return any(isinstance(row, list) for row in want)


def htypes_of(want):
    """The htypes of tensors that hold the samples; None: that of inference."""
    return ["class_label", "json", None, *(["tag", "sequence[text]"] if has_lists(want) else ["text"])]


@pytest.mark.parametrize(("htype", "array", "want"), [(h, a, w) for a, w in TEXTS for h in htypes_of(w)])
def test_arrays_of_texts_are_texts(htype, array, want):
    lists = has_lists(want)
    with deeplake.create("mem://texts", overwrite=True, schema={"t": htype} if htype else None) as ds:
        ds.extend({"t": array})
        if htype:
            ds.update(slice(0, len(want)), {"t": list(array)})
            ds.update(0, {"t": array[0]})
        got = [row["t"] for row in ds]
        if htype == "class_label":
            names = ds["t"].class_names
            got = [g if g is None else [names[n] for n in g] if lists else names[int(g)] for g in got]
        assert got == want and ds["t"].htype == (htype or ("sequence[text]" if lists else "text"))
        ds.discard()


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        ({1: "int", "1": "str"}, "1 and '1'"),
        ({"a": [{"b": {"true": 0, True: 1}}]}, "'true' and True"),
        ([[{None: 0, "null": 1}]], "None and 'null'"),
        (({1.5: 0, "1.5": 1},), "1.5 and '1.5'"),
    ],
)
def test_keys_that_are_one_text_in_json(value, keys):
    words = re.escape(f"has the keys {keys} in one dict, which are one text in JSON")
    with deeplake.create("mem://keys", overwrite=True) as ds:
        ds.create_tensor("j", "json")
        ds.create_tensor("s", "sequence[json]")
        ds.extend({"j": [{7: 2, None: 3, True: {2.5: 4}}], "s": [[{1: 2}]]})
        assert ds["j"][0] == {"7": 2, "null": 3, "true": {"2.5": 4}} and ds["s"][0] == [{"1": 2}]
        for call in (
            lambda: ds.append({"j": value, "s": None}),
            lambda: ds.extend([{"j": 1, "s": None}, {"j": value, "s": None}]),
            lambda: ds.extend({"j": [1], "s": [[value]]}),
            lambda: ds.update(0, {"j": value}),
            lambda: ds.update([0], {"s": [[value]]}),
        ):
            with pytest.raises(deeplake.InvalidArgumentError, match=r'tensor "[js]": row [01] ' + words):
                call()
        assert len(ds) == 1
        ds.discard()
    for call in (
        lambda: setattr(ds, "info", {"a": value}),
        lambda: ds.create_tensor("k", info={"a": value}),
        lambda: deeplake.ingest([{"a": {"b": value}}], "mem://keys-ingested", verbose=False),
    ):
        with (
            deeplake.create("mem://keys-info", overwrite=True) as ds,
            pytest.raises(deeplake.InvalidArgumentError, match=words),
        ):
            call()


@pytest.mark.parametrize(
    ("htype", "dtype", "samples"),
    [
        ("image", "uint8", [np.ones((4, 5, 3), np.uint8), np.zeros((2, 2, 1), np.uint8)]),
        ("image.rgb", "uint8", [np.ones((4, 5, 3), np.uint8)]),
        ("image.gray", "uint8", [np.ones((4, 5, 1), np.uint8)]),
        ("bbox", "float32", [np.ones((3, 4), np.float32), np.zeros((0, 4), np.float32)]),
        ("binary_mask", "bool", [np.eye(3, dtype=bool), np.ones((2, 2, 5), bool)]),
        ("segment_mask", "uint32", [np.arange(6, dtype=np.uint32).reshape(2, 3)]),
        ("instance_label", "uint32", [np.arange(3, dtype=np.uint32)]),
        ("keypoints_coco", "int32", [np.arange(6, dtype=np.int32).reshape(3, 2)]),
        ("point", "int32", [np.arange(6, dtype=np.int32).reshape(3, 2)]),
        ("embedding", "float32", [np.arange(8, dtype=np.float32)] * 2),
        ("intrinsics", "float32", [np.eye(3, dtype=np.float32)]),
    ],
)
def test_arrays_of_every_htype(place, htype, dtype, samples):
    tensor = write(place, samples, htype)
    assert (tensor.htype, tensor.dtype) == (htype, dtype)
    for i, sample in enumerate(samples):
        assert tensor[i].dtype == dtype and tensor[i].shape == sample.shape and (tensor[i] == sample).all()


def test_polygons_are_lists(place):
    shapes = [[np.zeros((3, 2), np.float32), np.ones((5, 2), np.float32)], []]
    tensor = write(place, shapes, "polygon")
    assert [s.shape for s in tensor[0]] == [(3, 2), (5, 2)] and tensor[1] == []


@pytest.mark.parametrize(
    ("inner", "spec", "samples"),
    [
        ("text", {}, [["a", "b"], [], ["c"]]),
        ("generic", {"dtype": "int32"}, [[np.arange(3, dtype=np.int32), np.zeros((2, 2), np.int32)], []]),
        ("class_label", {}, [[0, 1], [1]]),
        ("image", {"compression": "png"}, [[np.ones((4, 5, 3), np.uint8)] * 2, [np.zeros((2, 2, 3), np.uint8)]]),
    ],
)
def test_sequences(place, inner, spec, samples):
    tensor = write(place, samples, f"sequence[{inner}]", **spec)
    assert tensor.htype == f"sequence[{inner}]"
    for got, want in zip(tensor.numpy(), samples, strict=True):
        assert len(got) == len(want)
        assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True))
    row = deeplake.open(place)[0]["t"]
    assert len(row) == len(samples[0]) and np.array_equal(row[0], samples[0][0])


def test_sequences_of_arrays_count_their_items_along_the_first_axis(place):
    tensor = write(
        place, [np.zeros((3, 2), np.float32), np.ones((1, 2), np.float32)], "sequence[generic]", dtype="float32"
    )
    assert [len(items) for items in tensor.numpy()] == [3, 1]
    assert tensor[1][0].tolist() == [1, 1]


def test_class_labels(place):
    ds = deeplake.create(place)
    labels = ds.create_tensor("t", "class_label", class_names=["cat", "dog"], add_classes=True)
    ds.extend({"t": ["dog", 0, "bird"]})
    ds.append({"t": "cat"})
    assert labels.class_names == ["cat", "dog", "bird"]
    assert labels.numpy().tolist() == [1, 0, 2, 0] and labels.numpy().dtype == np.int64
    ds.commit()
    again = deeplake.open(place)["t"]
    assert again.class_names == ["cat", "dog", "bird"] and again[2] == 2
    assert isinstance(deeplake.open(place)[0]["t"], np.int64)


def test_declared_classes_are_closed(place):
    ds = deeplake.create(place, schema={"t": {"htype": "class_label", "class_names": ["cat", "dog"]}})
    with pytest.raises(
        deeplake.InvalidArgumentError, match=r'class "dgo" is none of the 2 .* did you mean "dog"\?.*add_classes'
    ):
        ds.extend({"t": ["cat", "dgo"]})
    assert len(ds) == 0
    ds.add_classes("t", ["owl"])
    ds.extend({"t": ["owl", "cat", 1]})
    with pytest.raises(deeplake.InvalidArgumentError, match='has "cat" twice'):
        ds.add_classes("t", ["cat"])
    ds.commit()
    again = deeplake.open(place)
    assert again["t"].class_names == ["cat", "dog", "owl"] and again["t"].numpy().tolist() == [2, 0, 1]
    with pytest.raises(deeplake.InvalidArgumentError, match="none of the 3"):
        again.append({"t": "fox"})
    copied = deeplake.create("mem://closed", overwrite=True, schema=again.schema)
    with pytest.raises(deeplake.InvalidArgumentError, match="none of the 3"):
        copied.append({"t": "fox"})
    opened = deeplake.create(
        "mem://closed",
        overwrite=True,
        schema={"t": {"htype": "class_label", "class_names": ["a"], "add_classes": True}},
    )
    assert deeplake.create("mem://closed2", overwrite=True, schema=opened.schema).append({"t": "b"}) is None


def test_classes_are_renamed_merged_and_removed(place):
    ds = deeplake.create(place, schema={"t": "class_label"})
    ds.extend({"t": ["kitten", "dgo", "tomcat", "owl", "kitten"]})
    ds.rename_class("t", "dgo", "dog")
    ds.merge_classes("t", ["kitten", "tomcat"], "cat")
    assert ds["t"].class_names == ["cat", "dog", "owl"] and ds["t"].numpy().tolist() == [0, 1, 0, 2, 0]
    with pytest.raises(deeplake.InvalidArgumentError, match="row 3: a label of this row"):
        ds.remove_class("t", "owl")
    ds.commit()
    ds.add_classes("t", ["fox"])
    ds.remove_class("t", "fox")
    ds.commit()
    for call, words in (
        (lambda: ds.rename_class("t", "cta", "x"), 'did you mean "cat"'),
        (lambda: ds.merge_classes("t", "cat", "x"), "want a list of names"),
        (lambda: ds.remove_class("u", "cat"), "there is no tensor|no tensor"),
    ):
        with pytest.raises(deeplake.Error, match=words):
            call()
    assert deeplake.open(place)["t"].class_names == ["cat", "dog", "owl"]


def test_the_first_sample_decides_an_open_dtype(place):
    ds = deeplake.create(place)
    tensor = ds.create_tensor("t")
    assert tensor.dtype is None and tensor.shape is None
    ds.append({"t": np.zeros((2, 3), np.float32)})
    assert tensor.dtype == "float32"
    with pytest.raises(deeplake.TensorTypeError, match="complex128"):
        ds.append({"t": np.zeros((2, 3), complex)})
    assert len(ds) == 1
    ds.append({"t": [[1, 2, 3], [4, 5, 6]]})
    ds.append({"t": np.full((2, 3), 0.1)})
    assert ds["t"][1].dtype == np.float32 and ds["t"][2][0, 0] == np.float32(0.1)
    ds.discard()


@pytest.mark.parametrize(
    ("htype", "spec", "good", "bad", "wrong"),
    [
        ("generic", {"dtype": "uint8"}, 1, 300, "300"),
        ("generic", {"dtype": "uint8"}, 1, -1, "-1"),
        ("generic", {"dtype": "uint8"}, 1, 1.5, "uint8"),
        ("generic", {"dtype": "float32"}, 1.0, "text", "float32"),
        ("generic", {"dtype": "float32"}, 1.0, np.ones(2, np.complex64), "complex64"),
            ("generic", {"dtype": "float32"}, 1.0, np.full(2, 1e300), "1e\\+300"),
        ("generic", {"dtype": "int64", "shape": (2,)}, [1, 2], [1, 2, 3], r"\(2,\)"),
        ("generic", {"dtype": "int64", "shape": (2, None)}, [[1], [2]], [1, 2], r"\(2, \?\)"),
        ("image", {}, np.ones((2, 2, 3), np.uint8), np.ones(2, np.uint8), "height, width, channels"),
        ("image", {}, np.ones((2, 2, 3), np.uint8), np.ones((2, 2, 3), np.float32), "float32"),
        ("image.rgb", {}, np.ones((2, 2, 3), np.uint8), np.ones((2, 2, 4), np.uint8), "height, width, 3"),
        ("bbox", {}, np.ones((1, 4), np.float32), np.ones((1, 5), np.float32), "boxes, 4"),
        ("class_label", {}, 0, 1.5, "int64"),
        ("class_label", {"class_names": ["a"]}, 0, 7, "7"),
        ("text", {}, "a", 5, "want a str"),
        ("text", {}, "a", b"a", "want a str"),
        ("list", {}, [], {"a": 1}, "list"),
        ("tag", {}, ["a"], [1], "string"),
        ("json", {}, {}, {1, 2}, "set"),
        ("json", {}, {}, float("nan"), "JSON"),
        ("embedding", {}, np.ones(3, np.float32), np.ones(4, np.float32), r"\(3,\)"),
        ("intrinsics", {}, np.eye(3, dtype=np.float32), np.eye(4, dtype=np.float32), "3, 3"),
        ("keypoints_coco", {}, np.ones((3, 1), np.int32), np.ones((4, 1), np.int32), "keypoints"),
        ("binary_mask", {}, np.ones((2, 2), bool), np.full((2, 2), 255, np.uint8), "255"),
        ("sequence[text]", {}, ["a"], "a", "list"),
    ],
)  # fmt: skip
def test_bad_samples_are_refused_with_tensor_and_row(place, htype, spec, good, bad, wrong):
    ds = deeplake.create(place)
    ds.create_tensor("things", htype, **spec)
    ds.append({"things": good})
    with pytest.raises((deeplake.TensorTypeError, deeplake.InvalidArgumentError), match=wrong) as caught:
        ds.extend({"things": [good, good, bad]})
    assert '"things": row 2' in str(caught.value)
    assert len(ds) == 1, "all rows or none"
    ds.append({"things": good})
    ds.commit()
    assert len(deeplake.open(place)) == 2


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"htype": "imge"}, 'did you mean "image"'),
        ({"dtype": "flot32"}, 'did you mean "float32"'),
        ({"compression": "jpg2"}, "compression|codec"),
        ({"htype": "text", "compression": "jpeg"}, "images"),
        ({"htype": "image", "compression": "jpeg", "dtype": "uint16"}, "uint8"),
        ({"htype": "class_label", "dtype": "float32"}, "float32"),
        ({"class_names": ["a"]}, "class_label"),
        ({"htype": "class_label", "class_names": ["a", "a"]}, "twice"),
        ({"shape": (-3,)}, "-3"),
        ({"htype": "bbox", "shape": (None, 5)}, "bbox"),
        ({"quality": 200, "htype": "image", "compression": "jpeg"}, "quality"),
        ({"chunk_bytes": 3}, "chunk_bytes"),
        ({"info": {"x": object()}}, "(?i)json"),
        ({"dtyp": "int8"}, 'unknown argument "dtyp"; did you mean "dtype"'),
        ({"dtype": object()}, "dtype"),
    ],
)
def test_bad_tensors(place, arguments, wrong):
    ds = deeplake.create(place)
    with pytest.raises((deeplake.InvalidArgumentError, deeplake.TensorTypeError), match=wrong):
        ds.create_tensor("t", **arguments)
    assert not ds.tensors and not ds.dirty


@pytest.mark.parametrize("name", ["", "_index", "a//b", "/a", "a/", "a\nb", "x" * 5000])
def test_bad_names(place, name):
    with pytest.raises(deeplake.InvalidArgumentError):
        deeplake.create(place).create_tensor(name)


def test_classes_of_a_segment_mask(tmp_path):
    names = ["road", "car", "sky"]
    with deeplake.create(tmp_path / "lake") as ds:
        ds.create_tensor("masks", "segment_mask", class_names=names)
        ds.extend({"masks": np.array([[[0, 1]], [[2, 2]], [[7, 0]]], np.uint32)})  # 7 has no name
        ds.commit()
    with deeplake.open(tmp_path / "lake") as ds:
        assert ds["masks"].class_names == names
        assert len(ds.query("SELECT * WHERE ANY(masks = 'car')")) == 1
        assert len(ds.query("SELECT * WHERE ANY(masks = 'sky')")) == 1
        with pytest.raises(deeplake.Error, match="road, car, sky"):
            ds.query("SELECT * WHERE ANY(masks = 'boat')")
        assert ds.to_arrow().column("masks").to_pylist()[1] == [[2, 2]]
        batch = next(iter(ds.batches(batch_size=3)))
        assert batch["masks"].dtype == np.uint32 and batch["masks"][2].tolist() == [[7, 0]]
    with pytest.raises(deeplake.InvalidArgumentError, match="class_label and segment_mask"):
        deeplake.create("mem://named").create_tensor("masks", "binary_mask", class_names=names)
