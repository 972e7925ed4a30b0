"""The data of an app for the page frame and for the list of apps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from kstreams.batch.report import AppState
from kstreams.checkpoint.pause import Pause, present_pause
from kstreams.errors import KStreamsError
from kstreams.ids import TopicPartition
from kstreams.telemetry.live import Live
from kstreams.telemetry.unread import Unread
from kstreams_admin.status import QueryStatus
from kstreams_serve.metrics import LagWatch
from kstreams_serve.pages.recordings import Recording, Recordings
from kstreams_serve.served_app import ServedApp

__all__ = ("AppFacts", "AppStatus", "Tone", "facts_of")

Tone = Literal["good", "warn", "bad", "quiet"]
"""The severity of a text, shown by an icon and a color."""


@dataclass(frozen=True)
class AppStatus:
    """The status of an app in a few words.

    Attributes:
        word: The word, such as `running` or `paused`.
        tone: The severity.
    """

    word: str
    tone: Tone


@dataclass(frozen=True)
class AppFacts:
    """A snapshot of the known data of an app.

    Attributes:
        name: The app id.
        state: The status.
        statuses: The last commits of its queries.
        pause: The pause; None if the app is not paused.
        lag: The lag by partition; None if the topics are not read.
        recording: The telemetry.
        problem: The name of the error if the app cannot be read; otherwise empty.
    """

    name: str
    state: AppStatus
    statuses: Sequence[QueryStatus] = ()
    pause: Pause | None = None
    lag: Mapping[TopicPartition, Unread] | None = None
    recording: Recording = field(default_factory=Recording)
    problem: str = ""

    @property
    def is_single(self) -> bool:
        """Whether the app has exactly one query; only then `batch` identifies one batch."""
        return len(self.statuses) == 1

    @property
    def newest(self) -> QueryStatus | None:
        """The query that has committed last."""
        found = [each for each in self.statuses if each.batch is not None]
        return max(found, key=lambda each: each.wall_ms or 0, default=None)

    @property
    def batch(self) -> int | None:
        """The number of the batch that was committed last."""
        return None if self.newest is None else self.newest.batch

    @property
    def wall_ms(self) -> int | None:
        """The time of the last commit, ms since the epoch."""
        return None if self.newest is None else self.newest.wall_ms

    @property
    def behind(self) -> int | None:
        """The number of unread records; None if the topics are not read."""
        return None if self.lag is None else sum(each.records for each in self.lag.values())

    @property
    def dropped(self) -> int:
        """The number of records that the app's nodes have dropped."""
        return sum(counts.lost for each in self.statuses for counts in each.totals.nodes.values())

    @property
    def consumed(self) -> int:
        """The number of processed and dropped records of topics."""
        return sum(
            read.taken
            for each in self.statuses
            for places in each.totals.sources.values()
            for read in places.values()
        )

    @property
    def state_bytes(self) -> int:
        """The size of the app's state in the durable log, in compressed bytes."""
        return sum(size for each in self.statuses for size in each.state_bytes.values())


def facts_of(
    app: ServedApp, watch: LagWatch | None, recordings: Recordings, now_ms: int
) -> AppFacts:
    """Return the known data of an app, also of one that cannot be read.

    Args:
        app: The app.
        watch: Measures the lag, if the server reads the topics. Without it, and if the brokers do
            not respond, the lag in the app's telemetry is used.
        recordings: The telemetry of apps.
        now_ms: The current time, ms since the epoch.
    """
    try:
        statuses, pause = app.statuses(), present_pause(app.home)
        recording = recordings.of(app)
    except (KStreamsError, OSError) as exc:
        return AppFacts(app.name, AppStatus("unreadable", "bad"), problem=type(exc).__name__)
    return AppFacts(
        app.name,
        _status_of(statuses, pause, recording.live, now_ms),
        statuses,
        pause,
        _lag(watch, app.name, recording.live),
        recording,
    )


def _lag(
    watch: LagWatch | None, app: str, live: Live | None
) -> Mapping[TopicPartition, Unread] | None:
    """Return the measured lag, or the lag in the app's telemetry; None if neither is known."""
    asked = None if watch is None else watch.of(app)
    if live is None or all(query.ends_ms is None for query in live.queries.values()):
        return asked or None  # topics that are not there say nothing
    said = {
        place: unread
        for query in live.queries.values()
        for place, unread in query.partitions.items()
    }
    return {**said, **(asked or {})}


def _status_of(
    statuses: Sequence[QueryStatus], pause: Pause | None, live: Live | None, now_ms: int
) -> AppStatus:
    if live is not None and live.state in _ENDED:
        return _ENDED[live.state]
    if live is not None and not live.is_current(now_ms):
        return AppStatus("not responding", "bad")
    if pause is not None:
        return AppStatus("paused", "warn")
    if live is not None:
        return AppStatus(live.state, "good" if live.state == AppState.RUNNING.value else "quiet")
    latest = max((each.wall_ms or 0 for each in statuses), default=0)
    if now_ms - latest < _RECENT_MS:
        return AppStatus("committing", "good")
    return AppStatus("not recorded", "quiet")


_RECENT_MS = 10_000
_ENDED = {
    AppState.STOPPED.value: AppStatus("stopped", "quiet"),
    AppState.FAILED.value: AppStatus("failed", "bad"),
}
