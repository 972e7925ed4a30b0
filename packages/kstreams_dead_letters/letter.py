"""A dead letter: its failure headers, and the record to write back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kstreams.connection import RawRecord
from kstreams.record import Headers

__all__ = ("ATTEMPTS", "Letter")

ATTEMPTS = "kstreams-replay"
"""The header with the number of replays of a record."""

_PREFIX = "kstreams-error-"
_NUMBER = re.compile(rb"\d{1,18}")


@dataclass(frozen=True)
class Letter:
    """A record of a dead-letter topic.

    Attributes:
        row: The record in the dead-letter topic.
        failure: The failure headers, by their name without the prefix `kstreams-error-`.
        headers: The headers of the original record.
        attempts: Number of earlier replays of the record.
    """

    row: RawRecord
    failure: Mapping[str, str]
    headers: Headers
    attempts: int

    @classmethod
    def of(cls, row: RawRecord) -> Letter:
        """Parse a record of a dead-letter topic; if a header is repeated, its last value counts."""
        failure = {
            name.removeprefix(_PREFIX): (value or b"").decode("utf-8", "replace")
            for name, value in row.headers
            if name.startswith(_PREFIX)
        }
        headers = tuple(h for h in row.headers if not h[0].startswith(_PREFIX) and h[0] != ATTEMPTS)
        tried = [value or b"" for name, value in row.headers if name == ATTEMPTS]
        attempts = int(tried[-1]) if tried and _NUMBER.fullmatch(tried[-1]) else 0
        return cls(row, failure, headers, attempts)

    @property
    def topic(self) -> str:
        """The source topic, or the topic that rejected the record; empty without the header."""
        return self.failure.get("topic", "")

    @property
    def partition(self) -> int | None:
        """The partition of the record; None for a result that a topic has rejected."""
        return self._number("partition")

    @property
    def offset(self) -> int | None:
        """The offset of the record; None for a result that a topic has rejected."""
        return self._number("offset")

    @property
    def is_cut(self) -> bool:
        """Whether the record was truncated to fit the dead-letter topic."""
        return "left-out" in self.failure

    @property
    def timestamp(self) -> int:
        """The timestamp of the original record, ms since the epoch."""
        own = self._number("timestamp")
        return self.row.timestamp if own is None else own

    def _number(self, name: str) -> int | None:
        text = self.failure.get(name, "").encode()
        return int(text) if _NUMBER.fullmatch(text) else None

    def matches(self, wanted: Mapping[str, str]) -> bool:
        """Return whether the failure headers match the patterns, which are given by header name.

        `*` matches any text, and `?` one character.
        """
        return all(fnmatchcase(self.failure.get(name, ""), text) for name, text in wanted.items())

    def back(
        self, partition: int, key: bytes | None, value: bytes | None, headers: Headers
    ) -> RawRecord:
        """Return the record to write back, with the given headers and the number of replays.

        Args:
            partition: The partition to write to.
            key: The key.
            value: The value.
            headers: The headers of the original record.
        """
        count = str(self.attempts + 1).encode()
        return RawRecord(
            self.topic,
            partition,
            self.row.offset,
            self.timestamp,
            key,
            value,
            (*headers, (ATTEMPTS, count)),
        )
