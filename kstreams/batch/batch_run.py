"""Run the tasks of a batch on any kind of workers, with a new plan if tasks reject their input."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from kstreams.batch.assignment import TaskAssignment
from kstreams.batch.calls import calls_of, shares_of
from kstreams.batch.messages.envelope import Content
from kstreams.batch.messages.oversized_batch import Refusal, merged_counts
from kstreams.batch.messages.task_status import TaskStatus
from kstreams.batch.planning.limits import QueryLimits
from kstreams.batch.planning.planner import BatchPlanner
from kstreams.batch.worker.stage_run import Message
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan
from kstreams.errors import VersionGoneError
from kstreams.global_tables.versions import QueryTables, Versions
from kstreams.state.log.commits import Commit

__all__ = ("BatchRun", "Job", "Parts")

_LOG = logging.getLogger(__name__)

Parts = Mapping[int, Sequence[Message]]
"""Messages to the tasks of a batch, by the worker of the first stage that gets them."""

Job = Callable[[Plan, Parts, Versions], Sequence[Content]]
"""Runs all stages of a batch by its plan on workers, with these versions of global tables; returns
the results for the driver.
"""


class BatchRun:
    """Runs the tasks of a query's batches, and plans a batch smaller if it has too many bytes.

    Args:
        settings: The settings of the query.
        planner: Plans smaller batches.
        plans: Stores smaller plans.
        fence: Raises `FencedError` if a newer driver owns the checkpoint.
        tables: The global tables that the query reads.
    """

    def __init__(
        self,
        settings: QuerySettings,
        *,
        planner: BatchPlanner,
        plans: PlanLog,
        fence: Callable[[], None],
        tables: QueryTables | None = None,
    ) -> None:
        self._settings = settings
        self._planner = planner
        self._plans = plans
        self._fence = fence
        self._tables = tables or QueryTables()
        self._assignment = TaskAssignment(settings.counts[0], settings.width)
        self._limits = QueryLimits(settings.groups, settings.counts)

    def run(
        self, batch: int, plan: Plan, last: Commit | None, job: Job
    ) -> tuple[Plan, list[TaskStatus]]:
        """Run the tasks of a batch; plan the batch smaller until each task accepts its input.

        Args:
            batch: The number of the batch.
            plan: The stored plan of the batch.
            last: The previous commit, with the pointer of each task and the records in loops; None
                before the first commit.
            job: Runs the tasks.

        Returns:
            The final plan, and the statuses of the tasks.

        Raises:
            FencedError: A newer driver owns the checkpoint.
            VersionGoneError: A version of a global table was deleted, and the app's setting `repin`
                is off.
            KStreamsError: The error of `job`.
        """
        plan = self._complete(batch, plan)
        while True:
            try:
                versions = self._tables.at(plan.globals)
                said = job(plan, self._parts(plan, last), versions)
            except VersionGoneError as gone:
                if not self._settings.app.repin:
                    raise
                plan = self._repinned(batch, plan, gone)
                continue
            refusals = [each for each in said if isinstance(each, Refusal)]
            if not refusals:
                return plan, [each for each in said if isinstance(each, TaskStatus)]
            if not any(each.tasks for each in refusals):
                plan = self._granted(batch, plan, last, said)
                continue
            smaller = self._planner.cut(plan, refusals)
            self._fence()
            smaller = self._plans.replace(batch, smaller)
            _LOG.warning(
                "query %s, batch %d: %d records have more bytes than max_bytes_per_batch; "
                "planned again with %d",
                self._settings.name,
                batch,
                plan.record_count,
                smaller.record_count,
            )
            plan = smaller

    def _complete(self, batch: int, plan: Plan) -> Plan:
        """Return the plan with a version of each global table; versions that it lacks are added."""
        missing = self._tables.missing(plan.globals)
        if not missing:
            return plan
        pins = {**self._tables.pin(), **plan.globals}
        self._fence()
        return self._plans.replace(batch, plan.repinned(pins))

    def _granted(
        self, batch: int, plan: Plan, last: Commit | None, said: Sequence[Content]
    ) -> Plan:
        """Return a plan with larger shares of `limit` nodes for the tasks that exceeded theirs.

        `said` has the messages that the tasks sent to the driver: statuses and refusals.
        """
        settings, limits = self._settings, self._limits
        arrived = merged_counts(
            (task, {node: count})
            for each in said
            if isinstance(each, Refusal)
            for node, tasks in each.arrived.items()
            for task, count in tasks.items()
        )
        done = {each.task: each.pointer for each in said if isinstance(each, TaskStatus)}
        passed = limits.passed({**({} if last is None else last.tasks), **done})
        found = limits.grant(shares_of(settings, plan, last), passed, arrived)
        tasks = ((limits.stage_of(node), task) for node in arrived for task in arrived[node])
        self._fence()
        return self._plans.replace(batch, plan.granting(found, tasks))

    def _repinned(self, batch: int, plan: Plan, gone: VersionGoneError) -> Plan:
        """Return the plan with the newest versions of global tables, as allowed by `repin`."""
        found = plan.repinned(self._tables.pin())
        self._fence()
        _LOG.warning("query %s, batch %d: %s; planned again", self._settings.name, batch, gone)
        return self._plans.replace(batch, found)

    def _parts(self, plan: Plan, last: Commit | None) -> Parts:
        homes = self._assignment.over(
            {task: sum(map(len, read)) for (stage, task), read in plan.tasks.items() if not stage}
        )
        width = self._settings.width
        parts: dict[int, list[Message]] = {}
        for envelope in calls_of(self._settings, plan, last):
            worker = envelope.task % width if envelope.stage else homes[envelope.task]
            parts.setdefault(worker, []).append((worker, envelope.pack()))
        return parts
