"""Where the library keeps what it downloads or makes once on a machine."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ("cache_folder",)


def cache_folder() -> Path:
    """
    Return the folder for what the library downloads; it may not exist yet.

    It is `KSTREAMS_CACHE`, else `kstreams` in `XDG_CACHE_HOME`, else `~/.cache/kstreams`.
    """
    if own := os.environ.get("KSTREAMS_CACHE"):
        return Path(own).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "kstreams"
