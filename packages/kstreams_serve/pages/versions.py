"""The page of an app's versions: savepoints, commits, epochs."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.state.log.commits import SEED, Commit, CommitLog
from kstreams_serve.pages.app_facts import AppFacts
from kstreams_serve.pages.visits import Page, Visit
from kstreams_serve.served_app import ServedApp

__all__ = ("versions",)

_SHOWN = 30


@dataclass(frozen=True)
class _CommitLine:
    batch: int
    wall_ms: int
    run: str
    fingerprint: str
    is_new_run: bool
    is_new_shape: bool


@dataclass(frozen=True)
class _QueryLine:
    name: str
    epoch_number: int
    epoch: str
    batches: Sequence[int]
    commits: Sequence[_CommitLine]


@dataclass(frozen=True)
class _SavepointLine:
    name: str
    wall_ms: int
    batches: Sequence[tuple[str, int]]


async def versions(visit: Visit, app: ServedApp, _: AppFacts) -> Page:
    """Return the page of the versions."""
    visit.given(())
    return await asyncio.to_thread(_page, app)


def _page(app: ServedApp) -> Page:
    checkpoint, objects = app.checkpoint, app.objects()
    saved = [
        _SavepointLine(
            each.name, each.wall_ms, [(query, made.batch) for query, made in each.commits.items()]
        )
        for each in Savepoints(checkpoint, objects).all()
    ]
    queries = []
    for query in sorted(checkpoint.queries):
        log = checkpoint.commits(query, objects)
        batches = [batch for batch in log.batches() if batch != SEED]
        queries.append(
            _QueryLine(
                query,
                checkpoint.epoch_numbers.get(query, 0),
                checkpoint.epoch(query),
                batches,
                _lines(log, batches[-_SHOWN:]),
            )
        )
    content = {
        "app_word": shlex.quote(app.name),
        "savepoints": sorted(saved, key=lambda each: -each.wall_ms),
        "queries": queries,
        "origin": checkpoint.origin,
    }
    return Page("versions.html", "Versions", content, tab="Versions")


def _lines(log: CommitLog, batches: Sequence[int]) -> list[_CommitLine]:
    """Return the commits of batches, newest first."""
    found: list[_CommitLine] = []
    before: Commit | None = None
    for commit in log.of(batches):
        found.append(
            _CommitLine(
                commit.batch,
                commit.wall_ms,
                commit.run,
                commit.fingerprint,
                before is not None and before.run != commit.run,
                before is not None and before.fingerprint != commit.fingerprint,
            )
        )
        before = commit
    return found[::-1]
