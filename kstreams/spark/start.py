"""The start of an app, step by step: read `start` from top to bottom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from pyspark.sql import SparkSession

from kstreams.batch.changelogs import open_changelogs
from kstreams.batch.no_topics import NO_TOPICS, check_no_topics
from kstreams.batch.open_feed import feed_of, publish_commit
from kstreams.batch.package_files import own_folders
from kstreams.batch.query_driver import QueryDriver
from kstreams.batch.stage_settings import QuerySettings
from kstreams.batch.task_counts import count_partitions, count_records
from kstreams.checkpoint.resume import positions_after
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import OpenedQuery, open_for_running
from kstreams.connection import TopicEnds
from kstreams.embedded.connection import Embedded
from kstreams.errors import CompileError
from kstreams.global_tables.opening import open_global_tables
from kstreams.global_tables.versions import QueryTables
from kstreams.graph.framed_topics import prepare_topics
from kstreams.ids import TopicPartition
from kstreams.spark.app_parts import AppParts
from kstreams.spark.early_jvm import EarlyJvm
from kstreams.spark.executor_check import check_executors
from kstreams.spark.packages import ship
from kstreams.spark.pipeline import Pipeline
from kstreams.spark.session import (
    app_session,
    executor_cores,
    is_local,
    query_session,
)
from kstreams.state.log.commits import SEED, Commit
from kstreams.telemetry.outline import Outline
from kstreams.telemetry.watching import OpenApp, OpenQuery

__all__ = ("Executors", "make_pipeline", "start")


@dataclass(frozen=True)
class Executors:
    """What an app has of Spark's executors.

    Attributes:
        width: Spark tasks of one stage at most.
        at_once: How many tasks one executor runs at the same time.
        import_path: Folders of the user's modules there: archives that Spark has unpacked,
            or the driver's own folders where the executors are this very process.
        are_ours: Whether they are this very process, and one query alone uses them.
    """

    width: int
    at_once: int
    import_path: tuple[str, ...] = ()
    are_ours: bool = False


def start(
    settings: AppSettings, parts: AppParts, early: EarlyJvm | None = None
) -> tuple[Pipeline, ...]:
    """Start an app: take its checkpoint, see what is there, and begin its queries.

    The lock is held afterwards, also when a later step raises; the caller releases it.

    Args:
        settings: The app's, checked.
        parts: The objects that it is made of.
        early: The JVM that was begun for it.

    Returns:
        The running queries, in the topology's order.

    Raises:
        AppLockedError: Another app runs on the checkpoint.
        CompileError: Topics and checkpoint do not go together, or executors do not see the
            state's log.
        UnknownTopicError: A source's topic does not exist.
        PartitionCountError: Topics of one group differ.
        CheckpointMismatchError: The checkpoint is another app's, or state in it would be
            emptied or misread.
        LogMismatchError: The durable log is not the one that the checkpoint stands on.
        NoCheckpointError: The app whose table is to be read is not there.
        RegistryUnavailableError: A registry that serdes need does not answer.
    """
    _check_place(settings, parts)
    parts.lock.acquire()
    parts.watchers.begin()
    prepare_topics(parts.topology)
    counts = count_partitions(parts.connection, parts.topology)
    tasks = counts.tasks
    session = parts.spark or app_session(settings.app_id, config=settings.config, early=early)
    queries = open_for_running(
        settings,
        parts.topology,
        tasks,
        run=parts.run,
        publish=partial(_publish, settings, parts),
        records=partial(count_records, parts.connection, parts.topology),
        uneven=counts.uneven,
    )
    executors = _prepare_executors(session, settings, queries)
    changelogs = open_changelogs(parts.connection, parts.topology, tasks)
    tables = open_global_tables(settings, parts.topology, queries)
    pipelines = tuple(
        make_pipeline(
            settings, parts, query, tasks, executors, changelogs, tables=tables[query.name]
        )
        for query in queries
    )
    _begin(pipelines, session)
    parts.watchers.opened(
        OpenApp(
            Outline.of(parts.topology, tasks),
            {pipeline.name: _open_query(pipeline) for pipeline in pipelines},
            parts.connection,
            session.sparkContext.uiWebUrl,
        )
    )
    return pipelines


def _open_query(pipeline: Pipeline) -> OpenQuery:
    """Return a query, for those who watch the app from other threads."""
    driver = pipeline.driver

    def committed() -> int | None:
        last = driver.last
        return None if last is None or last.batch == SEED else last.batch

    def positions() -> Mapping[TopicPartition, int]:
        last = driver.last
        return dict(driver.planner.positions) if last is None else positions_after(last)

    return OpenQuery(pipeline.sources, lambda: driver.progress.doing, committed, positions)


def _publish(settings: AppSettings, parts: AppParts, commit: Commit) -> None:
    """Publish what a crash may have left of a commit, for a query that does not run yet."""
    log = settings.state.log or settings.checkpoint.log
    publish_commit(parts.connection, parts.topology, commit, log.open())


def _check_place(settings: AppSettings, parts: AppParts) -> None:
    """Refuse a checkpoint that outlives the machine beside topics that do not."""
    connection = parts.connection
    if connection is NO_TOPICS:
        check_no_topics(parts.topology)
    elif settings.checkpoint.directory is None and isinstance(connection, Embedded):
        raise CompileError(
            f"checkpoint {settings.checkpoint} is in an object storage, and the topics are files "
            "of this machine's: embedded topics are for one machine",
            hint="name a directory as the checkpoint, or give the app topics on Kafka.",
        )


def _prepare_executors(
    session: SparkSession, settings: AppSettings, queries: Sequence[OpenedQuery]
) -> Executors:
    """Make sure that executors have what they need, and send them the user's packages."""
    width = settings.parallelism or session.sparkContext.defaultParallelism
    if is_local(session):
        import_path = own_folders()
    else:
        import_path = ship(session, settings.packages)
        check_executors(session, queries[0].log, queries[0].commits.prefix, import_path)
    are_ours = is_local(session) and len(queries) == 1
    return Executors(width, executor_cores(session), import_path, are_ours)


def make_pipeline(
    settings: AppSettings,
    parts: AppParts,
    opened: OpenedQuery,
    tasks: Mapping[str, int],
    executors: Executors,
    changelogs: Mapping[str, TopicEnds],
    *,
    tables: QueryTables | None = None,
) -> Pipeline:
    """Make one query ready to run, at the positions where it goes on.

    Args:
        settings: The app's.
        parts: The app's.
        opened: The query's parts of the checkpoint.
        tasks: Number of tasks by group.
        executors: Where its tasks run.
        changelogs: By store, its changelog and where it ends.
        tables: The global tables that it reads and writes.
    """
    sources = [node for group in opened.groups for node in group.sources]
    feed = feed_of(parts.connection, sources, reader=opened.scope)
    query = QuerySettings.of(
        settings.for_workers(),
        opened,
        feed.io,
        tasks,
        width=executors.width,
        fingerprint=parts.topology.fingerprint(),
        changelogs=changelogs,
    )
    driver = QueryDriver(
        query,
        opened,
        feed,
        clock=parts.clock,
        fence=parts.lock.check,
        run=parts.run,
        tables=tables,
    )
    return Pipeline(
        query,
        driver,
        parts,
        import_path=executors.import_path,
        pinned=query.width <= executors.at_once,
        standing=executors.are_ours,
    )


def _begin(pipelines: Sequence[Pipeline], session: SparkSession) -> None:
    """Begin all queries, or none."""
    try:
        for pipeline in pipelines:
            pipeline.start(query_session(session))
    except BaseException:
        for pipeline in pipelines:
            pipeline.stop(timedelta(0))
        raise
