"""Files that are complete before they are seen, and the folder of those that are made once."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

__all__ = (
    "cache_folder",
    "open_regular",
    "read_at_most",
    "read_small",
    "sync_directory",
    "write_new",
)

_BLOCK_BYTES = 256 * 1024


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


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file to read it; links are followed.

    What is no file is refused without waiting for it: a pipe has no end that anybody knows, and
    neither has a device.

    Raises:
        OSError: It cannot be opened; of the code `EINVAL` where it is no regular file.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
    raise OSError(code, "it is no regular file", str(path))


def read_at_most(file: BinaryIO, most: int) -> bytes:
    """Read a file to its end, or `most` bytes of it.

    `file.read(most)` reserves a buffer of `most` bytes even for a file of a few; this function
    reads block by block.
    """
    data = bytearray()
    while len(data) < most and (block := file.read(min(_BLOCK_BYTES, most - len(data)))):
        data += block
    return bytes(data)


def read_small(path: Path, most: int) -> bytes:
    """Return the bytes of a regular file that has no more than some.

    Raises:
        OSError: As `open_regular`; of the code `EFBIG` where it has more.
    """
    with open_regular(path) as file:
        data = read_at_most(file, most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return data


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
