"""A process that is killed at its n-th effect on the file system.

Effects are the audit events of Python (`sys.addaudithook`) for opening a file to write, linking,
renaming, removing and making a directory; and each `fsync`, where half of the file is left. Each
process is forked from one that has imported everything, so that all effects can be tried.
"""

from __future__ import annotations

import itertools
import os
import signal
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.processes.forked_programs import FORKS

__all__ = ("in_process", "killed_at")

_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CALLS = {"os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate"}
_TIMEOUT_S = 60


def killed_at(effect: int, home: Path, work: Callable[[], object]) -> bool:
    """Run a function in a process that is killed at its n-th effect.

    Args:
        effect: The number of the effect, from 0.
        home: The process's directory; effects elsewhere do not count.
        work: A function of a module.

    Returns:
        Whether the process was killed; otherwise the function has ended.
    """
    code = _run(home, work, effect)
    assert code in (0, -signal.SIGKILL), (home / "output").read_text()
    return code != 0


def in_process(home: Path, work: Callable[[], object]) -> None:
    """Run a function in a separate process, which is not killed."""
    assert _run(home, work, -1) == 0, (home / "output").read_text()


def _run(home: Path, work: Callable[[], object], effect: int) -> int | None:
    process = FORKS.Process(target=_main, args=(str(home), work, effect))
    process.start()
    process.join(_TIMEOUT_S)
    code = process.exitcode
    process.kill()
    process.join()
    process.close()
    return code


def _main(home: str, work: Callable[[], object], effect: int) -> None:
    os.chdir(home)
    output = os.open("output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number in (1, 2):
        os.dup2(output, number)
    sys.dont_write_bytecode = True
    Path("tmp").mkdir(exist_ok=True)
    tempfile.tempdir = f"{home}/tmp"
    os.environ["TMPDIR"] = f"{home}/tmp"
    numbers = itertools.count()

    def count(leave: Callable[[], object] | None = None) -> None:
        if next(numbers) == effect:
            if leave is not None:
                leave()
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        is_open = event == "open" and arguments[2] & _TO_WRITE
        if (is_open or event in _CALLS) and _is_below(arguments[0], home):
            count()

    def synced(number: int) -> None:
        """Replace `fsync`: files survive a killed process, so no wait for a disk is needed."""
        found = os.fstat(number)
        is_file = stat.S_ISREG(found.st_mode)
        count((lambda: os.truncate(number, found.st_size // 2)) if is_file else None)

    os.fsync = synced  # type: ignore[assignment]  # called with numbers alone
    sys.addaudithook(audit)
    work()


def _is_below(path: object, home: str) -> bool:
    """Return whether a path is in a directory; a relative path is."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return False
    found = os.fsdecode(path)
    return not found.startswith("/") or found.startswith(f"{home}/")
