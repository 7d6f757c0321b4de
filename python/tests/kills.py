"""Imports that are killed at a moment between two commits."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Sequence


def killed_after_a_commit(command: Sequence[str], state: Callable[[], int], most: float, draw: random.Random) -> bool:
    """Runs a command until its first commit, and kills it up to `most` seconds later.

    Args:
        command: the command, which makes many commits.
        state: a number that each commit changes.
        most: the longest time between the commit and the kill.
        draw: draws the time.

    Returns:
        Whether the command was still running.
    """
    before = state()
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while running.poll() is None and state() == before:
        pass
    try:
        running.wait(timeout=draw.random() * most)
    except subprocess.TimeoutExpired:
        running.kill()
        running.wait()
        return True
    return False
