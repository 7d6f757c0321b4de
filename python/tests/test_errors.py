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


def test_fields_of_an_error(tmp_path):
    uri = str(tmp_path / "absent")
    with pytest.raises(deeplake.NotFoundError) as caught:
        deeplake.open(uri)
    error = caught.value
    assert error.operation and uri in error.object and error.retryable is False and error.request_id is None
    again = pickle.loads(pickle.dumps(error))
    assert (again.operation, again.object, again.retryable) == (error.operation, error.object, False)
    with deeplake.create(uri) as ds:
        ds.create_tensor("x", dtype="int32")
        with pytest.raises(deeplake.NotFoundError) as caught:
            ds["y"]
        assert caught.value.status == 4
        with pytest.raises(deeplake.AlreadyExistsError) as caught:
            ds.create_tensor("x", dtype="int32")
    assert caught.value.object == "x" and caught.value.operation == "create tensor"


def test_fields_that_are_not_known_are_none():
    error = deeplake.StorageError("no")
    assert error.operation is error.object is error.retryable is error.request_id is None
