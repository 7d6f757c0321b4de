"""Names that other libraries use: some work here, the others lead to ours.

One table holds them. docs/coming-from.md shows it, and python/tests/test_neighbours.py compares the
two and tries each name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from deeplake._errors import InvalidArgumentError
from deeplake._names import check_keywords, suggest


class Neighbour(NamedTuple):
    """A name of other libraries.

    Attributes:
        of: the libraries.
        ours: what to write here; {0} is the object, {1} the name of a tensor.
        same: returns the attribute, from the object; None: the name does not work here.
    """

    of: str
    ours: str
    same: Callable[[Any], Any] | None = None


def _take(ds: Any, n: int) -> Any:
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise InvalidArgumentError(f"take: n is {n!r}, want a number of rows; ds[rows] takes rows by number")
    return ds[:n]


def _skip(ds: Any, n: int) -> Any:
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise InvalidArgumentError(f"skip: n is {n!r}, want a number of rows")
    return ds[n:]


def _tail(ds: Any, n: int = 5) -> Any:
    return ds[len(ds) - min(n, len(ds)) :] if n >= 0 else ds[-n:]


def _shuffle(ds: Any, *values: Any, seed: int = 0) -> Any:
    import numpy as np

    if values:  # a seed to some libraries, the size of a buffer to others
        raise InvalidArgumentError(
            f"shuffle: got {values[0]!r} without a name; shuffle(seed={values[0]!r}) orders all rows by a seed, and "
            "ds.pytorch(shuffle=True, shuffle_bytes=...) shuffles within a window"
        )
    return ds[np.random.RandomState(seed).permutation(len(ds))]


def _train_test_split(ds: Any, test_size: float | int | None = None, **options: Any) -> Any:
    check_keywords("train_test_split", options, ("train_size", "seed", "shuffle", "stratify_by_column"))
    train = options.get("train_size")
    if test_size is None:
        test_size = 0.25 if train is None else 1 - train if isinstance(train, float) else len(ds) - train
    if train is None:
        train = 1 - test_size if isinstance(test_size, float) else len(ds) - test_size
    seed = options.get("seed")
    seed = None if not options.get("shuffle", True) else 0 if seed is None else seed
    return ds.split({"train": train, "test": test_size}, seed=seed, stratify=options.get("stratify_by_column"))


DATASET: Mapping[str, Neighbour] = {
    "num_rows": Neighbour("Hugging Face", "len({0})", len),
    "count_rows": Neighbour("Lance, Arrow", "len({0})", lambda ds: partial(len, ds)),
    "column_names": Neighbour("Hugging Face, Arrow", "list({0}.tensors)", lambda ds: list(ds.tensors)),
    "columns": Neighbour("pandas, polars", "list({0}.tensors)", lambda ds: list(ds.tensors)),
    "keys": Neighbour("h5py, zarr", "{0}.tensors", lambda ds: partial(list, ds.tensors)),
    "features": Neighbour("Hugging Face", "{0}.schema", lambda ds: ds.schema),
    "select": Neighbour("Hugging Face", "{0}[rows]", lambda ds: ds.__getitem__),
    "select_columns": Neighbour("Hugging Face", '{0}[["a", "b"]]', lambda ds: lambda names: ds[list(names)]),
    "take": Neighbour("Hugging Face, tf.data", "{0}[:n]", lambda ds: partial(_take, ds)),
    "skip": Neighbour("Hugging Face, tf.data", "{0}[n:]", lambda ds: partial(_skip, ds)),
    "tail": Neighbour("pandas, polars", "{0}[-n:]", lambda ds: partial(_tail, ds)),
    "shuffle": Neighbour("Hugging Face", "{0}[permutation]; loaders take shuffle=", lambda ds: partial(_shuffle, ds)),
    "train_test_split": Neighbour(
        "Hugging Face",
        '{0}.split({{"train": 0.8, "test": 0.2}}, seed=0, stratify="labels")',
        lambda ds: partial(_train_test_split, ds),
    ),
    "to_table": Neighbour("Lance, Arrow", "{0}.to_arrow()", lambda ds: ds.to_arrow),
    "map": Neighbour("Hugging Face, tf.data", "{0}.pytorch(transform=fn); {0}.query('SELECT ...').materialize(uri)"),
    "describe": Neighbour("pandas, polars", "{0}.summary(), or {0}.query('SELECT MIN(x), MAX(x), AVG(x)')"),
    "shape": Neighbour("pandas, polars", 'len({0}) and {0}["x"].shape'),
    "dtypes": Neighbour("pandas, polars", "{0}.schema"),
    "where": Neighbour("NumPy, pandas", "{0}.query('SELECT * WHERE ...'), or {0}.filter(fn)"),
    "sort": Neighbour("Hugging Face, polars", "{0}.query('SELECT * ORDER BY x')"),
    "sort_values": Neighbour("pandas", "{0}.query('SELECT * ORDER BY x')"),
    "groupby": Neighbour("pandas", "{0}.query('SELECT x, COUNT(*) GROUP BY x')"),
    "group_by": Neighbour("polars, Arrow", "{0}.query('SELECT x, COUNT(*) GROUP BY x')"),
    "unique": Neighbour("Hugging Face, pandas", "{0}.query('SELECT DISTINCT x')"),
    "loc": Neighbour("pandas", "{0}[rows]"),
    "iloc": Neighbour("pandas", "{0}[rows]"),
    "iter": Neighbour("Hugging Face", "{0}.batches(batch_size)"),
    "batch": Neighbour("tf.data, Hugging Face", "{0}.batches(batch_size)"),
    "to_batches": Neighbour("Lance, Arrow", "{0}.batches(batch_size)"),
    "dataloader": Neighbour("Deep Lake 3", "{0}.pytorch(batch_size)"),
    "with_format": Neighbour("Hugging Face", "{0}.pytorch(), {0}.batches(), {0}.tensorflow() or {0}.jax()"),
    "set_format": Neighbour("Hugging Face", "{0}.pytorch(), {0}.batches(), {0}.tensorflow() or {0}.jax()"),
    "to_dict": Neighbour("Hugging Face, pandas", "{{name: {0}[name][:] for name in {0}.tensors}}"),
    "to_list": Neighbour("Hugging Face", "[dict(row) for row in {0}]"),
    "to_parquet": Neighbour("Hugging Face, pandas", "pyarrow.parquet.write_table({0}.to_arrow(), path)"),
    "to_csv": Neighbour("Hugging Face, pandas", "{0}.to_pandas().to_csv(path)"),
    "save_to_disk": Neighbour("Hugging Face", "{0}.materialize(uri), or deeplake.copy"),
    "push_to_hub": Neighbour("Hugging Face", "deeplake.copy(uri, place)"),
    "shard": Neighbour("Hugging Face, tf.data", "{0}[rank::ranks]; loaders take rank= and world_size="),
    "repeat": Neighbour("Hugging Face, tf.data", "one iteration of a loader for each epoch"),
    "prefetch": Neighbour("tf.data", "{0}.pytorch(prefetch=2)"),
    "add_column": Neighbour("Hugging Face, Deep Lake 4", "{0}.create_tensor(name) and {0}.update(slice(None), ...)"),
    "add_item": Neighbour("Hugging Face", "{0}.append(row)"),
    "create_dataset": Neighbour("h5py", "{0}.create_tensor(name)"),
    "create_group": Neighbour("h5py", '{0}.create_tensor("group/name")'),
    "remove_columns": Neighbour("Hugging Face", '{0}[["a", "b"]], or {0}.delete_tensor(name)'),
    "drop": Neighbour("pandas, polars", "{0}.delete(rows), or {0}.delete_tensor(name)"),
    "rename_column": Neighbour("Hugging Face, Deep Lake 4", "{0}.rename_tensor(old, new)"),
    "pop": Neighbour("Deep Lake 3", "{0}.delete(row)"),
    "merge_insert": Neighbour("Lance, Delta", '{0}.extend(rows, on="id")'),
    "flush": Neighbour("h5py, Deep Lake 3", "{0}.commit()"),
    "rollback": Neighbour("databases", "{0}.discard()"),
    "numpy": Neighbour("Deep Lake 3", '{0}["x"].numpy()'),
}

TENSOR: Mapping[str, Neighbour] = {
    "to_numpy": Neighbour("pandas, polars, Arrow", "{0}.numpy()", lambda tensor: tensor.numpy),
    "values": Neighbour("pandas", "{0}.numpy()", lambda tensor: tensor.numpy()),
    "ndim": Neighbour("NumPy, h5py", "1 + len({0}.shape)"),
    "num_samples": Neighbour("Deep Lake 3", "len({0})", len),
    "tolist": Neighbour("NumPy, pandas", "list({0}[:])", lambda tensor: partial(_tolist, tensor)),
    "to_pylist": Neighbour("Arrow", "list({0}[:])", lambda tensor: partial(_tolist, tensor)),
    "data": Neighbour("Deep Lake 3", "{0}.numpy()"),
    "append": Neighbour("Deep Lake 3", 'ds.append({{"{1}": sample, ...}}): rows are appended whole'),
    "extend": Neighbour("Deep Lake 3", 'ds.extend({{"{1}": samples, ...}}): rows are appended whole'),
    "pop": Neighbour("Deep Lake 3", "ds.delete(row): rows are deleted whole"),
    "update": Neighbour("pandas", "{0}[rows] = samples"),
    "mean": Neighbour("NumPy, pandas", "{0}.numpy().mean(), or ds.query('SELECT AVG({1})')"),
    "sum": Neighbour("NumPy, pandas", "{0}.numpy().sum(), or ds.query('SELECT SUM({1})')"),
    "min": Neighbour("NumPy, pandas", "{0}.numpy().min(), or ds.query('SELECT MIN({1})')"),
    "max": Neighbour("NumPy, pandas", "{0}.numpy().max(), or ds.query('SELECT MAX({1})')"),
    "std": Neighbour("NumPy, pandas", "{0}.numpy().std()"),
    "unique": Neighbour("pandas, Arrow", "ds.query('SELECT DISTINCT {1}')"),
    "value_counts": Neighbour("pandas, Arrow", "ds.query('SELECT {1}, COUNT(*) GROUP BY {1}')"),
    "isna": Neighbour("pandas", "ds.query('SELECT * WHERE {1} IS NULL')"),
    "isin": Neighbour("pandas", "ds.query('SELECT * WHERE {1} IN ?', values)"),
    "astype": Neighbour("NumPy, pandas", "{0}.numpy().astype(dtype)"),
    "reshape": Neighbour("NumPy", "{0}.numpy().reshape(shape)"),
    "map": Neighbour("pandas", "ds.pytorch(transform={{'{1}': fn}})"),
    "apply": Neighbour("pandas", "ds.pytorch(transform={{'{1}': fn}})"),
    "text": Neighbour("Deep Lake 3", "{0}[row]"),
}

PACKAGE: Mapping[str, Neighbour] = {
    "load": Neighbour("Deep Lake 3", "deeplake.open(uri)"),
    "dataset": Neighbour("Deep Lake 3, Lance", "deeplake.open(uri)"),
    "empty": Neighbour("Deep Lake 3", "deeplake.create(uri)"),
    "like": Neighbour("Deep Lake 3, 4", "deeplake.create(uri, schema=ds.schema)"),
    "types": Neighbour("Deep Lake 4", 'ds.create_tensor(name, "image"): htypes are names'),
    "load_dataset": Neighbour("Hugging Face", 'deeplake.ingest("hf://datasets/owner/name", uri)'),
    "load_from_disk": Neighbour("Hugging Face", "deeplake.open(uri)"),
    "from_pandas": Neighbour("Hugging Face, Arrow, polars", "deeplake.ingest(frame, uri)"),
    "write_dataset": Neighbour("Lance, Arrow", "deeplake.ingest(table, uri)"),
    "ingest_coco": Neighbour("Deep Lake 3", 'deeplake.ingest(folder, uri, format="coco")'),
    "ingest_yolo": Neighbour("Deep Lake 3", 'deeplake.ingest(folder, uri, format="yolo")'),
    "ingest_classification": Neighbour("Deep Lake 3", "deeplake.ingest(folder, uri)"),
    "ingest_dataframe": Neighbour("Deep Lake 3", "deeplake.ingest(frame, uri)"),
    "ingest_huggingface": Neighbour("Deep Lake 3", "deeplake.ingest(dataset, uri)"),
    "concatenate_datasets": Neighbour("Hugging Face", "deeplake.mix([a, b])"),
    "interleave_datasets": Neighbour("Hugging Face", "deeplake.mix([a, b], shares)"),
}


def _tolist(tensor: Any) -> list[Any]:
    values = tensor[:]
    return values if isinstance(values, list) else list(values.tolist())


def dataset_attribute(ds: Any, name: str) -> Any:
    """Returns the attribute of a dataset or a view that other libraries call so."""
    found = DATASET.get(name)
    if found is not None and found.same is not None:
        return found.same(ds)
    known = [one for one in dir(type(ds)) if not one.startswith("_")]
    raise _missing(ds, name, None if found is None else found.ours.format("ds"), known, lambda: ds._source.names())


def tensor_attribute(tensor: Any, name: str) -> Any:
    """Returns the attribute of a tensor that other libraries call so."""
    found = TENSOR.get(name)
    if found is not None and found.same is not None:
        return found.same(tensor)
    ours = None if found is None else found.ours.format(f'ds["{tensor.name}"]', tensor.name)
    raise _missing(tensor, name, ours, [one for one in dir(type(tensor)) if not one.startswith("_")])


def package_hint(name: str, known: list[str]) -> str:
    """Returns the end of the message about a name that the package does not have."""
    found = PACKAGE.get(name)
    return f"; write {found.ours}" if found is not None else suggest(name, known)


def _missing(
    of: Any, name: str, ours: str | None, known: list[str], tensors: Callable[[], list[str]] = list
) -> AttributeError:
    message = f"{type(of).__name__!r} object has no attribute {name!r}"
    if not name.startswith("_"):
        if ours is not None:
            message += f"; write {ours}"
        elif name in tensors():
            message += f'; write ds["{name}"] for the tensor'
        else:
            message += suggest(name, known)
    return AttributeError(message, name=name, obj=of)
