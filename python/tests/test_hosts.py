"""Lightning and Accelerate, the real packages, take the loader as it is."""

from __future__ import annotations

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
