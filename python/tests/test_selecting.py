"""Rows through views, one sample for many rows, indices within samples, names, comparisons, splits."""

from __future__ import annotations

import io
import operator
import pickle

import deeplake
import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def ds(place):
    schema = {
        "x": {"dtype": "int64"},
        "v": {"dtype": "float32"},
        "label": "class_label",
        "text": "text",
        "meta": "json",
        "clip": "sequence[image]",
        "image": "image",
        "g/a": {"dtype": "int64"},
    }
    with deeplake.create(place, schema=schema) as ds:
        ds.extend(
            {
                "x": np.arange(6),
                "v": np.arange(24, dtype=np.float32).reshape(6, 4),
                "label": ["cat", "dog"] * 3,
                "text": [f"t{i}" for i in range(6)],
                "meta": [{"a": [i, {"b": i}]} for i in range(6)],
                "clip": [[np.full((2, 3, 3), 10 * i + k, np.uint8) for k in range(3)] for i in range(6)],
                "image": [np.full((2 + i, 3, 3), i, np.uint8) for i in range(6)],
                "g/a": np.arange(6),
            }
        )
        ds.commit()
        yield ds
        ds.discard()


# --- rows through views ---


@pytest.mark.parametrize("seed", range(4))
def test_changes_through_views_reach_their_rows(place, seed):
    """A list of dicts is the oracle: views of any age, of two handles, changed in any order."""
    rng = np.random.default_rng(seed)
    mine = deeplake.create(place, schema={"id": {"dtype": "int64"}, "y": {"dtype": "int64"}})
    rows: list[dict[str, int]] = []
    committed: list[dict[str, int]] = []
    views: list[tuple[deeplake.View, list[int]]] = []
    serial = 0
    for step in range(60):
        action = rng.choice(["append", "view", "update", "delete", "commit", "discard", "other"])
        if action == "append":
            new = [{"id": serial + i, "y": step} for i in range(int(rng.integers(1, 6)))]
            serial += len(new)
            mine.extend(new)
            rows += new
        elif action == "view" and rows:
            at = rng.integers(0, len(rows), int(rng.integers(1, 4)))
            view = mine[at] if rng.random() < 0.6 else mine.query("SELECT y WHERE ROW_NUMBER() IN ?", at)
            views.append((view, [rows[row]["id"] for row in view.rows]))
        elif action in ("update", "delete") and views:
            view, ids = views[int(rng.integers(len(views)))]
            here = {row["id"] for row in rows}
            known = here | {row["id"] for row in committed}
            try:
                if action == "update":
                    mine.update(view, {"y": -step})
                else:
                    mine.delete(view)
            except deeplake.Error:
                assert not set(ids) <= (here if action == "update" else known)
            else:
                for row in [row for row in rows if row["id"] in ids]:
                    if action == "update":
                        row["y"] = -step
                    else:
                        rows.remove(row)
        elif action == "commit":
            mine.commit()
            committed = [dict(row) for row in rows]
        elif action == "discard":
            mine.discard()
            rows = [dict(row) for row in committed]
        elif action == "other" and not mine.dirty and rows:
            with deeplake.open(mine.uri) as other:
                other.delete(0)
                other.append({"id": serial, "y": step})
                other.commit()
            mine.refresh()
            rows = [*rows[1:], {"id": serial, "y": step}]
            committed, serial = [dict(row) for row in rows], serial + 1
        assert mine["id"][:].tolist() == [row["id"] for row in rows]
        assert mine["y"][:].tolist() == [row["y"] for row in rows]
    mine.discard()
    mine.close()


def test_views_that_are_refused(ds):
    ds.append(dict.fromkeys(ds.tensors))
    lost = ds[-1:]
    ds.discard()
    for view in (lost, deeplake.create("mem://another", overwrite=True, schema={"x": "generic"})):
        with pytest.raises(deeplake.InvalidArgumentError, match=r"make the view again|another one"):
            ds.delete(view)
    with pytest.raises(deeplake.UnsupportedError, match="joined, grouped or computed"):
        ds.delete(ds.query("SELECT label, COUNT(*) AS n GROUP BY label"))
    first = ds[:2]
    ds.delete(0)
    with pytest.raises(deeplake.OutOfRangeError, match="row 0 of the view, row 0 of its version, was deleted since"):
        ds.update(first, {"x": 1})
    ds.delete(first)
    assert ds["x"][:].tolist() == [2, 3, 4, 5]
    with pytest.raises(deeplake.InvalidArgumentError, match="there are 1 values for 2 rows"):
        ds.update(ds[:2], {"x": [7]})
    with pytest.raises(deeplake.ReadOnlyError):
        ds.at(1).delete(first)
    ds.delete(ds)
    assert len(ds) == 0


def test_views_of_versions_saved_and_pickled(tmp_path):
    with deeplake.create(tmp_path / "ds", schema={"x": {"dtype": "int64"}}) as ds:
        ds.extend({"x": range(5)})
        first = ds.commit()
        ds.query("SELECT * WHERE x = 3").save("three")
        ds.delete([0, 1])
        ds.commit()
        ds.update(ds.at(first)[2:3], {"x": 20})
        ds.update(ds.load_view("three"), {"x": 30})
        ds.update(pickle.loads(pickle.dumps(ds.at(first)[-1:])), {"x": 40})
        assert ds["x"][:].tolist() == [20, 30, 40]
        ds.commit()


# --- one sample for many rows ---


@pytest.mark.parametrize(
    ("tensor", "value", "want"),
    [
        ("x", 5, [5, 5, 5]),
        ("x", np.int32(5), [5, 5, 5]),
        ("x", np.array(5), [5, 5, 5]),
        ("x", [7, 8, 9], [7, 8, 9]),
        ("x", range(3), [0, 1, 2]),
        ("label", "dog", [1, 1, 1]),
        ("label", 0, [0, 0, 0]),
        ("label", ["dog", "cat", "dog"], [1, 0, 1]),
        ("text", "new", ["new"] * 3),
        ("meta", {"k": 1}, [{"k": 1}] * 3),
        ("meta", [1, "a", None], [1, "a", None]),
        ("meta", 5, [5, 5, 5]),
        ("v", [None, None, None], [None] * 3),
        ("x", [None, None, None], [None] * 3),
        ("image", [None, None, None], [None] * 3),
        ("text", None, [None] * 3),
        ("v", 1, [[1, 1, 1, 1]] * 3),
        ("v", [1, 2, 3, 4], [[1, 2, 3, 4]] * 3),
        ("v", np.float64(0.5), [[0.5] * 4] * 3),
        ("v", [9], [[9]] * 3),
        ("v", [1, 2, 3], [[1, 2, 3]] * 3),
        ("v", [[1, 2, 3, 4], [0, 0, 0, 0], [5, 6, 7, 8]], [[1, 2, 3, 4], [0, 0, 0, 0], [5, 6, 7, 8]]),
        ("image", 0, None),
        ("x", [5], None),
        ("x", [1, 2], None),
    ],
)
def test_one_sample_for_many_rows(ds, tensor, value, want):
    """Through a slice, a list, `update` by rows and by a view; None: an error that changes nothing."""
    before = ds[tensor][:]
    for write in (
        lambda new: operator.setitem(ds[tensor], slice(0, 3), new),
        lambda new: operator.setitem(ds[tensor], [0, 1, 2], new),
        lambda new: ds.update(np.arange(6) < 3, {tensor: new}),
        lambda new: ds.update(ds[:3], {tensor: new}),
    ):
        if want is None:
            with pytest.raises(deeplake.Error):
                write(value)
            continue
        write(value)
        got = ds[tensor][:3]
        assert [value.tolist() if isinstance(value, np.ndarray) else value for value in got] == want
        assert [*map(str, ds[tensor][3:])] == [*map(str, before[3:])]
        ds.discard()


def test_pictures_and_files_for_many_rows(ds):
    picture = np.full((4, 5, 3), 9, np.uint8)
    ds["image"][0:2] = picture
    assert [image.shape for image in ds["image"][:3]] == [(4, 5, 3), (4, 5, 3), (4, 3, 3)]
    ds["image"][:] = [np.zeros((i + 1, 5, 3), np.uint8) for i in range(6)]
    assert [len(image) for image in ds["image"][:]] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(deeplake.TensorTypeError, match="the value has 0 axes and samples have 3"):
        ds["image"][0:2] = 0
    with pytest.raises(deeplake.InvalidArgumentError, match="within a sample is for reading"):
        ds["v"][0, 1] = 5


# --- indices within samples ---


def test_indices_within_samples(ds):
    assert ds["clip"][1, 2].tolist() == np.full((2, 3, 3), 12).tolist()
    assert ds["clip"][1, 2, 0, 0].tolist() == [12] * 3 and ds["clip"][1, -1, 0, 0, 0] == 12
    assert [frame.shape for frame in ds["clip"][1, 1:, 0]] == [(3, 3)] * 2
    assert [frame[0, 0, 0] for frame in ds["clip"][0:3, 1]] == [1, 11, 21]
    assert ds["v"][2, 1] == 9 and ds["v"][:, 1].tolist() == [1, 5, 9, 13, 17, 21]
    assert ds["v"][...].shape == (6, 4) and ds["v"][..., 0].shape == (6,)
    assert ds["meta"][3, "a", 1, "b"] == 3 and ds["text"][2, :1] == "t"
    assert ds["image"][2, 0, 0].tolist() == [2, 2, 2]
    ds.append({**dict.fromkeys(ds.tensors), "x": 1})
    assert ds["v"][-1, 0] is None and ds["clip"][-1, 0] is None


@pytest.mark.parametrize(
    ("tensor", "index", "error"),
    [
        ("v", (0, 4), deeplake.OutOfRangeError),
        ("v", (0, 0, 0), deeplake.OutOfRangeError),
        ("v", (9, 0), deeplake.OutOfRangeError),
        ("v", (0, "a"), deeplake.OutOfRangeError),
        ("clip", (0, 3), deeplake.OutOfRangeError),
        ("clip", (0, "a"), deeplake.InvalidArgumentError),
        ("meta", (0, "none"), deeplake.OutOfRangeError),
        ("meta", (0, "a", 0, 1), deeplake.InvalidArgumentError),
    ],
)
def test_indices_that_do_not_exist(ds, tensor, index, error):
    with pytest.raises(error):
        ds[tensor][index]


def test_arrays_of_numpy(ds):
    assert np.asarray(ds["v"]).shape == (6, 4) and np.mean(ds["x"]) == 2.5
    assert np.asarray(ds["x"], np.float32).dtype == np.float32
    images = np.asarray(ds["image"])
    assert images.dtype == object and [image.shape[0] for image in images] == [2, 3, 4, 5, 6, 7]
    assert np.asarray(ds["text"]).tolist() == [f"t{i}" for i in range(6)]
    assert np.asarray(ds["meta"])[1] == {"a": [1, {"b": 1}]}
    with pytest.raises(ValueError, match="copy"):
        np.array(ds["x"], copy=False)


# --- names and comparisons ---


def test_a_list_of_names_selects_tensors(ds):
    part = ds[["x", "g"]]
    assert list(part.tensors) == ["x", "g/a"] and len(part) == 6 and part.rows.tolist() == list(range(6))
    assert ds[2:4][np.array(["text"])][0]["text"] == "t2"
    assert list(next(iter(ds[["label", "x"]][::2].batches(2)))) == ["label", "x"]
    assert part["g"]["a"][:].tolist() == list(range(6)) and ds[["label"]]["label"].class_names == ["cat", "dog"]
    ds.update(ds[["x"]][1:2], {"text": "by a part"})
    assert ds[["text"]][1]["text"] == "by a part"
    for wrong, error in (
        (["nope"], "there is no tensor"),
        (["x", 1], "want names alone"),
        (["x", "x"], "named twice"),
        (["g", "g/a"], "named twice"),
        (("x", "v"), r"want a list: ds\[\['x', 'v'\]\]"),
        ((0, 1), "within a sample of one tensor"),
    ):
        with pytest.raises(deeplake.Error, match=error):
            ds[wrong]
    with pytest.raises(deeplake.InvalidArgumentError, match=r'got a View; its rows are view\["name"\]\[:\]'):
        ds["x"][ds[:2]]


@pytest.mark.parametrize("sign", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_name_query_and_filter(ds, sign):
    with pytest.raises(TypeError, match=r'WHERE x [=!<>]+ 5"\) or ds.filter\(lambda row: row\["x"\] [=!<>]+ 5\)'):
        getattr(operator, sign)(ds["x"], 5)
    with pytest.raises(deeplake.TensorTypeError):
        getattr(operator, sign)(ds["x"], ds["v"])
    assert len({ds["x"], ds["v"]}) == 2 and ds["x"] in [ds["x"]]


# --- splits ---


def test_split_by_counts_and_names():
    ds = deeplake.create("mem://split", overwrite=True, schema={"x": {"dtype": "int64"}})
    ds.extend({"x": range(100)})
    ds.commit()
    train, test = ds.split([70, 20], seed=3)
    assert len(train) == 70 and len(test) == 20 and not {*train.rows} & {*test.rows}
    named = ds.split({"train": 70, "test": 20}, seed=3)
    assert list(named) == ["train", "test"] and named["train"].rows.tolist() == train.rows.tolist()
    fractions = ds.split({"a": 0.7, "b": 0.2}, seed=3)
    assert fractions["b"].rows.tolist() == test.rows.tolist()
    assert [len(view) for view in ds.split([1])] == [100] and [len(v) for v in ds.split(np.array([30, 30]))] == [30, 30]
    assert ds.split([2, 3], seed=None)[1].rows.tolist() == [2, 3, 4]
    for wrong in ([60, 60], [0, 5], [], {}, {"a": -1}, [0.5, 5], [True, True], ["a"]):
        with pytest.raises(deeplake.Error, match="split"):
            ds.split(wrong)


@pytest.mark.parametrize("seed", range(12))
def test_stratified_parts_have_their_shares(seed):
    rng = np.random.default_rng(seed)
    length = int(rng.integers(1, 400))
    labels = [None if v == 4 else "abcd"[v] for v in rng.choice(5, length, p=[0.7, 0.2, 0.06, 0.02, 0.02])]
    ds = deeplake.create("mem://strata", overwrite=True, schema={"label": "class_label", "word": "text"})
    ds.extend({"label": labels, "word": labels})
    ds.commit()
    shares = [0.6, 0.25, 0.1]
    parts = ds.split(shares, seed=seed, stratify="label")
    plain = ds.split(shares, seed=seed)
    assert [len(part) for part in parts] == [len(part) for part in plain], "strata leave the sizes as they are"
    rows = np.concatenate([part.rows for part in parts])
    assert len(set(rows.tolist())) == len(rows)
    for value in "abcd":
        total = labels.count(value)
        for part in parts:
            got = sum(labels[row] == value for row in part.rows)
            assert abs(got - total * len(part) / length) < 2
    again = ds.split(dict(zip("xyz", shares, strict=True)), seed=seed, stratify="word")
    assert [part.rows.tolist() for part in again.values()] == [part.rows.tolist() for part in parts]
    if length > 20:
        other = ds.split(shares, seed=seed + 1, stratify="label")
        assert other[0].rows.tolist() != parts[0].rows.tolist()


def test_strata_of_other_values(ds):
    for name in ("v", "meta", "image", "clip"):
        with pytest.raises(deeplake.TensorTypeError, match="want class labels, integers, bools or text"):
            ds.split([0.5, 0.5], stratify=name)
    with pytest.raises(deeplake.NotFoundError, match='did you mean "label"'):
        ds.split([0.5, 0.5], stratify="labels")
    assert [len(part) for part in ds.split([0.5, 0.5], stratify="x")] == [3, 3]


def test_tensors_as_columns(place):
    """A tensor of another dataset is a column: of every dtype, ragged, with holes."""
    schema = {
        "x": {"dtype": "int64"},
        "t": "text",
        "im": "image",
        "s": "sequence[image]",
        "j": "json",
        "d": {"dtype": "timestamp[us]"},
        "b": {"dtype": "bytes"},
        "label": "class_label",
    }
    other = deeplake.create("mem://columns", overwrite=True, schema=schema)
    other.extend(
        {
            "x": [1, None, 3],
            "t": ["a", None, "c"],
            "im": [np.zeros((2 + i, 3, 3), np.uint8) for i in range(3)],
            "s": [[np.zeros((2, 2, 3), np.uint8)] * i for i in range(3)],
            "j": [{"a": 1}, None, "x"],
            "d": np.array(["2020", "2021", "2022"], "M8[us]"),
            "b": [b"1", b"", None],
            "label": [0, 1, None],
        }
    )
    other.commit()
    with deeplake.create(place, schema=schema) as ds:
        ds.extend(other.tensors)
        ds.update(slice(0, 1), {"x": other["x"][2:], "t": other[2:]["t"]})
        for name in schema:
            assert str(ds[name][1:]) == str(other[name][1:])
        assert ds["x"][0] == 3 and ds["t"][0] == "c"
        ds.commit()


def test_files_stay_files_when_many_rows_are_updated():
    def file(seed, side):
        made = io.BytesIO()
        pixels = np.random.default_rng(seed).integers(0, 255, (side, side, 3), np.uint8)
        Image.fromarray(pixels).save(made, "JPEG", quality=30)
        return made.getvalue()

    files = [file(seed, side) for seed, side in ((0, 32), (1, 32), (2, 24))]
    ds = deeplake.create("mem://files", overwrite=True, schema={"im": {"htype": "image", "compression": "jpeg"}})
    ds.extend({"im": [deeplake.read(files[0])] * 3})
    ds.update([0, 1], {"im": [deeplake.read(files[1]), deeplake.read(files[0])]})
    assert ds["im"].bytes([0, 1]) == [files[1], files[0]]
    ds["im"][1:3] = deeplake.read(files[2])
    assert ds["im"].bytes([1, 2]) == [files[2]] * 2
    ds.update(ds[:2], {"im": [deeplake.read(files[2]), deeplake.read(files[1])]})
    assert ds["im"].bytes([0, 1, 2]) == [files[2], files[1], files[2]]
    ds["im"][:] = [Image.open(io.BytesIO(one)) for one in files]
    assert [sample.shape[0] for sample in ds["im"][:]] == [32, 32, 24]
