"""Values on their way in whose meaning NumPy's memory alone does not have: missing rows, and times.

The extension calls `count` and `count_lists` when a column turns out to count time.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deeplake._errors import InvalidArgumentError, TensorTypeError

_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)

# The units of the core for NumPy's. Years, months and weeks have a length in days for a date alone.
_DATES = {"Y": "D", "M": "D", "W": "D", "D": "D", "h": "s", "m": "s", "s": "s", "ms": "ms", "us": "us", "ns": "ns"}
_SPANS = {"W": "s", "D": "s", "h": "s", "m": "s", "s": "s", "ms": "ms", "us": "us", "ns": "ns"}

_MISSING = ("NaTType", "NAType")  # of pandas


class Column:
    """A column of samples with the rows that are missing, and what its numbers count.

    Args:
        values: an array with a row for each sample, or a list of samples.
        missing: bools, shape (rows,): the rows without a sample. None: there are none.
        counts: what int64 numbers count, as "timestamp[us, UTC]"; "" for plain numbers.
        names: of the classes that the numbers of a class_label stand for; None: they are the
            tensor's.
    """

    __slots__ = ("__deeplake_counts__", "__deeplake_missing__", "__deeplake_names__", "__deeplake_values__")

    def __init__(
        self,
        values: Any,
        missing: npt.NDArray[np.bool_] | None = None,
        counts: str = "",
        names: list[str] | None = None,
    ) -> None:
        self.__deeplake_values__ = values
        self.__deeplake_missing__ = missing
        self.__deeplake_counts__ = counts
        self.__deeplake_names__ = names


def count(values: Any) -> Column:
    """Returns a column of times: an array of NumPy, or a list with a time, an array or list of
    times, or None for each row.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        numbers, counts = _counted(values)
        return Column(numbers, None, counts)
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise TensorTypeError(
            f"the column is a {type(values).__name__}, want an array, or a list with one time for each"
        )
    arrays, zone = _arrays(list(values))
    common = _common(arrays)
    missing = np.array([array is None for array in arrays], np.bool_)
    if all(array is None or array.ndim == 0 for array in arrays):
        none = np.zeros((), common)
        whole = np.array([none if array is None else array.astype(common) for array in arrays], common)
        numbers, counts = _counted(whole, zone)
        return Column(numbers, missing if missing.any() else None, counts)
    counted = [None if array is None else _counted(array.astype(common), zone) for array in arrays]
    counts = next(c[1] for c in counted if c is not None)
    return Column([None if c is None else c[0] for c in counted], None, counts)


def count_lists(rows: Any) -> Column:
    """Returns a column whose rows are lists of times."""
    lists = [None if row is None else list(row) for row in rows]
    items = [item for row in lists if row is not None for item in row]
    arrays, zone = _arrays(items)
    common = _common(arrays)
    counted, counts = [], ""
    for array in arrays:
        if array is None:
            raise TensorTypeError("a list of times has None in it; leave the item out")
        numbers, counts = _counted(array.astype(common), zone)
        counted.append(numbers)
    left = iter(counted)
    return Column([None if row is None else [next(left) for _ in row] for row in lists], None, counts)


def timed(value: Any, time: str) -> Any:
    """Returns int64 numbers that count time as datetime64 or timedelta64, in lists too."""
    if isinstance(value, list):
        return [timed(item, time) for item in value]
    return value.view(numpy_time(time)) if isinstance(value, np.ndarray) else value


def numpy_time(time: str) -> np.dtype[Any]:
    """Returns NumPy's dtype, which has no zone, for a time like "timestamp[us, UTC]"."""
    kind, _, rest = time.partition("[")
    if kind == "date":
        return np.dtype("M8[D]")
    return np.dtype(f"{'m' if kind == 'interval' else 'M'}8[{rest.rstrip(']').partition(',')[0]}]")


def _arrays(values: Sequence[Any]) -> tuple[list[npt.NDArray[Any] | None], str | None]:
    """Returns each value as an array of datetime64 or timedelta64, None if it is missing; and the
    zone of the first one that states a zone, None if the values cannot state one.
    """
    zones: list[str | None] = []
    arrays = [
        None if value is None or type(value).__name__ in _MISSING else _array(row, value, zones)
        for row, value in enumerate(values)
    ]
    stated = [zone for zone in zones if zone is not None]
    if "" in stated and any(stated):
        raise TensorTypeError("some times have a zone and others have none; give all of them one, or none")
    return arrays, stated[0] if stated else None


def _array(row: int, value: Any, zones: list[str | None]) -> npt.NDArray[Any]:
    """Returns a time, or nested lists of times, as an array. Adds the zones of the times."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "mM":
        return value
    if not isinstance(value, list | tuple) and not (isinstance(value, np.ndarray) and value.ndim):
        time, zone = _time(row, value)
        zones.append(zone)
        return time
    items = [_array(row, item, zones) for item in value]
    if len({item.shape for item in items}) > 1:
        raise TensorTypeError(
            f"row {row} has lists of times of unequal lengths, which make no array; pad them with NaT"
        )
    common = _common(items)
    return np.stack([item.astype(common) for item in items]) if items else np.zeros(0, common)


def _time(row: int, value: Any) -> tuple[npt.NDArray[Any], str | None]:
    """Returns a time as an array without axes, and its zone: "" for none, None where its type
    cannot have one.
    """
    try:
        if isinstance(value, np.datetime64 | np.timedelta64):
            return np.asarray(value), None
        if hasattr(value, "to_datetime64"):  # of pandas, in UTC
            return np.asarray(value.to_datetime64()), zone_name(value.tzinfo)
        if hasattr(value, "to_timedelta64"):
            return np.asarray(value.to_timedelta64()), None
        if isinstance(value, datetime.datetime):
            since = value - (_EPOCH if value.tzinfo is None else _EPOCH_UTC)
            return np.array(since // _MICROSECOND, "M8[us]"), zone_name(value.tzinfo)
        if isinstance(value, datetime.date):
            return np.array(value, "M8[D]"), None
        if isinstance(value, datetime.timedelta):
            return np.array(value // _MICROSECOND, "m8[us]"), None
    except OverflowError:
        raise InvalidArgumentError(f"row {row} has a time beyond the microseconds that 64 bits hold") from None
    raise TensorTypeError(f"row {row} is a {type(value).__name__} among times, want times")


def zone_name(zone: datetime.tzinfo | None) -> str:
    """Returns the name of a zone in a schema: "Europe/Berlin", "UTC", "+02:00"; "" for None."""
    if zone is None:
        return ""
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if name:
        return str(name)
    offset = zone.utcoffset(None)
    if not offset:
        return "UTC"
    minutes, rest = divmod(offset, datetime.timedelta(minutes=1))
    if rest:
        return "UTC"  # the numbers count in UTC whatever the name
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _common(arrays: Iterable[npt.NDArray[Any] | None]) -> np.dtype[Any]:
    """Returns the dtype that holds times of all units. A unit of the core holds each of them."""
    kinds = {array.dtype for array in arrays if array is not None}
    if len({kind.kind for kind in kinds}) > 1:
        raise TensorTypeError("some values are points in time and others are lengths of time; want one of the two")
    known = [np.dtype(f"{kind.kind}8[{_unit(kind)}]") for kind in kinds]
    return np.result_type(*known) if known else np.dtype("M8[us]")


def _unit(kind: np.dtype[Any]) -> str:
    unit, _ = np.datetime_data(kind)
    if unit == "generic":
        return "us"  # NaT alone
    units = _DATES if kind.kind == "M" else _SPANS
    if unit not in units:
        raise InvalidArgumentError(
            f"times have the unit {unit!r} ({kind}), which tensors cannot hold; cast them, as by "
            f'.astype("{"datetime64" if kind.kind == "M" else "timedelta64"}[ns]")'
        )
    return units[unit]


def _counted(times: npt.NDArray[Any], zone: str | None = None) -> tuple[npt.NDArray[np.int64], str]:
    """Returns times as int64 numbers, and what these count. zone is as of `_arrays`."""
    unit = _unit(times.dtype)
    exact = times.astype(f"{times.dtype.kind}8[{unit}]")
    if np.datetime_data(times.dtype)[0] != "generic":
        same = (exact.astype(times.dtype) == times) | np.isnat(times)
        if not np.all(same):
            raise InvalidArgumentError(f"times of {times.dtype} lie beyond what 64 bits of {unit!r} hold")
    numbers = exact.astype(np.int64)
    if times.dtype.kind == "m":
        return numbers, f"interval[{unit}]"
    if unit == "D":
        return numbers, "date"
    if zone is None:
        return numbers, f"datetime64[{unit}]"
    return numbers, f"timestamp[{unit}, {zone}]" if zone else f"timestamp[{unit}]"


def inferred_types(columns: Mapping[str, Any]) -> dict[str, str]:
    """Returns the types, as the native `append` wants them, of columns of Python values that make
    tensors: "json" for dicts and for lists of values that are no numbers, a sequence for lists of
    texts or of files. Other columns have none.
    """
    types = {}
    for name, column in columns.items():
        if not isinstance(column, list | tuple):
            continue
        first = next((value for value in column if value is not None and not _is_empty(value)), None)
        item = first[0] if isinstance(first, list | tuple) and first else None
        if isinstance(first, Mapping):
            types[name] = "json"
        elif isinstance(item, str):
            types[name] = "sequence[string]" if all(map(_is_texts, column)) else "json"
        elif hasattr(item, "__deeplake_encoded__"):
            types[name] = "sequence[image]"
        elif isinstance(item, Mapping) or (isinstance(item, list | tuple) and item and isinstance(item[0], str)):
            types[name] = "json"
    return types


def _is_empty(value: Any) -> bool:
    return isinstance(value, list | tuple) and not value


def _is_texts(value: Any) -> bool:
    return value is None or (isinstance(value, list | tuple) and all(isinstance(item, str) for item in value))
