"""Native steps on one row in memory, as a loader carries them out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from deeplake import _native
from deeplake._checks import integer
from deeplake._errors import InvalidArgumentError


def transformed(
    row: Mapping[str, Any],
    steps: Mapping[str, Any],
    *,
    seed: int,
    epoch: int,
    index: int,
    about: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Returns the transformed samples by name.

    Args:
        row: arrays by name.
        steps: `transform` and `together`, as the core takes them.
        index: the number of the row, which the draws depend on.
        about: descriptions of tensors by name.
    """
    for name, number in (("seed", seed), ("epoch", epoch), ("index", index)):
        if (whole := integer(number)) is None or not 0 <= whole < 1 << 63:
            raise InvalidArgumentError(f"transform: {name} is {number!r}, want an int of 0 to 2**63 - 1")
    arrays = {name: np.asarray(value) for name, value in row.items()}
    options = {
        **steps, "seed": int(seed), "epoch": int(epoch), "row": int(index), "collate": "list",
        "htypes": {name: one["htype"] for name, one in (about or {}).items() if name in row},
        "infos": {name: one["info"] for name, one in (about or {}).items() if name in row and one.get("info")},
    }  # fmt: skip
    batch = _native.transform_row({name: array[np.newaxis] for name, array in arrays.items()}, options)
    return {name: column[0] for name, column in batch.numpy().items()}
