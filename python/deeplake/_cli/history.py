"""The commands that list versions and their changes: log, diff, history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import click

from deeplake import _native
from deeplake._cli.complete import PLACE
from deeplake._cli.output import as_json_text, at_option, json_option, show, table
from deeplake._stores import storage as _storage
from deeplake._stores import uri as _uri

branch_option = click.option("--branch", "-b", default="main", show_default=True, help="The branch to work on.")


def open_native(uri: str, *, branch: str = "", at: str = "", write: bool = False) -> _native.Dataset:
    """Opens a dataset at a version, the newest of a branch without `at`."""
    place = _uri.resolve(uri)
    return _native.open(place, branch=branch, at=at, read_only=not write, store=_storage.reach(None))


@click.command()
@click.argument("uri", type=PLACE)
@branch_option
@at_option
@click.option("--limit", "-n", type=click.IntRange(min=1), help="Show at most so many.")
@click.option("--graph", is_flag=True, help="Draw how the versions come from each other, merges and names included.")
@click.option("--all", "everything", is_flag=True, help="With --graph: of all branches and tags.")
@json_option
def log(uri: str, branch: str, at: str, limit: int | None, graph: bool, everything: bool, as_json: bool) -> None:
    """List the versions of a dataset, the newest first; with --at from that version on."""
    dataset = open_native(uri, branch=branch, at=at)
    if graph or everything:
        entries = dataset.graph(limit or 0, everything)
        show(entries, as_json, _drawn(entries))
        return
    commits = dataset.log(limit or 0)
    rows = [
        [str(c["version"]), c["commit"][:8], c["time"], f"{c['rows']:,}", *_counts(c), c["author"], c["message"]]
        for c in commits
    ]
    head = ["version", "commit", "time", "rows", "added", "updated", "deleted", "author", "message"]
    show(commits, as_json, table(head, rows))


def _counts(commit: Mapping[str, Any]) -> list[str]:
    """Returns the cells of the changed rows of a commit; those of 0 are empty."""
    changes = commit.get("changes")
    if changes is None:
        return ["?"] * 3
    return [f"{changes[what]:,}" if changes[what] else "" for what in ("added", "updated", "deleted")]


def _drawn(entries: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """Draws commits, each before its parents, with a lane for each open line of history."""
    lanes: list[str] = []
    for entry in entries:
        if entry["commit"] not in lanes:
            lanes.append(entry["commit"])
        at = lanes.index(entry["commit"])
        names = f" ({', '.join(entry['names'])})" if entry["names"] else ""
        stars = " ".join("*" if lane == at else "|" for lane in range(len(lanes)))
        said = f"{entry['rows']:,} rows  {entry['author']}: {entry['message']}"
        yield f"{stars}  {entry['commit'][:8]}{names} {entry['time']} {said}"
        parents = [parent for parent in entry["parents"] if parent not in lanes]
        before = len(lanes)
        lanes[at : at + 1] = parents[:1]
        if len(lanes) < before and len(entry["parents"]) > 0:
            # The lane ends in its neighbour: the left one where there is one.
            left = max(1, at)
            yield (" ".join("|" * left) + "/ " + " ".join("|" * (len(lanes) - left))).rstrip()
        for parent in parents[1:]:
            lanes.append(parent)
            yield " ".join("|" * (len(lanes) - 1)) + "\\"


@click.command()
@click.argument("uri", type=PLACE)
@click.argument("a")
@click.argument("b", required=False, default="")
@branch_option
@click.option("--rows", "tensor", metavar="TENSOR", help="Show the changed rows of a tensor, with their samples.")
@click.option("--limit", "-n", type=click.IntRange(min=1), help="With --rows: show at most so many.")
@json_option
def diff(uri: str, a: str, b: str, branch: str, tensor: str | None, limit: int | None, as_json: bool) -> None:
    """Show the changes from version A to version B, by default the newest.

    Versions are numbers, commits, tags, branches, times, or branch@number. With --json, --rows
    prints a line for each row.
    """
    from deeplake._versions.refs import diff_of

    if tensor is not None:
        _show_changed_rows(uri, a, b, branch, tensor, limit, as_json)
        return
    if limit is not None:
        raise click.UsageError("--limit goes with --rows TENSOR")
    answer = open_native(uri, branch=branch).diff(a, b)
    show(answer, as_json, repr(diff_of(answer)).splitlines())


def _show_changed_rows(uri: str, a: str, b: str, branch: str, tensor: str, limit: int | None, as_json: bool) -> None:
    from deeplake._cli.head import cell, plain
    from deeplake._data.dataset import open as open_dataset

    with open_dataset(uri, branch=branch, read_only=True) as dataset:
        found = dataset.diff(a, b or None)
        sides = [dataset.at(found.a), dataset.at(found.b)]
        old_name = found.tensors[tensor].old_name if tensor in found.tensors else None
        names = [old_name or tensor, tensor]
        classes = [side[name].class_names if name in side else None for side, name in zip(sides, names, strict=True)]
        cells = []
        for row in islice(found.rows(tensor), limit):
            old, new = (plain(value, names) for value, names in zip((row.old, row.new), classes, strict=True))
            if as_json:
                click.echo(as_json_text({**vars(row), "old": old, "new": new}))
            else:
                numbers = ["" if at is None else str(at) for at in (row.old_row, row.new_row)]
                values = ["" if at is None else cell(value) for at, value in zip(numbers, (old, new), strict=True)]
                cells.append([row.id[:8] + row.id[32:], row.change, *numbers, *values])
    if not as_json:
        show(None, False, table(["row id", "change", "old row", "new row", "old", "new"], cells))


@click.command(context_settings={"ignore_unknown_options": True})  # of -1, the last row
@click.argument("uri", type=PLACE)
@click.argument("row", type=int)
@branch_option
@at_option
@click.option("--limit", "-n", type=click.IntRange(min=1), help="Show at most so many.")
@json_option
def history(uri: str, row: int, branch: str, at: str, limit: int | None, as_json: bool) -> None:
    """List the versions that changed ROW, the newest first.

    "row there" is the number of the row in that version.
    """
    dataset = open_native(uri, branch=branch, at=at)
    found = dataset.history(row if row >= 0 else row + dataset.describe()["rows"], limit or 0)
    rows = []
    for entry in found:
        c, there = entry["commit"], "" if entry["row"] < 0 else str(entry["row"])
        cells = [str(c["version"]), c["commit"][:8], c["time"], entry["change"], ", ".join(entry["tensors"]), there]
        rows.append([*cells, c["author"], c["message"]])
    head = ["version", "commit", "time", "change", "tensors", "row there", "author", "message"]
    show(found, as_json, table(head, rows))
