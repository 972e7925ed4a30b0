"""Which version of the library this is."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ("library_version",)


@cache
def library_version() -> str:
    """Return the version that is installed; `unknown` where none is."""
    try:
        return version("kstreams-spark")
    except PackageNotFoundError:
        return "unknown"
