"""The commands about versions and maintenance, besides those that list them."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from deeplake import _native
from deeplake._cli.complete import PLACE
from deeplake._cli.history import branch_option, diff, history, log, open_native
from deeplake._cli.output import json_option, show, size, table
from deeplake._progress import bar, on_terminal
from deeplake._stores import storage as _storage
from deeplake._stores import uri as _uri
from deeplake._text import printable

_GLANCE = 0.2  # seconds between two looks at the progress
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def register(cli: click.Group) -> None:
    """Adds the commands to the command line."""
    for command in (log, diff, history, branch, tag, merge, restore, revert, cp, fsck, gc, rechunk):
        cli.add_command(command)


@contextmanager
def _watched(dataset: _native.Dataset, label: str, unit: str) -> Iterator[None]:
    """Shows the progress of the operation that runs in the block, on a terminal only."""
    if not on_terminal():
        yield
        return
    over, began = threading.Event(), time.monotonic()
    with bar(label, unit=unit) as advance:

        def watch() -> None:
            while not over.wait(_GLANCE):
                now = dataset.progress()
                rate = size(now["bytes"] / (time.monotonic() - began))
                text = f"{size(now['bytes'])}, {rate}/s" if now["bytes"] else ""
                advance(now["items"], total=now["total_items"] or None, text=text)

        watcher = threading.Thread(target=watch, name=f"deeplake {label}", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()


@click.command()
@click.argument("uri", type=PLACE)
@click.argument("name", required=False)
@click.option("--at", default="", help="The version that a new branch begins as; the newest of main by default.")
@click.option("--delete", "-d", is_flag=True, help="Delete the branch.")
@json_option
def branch(uri: str, name: str | None, at: str, delete: bool, as_json: bool) -> None:
    """List the branches; with NAME, make one."""
    dataset = open_native(uri, write=name is not None)
    if name is None:
        if delete:
            raise click.UsageError("give the NAME of the branch to delete")
        found = dataset.branches()
        rows = [[b["name"], *_commit_cells(b["head"])] for b in found]
        show(found, as_json, table(["branch", "version", "commit", "time", "rows", "message"], rows))
        return
    if delete:
        dataset.delete_branch(name)
        show({"deleted": name}, as_json, [f'deleted branch "{name}"'])
        return
    dataset.create_branch(name, at)
    show({"created": name}, as_json, [f'created branch "{name}"'])


@click.command()
@click.argument("uri", type=PLACE)
@click.argument("name", required=False)
@click.option("--at", default="", help="The version to name; the newest of main by default.")
@click.option("--message", "-m", default="", help="What it is for.")
@click.option("--delete", "-d", is_flag=True, help="Delete the tag. Its name cannot be used again.")
@json_option
def tag(uri: str, name: str | None, at: str, message: str, delete: bool, as_json: bool) -> None:
    """List the tags; with NAME, give a version that name permanently."""
    dataset = open_native(uri, write=name is not None)
    if name is None:
        if delete:
            raise click.UsageError("give the NAME of the tag to delete")
        found = dataset.tags()
        rows = [[t["name"], *_commit_cells({**t["commit"], "message": t["message"]})] for t in found]
        show(found, as_json, table(["tag", "version", "commit", "time", "rows", "message"], rows))
        return
    if delete:
        dataset.delete_tag(name)
        show({"deleted": name}, as_json, [f'deleted tag "{name}"'])
        return
    made = dataset.create_tag(name, at, message)
    show(made, as_json, [f'tagged version {made["commit"]["version"]} ({made["commit"]["commit"][:8]}) as "{name}"'])


def _commit_cells(commit: Mapping[str, Any]) -> list[str]:
    return [
        str(commit["version"]), commit["commit"][:8], commit["time"], f"{commit['rows']:,}", commit["message"]
    ]  # fmt: skip


@click.command()
@click.argument("uri", type=PLACE)
@click.argument("ref")
@click.option("--into", default="main", show_default=True, help="The branch that takes it in.")
@click.option(
    "--on-conflict",
    type=click.Choice(["error", "ours", "theirs"]),
    default="error",
    show_default=True,
    help="Where both sides changed the same: fail, or keep one of them.",
)
@click.option("--message", "-m", default="", help="Of the commit.")
@json_option
def merge(uri: str, ref: str, into: str, on_conflict: str, message: str, as_json: bool) -> None:
    """Merge the branch or version REF into a branch."""
    dataset = open_native(uri, branch=into, write=True)
    done = dataset.merge(ref, on_conflict, message)
    commit = done["commit"]
    said = f'merged "{ref}" into "{into}"' if done["merged"] else f'"{into}" has all of "{ref}" already'
    lines = [_made(said, commit)]
    for moved in commit.get("renumbered") or ():
        classes = ", ".join(moved["classes"])
        lines.append(f"  {moved['rows']:,} rows of {moved['tensor']} got other class numbers, of {classes}")
    show(done, as_json, lines)


@click.command()
@click.argument("uri", type=PLACE)
@click.argument("ref")
@branch_option
@click.option("--message", "-m", default="", help="Of the commit; by default it names the version.")
@json_option
def restore(uri: str, ref: str, branch: str, message: str, as_json: bool) -> None:
    """Make a branch show the version REF again, as a new version.

    REF is a number, commit, tag, branch, time, or branch@number. The history stays.
    """
    done = open_native(uri, branch=branch, write=True).restore(ref, message)
    said = f'restored "{ref}" on "{branch}"' if done["restored"] else f'"{branch}" shows "{ref}" already'
    show(done, as_json, [_made(said, done["commit"])])


@click.command()
@click.argument("uri", type=PLACE)
@click.argument("commit")
@branch_option
@click.option(
    "--on-conflict",
    type=click.Choice(["error", "ours", "theirs"]),
    default="error",
    show_default=True,
    help="Where later versions changed the same: fail, keep that, or undo it too.",
)
@click.option("--message", "-m", default="", help="Of the commit; by default it names the version.")
@json_option
def revert(uri: str, commit: str, branch: str, on_conflict: str, message: str, as_json: bool) -> None:
    """Undo the changes of one version, COMMIT, as a new version.

    COMMIT is a number, commit, tag, branch, time, or branch@number.
    """
    done = open_native(uri, branch=branch, write=True).revert(commit, on_conflict, message)
    said = f'reverted "{commit}" on "{branch}"' if done["reverted"] else f'"{branch}" has nothing of "{commit}"'
    show(done, as_json, [_made(said, done["commit"])])


def _made(said: str, commit: Mapping[str, Any]) -> str:
    return f"{said}: version {commit['version']} ({commit['commit'][:8]}), {commit['rows']:,} rows"


@click.command()
@click.argument("src", type=PLACE)
@click.argument("dst", type=PLACE)
@click.option("--history", is_flag=True, help="Copy all branches and tags with all their versions.")
@branch_option
@click.option("--at", default="", help="The version to copy, without --history; the newest by default.")
@click.option("--message", "-m", default="", help="Of the one version of a copy without history.")
@json_option
def cp(src: str, dst: str, history: bool, branch: str, at: str, message: str, as_json: bool) -> None:
    """Copy a dataset to another place. A copy that was interrupted goes on when it is started
    again.
    """
    from deeplake._versions.copy import CopyReport

    if history and at:
        raise click.UsageError("--history copies all versions, --at one of them; leave one of them out")
    source, target = _uri.resolve(src), _uri.resolve(dst)
    dataset = _native.open(source, branch=branch, at=at, read_only=True, store=_storage.reach(None))
    with _watched(dataset, "cp", "objects"):
        report = CopyReport(**dataset.copy_to(target, history, message, _storage.reach(None)))
    lines = [f"copied {report.commits:,} versions: {report.objects:,} objects, {size(report.bytes)}"]
    if report.skipped:
        lines.append(f"  {report.skipped:,} objects were there from an earlier run")
    lines += _left_out(target)
    show(vars(report), as_json, lines)


def _left_out(uri: str) -> list[str]:
    """Returns which tensors of Deep Lake 3 a copy lacks samples of."""
    info = open_native(uri).describe()["info"].get("deeplake3", {})
    return [f"  tensor {name!r} lacks samples: {why}" for name, why in info.get("left_out", {}).items()]


@click.command()
@click.argument("uri", type=PLACE)
@click.option("--no-data", is_flag=True, help="Read no chunk: only look whether each is there and has its size.")
@click.option("--repair", is_flag=True, help="Rebuild what can be.")
@json_option
def fsck(uri: str, no_data: bool, repair: bool, as_json: bool) -> None:
    """Find missing and damaged objects. The exit code is 1 if there are any."""
    from deeplake._versions.reports import fsck_of

    dataset = open_native(uri, write=repair)
    with _watched(dataset, "fsck", "chunks"):
        answer = dataset.fsck(not no_data, repair)
    report = fsck_of(answer)
    lines = repr(report).splitlines()
    if report.orphans:
        garbage = f"{report.orphans:,} objects of {size(report.orphan_bytes)}"
        lines.append(f"  {garbage} belong to no version; gc removes them")
    lines.extend(printable(f"  {key}: no object of the dataset; nothing reads it") for key in report.foreign)
    if report.more_foreign:
        lines.append(f"  and {report.more_foreign:,} more files that are no objects of the dataset")
    show(answer, as_json, lines)
    if not report:
        sys.exit(1)


def _age(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Returns the seconds of an option like 7d."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", value)
    if found is None and value != "0":
        raise click.BadParameter(f'got "{value}", want a number with a unit, like 7d, 12h, 30m', ctx, param)
    return float(found[1]) * _SECONDS[found[2]] if found else 0.0


@click.command()
@click.argument("uri", type=PLACE)
@click.option("--older-than", callback=_age, default="7d", show_default=True, help="The least age of what is removed.")
@click.option(
    "--expire", callback=_age, help="First expire versions that a newer one replaced that long ago, like 30d."
)
@click.option("--keep-last", type=click.IntRange(min=1), help="Versions of each branch that do not expire.")
@click.option("--dry-run", "-n", is_flag=True, help="Remove and expire nothing.")
@json_option
def gc(uri: str, older_than: float, expire: float | None, keep_last: int | None, dry_run: bool, as_json: bool) -> None:
    """Remove objects that no version of any branch or tag needs."""
    dataset = open_native(uri, write=True)
    with _watched(dataset, "gc", "objects"):
        report = dataset.gc(older_than, expire, keep_last, dry_run)
    lines = []
    if expire is not None:
        lines.append(f"{'would expire' if dry_run else 'expired'} {report['expired']:,} versions")
    lines += [
        f"{'would remove' if dry_run else 'removed'} {report['objects']:,} objects, {size(report['bytes'])}; "
        f"{report['commits']:,} versions need {report['kept']:,}, {size(report['kept_bytes'])}"
    ]
    if report["temp_files"]:
        lines.append(f"  and {report['temp_files']:,} temporary files, {size(report['temp_bytes'])}")
    if report["young"]:
        lines.append(f"  {report['young']:,} objects, {size(report['young_bytes'])}, are too young to tell")
    show(report, as_json, lines)


@click.command()
@click.argument("uri", type=PLACE)
@branch_option
@click.option("--tensor", "tensors", multiple=True, help="Only this tensor; may be given several times.")
@click.option("--chunk-bytes", type=click.IntRange(min=1), help="The size that chunks aim at from now on.")
@click.option("--message", "-m", default="", help="Of the commit.")
@json_option
def rechunk(
    uri: str, branch: str, tensors: tuple[str, ...], chunk_bytes: int | None, message: str, as_json: bool
) -> None:
    """Write samples that updates, deletions and small commits scattered into full chunks."""
    dataset = open_native(uri, branch=branch, write=True)
    with _watched(dataset, "rechunk", "samples"):
        report = dataset.rechunk({"tensors": list(tensors), "chunk_bytes": chunk_bytes, "message": message})
    if report["commit"] is None:
        lines = ["everything lies well"]
    else:
        pieces = f"{report['before']:,} pieces of chunks became {report['after']:,}"
        lines = [f"version {report['commit']['version']}: {report['rows']:,} samples written anew; {pieces}"]
    show(report, as_json, lines)
