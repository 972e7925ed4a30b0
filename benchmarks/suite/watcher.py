"""What is told how a run of the suite gets on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ("Watcher",)


class Watcher(Protocol):
    """Is told how the whole gets on."""

    def begin(self, runs: int) -> None:
        """Note how many runs there are."""
        ...

    def step(self, title: str, total: int) -> Callable[[int], None]:
        """Begin something of so many records; returns what takes how many of them are done."""
        ...

    def done(self) -> None:
        """Note that a run is over."""
        ...

    def say(self, text: str) -> None:
        """Take a line that is to stay."""
        ...
