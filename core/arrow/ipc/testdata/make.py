"""Writes the files of this folder, and what pyarrow reads from them as JSON lines of columns.

The files are committed: the tests need no Python. Run it with the interpreter of `.venv`.
"""

import json
from pathlib import Path

import pyarrow as pa

HERE = Path(__file__).parent
N = 41


def some(values: list[object], kind: pa.DataType) -> pa.Array:
    return pa.array([None if row % 5 == 3 else values[row % len(values)] for row in range(N)], kind)


STRUCT = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.struct([("c", pa.string())])))])
WORDS = ["", "one", "one hundred and more", "ü"]
UNION = pa.UnionArray.from_sparse(
    pa.array([row % 2 for row in range(N)], pa.int8()), [pa.array(range(N)), some(WORDS, pa.string())]
)
RUNS = pa.RunEndEncodedArray.from_arrays([10, N], ["a", "b"])
TABLE = pa.table({
    "int8": some([-128, 127, 0], pa.int8()),
    "uint64": some([2**64 - 1, 0, 5], pa.uint64()),
    "int": pa.array([row * row - 50 for row in range(N)]),
    "float": some([0.5, -2.0, 1e30], pa.float32()),
    "bool": some([True, False, False], pa.bool_()),
    "text": some(WORDS, pa.string()),
    "union": UNION,
    "large": some(WORDS, pa.large_string()),
    "view": some(WORDS, pa.string_view()),
    "runs": RUNS,
    "time": some([1, 2], pa.time32("s")),
    "list": some([[1, 2], [], [3]], pa.list_(pa.int16())),
    "list view": some([[1, 2], [], [3]], pa.list_view(pa.int16())),
    "fixed": some([[1.0, 2.0, 3.0]], pa.list_(pa.float64(), 3)),
    "deep": some([[[1], [], [2, 3]], []], pa.list_(pa.list_(pa.int32()))),
    "struct": some([{"a": 1, "b": [{"c": "x"}, {"c": None}]}, {"a": None, "b": []}], STRUCT),
    "map": some([[("k", 1), ("l", 2)], []], pa.map_(pa.string(), pa.int32())),
    "category": some(["cat", "dog"], pa.string()).dictionary_encode(),
    "categories": pa.ListArray.from_arrays(list(range(N + 1)), some(["x", "y"], pa.string()).dictionary_encode()),
    "null": pa.nulls(N),
    "last": pa.array(range(N)),
})  # fmt: skip
OTHERS = ["union", "runs", "time"]  # which no tensor holds

FILES = {
    "plain": {},
    "lz4": {"compression": "lz4"},
    "zstd": {"compression": "zstd"},
    "old": {"metadata_version": pa.ipc.MetadataVersion.V4},
}  # fmt: skip

for name, options in FILES.items():
    table = TABLE.drop_columns(["union"]) if name == "old" else TABLE  # which pyarrow does not write there
    for kind, new in (("arrow", pa.ipc.new_file), ("stream", pa.ipc.new_stream)):
        how = pa.ipc.IpcWriteOptions(**options)
        with pa.OSFile(str(HERE / f"{name}.{kind}"), "wb") as file, new(file, table.schema, options=how) as writer:
            writer.write_table(table, 17)

# A dictionary that grows, and one that is another in each record batch.
words = [["a", "b"], ["a", "b", "c"], ["a", "b", "c", "dd"]]
for name, grows in (("deltas", True), ("replaced", False)):
    parts = [
        pa.record_batch(
            {"category": pa.DictionaryArray.from_arrays([len(one) - 1, 0, None], one if grows else one[::-1])}
        )
        for one in words
    ]
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=grows)
    with (
        pa.OSFile(str(HERE / f"{name}.words"), "wb") as file,
        pa.ipc.new_stream(file, parts[0].schema, options=options) as writer,
    ):
        for part in parts:
            writer.write_batch(part)

want = {name: TABLE[name].to_pylist() for name in TABLE.column_names if name not in OTHERS}
(HERE / "values.json").write_text(json.dumps(want, indent=0, ensure_ascii=False) + "\n", "utf-8")
