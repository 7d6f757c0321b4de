"""Writes a dataset of Deep Lake 4 as a stream of Arrow. The interpreter of that package runs this
file as a program; `deeplake4.py` starts it, and reads the stream.

It imports nothing of this package, whose import name the other one has too. The first line of
standard input is the request, as JSON. The stream goes to standard output. The last line of
standard error says why there is none.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from importlib.metadata import PackageNotFoundError, version
from runpy import run_path
from typing import Any

# Not imported: the folder of this file on the path would hide modules of that package.
_COLUMNS = run_path(__file__.replace("_reader.py", "_columns.py"))
ReaderError, TooLargeError, Plan = _COLUMNS["ReaderError"], _COLUMNS["TooLargeError"], _COLUMNS["Plan"]
plan_of, metadata_of, plain = _COLUMNS["plan_of"], _COLUMNS["metadata_of"], _COLUMNS["plain"]

BATCH = 32 << 20  # bytes of a batch of Arrow, about
ROWS = 1 << 16  # rows of a batch at most
MARK = "deeplake4-error: "


def main() -> None:
    """Serves one request."""
    # The package and its libraries may print: only Arrow reaches the pipe.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        request = json.loads(sys.stdin.buffer.readline())
        threading.Thread(target=_watch, daemon=True).start()
        _write(request, out)
        out.close()
    except BrokenPipeError:
        os._exit(0)  # the reader has enough
    except ReaderError as err:
        _fail(err.kind, str(err))
    except BaseException as err:
        _fail("read", f"{type(err).__name__}: {err}")
    sys.stderr.flush()
    # The threads of the package may wait for a network at the end of the interpreter.
    os._exit(0)


def _watch() -> None:
    """Ends this process with the one that reads: its end closes standard input."""
    while os.read(0, 1):
        pass
    os._exit(1)


def _fail(kind: str, text: str) -> None:
    sys.stderr.write("\n" + MARK + json.dumps({"kind": kind, "text": text[:2000]}) + "\n")
    sys.stderr.flush()
    os._exit(3)


def _package() -> Any:
    """Imports Deep Lake 4. Another package of that name is not imported."""
    try:
        found = version("deeplake")
    except PackageNotFoundError:
        raise ReaderError("missing", "the package deeplake is not installed there") from None
    if found.split(".")[0] != "4":
        raise ReaderError("missing", f"deeplake {found} is installed there")
    try:
        return importlib.import_module("deeplake")
    except Exception as err:
        raise ReaderError("missing", f"the import of deeplake {found} fails: {type(err).__name__}: {err}") from err


def _open(package: Any, uri: str, at: str) -> Any:
    try:
        dataset = package.open_read_only(uri)
    except Exception as err:
        kind = "absent" if type(err).__name__ == "LogNotexistsError" else "read"
        raise ReaderError(kind, f"{type(err).__name__}: {err}") from err
    if not at:
        return dataset
    for names in (dataset.tags, dataset.branches):
        if at in names.names():
            return names[at].open()
    try:
        return dataset.history[at].open()
    except Exception as err:
        raise ReaderError("absent", f"it has no tag, branch or version {at!r} ({err})") from err


def _write(request: dict[str, Any], out: Any) -> None:
    package = _package()
    try:
        pa = importlib.import_module("pyarrow")
    except ImportError:
        raise ReaderError("missing", "the package pyarrow is not installed there") from None
    dataset = _open(package, request["uri"], request["at"])
    columns = list(dataset.schema.columns)
    wanted = request["columns"]
    unknown = [name for name in wanted or () if name not in [column.name for column in columns]]
    if unknown:
        known = ", ".join(f'"{column.name}"' for column in columns)
        raise ReaderError("column", f'it has no column "{unknown[0]}"; it has {known}')
    plans, left_out = [], {}
    for column in columns:
        if wanted is not None and column.name not in wanted:
            continue
        made = plan_of(pa, dataset[column.name], column)
        if isinstance(made, Plan):
            plans.append(made)
        else:
            left_out[column.name] = made
    if not plans:
        raise ReaderError("column", f"none of its columns can be read: {left_out}")
    rows = len(dataset)
    about = {
        "rows": rows,
        "package": version("deeplake"),
        "version": str(getattr(dataset, "version", "")),
        "left_out": left_out,
        "metadata": plain(metadata_of(dataset)),
        "schema": {plan.name: plan.spec for plan in plans},
    }
    writer, done, step = None, 0, 16
    while writer is None or done < rows:
        batch, taken = _batch(pa, plans, done, min(done + step, rows))
        if writer is None:
            schema = batch.schema.with_metadata({"deeplake4": json.dumps(about)})
            writer = pa.ipc.new_stream(out, schema)
        if taken:
            writer.write_batch(batch.replace_schema_metadata(schema.metadata))
        done += taken
        size = batch.nbytes // max(taken, 1) or 1
        step = max(1, min(ROWS, 4 * step, request.get("batch", BATCH) // size))
    writer.close()


def _batch(pa: Any, plans: list[Any], first: int, end: int) -> tuple[Any, int]:
    """Returns a batch of the rows from `first` on, and their number."""
    while True:
        try:
            arrays, fields = [], []
            for plan in plans:
                array, metadata = plan.read(first, end)
                if len(array) != end - first:
                    raise ReaderError("read", f'column "{plan.name}": {len(array)} values for {end - first} rows')
                arrays.append(array)
                fields.append(pa.field(plan.name, array.type, metadata=metadata))
            return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields)), end - first
        except TooLargeError:
            if end - first == 1:
                raise ReaderError("read", f"row {first} has more than 2,147,483,647 elements") from None
            end = first + (end - first) // 2


if __name__ == "__main__":
    main()
