"""The contents of a polled table: counts rows of settled transactions and plans batches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kstreams.errors import DataLossError, SourceError
from kstreams.sources import Piece
from kstreams_postgres.claiming import reader_of
from kstreams_postgres.connecting import Connection, Database
from kstreams_postgres.place_text import place_numbers, place_text
from kstreams_postgres.poll import (
    Mark,
    PollNames,
    PollState,
    find_marks,
    first_at,
    made_state,
    store_committed,
)
from kstreams_postgres.slot import table_name

__all__ = ("PollContents", "PollPlace")


class PollPlace(NamedTuple):
    """The rows of consecutive transactions; stored as `NUMBER-NUMBER:OFFSET-OFFSET` in a plan.

    Attributes:
        low: The number of the first transaction.
        high: The number after the last transaction.
        first: The first offset.
        stop: The offset after the last one.
    """

    low: int
    high: int
    first: int
    stop: int

    def __str__(self) -> str:
        """Return the text that a plan stores."""
        return place_text(*self)

    @classmethod
    def parse(cls, text: str) -> PollPlace:
        """Parse the text that a plan stores.

        Raises:
            StateCorruptError: The text is not in this format.
        """
        return cls(*place_numbers(text, "table"))


class PollContents:
    """Implements `kstreams.log.LogContents` with one partition.

    Args:
        database: The database of the table.
        names: The names of the table and its columns.
        required: The columns that the table must have.
        look_every_s: The interval between polls for rows, in seconds.
    """

    def __init__(
        self,
        database: Database,
        names: PollNames,
        required: frozenset[str],
        look_every_s: float,
    ) -> None:
        self._database = database
        self._names = names
        self._required = required
        self._state: PollState | None = None
        self._marks: list[Mark] = []
        self.look_every_s = look_every_s

    @property
    def log_id(self) -> str:
        """The id of the log, which was assigned at its first read."""
        return self._known().log_id

    def beginnings(self) -> dict[int, int]:
        """Return the first offset after the committed ones: earlier rows are not kept."""
        return {0: self._known().offset}

    def ends(self) -> dict[int, int]:
        """Count the rows of newly ended transactions, and return the offset after them.

        Raises:
            DataLossError: The number of rows between the last two planned positions has changed.
            SourceError: The table was replaced by another one.
        """
        self._database.retried(self._look)
        return {0: self._end}

    def _look(self, connection: Connection) -> PollState:
        state = made_state(connection, self._names, self._required)
        marks = [mark for mark in self._marks if mark.bound > state.bound]
        last = marks[-1] if marks else Mark(state.bound, state.offset)
        if state.settled > last.bound:
            marks += find_marks(connection, self._names, last.bound, state.settled, last.stop)
        self._state, self._marks = state, marks
        return state

    @property
    def _end(self) -> int:
        return self._marks[-1].stop if self._marks else self._known().offset

    def _known(self) -> PollState:
        return self._database.retried(self._look) if self._state is None else self._state

    def _windows(self) -> Iterator[PollPlace]:
        state = self._known()
        low, first = state.bound, state.offset
        for mark in self._marks:
            yield PollPlace(low, mark.bound, first, mark.stop)
            low, first = mark

    def first_since(self, partition: int, timestamp_ms: int) -> tuple[int, int] | None:
        """Return offset and time (ms) of the first row not before a time; None without one."""
        state = self._known()
        for place in self._windows():
            found = self._database.retried(
                lambda connection, place=place: first_at(  # type: ignore[misc]  # one at a time
                    connection, self._names, state, place.low, place.high, timestamp_ms
                )
            )
            if found is not None:
                return place.first + found[0], found[1]
        return None

    def pieces(self, partition: int, start: int, stop: int) -> Iterator[Piece]:
        """Yield `Piece`s with the offsets from `start` to before `stop`.

        Each has the rows of one or several whole transactions, cut at `start` and `stop`.
        """
        if start < self._known().offset:
            raise DataLossError(
                f"log {self._names.log!r} no longer has rows before offset {self._known().offset}",
                hint="for an app that starts from an older state (a fork, a savepoint), use a log "
                "of another name, which starts with all rows.",
            )
        for place in self._windows():
            low, high = max(place.first, start), min(place.stop, stop)
            if low < high:
                yield Piece(partition, low, high, str(place))

    def mean_bytes(self, partition: int, offset: int) -> float | None:
        """Return None, because the mean size is not known."""
        return None

    def claim(self, reader: str) -> None:
        """Register an app, `reader`, as the only reader of the log.

        Raises:
            SourceError: Another app is the reader.
        """
        self._known()
        state, names = table_name(self._names.state), self._names
        other = self._database.retried(lambda c: reader_of(c, state, "name", names.log, reader))
        if other != reader:
            raise SourceError(
                f"log {names.log!r} is read by {other}, so {reader} cannot read it, too: a log has "
                "one reader",
                hint="give a fork a log of another name. After a reset, forget() the log, which "
                "then starts with all rows.",
            )

    def committed(self, positions: Mapping[int, int]) -> None:
        """Store the committed position, so counting starts after it."""
        state, position = self._known(), positions.get(0, 0)
        place = bisect_right([mark.stop for mark in self._marks], position)
        bound, offset = self._marks[place - 1] if place else (state.bound, state.offset)
        open_bound = open_rows = 0
        if place < len(self._marks) and position > offset:
            open_bound, stop = self._marks[place]
            open_rows = stop - offset
        found = state._replace(
            bound=bound, offset=offset, open_bound=open_bound, open_rows=open_rows
        )
        if position < state.offset or found == state:
            return
        self._database.retried(lambda connection: store_committed(connection, self._names, found))
        self._state, self._marks = found, self._marks[place:]

    def close(self) -> None:
        """Close the connection."""
        self._database.close()
