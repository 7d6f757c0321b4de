"""Several views read as one."""

from __future__ import annotations

import importlib.util
import itertools
import json
import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest
from conftest import picture

_numbers = itertools.count()


def numbered(
    rows: int, first: int = 0, uri: str = "", names: list[str] | None = None, **storage: Any
) -> deeplake.Dataset:
    """Rows that count from `first`, with a JPEG each."""
    ds = deeplake.create(uri or f"mem://mix-{next(_numbers)}", **storage)
    ds.create_tensor("x", dtype="int64")
    ds.create_tensor("image", "image", compression="jpeg")
    ds.create_tensor("word", "text")
    ds.create_tensor("label", "class_label", class_names=names)
    ds.extend(
        {
            "x": np.arange(first, first + rows),
            "image": [picture(i % 7) for i in range(rows)],
            "word": [f"w{first + i}" for i in range(rows)],
            "label": np.arange(rows) % 3,
        }
    )
    ds.commit("rows")
    return ds


@pytest.fixture(scope="module")
def sets() -> list[deeplake.Dataset]:
    """Two sets: rows 0 to 119, and 1,000 to 1,059."""
    return [numbered(120), numbered(60, 1000)]


def taken(loader: Any) -> list[int]:
    return [int(x) for batch in loader for x in batch["x"]]


@pytest.mark.parametrize("mode", ["random", "exact", "sequential"])
@pytest.mark.parametrize("shuffle", [False, True, "full"])
def test_every_row_comes_once(sets: list[deeplake.Dataset], mode: Any, shuffle: Any) -> None:
    mixed = deeplake.mix(sets, mode=mode)
    loader = mixed.batches(16, shuffle=shuffle, return_index=True)
    seen = []
    for batch in loader:
        assert batch["_source"].dtype == np.int64
        assert (batch["x"] == batch["_index"] + 1000 * batch["_source"]).all()
        assert batch["word"] == [f"w{x}" for x in batch["x"]]
        for image, row in zip(batch["image"], batch["_index"], strict=True):
            assert np.abs(image.astype(int) - picture(int(row) % 7)).mean() < 4
        seen += batch["x"].tolist()
    assert len(loader) == -(-180 // 16)
    everything = [*range(120), *range(1000, 1060)]
    assert sorted(seen) == everything
    if not shuffle:
        assert [x for x in seen if x < 1000] == everything[:120]
        assert [x for x in seen if x >= 1000] == everything[120:]
    if mode == "sequential":
        assert [x >= 1000 for x in seen] == [False] * 120 + [True] * 60


def test_exact_batches(sets: list[deeplake.Dataset]) -> None:
    mixed = deeplake.mix(sets, [3, 1], mode="exact")
    for batch in mixed.batches(8, shuffle=True, return_index=True, drop_last=True):
        assert (batch["_source"] == 1).sum() == 2
    assert 160 <= len(taken(mixed.batches(8))) < 164


def test_where_an_epoch_ends(sets: list[deeplake.Dataset]) -> None:
    def shares(**arguments: Any) -> tuple[int, int]:
        mixed = deeplake.mix(sets, **arguments)
        seen = taken(mixed.batches(10, shuffle=True))
        assert len(mixed) == len(seen)
        return sum(x < 1000 for x in seen), sum(x >= 1000 for x in seen)

    assert shares() == (120, 60)
    assert shares(weights=[1, 1]) in [(60, 60), (61, 60)]
    # rows take turns, and the first set has the last
    assert shares(weights=[1, 1], stop="all_exhausted") == (120, 119)
    assert shares(weights=[0.9, 0.1], length=1000) == (900, 100)
    assert shares(length=90) == (60, 30)


def test_a_view_goes_on_in_the_next_epoch(sets: list[deeplake.Dataset]) -> None:
    loader = deeplake.mix(sets, [1, 1], length=80).batches(10, shuffle=True)
    first = [x for _ in range(3) for x in taken(loader) if x < 1000]
    assert sorted(first) == list(range(120))


def test_the_loaders_agree(sets: list[deeplake.Dataset]) -> None:
    pytest.importorskip("torch")
    mixed = deeplake.mix(sets, [2, 1], tensors=["x", "label"])
    want = taken(mixed.batches(12, shuffle=True, seed=3))
    tensors = mixed.pytorch(12, shuffle=True, seed=3, return_index=True)
    assert [int(x) for batch in tensors for x in batch["x"]] == want
    assert {name for batch in tensors for name in batch} == {"x", "label", "_index", "_source"}
    assert taken(pickle.loads(pickle.dumps(mixed)).batches(12, shuffle=True, seed=3)) == want
    assert taken(deeplake.mix(sets[::-1], [1, 2]).batches(12, shuffle=True, seed=3)) != want
    assert taken(deeplake.mix(sets, [20, 10]).batches(12, shuffle=True, seed=3, num_workers=1)) == want


@pytest.mark.parametrize("host", ["tensorflow", "jax"])
def test_other_hosts(tmp_path: Path, run_python: Callable[..., Any], host: str) -> None:
    """In a process of their own: their threads do not go with the forks of other tests."""
    if importlib.util.find_spec(host) is None:
        pytest.skip(f"{host} is not installed")
    places = [str(tmp_path / "a"), str(tmp_path / "b")]
    sets = [numbered(120, 0, places[0]), numbered(60, 1000, places[1])]
    done = run_python(
        f"""
import sys
import deeplake
mixed = deeplake.mix([deeplake.open(place) for place in sys.argv[1:]], tensors=["x", "label"])
for batch in mixed.{host}(12, shuffle=True, return_index=True):
    assert sorted(batch) == ["_index", "_source", "label", "x"], batch
    for x, index, source in zip(batch["x"], batch["_index"], batch["_source"], strict=True):
        assert int(x) == int(index) + 1000 * int(source)
        print(int(x))
""",
        *places,
    )
    assert [int(x) for x in done.stdout.split()] == taken(deeplake.mix(sets).batches(12, shuffle=True))


def test_transforms_see_rows_of_all_views(sets: list[deeplake.Dataset]) -> None:
    mixed = deeplake.mix(sets, tensors=["x", "word"])
    for batch in mixed.batches(50, transform={"x": lambda x: x + 1}, return_index=True):
        assert (batch["x"] - 1 == batch["_index"] + 1000 * batch["_source"]).all()
    for batch in mixed.batches(50, transform=lambda row: {"y": row["x"] * 2}):
        assert set(batch) == {"y"}
    rows = [row for batch in mixed.batches(50, collate=lambda rows: rows, return_index=True) for row in batch]
    assert all(row["x"] == row["_index"] + 1000 * row["_source"] for row in rows) and len(rows) == 180


def test_resume_and_ranks(sets: list[deeplake.Dataset]) -> None:
    for mode in ("random", "exact"):
        mixed = deeplake.mix(sets, [1, 2], mode=mode, stop="all_exhausted")
        want = taken(mixed.batches(8, shuffle=True))
        loader = mixed.batches(8, shuffle=True)
        head = [int(x) for batch in itertools.islice(loader, 7) for x in batch["x"]]
        state = json.loads(json.dumps(loader.state_dict()))
        assert len(json.dumps(state)) < 1024
        again = mixed.batches(8, shuffle=True, num_workers=1)
        again.load_state_dict(state)
        assert head + taken(again) == want
        halves = [mixed.batches(4, shuffle=True, rank=rank, world_size=2) for rank in range(2)]
        for half in halves:
            half.load_state_dict(state)
        rest = Counter(x for half in halves for x in taken(half))
        assert Counter(head) + rest == Counter(want)


def test_a_state_pins_the_mixture(sets: list[deeplake.Dataset]) -> None:
    state = deeplake.mix(sets, [1, 2]).batches(8).state_dict()
    deeplake.mix(sets, [0.5, 1.0]).batches(16).load_state_dict(state)
    others = [
        deeplake.mix(sets, [1, 3]),
        deeplake.mix(sets, [1, 2], mode="exact"),
        deeplake.mix(sets[::-1], [1, 2]),
        deeplake.mix([sets[0], sets[1][:50]], [1, 2]),
        deeplake.mix(sets),
    ]
    for other in others:
        with pytest.raises(deeplake.InvalidArgumentError, match="other rows or another order"):
            other.batches(8).load_state_dict(state)
    with pytest.raises(deeplake.InvalidArgumentError, match="other rows or another order"):
        sets[0].batches(8).load_state_dict(state)


def test_views_and_one_set_twice(sets: list[deeplake.Dataset]) -> None:
    mixed = deeplake.mix([sets[0][:10], sets[0][[50, 50]], sets[1]])
    assert Counter(taken(mixed.batches(7))) == Counter([*range(10), 50, 50, *range(1000, 1060)])
    assert [len(view) for view in mixed.views] == [10, 2, 60]
    assert "3 views" in repr(mixed) and sets[1].uri in repr(mixed)
    assert mixed.tensors == ["x", "image", "word", "label"]


def other(**tensors: Any) -> deeplake.Dataset:
    ds = deeplake.create(f"mem://mix-{next(_numbers)}")
    for name, (arguments, _) in tensors.items():
        ds.create_tensor(name, **arguments)
    ds.extend({name: values for name, (_, values) in tensors.items()})
    ds.commit("rows")
    return ds


def test_bad_mixtures(sets: list[deeplake.Dataset]) -> None:
    float_x = other(x=({"dtype": "float32"}, [1.0]))
    label_x = other(x=({"htype": "class_label", "dtype": "int64"}, [1]))
    nothing = other(y=({"dtype": "int64"}, [1]))
    cats, dogs = numbered(3, names=["cat", "dog", "cow"]), numbered(3, names=["dog", "cat", "cow"])
    bad: Any = deeplake.InvalidArgumentError
    for views, arguments, kind, wrong in [
        ([], {}, bad, "there is no view"),
        (sets[0], {}, bad, "views is a Dataset, want a list"),
        ([sets[0], "mem://x"], {}, bad, "view 1 is a str"),
        ([sets[0], sets[1][:0]], {}, bad, "view 1, .*, has no rows; leave it out"),
        ([sets[0], nothing], {}, bad, "no tensor is in all views"),
        ([sets[0], nothing], {"tensors": ["y"]}, deeplake.NotFoundError, 'there is no tensor "y"'),
        ([sets[0], float_x], {}, deeplake.TensorTypeError, "it is int64 in view 0, .*, and float32 in view 1"),
        ([sets[0], label_x], {}, deeplake.TensorTypeError, "htype is 'generic' in .* and 'class_label' in"),
        ([cats, dogs], {}, deeplake.TensorTypeError, "class_names is .* leave it out by tensors="),
        (sets, {"weights": [1]}, bad, "1 weights for 2 views"),
        (sets, {"weights": [1, 0]}, bad, "weight of view 1 is 0"),
        (sets, {"weights": [1, -1]}, bad, "weight of view 1 is -1"),
        (sets, {"weights": [1, float("nan")]}, bad, "want one positive number for each view"),
        (sets, {"weights": "ab"}, bad, "want one positive number for each view"),
        (sets, {"weights": ["1", "2"]}, bad, "want one positive number for each view"),
        (sets, {"weights": [1, 2j]}, bad, "want one positive number for each view"),
        (sets, {"mode": "exakt"}, bad, 'mode is "exakt"'),
        (sets, {"stop": "never"}, bad, 'stop is "never"'),
        (sets, {"mode": "sequential", "weights": [1, 1]}, bad, "takes neither weights"),
        (sets, {"length": 0}, bad, "length is 0"),
        (sets, {"length": 1 << 63}, bad, "length is 9223372036854775808"),
        (sets, {"tensors": "x"}, bad, "want a list of names"),
        (sets, {"tensors": 5}, bad, "want a list of names"),
        (sets, {"tensors": iter(["x"])}, bad, "want a list of names"),
        (sets, {"wieghts": [1, 1]}, bad, 'did you mean "weights"'),
    ]:
        with pytest.raises(kind, match=wrong):
            deeplake.mix(views, **arguments)
    assert deeplake.mix([cats, dogs], tensors=["x"]).tensors == ["x"]
    for weights in (np.ones(180), "x"):
        with pytest.raises(bad, match="rows cannot have weights"):
            deeplake.mix(sets).batches(4, weights=weights)
