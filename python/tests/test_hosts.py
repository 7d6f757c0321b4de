"""Lightning and Accelerate, the real packages, take the loader as it is."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import deeplake
import numpy as np
import pytest

torch = pytest.importorskip("torch")

ROWS = 56


@pytest.fixture
def ds(tmp_path):
    with deeplake.create(tmp_path / "set", schema={"x": {"dtype": "float32"}, "i": {"dtype": "int64"}}) as ds:
        ds.extend({"x": np.arange(ROWS, dtype=np.float32)[:, None] / ROWS, "i": np.arange(ROWS)})
        ds.commit()
        yield ds


def test_lightning_trains_and_sets_the_epoch(ds, tmp_path):
    lightning = pytest.importorskip("lightning")
    seen: list[list[int]] = []

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch, number):
            if number == 0:
                seen.append([])
            seen[-1] += batch["i"].tolist()
            return self.layer(batch["x"]).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    loader = ds.pytorch(8, shuffle=True, seed=1)
    trainer = lightning.Trainer(
        max_epochs=3, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
        enable_checkpointing=False, default_root_dir=tmp_path,
    )  # fmt: skip
    trainer.fit(Model(), loader)
    assert trainer.train_dataloader is loader
    assert [sorted(epoch) for epoch in seen] == [list(range(ROWS))] * 3
    want = []
    for epoch in range(3):
        loader.set_epoch(epoch)
        want.append([i for batch in loader for i in batch["i"].tolist()])
    assert seen == want


def test_accelerate_leaves_the_loader_alone_and_syncs_at_the_end(ds):
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=4)
    model = torch.nn.Linear(1, 1)
    loader = ds.pytorch(8, shuffle=True)
    model, optimizer, prepared = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1), loader)
    assert prepared is loader
    for _ in range(2):
        seen, syncs = [], 0
        for batch in prepared:
            with accelerator.accumulate(model):
                accelerator.backward(model(batch["x"]).mean())
                syncs += accelerator.sync_gradients
                optimizer.step()
                optimizer.zero_grad()
            seen += accelerator.gather_for_metrics(batch["i"]).tolist()
        assert sorted(seen) == list(range(ROWS))
        assert syncs == 2, "7 steps of 4: once in the middle, once at the end"
    assert not accelerator.gradient_state.in_dataloader


def test_accelerate_forgets_a_loop_that_was_left(ds):
    accelerate = pytest.importorskip("accelerate")
    state = accelerate.state.GradientState()
    batches = iter(ds.pytorch(8))
    next(batches)
    assert state.in_dataloader
    batches.close()
    assert not state.in_dataloader


def test_accelerate_does_not_lose_the_batch_before_an_error(ds):
    pytest.importorskip("accelerate")
    seen = []
    with pytest.raises(ZeroDivisionError):
        for batch in ds.pytorch(8, transform={"i": lambda i: int(i) // int(i != 20)}):
            seen += batch["i"].tolist()
    assert seen == list(range(16))


def test_accelerate_skips_first_batches(ds):
    accelerate = pytest.importorskip("accelerate")
    loader = ds.pytorch(8)
    skipped = accelerate.skip_first_batches(loader, 3)
    assert [i for batch in skipped for i in batch["i"].tolist()] == list(range(24, ROWS))


def model_of(lightning, on_batch):
    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch, number):
            on_batch(self.current_epoch, batch["i"].tolist())
            return self.layer(batch["x"]).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    return Model()


@pytest.mark.parametrize("stop_after", [1, 3, 6, 7, 10, 14])
def test_lightning_goes_on_from_a_checkpoint(ds, tmp_path, stop_after):
    lightning = pytest.importorskip("lightning")
    want: list[tuple[int, list[int]]] = []
    got: list[tuple[int, list[int]]] = []

    def fit(seen, callbacks=(), checkpoint=None, **options):
        loader = ds.pytorch(8, shuffle=True, seed=1, prefetch=4)  # 7 batches an epoch
        trainer = lightning.Trainer(
            max_epochs=3, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
            default_root_dir=tmp_path, callbacks=list(callbacks), num_sanity_val_steps=0, **options,
        )  # fmt: skip
        trainer.fit(model_of(lightning, lambda epoch, rows: seen.append((epoch, rows))), loader, ckpt_path=checkpoint)

    fit(want, enable_checkpointing=False)
    assert [epoch for epoch, _ in want] == [0] * 7 + [1] * 7 + [2] * 7

    class StopHereError(Exception):
        pass

    class Keep(lightning.pytorch.callbacks.Callback):
        def on_train_batch_end(self, trainer, *_):
            if trainer.global_step == stop_after:
                trainer.save_checkpoint(tmp_path / "kept.ckpt")
                raise StopHereError

    with pytest.raises(StopHereError):
        fit(got, [Keep()], enable_checkpointing=False)
    assert got == want[:stop_after]
    fit(got, checkpoint=tmp_path / "kept.ckpt", enable_checkpointing=False)
    assert got == want


def test_accelerate_saves_and_loads_the_state(ds, tmp_path):
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    loader = accelerator.prepare(ds.pytorch(8, shuffle=True))
    want = [batch["i"].tolist() for batch in loader]
    loader.set_epoch(0)
    for number, _ in enumerate(loader, 1):
        if number == 3:
            accelerator.save_state(tmp_path / "kept")
            break
    accelerator.free_memory()
    fresh = accelerator.prepare(ds.pytorch(8, shuffle=True, prefetch=3))
    accelerator.load_state(tmp_path / "kept")
    assert [batch["i"].tolist() for batch in fresh] == want[3:]
    assert fresh.epoch == 1
    # The other way that people go on: it counts from the start of the epoch, so that the two do not
    # add up.
    accelerator.load_state(tmp_path / "kept")
    skipped = accelerate.skip_first_batches(fresh, 3)
    assert [batch["i"].tolist() for batch in skipped] == want[3:]
    accelerator.free_memory()


PROGRAM = """
import json, sys
import torch
import deeplake
from accelerate import Accelerator

uri, folder = sys.argv[1:3]
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
ds = deeplake.open(uri, read_only=True)
model, optimizer, loader = accelerator.prepare(
    (model := torch.nn.Linear(1, 1)), torch.optim.SGD(model.parameters(), lr=0.1), ds.pytorch(4, shuffle=True, tail="pad")
)
rows, gathered, syncs = [], [], 0
for number, batch in enumerate(loader, 1):
    with accelerator.accumulate(model):
        accelerator.backward(model(batch["x"]).mean())
        syncs += accelerator.sync_gradients
        optimizer.step()
        optimizer.zero_grad()
    rows += batch["i"][batch["_valid"]].tolist()
    gathered += accelerator.gather_for_metrics(batch["i"]).tolist()
    if number == 4:
        accelerator.save_state(folder)
        behind = len(rows)
fresh = accelerator.prepare(ds.pytorch(4, shuffle=True, tail="pad"))
accelerator._dataloaders = [fresh]
accelerator.load_state(folder)
rest = [i for batch in fresh for i in batch["i"][batch["_valid"]].tolist()]
print(json.dumps([accelerator.process_index, accelerator.num_processes, rows, gathered, syncs, len(loader), rest == rows[behind:]]))
accelerator.end_training()
"""


@pytest.mark.slow
def test_accelerate_in_two_processes(ds, tmp_path):
    pytest.importorskip("accelerate")
    (tmp_path / "program.py").write_text(PROGRAM)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    short = tmp_path / "short"  # 55 rows: the last step has 7 of 8
    with deeplake.create(short, schema={"x": {"dtype": "float32"}, "i": {"dtype": "int64"}}) as other:
        other.extend({"x": np.ones((55, 1), np.float32), "i": np.arange(55)})
        other.commit()
    processes = [
        subprocess.Popen(
            [sys.executable, str(tmp_path / "program.py"), str(short), str(tmp_path / "kept")], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "OMP_NUM_THREADS": "1",
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)},
        )
        for rank in range(2)
    ]  # fmt: skip
    try:
        out = [process.communicate(timeout=120) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert all(process.returncode == 0 for process in processes), out[0][1] + out[1][1]
    first, second = (json.loads(text.splitlines()[-1]) for text, _ in out)
    assert (first[:2], second[:2]) == ([0, 2], [1, 2])
    assert sorted(first[2] + second[2]) == list(range(55)), "each rank reads its own rows"
    assert sorted(first[3]) == sorted(second[3]) == list(range(55)), "gathered without what was repeated"
    assert first[4] == second[4] == 4 and first[5] == second[5] == 7, "7 steps of 2: the last one syncs too"
    assert first[6] and second[6], "a loaded state goes on on every rank"
