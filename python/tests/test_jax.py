"""JAX as a host, with the real package: arrays without copies, narrow types, shardings, states, several processes."""

from __future__ import annotations

import json
import pickle
import socket
import subprocess
import sys

import deeplake
import numpy as np
import pytest
from conftest import encoded, picture

jax = pytest.importorskip("jax")
jnp = jax.numpy
# Where it lies depends on the version.
enable_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64

ROWS = 53


@pytest.fixture(scope="module")
def ds():
    schema = {
        "image": {"htype": "image", "compression": "jpeg"},
        "label": "class_label",
        "word": "text",
        "ragged": {"dtype": "float32"},
        "wide": {"dtype": "float64"},
        "brain": {"dtype": "bfloat16"},
    }
    with deeplake.create("mem://jax", overwrite=True, schema=schema) as ds:
        rows = range(ROWS)
        ds.extend(
            {
                "image": [deeplake.read(encoded(picture(i))) for i in rows],
                "label": np.arange(ROWS) % 7,
                "word": [f"w{i}" for i in rows],
                "ragged": [np.full((i % 4 + 1, 2), i, np.float32) for i in rows],
                "wide": np.linspace(0, 1, ROWS),
                "brain": list(jnp.ones((ROWS, 2), jnp.bfloat16)),
            }
        )
        ds.commit()
        yield ds


PLAIN = ("image", "label", "word")


def index(batches) -> list[int]:
    return [int(i) for batch in batches for i in batch["_index"]]


def test_batches_are_jax_arrays_in_order(ds):
    batches = ds.jax(16, tensors=PLAIN)
    assert len(batches) == 4 and "53 rows" in repr(batches)
    for start, batch in zip(range(0, ROWS, 16), batches, strict=True):
        rows = slice(start, min(start + 16, ROWS))
        assert isinstance(batch["image"], jax.Array) and batch["image"].dtype == jnp.uint8
        assert (np.asarray(batch["image"]) == ds["image"].numpy(rows)).all()
        assert batch["label"].tolist() == [i % 7 for i in range(start, rows.stop)]
        assert batch["word"] == [f"w{i}" for i in range(start, rows.stop)]
    doubled = jax.jit(lambda image: image.astype(jnp.float32) * 2)(batch["image"])
    assert doubled.shape == (5, 24, 32, 3)


def test_arrays_are_views_of_the_batch(ds):
    batches = ds.jax(16, tensors=["image", "brain"])
    seen = []
    assemble = batches._assembly
    batches._assembly = lambda batch: seen.append(assemble(batch)) or seen[-1]
    for k, batch in enumerate(batches):
        assert batch["image"].unsafe_buffer_pointer() == seen[k]["image"].numpy().ctypes.data
        assert batch["brain"].dtype == jnp.bfloat16
        assert batch["brain"].unsafe_buffer_pointer() % 64 == 0


def test_64_bits_become_32_unless_they_are_turned_on(ds):
    batch = next(iter(ds.jax(4, tensors=["label", "wide"], return_index=True)))
    assert (batch["label"].dtype, batch["wide"].dtype, batch["_index"].dtype) == ("int32", "float32", "int32")
    with enable_x64(True):
        batch = next(iter(ds.jax(4, tensors=["label", "wide"])))
        assert (batch["label"].dtype, batch["wide"].dtype) == ("int64", "float64")


@pytest.mark.parametrize("value", [1 << 40, -(1 << 31) - 1])
def test_an_integer_that_does_not_fit_is_an_error(place, value):
    with deeplake.create(place, schema={"id": {"dtype": "int64"}}) as ds:
        ds.extend({"id": [1, value]})
        ds.commit()
        with pytest.raises(deeplake.TensorTypeError, match=r'"id".*int64.*int32.*jax_enable_x64'):
            list(ds.jax(2))
        with enable_x64(True):
            assert next(iter(ds.jax(2)))["id"].tolist() == [1, value]


def test_a_float_beyond_float32_is_an_error_and_infinity_is_not(place):
    with deeplake.create(place, schema={"x": {"dtype": "float64"}}) as ds:
        ds.extend({"x": [np.inf, np.nan, 1e300]})
        ds.commit()
        assert np.isinf(next(iter(ds[:2].jax(2)))["x"][0])
        with pytest.raises(deeplake.TensorTypeError, match='"x"'):
            list(ds.jax(3))


def test_lists_hold_numpy_arrays(ds):
    batch = next(iter(ds.jax(4, collate="list", tensors=["ragged", "word"])))
    assert [type(sample) for sample in batch["ragged"]] == [np.ndarray] * 4
    assert [sample.shape for sample in batch["ragged"]] == [(1, 2), (2, 2), (3, 2), (4, 2)]


def test_pad(ds):
    batch = next(iter(ds.jax(4, collate="pad", tensors=["ragged"])))
    assert isinstance(batch["ragged"], jax.Array) and batch["ragged"].shape == (4, 4, 2)
    assert batch["ragged_shape"].tolist() == [[1, 2], [2, 2], [3, 2], [4, 2]]


def test_transforms_and_collation(ds):
    batch = next(iter(ds.jax(4, tensors=["image", "label"], transform={"image": lambda a: a[:8].astype("float32")})))
    assert isinstance(batch["image"], jax.Array) and batch["image"].shape == (4, 8, 32, 3)
    assert isinstance(batch["label"], jax.Array)
    assert list(ds.jax(50, collate=len)) == [50, 3]


@pytest.mark.parametrize("shuffle", [False, True, "full"])
def test_order_epochs_and_states_are_those_of_numpy(ds, shuffle):
    options = {"shuffle": shuffle, "seed": 5, "tensors": ["label"], "return_index": True}
    ours, numpys = ds.jax(8, **options), ds.batches(8, **options)
    for epoch in range(2):
        assert ours.epoch == epoch
        assert index(ours) == index(numpys)
    for _ in zip(range(3), ours, strict=False):
        pass
    state = json.loads(json.dumps(ours.state_dict()))
    assert len(json.dumps(state)) < 1024
    numpys.load_state_dict(state)
    other = ds.jax(8, **options)
    other.load_state_dict(state)
    again = pickle.loads(pickle.dumps(other))
    rest = index(numpys)
    assert index(other) == index(again) == rest and len(rest) == ROWS - 24
    other.set_epoch(0)
    numpys.set_epoch(0)
    assert index(other) == index(numpys)


def test_a_sharding_of_one_device(ds):
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    batch = next(iter(ds.jax(4, tensors=PLAIN, sharding={"image": sharding})))
    assert batch["image"].sharding == sharding and isinstance(batch["label"], jax.Array)
    with pytest.raises(deeplake.UnsupportedError, match="sharding"):
        pickle.dumps(ds.jax(4, sharding=sharding))


@pytest.mark.parametrize(
    ("options", "error", "wrong"),
    [
        ({"sharding": "data"}, deeplake.InvalidArgumentError, "sharding is a str"),
        ({"sharding": {"image": 3}}, deeplake.InvalidArgumentError, "sharding is a int"),
        ({"sharding": {"imge": None}}, deeplake.NotFoundError, "image"),
        ({"batch_size": 0}, deeplake.InvalidArgumentError, "batch_size"),
        ({"shard": 1}, deeplake.InvalidArgumentError, "sharding"),
    ],
)
def test_wrong_arguments(ds, options, error, wrong):
    with pytest.raises(error, match=wrong):
        ds.jax(**options)


FOUR_DEVICES = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import deeplake, jax, numpy as np
from jax.sharding import NamedSharding, PartitionSpec
ds = deeplake.create("mem://four", schema={"x": {"dtype": "float32"}, "y": {"dtype": "int32"}})
ds.extend({"x": np.arange(40, dtype=np.float32).reshape(10, 4), "y": np.arange(10, dtype=np.int32)})
ds.commit()
sharding = NamedSharding(jax.make_mesh((4,), ("data",)), PartitionSpec("data"))
batches = list(ds.jax(4, sharding=sharding, drop_last=True))
assert len(batches) == 2
for k, batch in enumerate(batches):
    assert batch["x"].sharding == sharding and len(batch["x"].addressable_shards) == 4
    assert batch["y"].tolist() == list(range(4 * k, 4 * k + 4))
    assert [int(shard.data[0]) for shard in batch["y"].addressable_shards] == batch["y"].tolist()
try:
    list(ds.jax(4, sharding=sharding))
except deeplake.InvalidArgumentError as err:
    assert "drop_last" in str(err), err
else:
    raise AssertionError("two rows on four devices")
"""


def test_a_batch_over_several_devices(run_python):
    run_python(FOUR_DEVICES, timeout=120)


TWO_PROCESSES = """
import sys
rank, port, uri = int(sys.argv[1]), sys.argv[2], sys.argv[3]
import jax
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=2, process_id=rank)
import deeplake, numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding, PartitionSpec
ds = deeplake.open(uri)
sharding = NamedSharding(jax.make_mesh((jax.device_count(),), ("data",)), PartitionSpec("data"))
batches = ds.jax(4, shuffle=True, sharding=sharding, drop_last=True, return_index=True)
seen = []
for batch in batches:
    assert batch["x"].shape == (8,) and not batch["x"].is_fully_addressable
    total = jax.jit(lambda x: x.sum(), out_shardings=NamedSharding(sharding.mesh, PartitionSpec()))(batch["x"])
    rows = multihost_utils.process_allgather(batch["x"], tiled=True)
    assert int(total) == int(rows.sum())
    seen += rows.tolist()
whole = ds.batches(8, shuffle=True, drop_last=True, rank=0, world_size=1)
want = [sorted(batch["x"].tolist()) for batch in whole]
assert [sorted(seen[i : i + 8]) for i in range(0, len(seen), 8)] == want, (seen, want)
try:
    ds.jax(4, sharding=sharding)
except deeplake.InvalidArgumentError as err:
    assert "drop_last" in str(err)
else:
    raise AssertionError("shares of different sizes")
print("rank", rank, "done", flush=True)
jax.distributed.shutdown()
"""


def test_two_processes_make_global_arrays(tmp_path):
    with deeplake.create(tmp_path / "set", schema={"x": {"dtype": "int32"}}) as ds:
        ds.extend({"x": np.arange(37, dtype=np.int32)})
        ds.commit()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = tmp_path / "rank.py"
    program.write_text(TWO_PROCESSES)
    ranks = [
        subprocess.Popen(
            [sys.executable, str(program), str(rank), str(port), str(tmp_path / "set")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        outputs = [process.communicate(timeout=120)[0] for process in ranks]
    finally:
        for process in ranks:
            process.kill()
            process.wait()
    for rank, output in enumerate(outputs):
        assert f"rank {rank} done" in output, output
