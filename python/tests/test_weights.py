"""Rows drawn by weight."""

from __future__ import annotations

import itertools
import json
import pickle
from collections import Counter
from fractions import Fraction
from typing import Any

import deeplake
import numpy as np
import pytest

torch = pytest.importorskip("torch")

ROWS = 300
_numbers = itertools.count()


@pytest.fixture(scope="module")
def ds() -> deeplake.Dataset:
    """Rows with their number, a class, a weight and a picture."""
    ds = deeplake.create(f"mem://weights-{next(_numbers)}")
    ds.create_tensor("x", dtype="int64")
    ds.create_tensor("w", dtype="float32")
    ds.create_tensor("some", dtype="bool")
    ds.create_tensor("image", dtype="uint8")
    ds.create_tensor("ragged", dtype="float32")
    ds.create_tensor("word", "text")
    rows = np.arange(ROWS)
    ds.extend(
        {
            "x": rows,
            "w": (rows % 4).astype(np.float32),
            "some": rows % 10 == 0,
            "image": np.zeros((ROWS, 2, 2), np.uint8),
            "ragged": [np.zeros(i % 3, np.float32) for i in rows],
            "word": ["w"] * ROWS,
        }
    )
    ds.commit("rows")
    return ds


def drawn(loader: Any) -> list[int]:
    return [int(x) for batch in loader for x in batch["x"]]


@pytest.mark.parametrize("shuffle", [False, True, "full"])
def test_draws_follow_the_weights(ds: deeplake.Dataset, shuffle: Any) -> None:
    rows = drawn(ds.batches(64, tensors=["x"], weights="w", length=60_000, shuffle=shuffle))
    assert len(rows) == 60_000
    counts = np.bincount(rows, minlength=ROWS)
    want = np.arange(ROWS) % 4 / (np.arange(ROWS) % 4).sum() * 60_000
    assert not counts[want == 0].any()
    chi = ((counts - want)[want > 0] ** 2 / want[want > 0]).sum()
    assert chi < 225 + 5 * np.sqrt(450)


def test_weights_come_in_many_forms(ds: deeplake.Dataset) -> None:
    array = np.arange(ROWS) % 4
    want = drawn(ds.batches(50, tensors=["x"], weights="w"))
    assert len(want) == ROWS
    for weights in (
        array,
        array.tolist(),
        array.astype(np.float32),
        torch.tensor(array),
        array * 0.125,
        [Fraction(w) for w in array.tolist()],
    ):
        assert drawn(ds.batches(50, tensors=["x"], weights=weights)) == want
    tensors = [int(x) for batch in ds.pytorch(50, tensors=["x"], weights="w") for x in batch["x"]]
    assert tensors == want
    assert {row % 10 for row in drawn(ds.batches(50, tensors=["x"], weights="some"))} == {0}


def test_weights_belong_to_the_rows_of_the_view(ds: deeplake.Dataset) -> None:
    view = ds[[7, 3, 3, 11]]
    assert set(drawn(view.batches(4, tensors=["x"], weights=[0, 1, 0, 1], length=100))) == {3, 11}
    assert set(drawn(view.batches(4, tensors=["x"], weights="w", length=100))) == {3, 7, 11}
    with pytest.raises(deeplake.InvalidArgumentError, match=r"shape \(300,\), want one for each row: \(4,\)"):
        view.batches(4, weights=np.ones(ROWS))


@pytest.mark.parametrize("shuffle", [False, True])
def test_without_replacement(ds: deeplake.Dataset, shuffle: bool) -> None:
    loader = ds.batches(64, tensors=["x"], weights="w", replacement=False, shuffle=shuffle)
    rows = drawn(loader)
    assert sorted(rows) == [row for row in range(ROWS) if row % 4]
    assert drawn(loader) != rows  # the next epoch
    few = drawn(ds.batches(64, tensors=["x"], weights="w", replacement=False, length=20, shuffle=shuffle))
    assert len(set(few)) == 20


def test_heavy_rows_come_first_without_replacement(ds: deeplake.Dataset) -> None:
    first = Counter(
        row % 4
        for seed in range(40)
        for row in drawn(ds.batches(30, tensors=["x"], weights="w", replacement=False, length=30, seed=seed))
    )
    assert first[3] > first[2] > first[1] > 0 == first[0]


def test_draws_do_not_depend_on_threads_or_batches(ds: deeplake.Dataset) -> None:
    for arguments in ({}, {"shuffle": True}, {"replacement": False}):
        want = drawn(ds.batches(7, tensors=["x"], weights="w", num_workers=1, **arguments))
        assert drawn(ds.batches(64, tensors=["x"], weights="w", num_workers=4, prefetch=5, **arguments)) == want
        copy = pickle.loads(pickle.dumps(ds.batches(64, tensors=["x"], weights="w", **arguments)))
        assert drawn(copy) == want


@pytest.mark.parametrize("arguments", [{}, {"shuffle": True, "length": 1000}, {"replacement": False}])
def test_resume_and_ranks(ds: deeplake.Dataset, arguments: dict[str, Any]) -> None:
    def load(**more: Any) -> Any:
        return ds.batches(16, tensors=["x"], weights="w", **arguments, **more)

    want = drawn(load())
    loader = load()
    head = [int(x) for batch in itertools.islice(loader, 5) for x in batch["x"]]
    state = json.loads(json.dumps(loader.state_dict()))
    again = load(num_workers=1)
    again.load_state_dict(state)
    assert head + drawn(again) == want
    shares = [drawn(load(rank=rank, world_size=3)) for rank in range(3)]
    assert Counter(itertools.chain(*shares)) == Counter(want)


def test_a_state_pins_the_weights(ds: deeplake.Dataset) -> None:
    state = ds.batches(16, weights="w", collate="list").state_dict()
    assert len(json.dumps(state)) < 1024
    ds.batches(32, weights=np.arange(ROWS) % 4, collate="list").load_state_dict(state)
    for arguments in (
        {},
        {"weights": np.arange(ROWS) % 5},
        {"weights": "w", "length": 10},
        {"weights": "w", "replacement": False},
        {"weights": "w", "seed": 1},
    ):
        with pytest.raises(deeplake.InvalidArgumentError, match="another order"):
            ds.batches(16, collate="list", **arguments).load_state_dict(state)


@pytest.mark.parametrize(
    ("arguments", "kind", "wrong"),
    [
        ({"weights": [1.0]}, "InvalidArgumentError", r"weights have the shape \(1,\)"),
        ({"weights": np.ones((ROWS, 1))}, "InvalidArgumentError", r"shape \(300, 1\)"),
        ({"weights": np.zeros(ROWS)}, "InvalidArgumentError", "all 300 weights are 0"),
        ({"weights": -np.ones(ROWS)}, "InvalidArgumentError", "weight of row 0 is -1"),
        ({"weights": np.full(ROWS, np.nan)}, "InvalidArgumentError", "weight of row 0 is NaN"),
        ({"weights": np.full(ROWS, np.inf)}, "InvalidArgumentError", r"weight of row 0 is \+Inf"),
        ({"weights": ["a"] * ROWS}, "InvalidArgumentError", "weights is a list"),
        ({"weights": ["1"] * ROWS}, "InvalidArgumentError", "weights is a list, want one number .* got str"),
        ({"weights": [b"1"] * ROWS}, "InvalidArgumentError", "weights is a list, want one number .* got bytes"),
        ({"weights": np.array(["1", 1] * (ROWS // 2), object)}, "InvalidArgumentError", "want one number .* got '1'"),
        ({"weights": np.ones(ROWS, np.complex64)}, "InvalidArgumentError", "ndarray, want one number .* got complex64"),
        ({"weights": torch.ones(ROWS, dtype=torch.complex64)}, "InvalidArgumentError", "got complex64"),
        ({"weights": np.ones(ROWS, "m8[s]")}, "InvalidArgumentError", "got timedelta64"),
        ({"weights": "W"}, "NotFoundError", 'there is no tensor "W"'),
        ({"weights": "image"}, "InvalidArgumentError", 'weights are tensor "image"'),
        ({"weights": "ragged"}, "InvalidArgumentError", 'weights are tensor "ragged"'),
        ({"weights": "word"}, "InvalidArgumentError", 'weights are tensor "word", a text'),
        ({"weights": "w", "length": 0}, "InvalidArgumentError", "length"),
        ({"weights": "w", "replacement": 1}, "InvalidArgumentError", "replacement is 1"),
        ({"weights": "w", "replacement": False, "length": 226}, "InvalidArgumentError", "only 225 rows have a weight"),
        ({"length": 10}, "InvalidArgumentError", "give weights"),
        ({"replacement": False}, "InvalidArgumentError", "give weights"),
    ],
)
def test_bad_weights(ds: deeplake.Dataset, arguments: dict[str, Any], kind: str, wrong: str) -> None:
    with pytest.raises(getattr(deeplake, kind), match=wrong):
        ds.pytorch(4, **arguments)


def test_no_rows(ds: deeplake.Dataset) -> None:
    assert drawn(ds[:0].batches(4, tensors=["x"], weights=[])) == []


# The order of a view is the user's: a curriculum is a list of rows.
def test_rows_come_as_the_view_has_them(ds: deeplake.Dataset) -> None:
    rows = [5, 5, 1, 200, 0, 0, 0, 299, 5, 7]
    loader = ds[rows].pytorch(4, tensors=["x"], return_index=True)
    for _ in range(2):  # every epoch
        batches = list(loader)
        assert [int(x) for batch in batches for x in batch["x"]] == rows
        assert [int(x) for batch in batches for x in batch["_index"]] == rows
    hard_first = np.argsort(-(np.arange(ROWS) * 37 % 101), kind="stable")
    assert drawn(ds[hard_first].batches(32, tensors=["x"])) == hard_first.tolist()
    shares = [drawn(ds[rows].batches(2, tensors=["x"], rank=rank, world_size=2)) for rank in range(2)]
    assert Counter(itertools.chain(*shares)) == Counter(rows)
    assert shares[0][:2] + shares[1][:2] == rows[:4]
