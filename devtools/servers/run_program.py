"""Runs a program to its end, and returns its output."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ("run_program",)


def run_program(
    command: Sequence[str],
    *,
    timeout_s: float,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    """Return the exit status and the output of a program.

    Args:
        command: The program and its arguments.
        timeout_s: The time limit in seconds.
        folder: The working directory; by default the current one.
        environment: All environment variables; by default those of this process.

    Raises:
        OSError: The program does not start.
        subprocess.TimeoutExpired: The program exceeded the time limit.
    """
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout_s,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout
