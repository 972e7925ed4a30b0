"""The telemetry of apps, read once for all visitors."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from kstreams.batch.report import BatchReport
from kstreams.errors import KStreamsError
from kstreams.telemetry.live import Live
from kstreams.telemetry.minutes import Minute
from kstreams.telemetry.outline import Outline
from kstreams_admin.telemetry_reader import TelemetryReader
from kstreams_serve.served_app import ServedApp

__all__ = ("Recording", "Recordings")

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_DIRECTORY_SECONDS = 0.5
_OBJECT_SECONDS = 10.0
"""The interval of reads from object storage, where each request has a price."""
_MINUTES_SECONDS = 20.0
"""The interval of reads of the telemetry by the minute, which has many lines."""
_REPORTS = 120

T = TypeVar("T")
"""The result type of a read."""


@dataclass(frozen=True)
class Recording:
    """The telemetry of an app; empty if the app has none.

    Attributes:
        live: The current activity of the app, or the last before it stopped; None if not recorded.
        outline: The topology at the last start of the app; None if not recorded.
        reports: The last batches by query, oldest first.
    """

    live: Live | None = None
    outline: Outline | None = None
    reports: Mapping[str, Sequence[BatchReport]] = field(default_factory=dict)

    @property
    def batches(self) -> list[BatchReport]:
        """The last batches of all queries, in the order of their commits."""
        every = (report for reports in self.reports.values() for report in reports)
        return sorted(every, key=lambda report: report.committed_ms)

    @property
    def source_topics(self) -> list[str]:
        """The topics and logs that the app reads, sorted."""
        groups = () if self.outline is None else self.outline.groups
        nodes = (node for group in groups for node in group.nodes)
        return sorted({node.topic for node in nodes if node.kind == "source"})

    @property
    def dead_letter_nodes(self) -> dict[str, list[str]]:
        """The app's dead-letter topics, each with the nodes that write to it."""
        found: dict[str, list[str]] = {}
        for node, topic in () if self.outline is None else self.outline.dead_letters:
            found.setdefault(topic, []).append(node)
        return found


class Recordings:
    """Reads the telemetry of apps, with a cache; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: dict[str, tuple[float, Recording]] = {}
        self._minutes: dict[tuple[str, int], tuple[float, Sequence[Minute]]] = {}

    def of(self, app: ServedApp) -> Recording:
        """Return the telemetry of an app, without unreadable parts."""
        patience = _OBJECT_SECONDS if app.home.directory is None else _DIRECTORY_SECONDS
        with self._lock:
            since, found = self._read.get(app.name, (float("-inf"), Recording()))
            now = time.monotonic()
            if now - since >= patience:
                found = _recording(app)
                self._read[app.name] = now, found
            return found

    def minutes(self, app: ServedApp, hours: int) -> Sequence[Minute]:
        """Return the telemetry of an app's queries by the minute, oldest first.

        Args:
            app: The app.
            hours: The length of the period up to now. The cache has an entry for each app and
                length, so callers use few different lengths.
        """
        with self._lock:
            since, found = self._minutes.get((app.name, hours), (float("-inf"), ()))
            now = time.monotonic()
            if now - since >= _MINUTES_SECONDS:
                most = hours * 60 * max(1, len(app.checkpoint.queries))
                found = _or((), lambda: TelemetryReader(app.home).minutes(most))
                self._minutes[app.name, hours] = now, found
            return found


def _recording(app: ServedApp) -> Recording:
    reader = TelemetryReader(app.home)
    return Recording(
        _or(None, reader.live),
        _or(None, reader.topology),
        {
            query: _or([], lambda query=query: reader.reports(query, _REPORTS))  # type: ignore[misc]
            for query in sorted(app.checkpoint.queries)
        },
    )


def _or(absent: T, read: Callable[[], T]) -> T:
    """Return the result of a read; log the error and return `absent` if the read fails."""
    try:
        return read()
    except (KStreamsError, OSError) as exc:
        _LOG.warning("the telemetry of an app cannot be read: %s", exc)
        return absent
