"""Models of the stores of joins."""

from __future__ import annotations

from typing import Any

from kstreams import INT64, TEXT, Record
from kstreams.state.cache.times import Times
from kstreams.state.stores.join.coding import SETTLED, WAITING, Element
from kstreams.state.stores.join.kind import join_store
from kstreams.state.stores.join.rows import JoinRows, Open
from kstreams.state.stores.join.setup import Setup
from kstreams.state.stores.join.store import RememberedRecord
from kstreams.state.stores.queue.kind import queue_store
from kstreams.state.stores.queue.rows import NO_PROGRESS, Progress, Queued, QueueRows
from tests.support.models.store_model import KEYS

SETUPS = (Setup.of(1, 2, 0), Setup.of(3, 3, 1), Setup.of(9, 9, 9))


class Joins:
    spec = join_store("join", key=TEXT, left=INT64, right=TEXT)

    def __init__(self) -> None:
        self.setup: Setup | None = None
        self.rows: dict[tuple[int, str], list[Element]] = {}
        self.open: set[Open] = set()
        self.clocks = (0, 0, 0, 0, 0)
        self.number = 0

    def step(self, live: Any, action: int, key: str, a: int, b: int, times: Times) -> None:
        rows: JoinRows[str, int, str] = JoinRows.of(live)
        if self.setup is None or action == 19:
            wanted = SETUPS[a % 3]
            width = max(wanted.width, self.setup.width if self.setup else 0)
            self.setup = wanted._replace(width=width)
            assert rows.set_up(wanted) == self.setup
            self.open = {e._replace(close=self.setup.close(e.side, e.time)) for e in self.open}
        side, width = a % 2, self.setup.width
        match action % 6:
            case 0 | 1 | 2:
                for _ in range(40 if action == 18 else 1):
                    self._add(rows, side, key, a, b)
            case 3:
                end = b // width
                rows.drop_buckets(side, end)
                for own, found in self.rows.items():
                    if own[0] == side:
                        found[:] = [each for each in found if each[0] // width >= end]
            case 4:
                rows.drop_open(b)
                self.open = {entry for entry in self.open if entry.close >= b}
            case _:
                self.clocks = (self.number, a, b, a - 1, b - 1)
                rows.overlay.put((0, 1), self.clocks)
                for _, side, time, number, key, _ in self.open:
                    element = rows.find(side, time // width, key, time, number)
                    kept = self.rows[side, key]
                    assert element == next((e for e in kept if e[1] == number), None)

    def _add(self, rows: JoinRows[str, int, str], side: int, key: str, a: int, b: int) -> None:
        assert self.setup is not None
        element = (b, self.number, WAITING if a % 3 else SETTLED, str(a) if side else a)
        rows.add(side, b // self.setup.width, key, element)
        self.rows.setdefault((side, key), []).append(element)
        if element[2] == WAITING:
            entry = Open(self.setup.close(side, b), side, b, self.number, key)
            rows.put_open(entry)
            self.open.add(entry)
        self.number += 1

    def check(self, live: Any, times: Times) -> None:
        rows: JoinRows[str, int, str] = JoinRows.of(live)
        assert list(rows.open_entries(None, None)) == sorted(self.open)
        assert list(rows.open_entries(3, 9)) == [e for e in sorted(self.open) if 3 <= e.close < 9]
        assert rows.setup() == self.setup
        width = self.setup.width if self.setup else 1
        every = sorted(
            ((side, element[0] // width, key, *element), key, self._seen(side, element))
            for (side, key), own in self.rows.items()
            for element in own
        )
        pairs = [(key, record) for _, key, record in every]
        assert list(live.fetch_all()) == pairs
        assert list(live.fetch_all(reverse=True)) == pairs[::-1]
        assert list(live.fetch_all(2, 5)) == [p for p in pairs if 2 <= p[1].timestamp <= 5]
        for key in KEYS:
            own = [pair for pair in pairs if pair[0] == key]
            assert list(live.fetch(key)) == own
            assert list(live.fetch(key, side="right", reverse=True)) == [
                pair for pair in own[::-1] if pair[1].side == "right"
            ]

    def _seen(self, side: int, element: Element) -> RememberedRecord[int, str]:
        assert self.setup is not None
        time, _, fate, value = element
        left, right = (None, value) if side else (value, None)
        waits = fate == WAITING and time >= self.clocks[3 + side]
        bucket = time // self.setup.width * self.setup.width
        return RememberedRecord(
            "right" if side else "left", left, right, time, is_waiting=waits, bucket_ms=bucket
        )


class Queues:
    spec = queue_store("queue", key=TEXT, value=INT64)

    def __init__(self) -> None:
        self.rows: list[tuple[Queued, Record[str, int]]] = []
        self.progress = NO_PROGRESS

    def step(self, live: Any, action: int, key: str, a: int, b: int, times: Times) -> None:
        rows: QueueRows[str, int] = QueueRows.of(live)
        newest, number, released = self.progress
        match action % 5:
            case 0 | 1:
                record = Record(key, a, b, (("h", None),) if a % 2 else ())
                assert rows.put(record) == Queued(b, number, key)
                self.rows.append((Queued(b, number, key), record))
                self.progress = Progress(max(newest, b), number + 1, released)
            case 2:
                assert list(rows.entries(0, b)) == [e for e, _ in self._sorted() if e.time < b]
                for entry, record in self.rows:
                    assert rows.get(entry) == record
            case 3:
                rows.drop_before(b)
                self.rows = [row for row in self.rows if row[0].time >= b]
            case _:
                rows.release(b)
                self.progress = self.progress._replace(released=max(released, b))

    def check(self, live: Any, times: Times) -> None:
        rows: QueueRows[str, int] = QueueRows.of(live)
        assert rows.progress() == self.progress
        waiting = [record for _, record in self._sorted()]
        pairs = [(r.key, r) for r in waiting if r.timestamp > self.progress.released]
        assert list(live.fetch_all()) == pairs
        assert list(live.fetch_all(reverse=True)) == pairs[::-1]
        assert list(live.fetch_all(3, 7)) == [p for p in pairs if 3 <= p[1].timestamp <= 7]
        for key in KEYS:
            assert list(live.fetch(key)) == [pair for pair in pairs if pair[0] == key]
        assert rows.last_time() == (pairs[-1][1].timestamp if pairs else None)

    def _sorted(self) -> list[tuple[Queued, Record[str, int]]]:
        return sorted(self.rows, key=lambda row: row[0][:2])
