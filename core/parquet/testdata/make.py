"""Writes the files of this folder, and what pyarrow reads from them as JSON lines of columns.

The files are committed: the tests need no Python. Run it with the
interpreter of `.venv`.
"""

import json
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

HERE = Path(__file__).parent
N = 41


def some(values: list[object], kind: pa.DataType) -> pa.Array:
    return pa.array([None if row % 5 == 3 else values[row % len(values)] for row in range(N)], kind)


STRUCT = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.struct([("c", pa.string())])))])
DELTAS = {"int": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "float": "BYTE_STREAM_SPLIT", "bool": "RLE"}
TABLE = pa.table({
    "int8": some([-128, 127, 0], pa.int8()),
    "uint64": some([2**64 - 1, 0, 5], pa.uint64()),
    "int": pa.array([row * row - 50 for row in range(N)]),
    "float": some([0.5, -2.0, 1e30], pa.float32()),
    "bool": some([True, False, False], pa.bool_()),
    "text": some(["", "one", "one hundred", "ü"], pa.string()),
    "list": some([[1, 2], [], [3]], pa.list_(pa.int16())),
    "fixed": some([[1.0, 2.0, 3.0]], pa.list_(pa.float64(), 3)),
    "deep": some([[[1], [], [2, 3]], []], pa.list_(pa.list_(pa.int32()))),
    "struct": some([{"a": 1, "b": [{"c": "x"}, {"c": None}]}, {"a": None, "b": []}], STRUCT),
    "map": some([[("k", 1), ("l", 2)], []], pa.map_(pa.string(), pa.int32())),
    "category": some(["cat", "dog"], pa.string()).dictionary_encode(),
})  # fmt: skip

FILES = {
    "plain": {"compression": "none", "use_dictionary": False},
    "dictionary": {"compression": "snappy", "row_group_size": 17},
    "pages": {"compression": "gzip", "data_page_size": 8, "write_batch_size": 4, "write_page_checksum": True},
    "version2": {"compression": "zstd", "data_page_version": "2.0", "data_page_size": 8, "write_batch_size": 4},
    "brotli": {"compression": "brotli", "data_page_version": "2.0"},
    "lz4": {"compression": "lz4", "store_schema": False},
    "deltas": {"use_dictionary": False, "column_encoding": DELTAS},
}  # fmt: skip

for name, options in FILES.items():
    parquet.write_table(TABLE, HERE / f"{name}.parquet", **options)
want = {name: TABLE[name].to_pylist() for name in TABLE.column_names}
(HERE / "values.json").write_text(json.dumps(want, indent=0, ensure_ascii=False) + "\n", "utf-8")
