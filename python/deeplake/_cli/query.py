"""The command `deeplake query`."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deeplake import _native
from deeplake._cli.complete import PLACE
from deeplake._cli.output import as_json_text, at_option, show, table
from deeplake._text import printable

if TYPE_CHECKING:
    from deeplake._data.view import QueryView, View

# An array of more elements is told by its dtype and shape.
_SHOWN_ELEMENTS = 8
_WRITTEN_ELEMENTS = 1 << 16


@click.command()
@click.argument("words", nargs=-1, type=PLACE, metavar="[URI] QUERY")
@click.option(
    "--param",
    "-p",
    "params",
    multiple=True,
    metavar="[NAME=]VALUE",
    help="The value of :NAME in the query, or of the next ?: JSON, or else text.",
)
@click.option("--explain", is_flag=True, help="Show how it would be carried out, and do not run it.")
@click.option("--analyze", is_flag=True, help="Run it, and show what happened instead of the rows.")
@click.option("--json", "as_json", is_flag=True, help="Print all rows as JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print all rows as CSV.")
@click.option("--parquet", type=click.Path(dir_okay=False, writable=True), help="Write all rows to a Parquet file.")
@click.option("--limit-rows-shown", "shown", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Of RANDOM() and SAMPLE BY.")
@at_option
def query(
    words: tuple[str, ...],
    params: tuple[str, ...],
    explain: bool,
    analyze: bool,
    as_json: bool,
    as_csv: bool,
    parquet: str | None,
    shown: int,
    seed: int,
    at: str,
) -> None:
    """Run a query on a dataset, or, without URI, on the datasets that its FROM names.

    Arrays of more than a few numbers are shown by their dtype and shape.
    """
    if not 1 <= len(words) <= 2:
        raise click.UsageError(f"got {len(words)} arguments, want a query, or a URI and a query")
    if at and len(words) == 1:
        raise click.UsageError("--at goes with a URI; without one, FROM names the datasets")
    if sum((as_json, as_csv, parquet is not None)) > 1:
        raise click.UsageError("--json, --csv and --parquet exclude each other")
    if (explain or analyze) and (as_csv or parquet is not None):
        raise click.UsageError("--explain and --analyze exclude --csv and --parquet: they give no rows")
    if parquet is not None and not Path(parquet).absolute().parent.is_dir():
        raise click.UsageError(f'--parquet {parquet}: there is no directory "{Path(parquet).parent}"')
    values = _values(words[-1], params)
    if explain or analyze:
        from deeplake._query.query import Question

        question = Question(words[-1], values, seed)
        about = question.explain(_view(words, at), None, analyze=analyze)
        show(dict(about.plan), as_json, about.text.rstrip().split("\n"))
        return
    result = _ask(words, values, seed, at)
    if parquet is not None:
        _write_parquet(result, parquet)
        show(None, False, [f"wrote {len(result):,} rows to {parquet}"])
    elif as_json:
        _write_json(result)
    elif as_csv:
        _write_csv(result)
    else:
        _write_table(result, shown)


def _view(words: tuple[str, ...], at: str) -> Any:
    return None if len(words) == 1 else _open(words[0], at)._source.pinned().view()


def _open(uri: str, at: str) -> Any:
    from deeplake._data.dataset import open as open_dataset

    return open_dataset(uri, at=at or None, read_only=True)


def _ask(words: tuple[str, ...], params: tuple[Any, ...], seed: int, at: str) -> QueryView:
    if len(words) == 1:
        from deeplake._data.dataset import query as ask

        return ask(words[0], *params, seed=seed)
    result: QueryView = _open(words[0], at).query(words[1], *params, seed=seed)
    return result


def _values(text: str, params: tuple[str, ...]) -> tuple[Any, ...]:
    """Returns the values of each ?, or a dict with the values of the names in the query."""
    known = _native.query_parameters(text)["parameters"] if params else []
    if not known or "" in known:
        return tuple(_param(value) for value in params)
    given: dict[str, Any] = {}
    for pair in params:
        name, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f'--param: got "{pair}", want NAME=VALUE for one of {", ".join(known)}')
        if name in given:
            raise click.UsageError(f"--param: {name} has two values, {given[name]!r} and {value!r}")
        given[name] = _param(value)
    return (given,)


def _param(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _rows(result: View, most: int) -> Iterator[list[Any]]:
    names = list(result.tensors)
    classes = {name: tensor.class_names for name, tensor in result.tensors.items()}
    for row in result:
        yield [_plain(row[name], classes[name], most) for name in names]


def _plain(value: Any, classes: list[str] | None, most: int) -> Any:
    """Returns a printable form of a sample."""
    if value is None or isinstance(value, str | bool | int | float | dict):
        return value
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, list):
        return [_plain(item, classes, most) for item in value]
    if not hasattr(value, "dtype"):  # a video
        return str(value)
    if value.ndim == 0:
        return _scalar(value, classes)
    if value.size > most or value.dtype.kind not in "biufmM":
        return f"{value.dtype} {value.shape}"
    if value.dtype.kind in "mM":
        return [_scalar(item, None) for item in value.ravel()]
    return value.tolist()


def _scalar(value: Any, classes: list[str] | None) -> Any:
    if value.dtype.kind == "m":
        return str(value.astype("m8[us]").item())
    if value.dtype.kind == "M":
        return str(value).replace("T", " ")
    if classes is not None and 0 <= int(value) < len(classes):
        return classes[int(value)]
    return value.tolist()


def _write_table(result: QueryView, shown: int) -> None:
    cells = [[_cell(value) for value in row] for row in _rows(result[:shown], _SHOWN_ELEMENTS)]
    lines = table(list(result.tensors), cells)
    if len(result) > shown:
        lines.append(f"  {len(result) - shown:,} more rows; --limit-rows-shown shows more of them")
    show(None, False, lines)


def _cell(value: Any, width: int = 40) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).split())
    return text if len(text) <= width else text[: width - 3] + "..."


def _write_json(result: QueryView) -> None:
    """Prints a list of objects, one row a line, as they are read."""
    names = list(result.tensors)
    before = "["
    for row in _rows(result, _WRITTEN_ELEMENTS):
        cells = {name: _finite(value) for name, value in zip(names, row, strict=True)}
        click.echo(before + as_json_text(cells, allow_nan=False), nl=False)
        before = ",\n"
    click.echo("]" if before != "[" else "[]")


def _finite(value: Any) -> Any:
    """Returns null for NaN and the infinities, which JSON lacks."""
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return None if isinstance(value, float) and not isfinite(value) else value


def _write_csv(result: QueryView) -> None:
    # A file or a program gets the text unchanged; a terminal would obey it.
    text: Callable[[str], str] = printable if sys.stdout.isatty() else str
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([text(name) for name in result.tensors])
    for row in _rows(result, _WRITTEN_ELEMENTS):
        writer.writerow([_csv_cell(value, text) for value in row])


def _csv_cell(value: Any, text: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return text(value)
    return value if value is None or isinstance(value, float | int) else json.dumps(value)


def _write_parquet(result: QueryView, path: str) -> None:
    from deeplake._rows.arrow import _package

    parquet = _package("pyarrow.parquet")
    data = result.to_arrow()
    try:
        parquet.write_table(data, path)
    except OSError as err:
        raise click.ClickException(f"write {path}: {err}") from err
