"""The part of the environment that the core needs."""

from __future__ import annotations

import os
from typing import Any

# The variables of credentials, proxies and folders. No other variable leaves Python.
_PREFIXES = ("AWS_", "GOOGLE_", "CLOUDSDK_", "GCE_METADATA_", "DEEPLAKE_", "SSL_CERT_", "XDG_", "HF_")
_NAMES = frozenset({"HOME", "STORAGE_EMULATOR_HOST", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"})


def environ() -> dict[str, str]:
    """Returns the variables that lead to credentials, proxies and folders, read-only."""
    # Every call of the core gets them. Decoding 35 variables takes 30 microseconds.
    raw = getattr(os.environ, "_data", None)
    last, chosen = _Environ.last
    if raw is None or raw != last:
        seen = None if raw is None else dict(raw)  # first, so that later changes count
        chosen = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(_PREFIXES) or name in _NAMES or name.upper() in _NAMES
        }
        _Environ.last = (seen, chosen)
    return chosen


class _Environ:
    """The environment of the last call: all variables as they are kept, and the chosen ones."""

    last: tuple[dict[Any, Any] | None, dict[str, str]] = (None, {})
