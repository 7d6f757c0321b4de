"""Loading in batches, with NumPy and with torch: order, contents, forms, transforms, and how it ends."""

from __future__ import annotations

import gc
import itertools
import os
import pickle
import pty
import subprocess
import sys
import threading
import time
import traceback
import weakref

import deeplake
import numpy as np
import pytest
from conftest import encoded, picture
from PIL import Image

torch = pytest.importorskip("torch")

ROWS = 103


@pytest.fixture(scope="module")
def ds():
    with deeplake.create(
        "mem://loader",
        overwrite=True,
        schema={
            "image": {"htype": "image", "compression": "jpeg"},
            "label": "class_label",
            "word": "text",
            "ragged": {"dtype": "float32"},
        },
    ) as ds:
        rows = range(ROWS)
        ds.extend(
            {
                "image": [deeplake.read(encoded(picture(i))) for i in rows],
                "label": np.arange(ROWS) % 7,
                "word": [f"w{i}" for i in rows],
                "ragged": [np.full((i % 4 + 1, 2), i, np.float32) for i in rows],
            }
        )
        ds.commit()
        yield ds


PLAIN = ("image", "label", "word")


def words(loader) -> list[str]:
    return [word for batch in loader for word in batch["word"]]


@pytest.fixture(params=["pytorch", "batches"])
def load(request, ds):
    """Both hosts."""
    return getattr(ds, request.param)


def test_batches_hold_the_rows_in_order(ds, load):
    loader = load(16, tensors=PLAIN)
    assert len(loader) == 7
    batches = list(loader)
    assert [len(batch["word"]) for batch in batches] == [16] * 6 + [7]
    assert [word for batch in batches for word in batch["word"]] == [f"w{i}" for i in range(ROWS)]
    assert list(batches[0]) == list(PLAIN)
    for start, batch in zip(range(0, ROWS, 16), batches, strict=True):
        want = ds["image"].numpy(slice(start, start + 16))
        assert (np.asarray(batch["image"]) == want).all()
        assert np.asarray(batch["label"]).tolist() == [i % 7 for i in range(start, min(start + 16, ROWS))]


def test_num_workers_0_gives_the_same_batches(ds, load):
    for shuffle in (False, True):
        there, here = (load(16, tensors=PLAIN, shuffle=shuffle, seed=5, num_workers=n) for n in (3, 0))
        for _ in range(2):
            pairs = list(zip(there, here, strict=True))
            assert [list(map(str, a["word"])) for a, _ in pairs] == [list(map(str, b["word"])) for _, b in pairs]
            assert all((np.asarray(a["image"]) == np.asarray(b["image"])).all() for a, b in pairs)


def test_num_workers_0_makes_a_batch_when_it_is_asked_for(ds):
    loader = ds.batches(8, tensors=PLAIN, num_workers=0, prefetch=4)
    batches = iter(loader)
    for made in range(1, 4):
        next(batches)
        time.sleep(0.05)
        stats = loader.stats()
        assert (stats["batches"], stats["in_flight"], stats["decode"]["threads"]) == (made, 0, 1)
    assert loader.stats()["bottleneck"].startswith("demand: num_workers=0")


def test_torch_tensors(ds):
    batch = next(iter(ds.pytorch(8, tensors=PLAIN)))
    assert batch["image"].dtype == torch.uint8 and batch["image"].shape == (8, 24, 32, 3)
    assert batch["label"].dtype == torch.int64 and batch["label"].shape == (8,)
    assert isinstance(batch["word"], list) and isinstance(batch["word"][0], str)
    assert batch["image"].data_ptr() % 64 == 0
    batch["image"][0] = 0  # writable


def test_the_loader_is_a_data_loader(ds):
    loader = ds.pytorch(8)
    assert isinstance(loader, torch.utils.data.DataLoader)
    assert isinstance(loader.dataset, torch.utils.data.IterableDataset) and len(loader.dataset) == ROWS
    assert loader.num_workers == 0 and loader.batch_size is None
    assert "103 rows" in repr(loader)


def test_drop_last(load):
    loader = load(16, tensors=["word"], drop_last=True)
    assert len(loader) == 6 and len(words(loader)) == 96


@pytest.mark.parametrize("shuffle", [True, "full"])
def test_the_order_depends_on_seed_and_epoch_alone(ds, load, shuffle):
    def order(batch_size=16, workers=None, seed=0, epoch=0, prefetch=2):
        loader = load(batch_size, tensors=["word"], shuffle=shuffle, seed=seed, num_workers=workers, prefetch=prefetch)
        loader.set_epoch(epoch)
        return words(loader)

    first = order()
    assert sorted(first) == sorted(f"w{i}" for i in range(ROWS)) and first != [f"w{i}" for i in range(ROWS)]
    assert order(workers=1) == order(workers=7) == order(batch_size=5) == order(prefetch=9) == first
    assert order(seed=1) != first
    assert order(epoch=1) != first


def test_both_hosts_have_the_same_order(ds):
    assert words(ds.pytorch(9, shuffle=True, tensors=["word"])) == words(ds.batches(9, shuffle=True, tensors=["word"]))


def test_a_plain_loop_reshuffles_each_epoch(load):
    loader = load(16, tensors=["word"], shuffle=True)
    assert loader.epoch == 0
    first, second = words(loader), words(loader)
    assert first != second and sorted(first) == sorted(second)
    assert loader.epoch == 2
    loader.set_epoch(0)
    assert words(loader) == first
    loader.sampler.set_epoch(1) if hasattr(loader, "sampler") else loader.set_epoch(1)
    assert words(loader) == second


def test_leaving_early_stays_in_the_epoch(load):
    loader = load(16, tensors=["word"], shuffle=True)
    for batch in loader:
        first = batch["word"]
        break
    assert loader.epoch == 0
    assert words(loader)[:16] == first


def test_set_epoch_while_iterating_counts(load):
    loader = load(16, tensors=["word"], shuffle=True)
    for _ in loader:
        loader.set_epoch(5)
    assert loader.epoch == 5


def test_several_iterations_at_once(load):
    loader = load(16, tensors=["word"], shuffle=True)
    pairs = [(a["word"], b["word"]) for a, b in zip(loader, loader, strict=True)]
    assert all(a == b for a, b in pairs) and len(pairs) == 7


def test_many_loaders_and_early_ends_leave_nothing_running(ds):
    for k in range(40):
        for number, _ in enumerate(ds.pytorch(4, tensors=PLAIN)):
            if number == k % 5:
                break
    gc.collect()
    assert words(ds.batches(16, tensors=["word"]))[-1] == f"w{ROWS - 1}"


def test_return_index(ds, load):
    view_loader = load(10, tensors=["word"], return_index=True, shuffle=True)
    for batch in view_loader:
        assert np.asarray(batch["_index"]).dtype == np.int64
        assert [f"w{i}" for i in np.asarray(batch["_index"])] == batch["word"]
    view = ds[50:60]
    assert [i for b in view.batches(4, tensors=["word"], return_index=True) for i in b["_index"]] == list(range(50, 60))


def test_views_load_their_rows(ds):
    assert words(ds[5:50:5].pytorch(4, tensors=["word"])) == [f"w{i}" for i in range(5, 50, 5)]
    assert words(ds[[3, 3, 1]].batches(2, tensors=["word"])) == ["w3", "w3", "w1"]


def test_a_loader_reads_the_version_it_was_made_at(place):
    with deeplake.create(place, schema={"x": {"dtype": "int64"}}) as ds:
        ds.extend({"x": np.arange(5)})
        loader = ds.batches(5)
        ds.extend({"x": np.arange(5)})
        assert next(iter(loader))["x"].tolist() == [0, 1, 2, 3, 4]
        ds.commit()
        assert next(iter(loader))["x"].tolist() == [0, 1, 2, 3, 4] and len(loader) == 1


def test_zero_rows_one_row_and_a_batch_larger_than_the_set(place):
    with deeplake.create(place, schema={"x": {"dtype": "int64"}}) as ds:
        assert (len(ds.pytorch(4)), list(ds.pytorch(4)), list(ds.batches(4, shuffle=True))) == (0, [], [])
        ds.append({"x": 7})
        ds.commit()
        for loader in (ds.pytorch(100), ds.pytorch(100, shuffle="full"), ds.batches(100, shuffle=True)):
            assert len(loader) == 1
            assert [batch["x"].tolist() for batch in loader] == [[7]]
        assert list(ds.pytorch(100, drop_last=True)) == []


# --- forms
# -----------------------------------------------------------------------------------------------------------


def test_stack_refuses_ragged_samples_and_says_what_to_do(load):
    with pytest.raises(deeplake.TensorTypeError, match='"ragged"') as caught:
        list(load(8))
    assert all(word in str(caught.value) for word in ("(1, 2)", "(2, 2)", "pad", "list"))


def test_pad(load):
    batch = next(iter(load(4, collate="pad", tensors=["ragged", "label", "word"])))
    ragged, shapes = np.asarray(batch["ragged"]), np.asarray(batch["ragged_shape"])
    assert ragged.shape == (4, 4, 2) and shapes.dtype == np.int64
    assert shapes.tolist() == [[1, 2], [2, 2], [3, 2], [4, 2]]
    assert ragged[2].tolist() == [[2, 2]] * 3 + [[0, 0]]
    assert np.asarray(batch["label"]).tolist() == [0, 1, 2, 3]


def test_pad_finds_a_type_for_all(load):
    """Samples that a transform made of several dtypes: no value may be cut down to the type of the first."""
    kinds = {"label": lambda label: np.full(1, int(label) + 0.5) if label % 2 else np.full(1, int(label), np.int64)}
    batch = next(iter(load(4, collate="pad", tensors=["label"], transform=kinds)))
    assert np.asarray(batch["label"]).ravel().tolist() == [0, 1.5, 2, 3.5]


def test_list(load):
    batch = next(iter(load(4, collate="list", tensors=["ragged", "label"])))
    assert [tuple(sample.shape) for sample in batch["ragged"]] == [(1, 2), (2, 2), (3, 2), (4, 2)]
    assert [int(label) for label in batch["label"]] == [0, 1, 2, 3]


def test_collate_with_a_callable(load):
    seen = []

    def collate(rows):
        seen.append(rows)
        return len(rows), [row["word"] for row in rows]

    batches = list(load(50, collate=collate, return_index=True))
    assert [count for count, _ in batches] == [50, 50, 3]
    assert batches[2][1] == ["w100", "w101", "w102"]
    row = seen[2][0]
    assert row["_index"] == 100 and row["ragged"].shape == (1, 2) and row["label"] == 100 % 7
    assert isinstance(row["image"], np.ndarray)


def test_a_collate_that_returns_none_is_a_batch_too(load):
    assert list(load(50, collate=lambda rows: None)) == [None] * 3


def test_decode_bytes(ds, load):
    batch = next(iter(load(4, tensors=["image", "label"], decode={"image": "bytes"})))
    assert batch["image"] == ds["image"].bytes([0, 1, 2, 3])
    assert np.asarray(batch["label"]).tolist() == [0, 1, 2, 3]


def test_decode_pil(ds, load):
    batch = next(iter(load(3, tensors=["image", "label"], decode={"image": "pil", "label": "numpy"})))
    assert all(isinstance(image, Image.Image) and image.size == (32, 24) for image in batch["image"])
    assert np.asarray(batch["label"]).tolist() == [0, 1, 2]
    assert abs(np.asarray(batch["image"][1], int) - ds["image"][1]).max() <= 1


# --- transforms
# ------------------------------------------------------------------------------------------------------


def test_a_transform_of_one_tensor(ds, load):
    loader = load(5, tensors=PLAIN, transform={"image": lambda image: image[:10, :10].astype(np.float32) / 255})
    batch = next(iter(loader))
    want = ds["image"].numpy(slice(5))[:, :10, :10].astype(np.float32) / 255
    assert np.array_equal(np.asarray(batch["image"]), want)
    assert np.asarray(batch["label"]).tolist() == [0, 1, 2, 3, 4] and batch["word"][1] == "w1"
    assert list(batch) == list(PLAIN)


def test_a_chain_of_transforms_from_pil_to_tensor(ds):
    def to_tensor(image):
        return torch.from_numpy(np.array(image)).permute(2, 0, 1).float()

    loader = ds.pytorch(
        4,
        tensors=PLAIN,
        decode={"image": "pil"},
        transform={"image": [lambda image: image.resize((8, 6)), to_tensor], "label": float, "word": str.upper},
    )
    batch = next(iter(loader))
    assert batch["image"].shape == (4, 3, 6, 8) and batch["image"].dtype == torch.float32
    assert batch["label"].tolist() == [0, 1, 2, 3] and batch["word"] == ["W0", "W1", "W2", "W3"]


def test_a_transform_of_the_row(load):
    def transform(row):
        return {"mean": row["image"].mean(), "label": row["label"] + 1, "word": row["word"], "n": len(row["ragged"])}

    batch = next(iter(load(4, transform=transform)))
    assert list(batch) == ["mean", "label", "word", "n"]
    assert np.asarray(batch["label"]).tolist() == [1, 2, 3, 4] and np.asarray(batch["n"]).tolist() == [1, 2, 3, 4]
    assert np.asarray(batch["mean"]).shape == (4,) and batch["word"] == ["w0", "w1", "w2", "w3"]


def test_a_transform_makes_ragged_samples_stack(load):
    batch = next(iter(load(4, tensors=["ragged"], transform={"ragged": lambda sample: sample[:1]})))
    assert np.asarray(batch["ragged"]).shape == (4, 1, 2)
    with pytest.raises(deeplake.TensorTypeError, match=r"row 1 has shape \(2, 2\), row 0 has \(1, 2\).*pad"):
        list(load(4, tensors=["ragged"], transform={"ragged": lambda sample: sample}))
    padded = next(iter(load(4, tensors=["ragged"], collate="pad", transform={"ragged": lambda sample: sample + 1})))
    assert np.asarray(padded["ragged"]).shape == (4, 4, 2) and np.asarray(padded["ragged_shape"])[2].tolist() == [3, 2]
    assert np.asarray(padded["ragged"])[0].tolist() == [[1, 1], [0, 0], [0, 0], [0, 0]]


def test_an_error_in_a_transform_points_at_the_line_and_the_row(load):
    def broken(label):
        return 1 // (label - 5)

    loader = load(4, tensors=["label"], transform={"label": lambda label: broken(int(label))})
    with pytest.raises(ZeroDivisionError) as caught:
        list(loader)
    assert any("1 // (label - 5)" in str(frame.line) for frame in traceback.extract_tb(caught.value.__traceback__))
    if sys.version_info >= (3, 11):
        assert any('"label", row 5 of' in note for note in caught.value.__notes__)
    assert loader.epoch == 0


def test_stop_iteration_in_a_transform_does_not_end_the_epoch_silently(load):
    def transform(label):
        raise StopIteration

    with pytest.raises(deeplake.InvalidArgumentError, match="StopIteration"):
        list(load(4, tensors=["label"], transform={"label": transform}))


@pytest.mark.parametrize(("result", "wrong"), [(3, "returned a int for row 0"), ([None], "returned a NoneType")])
def test_a_row_transform_must_return_a_dict(load, result, wrong):
    with pytest.raises(deeplake.InvalidArgumentError, match=wrong):
        list(load(4, transform=lambda row: result))


def test_a_row_transform_must_return_the_same_keys(load):
    with pytest.raises(deeplake.InvalidArgumentError, match="keys"):
        list(load(4, transform=lambda row: {row["word"]: 1}))


def test_holes(place, request):
    with deeplake.create(place, schema={"x": {"dtype": "int64"}}) as ds:
        ds.extend({"x": [1, None, 3]})
        ds.commit()
        for loader in (ds.pytorch(3), ds.batches(3)):
            with pytest.raises(deeplake.TensorTypeError, match='row 1 of tensor "x"'):
                list(loader)
        assert next(iter(ds.batches(3, collate="list")))["x"][1] is None
        seen = []
        with pytest.raises(deeplake.TensorTypeError, match="row 1"):
            list(ds.batches(3, transform={"x": lambda x: seen.append(x) or x}))
        assert seen == [1, 3]
        assert [r["x"] for r in next(iter(ds.pytorch(3, collate=lambda rows: rows)))] == [1, None, 3]


# --- memory and life time
# --------------------------------------------------------------------------------------------


def test_tensors_may_be_kept_for_ever(ds):
    loader = ds.pytorch(8, tensors=PLAIN)
    kept = [batch["image"] for batch in loader]
    sums = [int(image.long().sum()) for image in kept]
    for _ in range(3):
        for batch in loader:
            batch["image"].zero_()
    del loader
    gc.collect()
    assert [int(image.long().sum()) for image in kept] == sums


def test_arrays_outlive_dataset_and_loader(place):
    with deeplake.create(place, schema={"x": {"dtype": "int64"}}) as ds:
        ds.extend({"x": np.arange(1000)})
        ds.commit()
        array = next(iter(ds.batches(1000)))["x"]
    del ds
    gc.collect()
    assert array.sum() == 499500 and array.flags.writeable


def test_a_loader_is_freed_without_the_cycle_collector(load):
    gc.collect()
    gc.disable()
    try:
        loader = load(8, tensors=["word"])
        next(iter(loader))
        alive = weakref.ref(loader)
        plan = weakref.ref(loader._plan)
        del loader
        assert alive() is None and plan() is None
    finally:
        gc.enable()


def test_stats(load):
    loader = load(16, tensors=PLAIN)
    list(loader)
    stats = loader.stats()
    assert stats["rows"] == ROWS and stats["batches"] == 7 and stats["skipped"] == 0
    assert isinstance(stats["bottleneck"], str) and stats["decode"]["busy_seconds"] > 0


def test_progress_is_silent_without_a_terminal(load, capsys):
    assert len(list(load(16, tensors=["word"], progress=True))) == 7
    assert capsys.readouterr() == ("", "")


def test_progress_on_a_terminal(tmp_path):
    program = (
        "import deeplake; ds = deeplake.create('mem://x', schema={'x': {'dtype': 'int64'}}); ds.extend({'x': [1, 2, 3]}); "
        "print([batch['x'].tolist() for batch in ds.batches(2, progress=True)])"
    )
    main, terminal = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=terminal, env={**os.environ, "TERM": "xterm"}
    )
    out, _ = child.communicate(timeout=60)
    os.close(terminal)
    shown = os.read(main, 65536).decode()
    os.close(main)
    assert out.split() == b"[[1, 2], [3]]".split() and "epoch 0" in shown and "batches" in shown


def test_iterating_from_several_threads(ds):
    loader, results = ds.pytorch(16, tensors=["word"], shuffle=True), []
    threads = [threading.Thread(target=lambda: results.append(words(loader))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(results) == 4 and all(len(result) == ROWS for result in results)


# --- bad samples and bad arguments
# -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def damaged():
    """Twenty rows; the JPEG of row 11 lacks the end of its data."""
    with deeplake.create(
        "mem://damaged",
        overwrite=True,
        schema={"image": {"htype": "image", "compression": "jpeg"}, "x": {"dtype": "int64"}},
    ) as ds:
        files = [encoded(picture(i, 96, 96)) for i in range(20)]
        files[11] = files[11][: len(files[11]) * 3 // 4] + b"\xff\xd9"
        ds.extend({"image": [deeplake.read(file) for file in files], "x": np.arange(20)})
        ds.commit()
        yield ds


def test_a_corrupt_jpeg_is_an_error_that_names_row_and_tensor(damaged):
    seen = []
    with pytest.raises(deeplake.CorruptError, match="image") as caught:
        for batch in damaged.pytorch(4):
            seen += batch["x"].tolist()
    assert "11" in str(caught.value)
    assert seen == list(range(8)), "what comes before is delivered"


def test_a_corrupt_jpeg_can_be_skipped_and_is_reported(damaged):
    loader = damaged.batches(4, on_error="skip")
    assert [x for batch in loader for x in batch["x"]] == [x for x in range(20) if x != 11]
    stats = loader.stats()
    assert stats["skipped"] == 1
    assert (stats["first_skips"][0]["row"], stats["first_skips"][0]["tensor"]) == (11, "image")


@pytest.mark.parametrize(
    ("arguments", "kind", "wrong"),
    [
        ({"batch_size": 0}, "InvalidArgumentError", "batch_size is 0"),
        ({"batch_size": 2.5}, "InvalidArgumentError", "batch_size is 2.5"),
        ({"batch_size": True}, "InvalidArgumentError", "batch_size is True"),
        ({"batch_size": 1 << 40}, "InvalidArgumentError", "batch_size"),
        ({"num_workers": -1}, "InvalidArgumentError", "num_workers is -1"),
        ({"num_workers": -1}, "InvalidArgumentError", "num_workers"),
        ({"fetch_bytes": 0}, "InvalidArgumentError", "fetch_bytes is 0"),
        ({"prefetch": 0}, "InvalidArgumentError", "prefetch"),
        ({"seed": -1}, "InvalidArgumentError", "seed"),
        ({"shuffle": "ful"}, "InvalidArgumentError", "shuffle"),
        ({"shuffle": 2}, "InvalidArgumentError", "shuffle"),
        ({"drop_last": "no"}, "InvalidArgumentError", "drop_last"),
        ({"collate": "stak"}, "InvalidArgumentError", 'did you mean "stack"'),
        ({"on_error": "ignore"}, "InvalidArgumentError", "on_error"),
        ({"tensors": "image"}, "InvalidArgumentError", "list of names"),
        ({"tensors": ["imag"]}, "NotFoundError", 'did you mean "image"'),
        ({"tensors": []}, "InvalidArgumentError", "tensors"),
        ({"tensors": ["word", "word"]}, "InvalidArgumentError", "word"),
        ({"transform": {"imge": str}}, "NotFoundError", 'did you mean "image"'),
        ({"transform": {"image": 3}}, "InvalidArgumentError", "not callable"),
        ({"transform": {"image": [str, 3]}}, "InvalidArgumentError", "not callable"),
        ({"transform": 3}, "InvalidArgumentError", "transform is a int"),
        ({"transform": {"image": str}, "tensors": ["word"]}, "InvalidArgumentError", "not among"),
        ({"decode": {"image": "jpeg"}}, "InvalidArgumentError", "decode"),
        ({"decode": {"imge": "bytes"}}, "NotFoundError", 'did you mean "image"'),
        ({"decode": False}, "InvalidArgumentError", "decode"),
        ({"shufle": True}, "InvalidArgumentError", 'unknown argument "shufle"; did you mean "shuffle"'),
        ({"device": "cuda"}, "UnsupportedError", "cuda"),
        ({"rank": 1}, "InvalidArgumentError", "give both, or neither"),
        ({"weights": [1.0]}, "InvalidArgumentError", "weights have the shape"),
        ({"cache": "/x"}, "InvalidArgumentError", "cache"),
        ({"tail": "dorp"}, "InvalidArgumentError", 'did you mean "drop"'),
    ],
)
def test_bad_arguments(load, arguments, kind, wrong):
    with pytest.raises(getattr(deeplake, kind), match=wrong):
        load(**arguments)


def test_arguments_that_change_nothing_are_taken(load):
    loader = load(
        16,
        tensors=["word"],
        device="cpu",
        rank=0,
        world_size=1,
        cache=None,
        weights=None,
        tail="exact",
        shuffle_bytes=1 << 20,
        fetch_bytes=1 << 20,
    )
    assert len(words(loader)) == ROWS
    assert len(words(load(np.int64(16), tensors=("word",), device=torch.device("cpu")))) == ROWS


# --- as torch's own parts
# --------------------------------------------------------------------------------------------


def test_loaders_pickle(tmp_path):
    with deeplake.create(tmp_path / "set", schema={"word": "text"}) as ds:
        ds.extend({"word": [f"w{i}" for i in range(20)]})
        ds.commit()
        for loader in (ds[3:].pytorch(4, shuffle=True, seed=2), ds[3:].batches(4, shuffle=True, seed=2)):
            loader.set_epoch(3)
            again = pickle.loads(pickle.dumps(loader))
            assert again.epoch == 3 and words(again) == words(loader)


def test_the_map_style_dataset(ds):
    data = ds.torch_dataset(tensors=PLAIN, transform={"image": lambda image: image.mean()})
    assert len(data) == ROWS
    assert data[5]["word"] == "w5" and data[-1]["word"] == f"w{ROWS - 1}"
    assert data[5]["label"].dtype == torch.int64 and data[5]["label"].ndim == 0
    assert [row["word"] for row in data.__getitems__([3, 1, 3])] == ["w3", "w1", "w3"]
    with pytest.raises(IndexError):
        data[ROWS]
    batches = list(torch.utils.data.DataLoader(data, batch_size=10))
    assert [word for batch in batches for word in batch["word"]] == [f"w{i}" for i in range(ROWS)]
    assert batches[0]["image"].shape == (10,)


def test_our_dataset_in_a_foreign_data_loader(ds):
    loader = ds.pytorch(16, tensors=["word"])
    foreign = torch.utils.data.DataLoader(loader.dataset, batch_size=None)
    assert words(foreign) == [f"w{i}" for i in range(ROWS)]


def test_our_dataset_in_foreign_workers_is_refused(tmp_path):
    with deeplake.create(tmp_path / "set", schema={"word": "text"}) as ds:
        ds.extend({"word": ["a", "b"]})
        ds.commit()
        foreign = torch.utils.data.DataLoader(ds.pytorch(1).dataset, batch_size=None, num_workers=2, timeout=60)
        with pytest.raises(NotImplementedError, match="every worker would give all rows"):
            list(foreign)


@pytest.mark.alone
def test_time_to_first_batch_is_not_the_time_of_the_epoch(ds):
    """Rows in the middle of the epoch wait for the first batch."""
    came, calls, late = threading.Event(), itertools.count(), []

    def wait(word):
        if next(calls) >= ROWS // 2 and not came.wait(60):
            late.append(word)
        return word

    batches = iter(ds.pytorch(1, tensors=["word"], transform={"word": wait}))
    next(batches)
    came.set()
    assert len(list(batches)) == ROWS - 1
    assert not late
