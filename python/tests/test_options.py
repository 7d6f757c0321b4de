"""Loader options: one list of names, types and defaults, which tools and type checkers see."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import deeplake
import numpy as np
import pytest
from deeplake._load.options import DeviceOptions
from deeplake._load.plan import Options

LOADERS = ("pytorch", "batches", "tensorflow", "jax")
RIGHT = """
import deeplake

ds = deeplake.open("x")
ds.pytorch(8, shuffle="full", tensors=["a"], collate=lambda rows: rows, device="cpu")
ds.batches(batch_size=8, weights=[1.0], trace="t.json")
ds.jax(8, sharding={"a": None}, tail="pad")
ds.tensorflow(8, element_spec=None, on_error="skip")
deeplake.mix([ds, ds[:3]]).batches(4, seed=1)
"""
WRONG = [
    ("ds.pytorch(8, shufle=True)", 'Unexpected keyword argument "shufle"'),
    ("ds.batches(seed='x')", 'Argument "seed"'),
    ("ds.tensorflow(8, device='cpu')", 'Unexpected keyword argument "device"'),
    ("ds.tensorflow(8, tail='other')", 'Argument "tail"'),
    ("deeplake.mix([ds]).pytorch(num_workers=1.5)", 'Argument "num_workers"'),
]


def test_every_option_has_a_type_and_a_default() -> None:
    named = {"batch_size", *DeviceOptions.__annotations__}
    assert named == {field.name for field in fields(Options)}


@pytest.mark.parametrize("name", LOADERS)
def test_signatures_show_the_options(name: str) -> None:
    shown = inspect.signature(getattr(deeplake.View, name))
    defaults = {field.name: field.default for field in fields(Options)}
    parameters = dict(list(shown.parameters.items())[2:])
    assert next(iter(parameters)) == "shuffle"
    for option, parameter in parameters.items():
        assert parameter.kind is parameter.KEYWORD_ONLY
        assert parameter.annotation is not parameter.empty
        assert parameter.default == defaults.get(option)
    assert ("device" in parameters) == (name in ("pytorch", "batches", "jax"))
    assert "shuffle_bytes" in str(shown)


@pytest.mark.parametrize("name", LOADERS)
def test_unknown_options_are_refused(name: str) -> None:
    dataset = deeplake.create("mem://options", overwrite=True)
    with pytest.raises(deeplake.InvalidArgumentError, match='unknown argument "shufle"; did you mean "shuffle"'):
        getattr(dataset, name)(8, shufle=True)


def test_type_checkers_report_wrong_options(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    lines = [RIGHT, *(call for call, _ in WRONG)]
    source = tmp_path / "user.py"
    source.write_text("\n".join(lines))
    command = [sys.executable, "-m", "mypy", "--python-version=3.10", "--no-error-summary"]
    # The hosts are as good as missing here: reading torch alone takes a minute.
    settings = tmp_path / "mypy.ini"
    settings.write_text(
        "[mypy]\n" + "".join(f"[mypy-{name}.*]\nfollow_imports = skip\n" for name in ("torch", "jax", "tensorflow"))
    )
    command += ["--ignore-missing-imports", "--follow-imports=silent", f"--config-file={settings}"]
    command += [f"--cache-dir={tmp_path}", str(source)]
    environment = {"MYPYPATH": str(Path(deeplake.__file__).parent.parent), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    first = RIGHT.count("\n") + 2
    reported = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(reported) == len(WRONG), done.stdout + done.stderr
    for number, (line, (_, wanted)) in enumerate(zip(reported, WRONG, strict=True), first):
        assert f":{number}: error:" in line
        assert wanted in line


def test_pil_needs_image_files():
    with deeplake.create("mem://no-files", overwrite=True) as ds:
        ds.create_tensor("images", "image.rgb", compression="png")
        ds.create_tensor("labels", "class_label")
        ds.append({"images": np.zeros((4, 4, 3), np.uint8), "labels": 0})
        ds.commit()
        assert next(iter(ds.pytorch(decode={"images": "pil"})))["images"][0].size == (4, 4)
        with pytest.raises(
            deeplake.InvalidArgumentError, match=r'"labels": decode="pil" needs image files.*class_label'
        ):
            ds.pytorch(decode={"labels": "pil"})
