"""Benchmarks that are written in Go, because what they measure has no Python in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import data

ROOT = Path(__file__).resolve().parent.parent


def run(
    package: str,
    pattern: str,
    *,
    count: int = 1,
    time: str = "1s",
    environment: Mapping[str, str] | None = None,
) -> dict[str, list[dict[str, float]]]:
    """Returns the metrics of each benchmark by its name below the first: unit to value, for each of `count` runs."""
    tags = (ROOT / ".venv" / "stamps" / "tags").read_text().strip()
    command = [go(), "test", "-tags", tags, "-run", "^$", "-bench", pattern, "-benchtime", time, "-count", str(count)]
    folder = data.CACHE / "go"
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [*command, "-timeout", "30m", package],
        cwd=ROOT,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"TMPDIR": str(folder), "CGO_ENABLED": "1"} | dict(environment or {}),
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} {package}\n{done.stdout}")
    found: dict[str, list[dict[str, float]]] = {}
    for line in done.stdout.splitlines():
        match = re.match(r"Benchmark\w+/(\S+?)(?:-\d+)?\s+\d+\s+(.*)", line)
        if match:
            parts = match[2].split()
            metrics = {unit: float(value) for value, unit in zip(parts[::2], parts[1::2], strict=True)}
            found.setdefault(match[1], []).append(metrics)
    if not found:
        raise SystemExit(f"{package}: no benchmark is called {pattern}")
    return found


def go() -> str:
    """Returns the Go that the build uses."""
    stamp = ROOT / ".venv" / "stamps" / "go"
    named = stamp.read_text().strip() if stamp.exists() else ""
    return named or shutil.which("go") or "go"
