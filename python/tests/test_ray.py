"""Ray: what its tasks read equals what we read, and what they write is one commit or none."""

from __future__ import annotations

import logging
import os
import pickle
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest
from conftest import picture

if sys.version_info >= (3, 14):
    pytest.skip("the tests pin Ray below Python 3.14: it has no wheel without the GIL", allow_module_level=True)

# Before the import: no reports, no token in the home directory.
os.environ.update({"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "RAY_DATA_DISABLE_PROGRESS_BARS": "1"})

import deeplake.ray
import pyarrow as pa
import ray
from deeplake._compute.write_job import WriteJob
from deeplake._engines import ray_filter
from deeplake._engines.ray_columns import columns_of
from deeplake._engines.ray_read import DeeplakeDatasource
from deeplake._engines.ray_write import DeeplakeDatasink, as_stream
from deeplake._engines.selection import asked, selected
from deeplake._query.query import Question, answer
from deeplake._stores.carried import Carried
from ray.data.expressions import col, lit

ROWS = 120
NAMES = ("cat", "dog", "cow")


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """One node of two cores."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=150 << 20)
    logging.getLogger("ray").setLevel(logging.WARNING)  # or a failure shows a thousand lines
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    yield
    context.execution_options.preserve_order = False
    ray.shutdown()


def columns() -> dict[str, Any]:
    rows = range(ROWS)
    return {
        "id": np.arange(ROWS),
        "score": [None if row % 10 == 9 else row / 8 for row in rows],
        "word": [None if row % 7 == 3 else f"w{row % 5}" for row in rows],
        "label": [NAMES[row % 3] for row in rows],
        "same": np.stack([picture(row, 8, 6) for row in rows]),
        "image": [None if row == 5 else picture(row, 8 + row % 3, 6) for row in rows],
        "vector": [None if row == 4 else np.full(4, row, np.float32) for row in rows],
        "boxes": [None if row == 7 else np.full((row % 3, 4), row, np.float32) for row in rows],
        "tags": [[f"t{row}"] * (row % 3) for row in rows],
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A dataset of most types, in chunks of a few rows."""
    uri = str(tmp_path_factory.mktemp("ray") / "set")
    schema = {
        "id": {"dtype": "int64"},
        "score": {"dtype": "float64"},
        "word": "text",
        "label": {"htype": "class_label", "class_names": list(NAMES)},
        "same": {"htype": "image", "compression": "png"},
        "image": {"htype": "image", "compression": "png"},
        "vector": {"dtype": "float32"},
        "boxes": {"dtype": "float32"},
        "tags": "sequence[text]",
    }
    with deeplake.create(uri, schema=schema) as ds:
        ds.extend(columns())
        ds.commit("rows")
    return uri


def source_of(uri: str, *names: str) -> DeeplakeDatasource:
    with deeplake.open(uri) as ds:
        view = ds[list(names)] if names else ds
        return DeeplakeDatasource(selected("read", view._source.pinned()))


def tables_of(source: DeeplakeDatasource, parts: int = 3, limit: int | None = None) -> list[Any]:
    return [pa.concat_tables(task()) for task in source.get_read_tasks(parts, limit)]


# --- reading -----------------------------------------------------------------------------------


def test_columns_and_types(cluster: None, place: str) -> None:
    rows = deeplake.ray.read(place, override_num_blocks=4)
    assert rows.count() == ROWS  # without a task
    names = ["id", "score", "word", "label", "vector", "boxes", "tags"]
    assert rows.schema().names == names, "pictures are read if they are named"
    table = pa.concat_tables(ray.get(rows.to_arrow_refs()))
    with deeplake.open(place) as ds:
        plain = ["id", "score", "word", "label", "tags"]
        assert table.select(plain).to_pylist() == ds.to_arrow(tensors=plain).to_pylist()
    assert [table.column(name).null_count for name in ("vector", "boxes")] == [1, 1]
    want = columns()
    batch = deeplake.ray.read(place, columns=["same", "image", "vector", "boxes", "id"]).take_batch(ROWS)
    assert list(batch) == ["same", "image", "vector", "boxes", "id"]
    assert batch["same"].dtype == np.uint8 and np.array_equal(batch["same"], want["same"])
    assert batch["vector"].shape == (ROWS, 4) and batch["vector"][4].tolist() == [0] * 4
    for name in ("image", "boxes"):
        for got, value in zip(batch[name], want[name], strict=True):
            assert got.size == 0 if value is None else np.array_equal(got, value)


def test_batches_of_torch(cluster: None, place: str) -> None:
    import torch

    rows = deeplake.ray.read(place, columns=["same", "id"], query="SELECT * WHERE id < 40")
    batches = list(rows.iter_torch_batches(batch_size=16))
    assert [tuple(batch["same"].shape) for batch in batches] == [(16, 8, 6, 3), (16, 8, 6, 3), (8, 8, 6, 3)]
    assert batches[0]["same"].dtype == torch.uint8
    assert [int(x) for batch in batches for x in batch["id"]] == list(range(40))


def test_conditions_of_ray_are_those_of_tql(cluster: None, place: str) -> None:
    rows = deeplake.ray.read(place, override_num_blocks=3, columns=["id", "same", "score", "word", "label"])
    for expr, where in (
        ((col("id") >= 10) & (col("id") < 50) & (col("label") == "dog"), "id >= 10 AND id < 50 AND label = 'dog'"),
        (col("word").is_in(["w1", "w4"]) | col("score").is_null(), "word IN ('w1', 'w4') OR score IS NULL"),
        # The second condition is left to Arrow, in the task.
        ((col("score") > 3) & ((col("id") % 2) == 1), "score > 3 AND id % 2 = 1"),
        (col("label") == "bird", "id < 0"),
    ):
        kept = rows.filter(expr=expr)
        with deeplake.open(place) as ds:
            want = ds.query(f"SELECT * WHERE {where}").rows.tolist()
        assert [row["id"] for row in kept.select_columns(["id"]).take_all()] == want
        assert kept.count() == len(want)
    few = rows.filter(expr=col("id") == 77).take_all()
    assert len(few) == 1 and np.array_equal(few[0]["same"], columns()["same"][77])
    # A condition that TQL has no part of stays with Ray.
    assert rows.filter(expr=(col("id") % 40) == 7).count() == 3
    assert [row["id"] for row in rows.limit(5).take_all()] == list(range(5))


def test_random_conditions() -> None:
    """Every condition that is taken keeps the rows that Ray's own filter keeps."""
    from ray.data._internal.planner.plan_expression.expression_evaluator import eval_expr

    rng = random.Random(52)
    values: dict[str, list[Any]] = {
        "i": [-3, 0, 2, 7],
        "f": [0.1, 2, -1.5, 0],
        "d": [0.1, 2.0, 0],
        "b": [True, False],
        "t": ["", "a", "b", "é", "zz", "'q'"],
        "k": ["a", "c", "zz"],
    }
    more = {"f": [float("nan"), float("inf"), -0.0], "d": [float("nan"), -1.5], "k": ["b"], "i": [1, -2]}
    ds = deeplake.create("mem://ray-conditions")
    for name, dtype in (("i", "int32"), ("f", "float32"), ("d", "float64"), ("b", "bool")):
        ds.create_tensor(name, dtype=dtype)
    ds.create_tensor("t", "text")
    ds.create_tensor("k", "class_label", class_names=["a", "b", "c"])
    pool = {name: [value for value in [*values[name], *more.get(name, [])] if value != "zz"] for name in values}
    ds.extend({n: [None if rng.random() < 0.2 else rng.choice(pool[n]) for _ in range(200)] for n in values})
    ds.commit()
    pinned, table = ds[:]._source.pinned(), ds.to_arrow()
    scalars = {name: column.scalar for name, column in columns_of(pinned, list(values)).items()}

    def leaf() -> Any:
        name = rng.choice("ifdbtk")
        x, value = col(name), rng.choice(values[name])
        kind = rng.randrange(6)
        if kind < 2:
            return x.is_null() if kind else x.is_not_null()
        if kind < 4:
            some = rng.sample(values[name], rng.randint(1, 2))
            return x.is_in(some) if kind == 2 else x.not_in(some)
        if name in "bk":
            return x == value if kind == 4 else x != value
        return rng.choice([x == value, x != value, x < value, x <= value, x > value, x >= value, lit(value) < x])

    def tree(depth: int) -> Any:
        kind = rng.randrange(4) if depth else 3
        if kind == 3:
            return leaf()
        if kind == 0:
            return ~tree(depth - 1)
        left, right = tree(depth - 1), tree(depth - 1)
        return left & right if kind == 1 else left | right

    def kept(expr: Any) -> set[int]:
        return set(np.flatnonzero([bool(value) for value in eval_expr(expr, table).to_pylist()]).tolist())

    taken = 0
    for _ in range(400):
        expr = tree(3)
        text, params, left = ray_filter.split(expr, scalars)
        if not text:
            continue
        taken += 1
        got = set(answer(pinned, Question(f"SELECT * WHERE {text}", tuple(params)), None).numbers().tolist())
        for part in left:
            got &= kept(part)
        assert got == kept(expr), text
    assert taken > 300


def test_tasks_are_equal_parts_and_can_run_again(place: str) -> None:
    source = source_of(place)
    tasks = source.get_read_tasks(7)
    assert [task.metadata.num_rows for task in tasks] == [17, 17, 17, 17, 17, 17, 18]
    assert sum(task.metadata.size_bytes for task in tasks) >= source.estimate_inmemory_data_size() > 0
    assert len(pickle.dumps(tasks[0])) < 10_000
    first, again = [pa.concat_tables(pickle.loads(pickle.dumps(tasks[3]))()) for _ in range(2)]
    assert first.equals(again) and first.column("id").to_pylist() == list(range(51, 68))
    assert len(source.get_read_tasks(1)) == 1 and len(source.get_read_tasks(1000)) == ROWS
    [whole] = tables_of(source, 1)
    near = source.estimate_inmemory_data_size() / whole.nbytes
    assert 0.7 < near < 1.4, "the estimate is honest"
    assert tables_of(source, 1, limit=3)[0].num_rows == 3
    some = source.apply_predicate(col("id") >= 100)
    assert [task.metadata.num_rows for task in some.get_read_tasks(3)] == [None] * 3
    assert [table.num_rows for table in tables_of(some, 3)] == [0, 0, 20]
    assert tables_of(some.apply_projection({}), 1)[0].num_rows == 20
    assert some.apply_predicate((col("id") % 2) == 0) is some


def test_views_and_queries(cluster: None, place: str, tmp_path: Path) -> None:
    with deeplake.open(place) as ds:
        view = ds[100:20:-3]
        assert [row["id"] for row in view.to_ray(override_num_blocks=3).take_all()] == list(range(100, 20, -3))
        rows = deeplake.ray.read(
            ds, query="SELECT id, same WHERE id > :low ORDER BY id DESC LIMIT 3", params={"low": 9}
        )
        got = rows.take_all()
        assert [list(row) for row in got] == [["id", "same"]] * 3 and [row["id"] for row in got] == [119, 118, 117]
        where = asked("read", ds._source.pinned(), "SELECT id WHERE word = ? AND ISNAN(score) = false", ["w2"])
        assert (where.rows, where.names, len(where.wheres)) == (range(ROWS), ("id",), 1), "the tasks check it"
        for text in (
            "SELECT * WHERE ROW_NUMBER() < 9",
            "SELECT * WHERE score > (SELECT AVG(score))",
            "SELECT * LIMIT 4",
        ):
            assert not asked("read", ds._source.pinned(), text, ()).wheres, "not of one row"
        shuffled = ds.query("SELECT id WHERE id < 50")[::2]
        assert [row["id"] for row in shuffled.to_ray().take_all()] == list(range(0, 50, 2))
        for text, reason in (
            ("SELECT id + 1 AS next", "computes"),
            ("SELECT id AS number", "renames"),
            ("SELECT label, COUNT(*) GROUP BY label", "materialize"),
        ):
            with pytest.raises(deeplake.UnsupportedError, match=reason):
                deeplake.ray.read(ds, query=text)
        with pytest.raises(deeplake.NotFoundError, match="nothing"):
            ds.to_ray(tensors=["nothing"])
    with pytest.raises(deeplake.InvalidArgumentError, match='unknown argument "blocks"'):
        deeplake.ray.read(place, blocks=3)
    with deeplake.create(tmp_path / "new") as ds:
        ds.extend({"x": [1]})
        with pytest.raises(deeplake.UnsupportedError, match="not committed"):
            ds.to_ray()
        ds.commit()
        rows = deeplake.ray.read(ds)
        ds.extend({"x": [2]})
        ds.commit()
        assert rows.take_all() == [{"x": 1}], "the version is fixed"
        assert deeplake.ray.read(tmp_path / "new", at=1).take_all() == [{"x": 1}]
        assert deeplake.ray.read(tmp_path / "new", at=ds.head).take_all() == [{"x": 1}, {"x": 2}]
        assert deeplake.ray.read(ds[:0]).count() == 0
    with deeplake.create("mem://ray-not") as ds, pytest.raises(deeplake.UnsupportedError, match="memory of this"):
        ds.to_ray()


# --- writing -----------------------------------------------------------------------------------


def job(uri: str, **options: Any) -> WriteJob:
    given = {"schema": None, "mode": "create", "message": "", "idempotency_key": None, "storage": None}
    return WriteJob(uri, **{**given, **options})


class Context:
    """What a task knows of itself."""

    def __init__(self, task_idx: int) -> None:
        self.task_idx = task_idx


class Result:
    def __init__(self, returns: list[Any]) -> None:
        self.write_returns = returns


def test_round_trip(cluster: None, place: str, tmp_path: Path) -> None:
    names = ["id", "score", "word", "label", "same", "image", "vector", "boxes"]
    rows = deeplake.ray.read(place, columns=names, override_num_blocks=3)
    schema = {"label": "class_label", "image": {"htype": "image", "compression": "png"}}
    done = deeplake.ray.write(rows, tmp_path / "copy", schema=schema, message="copied")
    assert (done.version, done.rows, done.message) == (1, ROWS, "copied")
    with deeplake.open(place) as old, deeplake.open(tmp_path / "copy") as new:
        assert new["image"].htype == "image" and new["label"].htype == "class_label"
        assert [new[name].dtype for name in names] == [old[name].dtype for name in names]
        plain = ["id", "score", "word", "label"]
        assert new.to_arrow(tensors=plain).to_pylist() == old.to_arrow(tensors=plain).to_pylist()
        for name in ("same", "image", "vector", "boxes"):
            for mine, theirs in zip(new[name][:], old[name][:], strict=True):
                assert (mine is None) == (theirs is None)
                assert mine is None or np.array_equal(mine, theirs)
        assert new.fsck()
    with pytest.raises(deeplake.AlreadyExistsError, match='mode="append"'):
        deeplake.ray.write(rows, tmp_path / "copy")


def test_append_once(cluster: None, tmp_path: Path) -> None:
    uri = tmp_path / "set"
    rows = ray.data.range(1000, override_num_blocks=4)
    first = deeplake.ray.write(rows, uri, mode="append", idempotency_key="monday")
    again = deeplake.ray.write(rows, uri, mode="append", idempotency_key="monday")
    assert first == again and first.rows == 1000
    with deeplake.open(uri) as ds:
        done = deeplake.ray.write(rows.map_batches(lambda rows: {"id": rows["id"] + 1000}), ds, message="tuesday")
        assert len(ds) == done.rows == 2000 and done.version == 2
        assert ds["id"].numpy().tolist() == list(range(2000)), "in the order of the Ray dataset"
    with pytest.raises(deeplake.InvalidArgumentError, match="no rows"):
        deeplake.ray.write(ray.data.range(0), tmp_path / "none")


def test_a_task_that_fails(cluster: None, tmp_path: Path) -> None:
    def bad(rows: dict[str, Any]) -> dict[str, Any]:
        if 300 in rows["id"]:
            raise ValueError("row 300")
        return rows

    with deeplake.create(tmp_path / "set", schema={"id": {"dtype": "int64"}}) as ds:
        ds.extend({"id": [7]})
        before = ds.commit()
        with pytest.raises(Exception, match="row 300"):
            deeplake.ray.write(ray.data.range(1000, override_num_blocks=4).map_batches(bad), ds)
        ds.refresh()
        assert ds.head == before and not ds.dirty
        with pytest.raises(Exception, match=r"TensorTypeError|InvalidArgumentError"):
            deeplake.ray.write(ray.data.from_items([{"id": "text"}]), ds)
        assert ds.head == before
        ds.extend({"id": [8]})
        with pytest.raises(deeplake.ConflictError, match="uncommitted changes"):
            deeplake.ray.write(ray.data.range(3), ds)
        ds.discard()
        with pytest.raises(deeplake.InvalidArgumentError, match=r"got a list, want a ray\.data\.Dataset"):
            deeplake.ray.write([1], ds)
        assert deeplake.ray.write(ray.data.range(3), ds).rows == 4
    with pytest.raises(deeplake.InvalidArgumentError, match="no types of Arrow"):
        DeeplakeDatasink(job(str(tmp_path / "frames")), dict).on_write_start(None)


def test_tensors_of_columns(cluster: None, tmp_path: Path) -> None:
    items = [
        {"meta": {"a": 1}, "more": {"b": 2.5}, "list": [1, 2], "words": ["x"], "file": b"12", "flag": True},
        {"meta": {"a": 2}, "more": {"b": 0.5}, "list": [1], "words": [], "file": b"3", "flag": False},
    ]
    rows = ray.data.from_items(items)
    deeplake.ray.write(rows, tmp_path / "set", schema={"meta": "json"})
    with deeplake.open(tmp_path / "set") as ds:
        kinds = {name: (about["htype"], about["dtype"]) for name, about in ds.schema.items()}
        assert kinds == {
            "meta": ("json", "json"),
            "more/b": ("generic", "float64"),
            "list": ("generic", "int64"),
            "words": ("sequence[text]", "string"),
            "file": ("generic", "bytes"),
            "flag": ("generic", "bool"),
        }
        assert ds["meta"][:] == [{"a": 1}, {"a": 2}]
    frame = rows.map_batches(lambda rows: rows[["flag"]], batch_format="pandas")
    assert deeplake.ray.write(frame, tmp_path / "frame").rows == 2
    with pytest.raises(deeplake.TensorTypeError, match="time64"):
        deeplake.ray.write(ray.data.from_arrow(pa.table({"t": pa.array([1], pa.time64("us"))})), tmp_path / "time")


def test_one_task_runs_twice(tmp_path: Path) -> None:
    work = job(str(tmp_path / "set"))
    sink = DeeplakeDatasink(work, lambda sample: {"x": {"dtype": "int64"}})
    assert work.check() is None
    sink.on_write_start(pa.schema([("x", pa.int64())]))
    parts = [pa.table({"x": np.arange(10 * part, 10 * part + 10)}) for part in range(3)]
    remote = pickle.loads(pickle.dumps(work))
    other = DeeplakeDatasink(remote, dict)
    done = [other.write(iter([parts[part]]), Context(part)) for part in (2, 0, 1, 0)]
    with deeplake.open(tmp_path / "set") as ds:
        assert len(ds) == 0
    # Ray gives one result for each task; one that is lost is an error.
    with pytest.raises(deeplake.InternalError, match="nothing is committed"):
        sink.on_write_complete(Result([*done[:2], None]))
    sink.on_write_complete(Result(done[:1] + done[2:]))
    with deeplake.open(tmp_path / "set") as ds:
        assert ds["x"].numpy().tolist() == list(range(30)) and ds.head.version == 1
        assert ds.fsck()


HTYPES: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "binary_mask": ({}, [np.eye(4 + row % 2, 5, dtype=bool) for row in range(6)]),
    "segment_mask": ({}, [np.full((4, 5), row, np.uint8) for row in range(6)]),
    "bbox": ({}, [np.full((row % 3, 4), row, np.float32) for row in range(6)]),
    "image.gray": ({"compression": "png"}, [np.full((4, 5, 1), row, np.uint8) for row in range(6)]),
    "generic": ({"dtype": "bool"}, [np.array([row % 2 == 0, True, False]) for row in range(6)]),
    "embedding": ({"dtype": "float16"}, [np.full(3, row, np.float16) for row in range(6)]),
    "keypoints_coco": ({}, [np.full((3, row % 2 + 1), row, np.int32) for row in range(6)]),
    "image": ({}, [None, *(np.full((4, 5 + row, 3), row, np.uint8) for row in range(5))]),
    "text": ({}, ["é", None, "", "a", "b", "c"]),
    "json": ({}, [{"a": [row]} for row in range(6)]),
    "sequence[generic]": ({"dtype": "int64"}, [[1, 2][: row % 3] for row in range(6)]),
}


@pytest.mark.parametrize("htype", HTYPES)
def test_htypes_come_back(htype: str, tmp_path: Path) -> None:
    options, values = HTYPES[htype]
    with deeplake.create(tmp_path / "one") as ds:
        ds.create_tensor("x", htype, **options)
        ds.extend({"x": values})
        ds.commit()
    with deeplake.create(tmp_path / "two") as ds:
        ds.create_tensor("x", htype, **options)
        for table in tables_of(source_of(str(tmp_path / "one"), "x"), 2):
            ds.extend(as_stream(table))
        ds.commit()
        for got, want in zip(ds["x"][:], values, strict=True):
            assert (got is None) == (want is None)
            assert np.array_equal(got, want) if isinstance(want, np.ndarray) else got == want or len(got) == len(want)


def test_the_module_is_light(run_python: Callable[..., Any]) -> None:
    run_python(
        "import sys, deeplake, deeplake.ray\n"
        "assert 'ray' not in sys.modules and 'pyarrow' not in sys.modules\n"
        "import ray\n"
        "assert ray is not deeplake.ray and hasattr(ray, 'get') and 'ray' in dir(deeplake)\n"
    )
    run_python(
        "import sys, deeplake\n"
        "class Without:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'ray':\n"
        "            raise ModuleNotFoundError('no ray', name='ray')\n"
        "sys.meta_path.insert(0, Without())\n"
        "try:\n"
        "    deeplake.ray.read('nothing')\n"
        "except deeplake.UnsupportedError as error:\n"
        "    assert 'pip install \"ray[data]\"' in str(error), error\n"
        "else:\n"
        "    raise AssertionError\n"
    )


def test_secrets_travel_with_tasks_alone() -> None:
    storage = deeplake.Storage(credentials={"access_key_id": "a", "secret_access_key": "hidden"}, region="here")
    assert b"hidden" not in pickle.dumps(storage)
    assert pickle.loads(pickle.dumps(Carried(storage))).stores == storage
    assert pickle.loads(pickle.dumps(Carried(None))).stores is None


@pytest.mark.slow
def test_a_transform_on_actors(cluster: None, tmp_path: Path) -> None:
    ds = deeplake.create(str(tmp_path / "source"), schema={"n": {"dtype": "int64"}})
    ds.extend({"n": np.arange(ROWS)})
    ds.commit()
    died = str(tmp_path / "died")

    class Doubler:  # of a function, so that it travels by value: actors do not find this module
        def __init__(self) -> None:
            self.actor = os.getpid()

        def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
            if row["n"] == 20 and not os.path.exists(died):  # noqa: PTH110
                os.mkdir(died)  # noqa: PTH102
                os.kill(os.getpid(), 9)
            return {"n": 2 * row["n"], "actor": self.actor}

    new = deeplake.transform(ds, Doubler, str(tmp_path / "new"), engine="ray", workers=2, task_rows=13)
    assert list(new["n"][:]) == list(range(0, 2 * ROWS, 2)) and new.head.version == 1
    assert Path(died).exists() and os.getpid() not in new["actor"][:]

    def bad(row: dict[str, Any]) -> dict[str, Any]:
        raise ValueError("no rows today")

    with pytest.raises(ValueError, match="no rows today"):
        deeplake.transform(ds, bad, str(tmp_path / "bad"), engine="ray", workers=1)
    assert not deeplake.exists(str(tmp_path / "bad"))
