"""The first samples that people append: they are stored as meant, or the error has the way out."""

from __future__ import annotations

import io
from pathlib import Path

import deeplake
import numpy as np
import pytest
from PIL import Image

PICTURE = Image.new("RGB", (50, 40))


def jpeg() -> bytes:
    file = io.BytesIO()
    PICTURE.save(file, "JPEG")
    return file.getvalue()


def chw(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.uint8)


READ = r"deeplake\.read\(path\)"
ORDER = r"a picture is \(height, width, channels\); use permute\(1, 2, 0\) of torch or transpose"
MANY = r'a picture is \(height, width, channels\), and a tensor for more than 4 has compression="zstd"'


@pytest.mark.parametrize(
    ("htype", "compression", "sample", "want"),
    [
        ("image", None, "a.jpg", READ),
        ("image", "jpeg", Path("a.jpg"), READ),
        ("image", None, jpeg(), r"deeplake\.read\(bytes\)"),
        ("image", None, PICTURE, (40, 50, 3)),
        ("image", None, deeplake.read(jpeg()), (40, 50, 3)),
        ("segment_mask", None, "a.png", READ),
        ("binary_mask", None, "a.png", READ),
        ("instance_label", None, Path("a.png"), READ),
        ("binary_mask", None, b"\x89PNG", r"deeplake\.read\(bytes\)"),
        ("text", None, Path("a.txt"), r"path\.read_text\(\)"),
        ("text", None, b"text", r"bytes\.decode\(\)"),
        ("embedding", None, Path("a.npy"), r"is a path; "),
        ("image", None, chw(3, 40, 50), ORDER),
        ("image", "jpeg", chw(3, 40, 50), ORDER),
        ("image", "png", chw(1, 40, 50), ORDER),
        ("image", "webp", chw(3, 40, 50), ORDER),
        ("image.rgb", None, chw(3, 40, 50), ORDER),
        ("image.gray", "jpeg", chw(1, 40, 50), ORDER),
        ("image", None, chw(40, 50, 3), (40, 50, 3)),
        ("image", None, chw(40, 50), (40, 50, 1)),
        ("image", None, chw(3, 4, 3), (3, 4, 3)),
        ("image", "jpeg", chw(3, 3, 3), (3, 3, 3)),
        ("image", None, chw(40, 50, 50), (40, 50, 50)),  # of many bands, stored without a codec
        ("image", "zstd", chw(40, 50, 50), (40, 50, 50)),
        ("image", "jpeg", chw(40, 50, 50), MANY),
        ("image", "png", chw(40, 50, 5), MANY),
        ("image", "jpeg", chw(40, 50, 4), "use png or no compression"),
        ("image", None, chw(10, 3, 40, 50), "extend takes a batch of pictures"),
        ("image.rgb", "jpeg", chw(10, 40, 50, 3), "extend takes a batch of pictures"),
        ("sequence[image]", None, PICTURE, r"is one picture, want a list of pictures: \[picture\]"),
        ("sequence[image]", None, [PICTURE], [(40, 50, 3)]),
    ],
    ids=lambda value: value.__class__.__name__ if not isinstance(value, str) else value[:16],
)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_first_samples(htype, compression, sample, want, library):
    if library == "torch":
        if not isinstance(sample, np.ndarray):
            pytest.skip("the same sample")
        sample = pytest.importorskip("torch").from_numpy(sample)
    ds = deeplake.create("mem://first", overwrite=True)
    ds.create_tensor("x", htype, compression=compression)
    ds.commit()
    if isinstance(want, str):
        with pytest.raises(deeplake.TensorTypeError, match=want):
            ds.append({"x": sample})
        assert not ds.dirty or len(ds) == 0
    else:
        ds.append({"x": sample})
        got = ds["x"][0]
        assert ([item.shape for item in got] if isinstance(want, list) else got.shape) == want
    ds.discard()


@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        ([["cat", "dog"]], [[1, 0]]),
        ([("cat", "cat"), [], None, ["bird"]], [[1, 1], [], None, [2]]),
        ([np.array(["bird", "dog"])], [[2, 0]]),
        ([None, [], ["dog"]], [None, [], [0]]),
        ([["cat"], "dog"], [[1], [0]]),
        ([[1, 0], [0]], [[1, 0], [0]]),
        (["cat", "dog"], [1, 0]),
        (np.array(["cat", "dog"]), [1, 0]),
    ],
)
@pytest.mark.parametrize("how", ["extend", "append", "update", "view"])
def test_lists_of_class_names(column, numbers, how):
    schema = {"label": {"htype": "class_label", "class_names": ["dog", "cat"], "add_classes": True}}
    with deeplake.create("mem://names", overwrite=True, schema=schema) as ds:
        if how == "append":
            for row in column:
                ds.append({"label": row})
            # One row alone is a label without axes, where a column of lists has one axis.
            numbers = [n[0] if type(row) is str and n == [0] else n for row, n in zip(column, numbers, strict=True)]
        elif how == "extend":
            ds.extend({"label": column})
        else:
            if any(row is None for row in column):
                pytest.skip("an update cannot make a hole")
            ds.extend({"label": [0 if isinstance(row, str) else [0] for row in column]})
            ds.update(slice(None) if how == "update" else ds[:], {"label": column})
        assert [None if row is None else row.tolist() for row in ds["label"]] == numbers
        assert ds["label"].class_names == ["dog", "cat", "bird"][: 3 if "bird" in str(column) else 2]
        ds.discard()


def test_names_beside_numbers():
    with deeplake.create("mem://both", overwrite=True, schema={"label": "class_label"}) as ds:
        for column in ([["cat", 1]], [["cat"], [1]], [["cat"], 1]):
            with pytest.raises(deeplake.TensorTypeError, match=r"beside lists of class names, want a list of names"):
                ds.extend({"label": column})
        with pytest.raises(deeplake.TensorTypeError, match="a list of texts suits htype class_label or tag"):
            ds.create_tensor("x", dtype="int64")
            ds.append({"label": None, "x": ["a", "b"]})
        ds.discard()


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("how", ["append", "extend", "update"])
def test_names_behind_empty_lists(tmp_path, how, committed):
    """A picture without objects comes first: its labels are an empty list."""
    with deeplake.create(tmp_path / "ds", schema={"label": "class_label"}) as ds:
        ds.extend({"label": [[], []]})
        if committed:
            ds.commit()
            ds.close()
            ds = deeplake.open(tmp_path / "ds")
        match how:
            case "append":
                ds.append({"label": ["cat", "dog"]})
            case "extend":
                ds.extend({"label": [["cat"], ["dog", "cat"]]})
            case "update":
                ds.update([1], {"label": [["dog"]]})
        ds.append({"label": []})
        assert ds["label"].class_names == (["dog"] if how == "update" else ["cat", "dog"])
        ds.commit()


@pytest.mark.parametrize("committed", [False, True])
def test_names_behind_numbers(tmp_path, committed):
    with deeplake.create(tmp_path / "ds", schema={"label": "class_label"}) as ds:
        ds.append({"label": []})
        ds.append({"label": [3]})
        if committed:
            ds.commit()
        with pytest.raises(deeplake.TensorTypeError, match="labels by number and no names"):
            ds.append({"label": ["cat"]})
        ds.append({"label": [0]})
        ds.commit()
