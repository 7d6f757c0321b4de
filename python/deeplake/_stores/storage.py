"""Settings of stores, and the part of the environment that the core needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from deeplake._errors import InvalidArgumentError
from deeplake._names import checks_keywords, quoted, suggest
from deeplake._stores.environ import environ

_HIDDEN = "***"
# The fields that are secret. Of headers the values are.
_SECRET = frozenset({"secret_access_key", "session_token", "bearer_token", "customer_key", "headers"})
_CREDENTIALS = ("access_key_id", "secret_access_key", "session_token", "bearer_token")


class Storage:
    """Settings of a store, for `storage=` of `deeplake.open` and other functions.

    A setting that is left out comes from the environment, the configuration files of AWS and
    Google, or the machine, at the time a dataset is opened. Settings are immutable, compare by
    value and can be keys of a dict.

    Secrets never show: not in the repr, not in errors and not in a pickle. Settings without their
    secrets refuse to open anything. There is one exception: a process that `multiprocessing` (or a
    DataLoader) starts gets them through the pipe that starts it. Programs that send datasets to
    other machines keep credentials there, in the environment or in a profile.

    Example:
        minio = deeplake.Storage(endpoint="https://minio.example:9000", profile="lab")
        ds = deeplake.open("s3://bucket/flowers", storage=minio)
    """

    __slots__ = ("_fields", "_lost")
    _fields: Mapping[str, Any]
    _lost: tuple[str, ...]

    @checks_keywords
    def __init__(
        self,
        *,
        endpoint: str | None = None,
        region: str | None = None,
        profile: str | None = None,
        credentials: str | os.PathLike[str] | Mapping[str, str] | None = None,
        anonymous: bool = False,
        path_style: bool | None = None,
        requester_pays: bool = False,
        user_project: str | None = None,
        encryption: str | None = None,
        encryption_key: str | None = None,
        customer_key: str | None = None,
        checksums: str | None = None,
        headers: Mapping[str, str] | None = None,
        allow_insecure: bool = False,
        allow_private: bool = False,
        ca_file: str | os.PathLike[str] | None = None,
        proxy: str | None = None,
        max_connections: int | None = None,
        max_bytes_in_flight: int | None = None,
        connect_timeout: float | None = None,
        timeout: float | None = None,
        retry_time: float | None = None,
        max_attempts: int | None = None,
        hedge: bool | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        cache_bytes: int | None = None,
        cache_memory_bytes: int | None = None,
        max_pixels: int | None = None,
    ) -> None:
        """Takes settings. A store ignores settings that do not apply to it.

        Args:
            endpoint: base URL of a store other than Amazon's or Google's, like
                "https://minio.example:9000".
            region: the region of the bucket (S3). Without it the store is asked.
            profile: a profile of AWS's shared config and credentials files.
            credentials: S3: a dict of `access_key_id`, `secret_access_key` and, for temporary ones,
                `session_token`. Google: the path of a service account's key, or a dict with
                `bearer_token`, an OAuth access token.
            anonymous: send unsigned requests, for public buckets.
            path_style: put the bucket into the path of a URL instead of its host (S3). The default
                is True with an endpoint.
            requester_pays: accept the costs of requests to buckets that charge the requester.
            user_project: the project that pays (Google).
            encryption: encryption of written objects by the store (S3): "AES256" or "aws:kms".
            encryption_key: the name of its key.
            customer_key: base64 of 256 bits that the store encrypts with and does not keep.
            checksums: "when_required" for stores like S3 that refuse the checksums of uploads.
            headers: headers of every request to the host that they are given for (HTTP).
            allow_insecure: send headers, tokens and customer keys over plain `http://`. Otherwise
                only this machine gets them so.
            allow_private: follow redirections, and hosts in stored text, to this machine and into
                private networks; see "What a dataset may reach" in docs/storage.md.
            ca_file: a PEM file with certificates of further authorities.
            proxy: the URL of a proxy; by default the environment's.
            max_connections: the most concurrent requests; 64.
            max_bytes_in_flight: the most requested bytes that are not read yet; 256 MiB.
            connect_timeout: seconds until a connection must stand; 3.
            timeout: seconds without an answer until a request is given up; 5.
            retry_time: seconds that one call may take with its repetitions; 60.
            max_attempts: the most attempts of one request; 10.
            hedge: send a second request if the first byte is late; True.
            cache_dir: a folder that caches read objects, shared by the runs of this account.
            cache_bytes: the most bytes of that folder; 16 GiB.
            cache_memory_bytes: the most bytes to cache in memory; 0.
            max_pixels: the most pixels (height times width) of one image file; 500 million. A
                larger file is refused when it is appended, linked, imported or decoded. Raise it
                for a dataset whose files are trusted.

        Raises:
            InvalidArgumentError: a setting has a wrong type or value.
        """
        given: dict[str, Any] = {
            "endpoint": _text("endpoint", endpoint),
            "region": _text("region", region),
            "profile": _text("profile", profile),
            "anonymous": _flag("anonymous", anonymous) or None,
            "path_style": _flag("path_style", path_style),
            "requester_pays": _flag("requester_pays", requester_pays) or None,
            "user_project": _text("user_project", user_project),
            "encryption": _text("encryption", encryption),
            "encryption_key": _text("encryption_key", encryption_key),
            "customer_key": _text("customer_key", customer_key),
            "checksums": _text("checksums", checksums),
            "headers": None if headers is None else _texts("headers", headers) or None,
            "allow_insecure": _flag("allow_insecure", allow_insecure) or None,
            "allow_private": _flag("allow_private", allow_private) or None,
            "ca_file": _path("ca_file", ca_file),
            "proxy": _text("proxy", proxy),
            "max_connections": _number("max_connections", max_connections, int),
            "max_bytes_in_flight": _number("max_bytes_in_flight", max_bytes_in_flight, int),
            "connect_timeout": _number("connect_timeout", connect_timeout, float),
            "timeout": _number("timeout", timeout, float),
            "retry_time": _number("retry_time", retry_time, float),
            "max_attempts": _number("max_attempts", max_attempts, int),
            "hedge": _flag("hedge", hedge),
            "cache_dir": _folder("cache_dir", cache_dir),
            "cache_bytes": _number("cache_bytes", cache_bytes, int),
            "cache_memory_bytes": _number("cache_memory_bytes", cache_memory_bytes, int),
            "max_pixels": _number("max_pixels", max_pixels, int),
            **_credentials(credentials),
        }
        self._set({name: value for name, value in given.items() if value is not None}, ())

    def _set(self, fields: Mapping[str, Any], lost: tuple[str, ...]) -> None:
        object.__setattr__(self, "_fields", fields)
        object.__setattr__(self, "_lost", lost)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"set {name}: storage settings cannot be changed; make others")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Storage):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        fields = sorted(self._fields.items())
        return tuple((k, tuple(sorted(v.items())) if isinstance(v, dict) else v) for k, v in fields), self._lost

    def __repr__(self) -> str:
        shown = {name: _shown(name, value) for name, value in self._fields.items()}
        shown.update(dict.fromkeys(self._lost, "<left out of a pickle>"))
        return f"Storage({', '.join(f'{name}={value}' for name, value in shown.items())})"

    def __copy__(self) -> Storage:
        # settings do not change, so a copy within the process is the same, secrets included
        return self

    def __deepcopy__(self, memo: object) -> Storage:
        return self

    def __reduce__(self) -> tuple[Callable[..., Storage], tuple[Any, ...]]:
        if _starts_a_process():
            return _unpickled, (dict(self._fields), self._lost)
        kept = {name: value for name, value in self._fields.items() if not _is_secret(name, value)}
        return _unpickled, (kept, (*self._lost, *(name for name in self._fields if name not in kept)))

    def settings(self) -> dict[str, Any]:
        """Returns the fields of core/storage.Settings with their secrets. Only the core may see
        them.
        """
        if self._lost:
            raise InvalidArgumentError(
                f"use storage settings: {quoted(self._lost)} was left out when they were pickled; give storage= again "
                "in this process, or keep credentials in the environment or in a profile"
            )
        return dict(self._fields)


class Access:
    """The storage settings of a dataset, and of the stores that its text may lead to.

    Workers get them unchanged, and follow the same links with the same settings.
    """

    __slots__ = ("links", "named", "storage")

    def __init__(
        self, storage: Storage | None, links: Mapping[str, Storage | None], named: tuple[str, ...] = ()
    ) -> None:
        self.storage = storage
        self.links = dict(links)
        self.named = named  # places that the user has linked to in this session

    def __reduce__(self) -> tuple[Any, ...]:
        return Access, (self.storage, self.links, self.named)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Access):
            return NotImplemented
        return (self.storage, self.links, self.named) == (other.storage, other.links, other.named)

    def __hash__(self) -> int:
        return hash((self.storage, tuple(sorted(self.links)), self.named))

    def __repr__(self) -> str:
        return f"Access({self.storage!r}, {self.links!r}, {self.named!r})"


Stores: TypeAlias = Storage | Access | None
"""What a dataset keeps of the storage arguments that it was opened with."""


def access(storage: Storage | None, links: Mapping[str, Storage | None] | None) -> Stores:
    """Checks `storage=` and `link_storage=`, and returns both as one."""
    check(storage)
    if links is None:
        return storage
    if not isinstance(links, Mapping):
        raise InvalidArgumentError(
            f"use link_storage: got {type(links).__name__}, want a dict of deeplake.Storage(...) by prefix of URLs"
        )
    for prefix, settings in links.items():
        if not isinstance(prefix, str) or not (settings is None or isinstance(settings, Storage)):
            raise InvalidArgumentError(
                f"use link_storage: got {type(prefix).__name__}: {type(settings).__name__}, want a prefix of URLs, "
                'like "s3://bucket", and deeplake.Storage(...), or None to refuse it'
            )
    return Access(storage, links)


def naming(stores: Stores, named: list[str]) -> Stores:
    """Returns `stores` with the targets of this session's links."""
    if not named:
        return stores
    if isinstance(stores, Access):
        return Access(stores.storage, stores.links, tuple(sorted({*stores.named, *named})))
    return Access(stores, {}, tuple(named))


def reach(stores: Stores) -> dict[str, Any]:
    """Returns the storage options of a call, with the environment as it is now.

    A local dataset needs them too: its links may point into any store.
    """
    storage = stores
    told: dict[str, Any] = {"environ": environ()}
    if isinstance(stores, Access):
        storage = stores.storage
        told["link_storage"] = {
            prefix: None if settings is None else settings.settings() for prefix, settings in stores.links.items()
        }
        told["named"] = list(stores.named)
    check(storage)
    if isinstance(storage, Storage):
        told["storage"] = storage.settings()
    return told


def check(storage: object) -> None:
    """Refuses anything but a `Storage` and None."""
    if storage is not None and not isinstance(storage, Storage):
        raise InvalidArgumentError(f"use storage settings: got {type(storage).__name__}, want deeplake.Storage(...)")


def _unpickled(fields: Mapping[str, Any], lost: tuple[str, ...]) -> Storage:
    storage = Storage.__new__(Storage)
    storage._set(fields, lost)
    return storage


def _starts_a_process() -> bool:
    """Whether a pickle made now goes only to a process that multiprocessing starts."""
    from multiprocessing.context import get_spawning_popen

    return get_spawning_popen() is not None


def _is_secret(name: str, value: Any) -> bool:
    # A proxy may be given with its password, as user:password@host.
    return name in _SECRET or (name in ("proxy", "endpoint") and "@" in str(value))


def _shown(name: str, value: Any) -> str:
    if not _is_secret(name, value):
        return repr(value)
    return repr(dict.fromkeys(value, _HIDDEN)) if isinstance(value, dict) else _HIDDEN


def _credentials(given: object) -> dict[str, str]:
    if given is None:
        return {}
    if isinstance(given, str | os.PathLike):
        return {"credentials_file": _path("credentials", given) or ""}
    if not isinstance(given, Mapping):
        raise InvalidArgumentError(
            f"use storage settings: credentials are a {type(given).__name__}, want a dict or the path of a key"
        )
    for name in given:
        if name not in _CREDENTIALS:
            raise InvalidArgumentError(
                f'use storage settings: credentials have no "{name}"; want {quoted(_CREDENTIALS)}'
                f"{suggest(name, _CREDENTIALS)}"
            )
    if ("access_key_id" in given) != ("secret_access_key" in given):
        raise InvalidArgumentError("use storage settings: access_key_id and secret_access_key go together")
    return _texts("credentials", given)


# No message below shows a value: it may be a secret.


def _text(name: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _wrong(name, value, "a str")
    return value


def _texts(name: str, values: object) -> dict[str, str]:
    if not isinstance(values, Mapping):
        raise _wrong(name, values, "a dict")
    for key, value in values.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise _wrong(f"{name}[{key!r}]", value, "a str")
    return dict(values)


def _path(name: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike):
        raise _wrong(name, value, "a path")
    text = os.fspath(value)
    if not isinstance(text, str) or not text:
        raise _wrong(name, text, "a path")
    return os.path.abspath(os.path.expanduser(text))  # noqa: PTH100, PTH111 - a worker may run in another folder


def _folder(name: str, value: object) -> str | None:
    """Returns a path as `_path` does; the folder may not exist yet."""
    path = _path(name, value)
    if path is not None and os.path.exists(path) and not os.path.isdir(path):  # noqa: PTH110, PTH112
        raise InvalidArgumentError(f'use storage settings: {name} is "{path}", which is a file; want a folder')
    return path


def _flag(name: str, value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise _wrong(name, value, "True or False")
    return value


def _number(name: str, value: object, kind: type) -> float | None:
    if value is None:
        return None
    good = isinstance(value, int | float if kind is float else int) and not isinstance(value, bool)
    if not good or not isinstance(value, int | float) or not 0 <= value < 1 << 62:
        want = f"{'an int' if kind is int else 'a number'} >= 0"
        raise InvalidArgumentError(f"use storage settings: {name} is {value!r}, want {want}")
    return value


def _wrong(name: str, value: object, want: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"use storage settings: {name} is a {type(value).__name__}, want {want}")
