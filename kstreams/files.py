"""Files that are complete before they are seen, and the folder of those that are made once."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

__all__ = ("cache_folder", "sync_directory", "write_new")


def write_new(path: Path, data: bytes | pa.Buffer, *, durable: bool) -> None:
    """Write a file that must not exist yet; nothing of it is left when that fails.

    A link of its name is not followed: that exists.

    Args:
        path: The file; its directory exists.
        data: What goes in.
        durable: Wait until the bytes are on the disk.

    Raises:
        FileExistsError: The file exists.
        OSError: The disk is full, or refuses.
    """
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        if durable:
            os.fsync(handle)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def cache_folder() -> Path:
    """Return the folder for what is downloaded or made once a machine; it may not exist yet.

    It is `KSTREAMS_CACHE`, else `kstreams` in `XDG_CACHE_HOME`, else `~/.cache/kstreams`.
    """
    if named := os.environ.get("KSTREAMS_CACHE"):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "kstreams"
