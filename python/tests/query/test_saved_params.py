"""The form of parameters in saved views. FORMAT.md defines it; files of older versions have it too."""

from __future__ import annotations

import datetime as dt
import pickle

import deeplake
import numpy as np
import pytest
from deeplake import tql

_ZONE = dt.timezone(dt.timedelta(hours=2, minutes=30))

# Values, and the JSON that the first version of the package wrote for them.
GOLDEN = [
    (None, None),
    (True, True),
    (5, 5),
    (2.5, 2.5),
    (float("-inf"), {"number": "-inf"}),
    ('\u00e9<>&"\\\n', '\u00e9<>&"\\\n'),
    (b"by\0tes", {"bytes": "YnkAdGVz"}),
    ({"a": [1, 2.5, None], "b": {}}, {"json": {"a": [1, 2.5, None], "b": {}}}),
    (dt.datetime(2024, 1, 2, 3, 4, 5), {"timestamp": "2024-01-02T03:04:05"}),
    (dt.datetime(2024, 1, 2, 3, 4, 5, 60, tzinfo=_ZONE), {"timestamp": "2024-01-02T03:04:05.000060+02:30"}),
    (dt.date(2024, 2, 29), {"date": "2024-02-29"}),
    (dt.timedelta(days=-1, microseconds=5), {"interval": -86399999995}),
    (np.datetime64("2024-01"), {"time": 648, "dtype": "datetime64[M]"}),
    (np.timedelta64(90, "m"), {"time": 90, "dtype": "timedelta64[m]"}),
    (np.int64(5), {"array": "BQAAAAAAAAA=", "dtype": "<i8", "shape": []}),
    (np.float16([1.5, 2]), {"array": "AD4AQA==", "dtype": "<f2", "shape": [2]}),
    (np.array([[True], [False]]), {"array": "AQA=", "dtype": "|b1", "shape": [2, 1]}),
]


@pytest.fixture
def ds():
    ds = deeplake.create("mem://saved-params", overwrite=True, schema={"x": {"dtype": "int64"}})
    ds.extend({"x": np.arange(4)})
    ds.commit()
    return ds


@pytest.mark.parametrize(("value", "written"), GOLDEN, ids=[repr(written)[:40] for _, written in GOLDEN])
def test_parameters_are_written_as_ever(ds, value, written):
    view = ds.query("SELECT x, ? IS NULL AS missing WHERE x < 2", value)
    view.save("v")
    assert _params(ds) == [written]
    again = ds.load_view("v")
    assert again["missing"][:].tolist() == view["missing"][:].tolist()
    again.save("v", replace=True)
    assert _params(ds) == [written]
    assert pickle.loads(pickle.dumps(again.query("SELECT x"))) is not None


def test_batched_values_and_commits_are_written(ds):
    batch = tql.each(np.float32([[1, 2], [3, 4]]))
    ds.query("SELECT x, ? AS y ORDER BY x LIMIT 1", batch).save("v")
    assert _params(ds) == [{"each": {"array": "AACAPwAAAEAAAEBAAACAQA==", "dtype": "<f4", "shape": [2, 2]}}]
    assert len(ds.load_view("v")) == 2


def _params(ds):
    [view] = ds.views()
    return view._about["params"]
