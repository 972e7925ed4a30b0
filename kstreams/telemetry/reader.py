"""Reads what apps tell of themselves: for pages, metrics and the command line; without Spark."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from kstreams.batch.report import BatchReport
from kstreams.checkpoint.home import CheckpointHome
from kstreams.errors import StateCorruptError
from kstreams.state.log.fields import Fields
from kstreams.telemetry.counters import Counters
from kstreams.telemetry.failures import MOST_FAILURES, Failure
from kstreams.telemetry.formats import (
    COUNTERS,
    FAILURES,
    LIVE,
    MINUTES,
    TOPOLOGY,
    damaged,
    fields_of,
)
from kstreams.telemetry.live import Live
from kstreams.telemetry.minutes import Minute
from kstreams.telemetry.outline import Outline
from kstreams.telemetry.report_lines import from_line, reports_name

__all__ = ("TelemetryReader",)

T = TypeVar("T")
"""What is read."""

_MINUTES_A_DAY = 1_440


@dataclass(frozen=True)
class TelemetryReader:
    """What an app tells of itself, read anew at each call; from any process, and of a dead app too.

    An app that was not started since it was told to, or runs an earlier version of the library,
    has no such files: then there is nothing, which is no error. Each method reads one file; in
    an object storage that is a LIST, and a GET or some, so do not ask ten times a second there.

    All methods raise:
        CheckpointMismatchError: A later version of the library has written the file.
        StateCorruptError: It is damaged; a damaged line is passed over.
        OSError, StoreError: It cannot be read.

    Args:
        home: The app's checkpoint.
    """

    home: CheckpointHome

    def live(self) -> Live | None:
        """Return what the app is doing, or did last; None: not recorded."""
        return self._document(LIVE, Live.from_json)

    def counters(self) -> Counters | None:
        """Return what has added up since the app was started; None: not recorded."""
        return self._document(COUNTERS, Counters.from_json)

    def topology(self) -> Outline | None:
        """Return the nodes of the app as it was started last; None: not recorded."""
        return self._document(TOPOLOGY, Outline.from_json)

    def reports(self, query: str, most: int = 100) -> list[BatchReport]:
        """Return the last batches of a query, oldest first; without `totals`.

        Args:
            query: Its name.
            most: How many at most.
        """
        return self._lines(reports_name(query), most, lambda fields: from_line(query, fields))

    def minutes(self, most: int = 3 * _MINUTES_A_DAY) -> list[Minute]:
        """Return what queries have done by the minute, oldest first.

        Args:
            most: How many lines at most: one a minute and query.
        """
        found: dict[tuple[str, int], Minute] = {}
        for minute in self._lines(MINUTES, most, Minute.from_json):
            place = minute.query, minute.start_ms
            found[place] = found[place] + minute if place in found else minute
        return list(found.values())

    def failures(self) -> list[Failure]:
        """Return what the app has failed by, oldest first; the last 20."""
        return self._lines(FAILURES, MOST_FAILURES, Failure.from_json)

    def _document(self, name: str, read: Callable[[Fields], T]) -> T | None:
        data = self.home.telemetry().read(name)
        return None if data is None else _read(name, data, read)

    def _lines(self, name: str, most: int, read: Callable[[Fields], T]) -> list[T]:
        found: list[T] = []
        for line in self.home.telemetry().lines(name, most):
            with suppress(StateCorruptError):  # cut by a kill
                found.append(_read(name, line, read))
        return found


def _read(name: str, data: bytes, read: Callable[[Fields], T]) -> T:
    fields = fields_of(name, data)
    try:
        return read(fields)
    except (ValueError, TypeError) as exc:
        raise damaged(name, exc) from exc
