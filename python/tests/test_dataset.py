"""Datasets: creation, writes, versions and descriptions."""

from __future__ import annotations

import datetime
import gc
import re
import subprocess
import sys
import warnings

import deeplake
import numpy as np
import pytest


def test_create_open_exists_delete(tmp_path):
    uri = tmp_path / "set"
    assert not deeplake.exists(uri)
    with deeplake.create(uri) as ds:
        assert (len(ds), ds.branch, ds.read_only, ds.dirty, dict(ds.info)) == (0, "main", False, False, {})
    assert deeplake.exists(uri)
    with pytest.raises(deeplake.AlreadyExistsError, match="set"):
        deeplake.create(uri)
    deeplake.create(uri, overwrite=True).close()
    deeplake.delete(uri)
    assert not deeplake.exists(uri)
    with pytest.raises(deeplake.NotFoundError):
        deeplake.delete(uri)
    with pytest.raises(deeplake.NotFoundError):
        deeplake.open(uri)


def test_schema_makes_a_dataset_like_another(place, tmp_path):
    schema = {
        "images": {"htype": "image", "compression": "jpeg"},
        "labels": "class_label",
        "a/b": {"dtype": np.float32},
    }
    ds = deeplake.create(place, schema=schema)
    assert list(ds.tensors) == ["images", "labels", "a/b"]
    assert not ds.dirty
    again = deeplake.create(tmp_path / "again", schema=ds.schema)
    assert again.schema == ds.schema


def test_append_extend_update_delete(numbered):
    ds = numbered
    ds.append({"x": 10, "v": [10, 20], "word": "w10"})
    ds.extend([{"x": 11, "v": np.float32([11, 22]), "word": "w11"}, {"word": "w12", "x": 12, "v": (12.0, 24.0)}])
    assert len(ds) == 13
    assert ds["x"].numpy().tolist() == list(range(13))
    ds.update(-1, {"x": 100})
    ds.update([0, 1], {"x": [200, 201], "word": ["a", "b"]})
    ds["x"][2] = 202
    ds["x"][3:5] = np.array([203, 204])
    ds.delete(slice(5, 11))
    ds.delete(-2)
    assert ds["x"].numpy().tolist() == [200, 201, 202, 203, 204, 100]
    assert ds["word"].numpy() == ["a", "b", "w2", "w3", "w4", "w12"]
    ds.commit()
    assert deeplake.open(ds.uri)["x"].numpy().tolist() == [200, 201, 202, 203, 204, 100]


def test_extend_with_nothing(numbered):
    numbered.extend([])
    numbered.extend({"x": np.empty(0, np.int64), "v": np.empty((0, 2), np.float32), "word": []})
    assert len(numbered) == 10 and not numbered.dirty


def test_uncommitted_rows_are_seen_here_and_nowhere_else(numbered):
    numbered.append({"x": 10, "v": [0, 0], "word": "new"})
    assert numbered.dirty
    assert numbered[-1]["word"] == "new"
    assert len(deeplake.open(numbered.uri)) == 10
    numbered.discard()
    assert not numbered.dirty
    assert len(numbered) == 10
    assert numbered["word"][-1] == "w9"


def test_versions(numbered):
    ds = numbered
    first = ds.head
    ds.append({"x": 10, "v": [0, 0], "word": "w10"})
    second = ds.commit("one more")
    assert (second.message, second.rows, second.version) == ("one more", 11, first.version + 1)
    assert [c.id for c in ds.log()][:2] == [second.id, first.id]
    assert ds.log(1) == [second]
    assert second.time.tzinfo is not None
    assert abs(datetime.datetime.now(datetime.timezone.utc) - second.time) < datetime.timedelta(minutes=5)
    for ref in (first, first.id, first.id[:8], first.version, str(first.version), first.time):
        for old in (ds.at(ref), deeplake.open(ds.uri, at=ref)):
            assert (len(old), old.head.id, old.read_only) == (10, first.id, True)
    with pytest.raises(deeplake.ReadOnlyError):
        ds.at(first).append({"x": 1, "v": [0, 0], "word": ""})
    with pytest.raises(deeplake.NotFoundError):
        ds.at(99)


def test_commit_without_changes_makes_no_version(numbered):
    before = numbered.head
    assert numbered.commit("nothing") == before
    assert len(numbered.log()) == len(deeplake.open(numbered.uri).log())


def test_a_view_of_an_old_version_stays(numbered):
    view = numbered[:]
    numbered.update(0, {"x": 100})
    numbered.delete([5, 6])
    numbered.commit()
    assert view["x"].numpy().tolist() == list(range(10))
    assert numbered["x"].numpy().tolist() == [100, 1, 2, 3, 4, 7, 8, 9]


def test_refresh_sees_what_others_committed(numbered):
    other = deeplake.open(numbered.uri)
    other.append({"x": 10, "v": [0, 0], "word": "w10"})
    other.commit()
    assert len(numbered) == 10
    numbered.refresh()
    assert len(numbered) == 11


def test_two_writers_lose_nothing(numbered):
    other = deeplake.open(numbered.uri)
    numbered.append({"x": 100, "v": [0, 0], "word": "ours"})
    other.append({"x": 101, "v": [0, 0], "word": "theirs"})
    other.commit()
    numbered.commit()
    assert sorted(numbered["x"].numpy().tolist()[-2:]) == [100, 101]
    assert sorted(deeplake.open(numbered.uri)["x"].numpy().tolist()[-2:]) == [100, 101]


def test_a_conflict_says_where_and_keeps_what_was_written(numbered):
    other = deeplake.open(numbered.uri)
    numbered.update(3, {"x": 100})
    other.update(3, {"x": 101})
    other.commit()
    with pytest.raises(deeplake.ConflictError, match="x"):
        numbered.commit()
    assert numbered["x"][3] == 100
    numbered.discard()


def test_info(numbered):
    assert numbered.info == {}
    numbered.info = {"source": "us", "n": 3}
    assert numbered.dirty
    numbered.commit()
    assert deeplake.open(numbered.uri).info == {"source": "us", "n": 3}
    with pytest.raises(TypeError):
        numbered.info["n"] = 4  # type: ignore[index]  # which would change nothing


def test_create_tensor_again(numbered):
    assert numbered.create_tensor("x", dtype="int64", exist_ok=True).name == "x"
    with pytest.raises(deeplake.AlreadyExistsError):
        numbered.create_tensor("x")
    assert not numbered.dirty


@pytest.mark.parametrize(
    ("dtype", "name"),
    [("float32", "float32"), (np.float32, "float32"), (np.dtype(">i4"), "int32"), (int, "int64"), (str, "string"),
     (bytes, "bytes"), (bool, "bool"), (float, "float64"), (np.uint8, "uint8"), (complex, "complex128")],
)  # fmt: skip
def test_dtypes_by_any_name(place, dtype, name):
    assert deeplake.create(place).create_tensor("x", dtype=dtype).dtype == name


def test_dtypes_of_torch(place):
    torch = pytest.importorskip("torch")
    assert deeplake.create(place).create_tensor("x", dtype=torch.bfloat16).dtype == "bfloat16"


def test_a_tensor_added_later_has_holes(numbered):
    numbered.create_tensor("late", dtype="float64")
    numbered.append({"x": 10, "v": [0, 0], "word": "w10", "late": 1.5})
    assert numbered[0]["late"] is None
    assert numbered["late"].numpy() == [None] * 10 + [1.5]
    assert numbered["late"].bytes(0) is None
    assert numbered["late"][[0, 10]] == [None, 1.5]
    numbered.discard()


def test_closing(place):
    ds = deeplake.create(place, schema={"x": {"dtype": "int64"}})
    ds.append({"x": 1})
    ds.commit()
    view = ds[:]
    tensor = ds["x"]
    ds.close()
    ds.close()
    for use in (
        lambda: len(ds), lambda: ds[0], lambda: ds["x"].numpy(), lambda: ds.append({"x": 1}), lambda: ds.commit(),
        lambda: ds.log(), lambda: ds.batches(), lambda: ds.head, lambda: tensor.numpy(), lambda: ds.dirty,
        lambda: ds.at(1), lambda: ds.refresh(), lambda: ds.discard(), lambda: tensor.bytes(0), lambda: ds.tensors,
        lambda: list(ds), lambda: ds.create_tensor("y"),
    ):  # fmt: skip
        with pytest.raises(deeplake.ClosedError, match="closed"):
            use()
    assert "closed" in repr(ds) and ds._repr_html_() is None
    with pytest.raises(deeplake.ClosedError):
        view["x"].numpy()


def test_leaving_without_commit_warns(place):
    with (
        pytest.warns(UserWarning, match="uncommitted changes were dropped") as caught,
        deeplake.create(place, schema={"x": "generic"}) as ds,
    ):
        ds.append({"x": 1})
    assert caught[0].filename == __file__
    assert len(deeplake.open(place)) == 0


def test_leaving_after_commit_or_discard_does_not_warn(place):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with deeplake.create(place, schema={"x": "generic"}) as ds:
            ds.append({"x": 1})
            ds.commit()
        with deeplake.open(place) as ds:
            ds.append({"x": 2})
            ds.discard()


def test_the_exception_of_the_body_is_not_hidden(place):
    with (
        pytest.raises(ZeroDivisionError),
        pytest.warns(UserWarning),
        deeplake.create(place, schema={"x": "generic"}) as ds,
    ):
        ds.append({"x": 1})
        _ = 1 / 0


def test_reprs(numbered, tmp_path):
    text = repr(numbered)
    assert numbered.uri in text and "10 rows" in text and "version" in text
    assert [line.split()[0] for line in text.splitlines()[2:]] == ["x", "v", "word"]
    assert "uncommitted" not in text
    numbered.append({"x": 1, "v": [1, 1], "word": ""})
    assert "uncommitted changes" in repr(numbered)
    assert "no tensors yet" in repr(deeplake.create(tmp_path / "empty"))
    assert 'Tensor("v"' in repr(numbered["v"]) and "(2,)" in repr(numbered["v"])
    assert "Row(3: x, v, word)" in repr(numbered[3])
    assert "View of" in repr(numbered[2:4]) and "2 rows" in repr(numbered[2:4])
    assert repr(numbered.log()[0]).startswith("Commit(")
    numbered.discard()


def test_summary_prints_the_table(numbered, capsys):
    numbered.summary()
    assert capsys.readouterr().out == repr(numbered) + "\n"


def test_html_is_escaped(place):
    ds = deeplake.create(place)
    ds.create_tensor("<b>", dtype="int8")
    assert "&lt;b&gt;" in ds._repr_html_() and "<b>&" not in ds._repr_html_()
    ds.discard()


def test_groups(place):
    ds = deeplake.create(place)
    for name in ("left/image", "left/depth", "right/image", "x"):
        ds.create_tensor(name, dtype="uint8")
    ds.append({"left/image": 1, "left/depth": 2, "right/image": 3, "x": 4})
    group = ds["left"]
    assert isinstance(group, deeplake.Group)
    assert list(group) == ["image", "depth"] and len(group) == 2 and group.name == "left"
    assert group["depth"][0] == 2
    assert ds[:]["right"]["image"].name == "right/image"
    assert 'Group("left": image, depth)' in repr(group)
    with pytest.raises(deeplake.NotFoundError, match='did you mean "left/image"'):
        group["imag"]
    ds.discard()


def test_several_handles_in_threads(numbered):
    from concurrent.futures import ThreadPoolExecutor

    def work(k: int) -> list[int]:
        if k % 3 == 0:
            numbered.extend({"x": np.full(5, k), "v": np.zeros((5, 2), np.float32), "word": ["t"] * 5})
        return numbered["x"].numpy([0, 5]).tolist()

    with ThreadPoolExecutor(4) as pool:
        assert all(got == [0, 5] for got in pool.map(work, range(30)))
    assert len(numbered) == 60
    numbered.discard()


@pytest.mark.parametrize("wrong", [{"htype": "imge"}, {"dtyp": "int64"}, {"htype": "image", "compression": "lzma"}])
def test_a_wrong_schema_costs_nothing(tmp_path, wrong):
    place = tmp_path / "lake"
    with pytest.raises(deeplake.Error):
        deeplake.create(place, schema={"labels": "class_label", "x": wrong})
    assert not deeplake.exists(place)
    with deeplake.create(place, schema={"x": {"dtype": "int64"}}) as ds:
        ds.extend({"x": [1, 2, 3]})
        ds.commit("three")
    with pytest.raises(deeplake.Error):
        deeplake.create(place, overwrite=True, schema={"labels": "class_label", "x": wrong})
    with deeplake.open(place) as ds:
        assert ds["x"].numpy().tolist() == [1, 2, 3] and ds.log()[0].message == "three"


def test_lost_changes_are_said(tmp_path):
    ds = deeplake.create("mem://collected", overwrite=True)
    ds.create_tensor("x", dtype="int64")
    with pytest.warns(UserWarning, match=r"drop dataset .*collected.*commit\(\)"):
        del ds
        gc.collect()
    for end, warned in (("", True), ("ds.commit()", False), ("ds.discard()", False), ("ds.close()", True)):
        code = (
            "import deeplake\n"
            f"ds = deeplake.create({str(tmp_path / 'lake')!r}, overwrite=True)\n"
            f"ds.create_tensor('x', dtype='int64')\nds.append({{'x': 1}})\n{end}\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stderr.count("uncommitted changes were dropped") == warned, (end, done.stderr)


def test_numbers_that_floats_cannot_hold():
    with deeplake.create("mem://narrow", overwrite=True) as ds:
        for dtype in ("float16", "bfloat16", "float32"):
            ds.create_tensor(dtype, dtype=dtype)
        held = {"float16": 65504.0, "bfloat16": 3.0, "float32": 3.0e38}
        ds.append(held)
        ds.append(dict.fromkeys(held, float("-inf")))
        for dtype, wrong in (("float16", 70000), ("bfloat16", 1e39), ("float32", 1e300)):
            with pytest.raises(deeplake.InvalidArgumentError, match=f"{dtype}.*row 0.*{dtype} does not hold"):
                ds.append(held | {dtype: wrong})
            with pytest.raises(deeplake.InvalidArgumentError, match="row 2: sample has the value"):
                ds.extend({name: [1, 2, wrong if name == dtype else 3] for name in held})
        assert len(ds) == 2 and np.isneginf(ds["float16"].numpy()[1])
        ds.discard()


def test_names_of_tensors_are_in_a_dataset():
    with deeplake.create("mem://contains", schema={"truth/labels": "class_label"}, overwrite=True) as ds:
        assert "truth/labels" in ds and "truth" in ds and "truth/labels" in ds[:0]
        assert "labels" not in ds and "tru" not in ds and 0 not in ds


def test_texts_in_the_place_of_lists_and_texts_that_end_early():
    with deeplake.create("mem://texts", overwrite=True) as ds:
        with pytest.raises(deeplake.InvalidArgumentError, match=r"class_names is 'cat', want a list"):
            ds.create_tensor("labels", "class_label", class_names="cat")
        for message in ("m\0sg", "\ud800", 5):
            with pytest.raises(deeplake.InvalidArgumentError, match='commit: option "message"'):
                ds.commit(message)
        assert [commit.message for commit in ds.log()] == ["create dataset"]


def test_single_writes_fill_chunks(tmp_path):
    """Counting rows between writes leaves the chunk open that is being filled."""
    with deeplake.create(tmp_path / "lake", schema={"x": {"dtype": "int64"}}) as ds:
        for i in range(200):
            ds.append({"x": i})
            assert len(ds) == i + 1
        ds.commit()
        for i in range(0, 200, 3):
            ds.update(i, {"x": -1})
            ds["x"][-1] = i
        ds.commit()
        assert ds["x"].numpy().tolist() == [198 if i == 199 else -1 if i % 3 == 0 else i for i in range(200)]
    chunks = [path for path in (tmp_path / "lake" / "data").rglob("*") if path.is_file()]
    assert len(chunks) <= 4, chunks  # the commit has rewritten the rows: a third was updated


def test_reads_between_updates(tmp_path):
    """A loop that reads one tensor and writes another fills chunks, and reads what it wrote."""
    schema = {"x": {"dtype": "int64"}, "y": {"dtype": "int64"}, "image": {"htype": "image", "downsample": (2, 1)}}
    with deeplake.create(tmp_path / "lake", schema=schema) as ds:
        pixels = [np.full((4, 4, 3), i, np.uint8) for i in range(100)]
        ds.extend({"x": np.arange(100), "y": np.zeros(100, np.int64), "image": pixels})
        ds.commit()
        for i in range(100):
            row = ds[i]
            ds["y"][i] = ds["x"][i] + 1
            ds["x"][i] = row["x"] * 2
            assert row["y"] == 0 and row.index == i  # unchanged when it was taken
            assert ds["image"][99 - i][0, 0, 0] == 99 - i
        assert list(ds.tensors) == ["x", "y", "image"] and len(ds) == 100
        chunks = [path for path in (tmp_path / "lake" / "data").rglob("*") if path.is_file()]
        assert len(chunks) <= 7, chunks
        assert ds["x"][7] == 14 and ds["y"][7] == 8 and dict(ds[7].items())["x"] == 14
        assert ds["y"].numpy().tolist() == list(range(1, 101)) and ds["x"].numpy().tolist() == list(range(0, 200, 2))
        ds["image"][5] = np.full((4, 4, 3), 200, np.uint8)
        assert ds["x"][5] == 10 and ds["image"][5][0, 0, 0] == 200 and ds["image"][6][0, 0, 0] == 6
        assert ds["image"].bytes(6) == pixels[6].tobytes() and ds["image"].bytes(5) != pixels[5].tobytes()
        ds["x"][:] = np.zeros(100, np.int64)
        assert ds["x"][5] == 0 and ds["y"][5] == 6
        ds.append({"x": 1, "y": 1, "image": pixels[0]})
        assert ds["x"][-1] == 1 and ds["y"].numpy().shape == (101,)
        ds.delete(0)
        assert ds["y"][0] == 2 and len(ds) == 100
        ds.discard()
        assert ds["x"][7] == 7 and ds["y"][7] == 0 and ds["image"][5][0, 0, 0] == 5


def test_a_schema_keeps_every_setting(tmp_path):
    """Encoder settings, notes, chunk sizes and orientation of a tensor come back, and can be read."""
    schema = {
        "images": {"htype": "image.rgb", "compression": "jpeg", "quality": 30, "subsampling": "4:4:4"},
        "upright": {"htype": "image", "compression": "none", "apply_exif_orientation": True},
        "boxes": {"htype": "bbox", "info": {"coords": {"mode": "LTWH", "type": "pixel"}}, "chunk_bytes": 1 << 20},
    }
    with deeplake.create(tmp_path / "first", schema=schema) as first:
        for name, given in schema.items():
            assert {what: first.schema[name][what] for what in given} == given
        assert "info" not in first.schema["images"] and "chunk_bytes" not in first.schema["images"]
        info = first["boxes"].info
        assert info == schema["boxes"]["info"] and first["images"].info == {}
        with pytest.raises(TypeError):
            info["mode"] = "LTRB"
        info["coords"]["mode"] = "LTRB"  # of the copy
        assert first["boxes"].info == schema["boxes"]["info"]
        with deeplake.create(tmp_path / "second", schema=first.schema) as second:
            assert second.schema == first.schema and second["boxes"].info == first["boxes"].info
            noise = np.random.default_rng(0).integers(0, 255, (50, 60, 3), np.uint8)
            sizes = []
            for ds in (first, second):
                ds.append({"images": noise, "upright": noise, "boxes": [[10, 20, 30, 40]]})
                ds.commit()
                sizes.append(len(ds["images"].bytes(0)))
            assert sizes[0] == sizes[1]


def test_completion_of_tensors(tmp_path):
    ds = deeplake.create(tmp_path / "set", schema={"images": "image", "labels/fine": "class_label"})
    for thing in (ds, ds[:0]):
        assert thing._ipython_key_completions_() == ["images", "labels/fine"]


def test_printed_times_find_their_commit(tmp_path):
    ds = deeplake.create(tmp_path / "set", schema={"x": {"dtype": "int64"}})
    ds.extend({"x": [1, 2]})
    ds.commit("two")
    printed = re.search(r"\d{4}-[^,]*", repr(ds.head))[0]
    assert printed == deeplake.open(ds.uri).log(1)[0]._time and printed.endswith("Z")
    assert (
        len(deeplake.open(ds.uri, at=str(ds.head.time))) == len(deeplake.open(ds.uri, at=ds.head.time.isoformat())) == 2
    )
    assert len(deeplake.open(ds.uri, at=printed)) == 2
    with pytest.raises(deeplake.InvalidArgumentError, match="want a time with a zone; write 2"):
        deeplake.open(ds.uri, at=printed[:19])
    with pytest.raises(deeplake.NotFoundError, match="had no version then; its first one is of 2"):
        deeplake.open(ds.uri, at="2001-01-01T00:00:00Z")
