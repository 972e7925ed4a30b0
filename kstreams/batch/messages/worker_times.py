"""The durations of a task's phases in a worker."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

__all__ = ("COMMIT", "PROCESS", "READ", "RESTORE", "TASK_PHASES", "WRITE", "Busy")

T = TypeVar("T")
"""The type of the items of an iterable."""

READ: Final = "read"
"""Reading records of topics and loops."""
RESTORE: Final = "restore"
"""Opening the state: from the copy of the worker, or else from the durable log."""
PROCESS: Final = "process"
"""Running the nodes, including deserialization and serialization."""
WRITE: Final = "write"
"""Writing output: to topics, to other sinks, to tasks of later stages."""
COMMIT: Final = "commit"
"""Making the version of the state durable."""

TASK_PHASES: Final = (READ, RESTORE, PROCESS, WRITE, COMMIT)
"""All phases of a task, in order."""

_MICROSECONDS = 1_000_000


class Busy:
    """Measures the phases of one task in one batch.

    Attributes:
        us: Microseconds by phase.
    """

    def __init__(self) -> None:
        self.us: dict[str, int] = {}

    def add(self, phase: str, seconds: float) -> None:
        """Add a duration that was measured elsewhere."""
        self.us[phase] = self.us.get(phase, 0) + int(seconds * _MICROSECONDS)

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Add the duration of the `with` block to a phase."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.add(phase, time.perf_counter() - began)

    def each(self, phase: str, items: Iterable[T]) -> Iterator[T]:
        """Yield items; add the time of their creation to a phase, without the time between them."""
        made = iter(items)
        while True:
            with self.during(phase):
                item = next(made, self)
            if item is self:
                return
            yield item  # type: ignore[misc]  # not the end's mark
