"""The rank of this process, and the number of processes that share the rows of an epoch."""

from __future__ import annotations

import os
import sys

from deeplake._errors import InvalidArgumentError


def settled(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """Returns (rank, world size): as given, else as torch.distributed says, else Ray Train, else
    the environment, else (0, 1).

    Raises:
        InvalidArgumentError: RANK and WORLD_SIZE in the environment do not make sense.
    """
    if rank is not None and world_size is not None:
        return rank, world_size
    # A process group needs torch; without its import there is none.
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return _of_ray_train() or _of_environment(os.environ.get("RANK"), os.environ.get("WORLD_SIZE"))


def _of_ray_train() -> tuple[int, int] | None:
    """Returns the rank and the number of workers, if a training function of Ray runs here."""
    train = sys.modules.get("ray.train")
    if train is None:
        return None
    try:
        context = train.get_context()
        rank, workers = context.get_world_rank(), context.get_world_size()
    except Exception:  # of several classes: no such function runs
        return None
    return (rank, workers) if isinstance(rank, int) and isinstance(workers, int) else None


def _of_environment(rank: str | None, world_size: str | None) -> tuple[int, int]:
    numbers = [None if text is None or not text.strip() else _number(text) for text in (rank, world_size)]
    if numbers in ([None, None], [0, None], [None, 1]):
        return 0, 1
    first, second = numbers
    if first is None or second is None or not 0 <= first < second:
        raise InvalidArgumentError(
            f"load: the environment has RANK={rank}, WORLD_SIZE={world_size}, want 0 <= RANK < WORLD_SIZE; correct it, "
            "or pass rank= and world_size="
        )
    return first, second


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return -1
