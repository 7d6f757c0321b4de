"""From measurements to files: JSON for each module, one README with all tables, and plots.

Figures of record (`--full`) go to benchmarks/results, short runs to build/bench/results. `python benchmarks/report.py`
writes the README and the plots anew from the JSON that is there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import data
from plot import bars
from protocol import Result

RECORD = Path(__file__).resolve().parent / "results"
SHORT = data.CACHE / "results"
ORDER = (
    "decode",
    "epoch",
    "first_batch",
    "transform",
    "python",
    "small",
    "rows",
    "disk",
    "step",
    "raw",
    "append",
    "ingest",
    "random",
    "order",
    "ranks",
    "open",
    "query",
    "states",
    "import",
    "lake_epoch",
    "first_epoch",
    "lake_reads",
    "lake_ingest",
    "url_columns",
    "tls",
    "tail",
    "visualizer",
    "video",
    "lerobot",
    "nodes",
)

Measure = Callable[[bool], Result]
Bench = Callable[[Measure], Result]


def main(measure: Measure) -> None:
    """Runs a module as a script; ends with status 1 where a figure was missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="the figures of record instead of the short comparison")
    result = measure(parser.parse_args().full)
    save(result)
    print(text(result.as_json()))
    sys.exit(not all(figure.reached for figure in result.figures))


def save(result: Result) -> Path:
    """Writes the JSON of a result, then the README and plots of its folder. Returns the folder."""
    folder = RECORD if result.full else SHORT
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{result.name}.json").write_text(json.dumps(_rounded(result.as_json()), indent=1) + "\n")
    write(folder)
    return folder


def write(folder: Path) -> None:
    """Writes README.md and the plots of a folder from its JSON files."""
    found = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
    names = [name for name in ORDER if name in found] + sorted(set(found) - set(ORDER))
    lines = [
        "# Measured",
        "",
        "Written by `python benchmarks/report.py` from the JSON files beside it; `python benchmarks/run.py --full` "
        "measures all of it anew. Each table is one run in which the contenders took turns; figures are medians, with "
        "the least and the most in brackets. Modules are measured one by one, and the results of one replace its own "
        "alone; sizes of sets stand in its tables. [How](../protocol.py)",
        "",
        "| what | figure | must reach | | measured |",
        "|---|---|---|---|---|",
    ]
    for name in names:
        lines += [_figure(figure, found[name]) for figure in found[name]["figures"] if figure["want"] is not None]
    for name in names:
        lines += ["", *_section(name, found[name], folder)]
    if (folder / "profile.md").exists():
        lines += ["", "What is lost between the decoder's limit and the loader: [profile.md](profile.md)."]
    if (folder / "peers" / "README.md").exists():
        lines += ["", "Other loaders and formats, side by side: [peers](peers/README.md)."]
    (folder / "README.md").write_text("\n".join(lines) + "\n")


def text(found: dict[str, Any]) -> str:
    """Returns a result for a terminal."""
    lines = ["", found["title"]]
    for table in found["tables"]:
        lines += ["", f"  {table['title']}"]
        width = max(len(line["name"]) for line in table["lines"])
        for line in table["lines"]:
            cells = [f"{_spread(line['rate'])} {table['unit']}"]
            cells += [f"{line['cpu']:.3g} CPU-s/{table['cpu_unit']}"] if line["cpu"] is not None else []
            cells += [f"{line['memory'] / 1e6:.0f} MB"] if line["memory"] is not None else []
            lines.append(f"    {line['name'].ljust(width)}  {', '.join([*cells, line['note']]).rstrip(', ')}")
    lines.append("")
    for figure in found["figures"]:
        verdict = "" if figure["want"] is None else f"   want {_want(figure)}: {_verdict(figure)}"
        lines.append(f"  {figure['what']}: {_spread(figure['value'])} {figure['unit']}".rstrip() + verdict)
    lines += [f"  checked: {check}" for check in found["checks"]]
    if found["disturbed"]:
        lines.append(
            f"  WARNING: others used {found['others']['median']:.0%} of the machine; do not quote these figures"
        )
    return "\n".join(lines)


def _section(name: str, found: dict[str, Any], folder: Path) -> list[str]:
    lines = [f"## {found['title']}", ""]
    for number, table in enumerate(found["tables"]):
        with_cpu = any(line["cpu"] is not None for line in table["lines"])
        with_memory = any(line["memory"] is not None for line in table["lines"])
        head = [table["title"], table["unit"]]
        head += [f"CPU-s / {table['cpu_unit']}"] if with_cpu else []
        head += ["memory, MB"] if with_memory else []
        lines += [f"| {' | '.join([*head, ''])} |", f"|{'---|' * (len(head) + 1)}"]
        for line in table["lines"]:
            cells = [line["name"], _spread(line["rate"])]
            cells += [_number(line["cpu"]) if line["cpu"] is not None else ""] if with_cpu else []
            cells += [f"{line['memory'] / 1e6:.0f}" if line["memory"] is not None else ""] if with_memory else []
            lines.append(f"| {' | '.join([*cells, line['note']])} |")
        plot = f"{name}-{number}.svg"
        rows = [(line["name"], line["rate"]["median"]) for line in table["lines"]]
        (folder / plot).write_text(bars(table["title"], table["unit"], rows))
        lines += ["", f"![{table['title']}]({plot})", ""]
    told = [figure for figure in found["figures"] if figure["want"] is None]
    lines += [f"- {figure['what']}: {_spread(figure['value'])} {figure['unit']}".rstrip() for figure in told]
    lines += [f"- {note}" for note in found["notes"]]
    lines += [f"- Checked: {check}" for check in found["checks"]]
    about = found["machine"]
    versions = ", ".join(f"{package} {version}" for package, version in found["versions"].items())
    lines.append(
        f"- {about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB, Linux {about['kernel']}, "
        f"{about['file_system']}; Python {about['python']}, {versions}; {_measured(found)}; "
        f"others used {found['others']['median']:.1%} of the machine"
        + (" (**disturbed: not to be quoted**)" if found["disturbed"] else "")
    )
    return lines


def _figure(figure: dict[str, Any], found: dict[str, Any]) -> str:
    verdict = _verdict(figure) + (" (disturbed run)" if found["disturbed"] else "")
    value = f"{_spread(figure['value'])} {figure['unit']}".rstrip()
    return f"| {figure['what']} | {value} | {_want(figure)} | {verdict} | {_measured(found)} |"


def _measured(found: dict[str, Any]) -> str:
    """Returns the date, the commit and the rounds; files of before have no date."""
    date = f"{found['date']}, " if "date" in found else ""
    return f"{date}{found['commit']}, {found['rounds']} rounds"


def _want(figure: dict[str, Any]) -> str:
    sign = ">=" if figure["better"] == "more" else "<="
    return f"{sign} {figure['want']:g} {figure['unit']}".rstrip()


def _verdict(figure: dict[str, Any]) -> str:
    return "reached" if figure["reached"] else "**missed**"


def _spread(value: dict[str, float]) -> str:
    if value["low"] == value["high"]:
        return _number(value["median"])
    return f"{_number(value['median'])} ({_number(value['low'])}-{_number(value['high'])})"


def _number(value: float) -> str:
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _rounded(value: Any) -> Any:
    """Six digits are more than any measurement here has."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list) else value


if __name__ == "__main__":
    write(RECORD)
