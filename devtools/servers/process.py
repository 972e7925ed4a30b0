"""Starting a server as a process of its own, and waiting until it answers."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TypeVar
from uuid import uuid4

from devtools.servers.ports import free_ports

__all__ = (
    "NoServerError",
    "Server",
    "ServerProcess",
    "end",
    "launch",
    "launch_on_free_ports",
    "say_and_wait",
    "tail",
)

S = TypeVar("S", bound="Server")
P = TypeVar("P", bound="ServerProcess")

_TAIL_LINES = 25
_TRIES = 3
_PAUSE_S = 0.05


class NoServerError(Exception):
    """A server cannot be had on this machine: no program, no compiler, or no package of it."""


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


class ServerProcess(Server):
    """
    A server that is one process, its data in a temporary folder.

    Args:
        name: What it is called.
        ports: How many it listens on.
        start_s: How long it may take to answer.
        user: Who runs it; this user by default.

    """

    crash = signal.SIGKILL
    """What ends it, and the processes that it has begun, as a crash does."""

    def __init__(
        self, name: str, *, ports: int = 1, start_s: float = 30.0, user: str | None = None
    ) -> None:
        self.name = name
        self.folder = Path(tempfile.gettempdir()) / f"kstreams-{name.lower()}-{uuid4().hex[:12]}"
        self.ports: tuple[int, ...] = ()
        self._count = ports
        self._start_s = start_s
        self._user = user
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log_file(self) -> Path:
        """What it says."""
        return self.folder / "server.log"

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the first of its ports."""
        return "127.0.0.1", self.ports[0]

    def start(self: P) -> P:
        """Start, and wait for answers; on the same ports and data after `kill`."""
        if self.ports:
            self._start_on(self.ports)
        else:
            self.folder.mkdir(mode=0o700)
            if self._user is not None:
                shutil.chown(self.folder, self._user)
            self.prepare()
            launch_on_free_ports(self._count, self._start_on, self.log_file)
        return self

    def kill(self) -> None:
        """End it at once, as a crash does; what it has written stays."""
        if self._process is not None:
            end(self._process, self.crash)
            self._process = None

    def stop(self) -> None:
        """End the process, if it runs, and remove its data."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def prepare(self) -> None:
        """Put into the folder what the first start wants there."""

    @abstractmethod
    def command(self) -> Sequence[str]:
        """Return the command line, once `ports` are known."""

    @abstractmethod
    def answers(self) -> bool:
        """Tell whether it does."""

    def _start_on(self, ports: tuple[int, ...]) -> None:
        self.ports = ports
        self._process = launch(
            f"{self.name} server",
            self.command(),
            folder=self.folder,
            log=self.log_file,
            answers=self.answers,
            within_s=self._start_s,
            user=self._user,
        )


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


def end(process: subprocess.Popen[bytes], by: signal.Signals) -> None:
    """End what `launch` has started, and the processes that it has begun."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, by)
    process.wait()


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
