"""Read the uncommitted offsets of an app in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from contextlib import ExitStack, closing
from typing import NamedTuple

from kstreams.batch.io.logs.positions import LogPositions
from kstreams.batch.io.open_feed import feed_of
from kstreams.batch.io.source_positions import SourcePositions
from kstreams.clock import Clock
from kstreams.connection import TopicReader
from kstreams.ids import TopicPartition
from kstreams.log import RetainedSize
from kstreams.telemetry.unread import Unread, unread
from kstreams.telemetry.watching import OpenApp, OpenQuery

__all__ = ("NO_LOOK", "Look", "UnreadWatch")

_LOG = logging.getLogger(__name__)
_EVERY_S = 5.0


class Look(NamedTuple):
    """The result of one poll for a query's source records that it has not committed yet.

    Attributes:
        partitions: Number and age of the uncommitted records, by source partition.
        ms: Time of the poll, ms since the epoch; None before the first poll.
        kept: The data that external systems retain for the query until it commits, by log name.
    """

    partitions: Mapping[TopicPartition, Unread]
    ms: int | None
    kept: Mapping[str, RetainedSize]


NO_LOOK = Look({}, None, {})
"""The value before the first poll."""


class UnreadWatch:
    """Reads an app's uncommitted offsets every 5 seconds, with its own thread and clients.

    Args:
        app: The app.
        clock: The clock for the time at which offsets were read.

    Attributes:
        known: The last successfully read offsets, by query name.
    """

    def __init__(self, app: OpenApp, clock: Clock) -> None:
        self._app = app
        self._clock = clock
        self._stop = threading.Event()
        self.known: Mapping[str, Look] = {}
        self._thread = threading.Thread(target=self._run, name="kstreams-ends", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread; does not wait for a running request, because topics may not answer."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._look_on()
            except Exception as exc:  # noqa: BLE001  # a broker: the next look may go well
                _LOG.warning("the lag of the app is unknown: %s", exc)
                self._stop.wait(_EVERY_S)

    def _look_on(self) -> None:
        sources = [node for query in self._app.queries.values() for node in query.sources]
        with ExitStack() as opened:
            feed = opened.enter_context(closing(feed_of(self._app.connection, sources)))
            reader = opened.enter_context(closing(self._app.connection.reader()))
            while not self._stop.is_set():
                now = self._clock.now_ms()
                self.known = {
                    name: _look(query, feed.admin, reader, now)
                    for name, query in self._app.queries.items()
                }
                self._stop.wait(_EVERY_S)


def _look(query: OpenQuery, admin: SourcePositions, reader: TopicReader, now: int) -> Look:
    found = unread(admin, reader, query.positions())
    kept = admin.retained() if isinstance(admin, LogPositions) else {}
    names = {node.topic.name for node in query.sources}
    return Look(found, now, {name: each for name, each in kept.items() if name in names})
