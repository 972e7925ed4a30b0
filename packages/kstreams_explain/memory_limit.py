"""A memory limit for a process that replays user code."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa

__all__ = ("limit_memory",)

_STATUS = Path("/proc/self/status")
_DATA = re.compile(r"^VmData:\s+(\d+) kB$", re.MULTILINE)


def limit_memory(most_bytes: int) -> None:
    """Limit the memory that this process may allocate from now on; larger allocations fail.

    Memory that libraries have reserved but not used is not counted. On systems other than Linux
    there is no limit.
    """
    pa.allocate_buffer(1 << 20)  # Arrow sets its arenas aside
    found = _DATA.search(_STATUS.read_text()) if _STATUS.exists() else None
    if found is None:
        return
    import resource  # noqa: PLC0415  # POSIX alone

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = int(found[1]) * 1024 + most_bytes
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
