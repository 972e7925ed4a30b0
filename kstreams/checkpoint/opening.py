"""Open a checkpoint to run an app on it, in the one order that loses and repeats nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kstreams.checkpoint.app_objects import named_elsewhere, remove_leftovers
from kstreams.checkpoint.app_settings import AppSettings
from kstreams.checkpoint.beginnings import begin_logs
from kstreams.checkpoint.checkpoint import Checkpoint, query_name
from kstreams.checkpoint.done_notes import DoneNotes
from kstreams.checkpoint.fork import copy_savepoint
from kstreams.checkpoint.object_home import ObjectHome
from kstreams.checkpoint.object_reset import finish_reset
from kstreams.checkpoint.plan_log import PlanLog
from kstreams.checkpoint.resume import Resumption, resume
from kstreams.checkpoint.takeover import take_over
from kstreams.checkpoint.upgrade import Upgrade, upgrade
from kstreams.errors import NoCheckpointError
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.scratch import remove_dead_scratch
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.log.commits import Commit, CommitLog
from kstreams.state.log.traffic import CountedObjects

__all__ = ("OpenedQuery", "Publish", "open_for_running", "opened_query")

Publish = Callable[[Commit], None]
"""Makes a committed batch's output visible, if it is not yet."""


@dataclass(frozen=True)
class OpenedQuery:
    """One query of an app that is about to run: its parts of the checkpoint, and where it goes on.

    Attributes:
        checkpoint: The app's.
        name: Its name: its first group's.
        groups: Its partition groups, in the order of their stages.
        epoch: Id of its batches, like that of no other epoch.
        scope: Name of its state in the durable log.
        log: Settings of the durable log.
        objects: The durable log; counts what the driver asks of it.
        plans: Its plans.
        commits: Its commit log.
        done: Notes which of its batches was done last.
        resumed: Where it goes on.
        start_ms: Where sources begin that have no position; None: where each of them says.
    """

    checkpoint: Checkpoint
    name: str
    groups: tuple[PartitionGroup, ...]
    epoch: str
    scope: str
    log: ObjectStoreSettings
    objects: CountedObjects
    plans: PlanLog
    commits: CommitLog
    done: DoneNotes
    resumed: Resumption
    start_ms: int | None = None

    def named_elsewhere(self) -> set[str]:
        """Return the objects that its clean-up leaves alone, named by others than its commits."""
        return named_elsewhere(self.checkpoint, self.objects, self.name)


def open_for_running(
    settings: AppSettings,
    topology: Topology,
    tasks: Mapping[str, int],
    *,
    run: str,
    publish: Publish,
    records: Callable[[str], int] | None = None,
) -> tuple[OpenedQuery, ...]:
    """Open an app's checkpoint: begun, forked or upgraded as is needed.

    To be called under the checkpoint's lock, if it has one; else the queries are taken over from
    whoever runs them. Nothing is changed before all that is there was found to fit together, and
    each step counts whole or not at all: a start that is killed is simply repeated.

    Args:
        settings: The app's.
        topology: What is to run.
        tasks: Number of its tasks by group.
        run: Id of this driver.
        publish: For what a crash has left committed and not visible, before an upgrade.
        records: Returns how many records a topic has, for the plan of an upgrade.

    Returns:
        The app's queries, in the topology's order.

    Raises:
        CheckpointMismatchError: The checkpoint is another app's, or state in it would be
            emptied or misread.
        LogMismatchError: The durable log is not the one that the checkpoint stands on.
        StateCorruptError: Something of it cannot be read.
        SavepointError: There is no savepoint to fork.
        FencedError: Another driver starts at the same time.
        StoreOpenError: The storage of the checkpoint lacks what is needed.
    """
    remove_dead_scratch()
    settings.checkpoint.remove_drafts()
    found = _opened(settings, topology, tasks)
    found.home.prove()
    log = settings.state.log or found.log
    objects = log.open()
    resumed = {query: resume(found, query, objects) for query in found.queries}
    if found.shape != topology.shape():
        _publish_last((each.last for each in resumed.values()), publish)
    made = upgrade(found, Upgrade(settings, topology, tasks, objects, run, records, publish))
    same = {
        query: resumed[query]
        for query in made.queries
        if query in resumed and made.line(query) == found.line(query)
    }
    made = begin_logs(made, objects, {query: each.last for query, each in same.items()})
    if (told := made.with_logs_of(topology)) != made:
        made = told.save()
    if made.home.takes_over:
        same = {
            query: take_over(made, query, objects, run=run, publish=publish)
            for query in made.queries
        }
    remove_leftovers(made, objects)
    return tuple(
        opened_query(made, groups, log, same.get(query_name(groups)))
        for groups in topology.pipelines()
    )


def opened_query(
    checkpoint: Checkpoint,
    groups: tuple[PartitionGroup, ...],
    log: ObjectStoreSettings,
    resumed: Resumption | None = None,
) -> OpenedQuery:
    """Open one query of a checkpoint.

    Args:
        checkpoint: The app's; the logs of its queries have begun.
        groups: The query's.
        log: The app's durable log.
        resumed: Where it goes on, if that was found out already.
    """
    name, objects = query_name(groups), CountedObjects(log.open())
    return OpenedQuery(
        checkpoint,
        name,
        groups,
        checkpoint.epoch(name),
        checkpoint.scope(name),
        log,
        objects,
        checkpoint.plans(name),
        checkpoint.commits(name, objects),
        checkpoint.done_notes(name),
        resumed or resume(checkpoint, name, objects),
        checkpoint.start_ms,
    )


def _opened(settings: AppSettings, topology: Topology, tasks: Mapping[str, int]) -> Checkpoint:
    """Open the checkpoint as it is, or begin one; end a reset before that was ended half-way."""
    home = settings.checkpoint
    _fork_first(settings)
    try:
        return Checkpoint.open(home, settings.app_id, topology, tasks=tasks)
    except NoCheckpointError:
        if not isinstance(home, ObjectHome):
            raise
        finish_reset(home, settings.state.log)
    _fork_first(settings)
    return Checkpoint.open(home, settings.app_id, topology, tasks=tasks)


def _fork_first(settings: AppSettings) -> None:
    """Begin a checkpoint that is not there on a copy of another's savepoint, if asked to."""
    home = settings.checkpoint
    if settings.fork is not None and not home.stamp():
        copy_savepoint(settings.fork, home, settings.app_id, log=settings.state.log)


def _publish_last(lasts: Iterable[Commit | None], publish: Publish) -> None:
    """Publish what a crash may have left, for queries that may not come back."""
    for last in lasts:
        if last is not None:
            publish(last)
