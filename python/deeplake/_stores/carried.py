"""Storage settings on their way to the machines of a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deeplake._stores.storage import Access, Storage, Stores, _unpickled


class Carried:
    """Storage settings that pickle with their secrets.

    A `Storage` pickles without them, since a pickle may be kept in a file. The tasks of a job open
    the store on other machines, and get them as arguments.
    """

    __slots__ = ("stores",)

    def __init__(self, stores: Stores) -> None:
        self.stores = stores

    def __reduce__(self) -> tuple[Any, ...]:
        stores = self.stores
        if isinstance(stores, Access):
            links = {prefix: _fields(settings) for prefix, settings in stores.links.items()}
            return _arrived, (_fields(stores.storage), links, stores.named)
        return _arrived, (_fields(stores), None, ())


def _fields(storage: Storage | None) -> dict[str, Any] | None:
    return None if storage is None else storage.settings()


def _arrived(
    fields: Mapping[str, Any] | None, links: Mapping[str, Mapping[str, Any] | None] | None, named: tuple[str, ...]
) -> Carried:
    storage = _storage(fields)
    if links is None:
        return Carried(storage)
    return Carried(Access(storage, {prefix: _storage(settings) for prefix, settings in links.items()}, named))


def _storage(fields: Mapping[str, Any] | None) -> Storage | None:
    return None if fields is None else _unpickled(fields, ())
