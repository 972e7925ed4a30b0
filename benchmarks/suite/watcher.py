"""Protocol for the progress of a suite run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ("Watcher",)


class Watcher(Protocol):
    """Receives the progress of a suite run."""

    def begin(self, runs: int) -> None:
        """Set the number of runs."""
        ...

    def step(self, title: str, total: int) -> Callable[[int], None]:
        """Begin a step with `total` records; returns a callback for the processed records."""
        ...

    def done(self) -> None:
        """Count a completed run."""
        ...

    def say(self, text: str) -> None:
        """Show a permanent line."""
        ...
