"""The page of dropped records: by node and reason, and over time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from kstreams.ids import TopicPartition
from kstreams.state.log.totals import MISPLACED
from kstreams_serve.pages.app_facts import AppFacts
from kstreams_serve.pages.drop_history import SPANS, drop_history
from kstreams_serve.pages.recordings import Recording, Recordings
from kstreams_serve.pages.visits import Page, Visit
from kstreams_serve.problems import Problem
from kstreams_serve.served_app import ServedApp

__all__ = ("DropLine", "DroppedPage", "SampleLine", "drop_lines", "drop_samples")

_MOST_SAMPLES = 50


@dataclass(frozen=True)
class DropLine:
    """The total records that a node has dropped for one reason.

    Attributes:
        node: The node.
        reason: The reason.
        count: The number of records.
        part: The share of the node's input, 0 to 1.
        is_lost: Whether the records are lost; misplaced keys are counted, but processed.
    """

    node: str
    reason: str
    count: int
    part: float
    is_lost: bool


def drop_lines(facts: AppFacts) -> list[DropLine]:
    """Return the total drops by node and reason, the largest first."""
    found = [
        DropLine(
            node, reason, count, min(count / max(counts.records_in, 1), 1.0), reason != MISPLACED
        )
        for status in facts.statuses
        for node, counts in status.totals.nodes.items()
        for reason, count in counts.dropped.items()
        if count
    ]
    return sorted(found, key=lambda each: (-each.count, each.node, each.reason))


@dataclass(frozen=True)
class SampleLine:
    """The location of a dropped record.

    Attributes:
        query: The query.
        batch: The batch.
        node: The node that dropped the record.
        reason: The reason.
        place: The topic partition of the record.
        offset: The offset of the record.
    """

    query: str
    batch: int
    node: str
    reason: str
    place: TopicPartition
    offset: int

    @property
    def record(self) -> Mapping[str, str | int]:
        """The URL query parameters that identify the record."""
        return {
            "topic": self.place.topic,
            "partition": self.place.partition,
            "offset": self.offset,
        }


def drop_samples(recording: Recording) -> list[SampleLine] | None:
    """Return the locations of some dropped records, newest first; None if not recorded."""
    if not recording.batches:
        return None
    return [
        SampleLine(each.query, each.batch, found.node, found.reason, found.place, found.offset)
        for each in reversed(recording.batches)
        for found in each.samples
    ][:_MOST_SAMPLES]


class DroppedPage:
    """Creates the page of dropped records.

    Args:
        recordings: The telemetry of apps.
    """

    def __init__(self, recordings: Recordings) -> None:
        self._recordings = recordings

    async def page(self, visit: Visit, app: ServedApp, facts: AppFacts) -> Page:
        """Return the page of dropped records."""
        hours = visit.given(("hours",)).whole("hours", SPANS[0], SPANS[-1]) or SPANS[1]
        if hours not in SPANS:
            raise Problem(400, f"hours is {hours}; expected one of {', '.join(map(str, SPANS))}")
        minutes = await asyncio.to_thread(self._recordings.minutes, app, hours)
        lines = drop_lines(facts)
        content = {
            "lines": lines,
            "lost": facts.dropped,
            "came": facts.consumed,
            "counted": all(status.counted for status in facts.statuses),
            "history": drop_history(minutes, hours, visit.now_ms),
            "has_minutes": bool(minutes),
            "spans": SPANS,
            "samples": drop_samples(facts.recording),
            "traced": facts.recording.source_topics if visit.sees_data else (),
            "topics": facts.recording.dead_letter_nodes,
        }
        return Page("dropped.html", "Dropped", content, tab="Dropped")
