"""Indices select the rows that they select in NumPy."""

from __future__ import annotations

import deeplake
import numpy as np
import pytest
from deeplake import _index
from hypothesis import given
from hypothesis import strategies as st

slices = st.builds(slice, *[st.none() | st.integers(-12, 12)] * 2, st.none() | st.integers(-4, 4).filter(bool))


@given(st.integers(0, 9), slices, slices)
def test_slices_of_slices(length, first, second):
    outer = _index.parse(first, length)
    inner = _index.parse(second, len(outer))
    wanted = np.arange(length)[first][second]
    assert _index.as_array(_index.compose(outer, inner)).tolist() == wanted.tolist()


@given(st.data(), st.integers(1, 9))
def test_any_two_selections(data, length):
    def index(n):
        ints = st.lists(st.integers(-n, n - 1), max_size=6) if n else st.just([])
        mask = st.lists(st.booleans(), min_size=n, max_size=n).map(lambda bits: np.array(bits, bool))
        return data.draw(slices | ints | mask)

    def numpy(array, index):
        return array[np.asarray(index, int) if isinstance(index, list) else index]

    first = index(length)
    outer = _index.parse(first, length)
    wanted = numpy(np.arange(length), first)
    second = index(len(wanted))
    got = _index.compose(outer, _index.parse(second, len(outer)))
    assert _index.as_array(got).tolist() == numpy(wanted, second).tolist()


@pytest.mark.parametrize(
    ("index", "row"), [(0, 0), (-1, 4), (np.int64(3), 3), (np.uint8(2), 2), (np.array(1), 1), (-5, 0)]
)
def test_single_rows(index, row):
    assert _index.parse(index, 5) == row


@pytest.mark.parametrize(
    ("index", "rows"),
    [
        ([], []),
        ([2, 2, -1], [2, 2, 4]),
        (range(1, 4), [1, 2, 3]),
        (np.array([1, 3], np.uint16), [1, 3]),
        ([True, False, False, True, False], [0, 3]),
        (np.zeros(5, bool), []),
    ],
)
def test_many_rows(index, rows):
    assert _index.as_array(_index.parse(index, 5)).tolist() == rows


def test_torch_tensors_are_indices():
    torch = pytest.importorskip("torch")
    assert _index.parse(torch.tensor([3]), 5).tolist() == [3]
    assert _index.parse(torch.tensor(3), 5) == 3
    assert _index.parse(torch.tensor([True, False, True]), 3).tolist() == [0, 2]


def test_the_callers_array_is_not_kept():
    given = np.array([1, 2])
    rows = _index.parse(given, 5)
    given[:] = 0
    assert rows.tolist() == [1, 2]


@pytest.mark.parametrize("index", [5, -6, [0, 5], [-6, 0], np.array([1 << 62]), np.array([(1 << 64) - 1], np.uint64)])
def test_out_of_range(index):
    with pytest.raises(deeplake.OutOfRangeError, match="out of range for 5 rows"):
        _index.parse(index, 5)


@pytest.mark.parametrize(
    "index",
    [None, ..., "x", b"x", True, np.True_, 1.5, [1.5], (1, 2), {1}, {1: 2}, [[1]], [True], object(), ["a"], [None],
     np.ones(4, bool), slice(None, None, 0), slice(0.5, 2), np.array(1.5), [[1], [1, 2]]],
)  # fmt: skip
def test_no_index(index):
    with pytest.raises(deeplake.InvalidArgumentError, match="index rows"):
        _index.parse(index, 5)
