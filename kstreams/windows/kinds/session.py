"""Session windows: periods of activity of a key, separated by an inactivity gap."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from kstreams.state.stores.session.kind import SESSION
from kstreams.stored_names import span_part
from kstreams.times import span_ms
from kstreams.windows.columns.session import SessionWindowColumns
from kstreams.windows.engine import WindowEngine
from kstreams.windows.keys.serdes import SpanWindowedSerde
from kstreams.windows.records.session import SessionAggregate

__all__ = ("SessionWindows",)


@dataclass(frozen=True)
class SessionWindows:
    """Windows from the first to the last record of a period of a key's activity, both inclusive.

    A record joins a session if it is within the session, or at most `gap` before or after it. A
    record that joins two sessions merges them.

    Args:
        gap: The maximum time between successive records of a session.
        grace: The stream time for which a session accepts records after its end and gap; or
            `forever`.

    Raises:
        ValueError: A span is negative.

    Source: `org.apache.kafka.streams.kstream.SessionWindows`.
    """

    gap: timedelta
    grace: timedelta = field(default=timedelta(0), kw_only=True)
    gap_ms: int = field(init=False, repr=False, compare=False)
    close_delay_ms: int = field(init=False, repr=False, compare=False)
    close_interval_ms: int = field(init=False, repr=False, compare=False, default=1)

    def __post_init__(self) -> None:
        gap_ms, grace_ms = span_ms("gap", self.gap), span_ms("grace", self.grace)
        object.__setattr__(self, "gap_ms", gap_ms)
        object.__setattr__(self, "close_delay_ms", gap_ms + grace_ms + 1)

    @property
    def name(self) -> str:
        """Return the part of stored names, without the grace: `sessions-30m`."""
        return f"sessions-{span_part(self.gap)}"

    @property
    def engine(self) -> WindowEngine:
        """The engine of aggregations by sessions; encoded keys have both bounds, the end first."""
        serde = partial(SpanWindowedSerde, kind="session", windows=self)
        return WindowEngine(
            SESSION, SessionAggregate, SessionWindowColumns, serde, merges_states=True
        )
