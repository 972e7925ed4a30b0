"""Models of stream joins: the results of each record, in order."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ("InputRecord", "Out", "Spans", "bag", "merged", "model_join", "model_self_join", "pair")

Out = tuple[str | None, str, int]
"""Key, value and timestamp of a result."""


class InputRecord(NamedTuple):
    """An input record of side 0 (left) or 1 (right)."""

    side: int
    key: str | None
    value: str | None
    time: int


@dataclass(frozen=True)
class Spans:
    """The settings of a join, in ms."""

    how: str
    before: int
    after: int
    grace: int

    @property
    def memory(self) -> int:
        return self.before + self.after + self.grace

    def keeps(self, side: int) -> bool:
        return self.how == "outer" or (self.how == "left" and side == 0)


@dataclass
class _Row:
    key: str
    value: str
    time: int
    state: str = "open"
    number: int = 0


def pair(one: str | None, other: str | None) -> str:
    return f"{one}+{other}"


def bag(step: Iterable[Out]) -> Counter[Out]:
    return Counter(step)


def merged(records: Sequence[InputRecord]) -> list[InputRecord]:
    """Return the records of a batch in processing order.

    The order is by running maximum of time, then by side.
    """
    queues: list[list[tuple[int, int, int, InputRecord]]] = [[], []]
    highest = [-1, -1]
    for place, record in enumerate(records):
        highest[record.side] = max(highest[record.side], record.time)
        queues[record.side].append((highest[record.side], record.side, place, record))
    return [record for *_, record in heapq.merge(*queues)]


class _Model:
    def __init__(self, spans: Spans) -> None:
        self.spans = spans
        self.look = (spans.after, spans.before)
        self.time = -1
        self.newest = [-(10**9), -(10**9)]
        self.rows: tuple[list[_Row], list[_Row]] = ([], [])
        self.dropped: Counter[str] = Counter()
        self.count = 0

    def step(self, record: InputRecord) -> Iterator[Out]:
        side, key, value, now = record
        self.time = max(self.time, now)
        yield from self._closed()
        if key is None or value is None:
            if value is not None and self.spans.keeps(side):
                yield key, alone(side, value), now
            else:
                self.dropped["null-value" if value is None else "null-key"] += 1
            return
        own = _Row(key, value, now, number=self.count)
        self.count += 1
        for row in sorted(self._near(side, key, now), key=lambda row: (row.time, row.number)):
            row.state = own.state = "joined"
            both = pair(row.value, value) if side else pair(value, row.value)
            yield key, both, max(now, row.time)
        if own.state == "open":
            if not self.spans.keeps(side):
                self.dropped["late"] += self._is_closed(side, now)
            elif self._is_closed(side, now):
                own.state = "final"
                yield key, alone(side, value), now
        self.rows[side].append(own)
        self.newest[side] = max(self.newest[side], now)

    def _closed(self) -> list[Out]:
        """Return unmatched results ordered by closing time, then by side, time and arrival."""
        due = []
        for side in (0, 1):
            for row in self.rows[side]:
                closed = self.spans.keeps(side) and self._is_closed(side, row.time)
                if closed and row.state == "open":
                    row.state = "final"
                    place = row.time + self.look[side], side, row.time, row.number
                    due.append((place, (row.key, alone(side, row.value), row.time)))
        return [out for _, out in sorted(due)]

    def _near(self, side: int, key: str, now: int) -> Iterator[_Row]:
        other = 1 - side
        for row in self.rows[other]:
            near = now - self.look[other] <= row.time <= now + self.look[side]
            seen = row.time >= self.newest[other] - self.spans.memory
            if row.key == key and near and seen and row.state != "final":
                yield row

    def _is_closed(self, side: int, time: int) -> bool:
        return time + self.look[side] + self.spans.grace < self.time


def alone(side: int, value: str) -> str:
    return pair(None, value) if side else pair(value, None)


def model_join(
    spans: Spans, records: Iterable[InputRecord]
) -> tuple[list[list[Out]], Counter[str]]:
    """Return the results of each record, and the number of dropped records by reason."""
    model = _Model(spans)
    steps = [list(model.step(record)) for record in records]
    return steps, +model.dropped


def model_self_join(spans: Spans, records: Iterable[InputRecord]) -> list[list[Out]]:
    """Return the results of each record of a stream that is joined with itself.

    The left side receives each record first, then the right side.
    """
    model = _Model(spans)
    return [
        [out for side in (0, 1) for out in model.step(record._replace(side=side))]
        for record in records
    ]
