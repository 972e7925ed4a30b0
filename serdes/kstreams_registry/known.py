"""A process's cache of a registry: schemas by id, permanently, and missing ids for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from kstreams.serde import Schema

__all__ = ("Known",)

_REMEMBERED_S = 60.0
"""The time for which a missing id is not requested again."""
_MOST_UNKNOWN = 100_000

T = TypeVar("T")
"""The type of the requested item."""


class Known:
    """A cache of schemas by id or GUID, thread-safe; each id is requested once."""

    def __init__(self) -> None:
        self._schemas: dict[int | bytes, Schema] = {}
        self._unknown: dict[int | bytes, float] = {}
        self._lock = threading.Lock()

    def schema(self, name: int | bytes, ask: Callable[[], Schema | None]) -> Schema | None:
        """Return the schema of an id, which is requested at the first call; None if missing."""
        found = self._schemas.get(name)
        if found is not None:
            return found
        with self._lock:
            found = self._schemas.get(name)
            if found is not None or self._is_unknown(name):
                return found
            found = ask()
            if found is None:
                self._forget_oldest()
                self._unknown[name] = time.monotonic()
            else:
                self._schemas[name] = found
        return found

    def _is_unknown(self, name: int | bytes) -> bool:
        asked = self._unknown.get(name)
        if asked is None:
            return False
        if time.monotonic() - asked < _REMEMBERED_S:
            return True
        del self._unknown[name]
        return False

    def _forget_oldest(self) -> None:
        if len(self._unknown) >= _MOST_UNKNOWN:
            del self._unknown[next(iter(self._unknown))]
