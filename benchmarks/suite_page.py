"""The page of the comparison with other loaders: what stands in results/peers, as tables and plots.

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
    "decoded": "Second epochs of what is decoded once",
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
    "lake": "epoch from S3",
    "random": "random, one by one",
    "fetch": "random from S3, one by one",
    "write": "files written",
    "arrays": "arrays written",
}
# where only the format counts
NAMES = {"Grain + ArrayRecord": "ArrayRecord", "tf.data": "TFRecord"}
OURS = "deeplake"


def write(place: Path) -> None:
    """Writes README.md and the plots beside the JSON files of the chapters."""
    chapters = [json.loads(path.read_text()) for path in sorted(place.glob("*.json"))]
    chapters.sort(key=lambda one: (list(TITLES).index(_kind(one)), one["name"]))
    lines = [
        "# Other loaders, side by side",
        "",
        "Written by `make bench-all` ([how](../../suite.py), [who](../../roster.py), "
        "[with which settings](../../adapters)). Each takes turns with ours, in a process and an environment of its "
        "own ([locks](../../../requirements/peers)); figures are medians, the least and the most in brackets. "
        '"Ours is" is the ratio of neighbouring turns. Who leaves decoding to the user has OpenCV.',
        "",
        "The number of workers is the best of those that were tried. CPU time is that of the whole process tree, "
        "memory the peak of the tree over the interpreter with torch and the adapter imported, seen in a run that is "
        "not timed, p99 the gap between batches that one in a hundred exceeds, the first batch that of a loader made "
        "from nothing, compiling and starting of workers included. Every pixel of an epoch is compared with the "
        "limit's.",
        "",
        *_overview(chapters),
    ]
    for chapter in chapters:
        lines += ["", *_section(place, chapter)]
    (place / "README.md").write_text("\n".join(lines) + "\n")


def _overview(chapters: list[dict[str, Any]]) -> list[str]:
    """Returns a table of how many times faster ours is than everybody everywhere; where it is slower, in bold."""
    found: dict[str, dict[str, float]] = {}
    for chapter in chapters:
        for line in chapter["lines"]:
            name = {format_: loader for loader, format_ in NAMES.items()}.get(line["name"], line["name"])
            if name != OURS:
                found.setdefault(name, {})[chapter["name"]] = 1 / line["part"]
    rows = sorted(found, key=lambda name: (-len(found[name]), name))
    heads = [f"{SHORT[_kind(chapter)]} {chapter['name'].partition('-')[2]}".strip() for chapter in chapters]
    lines = ["Ours is so many times as fast (medians; **bold**: slower):", "", _row("", heads)]
    lines.append("|---|" + "---|" * len(chapters))
    for name in rows:
        values = [found[name].get(chapter["name"]) for chapter in chapters]
        cells = ["" if one is None else f"**{one:.2f}**" if one < 1 else f"{one:.3g}" for one in values]
        lines.append(_row(name, cells))
    return lines


def _row(name: str, cells: list[str]) -> str:
    """Returns a row of a table, whatever stands in it."""
    first, *rest = (" ".join(text.split()).replace("|", "\\|") for text in [name, *cells])
    return f"| {first} | ".replace("|  |", "| |") + " | ".join(rest) + " |"


def _section(place: Path, chapter: dict[str, Any]) -> list[str]:
    kind = _kind(chapter)
    rows = sorted(chapter["lines"], key=lambda line: -line["part"])
    plot = f"{chapter['name']}.svg"
    title = f"{TITLES[kind]}: {chapter['name'].partition('-')[2] or chapter['about']}"
    (place / plot).write_text(bars(title, "rate, ours = 1", [(row["name"], row["part"]) for row in rows]))
    lines = [f"## {TITLES[kind]}: {chapter['about']}", ""]
    if chapter["shared"]:
        lines += [
            f"**Shared machine, {chapter['date']}**: others used {chapter['others']:.0%} of it meanwhile. Ratios and "
            "CPU time say something, rates nothing.",
            "",
        ]
    lines += [_row("", [chapter["unit"], *chapter["columns"]])]
    lines += ["|---|" + "---|" * (len(chapter["columns"]) + 1)]
    for row in rows:
        cells = [row["cells"].get(column, "") for column in [chapter["unit"], *chapter["columns"]]]
        lines.append(_row(row["name"], cells))
    lines += ["", f"![{chapter['about']}]({plot})", ""]
    lines += [f"- Absent: {name}: {reason}" for name, reason in chapter["absent"].items()]
    lines += [f"- {note}" for note in chapter["notes"]]
    about = chapter["machine"]
    packages = ", ".join(dict.fromkeys(chapter["versions"].values()))
    lines.append(
        f"- {about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB, Linux {about['kernel']}; Python "
        f"{about['python']}, {packages}; {_measured(chapter)}; "
        f"others used {chapter['others']:.0%} of the machine"
    )
    return lines


def _measured(chapter: dict[str, Any]) -> str:
    """Returns the commit, the date and the rounds; where lines are of different ones, who is of which."""
    found: dict[tuple[str, str, int], list[str]] = {}
    for line in chapter["lines"]:
        commit, date, rounds = (line.get(key, chapter[key]) for key in ("commit", "date", "rounds"))
        found.setdefault((commit, date, rounds), []).append(line["name"])
    if len(found) < 2:
        commit, date, rounds = next(iter(found), (chapter["commit"], chapter["date"], chapter["rounds"]))
        return f"commit {commit}; {date}; {rounds} rounds"
    newest = sorted(found.items(), key=lambda one: one[0][1], reverse=True)
    return "; ".join(
        f"commit {commit}, {date}, {rounds} rounds: {', '.join(names)}" for (commit, date, rounds), names in newest
    )


def _kind(chapter: dict[str, Any]) -> str:
    kind: str = chapter["name"].split("-")[0]
    return kind


if __name__ == "__main__":
    write(Path(__file__).resolve().parent / "results" / "peers")
