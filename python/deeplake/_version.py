"""The version of the package, in this one place: pyproject.toml reads it from here."""

__version__ = "0.1.0"
