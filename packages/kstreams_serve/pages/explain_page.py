"""The page with the records of a batch that changed a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kstreams.ids import TopicPartition
from kstreams.state.log.fields import MOST
from kstreams_admin.values import printable
from kstreams_serve.context import Context
from kstreams_serve.explaining import explanation_of
from kstreams_serve.name_lookup import store_of
from kstreams_serve.pages.app_facts import AppFacts
from kstreams_serve.pages.cells import Cell, cells_of, shown_key
from kstreams_serve.pages.visits import Page, Visit
from kstreams_serve.parameters import key_of
from kstreams_serve.served_app import ServedApp

__all__ = ("ExplainPage",)

_STEPS = 50
_MOST_CHARS = 120


@dataclass(frozen=True)
class _StepLine:
    before: list[list[Cell]]
    after: list[list[Cell]]
    place: str
    of: Mapping[str, object]
    via: str
    timestamp_ms: int | None
    node: str
    defined_at: str
    record: str
    dropped: str


class ExplainPage:
    """Creates the page of a key and a batch by a replay of the batch in a separate process.

    Args:
        context: The shared context of routes.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    async def page(self, visit: Visit, _: ServedApp, __: AppFacts) -> Page:
        """Return the page of a key and a batch; by default, the last batch that changed the key."""
        app, store = await store_of(self._context, visit.request)
        given = visit.given(("key", "key_format", "batch", "skip"))
        text, form = given.required("key"), given.get("key_format", "text")
        key = key_of(store.spec.key, text, form, self._context.limits.key_bytes)
        skip = given.whole("skip", 0, MOST) or 0
        batch = given.whole("batch", 0, MOST)
        found = await explanation_of(
            self._context, visit.request, app, store, key, batch=batch, skip=skip, limit=_STEPS
        )
        explained = next(iter(found["explained"]), None)
        steps = [] if explained is None else explained["steps"]
        content = {
            "store": store.spec.name,
            "key": shown_key(key, store.spec.key),
            "parameters": {"key": text, "key_format": given.get("key_format")},
            "query": found["query"],
            "explained": explained,
            "before": [] if explained is None else _rows(explained["before"]),
            "after": [] if explained is None else _rows(explained["after"]),
            "end": [] if explained is None else _rows(explained["end"]),
            "steps": [_line(step) for step in steps],
            "skip": skip,
            "next": skip + len(steps)
            if explained and skip + len(steps) < explained["steps_total"]
            else None,
        }
        title = f"Why {shown_key(key, store.spec.key)} has its value"
        return Page("explain.html", title, content, tab="Stores", is_live=False)


def _rows(found: Sequence[Mapping[str, object]]) -> list[list[Cell]]:
    return [cells_of(row) for row in found]


def _line(step: Mapping[str, Any]) -> _StepLine:
    record = step["record"]
    place, via, timestamp = "a timer, or a table processor", "", None
    of: dict[str, object] = {}
    if record is not None:
        of = {name: record[name] for name in ("topic", "partition", "offset")}
        place = f"{TopicPartition(record['topic'], record['partition'])}@{record['offset']}"
        via, timestamp = ", ".join(map(str, record["via"])), record["timestamp_ms"]
    return _StepLine(
        _rows(step["before"]),
        _rows(step["after"]),
        place,
        of,
        via,
        timestamp,
        step["node"],
        step["defined_at"],
        f"{printable(step['key'])}: {printable(step['value'])}"[:_MOST_CHARS],
        step["dropped"] or "",
    )
