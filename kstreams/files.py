"""Atomic creation of files, and the cache folder of the machine."""

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
    """Write a new file; if the write fails, no part of the file remains.

    A link with the name of the file counts as an existing file.

    Args:
        path: The file in an existing directory.
        data: The content of the new file.
        durable: Wait until the bytes are on the disk.

    Raises:
        FileExistsError: The file exists.
        OSError: The disk is full, or rejects the write.
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
    """Open a regular file for reading; links are followed.

    Pipes and devices are rejected without waiting, because they have no known end.

    Raises:
        OSError: The file cannot be opened; the code is `EINVAL` if it is not a regular file.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
    raise OSError(code, "not a regular file", str(path))


def read_at_most(file: BinaryIO, most: int) -> bytes:
    """Read a file to its end, but at most `most` bytes.

    `file.read(most)` allocates a buffer of `most` bytes even for a small file; this function reads
    block by block.
    """
    data = bytearray()
    while len(data) < most and (block := file.read(min(_BLOCK_BYTES, most - len(data)))):
        data += block
    return bytes(data)


def read_small(path: Path, most: int) -> bytes:
    """Return the content of a regular file that has at most `most` bytes.

    Raises:
        OSError: As `open_regular`; the code is `EFBIG` if the file has more bytes.
    """
    with open_regular(path) as file:
        data = read_at_most(file, most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"the file has more than {most:,} bytes", str(path))
    return data


def sync_directory(path: Path) -> None:
    """Wait until the entries of a directory are durable (fsync)."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def cache_folder() -> Path:
    """Return the folder for downloads and generated files of this machine; it may not exist yet.

    The folder is `KSTREAMS_CACHE`, or `kstreams` in `XDG_CACHE_HOME`, or `~/.cache/kstreams`.
    """
    if named := os.environ.get("KSTREAMS_CACHE"):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "kstreams"
