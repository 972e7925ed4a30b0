"""What a plain model of a store is, and the keys and spans that models draw from."""

from __future__ import annotations

from typing import Any, Protocol

from kstreams.state.cache.times import Times
from kstreams.state.stores.buffered import BufferedState
from kstreams.state.stores.spec import StoreSpec

KEYS = ("", "a", "a\x00", "ab", "b", "\xff")


TTL = 10


RETENTION = 10


HeldBack = tuple[tuple[int, int, BufferedState[int]], ...]


"""Start and end of windows, and what is held back of each."""


class Model(Protocol):
    """One store's contents, as plain as can be."""

    spec: StoreSpec[Any]

    def step(self, live: Any, action: int, key: str, a: int, b: int, times: Times) -> None:
        """Do one thing to the live store and to the model."""
        ...

    def check(self, live: Any, times: Times) -> None:
        """Compare everything that can be read."""
        ...
