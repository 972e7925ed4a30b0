"""The interface of a store model, and the keys and time spans of models."""

from __future__ import annotations

from typing import Any, Protocol

from kstreams.state.cache.times import Times
from kstreams.state.stores.buffered import BufferedState
from kstreams.state.stores.spec import StoreSpec

KEYS = ("", "a", "a\x00", "ab", "b", "\xff")


TTL = 10


RETENTION = 10


HeldBack = tuple[tuple[int, int, BufferedState[int]], ...]


"""Start and end of windows, and the buffered states of each."""


class Model(Protocol):
    """The expected contents of a store."""

    spec: StoreSpec[Any]

    def step(self, live: Any, action: int, key: str, a: int, b: int, times: Times) -> None:
        """Apply one operation to the live store and to the model."""
        ...

    def check(self, live: Any, times: Times) -> None:
        """Compare all readable contents."""
        ...
