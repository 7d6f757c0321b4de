"""Names of other libraries: each one works, or leads to ours, as docs/coming-from.md says."""

from __future__ import annotations

import copy
import inspect
import operator
import re
from pathlib import Path

import deeplake
import numpy as np
import pytest
from deeplake._neighbours import DATASET, PACKAGE, TENSOR

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"
WORKS = {
    "num_rows": lambda ds: ds.num_rows == 10,
    "count_rows": lambda ds: ds.count_rows() == 10,
    "column_names": lambda ds: ds.column_names == ["x", "label"],
    "columns": lambda ds: ds.columns == ["x", "label"],
    "keys": lambda ds: ds.keys() == ["x", "label"],
    "features": lambda ds: ds.features == ds.schema,
    "select": lambda ds: ds.select([4, 1])["x"][:].tolist() == [4, 1],
    "select_columns": lambda ds: list(ds.select_columns(["x"]).tensors) == ["x"],
    "take": lambda ds: ds.take(3)["x"][:].tolist() == [0, 1, 2],
    "skip": lambda ds: ds.skip(8)["x"][:].tolist() == [8, 9],
    "tail": lambda ds: len(ds.tail(50)) == 10 and ds.tail(2)["x"][:].tolist() == [8, 9] and len(ds.tail(0)) == 0,
    "shuffle": lambda ds: (
        sorted(ds.shuffle(seed=1).rows) == list(range(10))
        and (ds.shuffle(seed=1).rows != ds.shuffle(seed=2).rows).any()
    ),
    "train_test_split": lambda ds: [len(part) for part in ds.train_test_split(0.2, seed=1).values()] == [8, 2],
    "to_table": lambda ds: ds.to_table().num_rows == 10,
}
TENSOR_WORKS = {
    "to_numpy": lambda x: x.to_numpy().tolist() == list(range(10)),
    "values": lambda x: x.values.tolist() == list(range(10)),
    "num_samples": lambda x: x.num_samples == 10,
    "tolist": lambda x: x.tolist() == list(range(10)),
    "to_pylist": lambda x: x.to_pylist() == list(range(10)),
}


@pytest.fixture(scope="module")
def ds():
    with deeplake.create("mem://neighbours", overwrite=True, schema={"x": {"dtype": "int64"}, "label": "text"}) as ds:
        ds.extend({"x": np.arange(10), "label": ["a", "b"] * 5})
        ds.commit()
        yield ds


def test_each_name_works_or_leads_to_ours(ds):
    assert WORKS.keys() == {name for name, found in DATASET.items() if found.same}
    assert TENSOR_WORKS.keys() == {name for name, found in TENSOR.items() if found.same}
    pytest.importorskip("pyarrow")
    for source in (ds, ds[:]):
        for name in DATASET:
            if name in WORKS:
                assert WORKS[name](source), name
                continue
            with pytest.raises(AttributeError, match=f"no attribute {name!r}; write "):
                getattr(source, name)
    for name in TENSOR:
        if name in TENSOR_WORKS:
            assert TENSOR_WORKS[name](ds["x"]), name
            continue
        with pytest.raises(AttributeError, match=f"no attribute {name!r}; write "):
            getattr(ds["x"], name)
    for name in PACKAGE:
        with pytest.raises(AttributeError, match=f"no attribute {name!r}; write "):
            getattr(deeplake, name)


def test_the_names_of_ours_exist(ds):
    """No entry hides a name of ours, and each method that the table tells of is there."""
    for kind, table, source in ((deeplake.Dataset, DATASET, "ds"), (deeplake.Tensor, TENSOR, 'ds["x"]')):
        assert not [name for name in table if name in dir(kind)]
        for found in table.values():
            text = found.ours.format(source, "x")
            for method in re.findall(r"(?<![\w)\]])ds\.(\w+)", text):
                assert method in dir(deeplake.Dataset), text
            for method in re.findall(r"deeplake\.(\w+)", text):
                assert hasattr(deeplake, method), text
    assert not [name for name in PACKAGE if name in deeplake.__all__]


def test_queries_of_the_table_run(ds):
    texts = [found.ours.format("ds", "x") for found in (*DATASET.values(), *TENSOR.values())]
    queries = {query for text in texts for query in re.findall(r"query\('(SELECT .*?)'", text) if "..." not in query}
    assert len(queries) > 8
    for query in queries:
        ds.query(query, *[[1, 2]] * query.count("?"))


def test_other_names(ds):
    with pytest.raises(AttributeError, match=r'write ds\["label"\] for the tensor'):
        operator.attrgetter("label")(ds)
    with pytest.raises(AttributeError, match='did you mean "query"'):
        operator.attrgetter("quary")(ds)
    with pytest.raises(AttributeError, match=r"no attribute 'nothing_like_it'$"):
        operator.attrgetter("nothing_like_it")(ds)
    with pytest.raises(AttributeError, match='did you mean "create"'):
        operator.attrgetter("creates")(deeplake)
    for name in ("_private", "__dunder__", "_repr_markdown_"):
        assert not hasattr(ds, name) and not hasattr(ds["x"], name) and not hasattr(deeplake, name)
    assert not hasattr(object.__new__(deeplake.View), "_source")
    assert copy.copy(ds[:3])["x"][:].tolist() == [0, 1, 2]
    assert inspect.getattr_static(ds, "take", None) is None
    for call in (
        lambda: ds.take(-1),
        lambda: ds.take([1, 2]),
        lambda: ds.skip("a"),
        lambda: ds.train_test_split(seeds=1),
    ):
        with pytest.raises(deeplake.InvalidArgumentError):
            call()


def test_train_test_split_means_the_same(ds):
    parts = ds.train_test_split(test_size=4, seed=3, stratify_by_column="label")
    assert sorted(parts["test"]["label"][:]) == ["a", "a", "b", "b"]
    assert ds.train_test_split(test_size=0.3, shuffle=False)["test"].rows.tolist() == [7, 8, 9]
    with pytest.raises(deeplake.InvalidArgumentError, match=r"shuffle\(seed=1000\).*shuffle_bytes"):
        ds.shuffle(1000)
    with pytest.raises(deeplake.InvalidArgumentError, match=r"ds.query\('SELECT \* WHERE x > 1'\)"):
        ds.filter("x > 1")
    assert [len(part) for part in ds.train_test_split().values()] == [8, 2]
    assert [len(part) for part in ds.train_test_split(train_size=6).values()] == [6, 4]


def test_the_page_has_the_table():
    assert table() in PAGE.read_text(), f"docs/coming-from.md lacks this table:\n\n{table()}"


def table() -> str:
    lines = ["| name | of | here |", "|---|---|---|"]
    for source, entries in (("ds", DATASET), ('ds["x"]', TENSOR), ("deeplake", PACKAGE)):
        for name, found in entries.items():
            ours = found.ours.format(source, "x")
            lines.append(f"| `{source}.{name}` | {found.of} | {'works: ' if found.same else ''}`{ours}` |")
    return "\n".join(lines)
