"""Rows that Python, not the core, finds unreadable: files that Pillow cannot decode, and holes under a transform."""

from __future__ import annotations

import gc

import deeplake
import numpy as np
import pytest
from conftest import encoded, host, picture

ROWS = 22
BAD = (0, 3, 8, 9, 10, 11, 17)  # of the pictures; all rows of the third batch of four
HOLES = (3, 5)  # of the values
HOSTS = ("batches", "pytorch", "jax")


@pytest.fixture(scope="module")
def ds():
    """Pictures, some with a hole in their data, a number for each, and two values that two rows lack."""
    with deeplake.create(
        "mem://skip",
        overwrite=True,
        schema={
            "image": {"htype": "image", "compression": "png"},
            "x": {"dtype": "int32"},
            "word": "text",
            "value": {"dtype": "float32"},
            "other": {"dtype": "float32"},
        },
    ) as ds:
        files = [encoded(picture(i, 64, 64), "PNG") for i in range(ROWS)]
        for i in BAD:
            half = len(files[i]) // 2
            files[i] = files[i][:half] + bytes(40) + files[i][half + 40 :]
        ds.extend(
            {
                "image": [deeplake.read(file) for file in files],
                "x": np.arange(ROWS, dtype=np.int32),
                "word": [f"w{i}" for i in range(ROWS)],
                "value": [None if i in HOLES else np.full(3, i, np.float32) for i in range(ROWS)],
                "other": [None if i in HOLES else float(i) for i in range(ROWS)],
            }
        )
        ds.commit()
        yield ds


def loaded(ds, name: str, batch_size: int = 4, **options):
    if name != "batches":
        host({"pytorch": "torch"}.get(name, name))
    options = {"tensors": ["image", "x", "word"], "decode": {"image": "pil"}, "on_error": "skip", **options}
    return getattr(ds, name)(batch_size, **options)


def numbers(batches) -> list[list[int]]:
    return [np.asarray(batch["x"]).tolist() for batch in batches]


LEFT = [[1, 2], [4, 5, 6, 7], [12, 13, 14, 15], [16, 18, 19], [20, 21]]


@pytest.mark.parametrize("host", HOSTS)
def test_what_pillow_cannot_decode_is_left_out_of_every_column(ds, host):
    loader = loaded(ds, host, return_index=True)
    batches = list(loader)
    assert numbers(batches) == LEFT
    for batch in batches:
        rows = np.asarray(batch["x"]).tolist()
        assert np.asarray(batch["_index"]).tolist() == rows
        assert batch["word"] == [f"w{i}" for i in rows]
        assert [image.size for image in batch["image"]] == [(64, 64)] * len(rows)
        for row, image in zip(rows, batch["image"], strict=True):
            assert np.array_equal(np.asarray(image), np.asarray(loader_picture(ds, row)))


def loader_picture(ds, row: int):
    """The picture of a row by itself, of a loader that leaves nothing out."""
    one = next(iter(ds[row : row + 1].batches(1, tensors=["image"], decode={"image": "pil"})))
    return one["image"][0]


@pytest.mark.parametrize("host", HOSTS)
def test_they_are_counted_and_named(ds, host):
    loader = loaded(ds, host)
    assert numbers(loader) == LEFT
    stats = loader.stats()
    assert stats["skipped"] == len(BAD)
    assert [(note["row"], note["tensor"]) for note in stats["first_skips"]] == [(row, "image") for row in BAD]
    assert "Pillow cannot decode row 0" in stats["first_skips"][0]["error"]
    assert stats["rows"] == ROWS - len(BAD) and stats["batches"] == len(LEFT)
    assert loader.stats(flat=True)["skipped"] == len(BAD)
    assert f"deeplake_loader_skipped {float(len(BAD))}" in loader.prometheus()
    assert numbers(loader) == LEFT and loader.stats()["skipped"] == len(BAD), "each epoch counts for itself"


def test_without_skip_the_first_of_them_ends_the_epoch(ds):
    seen = []
    with pytest.raises(deeplake.CorruptError, match=r"Pillow cannot decode row 3 .*on_error=\"skip\"") as caught:
        for batch in loaded(ds[1:], "batches", 2, on_error="raise"):
            seen += batch["x"].tolist()
    assert seen == [1, 2] and caught.value.__cause__ is not None


def test_what_is_left_out_keeps_no_batch(ds):
    gc.disable()  # so that cycles stay
    try:
        for options in ({}, {"tensors": ["value", "x"], "decode": True, "transform": {"value": abs}}):
            loader = loaded(ds, "batches", **options)
            for batch in loader:
                del batch
            assert loader.stats()["slabs"]["free_slabs"] == loader.stats()["slabs"]["slabs"] > 0
    finally:
        gc.enable()


def test_shuffled_epochs_give_every_other_row_once(ds):
    loader = loaded(ds, "batches", shuffle=True, seed=5)
    for _ in range(3):
        rows = sorted(x for batch in numbers(loader) for x in batch)
        assert rows == [i for i in range(ROWS) if i not in BAD]


def test_a_state_between_them_goes_on_to_the_same_rest(ds):
    for taken in range(len(LEFT) + 1):
        loader = loaded(ds, "batches")
        batches = iter(loader)
        first = [next(batches)["x"].tolist() for _ in range(taken)]
        other = loaded(ds, "batches")
        other.load_state_dict(loader.state_dict())
        batches.close()
        rest = numbers(other) if taken < len(LEFT) else []
        assert first + rest == LEFT, f"after {taken} batches"


def test_a_transform_sees_the_others_only(ds):
    seen = []
    loader = loaded(ds, "batches", transform={"image": [np.asarray, lambda a: seen.append(a.shape) or a.mean()]})
    assert [batch["image"].shape for batch in loader] == [(len(rows),) for rows in LEFT]
    assert seen == [(64, 64, 3)] * (ROWS - len(BAD))


def test_a_collate_function_gets_the_others_only(ds):
    loader = loaded(ds, "batches", collate=lambda rows: [row["x"].item() for row in rows])
    assert list(loader) == LEFT


def test_an_error_of_a_transform_is_never_skipped(ds):
    def broken(image):
        raise ValueError("my own")

    with pytest.raises(ValueError, match="my own"):
        list(loaded(ds, "batches", transform={"image": broken}))


def test_rows_that_fill_up_the_last_batch_stay_marked(ds):
    batches = list(loaded(ds, "batches", 4, tail="pad", rank=1, world_size=2))
    marked = [(batch["x"].tolist(), batch["_valid"].tolist()) for batch in batches]
    whole = list(loaded(ds, "batches", 4, tail="pad", rank=1, world_size=2, decode=True, tensors=["x"]))
    want = [[(x, v) for x, v in zip(b["x"].tolist(), b["_valid"].tolist(), strict=True) if x not in BAD] for b in whole]
    assert [list(zip(*pair, strict=True)) for pair in marked] == want
    assert not all(v for _, valid in marked for v in valid), "some fill up"


def test_a_rank_without_a_row_stops_and_says_so(ds):
    with pytest.raises(deeplake.CorruptError, match=r"rank 1 of 2.*lose step.*Pillow cannot decode row 3"):
        list(loaded(ds[2:4], "batches", 1, rank=1, world_size=2))


@pytest.mark.parametrize("host", HOSTS)
def test_holes_under_a_transform_are_left_out(ds, host):
    loader = loaded(ds, host, tensors=["value", "x"], decode=True, transform={"value": lambda a: a * 2})
    batches = list(loader)
    assert [x for rows in numbers(batches) for x in rows] == [i for i in range(ROWS) if i not in HOLES]
    for batch in batches:
        assert np.asarray(batch["value"])[:, 0].tolist() == [2 * x for x in np.asarray(batch["x"]).tolist()]
    stats = loader.stats()
    assert [(note["row"], note["tensor"]) for note in stats["first_skips"]] == [(row, "value") for row in HOLES]
    plain = loaded(ds, host, tensors=["value", "x"], decode=True)
    assert numbers(plain) == numbers(batches), "as the core leaves them out where no transform looks at them"
    with pytest.raises(deeplake.TensorTypeError, match="row 3 has no sample"):
        list(loaded(ds, host, tensors=["value"], decode=True, transform={"value": abs}, on_error="raise"))


def test_holes_in_lists_stay(ds):
    loader = loaded(ds, "batches", tensors=["value"], decode=True, transform={"value": abs}, collate="list")
    assert [i for i, value in enumerate(v for batch in loader for v in batch["value"]) if value is None] == list(HOLES)
    assert loader.stats()["skipped"] == 0


def test_a_row_with_several_faults_counts_once(ds):
    steps = {"image": np.asarray, "value": abs, "other": abs}
    loader = loaded(ds, "batches", tensors=["image", "value", "other", "x"], transform=steps)
    rows = [x for batch in numbers(loader) for x in batch]
    assert rows == [i for i in range(ROWS) if i not in BAD + HOLES]
    assert loader.stats()["skipped"] == len({*BAD, *HOLES})


def test_tensorflow_gets_the_others(ds):
    host("tensorflow")
    options = {"transform": {"image": np.asarray}, "tensors": ["image", "x"]}
    assert numbers(loaded(ds[1:], "tensorflow", 3, **options)) == numbers(loaded(ds[1:], "batches", 3, **options))
