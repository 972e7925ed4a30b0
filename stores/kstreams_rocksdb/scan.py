"""A range of a column family, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import TypeAlias, cast

from kstreams.errors import StoreError
from kstreams_rocksdb.native import rocksdict

__all__ = ("Scan",)

_Pairs: TypeAlias = "Iterator[tuple[bytes, bytes]]"


class Scan:
    """Iterates over pairs with `start <= key < end`, on a snapshot of the database.

    An open scan keeps the lock of the database, therefore the store closes it.
    """

    # RocksDB reads the upper bound from where it lies, as long as there is the iterator:
    # once the bytes or the options were freed, a scan lost rows or ran past its end.
    __slots__ = ("__weakref__", "_end", "_options", "_pairs")

    def __init__(
        self, family: rocksdict.Rdict, start: bytes | None, end: bytes | None, *, reverse: bool
    ) -> None:
        self._pairs: _Pairs | None = iter(())
        self._end = end
        self._options = rocksdict.ReadOptions()
        if end is not None:
            self._options.set_iterate_upper_bound(end)
        if end is None or (start or b"") < end:
            chosen = _backward if reverse else _forward
            self._pairs = chosen(family, start, end, self._options)

    def __iter__(self) -> Scan:
        return self

    def __next__(self) -> tuple[bytes, bytes]:
        if self._pairs is None:
            raise StoreError(
                "the store was closed while this scan was open",
                hint="Read all rows before the batch ends.",
            )
        return next(self._pairs)

    def close(self) -> None:
        """Release the database; any later use of the scan is an error."""
        self._pairs = None


def _forward(
    family: rocksdict.Rdict,
    start: bytes | None,
    end: bytes | None,
    options: rocksdict.ReadOptions,
) -> _Pairs:
    return cast("_Pairs", family.items(from_key=start, read_opt=options))


def _backward(
    family: rocksdict.Rdict,
    start: bytes | None,
    end: bytes | None,
    options: rocksdict.ReadOptions,
) -> _Pairs:
    pairs = cast("_Pairs", family.items(backwards=True, from_key=end, read_opt=options))
    # rocksdict 0.3.29's set_iterate_lower_bound sets the upper bound.
    reached: Callable[[tuple[bytes, bytes]], bool] = (start or b"",).__le__
    return takewhile(reached, pairs)
