"""The first page of an app: its key figures, its worst problems, its topology."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from kstreams.state.log.totals import NodeCounts, summed
from kstreams_serve.pages import texts
from kstreams_serve.pages.activity import Activity, activity_of
from kstreams_serve.pages.app_facts import AppFacts, Tone
from kstreams_serve.pages.picture import picture_of
from kstreams_serve.pages.ranking import worst_first
from kstreams_serve.pages.visits import Page, Visit
from kstreams_serve.served_app import ServedApp

__all__ = ("NodeLine", "node_lines", "overview")


@dataclass(frozen=True)
class _Figure:
    name: str
    value: str
    unit: str = ""
    tone: Tone = "quiet"
    points: Sequence[float] = ()


@dataclass(frozen=True)
class NodeLine:
    """A node in a table.

    Attributes:
        name: The name.
        counts: The total record counts of the node.
        rate: The recent input records per second; None if not recorded.
        share: The node's recent share of the time of all nodes; None if not recorded.
    """

    name: str
    counts: NodeCounts
    rate: float | None
    share: float | None


async def overview(visit: Visit, _: ServedApp, facts: AppFacts) -> Page:
    """Return the overview of an app."""
    visit.given(())
    return await asyncio.to_thread(_page, visit, facts)


def _page(visit: Visit, facts: AppFacts) -> Page:
    activity = activity_of(facts.recording, visit.now_ms)
    content = {
        "figures": _figures(facts, activity),
        "findings": worst_first(facts, activity.shares, visit.now_ms),
        "picture": picture_of(facts, activity),
        "nodes": node_lines(facts, activity),
        "app_word": shlex.quote(facts.name),
    }
    return Page("overview.html", "Overview", content, tab="Overview")


def node_lines(facts: AppFacts, activity: Activity) -> list[NodeLine]:
    """Return the nodes of an app, in topological order if the topology is recorded.

    Args:
        facts: The data of the app.
        activity: The recent activity.
    """
    counts = summed(status.totals.nodes for status in facts.statuses)
    outline = facts.recording.outline
    known = [] if outline is None else [node.name for g in outline.groups for node in g.nodes]
    names = dict.fromkeys([*known, *counts])
    return [
        NodeLine(
            name,
            counts.get(name, NodeCounts()),
            activity.rates.get(name, 0.0) if activity.is_recorded else None,
            activity.shares.get(name),
        )
        for name in names
    ]


def _figures(facts: AppFacts, activity: Activity) -> list[_Figure]:
    lost, behind = facts.dropped, facts.behind
    found = []
    if activity.is_recorded:
        found.append(_Figure("In", texts.rate(activity.rate_in), points=activity.line_in))
    else:
        found.append(_Figure("In", texts.amount(facts.consumed), "records in total"))
    if activity.rate_out is not None:
        found.append(_Figure("Out", texts.rate(activity.rate_out), points=activity.line_out))
    if behind is None:
        found.append(_Figure("Lag", "—", "not recorded"))
    else:
        found.append(_Figure("Lag", texts.amount(behind), "records", points=activity.line_lag))
    if activity.latency_ms is not None:
        value = texts.seconds(activity.latency_ms / 1000)
        found.append(_Figure("Latency", value, "99th percentile"))
    if activity.batch_seconds is not None:
        found.append(_Figure("Batch", texts.seconds(activity.batch_seconds), "mean"))
    found.append(_Figure("Dropped", texts.amount(lost), tone="warn" if lost else "quiet"))
    found.append(_Figure("State", texts.size(facts.state_bytes), "in the durable log"))
    return found
