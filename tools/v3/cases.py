"""Holds the table of cases and what they share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import deeplake

# A case writes datasets below a folder: {name of the dataset: what its reader may want to know}.
Case = Callable[[Path], dict[str, dict[str, Any]]]
CASES: dict[str, Case] = {}

# Companions of shape and id add eight files a tensor, and a case of many tensors needs none.
BARE = {"create_shape_tensor": False, "create_id_tensor": False, "create_sample_info_tensor": False}


def case(function: Case) -> Case:
    """Adds a function to the table under its own name."""
    CASES[function.__name__] = function
    return function


def fresh(root: Path, name: str) -> Any:
    """Returns a new dataset below a folder, instead of one there."""
    return deeplake.empty(str(root / name), overwrite=True, verbose=False)


def attempt(what: str, action: Callable[[], Any], skipped: dict[str, str]) -> bool:
    """Does something that the package may refuse; a refusal is printed and kept."""
    try:
        action()
    except Exception as error:
        cause = error
        while cause.__cause__ is not None:
            cause = cause.__cause__  # type: ignore[assignment]
        lines = str(cause).splitlines() or [""]
        skipped[what] = f"{type(cause).__name__}: {lines[0][:160]}"
        print(f"  skipped {what}: {skipped[what]}", flush=True)
        return False
    return True
