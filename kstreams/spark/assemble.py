"""Put an app together: topics checked, checkpoint opened, queries built and started."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from kstreams.batch.changelogs import open_changelogs
from kstreams.batch.embedded.feed import EmbeddedFeed
from kstreams.batch.embedded.io import publish
from kstreams.batch.feed import Feed
from kstreams.batch.planner import BatchPlanner
from kstreams.batch.report import BatchReport
from kstreams.batch.stage_settings import StageSettings
from kstreams.checkpoint.app_objects import named_elsewhere, remove_leftovers
from kstreams.checkpoint.beginnings import begin_logs
from kstreams.checkpoint.changes import UpgradeOptions
from kstreams.checkpoint.checkpoint import Checkpoint, query_name
from kstreams.checkpoint.fork import ForkSource, copy_savepoint
from kstreams.checkpoint.resume import Resumption, plans_of, resume
from kstreams.checkpoint.upgrade import Upgrade, upgrade
from kstreams.clock import Clock
from kstreams.connection import Connection, TopicEnds
from kstreams.embedded.connection import Embedded
from kstreams.errors import CompileError
from kstreams.graph.nodes import SourceNode
from kstreams.graph.partitions import group_partitions
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.processors.interceptor import Interceptor
from kstreams.spark.packages import Packages, ship
from kstreams.spark.pipeline import Pipeline
from kstreams.spark.pipeline_settings import PipelineSettings
from kstreams.spark.session import (
    app_session,
    check_shared,
    executor_cores,
    is_local,
    query_session,
)
from kstreams.state.backend.working import StateBackend
from kstreams.state.log.commits import Commit
from kstreams.state.log.traffic import CountedObjects
from kstreams.state.log.upkeep import Upkeep

__all__ = ("Assembly", "assemble")

_Report = Callable[[BatchReport, Sequence[str]], None]


@dataclass(frozen=True)
class Assembly:
    """All that an app is made of; see `App` for the meanings."""

    topology: Topology
    connection: Connection
    backend: StateBackend
    app: str
    checkpoint: Path
    run: str
    trigger: timedelta
    max_records: int
    max_bytes: int
    interceptors: tuple[Interceptor, ...]
    packages: Packages
    parallelism: int | None
    session: SparkSession | None
    config: Mapping[str, str]
    clock: Clock
    orders: UpgradeOptions
    fork: ForkSource | None
    retained: int
    upkeep: Upkeep
    fence: Callable[[], None]
    wanted: threading.Event


def assemble(parts: Assembly, report: _Report) -> tuple[Pipeline, ...]:
    """Check everything, then start the queries.

    Raises:
        UnknownTopicError: A source's topic does not exist.
        PartitionCountError: Topics of one group differ.
        CheckpointMismatchError: The checkpoint is another app's, or state in it would be
            emptied or misread.
    """
    counts = _task_counts(parts)
    session = parts.session or app_session(parts.app, config=parts.config)
    cores = parts.parallelism or session.sparkContext.defaultParallelism
    checkpoint, resumed = _checkpoint(parts, counts)
    archives: tuple[str, ...] = ()
    if not is_local(session):
        check_shared(session, parts.checkpoint)
        archives = ship(session, parts.packages)
    changelogs = open_changelogs(parts.connection, parts.topology, counts)
    at_once = executor_cores(session)
    built = [
        _pipeline(
            parts,
            checkpoint,
            groups,
            counts,
            cores,
            at_once,
            archives,
            changelogs,
            report,
            resumed=resumed.get(query_name(groups)),
        )
        for groups in parts.topology.pipelines()
    ]
    try:
        for pipeline in built:
            pipeline.start(query_session(session))
    except BaseException:
        for pipeline in built:
            pipeline.stop(timedelta(0))
        raise
    return tuple(built)


def _checkpoint(
    parts: Assembly, counts: Mapping[str, int]
) -> tuple[Checkpoint, dict[str, Resumption]]:
    """Open the checkpoint: begun, forked or upgraded as is needed.

    Returns:
        The checkpoint, and where those of its queries go on that are as they were.
    """
    if parts.fork is not None and not (parts.checkpoint / "app.json").exists():
        copy_savepoint(parts.fork, parts.checkpoint, parts.app, log=parts.backend.log)
    found = Checkpoint.open(parts.checkpoint, parts.app, parts.topology, tasks=counts)
    objects = (parts.backend.log or found.log).open()
    resumed = {query: resume(found, query, objects) for query in found.queries}
    lasts = {query: each.last for query, each in resumed.items()}
    if found.shape != parts.topology.shape() and isinstance(parts.connection, Embedded):
        _publish_last(lasts.values(), parts.connection)
    made = upgrade(
        found,
        Upgrade(
            topology=parts.topology,
            tasks=counts,
            orders=parts.orders,
            backend=parts.backend,
            objects=objects,
            run=parts.run,
        ),
    )
    same = [
        query for query in made.queries if query in lasts and made.line(query) == found.line(query)
    ]
    made = begin_logs(made, objects, {query: lasts[query] for query in same})
    remove_leftovers(made, objects)
    return made, {query: resumed[query] for query in same}


def _publish_last(lasts: Iterable[Commit | None], connection: Embedded) -> None:
    """Publish what a crash may have left, for queries that may not come back."""
    for last in lasts:
        if last is not None and last.outputs:
            publish(connection.log(), last.outputs, last.batch)


def _task_counts(parts: Assembly) -> dict[str, int]:
    admin = parts.connection.admin()
    try:
        topics = {node.topic.name for node in parts.topology.sources}
        return group_partitions(
            parts.topology, {topic: admin.partition_count(topic) for topic in sorted(topics)}
        )
    finally:
        admin.close()


def _pipeline(
    parts: Assembly,
    checkpoint: Checkpoint,
    groups: tuple[PartitionGroup, ...],
    counts: Mapping[str, int],
    cores: int,
    at_once: int,
    archives: tuple[str, ...],
    changelogs: Mapping[str, TopicEnds],
    report: _Report,
    *,
    resumed: Resumption | None = None,
) -> Pipeline:
    name = query_name(groups)
    plans = plans_of(checkpoint, name)
    log = parts.backend.log or checkpoint.log
    objects = CountedObjects(log.open())
    commits = checkpoint.commits(name, objects)
    resumed = resumed or resume(checkpoint, name, objects)
    feed = _feed(parts.connection)
    planner = BatchPlanner(
        feed,
        _starting(groups, checkpoint.start_ms),
        max_records=parts.max_records,
        max_bytes=parts.max_bytes,
        plans=plans,
        positions=resumed.positions,
        topics=resumed.topics,
    )
    tasks = tuple(counts[group.name] for group in groups)
    entered = {entry.name: stage for stage, group in enumerate(groups) for entry in group.entries}
    stages = tuple(
        StageSettings(
            number=number,
            app=parts.app,
            incarnation=checkpoint.epoch(name),
            scope=checkpoint.scope(name),
            group=group,
            exits={edge.name: entered[edge.name] for edge in group.exits},
            counts=tasks,
            width=min(max(tasks), cores),
            backend=parts.backend,
            log=log,
            io=feed.io,
            max_bytes=parts.max_bytes,
            interceptors=parts.interceptors,
            changelogs=changelogs,
            upkeep=parts.upkeep,
        )
        for number, group in enumerate(groups)
    )
    settings = PipelineSettings(
        name,
        str(checkpoint.query(name) / "spark"),
        parts.run,
        parts.trigger,
        stages,
        archives,
        fingerprint=parts.topology.fingerprint(),
        retained=parts.retained,
        own_workers=len(stages) == 1 and stages[0].width <= at_once,
    )
    return Pipeline(
        settings,
        feed,
        planner,
        resumed=resumed,
        plans=plans,
        commits=commits,
        objects=objects,
        pinned=partial(named_elsewhere, checkpoint, objects, name),
        clock=parts.clock,
        fence=parts.fence,
        report=report,
        wanted=parts.wanted,
    )


def _starting(
    groups: tuple[PartitionGroup, ...], start_ms: int | None
) -> tuple[PartitionGroup, ...]:
    """Return groups whose sources begin at a time, if one is given."""
    if start_ms is None:
        return groups
    start = datetime.fromtimestamp(start_ms / 1000, timezone.utc)
    return tuple(
        replace(
            group,
            nodes=tuple(
                replace(node, start=start) if isinstance(node, SourceNode) else node
                for node in group.nodes
            ),
        )
        for group in groups
    )


def _feed(connection: Connection) -> Feed:
    if isinstance(connection, Embedded):
        return EmbeddedFeed(connection)
    from kstreams.batch.kafka.feed import KafkaFeed  # noqa: PLC0415
    from kstreams.kafka.options import Kafka  # noqa: PLC0415  # needs the extra `kafka`

    if isinstance(connection, Kafka):
        return KafkaFeed(connection)
    raise CompileError(f"an app cannot run on {connection!r}", hint="use Embedded or Kafka")
