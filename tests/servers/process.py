"""Starting a server as a process of its own, and waiting until it answers."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ("launch", "tail")

_TAIL_LINES = 25
_PAUSE_S = 0.05


def launch(
    name: str,
    command: Sequence[str],
    *,
    folder: Path,
    log: Path,
    answers: Callable[[], bool],
    within_s: float,
) -> subprocess.Popen[bytes]:
    """
    Start a server, and return it once it answers.

    Args:
        name: What it is, for the error.
        command: Its command line.
        folder: Where it runs.
        log: What it says goes behind this.
        answers: Tells whether it does.
        within_s: How long that may take.

    Raises:
        RuntimeError: It has ended, or does not answer in time; nothing of it is left.

    """
    with log.open("ab") as file:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,  # Ctrl-C in the terminal is the test's, not the server's
        )
    deadline = time.monotonic() + within_s
    while not answers():
        code = process.poll()
        if code is not None or time.monotonic() > deadline:
            process.kill()
            process.wait()
            state = "does not answer" if code is None else f"ended with {code}"
            raise RuntimeError(f"the {name} {state}:\n{tail(log)}")
        time.sleep(_PAUSE_S)
    return process


def tail(log: Path) -> str:
    """Return the last lines of a server's log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-_TAIL_LINES:])
