"""Loader options: one list of names, types and defaults, which tools and type checkers see."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import deeplake
import numpy as np
import pytest
from deeplake._load.options import FOREIGN, DeviceOptions
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


TORCH = {  # a value that changes nothing, one that would, and the name of ours
    "sampler": (None, [1, 2], "weights="),
    "batch_sampler": (None, [[1]], "batch_size="),
    "collate_fn": (None, list, "collate="),
    "pin_memory": (False, True, 'device="cuda"'),
    "pin_memory_device": ("", "cuda", 'device="cuda"'),
    "persistent_workers": (True, 2, "python_workers="),
    "prefetch_factor": (None, 2, "prefetch="),
    "timeout": (0, 5, "Storage"),
    "worker_init_fn": (None, print, "seed="),
    "multiprocessing_context": (None, "spawn", "worker_start="),
    "generator": (None, object(), "seed="),
    "in_order": (True, False, "order of the epoch"),
}


@pytest.mark.parametrize("name", LOADERS)
def test_arguments_of_torch(name: str) -> None:
    """Harmless ones are taken; the others lead to ours, which exist. The page lists them."""
    if name != "batches":
        pytest.importorskip({"pytorch": "torch"}.get(name, name))
    assert TORCH.keys() == FOREIGN.keys()
    with deeplake.create("mem://torch-options", overwrite=True, schema={"x": {"dtype": "int64"}}) as ds:
        ds.extend({"x": range(4)})
        ds.commit()
        load = getattr(ds, name)
        harmless = {argument: value for argument, (value, _, _) in TORCH.items()}
        assert len(load(2, **harmless)) == 2
        load(2, persistent_workers=False, pin_memory=None)
        for argument, (_, value, ours) in TORCH.items():
            with pytest.raises(deeplake.InvalidArgumentError, match=f'"{argument}" is an argument of torch') as caught:
                load(2, **{argument: value})
            assert ours in str(caught.value)
    names = {"batch_size", *DeviceOptions.__annotations__}
    page = (Path(__file__).parents[2] / "docs" / "loading.md").read_text()
    for argument, found in FOREIGN.items():
        assert f"| `{argument}` | `{found.harmless[0]!r}` | {found.ours} |" in page
        assert set(re.findall(r"(\w+)=", found.ours)) <= names


def test_torch_has_these_arguments() -> None:
    torch = pytest.importorskip("torch")
    ours = {"dataset", "batch_size", "shuffle", "num_workers", "drop_last"}
    assert set(inspect.signature(torch.utils.data.DataLoader.__init__).parameters) - {"self"} - ours <= FOREIGN.keys()


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


ODD = [
    np.array([1, 2]), np.array(["x", "y"]), np.array("x"), np.array([]), np.True_, b"x", {"x"}, {"x": 1}, object(),
    float("nan"), -1, 1 << 80, "", "a\0b",
]  # fmt: skip


@pytest.mark.parametrize("option", [field.name for field in fields(Options)])
def test_any_value_is_taken_or_refused_by_the_package(option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with deeplake.create("mem://odd", overwrite=True, schema={"x": {"dtype": "int64"}}) as ds:
        ds.extend({"x": range(4)})
        ds.commit()
        for odd in ODD:
            with suppress(deeplake.Error):
                next(iter(ds.batches(**{"batch_size": 2, option: odd})))
        numbers = (
            "batch_size",
            "seed",
            "num_workers",
            "prefetch",
            "shuffle_bytes",
            "fetch_bytes",
            "rank",
            "world_size",
        )
        for odd in ODD[:2] * (option in (*numbers, "cache", "worker_start", "python_workers", "length")):
            with pytest.raises(deeplake.InvalidArgumentError, match=f"load: {option} is array"):
                ds.batches(**{"batch_size": 2, option: odd})


def test_names_in_an_array_are_names():
    with deeplake.create("mem://named", overwrite=True, schema={"x": {"dtype": "int64"}, "i": "image"}) as ds:
        ds.append({"x": 1, "i": np.zeros((2, 3, 3), np.uint8)})
        ds.commit()
        names = np.array(["i", "x"])
        for loader in (ds.batches(1, tensors=names), ds.batches(1, tensors=names, apply_exif_orientation=names[:1])):
            names[:] = "y"  # a change is nothing to a loader that is made
            assert list(next(iter(loader))) == ["i", "x"]
            names[:] = "i", "x"
        with pytest.raises(deeplake.NotFoundError, match='"y"'):
            ds.batches(1, tensors=np.array(["y"]))


@pytest.mark.parametrize(
    ("device", "error", "text"),
    [
        ("gpu", "InvalidArgumentError", "device is 'gpu', which torch does not know; want None"),
        ("CUDA", "InvalidArgumentError", "device is 'CUDA', which .* did you mean \"cuda\""),
        ("cuda0", "InvalidArgumentError", 'did you mean "cuda"'),
        ("mps", "UnsupportedError", "load on device mps: torch .* cannot use it here"),
        ("xpu:1", "UnsupportedError", "load on device xpu:1: torch .* cannot use it here"),
    ],
)
def test_devices_that_torch_lacks(device, error, text):
    torch = pytest.importorskip("torch")
    if device == "mps" and torch.backends.mps.is_available():
        pytest.skip("this machine has a device mps")
    with deeplake.create("mem://devices", overwrite=True, schema={"x": {"dtype": "int64"}}) as ds:
        ds.extend({"x": range(4)})
        ds.commit()
        with pytest.raises(getattr(deeplake, error), match=text):
            ds.pytorch(2, device=device)
        assert next(iter(ds.pytorch(2, device="meta")))["x"].device.type == "meta"


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
