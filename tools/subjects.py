"""Refuses commits whose subject is longer than 60 characters, so that a list of them is read in one column.

    python tools/subjects.py

Older commits than BEFORE stay as they are, and merges have the words of git.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MOST = 60
BEFORE = "38acd871be5f"  # the last commit with a longer subject


def main() -> int:
    root = Path(__file__).resolve().parents[1]
    command = ["git", "-C", str(root), "log", "--no-merges", "--format=%h %s", f"{BEFORE}..HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        done = None
    if done is None or done.returncode != 0:
        print("the subjects of commits are not checked: their history is not here")
        return 0
    commits = [line.split(" ", 1) for line in done.stdout.splitlines()]
    long = [(name, subject) for name, subject in commits if len(subject) > MOST]
    for name, subject in long:
        print(f"commit {name} has a subject of {len(subject)} characters, want at most {MOST}: {subject}")
    if not long:
        print(f"{len(commits)} commits have subjects of at most {MOST} characters")
    return 1 if long else 0


if __name__ == "__main__":
    sys.exit(main())
