"""Memory and processor time of a process and its descendants, from /proc."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ("Sample", "Sampler", "cpu_between", "members")

_TICKS = os.sysconf("SC_CLK_TCK")
_EVERY_S = 0.4


@dataclass(frozen=True)
class Sample:
    """Resource use up to a moment: seconds of processor time, and current bytes of memory."""

    when: float
    cpu: float
    pss: int


class Sampler:
    """Samples a session of processes until stopped; processor time of ended processes is kept.

    Args:
        session: The id of the session, or of a single process.
        alone: Whether to sample only the process with this id.
    """

    def __init__(self, session: int, *, alone: bool = False) -> None:
        self.samples: list[Sample] = []
        self._session = session
        self._alone = alone
        self._cpu: dict[int, float] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take a last sample and stop."""
        self._done.set()
        self._thread.join()
        self._sample()

    @property
    def peak_pss(self) -> int:
        """The peak memory; shared pages are divided among the processes that share them."""
        return max((sample.pss for sample in self.samples), default=0)

    def _run(self) -> None:
        while not self._done.wait(_EVERY_S):
            self._sample()

    def _sample(self) -> None:
        pids = [self._session] if self._alone else members(self._session)
        pss = 0
        for pid in pids:
            try:
                self._cpu[pid] = _cpu(pid)
                pss += 0 if self._alone else _pss(pid)
            except OSError:
                continue  # the process has ended
        self.samples.append(Sample(time.monotonic(), sum(self._cpu.values()), pss))


def cpu_between(samples: list[Sample], start: float, end: float) -> float:
    """Return the processor seconds between two moments, by linear interpolation."""
    return _at(samples, end) - _at(samples, start)


def _at(samples: list[Sample], when: float) -> float:
    before = [sample for sample in samples if sample.when <= when]
    after = [sample for sample in samples if sample.when > when]
    if not before or not after:
        return (before[-1] if before else after[0]).cpu if samples else 0.0
    low, high = before[-1], after[0]
    return low.cpu + (high.cpu - low.cpu) * (when - low.when) / (high.when - low.when)


def members(session: int) -> list[int]:
    """Return the running processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = _stat(int(entry.name))
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(entry.name))
    return found


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the third one on: state, ppid, pgrp, session, ..."""
    text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    return text.rpartition(")")[2].split()


def _cpu(pid: int) -> float:
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _pss(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0
