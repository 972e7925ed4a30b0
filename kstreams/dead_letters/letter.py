"""What a dead letter says of its record, and the record that it brings back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kstreams.connection import RawRecord
from kstreams.record import Headers

__all__ = ("ATTEMPTS", "Letter")

ATTEMPTS = "kstreams-replay"
"""The header that says how often a record was brought back."""

_PREFIX = "kstreams-error-"
_NUMBER = re.compile(rb"\d{1,18}")


@dataclass(frozen=True)
class Letter:
    """A record of a dead-letter topic.

    Attributes:
        row: As it lies there.
        said: What its headers say of the failure, by what follows `kstreams-error-`.
        own: The headers of the record itself.
        attempts: How often the record was brought back before.
    """

    row: RawRecord
    said: Mapping[str, str]
    own: Headers
    attempts: int

    @classmethod
    def of(cls, row: RawRecord) -> Letter:
        """Read a record of a dead-letter topic; of a header that is there twice the last counts."""
        said = {
            name.removeprefix(_PREFIX): (value or b"").decode("utf-8", "replace")
            for name, value in row.headers
            if name.startswith(_PREFIX)
        }
        own = tuple(h for h in row.headers if not h[0].startswith(_PREFIX) and h[0] != ATTEMPTS)
        tried = [value or b"" for name, value in row.headers if name == ATTEMPTS]
        attempts = int(tried[-1]) if tried and _NUMBER.fullmatch(tried[-1]) else 0
        return cls(row, said, own, attempts)

    @property
    def topic(self) -> str:
        """The topic that its record came from, or did not get into; empty where it is not said."""
        return self.said.get("topic", "")

    @property
    def partition(self) -> int | None:
        """The partition of that; None for a result, which had none yet."""
        return self._number("partition")

    @property
    def offset(self) -> int | None:
        """The record's offset there; None for a result."""
        return self._number("offset")

    @property
    def is_cut(self) -> bool:
        """Whether the topic of dead letters did not take all of it."""
        return "left-out" in self.said

    @property
    def timestamp(self) -> int:
        """The record's own time, ms since the epoch."""
        own = self._number("timestamp")
        return self.row.timestamp if own is None else own

    def _number(self, name: str) -> int | None:
        text = self.said.get(name, "").encode()
        return int(text) if _NUMBER.fullmatch(text) else None

    def matches(self, wanted: Mapping[str, str]) -> bool:
        """Tell whether what it says is as wanted, by name; `*` and `?` stand for any text."""
        return all(fnmatchcase(self.said.get(name, ""), text) for name, text in wanted.items())

    def back(
        self, partition: int, key: bytes | None, value: bytes | None, headers: Headers
    ) -> RawRecord:
        """Return the record as it goes back: own headers, and how often that was done.

        Args:
            partition: Of its topic.
            key: Its key.
            value: Its value.
            headers: Its own.
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
