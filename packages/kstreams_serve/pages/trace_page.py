"""The page of a record: its writes, its results, or the reason of its drop."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kstreams.ids import TopicPartition
from kstreams.state.log.fields import MOST
from kstreams_admin.values import printable
from kstreams_serve.context import Context
from kstreams_serve.explaining import trace_of
from kstreams_serve.pages.app_facts import AppFacts
from kstreams_serve.pages.cells import Cell, cells_of
from kstreams_serve.pages.visits import Page, Visit
from kstreams_serve.parameters import Parameters
from kstreams_serve.served_app import ServedApp

__all__ = ("TracePage",)

_MOST_CHARS = 120
_MOST_STEPS = 100
_MOST_ROWS = 5
_RECORD = ("topic", "partition", "offset")


@dataclass(frozen=True)
class _StepLine:
    task: str
    depth: int
    node: str
    defined_at: str
    what: str
    record: str
    timestamp_ms: int | None
    reason: str
    store: str
    before: list[list[Cell]]
    after: list[list[Cell]]


@dataclass(frozen=True)
class _BatchLine:
    query: str
    task: str
    batch: int | None
    wall_ms: int | None
    not_run: str
    steps: Sequence[_StepLine]
    more: int


class TracePage:
    """Creates the page of a record by a replay of the batch that processed the record.

    The replay runs the app's topology in a separate process.

    Args:
        context: The shared context of routes.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    async def page(self, visit: Visit, app: ServedApp, facts: AppFacts) -> Page:
        """Return the page of a record; without a record, a form that asks for it."""
        given = visit.given(_RECORD)
        place = _place(given)
        knows = self._context.code_runs.knows(app.name)
        batches: list[_BatchLine] = []
        if given and knows:
            found = await trace_of(self._context, visit.request, app, given)
            batches = [_batch(each) for each in found["batches"]]
        content = {
            "given": dict(given),
            "topics": facts.recording.source_topics,
            "place": place,
            "knows": knows,
            "batches": batches,
            "command": _command(app.name, place),
        }
        title = f"Trace of {place or 'a record'}"
        return Page("trace.html", title, content, tab="Dropped", is_live=False)


def _place(given: Parameters) -> str:
    """Return the requested record in the syntax of commands; empty if none is requested."""
    if not all(name in given for name in _RECORD):
        return ""
    partition, offset = given.whole("partition", 0, MOST), given.whole("offset", 0, MOST)
    return f"{TopicPartition(given['topic'], partition or 0)}@{offset}"


def _command(app: str, place: str) -> str:
    record = shlex.quote(place) if place else "TOPIC/P@OFFSET"
    return f"kstreams trace {shlex.quote(app)} {record} --topology MODULE:NAME"


def _batch(found: Mapping[str, Any]) -> _BatchLine:
    steps = found["steps"]
    return _BatchLine(
        found["query"],
        found["task"],
        found["batch"],
        found["wall_ms"],
        found["not_run"],
        [_step(step) for step in steps[:_MOST_STEPS]],
        max(0, len(steps) - _MOST_STEPS),
    )


def _step(step: Mapping[str, Any]) -> _StepLine:
    has_record = step["timestamp_ms"] is not None
    record = f"{printable(step['key'])}: {printable(step['value'])}" if has_record else ""
    return _StepLine(
        step["task"],
        min(step["depth"], 9),
        step["node"],
        step["defined_at"],
        step["what"],
        record[:_MOST_CHARS],
        step["timestamp_ms"],
        step["reason"],
        step["store"] or "",
        [cells_of(row) for row in step["before"][:_MOST_ROWS]],
        [cells_of(row) for row in step["after"][:_MOST_ROWS]],
    )
