"""The contents of a slot: counts changes, plans batches and releases committed changes."""

from __future__ import annotations

import logging
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from psycopg import sql

from kstreams.errors import DataLossError, SourceError
from kstreams.sources import Piece, RetainedSize
from kstreams_postgres.claiming import reader_of
from kstreams_postgres.connecting import Connection, Database
from kstreams_postgres.slot import (
    SlotNames,
    SlotState,
    Transaction,
    advance,
    slot_state,
    table_name,
    transactions,
)
from kstreams_postgres.slot_making import Making, check_slot, make_slot
from kstreams_postgres.slot_place import COPY, SlotPlace

__all__ = ("SlotContents",)

_LOG = logging.getLogger(__name__.replace("_", ".", 1))

_LARGE = 10_000
"""A transaction of this many offsets is a separate piece, which several batches may read."""
_QUIET_BYTES = 1024 * 1024
"""The bytes of log without changes of the table that accumulate before their release."""
_MEAN_COPIED_BYTES = 200.0
_LOOK_SHARE = 10
"""The minimum interval of polls while records wait, as a multiple of a poll's duration."""


class SlotContents:
    """Implements `LogContents`, `ReadOnce` and `RetainsUncommitted` of `kstreams.log`.

    The log has one partition.

    Args:
        database: The database of the slot.
        names: The names of the slot and its tables.
        making: The options for creating the slot.
    """

    def __init__(self, database: Database, names: SlotNames, making: Making) -> None:
        self._database = database
        self._names = names
        self._making = making
        self._state: SlotState | None = None
        self._found: Sequence[Transaction] = ()
        self._stops: list[int] = []
        self._seen = -1
        self._claimed = False
        self._took_s = 0.0
        self._done = 0

    @property
    def log_id(self) -> str:
        """The id of the log, which was assigned when the slot was created."""
        return self._known().log_id

    @property
    def look_every_s(self) -> float:
        """The time between polls, s, which depends on the duration of the last poll.

        A poll reads the whole slot. The time is 0 when all known changes are read.
        """
        return self._took_s * _LOOK_SHARE if self._done < self._end else 0.0

    def beginnings(self) -> dict[int, int]:
        """Return the first offset that was not committed."""
        return {0: self._known().offset}

    def ends(self) -> dict[int, int]:
        """Count the new changes, and return the offset after the last one.

        Raises:
            DataLossError: The slot was dropped, fell behind, or was moved by another client.
            SourceError: The table was replaced by another one.
        """
        began = time.monotonic()
        self._database.retried(self._look)
        self._took_s = time.monotonic() - began
        return {0: self._end}

    def _look(self, connection: Connection) -> None:
        state = self._opened(connection)
        if state.slot_lsn is not None and state.slot_lsn > state.lsn:
            state = self._opened(connection)  # the slot may have been released during the request
        state.check(self._names)
        if self._state is None:
            check_slot(connection, self._names, state, self._making.required)
        if state.wal == "unreserved":
            _LOG.warning(
                "replication slot %s may soon lose unread changes: raise max_slot_wal_keep_size",
                self._names.slot,
            )
        if state.written != self._seen:
            self._found = transactions(connection, self._names, state)
        self._take(state)
        quiet = not self._found and state.offset >= state.copied
        if self._claimed and quiet and state.written - state.lsn > _QUIET_BYTES:
            advance(connection, self._names, state.written, state.offset)

    def _opened(self, connection: Connection) -> SlotState:
        found = slot_state(connection, self._names)
        return found or make_slot(connection, self._names, self._making)

    def _take(self, state: SlotState) -> None:
        """Replace the known state of the slot; assign offsets to its uncommitted transactions."""
        self._state, self._seen = state, state.written
        self._found = [each for each in self._found if each.end > state.lsn]
        sizes = accumulate((each.offsets for each in self._found), initial=state.base)
        self._stops = list(sizes)[1:]

    @property
    def _end(self) -> int:
        return self._stops[-1] if self._stops else self._known().base

    def _known(self) -> SlotState:
        if self._state is None:
            self.ends()
        if self._state is None:
            raise SourceError(
                f"the state of replication slot {self._names.slot!r} could not be read"
            )
        return self._state

    def first_since(self, partition: int, timestamp_ms: int) -> tuple[int, int] | None:
        """Return offset and time (ms) of the first record not before a time; None without one."""
        state = self._known()
        if state.offset < state.copied and timestamp_ms <= state.copied_ms:
            return state.offset, state.copied_ms
        first = state.base
        for each, stop in zip(self._found, self._stops, strict=True):
            if each.time_ms >= timestamp_ms:
                return first, each.time_ms
            first = stop
        return None

    def pieces(self, partition: int, start: int, stop: int) -> Iterator[Piece]:
        """Yield the offsets from `start` to before `stop` as `Piece`s.

        The copied rows are one piece, each large transaction is one, and other transactions are
        grouped.
        """
        state = self._known()
        if start < state.offset:
            raise DataLossError(
                f"replication slot {self._names.slot!r} no longer has changes before offset "
                f"{state.offset}",
                hint="a slot returns each change once: for an app that starts from an older state "
                "(a fork, a savepoint), use another slot, which copies the table again.",
            )
        if start < min(stop, state.copied):
            yield Piece(partition, start, min(stop, state.copied), COPY)
        start = max(start, state.base)
        first = bisect_right(self._stops, start)
        while first < len(self._found) and start < stop:
            last = self._together(first, stop)
            end = self._stops[last]
            place = SlotPlace(
                self._found[first - 1].end if first else state.lsn,
                self._found[last].end,
                self._stops[first - 1] if first else state.base,
                end,
            )
            yield Piece(partition, start, min(stop, end), str(place))
            start, first = end, last + 1

    def _together(self, first: int, stop: int) -> int:
        """Return the index of the last transaction of a piece that begins with transaction `first`.

        A large transaction is a piece of its own; no transaction after offset `stop` is added.
        """
        last = first
        while (
            self._stops[last] < stop
            and last + 1 < len(self._found)
            and max(self._found[last].offsets, self._found[last + 1].offsets) < _LARGE
        ):
            last += 1
        return last

    def mean_bytes(self, partition: int, offset: int) -> float | None:
        """Return the mean bytes per offset of the transaction at an offset."""
        place = bisect_right(self._stops, offset)
        if offset < self._known().base or place == len(self._found):
            return _MEAN_COPIED_BYTES
        each = self._found[place]
        return each.size / each.offsets

    def retained(self) -> RetainedSize | None:
        """Return the size of the server's log that is retained for the slot.

        None before the first poll.
        """
        state = self._state
        return None if state is None else RetainedSize(state.kept, state.room)

    def claim(self, reader: str) -> None:
        """Register an app, `reader`, as the only reader of the slot.

        Raises:
            SourceError: Another app is the reader.
        """
        state = self._known()
        self._database.retried(lambda connection: self._claim(connection, reader))
        self._claimed = True
        if state.offset >= state.copied:  # or a death has left them
            self._forget_copy()

    def _claim(self, connection: Connection, reader: str) -> None:
        state = table_name(self._names.state)
        if (other := reader_of(connection, state, "slot", self._names.slot, reader)) != reader:
            raise SourceError(
                f"replication slot {self._names.slot!r} is read by {other}, so {reader} cannot "
                "read it, too: a slot has one reader",
                hint="give a fork another slot. After a reset, drop() the log, which copies the "
                "table again; release() the log if this app replaces that one.",
            )

    def committed(self, positions: Mapping[int, int]) -> None:
        """Release whole transactions and copied rows that were read and committed.

        Transactions that this object has not counted stay.
        """
        state, position = self._known(), positions.get(0, 0)
        self._done = max(self._done, position)
        if position < state.copied:
            lsn, offset = state.lsn, position
        elif position >= self._end:
            lsn, offset = state.written, self._end
        else:
            count = bisect_right(self._stops, position)
            lsn = self._found[count - 1].end if count else state.lsn
            offset = self._stops[count - 1] if count else state.base
        if (lsn, offset) <= (state.lsn, state.offset):
            return
        self._database.retried(lambda connection: self._let_go(connection, lsn, offset))
        if offset >= state.copied > state.offset:
            self._forget_copy()
        self._take(state._replace(lsn=lsn, offset=offset))

    def _let_go(self, connection: Connection, lsn: int, offset: int) -> None:
        advance(connection, self._names, lsn, offset)

    def _forget_copy(self) -> None:
        statement = sql.SQL("DROP TABLE IF EXISTS {}").format(self._names.copy)
        self._database.retried(lambda connection: connection.execute(statement))

    def close(self) -> None:
        """Close the connection."""
        self._database.close()
