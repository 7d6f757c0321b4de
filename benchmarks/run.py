"""Everything that is measured, one module after the other: `python benchmarks/run.py [--full] [name...]`.

With --full these are the figures of record; they take about an hour, 20 GB of disk under build/bench and a machine that
does nothing else. Ends with status 1 where something was wrong or a figure was missed.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import traceback

import report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--full", action="store_true", help="the figures of record instead of the short comparison")
    parser.add_argument("names", nargs="*", help=f"modules to run, of {', '.join(report.ORDER)}; none means all")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(report.ORDER))
    if unknown:
        parser.error(f"no module {', '.join(unknown)}; there are {', '.join(report.ORDER)}")
    failed, missed = [], []
    for name in arguments.names or report.ORDER:
        print(f"== {name}", file=sys.stderr, flush=True)
        try:
            result = importlib.import_module(f"test_{name}").measure(arguments.full)
        except (Exception, SystemExit):
            traceback.print_exc()
            failed.append(name)
            continue
        folder = report.save(result)
        print(report.text(result.as_json()), flush=True)
        missed += [figure.what for figure in result.figures if not figure.reached]
        print(f"written to {folder / 'README.md'}", file=sys.stderr)
    for what in missed:
        print(f"missed: {what}")
    for name in failed:
        print(f"failed: {name}")
    return int(bool(missed or failed))


if __name__ == "__main__":
    sys.exit(main())
