"""Accounting of hostile records: each is forwarded, dropped or dead-lettered, and none lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kstreams.record import Headers
from tests.support.hostile.records import Hostile
from tests.support.hostile.topologies import WINDOWS

__all__ = ("ID", "LETTERS", "Account", "Written", "check_windows", "identified")

ID = "id"
"""The header with the number of a record."""

LETTERS = "hostile-letters"

_OF_SOURCE = ("null-key", "null-value", "no-event-time", "too-far-ahead")
_OF_PROCESSORS = ("asked-for", "duplicate")


@dataclass(frozen=True)
class Written:
    """An encoded record as stored in a topic."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers


def identified(record: Hostile, number: int) -> Headers:
    """Return a record's headers with its number."""
    return (*record.headers, (ID, str(number).encode()))


@dataclass
class Account:
    """The accounting of a stream after a run.

    Args:
        given: Input records, by number.
        dropped: Counts of dropped records, by reason.
        out: Forwarded records.
        letters: Dead letters.
    """

    given: Sequence[Hostile]
    dropped: Mapping[str, int]
    out: Sequence[Written]
    letters: Sequence[Written] = field(default=())

    def check(self, *, policy: str) -> None:
        """Assert that in = out + dropped + dead-lettered, and that each record has its expected
        fate.
        """
        through, aside = _numbers(self.out), _numbers(self.letters)
        assert len(set(through)) == len(through)
        assert len(set(aside)) == len(aside)
        assert not set(through) & set(aside)
        failed = self._sum("skipped-"), self._sum("dead-letter-")
        dropped = sum(self.dropped.get(reason, 0) for reason in (*_OF_SOURCE, *_OF_PROCESSORS))
        assert failed[policy == "skip"] == 0
        assert failed[1] == len(aside)
        assert len(self.given) == len(through) + dropped + sum(failed)
        self._check_fates(set(through), set(aside))

    def seen_by_windows(self) -> list[int]:
        """Return the numbers of the records that changed state."""
        by_processor = [n for n, record in enumerate(self.given) if record.fate == "dropped"]
        return [*_numbers(self.out), *by_processor]

    def _check_fates(self, through: set[int], aside: set[int]) -> None:
        duplicates = bool(self.dropped.get("duplicate"))
        for number, record in enumerate(self.given):
            if record.fate != "good":
                assert number not in through, record
            elif not record.odd_time and not duplicates:
                assert number in through, record
            if record.fate in ("null", "dropped"):
                assert number not in aside or record.odd_time, record
        for letter in self.letters:
            own = self.given[_number(letter.headers)]
            assert (letter.key, letter.value) == (own.key, own.value)
            names = [name for name, _ in letter.headers]
            assert "kstreams-error-class" in names[names.index(ID) :]

    def _sum(self, prefix: str) -> int:
        return sum(n for reason, n in self.dropped.items() if reason.startswith(prefix))


def check_windows(kind: str, account: Account, results: Iterable[tuple[Any, int | None]]) -> None:
    """Assert that windows have counted each of their records once.

    Args:
        kind: One of `WINDOWS`; sliding windows overlap and are not checked.
        account: The accounting of the run.
        results: Windowed keys and counts in the order of arrival.
    """
    last: dict[Any, int] = {}
    for key, counted in results:
        if counted is None:
            last.pop(key, None)
        else:
            last[key] = counted
    refused = account.dropped.get("late", 0) + account.dropped.get("no-window", 0)
    counted = sum(last.values()) + refused
    if kind == "hopping":
        times = [account.given[n].timestamp for n in account.seen_by_windows()]
        assert counted == sum(max(1, len(WINDOWS[kind].starts(time))) for time in times)
    elif kind != "sliding":
        assert counted == len(account.seen_by_windows())


def _number(headers: Headers) -> int:
    return next(int(value or b"") for name, value in headers if name == ID)


def _numbers(rows: Iterable[Written]) -> list[int]:
    return [_number(row.headers) for row in rows]
