"""Importing the package has no effects beside the import."""

from __future__ import annotations

import ast
from pathlib import Path

import deeplake
import pytest


def test_import_loads_no_core_no_numpy_no_torch(run_python):
    done = run_python(
        """
import sys
import deeplake
heavy = [name for name in ("numpy", "torch", "rich", "click", "PIL", "asyncio") if name in sys.modules]
print(heavy, "libdeeplake" in open("/proc/self/maps").read())
"""
    )
    assert done.stdout.split() == ["[]", "False"]


def test_using_the_classes_loads_no_core_and_no_torch(run_python):
    done = run_python(
        """
import sys
import deeplake
deeplake.Dataset, deeplake.View, deeplake.Sample, deeplake.read
print("torch" in sys.modules, "libdeeplake" in open("/proc/self/maps").read())
"""
    )
    assert done.stdout.split() == ["False", "False"]


def test_the_first_call_loads_the_core(run_python):
    done = run_python(
        """
import deeplake
deeplake.create("mem://x")
print("libdeeplake" in open("/proc/self/maps").read())
"""
    )
    assert done.stdout.split() == ["True"]


def test_every_public_name_is_there():
    for name in deeplake.__all__:
        assert getattr(deeplake, name) is not None
    assert {*deeplake.__all__, "ray", "transforms"} == set(dir(deeplake))


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        _ = deeplake.opne


def test_type_checkers_see_the_names_of_the_table():
    tree = ast.parse(Path(deeplake.__file__).read_text())
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: node.module.removeprefix("deeplake.")
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module and node.module != "deeplake"
        for alias in node.names
    }
    assert seen == deeplake._MODULES
    assert set(deeplake.__all__) >= {*seen, "tql"}
