"""Runs a function in a separate process with a limit of memory, and reports its outcome."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from kstreams.quoting import text_of

__all__ = ("MIB", "outcome_of")

MIB = 1024 * 1024
_SECONDS = 60


def outcome_of(work: Callable[[], object], *, most: int = 256 * MIB) -> str:
    """Return the outcome of a function: `fine`, or the error's class and text.

    The function runs in a fork of this process, with limits of memory and time. If it needs more,
    it ends with `MemoryError`, or is killed.

    Args:
        work: The function.
        most: Most bytes that the process may allocate in addition.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(work, most, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        found = stream.read().decode()
    _, status = os.waitpid(child, 0)
    return found or f"killed, status {status}"


def _work(work: Callable[[], object], most: int, writing: int) -> NoReturn:
    try:
        signal.alarm(_SECONDS)
        bound = _virtual_bytes() + most
        resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
        work()
        found = "fine"
    except BaseException as exc:  # any error is reported
        found = f"{type(exc).__name__}: {text_of(exc)}"
    os.write(writing, found[:2000].encode("utf-8", "replace"))
    os._exit(0)


def _virtual_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
