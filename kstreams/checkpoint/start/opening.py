"""Opening of a checkpoint to run an app, in an order that neither loses nor repeats records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kstreams.checkpoint.admin.object_reset import finish_reset
from kstreams.checkpoint.checkpoint import Checkpoint, query_name
from kstreams.checkpoint.log_headers import begin_logs
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.resume import Resumption, resume
from kstreams.checkpoint.savepoint.app_objects import named_elsewhere, remove_leftovers
from kstreams.checkpoint.savepoint.fork import copy_savepoint
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.rescaling import TopicSpan
from kstreams.checkpoint.start.upgrade import Upgrade, upgrade
from kstreams.checkpoint.storage.finished_batches import DoneNotes
from kstreams.checkpoint.storage.object_home import ObjectHome
from kstreams.checkpoint.takeover import take_over
from kstreams.errors import NoCheckpointError
from kstreams.graph.checks.partitions import Uneven
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.scratch import remove_dead_scratch
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.log.commits import Commit, CommitLog
from kstreams.state.log.traffic import CountedObjects

__all__ = ("OpenedQuery", "Publish", "open_for_running", "opened_query")

Publish = Callable[[Commit], None]
"""Publishes the output of a committed batch, if it is not published yet."""


@dataclass(frozen=True)
class OpenedQuery:
    """One query of an app that is about to run, with its parts of the checkpoint.

    Attributes:
        checkpoint: The checkpoint of the app.
        name: The name of the query, which is the name of its first group.
        groups: The partition groups, in the order of their stages.
        epoch: The epoch, a unique id for the batches of this query.
        state_name: Name of the query's state in the durable log.
        log: Settings of the durable log.
        objects: The durable log, which counts the requests of the driver.
        plans: The plan log.
        commits: The commit log.
        done: Records the last finished batch.
        resumed: The position at which the query resumes.
        start_ms: The start time (ms) of sources without a position; None: each source's own start.
    """

    checkpoint: Checkpoint
    name: str
    groups: tuple[PartitionGroup, ...]
    epoch: str
    state_name: str
    log: ObjectStoreSettings
    objects: CountedObjects
    plans: PlanLog
    commits: CommitLog
    done: DoneNotes
    resumed: Resumption
    start_ms: int | None = None

    def named_elsewhere(self) -> set[str]:
        """Return the names of objects that the query's cleanup must keep beyond its own commits."""
        return named_elsewhere(self.checkpoint, self.objects, self.name)


def open_for_running(
    settings: AppSettings,
    topology: Topology,
    tasks: Mapping[str, int],
    *,
    run: str,
    publish: Publish,
    records: Callable[[str], int] | None = None,
    uneven: Uneven = Uneven(),  # noqa: B008  # frozen
    span: Callable[[str], TopicSpan] | None = None,
) -> tuple[OpenedQuery, ...]:
    """Open an app's checkpoint, and create, fork or upgrade it first if necessary.

    The caller must hold the checkpoint's lock. If the checkpoint has no lock, this driver takes
    over the queries from the driver that runs them. Nothing is changed before all existing parts
    have been checked against each other, and each step is atomic: an interrupted start can be
    repeated.

    Args:
        settings: The settings of the app.
        topology: The topology to run.
        tasks: The number of the topology's tasks, by group.
        run: The id of this driver.
        publish: Publishes committed output that a crash left unpublished, before an upgrade.
        records: Returns the number of records of a topic, for the plan of an upgrade.
        uneven: Inputs and stores with fewer partitions than their group has tasks.
        span: Returns the offsets of a topic, for a division of state.

    Returns:
        The app's queries, in the topology's order.

    Raises:
        CheckpointMismatchError: The checkpoint belongs to another app, or the topology would empty
            or misread its state.
        LogMismatchError: The durable log does not belong to the checkpoint.
        StateCorruptError: A part of the checkpoint is damaged.
        SavepointError: The savepoint to fork does not exist.
        FencedError: Another driver starts at the same time.
        StoreOpenError: The storage of the checkpoint lacks a required feature.
    """
    remove_dead_scratch()
    settings.checkpoint.remove_drafts()
    found = _opened(settings, topology, tasks, uneven)
    found.home.prove()
    log = settings.state.log or found.log
    objects = log.open()
    resumed = {query: resume(found, query, objects) for query in found.queries}
    counts = dict(tasks), uneven
    if found.shape != topology.shape() or counts != (dict(found.tasks), found.uneven):
        _publish_last((each.last for each in resumed.values()), publish)
    made = upgrade(
        found, Upgrade(settings, topology, tasks, objects, run, records, publish, uneven, span)
    )
    same = {
        query: resumed[query]
        for query in made.queries
        if query in resumed and made.log_name(query) == found.log_name(query)
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
        checkpoint: The checkpoint of the app, with the logs of its queries.
        groups: The groups of the query.
        log: The durable log of the app.
        resumed: The position at which the query resumes, if it is already known.
    """
    name, objects = query_name(groups), CountedObjects(log.open())
    return OpenedQuery(
        checkpoint,
        name,
        groups,
        checkpoint.epoch(name),
        checkpoint.state_name(name),
        log,
        objects,
        checkpoint.plans(name),
        checkpoint.commits(name, objects),
        checkpoint.done_notes(name),
        resumed or resume(checkpoint, name, objects),
        checkpoint.start_ms,
    )


def _opened(
    settings: AppSettings, topology: Topology, tasks: Mapping[str, int], uneven: Uneven
) -> Checkpoint:
    """Open the checkpoint, or create or fork one; completes an interrupted reset first."""
    home = settings.checkpoint
    _fork_first(settings)
    try:
        return Checkpoint.open(home, settings.app_id, topology, tasks=tasks, uneven=uneven)
    except NoCheckpointError:
        if not isinstance(home, ObjectHome):
            raise
        finish_reset(home, settings.state.log)
    _fork_first(settings)
    return Checkpoint.open(home, settings.app_id, topology, tasks=tasks, uneven=uneven)


def _fork_first(settings: AppSettings) -> None:
    """Create a missing checkpoint as a fork, if the settings have a savepoint to fork."""
    home = settings.checkpoint
    if settings.fork is not None and not home.stamp():
        copy_savepoint(settings.fork, home, settings.app_id, log=settings.state.log)


def _publish_last(lasts: Iterable[Commit | None], publish: Publish) -> None:
    """Publish output that a crash left unpublished, for queries that an upgrade may remove."""
    for last in lasts:
        if last is not None:
            publish(last)
