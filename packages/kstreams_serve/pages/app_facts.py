"""What a page's frame and the list of apps say of an app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from kstreams.batch.report import AppState
from kstreams.checkpoint.pause import Pause, present_pause
from kstreams.checkpoint.status import QueryStatus
from kstreams.errors import KStreamsError
from kstreams.ids import TopicPartition
from kstreams.telemetry.live import Live
from kstreams.telemetry.unread import Unread
from kstreams_serve.metrics import LagWatch
from kstreams_serve.pages.recordings import Recording, Recordings
from kstreams_serve.served_app import ServedApp

__all__ = ("AppFacts", "Standing", "Tone", "facts_of")

Tone = Literal["good", "warn", "bad", "quiet"]
"""How something is said: by a word, and by an icon and a colour that say the same."""


@dataclass(frozen=True)
class Standing:
    """How an app does, in a word.

    Attributes:
        word: The word.
        tone: How it is said.
    """

    word: str
    tone: Tone


@dataclass(frozen=True)
class AppFacts:
    """What is known of an app at a moment.

    Attributes:
        name: Its id.
        state: How it does.
        statuses: What the last commits of its queries say.
        pause: Why it plans nothing; None where it is not paused.
        lag: How far it is behind, by partition; None where the topics are not asked.
        recording: What it has written down of itself.
        problem: Why it cannot be read, the name of an error; empty where it can.
    """

    name: str
    state: Standing
    statuses: Sequence[QueryStatus] = ()
    pause: Pause | None = None
    lag: Mapping[TopicPartition, Unread] | None = None
    recording: Recording = field(default_factory=Recording)
    problem: str = ""

    @property
    def is_single(self) -> bool:
        """Whether it has one query, so that its batches have one number."""
        return len(self.statuses) == 1

    @property
    def newest(self) -> QueryStatus | None:
        """The query that has committed last."""
        found = [each for each in self.statuses if each.batch is not None]
        return max(found, key=lambda each: each.wall_ms or 0, default=None)

    @property
    def batch(self) -> int | None:
        """The batch that was committed last."""
        return None if self.newest is None else self.newest.batch

    @property
    def wall_ms(self) -> int | None:
        """When that was, ms since the epoch."""
        return None if self.newest is None else self.newest.wall_ms

    @property
    def behind(self) -> int | None:
        """How many records are not read yet; None where the topics are not asked."""
        return None if self.lag is None else sum(each.records for each in self.lag.values())

    @property
    def dropped(self) -> int:
        """How many records its nodes have dropped."""
        return sum(counts.lost for each in self.statuses for counts in each.totals.nodes.values())

    @property
    def consumed(self) -> int:
        """How many records of topics have been processed or dropped."""
        return sum(
            read.taken
            for each in self.statuses
            for places in each.totals.sources.values()
            for read in places.values()
        )

    @property
    def state_bytes(self) -> int:
        """The size of its state in the durable log, compressed."""
        return sum(size for each in self.statuses for size in each.state_bytes.values())


def facts_of(
    app: ServedApp, watch: LagWatch | None, recordings: Recordings, now_ms: int
) -> AppFacts:
    """Return what is known of an app; that it cannot be read is known, too.

    Args:
        app: The app.
        watch: Asks the topics, if somebody does; else, and where they do not answer, what the
            app has last heard of them counts.
        recordings: What apps have written down.
        now_ms: The present time, ms since the epoch.
    """
    try:
        statuses, pause = app.statuses(), present_pause(app.home)
        recording = recordings.of(app)
    except (KStreamsError, OSError) as exc:
        return AppFacts(app.name, Standing("not readable", "bad"), problem=type(exc).__name__)
    return AppFacts(
        app.name,
        _standing(statuses, pause, recording.live, now_ms),
        statuses,
        pause,
        _lag(watch, app.name, recording.live),
        recording,
    )


def _lag(
    watch: LagWatch | None, app: str, live: Live | None
) -> Mapping[TopicPartition, Unread] | None:
    """Return what was asked of the topics, else what the app knows of them; None: not recorded."""
    asked = None if watch is None else watch.of(app)
    if live is None or all(query.ends_ms is None for query in live.queries.values()):
        return asked or None  # topics that are not there say nothing
    said = {
        place: unread
        for query in live.queries.values()
        for place, unread in query.partitions.items()
    }
    return {**said, **(asked or {})}


def _standing(
    statuses: Sequence[QueryStatus], pause: Pause | None, live: Live | None, now_ms: int
) -> Standing:
    if live is not None and live.state in _ENDED:
        return _ENDED[live.state]
    if live is not None and not live.is_heard(now_ms):
        return Standing("not heard", "bad")
    if pause is not None:
        return Standing("paused", "warn")
    if live is not None:
        return Standing(live.state, "good" if live.state == AppState.RUNNING.value else "quiet")
    latest = max((each.wall_ms or 0 for each in statuses), default=0)
    if now_ms - latest < _RECENT_MS:
        return Standing("committing", "good")
    return Standing("not recorded", "quiet")


_RECENT_MS = 10_000
_ENDED = {
    AppState.STOPPED.value: Standing("stopped", "quiet"),
    AppState.FAILED.value: Standing("failed", "bad"),
}
