"""Files and folders that one process of this machine makes, and all others use."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

__all__ = ("made_once",)


def made_once(place: Path, make: Callable[[], object]) -> Path:
    """Return a file or folder; the first process on this machine makes it, and others wait.

    Args:
        place: The path, which must not exist before it is complete.
        make: Makes it, in a folder that exists.

    Raises:
        Exception: The exception of `make`.
    """
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.with_name(f"{place.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.exists():
                make()
    return place
