"""Write the telemetry of an app into its checkpoint, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import Empty, Full, Queue
from typing import TypeVar

from kstreams.batch.report import AppState, BatchReport
from kstreams.checkpoint.pause import Pause
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.checkpoint.storage.telemetry_files import TelemetryFiles
from kstreams.clock import Clock
from kstreams.errors import KStreamsError
from kstreams.telemetry.counters import Counters
from kstreams.telemetry.failures import Failure
from kstreams.telemetry.formats import (
    COUNTERS,
    FAILURES,
    LIVE,
    MINUTES,
    TOPOLOGY,
    library_version,
    to_bytes,
)
from kstreams.telemetry.live import Live, LiveQuery
from kstreams.telemetry.minutes import MINUTE_MS, Minute
from kstreams.telemetry.report_lines import reports_name, to_line
from kstreams.telemetry.unread_watch import NO_LOOK, UnreadWatch
from kstreams.telemetry.watching import OpenApp

__all__ = ("Recorder",)

T = TypeVar("T")
"""The type of the items of a queue."""

_LOG = logging.getLogger(__name__)
_MOST_WAITING = 1_000
_PATIENCE_S = 5.0


class Recorder:
    """A `Watcher` that writes files; see `kstreams.telemetry`.

    Events wait in bounded queues. If the files cannot be written in time, reports are dropped and
    counted. A failed write is logged and does not fail the app.

    Args:
        home: The checkpoint of the app.
        app: The app id.
        run: Id of the driver.
        clock: The clock of the app.
        texts: Whether to write messages of failures that may quote a record.
        paused: Returns the pause of the app; None if it is not paused.
    """

    def __init__(
        self,
        home: CheckpointHome,
        *,
        app: str,
        run: str,
        clock: Clock,
        texts: bool = False,
        paused: Callable[[], Pause | None] = lambda: None,
    ) -> None:
        self._home = home
        self._name = app
        self._run_id = run
        self._clock = clock
        self._texts = texts
        self._paused = paused
        self._files: TelemetryFiles | None = None
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._reports: Queue[BatchReport] = Queue(_MOST_WAITING)
        self._failures: Queue[Failure] = Queue(_MOST_WAITING)
        self._lost = 0
        self._state = AppState.STARTING
        self._opened: OpenApp | None = None
        self._unread: UnreadWatch | None = None
        self._outlined = False
        self._counters = Counters(run, clock.now_ms())
        self._minutes: dict[str, Minute] = {}
        self._fails = False

    # ------------------------------------------------------------ events of the app

    def begin(self) -> None:
        """Start the thread that writes the files."""
        self._thread = threading.Thread(target=self._run, name="kstreams-telemetry", daemon=True)
        self._thread.start()

    def opened(self, app: OpenApp) -> None:
        """Queue the topology for the next write, and report the lag of the app from now on."""
        self._opened = app
        self._unread = UnreadWatch(app, self._clock)
        self._unread.start()
        self._wake.set()

    def entered(self, state: AppState) -> None:
        """Write `live.json` with the new state of the app."""
        self._state = state
        self._wake.set()

    def began(self, query: str, batch: int, planned_s: float) -> None:
        """Do nothing: each write gets the current activity from the queries."""

    def committed(self, report: BatchReport) -> None:
        """Queue the report for the next write."""
        try:
            self._reports.put_nowait(report)
        except Full:
            self._lost += 1

    def failed(self, error: KStreamsError) -> None:
        """Queue the failure for the next write."""
        now = self._clock.now_ms()
        failure = Failure.of(error, ms=now, run=self._run_id, texts=self._texts)
        try:
            self._failures.put_nowait(failure)
        except Full:
            self._lost += 1

    def close(self) -> None:
        """Write the remaining events, and wait for at most five seconds."""
        self._ended.set()
        self._wake.set()
        if self._unread is not None:
            self._unread.close()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(_PATIENCE_S)

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        while True:
            ends = self._ended.is_set()
            try:
                self._write(self._files or self._open(), ends=ends)
                self._fails = False
            except Exception as exc:  # noqa: BLE001  # it must not end: the disk may get room
                if not self._fails:
                    _LOG.warning("the telemetry of app %s cannot be written: %s", self._name, exc)
                self._fails = True
            if ends:
                return
            self._wake.wait(1.0 if self._files is None else self._files.every_s)
            self._wake.clear()

    def _open(self) -> TelemetryFiles:
        self._files = self._home.telemetry()
        return self._files

    def _write(self, files: TelemetryFiles, *, ends: bool) -> None:
        """Write new events, `live.json` first.

        Args:
            files: The telemetry files of the checkpoint.
            ends: Whether this is the last write, which also writes incomplete minutes.
        """
        files.replace(LIVE, to_bytes(self._live(files).to_json()))
        if self._opened is not None and not self._outlined:
            files.replace(TOPOLOGY, to_bytes(self._opened.outline.to_json()))
            self._outlined = True
        if failures := _drained(self._failures):
            files.append(FAILURES, [to_bytes(failure.to_json()) for failure in failures])
        reports = _drained(self._reports)
        minutes = self._full_minutes(reports, ends=ends)
        lines: dict[str, list[bytes]] = {}
        for report in reports:
            self._counters.add(report)
            lines.setdefault(report.query, []).append(to_bytes(to_line(report)))
        for query, own in lines.items():
            try:
                files.append(reports_name(query), own)
            except Exception:
                self._lost += len(own)
                raise
        if minutes:
            files.append(MINUTES, [to_bytes(minute.to_json()) for minute in minutes])
        if reports:
            files.replace(COUNTERS, to_bytes(self._counters.to_json()))

    def _full_minutes(self, reports: list[BatchReport], *, ends: bool) -> list[Minute]:
        """Add reports to their minutes; return the complete minutes, and keep the others.

        If the recorder `ends`, all minutes are returned.
        """
        full: list[Minute] = []
        for report in reports:
            more = Minute.of(report)
            known = self._minutes.get(report.query)
            if known is not None and known.start_ms != more.start_ms:
                full.append(known)
                known = None
            self._minutes[report.query] = more if known is None else known + more
        now = self._clock.now_ms()
        for query, known in list(self._minutes.items()):
            if ends or now >= known.start_ms + MINUTE_MS:
                full.append(self._minutes.pop(query))
        return full

    def _live(self, files: TelemetryFiles) -> Live:
        opened = self._opened
        return Live(
            self._name,
            self._run_id,
            self._state.value,
            started_ms=self._counters.since_ms,
            written_ms=self._clock.now_ms(),
            every_ms=int(files.every_s * 1000),
            paused=self._paused(),
            spark_ui=None if opened is None else opened.spark_ui,
            version=library_version(),
            lost=self._lost,
            queries={} if opened is None else self._live_queries(opened),
        )

    def _live_queries(self, opened: OpenApp) -> dict[str, LiveQuery]:
        known = {} if self._unread is None else self._unread.known
        found = {}
        for name, query in opened.queries.items():
            look = known.get(name, NO_LOOK)
            found[name] = LiveQuery(
                *query.doing(), query.committed(), look.partitions, look.ms, look.kept
            )
        return found


def _drained(queue: Queue[T]) -> list[T]:
    """Return the items of a queue, at most as many as it can hold."""
    found: list[T] = []
    try:
        while len(found) < _MOST_WAITING:
            found.append(queue.get_nowait())
    except Empty:
        pass
    return found
