"""The page of an app's failures."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from kstreams.errors import KStreamsError
from kstreams.telemetry.failures import Failure
from kstreams_admin.telemetry_reader import TelemetryReader
from kstreams_serve.pages.app_facts import AppFacts
from kstreams_serve.pages.visits import Page, Visit
from kstreams_serve.served_app import ServedApp

__all__ = ("failures",)


@dataclass(frozen=True)
class _FailureLine:
    ms: int
    run: str
    kind: str
    cause: str
    place: Mapping[str, str | int]
    message: str | None
    hint: str

    @classmethod
    def of(cls, failure: Failure, *, sees_data: bool) -> _FailureLine:
        """Return a failure as a visitor may see it; texts are hidden, as they may quote records."""
        return cls(
            failure.ms,
            failure.run,
            failure.kind,
            failure.cause,
            failure.where,
            failure.message if sees_data else None,
            failure.hint if sees_data else "",
        )


async def failures(visit: Visit, app: ServedApp, facts: AppFacts) -> Page:
    """Return the page of the failures, newest first."""
    visit.given(())
    try:
        found = await asyncio.to_thread(TelemetryReader(app.home).failures)
        problem = ""
    except (KStreamsError, OSError) as exc:
        found, problem = [], type(exc).__name__
    lines = [_FailureLine.of(each, sees_data=visit.sees_data) for each in reversed(found)]
    live = facts.recording.live
    content = {
        "failures": lines,
        "problem": problem,
        "is_recorded": live is not None,
        "has_failed": facts.state.word == "failed",
        "is_unresponsive": facts.state.word == "not responding",
        "live_run": None if live is None else live.run,
        "written_ms": None if live is None else live.written_ms,
    }
    return Page("failures.html", "Errors", content, tab="Errors")
