"""Fewer runs of Python's cycle collector while a batch is processed."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ("gc_pauses",)

_YOUNG_OBJECTS = 100_000


class _Pauses:
    """The `with` blocks of `gc_pauses` that are running, in all threads of the process."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._running = 0
        self._before = gc.get_threshold()

    def begin(self) -> None:
        with self._mutex:
            self._running += 1
            if self._running == 1:
                self._before = before = gc.get_threshold()
                if before[0] and before[0] < _YOUNG_OBJECTS:
                    gc.set_threshold(_YOUNG_OBJECTS, *before[1:])

    def end(self) -> None:
        with self._mutex:
            self._running -= 1
            if self._running == 0:
                gc.set_threshold(*self._before)


_PAUSES = _Pauses()


@contextmanager
def gc_pauses() -> Iterator[None]:
    """Run the cycle collector less often during the `with` block; threads may use it together.

    A batch creates hundreds of thousands of records that live to its end and have no cycles. By
    default, the collector examines them hundreds of times, which takes a fifth of the batch's time.
    Cycles of user code are still found, a little later.
    """
    _PAUSES.begin()
    try:
        yield
    finally:
        _PAUSES.end()
