"""The page of what an app asks of its durable log in a day, and how it grows."""

from __future__ import annotations

import shlex

from kstreams.forecast.forecasts import QueryForecast, forecast_query, measured_commits
from kstreams.serve.pages.app_facts import AppFacts
from kstreams.serve.pages.visits import Page, Visit
from kstreams.serve.served_app import ServedApp

__all__ = ("forecast",)

_MOST_TRIGGER_S = 86_400
_TASKS = 50


async def forecast(visit: Visit, app: ServedApp, _: AppFacts) -> Page:
    """Return the page of the forecast, with the trigger as it is, or as somebody thinks of it."""
    trigger = visit.given(("trigger",)).whole("trigger", 1, _MOST_TRIGGER_S)
    trigger_ms = None if trigger is None else trigger * 1000
    found = await app.restoring.result(
        ("forecast", trigger_ms),
        lambda: {
            query: _forecast(app, query, trigger_ms) for query in sorted(app.checkpoint.queries)
        },
    )
    tasks = [task for each in found.values() if each is not None for task in each.tasks]
    ordered = sorted(tasks, key=lambda task: -task.size_bytes)
    content = {
        "trigger": trigger,
        "forecasts": [each for each in found.values() if each is not None],
        "lacking": [query for query, each in found.items() if each is None],
        "tasks": ordered[:_TASKS],
        "more": max(0, len(ordered) - _TASKS),
        "largest": max((task.size_bytes for task in ordered), default=0),
        "command": f"kstreams forecast {shlex.quote(app.name)}"
        + ("" if trigger is None else f" --trigger {trigger}s"),
    }
    return Page("forecast.html", "Forecast", content, tab="Forecast", is_live=False)


def _forecast(app: ServedApp, query: str, trigger_ms: int | None) -> QueryForecast | None:
    checkpoint = app.checkpoint
    commits = measured_commits(checkpoint, query, app.objects())
    plans_too = checkpoint.home.directory is None
    return forecast_query(query, commits, trigger_ms=trigger_ms, plans_too=plans_too)
