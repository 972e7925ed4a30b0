"""An event loop whose time advances without delay, for tests of delays."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Mapping
from typing import Any, Protocol

__all__ = ("VirtualTimeLoop",)


class _HasFileno(Protocol):
    """A file object that selectors accept."""

    def fileno(self) -> int:
        """Return the file descriptor."""
        ...


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer when all coroutines sleep.

    Sleeps and timeouts take no real time and keep their order. The loop waits for sockets and
    threads only if no coroutine sleeps. Pass the class to `call_async(..., loop=VirtualTimeLoop)`.
    """

    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        """Return the virtual time, in seconds since the creation of the loop."""
        return self._now_s

    def jump(self, by_s: float) -> None:
        """Advance the virtual time by seconds."""
        self._now_s += by_s


class _Jumping(selectors.BaseSelector):
    """A selector that does not wait for a timeout, but advances the loop's time by it."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        self._loop = loop
        self._real = selectors.DefaultSelector()

    def register(
        self, fileobj: int | _HasFileno, events: int, data: object = None
    ) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: int | _HasFileno) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            return self._real.select()
        found = self._real.select(0)
        if not found and timeout > 0:
            self._loop.jump(timeout)
        return found

    def close(self) -> None:
        self._real.close()

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()
