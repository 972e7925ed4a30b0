"""A log whose runs only read the records that exist when they start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from typing_extensions import override

from kstreams.log import DeletesCommitted, Log, LogContents, LogReader
from kstreams.serde.base import Serde

__all__ = ("BoundedLog", "bounded")

K = TypeVar("K")
"""Type of the keys."""
V = TypeVar("V")
"""Type of the values."""


@dataclass(frozen=True)
class BoundedLog(Log[K, V]):
    """The `Log` that `bounded` returns: a run reads only the records that exist when it starts.

    Attributes:
        log: The log that is read.
    """

    log: Log[K, V]

    @property
    def bounded(self) -> bool:
        """Always True."""
        return True

    @property
    @override
    def name(self) -> str:
        return self.log.name

    @property
    @override
    def key(self) -> Serde[K]:
        return self.log.key

    @property
    @override
    def value(self) -> Serde[V]:
        return self.log.value

    @property
    @override
    def label(self) -> str:
        return self.log.label

    @property
    def commit_effect(self) -> str:
        """The effect of a commit on records of the inner log; empty if all records stay."""
        log: object = self.log
        return log.commit_effect if isinstance(log, DeletesCommitted) else ""

    @override
    def contents(self) -> LogContents:
        return self.log.contents()

    @override
    def reader(self) -> LogReader:
        return self.log.reader()


def bounded(log: Log[K, V]) -> BoundedLog[K, V]:
    """Return a log from which each run reads only the records that exist when the run starts.

    An app with only bounded sources ends when it has read them; see `App.run`. The next run
    continues after the last record, and reads the records that were added.

    Args:
        log: A log, such as a `folder` of files or the rows of a database table.

    Example:
        >>> from datetime import datetime, timezone
        >>> from kstreams.sources import bounded, rate
        >>> log = bounded(rate("numbers", 10, start=datetime(2026, 1, 1, tzinfo=timezone.utc)))
        >>> log.bounded
        True
    """
    return BoundedLog(log)
