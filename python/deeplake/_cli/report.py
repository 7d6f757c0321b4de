"""What `create` says about an import."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deeplake._cli.output import size
from deeplake._data.files import ANNOTATIONS, EPISODES
from deeplake._data.importing import failed_urls, left_out, warned

FILES = ("images", "videos")  # formats of a file for each row


def _loss(report: dict[str, Any]) -> str:
    if report["lossy"]:
        return "which is lossy: pixels changed; --compression png keeps them"
    return "which is lossless: no pixel changed"


def _unit(report: dict[str, Any]) -> str:
    return "episodes" if report["format"] == EPISODES else "files"


def report_lines(report: dict[str, Any]) -> Iterable[str]:
    """Yields the lines of a report."""
    classes = f" in {len(report['classes'])} classes" if report["classes"] else ""
    again = any(report[count] for count in ("unchanged", "updated", "removed", "gone", "deleted"))
    changed = any(report[count] for count in ("added", "updated", "removed", "resumed"))
    did = "created" if not again else "updated" if changed else "unchanged"
    yield f"{did} {report['uri']}: {report['rows']:,} rows{classes}, {size(report['bytes'])} read"
    if report["format"] in ANNOTATIONS and (report["objects"] or not again):
        yield f"  {report['format']} annotations: {report['objects']:,} objects"
    if report["splits"]:
        parts = ", ".join(f"{split['name']} {split['rows']:,} rows" for split in report["splits"])
        hint = "; --splits none takes these folders for classes" if report["format"] in FILES else ""
        yield f"  saved the splits as views: {parts}{hint}"
    if report["resumed"]:
        yield f"  {report['resumed']:,} rows were there from an earlier run"
    if again:
        is_compared = report["format"] != EPISODES
        same = " and have not changed" if is_compared else ", by their numbers"
        news = f"{report['added']:,} rows added, {report['updated']:,} replaced"
        if report["removed"]:
            news += f", {report['removed']:,} removed with the old members of changed archives"
        yield f"  {news}; {report['unchanged']:,} {_unit(report)} were known{same}"
    if report["deleted"]:
        yield f"  {report['deleted']:,} files were left out: their rows were deleted; --overwrite takes them in again"
    if report["gone"]:
        yield f"  {report['gone']:,} files are gone, {report['gone_names'][0]} the first of them; their rows stay"
    if report["converted"]:
        yield f"  {report['converted']:,} files were decoded and encoded again as {report['codec']}, {_loss(report)}"
    if report["accepted"]:
        yield f"  {report['accepted']:,} JPEG files are cut, and stored as they are"
    yield from failed_urls(report)
    yield from left_out(report)
    yield from warned(report)
