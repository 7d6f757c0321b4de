"""Ray on three nodes: workers that are killed, a node that is lost, training that goes on with another number."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest

if sys.version_info >= (3, 14):
    pytest.skip("the tests pin Ray below Python 3.14: it has no wheel without the GIL", allow_module_level=True)

os.environ.update({"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "RAY_DATA_DISABLE_PROGRESS_BARS": "1"})

import deeplake.ray
import ray
from deeplake._compute.write_job import WriteJob
from deeplake._engines.ray_write import DeeplakeDatasink
from ray.cluster_utils import Cluster

pytestmark = pytest.mark.slow
ROWS = 4000


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Three nodes of one core each; the driver belongs to the first."""
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 << 20})
    try:
        for _ in range(2):
            nodes.add_node(num_cpus=1, object_store_memory=100 << 20)
        ray.init(address=nodes.address, log_to_driver=False)
        logging.getLogger("ray").setLevel(logging.WARNING)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = False
        yield nodes
    finally:
        ray.shutdown()
        nodes.shutdown()


def job(uri: str) -> WriteJob:
    return WriteJob(uri, schema=None, mode="create", message="", idempotency_key=None, storage=None)


def tensors_of(sample: Any) -> dict[str, Any]:
    return {"id": {"dtype": "int64"}, "data": {"dtype": "uint8"}}


def wide(rows: dict[str, Any]) -> dict[str, Any]:
    return {"id": rows["id"], "data": np.repeat(rows["id"].astype(np.uint8)[:, None], 200, axis=1)}


class Small(DeeplakeDatasink):
    """A sink with small tasks. `accident` happens in the middle of some of them."""

    accident: Any = None
    min_bytes_per_write = 40_000

    def write(self, blocks: Iterable[Any], ctx: Any) -> Any:
        accident = type(self).accident

        def watched() -> Iterator[Any]:
            for block in blocks:
                yield block.slice(0, 100)
                if accident is not None:
                    accident(ctx.task_idx)
                yield block.slice(100)

        return super().write(watched(), ctx)


def check(uri: Path) -> None:
    with deeplake.open(uri) as ds:
        assert sorted(ds["id"].numpy().tolist()) == list(range(ROWS)), "every row once"
        assert np.array_equal(ds["data"].numpy(), wide({"id": ds["id"].numpy()})["data"])
        assert [commit.rows for commit in ds.log()] == [ROWS, 0], "one commit"
        assert ds.fsck()


@pytest.mark.parametrize(("every", "kills"), [(3, 3), (1, 20)])
def test_workers_killed_while_they_write(cluster: Cluster, tmp_path: Path, every: int, kills: int) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()

    def kill(task: int) -> None:
        mark = marks / str(task)
        if task % every == 0 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    sink = type("Killed", (Small,), {"accident": staticmethod(kill)})(job(str(tmp_path / "set")), tensors_of)
    ray.data.range(ROWS, override_num_blocks=20).map_batches(wide).write_datasink(sink)
    assert len(list(marks.iterdir())) >= kills, "workers were killed"
    assert sink.commit.rows == ROWS
    check(tmp_path / "set")


def test_a_node_is_lost(cluster: Cluster, tmp_path: Path) -> None:
    def slow(task: int) -> None:
        time.sleep(0.3)

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    sink = type("Slow", (Small,), {"accident": staticmethod(slow)})(job(str(tmp_path / "set")), tensors_of)
    chunks = tmp_path / "set"
    lost = threading.Event()

    def lose() -> None:
        while not any(path.is_file() for path in chunks.rglob("*")):  # the write has begun
            time.sleep(0.05)
        time.sleep(1)
        cluster.remove_node(cluster.list_all_nodes()[-1], allow_graceful=False)
        lost.set()

    thread = threading.Thread(target=lose)
    thread.start()
    ray.data.range(ROWS, override_num_blocks=20).map_batches(wide).write_datasink(sink)
    thread.join()
    assert lost.is_set() and sum(node["Alive"] for node in ray.nodes()) == 2
    check(tmp_path / "set")


def test_training_goes_on_with_other_workers(cluster: Cluster, tmp_path: Path) -> None:
    import ray.train
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

    uri, rows = tmp_path / "set", 211
    with deeplake.create(uri, schema={"id": {"dtype": "int64"}}) as ds:
        ds.extend({"id": np.arange(rows)})
        ds.commit()

    def train(config: dict[str, Any]) -> None:
        import deeplake
        import ray.train

        rank = ray.train.get_context().get_world_rank()
        loader = deeplake.open(config["uri"]).pytorch(batch_size=10, shuffle=True)
        if config["state"]:
            loader.load_state_dict(json.loads(Path(config["state"]).read_text()))
        seen: list[int] = []
        for step, batch in enumerate(loader):
            seen += [int(x) for x in batch["id"]]
            if step + 1 == config["steps"]:
                break
        done = {"seen": seen, "state": loader.state_dict()}
        Path(f"{config['out']}-{rank}.json").write_text(json.dumps(done))

    def run(workers: int, name: str, state: str, steps: int) -> list[int]:
        config = {"uri": str(uri), "out": str(tmp_path / name), "state": state, "steps": steps}
        scaling = ray.train.ScalingConfig(num_workers=workers)
        storage = ray.train.RunConfig(storage_path=str(tmp_path / "train"))
        DataParallelTrainer(train, train_loop_config=config, scaling_config=scaling, run_config=storage).fit()
        results = [json.loads((tmp_path / f"{name}-{rank}.json").read_text()) for rank in range(workers)]
        (tmp_path / "state").write_text(json.dumps(results[0]["state"]))
        return [row for result in results for row in result["seen"]]

    first = run(2, "two", "", 4)
    assert len(first) == 80
    rest = run(1, "one", str(tmp_path / "state"), 1000)
    assert sorted(first + rest) == list(range(rows)), "every row once"


DRIVER = """
import sys, time, deeplake.ray, deeplake._engines.ray_write, numpy as np, ray
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
pause = float(sys.argv[2])
def slow(rows):
    time.sleep(pause)
    return {"id": rows["id"], "data": np.repeat(rows["id"].astype(np.uint8)[:, None], 200, axis=1)}
rows = ray.data.range(4000, override_num_blocks=40).map_batches(slow, batch_size=None)
sink = deeplake._engines.ray_write.DeeplakeDatasink
sink.min_bytes_per_write = 40_000
print(deeplake.ray.write(rows, sys.argv[1]).rows)
"""


def test_the_driver_is_killed(tmp_path: Path) -> None:
    program, uri = tmp_path / "driver.py", tmp_path / "set"
    program.write_text(DRIVER)
    command = [sys.executable, str(program), str(uri)]
    driver = subprocess.Popen([*command, "0.5"], stdout=subprocess.PIPE, start_new_session=True)
    try:
        deadline = time.monotonic() + 90
        while len([path for path in uri.rglob("*") if path.is_file()]) < 12:  # of which four are not chunks
            assert time.monotonic() < deadline and driver.poll() is None
            time.sleep(0.05)
    finally:
        driver.kill()
        driver.wait()
    with deeplake.open(uri) as ds:
        assert len(ds) == 0 and len(ds.log()) == 1, "nothing is visible"
    done = subprocess.run([*command, "0"], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == str(ROWS), done.stderr
    check(uri)
