"""Runs the Go tests that `-short` shortens or skips, whole: the part of `make test-slow` that is Go.

    python tools/slow.py [K/N] go test FLAGS...

K/N takes every Nth of them, the same ones for the same K: `.ci/run` runs one part, the weekly workflow all.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FUNCTION = re.compile(r"^func (Test\w+)\(.*?^}", re.MULTILINE | re.DOTALL)


def slow_tests() -> list[tuple[str, str]]:
    """Lists package and name of each test that asks whether it must be short."""
    found = []
    for path in sorted(ROOT.glob("*/**/*_test.go")):
        package = f"./{path.parent.relative_to(ROOT).as_posix()}"
        text = path.read_text()
        found += [(package, test[1]) for test in FUNCTION.finditer(text) if "testing.Short()" in test[0]]
    return found


def main(arguments: list[str]) -> int:
    part = arguments.pop(0) if re.fullmatch(r"\d+/\d+", arguments[0]) else "1/1"
    number, count = map(int, part.split("/"))
    if not 1 <= number <= count:
        raise SystemExit(f"there is no part {part}: want K/N with K from 1 to N")
    chosen = slow_tests()[number - 1 :: count]
    print(f"part {part} of the slow Go tests: {', '.join(f'{package} {name}' for package, name in chosen)}", flush=True)
    if not chosen:
        return 0
    names = "|".join(sorted({name for _, name in chosen}))
    return subprocess.run(
        [*arguments, "-run", f"^({names})$", *sorted({package for package, _ in chosen})], cwd=ROOT, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
