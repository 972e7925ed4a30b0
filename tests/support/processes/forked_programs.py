"""Programs in forked processes, which need not import Python modules again."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType

__all__ = ("FORKS", "Forked")

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "tests.kill.test_killed_commands",
        "tests.support.processes.emitting_process",
        "tests.support.processes.committing_process",
    ]
)


class Forked:
    """A running program with the interface of `subprocess.Popen`, without a new Python interpreter.

    Args:
        main: A function of a module, which reads `sys.argv`.
        arguments: The arguments after the program's name.

    Attributes:
        stdout: The program's output.
        returncode: The exit status, after the program was waited for.
    """

    def __init__(self, main: Callable[[], None], *arguments: str) -> None:
        read, write = FORKS.Pipe(duplex=False)
        self.returncode: int | None = None
        self._process = FORKS.Process(target=_run, args=(main, arguments, write))
        self._process.start()
        write.close()
        self.stdout = os.fdopen(os.dup(read.fileno()))
        read.close()

    def __enter__(self) -> Forked:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        self.communicate()

    def kill(self) -> None:
        """Kill the program."""
        self._process.kill()

    def communicate(self) -> tuple[str, None]:
        """Wait until the program has ended; return the unread output."""
        printed = ""
        if not self.stdout.closed:
            printed = self.stdout.read()
            self.stdout.close()
        self._process.join()
        self.returncode = self._process.exitcode
        return printed, None


def _run(main: Callable[[], None], arguments: tuple[str, ...], output: Connection) -> None:
    os.dup2(output.fileno(), 1)
    output.close()
    sys.argv = [main.__module__, *arguments]
    main()
