"""The Python in README.md and docs/ runs: the blocks of a page one after the other, in a folder of its own."""

from __future__ import annotations

import logging
import re
import shlex
import subprocess
import sys
from pathlib import Path

import fsspec
import pytest
from conftest import host
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str]]:
    """The blocks of a page, each with the line it begins at."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, found.start(1)), found[1]) for found in _BLOCK.finditer(text)]


def run_commands(page, tmp_path, monkeypatch):
    """Runs the page's `$ deeplake ...` lines on a small folder of images."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name, color in (("cat", "red"), ("dog", "blue")):
        (tmp_path / "folder-of-images" / name).mkdir(parents=True)
        for size in (31, 31, 31):
            Image.new("RGB", (size, size), color).save(tmp_path / "folder-of-images" / name / f"{len(name)}{size}.jpg")
    commands = re.findall(r"^\$ (deeplake .*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert commands
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(command, comments=True)], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr


def register_entry_points():
    """Registers the file systems of pyproject.toml, as an installed wheel does."""
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split('[project.entry-points."fsspec.specs"]\n')[1]
    for name, target in re.findall(r'^(\w+) = "([\w.:]+)"$', lines.split("\n\n")[0], re.MULTILINE):
        fsspec.register_implementation(name, target.replace(":", "."), clobber=True)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_page(page, tmp_path, monkeypatch):
    text = "\n".join(source for _, source in blocks(page))
    for package, method in (("torch", ".pytorch("), ("tensorflow", ".tensorflow("), ("jax", ".jax(")):
        if f"import {package}" in text or method in text:
            host(package)
    if "import ray" in text:
        if sys.version_info >= (3, 14):
            pytest.skip("the tests pin Ray below Python 3.14: it has no wheel without the GIL")
        for name, value in {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}.items():
            monkeypatch.setenv(name, value)
        logging.getLogger("ray").setLevel(logging.WARNING)
    monkeypatch.chdir(tmp_path)
    register_entry_points()
    if page.name == "README.md":
        run_commands(page, tmp_path, monkeypatch)
    names: dict[str, object] = {"__name__": "__main__"}
    for line, source in blocks(page):
        # Blank lines before it, so that a traceback shows the line of the page.
        exec(compile("\n" * line + source, str(page), "exec"), names)


def test_the_pages_have_examples():
    assert {page.name for page in PAGES if blocks(page)} >= {"README.md", "dataset.md", "htypes.md", "loading.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_pictures_of_the_page_are_small():
    """`make web-pictures` makes them; test_links_lead_somewhere finds those that are missing."""
    pictures = sorted((Path(__file__).resolve().parents[2] / "docs").glob("visualizer*.jpg"))
    assert pictures
    for picture in pictures:
        assert picture.stat().st_size <= 150_000, picture
        assert Image.open(picture).size == (1280, 800), picture


def test_recipes_are_short_and_have_pictures():
    recipes = [page for page in PAGES if page.name.startswith("recipe-")]
    assert len(recipes) == 6
    for page in recipes:
        assert max(len(source.strip().split("\n")) for _, source in blocks(page)) <= 25, page.name
        picture = page.with_suffix(".jpg")
        assert f"]({picture.name})" in page.read_text(encoding="utf-8") and picture.stat().st_size <= 150_000
