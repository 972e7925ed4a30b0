"""One start of a process, until its first result."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.peer import Command
from benchmarks.suite.process_tree import members

__all__ = ("Start", "StartFailed", "first_result")

_TICKS = os.sysconf("SC_CLK_TCK")
_POLL_S = 0.02
_LIMIT_S = 240.0
_WORKERS = (b"daemon", b"kstreams.local_workers.process")


class StartFailed(Exception):
    """The process produced no result; the message contains the reason."""


@dataclass(frozen=True)
class Start:
    """Seconds from the start of a process to its first result.

    Attributes:
        wall: Elapsed time.
        driver: Processor time of the process and of its children that have ended.
        jvm: Processor time of Java.
        workers: Processor time of the Python workers.
    """

    wall: float
    driver: float
    jvm: float
    workers: float

    @property
    def cpu(self) -> float:
        """Total processor seconds."""
        return self.driver + self.jvm + self.workers


def first_result(command: Command, home: Path, came: Callable[[str], bool]) -> Start:
    """Start a process, wait for its first result, and stop the process and its descendants.

    Args:
        command: The command to start.
        home: The working directory; empty.
        came: Returns, given the output of the process, whether the result has arrived.

    Raises:
        StartFailed: The process ended without a result, or did not produce one within four minutes.
    """
    log = home / "log"
    with log.open("wb") as file:
        begun = time.monotonic()
        process = subprocess.Popen(  # noqa: S603  # a peer's command
            command.arguments,
            cwd=home,
            env={**os.environ, **command.environment},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        while not came(log.read_text(errors="replace")):
            if process.poll() is not None or time.monotonic() - begun > _LIMIT_S:
                raise StartFailed(log.read_text(errors="replace")[-2000:])
            time.sleep(_POLL_S)
        return _used(process.pid, time.monotonic() - begun)
    finally:
        for pid in members(process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()


def _used(session: int, wall: float) -> Start:
    seconds = {"driver": 0.0, "jvm": 0.0, "workers": 0.0}
    for pid in members(session):
        try:
            program = Path(f"/proc/{pid}/cmdline").read_bytes()
            text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        except OSError:
            continue  # ended, and counted by the parent
        ticks = text.rpartition(")")[2].split()[11:15]  # own time, and time of ended children
        kind = "jvm" if b"java" in program.partition(b"\0")[0] else "driver"
        kind = "workers" if any(name in program for name in _WORKERS) else kind
        seconds[kind] += sum(map(int, ticks)) / _TICKS
    return Start(wall, **seconds)
