"""The devices of batches."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from deeplake._errors import InvalidArgumentError

_CUDA = 2  # the device type of DLPack


@dataclass(frozen=True)
class Device:
    """A device by the names of torch."""

    kind: str  # "cuda", or one that only torch knows
    index: int | None  # None: the current one

    def __str__(self) -> str:
        return self.kind if self.index is None else f"{self.kind}:{self.index}"


def device_of(value: Any) -> Device | None:
    """Returns the device of an argument: None, "cuda", "cuda:1", or a torch.device. None is the
    CPU.
    """
    if value is None:
        return None
    kind, index = getattr(value, "type", None), getattr(value, "index", None)
    if isinstance(value, str):
        kind, _, number = value.partition(":")
        index = int(number) if number.isascii() and number.isdigit() else None
        if (index is None and number) or value.endswith(":"):
            kind = None
    if not isinstance(kind, str) or not kind.isidentifier() or not isinstance(index, int | None):
        raise InvalidArgumentError(f'load: device is {value!r}, want None, "cpu", "cuda", "cuda:1" or a torch.device')
    return None if kind == "cpu" else Device(kind, index)


def native(device: Device | None) -> dict[str, Any] | None:
    """Returns a device as an option of the core; None if batches stay on the CPU."""
    if device is None or device.kind != "cuda":
        return None
    return {"type": _CUDA, "id": device.index or 0}


def nvjpeg() -> list[str]:
    """Returns the libraries of nvJPEG in NVIDIA's Python packages, the newest first."""
    spec = find_spec("nvidia")
    folders = spec.submodule_search_locations if spec is not None else None
    found = [path for folder in folders or () for path in Path(folder).glob("*/lib/libnvjpeg.so.*")]
    return [str(path) for path in sorted(found, key=_version, reverse=True)]


def _version(path: Path) -> int:
    number = path.name.rpartition(".")[2]
    return int(number) if number.isdecimal() else 0
