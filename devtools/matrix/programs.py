"""Programs with a time limit, a log and progress lines."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from devtools.processes import end_session
from devtools.workspace import ROOT

__all__ = ("Ended", "run", "say")

_HEARTBEAT_S = 30.0


class Ended(NamedTuple):
    """The end of a program.

    Attributes:
        code: The exit code; None if the time limit ended the program.
        output: The text of stdout and stderr.
        seconds: The duration.
    """

    code: int | None
    output: str
    seconds: float


def say(line: str) -> None:
    """Print a line about the progress."""
    print(f"matrix: {line}", flush=True)


def run(
    command: Sequence[str | Path],
    log: Path,
    *,
    timeout_s: float,
    variables: Mapping[str, str] | None = None,
) -> Ended:
    """Run a program in the repository, and end its whole session after the time limit.

    Args:
        command: The program and its arguments.
        log: The file of its output. It is replaced.
        timeout_s: Maximum time, in seconds.
        variables: Environment variables in addition to those of this process.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(  # a session of its own: tests start servers
            list(map(str, command)),
            cwd=ROOT,
            env={**os.environ, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = _wait(process, started + timeout_s)
        finally:
            end_session(process.pid)
            process.wait()
    return Ended(code, log.read_text("utf-8", "replace"), time.monotonic() - started)


def _wait(process: subprocess.Popen[bytes], deadline: float) -> int | None:
    """Return the exit code; None at the deadline."""
    started = time.monotonic()
    while (left := deadline - time.monotonic()) > 0:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(min(left, _HEARTBEAT_S))
        if left > _HEARTBEAT_S:
            say(f"    still running ({time.monotonic() - started:.0f} s)")
    return process.poll()
