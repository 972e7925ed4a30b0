"""Starting a server as a process of its own, and waiting until it answers."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from devtools.servers.ports import free_ports

__all__ = ("Server", "launch", "launch_on_free_ports", "say_and_wait", "tail")

S = TypeVar("S", bound="Server")

_TAIL_LINES = 25
_TRIES = 3
_PAUSE_S = 0.05


class Server(ABC):
    """A server that runs as long as its context is entered, and can be started by hand."""

    @abstractmethod
    def start(self: S) -> S:
        """Start, and wait for answers."""

    @abstractmethod
    def stop(self) -> None:
        """End the process, if it runs."""

    def __enter__(self: S) -> S:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def launch(
    name: str,
    command: Sequence[str],
    *,
    folder: Path,
    log: Path,
    answers: Callable[[], bool],
    within_s: float,
    user: str | None = None,
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
        user: Who runs it; this user by default.

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
            user=user,
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


def launch_on_free_ports(count: int, start: Callable[[tuple[int, ...]], None], log: Path) -> None:
    """
    Start a server on ports that are free, again if another process takes one meanwhile.

    Args:
        count: How many ports it listens on.
        start: Starts it on these, by `launch`.
        log: What the server says.

    Raises:
        RuntimeError: As `launch`.

    """
    for attempt in range(_TRIES):
        try:
            start(free_ports(count))
        except RuntimeError:
            if attempt == _TRIES - 1 or "address already in use" not in tail(log).lower():
                raise
        else:
            return


def tail(log: Path) -> str:
    """Return the last lines of a server's log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-_TAIL_LINES:])


def say_and_wait(said: str) -> None:
    """Say where a server listens, and return at Ctrl-C."""
    sys.stdout.write(f"{said}\n")
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):
        threading.Event().wait()
