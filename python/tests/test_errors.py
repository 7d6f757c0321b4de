"""The classes of errors: one root, the built-ins that Python users catch, one table with the core."""

from __future__ import annotations

import builtins
import pickle

import deeplake
import pytest
from deeplake import _errors, _native


def test_the_table_of_the_core_is_this_module():
    table = _native.error_table()
    classes = {name: kind for name, kind in vars(_errors).items() if isinstance(kind, type)}
    assert {row["python"] for row in table} | {"Error"} == classes.keys()
    for row in table:
        kind = classes[row["python"]]
        assert issubclass(kind, deeplake.Error)
        assert issubclass(kind, getattr(builtins, row["base"]))
        assert kind.status == row["status"]


@pytest.mark.parametrize("name", [name for name in deeplake.__all__ if name.endswith("Error")])
def test_errors_pickle(name):
    error = getattr(deeplake, name)("what is wrong")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == "what is wrong"
