"""Find the global tables of an app that is about to run."""

from __future__ import annotations

from collections.abc import Sequence

from kstreams.checkpoint.savepoint.store_place import checkpoint_of
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import OpenedQuery
from kstreams.errors import KStreamsError
from kstreams.global_tables.sources import AppTableSource, OwnTableSource, TableSource
from kstreams.global_tables.table_version import TablePlace
from kstreams.global_tables.versions import GlobalVersions, QueryTables
from kstreams.graph.global_tables import AppTable, GlobalDefinition
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.partitioner import Partitioner

__all__ = ("app_table_source", "open_global_tables")


def open_global_tables(
    settings: AppSettings, topology: Topology, queries: Sequence[OpenedQuery]
) -> dict[str, QueryTables]:
    """Return the global tables of each query, by query name.

    Args:
        settings: The settings of the app.
        topology: The topology of the app.
        queries: The opened queries of the app.

    Raises:
        NoCheckpointError: The app that owns a table has no checkpoint.
        CheckpointMismatchError: The app that owns a table has no such table.
    """
    sources: dict[str, TableSource] = {}
    writers: dict[str, set[str]] = {}
    for table in topology.globals:
        if table.app is not None:
            sources[table.store.name] = app_table_source(table, table.app)
            continue
        group = topology.group_of_store(table.store.name)
        query = next(each for each in queries if group in each.groups)
        writers.setdefault(query.name, set()).add(table.store.name)
        sources[table.store.name] = _own(table, group, query)
    reads = {
        query.name: {spec.name for group in query.groups for spec in group.global_stores}
        for query in queries
    }
    lasts = {query.name: query.resumed.last for query in queries}
    versions = GlobalVersions(
        sources,
        writers,
        {query.name: query.plans for query in queries if reads[query.name]},
        {name: last.batch for name, last in lasts.items() if last is not None},
        settings.state,
    )
    return {query.name: versions.of(query.name, reads[query.name]) for query in queries}


def app_table_source(table: GlobalDefinition, app: AppTable[object, object]) -> AppTableSource:
    """Return the source of the versions of another app's table.

    Raises:
        NoCheckpointError: The app has no checkpoint; the error names the table.
        CheckpointMismatchError: The app has no such table.
    """
    try:
        return AppTableSource(checkpoint_of(app.checkpoint), app.log, table.store, app.partitioner)
    except KStreamsError as exc:
        exc.at(store=table.store.name)
        raise


def _own(table: GlobalDefinition, group: PartitionGroup, query: OpenedQuery) -> OwnTableSource:
    checkpoint = query.checkpoint
    place = TablePlace(
        table.store.name,
        checkpoint.log_name(query.name),
        query.log,
        query.state_name,
        group.name,
        checkpoint.tasks[group.name],
        _partitioner(table, group),
    )
    return OwnTableSource(place, query.commits, query.resumed.last)


def _partitioner(table: GlobalDefinition, group: PartitionGroup) -> Partitioner | None:
    """Return the partitioner of the table's topic; None if topic and store key serdes differ."""
    (topic,) = (node.topic for node in group.sources)
    return topic.partitioner if topic.key.name == table.store.key.name else None
