"""Run a program to its end, and keep what it says."""

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
    """Return the status that a program ends with, and all that it has printed.

    Args:
        command: The program and its arguments.
        timeout_s: How long it may take.
        folder: Where it runs; here by default.
        environment: All of its variables; those of this process by default.

    Raises:
        OSError: It does not start.
        subprocess.TimeoutExpired: It took longer.
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
