"""Processes of this machine, read from /proc: state, parents, sessions, and how to kill them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

__all__ = ("alive", "ancestor", "command", "end_session", "kill", "parent", "session", "state")


def _stat(pid: int) -> list[str]:
    """Return the fields after the name: state, parent, group, session, ..."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def command(pid: int) -> str:
    """Return a process's command line; empty if there is no such process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def state(pid: int) -> str:
    """Return the letter of a process's state, T if it is stopped; empty without the process."""
    try:
        return _stat(pid)[0]
    except OSError:
        return ""


def parent(pid: int) -> int:
    """Return a process's parent; 0 without the process."""
    try:
        return int(_stat(pid)[1])
    except OSError:
        return 0


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    return state(pid) not in ("", "Z", "X")


def session(leader: int) -> list[int]:
    """Return the running processes of a session, independent of their group and parent."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if int(_stat(int(entry.name))[3]) == leader and alive(int(entry.name)):
                    found.append(int(entry.name))
    return sorted(found)


def ancestor(pid: int, text: str) -> int:
    """Return the nearest ancestor of this process that has a text in its command line."""
    while pid > 1:
        if text in command(pid):
            return pid
        pid = int(_stat(pid)[1])
    raise LookupError(f"no ancestor of this process has {text!r} in its command line")


def kill(pid: int, timeout_s: float = 30) -> None:
    """Send SIGKILL, and wait until the process has ended."""
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + timeout_s
    while alive(pid):
        assert time.monotonic() < deadline, f"process {pid} outlives SIGKILL"
        time.sleep(0.01)


def end_session(leader: int) -> list[int]:
    """Kill the remaining processes of a session; return their ids."""
    left = session(leader)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return left
