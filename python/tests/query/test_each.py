"""Parameters that take the rows of an array in turn: many query vectors, one pass."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import deeplake
import numpy as np
import pytest
from deeplake import tql

ROWS, AXES, TURNS, FIRST = 3000, 16, 6, 10


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return np.random.default_rng(4).normal(size=(ROWS + TURNS, AXES)).astype(np.float32)


@pytest.fixture(scope="module")
def ds(vectors: np.ndarray) -> Iterator[deeplake.Dataset]:
    with deeplake.create("mem://each", overwrite=True) as made:
        made.create_tensor("id", dtype="int64")
        made.create_tensor("embedding", "embedding")
        made.create_tensor("label", "class_label", class_names=["even", "odd"])
        made.extend({"id": np.arange(ROWS), "embedding": vectors[:ROWS], "label": np.arange(ROWS) % 2})
        made.commit()
        yield made


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_near_vectors(ds: deeplake.Dataset, vectors: np.ndarray, dtype: type) -> None:
    wanted = vectors[ROWS:].astype(dtype)
    text = "SELECT id, L2_NORM(embedding - ?) AS distance WHERE label = 'odd' ORDER BY distance LIMIT 10"
    view = ds.query(text, tql.each(wanted))
    assert len(view) == TURNS * FIRST
    distance = np.linalg.norm(vectors[1:ROWS:2].astype(np.float64) - wanted[:, None].astype(np.float64), axis=2)
    order = np.argsort(distance, axis=1)[:, :FIRST]
    assert (view.indices.reshape(TURNS, FIRST) == 2 * order + 1).all()
    assert np.allclose(
        view["distance"].numpy().reshape(TURNS, FIRST), np.take_along_axis(distance, order, 1), rtol=1e-6
    )
    assert (view["id"].numpy() == view.indices).all()


def test_as_one_after_the_other(ds: deeplake.Dataset, vectors: np.ndarray) -> None:
    wanted = vectors[ROWS:]
    text = "SELECT *, COSINE_SIMILARITY(embedding, ?) AS near ORDER BY near DESC LIMIT 7 OFFSET 3"
    view = ds.query(text, tql.each(wanted))
    for turn, one in enumerate(wanted):
        part = view[turn * 7 : turn * 7 + 7]
        alone = ds.query(text, one)
        assert (part.indices == alone.indices).all() and (part["near"].numpy() == alone["near"].numpy()).all()
    again = pickle.loads(pickle.dumps(view))
    assert (again.indices == view.indices).all()
    batch = next(iter(view.batches(TURNS * 7)))
    assert (batch["id"] == view.indices).all() and batch["embedding"].shape == (TURNS * 7, AXES)


def test_refused(ds: deeplake.Dataset, vectors: np.ndarray) -> None:
    wanted = tql.each(vectors[ROWS:])
    for text, says in [
        ("SELECT id ORDER BY DOT(embedding, ?)", "a LIMIT of at most"),
        ("SELECT id WHERE DOT(embedding, ?) > 1 ORDER BY id LIMIT 1", "no place in WHERE"),
        ("SELECT label, MAX(DOT(embedding, ?)) AS m GROUP BY label ORDER BY m LIMIT 1", "without groups"),
    ]:
        with pytest.raises(deeplake.InvalidArgumentError, match=says):
            ds.query(text, wanted)
    for values in (3.0, ["a"], np.zeros((0, 4))):
        with pytest.raises(deeplake.Error):
            ds.query("SELECT id ORDER BY DOT(embedding, ?) LIMIT 1", tql.each(values))
