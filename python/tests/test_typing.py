"""Type checkers accept the programs of the docs, and know the types of results."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deeplake
import pytest
from test_docs import PAGES, blocks

# The hosts are as good as missing here: reading torch alone takes a minute.
SKIPPED = ("torch", "jax", "tensorflow", "lightning", "accelerate", "pandas", "torchvision")


@pytest.fixture(scope="module")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs mypy in a folder, as users do: without --strict. Runs share what it found out of NumPy."""
    pytest.importorskip("mypy")
    root = tmp_path_factory.mktemp("mypy")
    # Programs of one page may define a function twice.
    head = "[mypy]\ndisable_error_code = no-redef\n"
    settings = root / "mypy.ini"
    settings.write_text(head + "".join(f"[mypy-{name}.*]\nfollow_imports = skip\n" for name in SKIPPED))
    command = [sys.executable, "-m", "mypy", "--python-version=3.10", "--no-error-summary", "--ignore-missing-imports"]
    command += ["--follow-imports=silent", f"--config-file={settings}", f"--cache-dir={root / 'cache'}"]
    environment = {"MYPYPATH": str(Path(deeplake.__file__).parent.parent), "PATH": ""}

    def run(folder: Path, *names: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *names], capture_output=True, text=True, cwd=folder, env=environment, check=False
        )

    return run


def write_programs(folder: Path) -> list[str]:
    """Writes the programs of each page to a file, and returns the names of the files."""
    names = []
    for page in PAGES:
        lines: list[str] = []
        for number, source in blocks(page):
            lines += [""] * (number - len(lines)) + source.splitlines()
        if lines:
            names.append(f"{page.stem.replace('-', '_')}_md.py")
            (folder / names[-1]).write_text("\n".join(lines) + "\n")
    assert len(names) > 15
    return names


@pytest.mark.slow
def test_mypy_accepts_the_programs_of_the_docs(tmp_path: Path, mypy: Any) -> None:
    done = mypy(tmp_path, *write_programs(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def pyright(folder: Path, **settings: Any) -> dict[str, Any]:
    """Runs pyright over a folder and returns its report."""
    root = Path(__file__).parent.parent.parent
    program = root / "web" / "node_modules" / "pyright" / "index.js"
    if not program.exists():
        pytest.skip("pyright is installed with the tools of the page: make web")
    sys.path.insert(0, str(root / "tools"))
    import web

    (folder / "pyrightconfig.json").write_text(json.dumps({"pythonVersion": "3.10", **settings}))
    command = [web.find_node()[0], str(program), "--outputjson", "--pythonpath", sys.executable, "-p", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_pyright_accepts_the_programs_of_the_docs(tmp_path: Path) -> None:
    write_programs(tmp_path)
    # Programs of one page may define a function twice, and not every host is installed.
    report = pyright(tmp_path, reportRedeclaration=False, reportMissingImports=False, reportMissingModuleSource=False)
    assert report["summary"]["filesAnalyzed"] > 15
    errors = [found for found in report["generalDiagnostics"] if found["severity"] == "error"]
    assert not errors, "\n".join(f"{e['file']}:{e['range']['start']['line'] + 1}: {e['message']}" for e in errors)


def test_pyright_finds_wrong_programs(tmp_path: Path) -> None:
    lines = ['ds["x"].class_names.no_such_method()', "ds.quary", 'ds["x"].nunpy()', "ds.split([0.5, 0.5]).keys()"]
    (tmp_path / "user.py").write_text('import deeplake\nds = deeplake.open("x")\n' + "\n".join(lines) + "\n")
    errors = {found["range"]["start"]["line"] for found in pyright(tmp_path)["generalDiagnostics"]}
    assert errors == {2, 3, 4, 5}


def test_mypy_finds_wrong_programs(tmp_path: Path, mypy: Any) -> None:
    """Results that are Any in part still have their own type."""
    lines = {
        'reveal_type(ds["x"].numpy(ragged="pad"))': 'is "numpy.ndarray[',
        'reveal_type(ds["x"].numpy())': '] | Any"',
        'reveal_type(ds["x"].bytes(0))': "bytes | Any",
        "reveal_type(ds.split([0.5, 0.5]))": "list[deeplake._data.view.View]",
        'reveal_type(ds.split({"a": 0.5}))': "dict[str, deeplake._data.view.View]",
        'reveal_type(ds[["x"]])': "deeplake._data.view.QueryView",
        "reveal_type(ds[:5])": "deeplake._data.view.View",
        "reveal_type(ds[0])": "deeplake._rows.row.Row",
        'ds["x"].class_names.no_such_method()': 'has no attribute "no_such_method"',
        "ds.quary": '"Dataset" has no attribute "quary"',
        'ds["x"].nunpy()': '"Tensor" has no attribute "nunpy"',
    }
    source = tmp_path / "user.py"
    source.write_text('import deeplake\nds = deeplake.open("x")\n' + "\n".join(lines) + "\n")
    done = mypy(tmp_path, "user.py")
    told = done.stdout.splitlines()
    for number, wanted in enumerate(lines.values(), 3):
        assert any(f"user.py:{number}:" in line and wanted in line for line in told), (wanted, done.stdout)
