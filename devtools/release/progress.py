"""Lines about the steps of a release, and its errors."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ("ReleaseError", "run", "say", "step")

_LAST_LINES = 30


class ReleaseError(Exception):
    """A step of a release failed.

    Args:
        problem: The failed step, and its output if there is any.
        hint: The next step of the user; empty if the problem states it.
    """

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(f"{problem}\nHint: {hint}" if hint else problem)
        self.problem = problem
        self.hint = hint


def say(line: str) -> None:
    """Print a line about the progress."""
    print(f"release: {line}", flush=True)


@contextmanager
def step(title: str) -> Iterator[None]:
    """Print the title of a step, and its duration if it succeeds."""
    say(title)
    started = time.monotonic()
    yield
    say(f"  done in {time.monotonic() - started:.1f} s")


def run(
    command: Sequence[str | Path],
    what: str,
    *,
    hint: str = "",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 900,
) -> str:
    """Run a program, and return its output with that of stderr.

    Args:
        command: The program and its arguments.
        what: The name of the step in errors.
        hint: The next step of the user after a failure.
        cwd: The working directory.
        env: All environment variables; None passes those of this process.
        timeout: Maximum time, in seconds.

    Raises:
        ReleaseError: The program fails or takes longer; the error has its last lines.
    """
    try:
        done = subprocess.run(
            list(map(str, command)),
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except OSError as exc:
        raise ReleaseError(f"{what}: {command[0]} cannot be started: {exc}", hint) from exc
    except subprocess.TimeoutExpired as exc:
        raise ReleaseError(f"{what}: no end after {timeout:g} s", hint) from exc
    if done.returncode != 0:
        last = "\n".join(done.stdout.splitlines()[-_LAST_LINES:])
        raise ReleaseError(f"{what}: {command[0]} ended with {done.returncode}:\n{last}", hint)
    return done.stdout
