"""The encoded rows of one partition of a server's store, as a read-only working store."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

from typing_extensions import override

from kstreams.errors import StoreError
from kstreams.state.backend.working import Changes, WorkingStore
from kstreams_client.wire import Found

__all__ = ("Ask", "RemoteRows")

Ask = Callable[[dict[str, object]], Found]
"""Requests rows of one partition at the version of the current read."""

_FIRST_PAGE = 100
_PAGE = 1_000


class RemoteRows(WorkingStore):
    """A `WorkingStore` that is read over HTTP, with the times by which its rows expire.

    Args:
        ask: Sends a request that selects keys or a key range; returns the encoded rows.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._known: Found | None = None

    # ------------------------------------------------------------ rows

    @override
    def get(self, store: str, key: bytes) -> bytes | None:
        return self.multi_get(store, [key])[0]

    @override
    def multi_get(self, store: str, keys: Sequence[bytes]) -> list[bytes | None]:
        values: list[bytes | None] = []
        for start in range(0, len(keys), _FIRST_PAGE):
            part = keys[start : start + _FIRST_PAGE]
            found = self._found({"keys": [_text(key) for key in part]})
            if [key for key, _ in found.pairs] != list(part):
                raise StoreError("the server returned other keys than the requested keys")
            values += [value for _, value in found.pairs]
        return values

    def scan(
        self, store: str, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield pairs with `start <= key < end` in bytewise order, page by page."""
        limit = _FIRST_PAGE
        while True:
            bounds: dict[str, object] = {
                name: None if key is None else _text(key)
                for name, key in (("start", start), ("end", end))
            }
            found = self._found({**bounds, "reverse": reverse, "limit": limit})
            for key, value in found.pairs:
                if value is None:
                    raise StoreError("the server returned a row without a value")
                yield key, value
            if found.ended:
                return
            if not found.pairs:
                raise StoreError("the server returned an empty page before the end of the rows")
            last = found.pairs[-1][0]
            start, end = (start, last) if reverse else (last + b"\0", end)
            limit = _PAGE

    def count(self, store: str) -> int:
        """Raise `StoreError`, because counting would read all rows."""
        raise StoreError(
            "a remote view does not count rows",
            hint="count the rows with a View, which reads the app's checkpoint.",
        )

    def write(self, changes: Changes) -> NoReturn:
        """Raise `StoreError`: a remote view is read-only."""
        raise StoreError("a remote view is read only")

    def close(self) -> None:
        """Do nothing, because the connection belongs to the view."""

    # ------------------------------------------------------------ times

    @property
    def stream_time(self) -> int:
        """The task's stream time, ms since the epoch; -1 before the first record."""
        return self._times().time

    @property
    def wall_time(self) -> int:
        """The time of the version's commit, ms since the epoch."""
        return self._times().wall_ms

    def _times(self) -> Found:
        return self._known or self._found({"limit": 1})

    def _found(self, wanted: dict[str, object]) -> Found:
        self._known = found = self._ask(wanted)
        return found


def _text(key: bytes) -> str:
    return b64encode(key).decode()
