"""The page of the comparison with other loaders: the JSON files of results/peers as tables and plots.

python benchmarks/suite_page.py writes it anew from the JSON files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from plot import bars

TITLES = {
    "epoch": "Epoch over JPEG files on a local disk",
    "crop": "Epoch of random crops of 224x224 with a flip, uint8",
    "pixels": "Epoch over pixels, decoded when they were written, on a local disk",
    "decoded": "Second epochs of loaders that decode once",
    "larger": "Epoch of random crops from a set twice as large as memory, cold, in a new process",
    "first": "First batch of 256 images in a new process",
    "lake": "Epoch over JPEG files in an object store",
    "random": "Random samples as stored, from a local disk",
    "fetch": "Random samples as stored, from an object store",
    "write": "JPEG files written, file by file, until they are durable",
    "arrays": "Arrays of 1024x1024x3 written one after the other until they are durable",
}
SHORT = {
    "epoch": "epoch",
    "crop": "crops",
    "pixels": "epoch, pixels stored",
    "decoded": "second epoch, decoded once",
    "larger": "crops, larger than memory",
    "first": "first batch",
    "lake": "epoch from S3",
    "random": "random, one by one",
    "fetch": "random from S3, one by one",
    "write": "files written",
    "arrays": "arrays written",
}
# in chapters of formats
NAMES = {"Grain + ArrayRecord": "ArrayRecord", "tf.data": "TFRecord"}
OURS = "deeplake"


def write(folder: Path) -> None:
    """Writes README.md and the plots beside the JSON files of the chapters."""
    chapters = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    chapters.sort(key=lambda one: (list(TITLES).index(_kind(one)), one["name"]))
    lines = [
        "# Other loaders, side by side",
        "",
        "Written by `make bench-all` ([how](../../suite.py), [who](../../roster.py), "
        "[with which settings](../../adapters)). Each takes turns with ours, in a process and an environment of its "
        "own ([locks](../../../requirements/peers)). Figures are medians, the least and the most in brackets. "
        '"Ours is" is the ratio of neighbouring turns. Loaders that leave decoding to the user have OpenCV. '
        "A row that misses the figure that others show of its loader is withdrawn ([figures](../../shown.py)). "
        "Chapters are measured one by one, each within an hour of its date.",
        "",
        "The number of workers is the best of those tried. CPU time is that of the whole process tree. Memory is the "
        "peak of the tree over the interpreter with torch and the adapter imported, seen in a run that is not timed. "
        "One gap between batches in a hundred exceeds p99. The first batch is that of a loader made from nothing, "
        "compiling and starting of workers included. Every pixel of an epoch is compared with the limit's.",
        "",
        *_overview(chapters),
    ]
    for chapter in chapters:
        lines += ["", *_section(folder, chapter)]
    (folder / "README.md").write_text("\n".join(lines) + "\n")


def _overview(chapters: list[dict[str, Any]]) -> list[str]:
    """Returns a table of how many times faster ours is than each entrant in each chapter; slower in bold."""
    found: dict[str, dict[str, str]] = {}
    for chapter in chapters:
        for line in chapter["lines"]:
            name = {format_: loader for loader, format_ in NAMES.items()}.get(line["name"], line["name"])
            if name != OURS:
                found.setdefault(name, {})[chapter["name"]] = _ratio(line)
    rows = sorted(found, key=lambda name: (-len(found[name]), name))
    heads = [f"{SHORT[_kind(chapter)]} {chapter['name'].partition('-')[2]}".strip() for chapter in chapters]
    lines = ["Ours is so many times as fast (medians; least and most in brackets; **bold**: slower):", ""]
    lines += [_row("", heads), "|---|" + "---|" * len(chapters)]
    lines.append(_row("set", [chapter["about"].partition(", ")[2] or chapter["about"] for chapter in chapters]))
    lines.append(_row("measured", [_when(chapter) for chapter in chapters]))
    lines += [_row(name, [found[name].get(chapter["name"], "") for chapter in chapters]) for name in rows]
    return lines


def _ratio(line: dict[str, Any]) -> str:
    """Returns the ratio of a line with its spread."""
    text: str = line["cells"].get("ours is, times") or f"{1 / line['part']:.3g}"
    return f"**{text}**" if line["part"] > 1 else text


def _when(chapter: dict[str, Any]) -> str:
    """Returns the dates of the lines of a chapter."""
    dates = sorted({line.get("date", chapter["date"]) for line in chapter["lines"]} or {chapter["date"]})
    return dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"


def _row(name: str, cells: list[str]) -> str:
    """Returns a row of a table; bars in cells are escaped."""
    first, *rest = (" ".join(text.split()).replace("|", "\\|") for text in [name, *cells])
    return f"| {first} | ".replace("|  |", "| |") + " | ".join(rest) + " |"


def _section(folder: Path, chapter: dict[str, Any]) -> list[str]:
    kind = _kind(chapter)
    rows = sorted(chapter["lines"], key=lambda line: -line["part"])
    plot = f"{chapter['name']}.svg"
    title = f"{TITLES[kind]}: {chapter['name'].partition('-')[2] or chapter['about']}"
    (folder / plot).write_text(bars(title, "rate, ours = 1", [(row["name"], row["part"]) for row in rows]))
    lines = [f"## {TITLES[kind]}: {chapter['about']}", ""]
    if chapter["shared"]:
        lines += [
            f"**Shared machine, {chapter['date']}**: others used {chapter['others']:.0%} of it meanwhile. Ratios and "
            "CPU time say something, rates nothing.",
            "",
        ]
    lines += [_row("", [chapter["unit"], *chapter["columns"], "measured", "set"])]
    lines += ["|---|" + "---|" * (len(chapter["columns"]) + 3)]
    for row in rows:
        cells = [row["cells"].get(column, "") for column in [chapter["unit"], *chapter["columns"]]]
        lines.append(_row(row["name"], [*cells, _measured(chapter, row), row.get("about", chapter["about"])]))
    lines += ["", f"![{chapter['about']}]({plot})", ""]
    lines += [f"- Absent: {name}: {reason}" for name, reason in chapter["absent"].items()]
    lines += [f"- {note}" for note in chapter["notes"]]
    about = chapter["machine"]
    packages = ", ".join(dict.fromkeys(chapter["versions"].values()))
    lines.append(
        f"- {about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB, Linux {about['kernel']}; Python "
        f"{about['python']}, {packages}; "
        + (f"{chapter['minutes']} minutes; " if chapter.get("minutes") else "")
        + f"others used {chapter['others']:.0%} of the machine"
    )
    return lines


def _measured(chapter: dict[str, Any], line: dict[str, Any]) -> str:
    """Returns the date, the commit and the rounds of a line."""
    date, commit, rounds = (line.get(key, chapter[key]) for key in ("date", "commit", "rounds"))
    return f"{date}, {commit}, {rounds} rounds"


def _kind(chapter: dict[str, Any]) -> str:
    kind: str = chapter["name"].split("-")[0]
    return kind


if __name__ == "__main__":
    write(Path(__file__).resolve().parent / "results" / "peers")
