"""Other packages, imported when they are first needed, and the errors of those that cannot be."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from deeplake._errors import UnsupportedError


def package(called: str, name: str, way_out: str) -> Any:
    """Imports a package or a module of one.

    Args:
        called: the operation that needs it, for the message.
        name: of the module.
        way_out: how the user gets it, like "pip install pandas".

    Raises:
        UnsupportedError: it is not installed, or its own import fails.
    """
    try:
        return import_module(name)
    except Exception as err:
        raise unusable(called, name, way_out, err) from err


def unusable(called: str, name: str, way_out: str, err: Exception) -> UnsupportedError:
    """Returns the error for a package whose import has failed with err. A package that is installed
    and broken is not called missing.
    """
    top = name.partition(".")[0]
    if isinstance(err, ModuleNotFoundError) and err.name == top:
        return UnsupportedError(f"{called}: {top} is not installed; {way_out}")
    return UnsupportedError(
        f"{called}: {top} is installed, but its import fails with {type(err).__name__}: {err}; mend or reinstall it"
    )
