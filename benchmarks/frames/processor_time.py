"""Processor time of this process and its descendants, over time."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np

__all__ = ("ProcessorTime",)

_TICKS = os.sysconf("SC_CLK_TCK")
_EVERY_S = 0.25


class ProcessorTime:
    """Context that samples processor time several times a second, without its own share."""

    def __init__(self) -> None:
        self._when: list[float] = []
        self._cpu: list[float] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> ProcessorTime:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def between(self, start: float, end: float) -> float:
        """Return the seconds of processor time between two moments.

        Args:
            start: Start of the interval, in seconds since the epoch.
            end: End of the interval, in seconds since the epoch.
        """
        first, last = np.interp([start, end], self._when, self._cpu)
        return float(last - first)

    def _run(self) -> None:
        before = lost = 0.0  # CPU time of ended processes whose parent did not wait for them
        while True:
            used = _tree_seconds() - time.thread_time()
            lost += max(0.0, before - used)
            before = used
            self._when.append(time.time())
            self._cpu.append(used + lost)
            if self._done.wait(_EVERY_S):
                return


def _tree_seconds() -> float:
    """Return the processor time of the running processes and of their children that have ended."""
    used: dict[int, float] = {}
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "stat").read_text(errors="replace")
        except OSError:
            continue  # the process has ended
        fields = text.rpartition(")")[2].split()
        used[int(entry.name)] = sum(map(int, fields[11:15])) / _TICKS
        children.setdefault(int(fields[1]), []).append(int(entry.name))
    tree = [os.getpid()]
    for pid in tree:
        tree += children.get(pid, ())
    return sum(used[pid] for pid in tree)
