"""Read the telemetry files of an app, for pages, metrics and the command line, without Spark."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from kstreams.batch.report import BatchReport
from kstreams.checkpoint.storage.home import CheckpointHome
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
"""The type of a parsed document or line."""

_MINUTES_A_DAY = 1_440


@dataclass(frozen=True)
class TelemetryReader:
    """Reads the telemetry of an app from any process, also after the app has stopped.

    An app that has no telemetry, or ran an earlier version of the library, has no files: methods
    then return None or nothing. Each method reads one file; in an object storage, a call costs a
    LIST and one or more GETs, so do not poll it many times a second.

    All methods raise:
        CheckpointMismatchError: A later version of the library has written the file.
        StateCorruptError: The file is damaged; damaged lines are skipped.
        OSError, StoreError: The file cannot be read.

    Args:
        home: The checkpoint of the app.
    """

    home: CheckpointHome

    def live(self) -> Live | None:
        """Return the current or last activity of the app; None if it is not recorded."""
        return self._document(LIVE, Live.from_json)

    def counters(self) -> Counters | None:
        """Return the counters, summed since the start of the app; None if they are not recorded."""
        return self._document(COUNTERS, Counters.from_json)

    def topology(self) -> Outline | None:
        """Return the topology at the last start of the app; None if it is not recorded."""
        return self._document(TOPOLOGY, Outline.from_json)

    def reports(self, query: str, most: int = 100) -> list[BatchReport]:
        """Return the last batches of a query, oldest first, without `totals`.

        Args:
            query: Name of the query.
            most: Maximum number of batches.
        """
        return self._lines(reports_name(query), most, lambda fields: from_line(query, fields))

    def minutes(self, most: int = 3 * _MINUTES_A_DAY) -> list[Minute]:
        """Return the telemetry of each minute and query, oldest first.

        Args:
            most: Maximum number of lines to read; a line is about one query in one minute.
        """
        found: dict[tuple[str, int], Minute] = {}
        for minute in self._lines(MINUTES, most, Minute.from_json):
            place = minute.query, minute.start_ms
            found[place] = found[place] + minute if place in found else minute
        return list(found.values())

    def failures(self) -> list[Failure]:
        """Return the last 20 failures of the app, oldest first."""
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
