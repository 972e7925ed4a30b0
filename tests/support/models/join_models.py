"""Models of joins: one record at a time, rows in plain dictionaries.

They are independent of the library: no batches, no stores, no clocks, only numbers. They agree with
every case file. A case at any cut is compared with its model, which gets the records in the order
in which a task merges them; see `expected_of`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from tests.support.conformance.case import Case, How, Input, Output

__all__ = (
    "ForeignKeyModel",
    "JoinModel",
    "StreamStreamModel",
    "StreamTableModel",
    "TableTableModel",
    "expected_of",
    "foreign_key",
    "joined",
    "merged",
    "model_of",
)

_Row = tuple[str, int]
"""Value and timestamp."""


def joined(left: str | None, right: str | None) -> str:
    """Return the joined value of two values, with nulls as Java shows them."""
    return f"{'null' if left is None else left}+{'null' if right is None else right}"


def foreign_key(value: str | None) -> str | None:
    """Return the foreign key in a left value: the part before the bar."""
    return value.split("|", 1)[0] if value is not None and "|" in value else None


class JoinModel(ABC):
    """A join that processes one record at a time."""

    first: tuple[str, ...] = ("left", "right")
    """The topics in the order in which records of the same time are processed."""

    @abstractmethod
    def take(self, row: Input) -> list[Output]:
        """Return the results of a record."""


# --------------------------------------------------------------------- two streams


@dataclass
class _Kept:
    key: str
    value: str
    time: int
    fate: Literal["open", "joined", "final"] = "open"


@dataclass
class StreamStreamModel(JoinModel):
    """A join of two streams: an unmatched result waits for the grace period, and is final.

    A side forgets its records by its own newest record. Windows close by the newest record of both.

    Attributes:
        early: Number of ms by which a side forgets a record too early: 1 in Kafka Streams.
    """

    how: How
    before: int
    after: int
    grace: int
    early: int = 0
    time: int = -1
    newest: list[int] = field(default_factory=lambda: [-1, -1])
    rows: tuple[list[_Kept], list[_Kept]] = field(default_factory=lambda: ([], []))

    def take(self, row: Input) -> list[Output]:
        """Return pairs, and records that are finally unmatched."""
        side = int(row.topic == "right")
        self.time = max(self.time, row.timestamp)
        step = self._closed()
        if row.value is None:
            return step
        if row.key is None:
            if self._speaks_alone(side):
                step.append((None, _alone(side, row.value), row.timestamp))
            return step
        own = _Kept(row.key, row.value, row.timestamp)
        for other in self._matches(side, own):
            other.fate = own.fate = "joined"
            pair = (own.value, other.value) if side == 0 else (other.value, own.value)
            step.append((own.key, joined(*pair), max(own.time, other.time)))
        if own.fate == "open" and self._is_due(side, own):
            own.fate = "final"
            step.append((own.key, _alone(side, own.value), own.time))
        self.rows[side].append(own)
        self.newest[side] = max(self.newest[side], own.time)
        return step

    def _matches(self, side: int, own: _Kept) -> Iterator[_Kept]:
        early, late = (self.before, self.after) if side == 0 else (self.after, self.before)
        memory = self.before + self.after + self.grace - self.early
        remembered = self.newest[1 - side] - memory
        for row in self.rows[1 - side]:
            near = own.time - early <= row.time <= own.time + late
            if row.key == own.key and near and row.time >= remembered and row.fate != "final":
                yield row

    def _closed(self) -> list[Output]:
        """Return the unmatched results of rows that can have no later partner."""
        step: list[Output] = []
        for side in (0, 1):
            for row in self.rows[side]:
                if row.fate == "open" and self._is_due(side, row):
                    row.fate = "final"
                    step.append((row.key, _alone(side, row.value), row.time))
        return step

    def _is_due(self, side: int, row: _Kept) -> bool:
        ahead = self.after if side == 0 else self.before
        return self._speaks_alone(side) and row.time + ahead + self.grace < self.time

    def _speaks_alone(self, side: int) -> bool:
        return self.how == "outer" or (self.how == "left" and side == 0)


def _alone(side: int, value: str) -> str:
    return joined(value, None) if side == 0 else joined(None, value)


# --------------------------------------------------------------------- two tables


@dataclass
class TableTableModel(JoinModel):
    """A join of two tables:

    the last write by arrival counts; a result has the later time of both rows.
    """

    how: How
    tables: tuple[dict[str, _Row], dict[str, _Row]] = field(default_factory=lambda: ({}, {}))

    def take(self, row: Input) -> list[Output]:
        """Return the change of the joined table."""
        if row.key is None:
            return []
        side = int(row.topic == "right")
        old, other = self.tables[side].get(row.key), self.tables[1 - side].get(row.key)
        _set(self.tables[side], row)
        there = None if other is None else other[0]
        left, right = (row.value, there) if side == 0 else (there, row.value)
        alone = self.how == "outer" or (self.how == "left" and side == 0)
        if other is None and not (alone and (row.value is not None or old is not None)):
            return []
        value = joined(left, right) if self._has_row(left, right) else None
        return [(row.key, value, row.timestamp if other is None else max(row.timestamp, other[1]))]

    def _has_row(self, left: str | None, right: str | None) -> bool:
        if self.how == "outer":
            return left is not None or right is not None
        return left is not None and (self.how == "left" or right is not None)


def _set(table: dict[str, _Row], row: Input) -> None:
    if row.key is None:
        return
    if row.value is None:
        table.pop(row.key, None)
    else:
        table[row.key] = (row.value, row.timestamp)


# --------------------------------------------------------------------- a stream and a table


class _Versions:
    """A table that knows its earlier rows within a retention."""

    def __init__(self, retention: int) -> None:
        self._retention = retention
        self._observed = -1
        self._rows: dict[str, dict[int, str | None]] = {}

    def put(self, key: str, value: str | None, time: int) -> None:
        if time >= self._observed - self._retention:
            self._observed = max(self._observed, time)
            self._rows.setdefault(key, {})[time] = value

    def get(self, key: str, time: int) -> str | None:
        rows = self._rows.get(key, {})
        if rows and max(rows) > time and time < self._observed - self._retention:
            return None
        times = [start for start in rows if start <= time]
        return rows[max(times)] if times else None


@dataclass(order=True)
class _Waiting:
    time: int
    number: int
    key: str = field(compare=False)
    value: str = field(compare=False)


class StreamTableModel(JoinModel):
    """A join of a stream and a table, which is read first at equal times.

    Args:
        how: Inner or left.
        retention: Age of the oldest readable row of a versioned table; None for a plain table.
        grace: Waiting time of records, by the newest record that waits or has waited. None if
            records do not wait.
    """

    first = ("right", "left")

    def __init__(self, how: How, *, retention: int | None, grace: int | None) -> None:
        self._how = how
        self._grace = grace
        self._versions = None if retention is None else _Versions(retention)
        self._plain: dict[str, _Row] = {}
        self._waiting: list[_Waiting] = []
        self._newest = -1
        self._taken = 0

    def take(self, row: Input) -> list[Output]:
        """Return the results of a stream record and of the waiting records that it releases."""
        if row.topic == "right":
            self._put(row)
            return []
        if row.value is None:  # changes nothing, not even stream time
            return []
        if row.key is None:
            alone = self._how == "left"
            return [(None, joined(row.value, None), row.timestamp)] if alone else []
        if self._grace is None or row.timestamp < self._newest - self._grace:
            return self._found(row.key, row.value, row.timestamp)
        return self._waited(row.key, row.value, row.timestamp, self._grace)

    def _waited(self, key: str, value: str, time: int, grace: int) -> list[Output]:
        self._newest = max(self._newest, time)
        self._taken += 1
        self._waiting.append(_Waiting(time, self._taken, key, value))
        until = self._newest - grace
        due = sorted(each for each in self._waiting if each.time <= until)
        self._waiting = [each for each in self._waiting if each.time > until]
        return [out for each in due for out in self._found(each.key, each.value, each.time)]

    def _put(self, row: Input) -> None:
        if self._versions is None:
            _set(self._plain, row)
        elif row.key is not None:
            self._versions.put(row.key, row.value, row.timestamp)

    def _found(self, key: str, value: str, time: int) -> list[Output]:
        if self._versions is not None:
            found = self._versions.get(key, time)
        else:
            found = self._plain[key][0] if key in self._plain else None
        if found is None and self._how != "left":
            return []
        return [(key, joined(value, found), time)]


# --------------------------------------------------------------------- foreign keys


class ForeignKeyModel(JoinModel):
    """A foreign-key join:

    a change of a right row changes the results of all left rows that name it.

    Args:
        how: Inner or left.
    """

    def __init__(self, how: How) -> None:
        self._how = how
        self._left: dict[str, str] = {}
        self._right: dict[str, _Row] = {}

    def take(self, row: Input) -> list[Output]:
        """Return the changes of the joined table."""
        if row.key is None:
            return []
        return self._take_right(row) if row.topic == "right" else self._take_left(row.key, row)

    def table(self) -> dict[str, str]:
        """Return the join of the current tables."""
        found = {}
        for key, value in self._left.items():
            match = self._match(foreign_key(value))
            if match is not None or self._how == "left":
                found[key] = joined(value, None if match is None else match[0])
        return found

    def _take_right(self, row: Input) -> list[Output]:
        _set(self._right, row)
        gone = row.value is None and self._how == "inner"
        return [
            (key, None if gone else joined(value, row.value), row.timestamp)
            for key, value in self._left.items()
            if foreign_key(value) == row.key
        ]

    def _take_left(self, key: str, row: Input) -> list[Output]:
        value, time = row.value, row.timestamp
        old = self._left.pop(key, None)
        was, now = foreign_key(old), foreign_key(value)
        if value is not None:
            self._left[key] = value
        match, before = self._match(now), self._match(was)
        if self._how == "left" and value is not None:
            found = None if match is None else match[0]
            return [(key, joined(value, found), time if match is None else max(time, match[1]))]
        if self._how == "left":
            return [] if old is None else [(key, None, time)]
        if match is not None:
            return [(key, joined(value, match[0]), max(time, match[1]))]
        if was is None or was == now:  # an unchanged key without a match has no result
            return []
        return [(key, None, max(time, before[1]) if before and now is None else time)]

    def _match(self, key: str | None) -> _Row | None:
        return None if key is None else self._right.get(key)


# --------------------------------------------------------------------- cases


def model_of(case: Case) -> JoinModel:
    """Return the model of a case's join, before its first record.

    Raises:
        ValueError: The case is no join, or a join of an unknown kind.
    """
    how, options = case.how, case.options
    match case.op:
        case "ss_join":
            before = options.get("before", 0)
            spans = before, options.get("after", before), options.get("grace", 0)
            return StreamStreamModel(how, *spans)
        case "tt_join":
            return TableTableModel(how)
        case "st_join":
            retention, grace = options.get("versioned"), options.get("grace")
            return StreamTableModel(how, retention=retention, grace=grace)
        case "fk_join":
            return ForeignKeyModel(how)
        case _:
            raise ValueError(f"case {case.name}: {case.op!r} is no join")


def merged(rows: list[Input], first: tuple[str, ...]) -> list[Input]:
    """Return a batch's records in the order in which a task processes them.

    This order is by the highest timestamp so far of their topic in the batch; at equal timestamps,
    by the order of the topics.
    """
    highest: dict[str, int] = {}
    places = []
    for row in rows:
        highest[row.topic] = max(row.timestamp, highest.get(row.topic, row.timestamp))
        places.append((highest[row.topic], first.index(row.topic)))
    order = sorted(range(len(rows)), key=places.__getitem__)
    return [rows[number] for number in order]


def expected_of(case: Case, cut: str) -> list[list[Output]]:
    """Return the results of a join's model for each batch."""
    model = model_of(case)
    batches = [[case.inputs[at] for at in batch] for batch in case.batches(cut)]
    return [
        [out for row in merged(rows, model.first) for out in model.take(row)] for rows in batches
    ]
