"""Availability of Docker on this machine."""

from __future__ import annotations

import subprocess

__all__ = ("why_docker_is_silent",)


def why_docker_is_silent() -> str:
    """Return the reason why Docker does not answer; empty if it does."""
    try:
        done = subprocess.run(
            ["docker", "version", "--format", "{{.Server.Version}}"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        return str(exc)
    return done.stderr.strip() if done.returncode else ""
