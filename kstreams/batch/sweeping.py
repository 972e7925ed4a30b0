"""The driver's clean-up of one query: it removes objects that no retained commit needs."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.start.opening import OpenedQuery
from kstreams.clock import WatchedClock
from kstreams.errors import StateCorruptError
from kstreams.global_tables.versions import QueryTables
from kstreams.state.backend.task_key import TaskKey, loops_prefix, packs_prefix
from kstreams.state.log.batch_objects import sweep_batch_objects
from kstreams.state.log.garbage import collect_garbage
from kstreams.state.log.loop_objects import object_names
from kstreams.state.log.pointer import Pointer

__all__ = ("MIN_AGE", "Sweep")

_LOG = logging.getLogger(__name__)
MIN_AGE = timedelta(hours=1)
"""The minimum age of an attempt's files before their removal."""


@dataclass(frozen=True)
class Sweep:
    """Removes commits, plans and state objects of a query that are not needed any more.

    Attributes:
        settings: The settings of the query.
        opened: The checkpoint of the query.
        tables: The global tables that the query writes; other queries read versions of them.
        clock: The clock of the app.
    """

    settings: QuerySettings
    opened: OpenedQuery
    tables: QueryTables
    clock: WatchedClock

    def run(self, done: int | None, kept: Collection[int]) -> None:
        """Run the clean-up, which keeps every savepoint whose commit is in the log.

        Further batches may be planned, run and committed meanwhile.

        Args:
            done: The last batch that this driver has committed; None before its first commit.
            kept: The batch numbers of plans to retain; for each of them, the commit of the previous
                batch is retained, too. See `kstreams.checkpoint.takeover`.
        """
        opened, settings, name = self.opened, self.settings, self.settings.name
        # Later batches may be committed meanwhile: objects that only they name are newer, and stay.
        retained = opened.commits.recent(settings.app.retained_batches, last=done)
        if not retained:
            return  # a newer driver has deleted these commits
        try:
            held = self.tables.held()
        except StateCorruptError as exc:
            _LOG.warning("query %s: nothing is cleaned up: %s", name, exc)
            return
        inherited = opened.plans.inherited()  # noted before any of their commits was made
        others = list(opened.commits.of(held - {commit.batch for commit in retained}))
        # Later entries stay: a newer driver may fence this one by them.
        first = retained[0].batch
        fences = {*inherited, *(number - 1 for number in kept)}
        opened.commits.forget_before(first, but={*held, *fences})
        opened.plans.forget_before(first, but={*kept, *inherited})
        pointers: dict[TaskKey, list[Pointer]] = {}
        for commit in retained:
            for task, text in commit.tasks.items():
                key = settings.task_key(task)
                pointers.setdefault(key, []).append(Pointer.from_json(text))
        try:
            pinned = opened.named_elsewhere()
            for commit in others:
                pinned |= {ref.name for p in commit.pointers().values() for ref in p.objects()}
        except StateCorruptError as exc:
            _LOG.warning("query %s: nothing is cleaned up: %s", name, exc)
            return
        collect_garbage(
            opened.objects,
            pointers,
            clock=self.clock,
            min_age=MIN_AGE,
            pinned=pinned,
            set_ms=self.clock.set_ms,
        )
        named = {ref.name for found in pointers.values() for p in found for ref in p.objects()}
        named.update(pinned, *(object_names(commit.sent) for commit in retained))
        # Staged data of a changed delivery is deleted with the last commit that names it.
        has_loops = any(group.loops for group in settings.groups) or any(c.sent for c in retained)
        for prefix in (packs_prefix, *((loops_prefix,) if has_loops else ())):
            sweep_batch_objects(
                opened.objects,
                prefix(settings.state_name),
                prefix(settings.state_name, settings.epoch),
                last=retained[-1].batch,
                named=named,
            )
