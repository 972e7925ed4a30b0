"""What a join of streams does as time goes on: records without a partner go out, old ones go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kstreams.joins.joiner import Joiner
from kstreams.joins.upcoming import Upcoming
from kstreams.record import Record
from kstreams.state.stores.join.coding import WAITING
from kstreams.state.stores.join.rows import JoinRows, Open, Setup
from kstreams.times import FAR_MS

__all__ = ("Closing",)


class Closing:
    """Forwards what has closed without a partner, and forgets what no record can meet.

    Args:
        rows: What the join remembers.
        setup: Its spans.
        joiner: Makes results, and says of which sides records go out alone.
        forward: Takes them.

    Attributes:
        keeps: Whether records of a side go out alone, left and right.
        setup: Its spans.
        forgets_at: The newest record (ms) of each side from which on there is more to forget.
    """

    def __init__(
        self,
        rows: JoinRows[Any, Any, Any],
        setup: Setup,
        joiner: Joiner[Any, Any, Any, Any],
        forward: Callable[[Record[Any, Any]], None],
    ) -> None:
        self.keeps = joiner.keeps(left=True), joiner.keeps(left=False)
        self._upcoming: Upcoming[Open] = Upcoming(rows.open_entries, rows.drop_open, setup.memory)
        self.forgets_at = [-FAR_MS, -FAR_MS]
        self._forgotten = [-FAR_MS, -FAR_MS]
        self._rows = rows
        self.setup = setup
        self._function = joiner.function
        self._forward = forward

    def wait(self, side: int, time_ms: int, number: int, key: object) -> None:
        """Let a record wait that was put into the store just now."""
        entry = Open(self.setup.close(side, time_ms), side, time_ms, number, key)
        self._rows.put_open(entry)
        self._upcoming.put(entry)

    def close(self, now: int) -> None:
        """Forward what has closed by a stream time, ms: `now` is after the end of its grace."""
        if now <= self._upcoming.next:
            return
        rows, setup = self._rows, self.setup
        clocks = rows.clocks()
        final = clocks.final_left, clocks.final_right
        for entry in self._upcoming.take(now):
            side, time = entry.side, entry.time
            if self.keeps[side] and time >= final[side]:
                element = rows.find(time // setup.width, entry)
                if element is not None and element[2] == WAITING:
                    value = element[3]
                    sides = (None, value) if side else (value, None)
                    self._forward(Record(entry.key, self._function(*sides), time))
        past = [max(final[side], now - setup.close(side, 0)) for side in (0, 1)]
        rows.set_clocks(clocks._replace(final_left=past[0], final_right=past[1]))
        for side in (0, 1):
            self.forget(side, clocks.newest(side))

    def close_all(self) -> None:
        """Forward all that waits for a partner."""
        last = self._rows.last_close()
        if last is not None:
            self.close(last + 1)

    def forget(self, side: int, newest: int) -> None:
        """Delete the buckets that a side does not remember once it has had a record, ms."""
        if newest >= self.forgets_at[side]:
            setup = self.setup
            end = (newest - setup.memory) // setup.width  # all of it has closed before `newest`
            self._rows.drop_buckets(side, end, self._forgotten[side])
            self._forgotten[side] = end
            self.forgets_at[side] = (end + 1) * setup.width + setup.memory
