"""The compiled kernels are of their sources."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_fat_binary_is_of_its_sources():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/kernels.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (ROOT / "cuda/kernels/kernels.fatbin").read_bytes()[:4] == b"\x50\xed\x55\xba"
