"""The page of a node: its input, output, drops and time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from kstreams.ids import TaskId
from kstreams.quoting import repr_of
from kstreams.telemetry.outline import GroupOutline, NodeOutline, Outline
from kstreams_serve.pages.activity import activity_of
from kstreams_serve.pages.app_facts import AppFacts
from kstreams_serve.pages.dropped import drop_lines, drop_samples
from kstreams_serve.pages.overview import node_lines
from kstreams_serve.pages.recordings import Recording
from kstreams_serve.pages.visits import Page, Visit
from kstreams_serve.problems import Problem
from kstreams_serve.served_app import ServedApp

__all__ = ("node",)

_TASKS = 20


@dataclass(frozen=True)
class _TaskShare:
    task: TaskId
    seconds: float
    part: float


async def node(visit: Visit, _: ServedApp, facts: AppFacts) -> Page:
    """Return the page of a node."""
    name = visit.given(("name",)).required("name")
    return await asyncio.to_thread(_page, visit, facts, name)


def _page(visit: Visit, facts: AppFacts, name: str) -> Page:
    activity = activity_of(facts.recording, visit.now_ms)
    line = next((each for each in node_lines(facts, activity) if each.name == name), None)
    if line is None:
        raise Problem(404, f"the app has no node {repr_of(name, 80)}")
    outline = facts.recording.outline
    group, own = _found(outline, name)
    edges = () if outline is None else outline.edges
    content = {
        "node": line,
        "own": own,
        "group": group,
        "parents": [start for start, end in edges if end == name],
        "children": [end for start, end in edges if start == name],
        "drops": [each for each in drop_lines(facts) if each.node == name],
        "samples": [each for each in drop_samples(facts.recording) or () if each.node == name],
        "tasks": _task_shares(facts.recording, name),
        "is_recorded": activity.is_recorded,
    }
    return Page("node.html", f"Node {name[:60]}", content, tab="Overview")


def _found(outline: Outline | None, name: str) -> tuple[GroupOutline | None, NodeOutline | None]:
    for group in () if outline is None else outline.groups:
        for each in group.nodes:
            if each.name == name:
                return group, each
    return None, None


def _task_shares(recording: Recording, name: str) -> Sequence[_TaskShare]:
    """Return the sampled time of a node in each task, longest first."""
    seconds: dict[TaskId, float] = {}
    for report in recording.batches:
        for task in report.tasks:
            if name in task.node_seconds:
                seconds[task.task] = seconds.get(task.task, 0.0) + task.node_seconds[name]
    total = sum(seconds.values())
    ordered = sorted(seconds.items(), key=lambda pair: -pair[1])[:_TASKS]
    return [_TaskShare(task, took, took / total) for task, took in ordered if total]
