"""Servers as separate processes: start, wait until they answer, stop."""

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
    """A server cannot run on this machine: a program, a compiler or a package is missing."""


class Server(ABC):
    """A server that runs while its context is entered, and can also be started explicitly."""

    @abstractmethod
    def start(self: S) -> S:
        """Start, and wait until the server answers."""

    @abstractmethod
    def stop(self) -> None:
        """Stop the process, if it runs."""

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
    """A server with one process and its data in a temporary folder.

    Args:
        name: The name of the server.
        ports: The number of ports to listen on.
        start_s: The time limit of the start, in seconds.
        user: The user of the process; by default the current user.
    """

    crash = signal.SIGKILL
    """The signal that stops the process and its children like a crash."""

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
        """The file with the output of the process."""
        return self.folder / "server.log"

    @property
    def address(self) -> tuple[str, int]:
        """Host and first port."""
        return "127.0.0.1", self.ports[0]

    def start(self: P) -> P:
        """Start, and wait until the server answers; after `kill`, on the same ports and data."""
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
        """Stop the process at once, like a crash; data on disk stays."""
        if self._process is not None:
            end(self._process, self.crash)
            self._process = None

    def stop(self) -> None:
        """Stop the process, if it runs, and delete its data."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def prepare(self) -> None:
        """Create the files that the first start needs in the folder."""

    @abstractmethod
    def command(self) -> Sequence[str]:
        """Return the command line; `ports` are already set."""

    @abstractmethod
    def answers(self) -> bool:
        """Return whether the server answers."""

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
    """Start a server, and return its process once it answers.

    Args:
        name: The name of the server, for errors.
        command: The command line.
        folder: The working directory.
        log: The file to which the output is appended.
        answers: Returns whether the server answers.
        within_s: The time limit in seconds.
        user: The user of the process; by default the current user.

    Raises:
        RuntimeError: The process has ended, or does not answer in time; all its processes are
            stopped.
    """
    with log.open("ab") as file:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            user=user,
            start_new_session=True,  # so that Ctrl-C in the terminal stops only the test
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
    """Stop a process started by `launch`, and the child processes of it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, by)
    process.wait()


def launch_on_free_ports(count: int, start: Callable[[tuple[int, ...]], None], log: Path) -> None:
    """Start a server on free ports; retries if another process takes one of them meanwhile.

    Args:
        count: The number of ports.
        start: Starts the server on the given ports, by `launch`.
        log: The file with the output of the server.

    Raises:
        RuntimeError: The server did not start; see `launch`.
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
    """Print the address of a server, and return at Ctrl-C."""
    sys.stdout.write(f"{said}\n")
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):
        threading.Event().wait()
