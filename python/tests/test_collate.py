"""collate= by tensor: every mode and padding, by the core and in Python, against rows padded one by one."""

from __future__ import annotations

import pickle
from typing import Any

import deeplake
import numpy as np
import pytest

ROWS = 7
RNG = np.random.default_rng(5)


def identity(sample: Any) -> Any:
    return sample


def ids(row: dict[str, Any]) -> dict[str, Any]:
    return {"ids": row["labels"] + 1}


@pytest.fixture(scope="module")
def ds() -> Any:
    made = deeplake.create("mem://collate", overwrite=True)
    made.create_tensor("images", "image", compression="png")
    made.create_tensor("boxes", "bbox")
    made.create_tensor("labels", dtype="int64")
    made.create_tensor("flags", dtype="bool")
    made.create_tensor("word", "text")
    made.create_tensor("number", dtype="int64")
    made.create_tensor("clip", "sequence[image]", compression="png")
    made.create_tensor("even", "sequence[image]", compression="png")
    made.create_tensor("steps", "sequence[class_label]")
    made.create_tensor("volume", dtype="uint16")
    for i in range(ROWS):
        made.append({
            "images": RNG.integers(0, 255, (6 + i % 2, 5, 3), np.uint8),
            "boxes": RNG.random((i % 4, 4), np.float32),
            "labels": RNG.integers(-9, 9, i % 4),
            "flags": RNG.random(i % 3) < 0.5,
            "word": f"w{i}",
            "number": i,
            "clip": [RNG.integers(0, 255, (4, 4 + (i + k) % 2, 3), np.uint8) for k in range(1 + i % 3)],
            "even": [RNG.integers(0, 255, (4, 5, 3), np.uint8) for _ in range(3)],
            "steps": [int(n) for n in RNG.integers(0, 9, i % 3)],
            "volume": RNG.integers(0, 65535, (3, 4, 4, 2), np.uint16),
        })  # fmt: skip
    made.commit()
    return made


def samples_of(ds: Any, name: str) -> list[Any]:
    return [row[name] for row in (ds[i] for i in range(ROWS))]


def whole(items: list[Any], value: Any) -> tuple[np.ndarray, list[int]]:
    """Returns a sequence as one array, and its sizes."""
    items = [np.asarray(item) for item in items]
    if not items:
        return np.zeros((0,), np.int64), [0]
    sizes = np.max([item.shape for item in items], axis=0) if items[0].ndim else []
    return padded(items, value, [int(n) for n in sizes]), [len(items), *(int(n) for n in sizes)]


def padded(arrays: list[np.ndarray], value: Any, shape: list[int]) -> np.ndarray:
    """Pads element by element."""
    out = np.full((len(arrays), *shape), value, arrays[0].dtype)
    for i, array in enumerate(arrays):
        for at in np.ndindex(array.shape):
            if all(a < n for a, n in zip(at, shape, strict=True)):
                out[(i, *at)] = array[at]
    return out


# tensor, padding, lengths of its axes after padding (None: of the largest)
PADDINGS = [
    ("boxes", "pad", 0, ()),
    ("boxes", deeplake.pad(np.nan), np.nan, ()),
    ("boxes", deeplake.pad(0.25, length=5), 0.25, (5,)),
    ("boxes", deeplake.pad(7, length=2, truncate=True), 7, (2,)),
    ("boxes", deeplake.pad(7, length=(None, 3), truncate=True), 7, (None, 3)),
    ("labels", deeplake.pad(-1), -1, ()),
    ("labels", deeplake.pad(np.int8(-100), length=3), -100, (3,)),
    ("labels", deeplake.pad(2.0), 2, ()),
    ("labels", deeplake.pad(2**62 + 1, length=[1], truncate=True), 2**62 + 1, (1,)),
    ("flags", deeplake.pad(True), True, ()),
    ("images", deeplake.pad(114), 114, ()),
    ("images", deeplake.pad(114, length=(8, 8, 3)), 114, (8, 8, 3)),
    ("images", deeplake.pad(255, length=(6, 9), truncate=True), 255, (6, 9)),
    ("images", deeplake.pad(1, length=(3, 2, 1), truncate=True), 1, (3, 2, 1)),
    ("clip", "pad", 0, ()),
    ("clip", deeplake.pad(9), 9, ()),
    ("clip", deeplake.pad(9, length=4), 9, (4,)),
    ("clip", deeplake.pad(9, length=(2, 3, 7), truncate=True), 9, (2, 3, 7)),
    ("even", deeplake.pad(3), 3, ()),
    ("steps", deeplake.pad(-1), -1, ()),
    ("steps", deeplake.pad(-1, length=4), -1, (4,)),
    ("steps", deeplake.pad(-1, length=1, truncate=True), -1, (1,)),
]


@pytest.mark.parametrize("host", ["batches", "pytorch"])
@pytest.mark.parametrize("transform", [None, "callable"])
@pytest.mark.parametrize(("name", "form", "value", "lengths"), PADDINGS, ids=repr)
def test_padding(ds: Any, host: str, transform: Any, name: str, form: Any, value: Any, lengths: Any) -> None:
    if transform and name == "steps":
        pytest.skip("an empty list of a callable has no dtype")
    found = samples_of(ds, name)
    if ds[name].htype.startswith("sequence"):
        arrays, sizes = zip(*(whole(items, value) for items in found), strict=True)
    else:
        arrays = [np.asarray(sample) for sample in found]
        sizes = [array.shape for array in arrays]
    given = {name: identity} if transform else None
    for start, batch in zip(
        range(0, ROWS, 4), getattr(ds, host)(4, tensors=[name], collate={name: form}, transform=given), strict=True
    ):
        part, shapes = list(arrays[start : start + 4]), sizes[start : start + 4]
        axes = max(len(shape) for shape in shapes)
        shapes = [[*shape, *[0] * (axes - len(shape))] for shape in shapes]
        shape = [int(n) for n in np.max(shapes, axis=0)]
        for axis, length in enumerate(lengths):
            shape[axis] = length or shape[axis]
        dtype = next((a.dtype for a in part if a.ndim == axes), part[0].dtype)
        part = [a if a.ndim == axes else np.zeros([0] * axes, dtype) for a in part]
        np.testing.assert_array_equal(np.asarray(batch[name]), padded(part, value, shape))
        assert np.asarray(batch[name]).dtype == dtype
        told = np.asarray(batch[f"{name}_shape"])
        assert told.dtype == np.int64 and told.tolist() == np.minimum(shapes, shape).tolist()
        assert list(batch) == [name, f"{name}_shape"]


@pytest.mark.parametrize("host", ["batches", "pytorch"])
@pytest.mark.parametrize(
    "python",
    [
        {},
        {"transform": {"even": identity, "labels": identity}},
        {"transform": {"labels": identity}, "python_workers": 2},
    ],
)
def test_each_tensor_has_its_form(ds: Any, host: str, python: Any) -> None:
    """Clips become (batch, time, height, width, channels); what is not named takes the default."""
    names = ["even", "volume", "labels", "boxes", "number", "word"]
    forms = {"even": "stack", "volume": "stack", "labels": deeplake.pad(-1), "boxes": "list"}
    loader = getattr(ds, host)(4, tensors=names, collate=forms, **python)
    batch = next(iter(loader))
    assert np.asarray(batch["even"]).shape == (4, 3, 4, 5, 3) and np.asarray(batch["volume"]).shape == (4, 3, 4, 4, 2)
    np.testing.assert_array_equal(np.asarray(batch["even"])[2, 1], samples_of(ds, "even")[2][1])
    np.testing.assert_array_equal(np.asarray(batch["volume"])[3], samples_of(ds, "volume")[3])
    assert [len(boxes) for boxes in batch["boxes"]] == [0, 1, 2, 3]
    assert np.asarray(batch["labels"])[1].tolist()[1:] == [-1, -1]
    assert np.asarray(batch["number"]).tolist() == [0, 1, 2, 3] and list(batch["word"]) == ["w0", "w1", "w2", "w3"]
    assert set(batch) == {*names, "labels_shape"}


def test_without_a_name_a_sequence_stays_a_list(ds: Any) -> None:
    for collate in ("stack", "pad", {"even": "list"}, deeplake.pad(3)):
        batch = next(iter(ds.batches(4, tensors=["even"], collate=collate)))
        assert isinstance(batch["even"], list) and len(batch["even"][0]) == 3 and list(batch) == ["even"]


def test_one_padding_for_all(ds: Any) -> None:
    batch = next(iter(ds.batches(4, tensors=["labels", "boxes", "word", "number"], collate=deeplake.pad(-1))))
    assert batch["labels"][0].tolist() == [-1] * 3 and batch["boxes"][0].tolist() == [[-1] * 4] * 3
    assert batch["number"].shape == (4,) and list(batch) == [
        "labels",
        "labels_shape",
        "boxes",
        "boxes_shape",
        "word",
        "number",
    ]


def test_columns_of_a_row_callable(ds: Any) -> None:
    loader = ds.batches(4, tensors=["labels"], transform=ids, collate={"ids": deeplake.pad(0)})
    assert next(iter(loader))["ids"].shape == (4, 3)
    wrong = ds.batches(4, tensors=["labels"], transform=ids, collate={"idz": "list"})
    with pytest.raises(deeplake.InvalidArgumentError, match=r'"idz".*did you mean "ids"'):
        next(iter(wrong))


def test_mixtures_ranks_skips_and_pickles(ds: Any) -> None:
    forms = {"labels": deeplake.pad(-1, length=4), "even": "stack"}
    mixed = deeplake.mix([ds[:3], ds[3:]], mode="sequential").batches(7, tensors=["labels", "even"], collate=forms)
    plain = ds.batches(7, tensors=["labels", "even"], collate=forms)
    skipping = pickle.loads(pickle.dumps(ds.pytorch(7, tensors=["labels", "even"], collate=forms, on_error="skip")))
    want = next(iter(plain))
    for loader in (mixed, skipping):
        batch = next(iter(loader))
        assert list(batch) == list(want)
        for name, array in want.items():
            np.testing.assert_array_equal(np.asarray(batch[name]), array)


def test_tensorflow_and_jax(ds: Any) -> None:
    pytest.importorskip("tensorflow")
    forms = {"labels": deeplake.pad(-1, length=4), "even": "stack", "boxes": "pad"}
    names = ["labels", "even", "boxes", "number"]
    want = next(iter(ds.batches(4, tensors=names, collate=forms)))
    data = ds.tensorflow(4, tensors=names, collate=forms)
    assert data.element_spec["labels"].shape.as_list() == [None, 4]
    assert data.element_spec["even"].shape.as_list()[:2] == [None, None]
    batches = [
        next(iter(data)),
        next(iter(ds.tensorflow(4, tensors=names, collate=forms, transform={"labels": identity}))),
    ]
    pytest.importorskip("jax")
    batches.append(next(iter(ds.jax(4, tensors=names, collate=forms))))
    for batch in batches:
        for name, array in want.items():
            np.testing.assert_array_equal(np.asarray(batch[name]), array)


# collate, the parts of the message
REFUSED = [
    ({"lables": "pad"}, ('"lables"', 'did you mean "labels"')),
    ({"labels": "pat"}, ('"labels"', "'pat'", '"stack", "pad", "list"', 'did you mean "pad"')),
    ("stak", ('did you mean "stack"',)),
    ({"labels": 3}, ("3", "deeplake.pad(...)")),
    ({"labels": deeplake.pad}, ("write deeplake.pad(...)",)),
    ({"labels": len}, ("transform", "whole batch")),
    (None, ("None",)),
    ({"word": "pad"}, ('"word"', "string", "leave it out of collate")),
    ({"images": deeplake.pad(-1)}, ('"images"', "uint8", "-1")),
    ({"labels": deeplake.pad(0.5)}, ('"labels"', "int64", "0.5")),
    ({"labels": deeplake.pad(float("nan"))}, ('"labels"', "int64", "nan")),
    ({"labels": deeplake.pad(2**63)}, ('"labels"', "int64", str(2**63))),
    ({"flags": deeplake.pad(2)}, ('"flags"', "bool", "2")),
    ({"labels": deeplake.pad(0, length=2)}, ('"labels"', "row 3", "(3,)", "2", "truncate=True")),
    ({"labels": deeplake.pad(0, length=(2, 2))}, ('"labels"', "2 axes")),
    ({"number": deeplake.pad(0, length=2)}, ('"number"', "axes")),
    ({"clip": "stack"}, ('"clip"', "row 0 has 1 items", '"pad" or "list"')),
    ({"clip": deeplake.pad(0, length=2)}, ('"clip"', "row 2", "3 items", "truncate=True")),
]


@pytest.mark.parametrize(("collate", "words"), REFUSED, ids=range(len(REFUSED)))
def test_refused(ds: Any, collate: Any, words: tuple[str, ...]) -> None:
    names = list(collate) if isinstance(collate, dict) and "lables" not in collate else ["labels"]
    with pytest.raises(deeplake.Error) as caught:
        list(ds.batches(4, tensors=names, collate=collate))
    assert all(word in str(caught.value) for word in words), str(caught.value)
    if isinstance(collate, dict) and names != ["word"] and "lables" not in collate:
        with pytest.raises(deeplake.Error, match=names[0]):
            list(ds.pytorch(4, tensors=names, collate=collate, transform={names[0]: identity}))


@pytest.mark.parametrize(
    "arguments", [{"value": "a"}, {"length": 0}, {"length": True}, {"length": (1, "b")}, {"truncate": True}, {"truncate": 1}, {"lenght": 3}], ids=repr
)  # fmt: skip
def test_wrong_paddings(arguments: Any) -> None:
    with pytest.raises(deeplake.InvalidArgumentError, match="pad"):
        deeplake.pad(**arguments)
