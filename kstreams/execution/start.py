"""The start of an app, step by step: read `start` from top to bottom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

from kstreams.batch.changelogs import open_changelogs
from kstreams.batch.io.no_topics import NO_TOPICS, check_no_topics
from kstreams.batch.io.open_feed import feed_of, publish_commit
from kstreams.batch.query_driver import QueryDriver
from kstreams.batch.sweep_thread import SweepThread
from kstreams.batch.task_counts import count_partitions, count_records, topic_span
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.resume import positions_after
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import OpenedQuery, open_for_running
from kstreams.connection import TopicEnds
from kstreams.embedded.connection import Embedded
from kstreams.errors import CompileError
from kstreams.execution.app_parts import AppParts
from kstreams.execution.query_loop import QueryLoop
from kstreams.global_tables.opening import open_global_tables
from kstreams.global_tables.versions import QueryTables
from kstreams.graph.framed_topics import prepare_topics
from kstreams.ids import TopicPartition
from kstreams.state.log.commits import SEED, Commit
from kstreams.telemetry.outline import Outline
from kstreams.telemetry.watching import OpenApp, OpenQuery

__all__ = ("make_loop", "start")


def start(settings: AppSettings, parts: AppParts) -> tuple[QueryLoop, ...]:
    """Start an app: acquire its checkpoint, check topics and log, and start its queries.

    The lock stays acquired if a later step raises; the caller releases it.

    Args:
        settings: The checked settings of the app.
        parts: The shared objects of the app.

    Returns:
        The running queries, in the order of the topology.

    Raises:
        AppLockedError: Another app runs on the checkpoint.
        CompileError: Topics and checkpoint do not match, or executors cannot access the log of the
            state.
        UnknownTopicError: The topic of a source does not exist.
        PartitionCountError: The topics of a group have different partition counts.
        CheckpointMismatchError: The checkpoint belongs to another app, or its state would be
            emptied or misread.
        LogMismatchError: The durable log is not that of the checkpoint.
        NoCheckpointError: The app of a global table does not exist.
        RegistryUnavailableError: A registry that serdes need does not answer.
    """
    _check_place(settings, parts)
    parts.lock.acquire()
    parts.watchers.begin()
    prepare_topics(parts.topology)
    counts = count_partitions(parts.connection, parts.topology)
    tasks = counts.tasks
    parts.engine.start(settings)
    queries = open_for_running(
        settings,
        parts.topology,
        tasks,
        run=parts.run,
        publish=partial(_publish, settings, parts),
        records=partial(count_records, parts.connection, parts.topology),
        uneven=counts.uneven,
        span=partial(topic_span, parts.connection, parts.topology),
    )
    parts.engine.check(settings, queries[0])
    changelogs = open_changelogs(parts.connection, parts.topology, tasks)
    tables = open_global_tables(settings, parts.topology, queries)
    loops = tuple(
        make_loop(settings, parts, query, tasks, changelogs, tables=tables[query.name])
        for query in queries
    )
    _begin(loops)
    parts.watchers.opened(
        OpenApp(
            Outline.of(parts.topology, tasks),
            {loop.name: _open_query(loop) for loop in loops},
            parts.connection,
            parts.engine.web_url,
        )
    )
    return loops


def _open_query(loop: QueryLoop) -> OpenQuery:
    """Return the data of a query for the watchers of the app, which may call it in any thread."""
    driver = loop.driver

    def committed() -> int | None:
        last = driver.last
        return None if last is None or last.batch == SEED else last.batch

    def positions() -> Mapping[TopicPartition, int]:
        last = driver.last
        return dict(driver.planner.positions) if last is None else positions_after(last)

    return OpenQuery(loop.sources, lambda: driver.progress.doing, committed, positions)


def _publish(settings: AppSettings, parts: AppParts, commit: Commit) -> None:
    """Publish the remaining output of a commit after a crash, for a query that does not run yet."""
    log = settings.state.log or settings.checkpoint.log
    publish_commit(parts.connection, parts.topology, commit, log.open())


def _check_place(settings: AppSettings, parts: AppParts) -> None:
    """Reject topics without a connection, and embedded topics with a remote checkpoint."""
    connection = parts.connection
    if connection is NO_TOPICS:
        check_no_topics(parts.topology)
    elif settings.checkpoint.directory is None and isinstance(connection, Embedded):
        raise CompileError(
            f"checkpoint {settings.checkpoint} is in object storage, and the topics are files on "
            "this machine: embedded topics are for one machine",
            hint="pass a directory as checkpoint=, or give the app topics on Kafka.",
        )


def make_loop(
    settings: AppSettings,
    parts: AppParts,
    opened: OpenedQuery,
    tasks: Mapping[str, int],
    changelogs: Mapping[str, TopicEnds],
    *,
    tables: QueryTables | None = None,
) -> QueryLoop:
    """Create one query at the positions of its last commit.

    Args:
        settings: The settings of the app.
        parts: The shared objects of the app.
        opened: The checkpoint of the query.
        tasks: The number of tasks, by group.
        changelogs: By store, the topic id and end offsets of its changelog.
        tables: The global tables that the query reads and writes.
    """
    sources = [node for group in opened.groups for node in group.sources]
    feed = feed_of(parts.connection, sources, reader=opened.state_name)
    query = QuerySettings.of(
        settings.for_workers(),
        opened,
        feed.io,
        tasks,
        width=parts.engine.width,
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
        sweeps=SweepThread(query.name),
    )
    return QueryLoop(query, driver, parts, parts.engine.executor(query))


def _begin(loops: Sequence[QueryLoop]) -> None:
    """Start all queries; if one cannot be started, stop all."""
    try:
        for loop in loops:
            loop.start()
    except BaseException:
        for loop in loops:
            loop.stop(timedelta(0))
        raise
