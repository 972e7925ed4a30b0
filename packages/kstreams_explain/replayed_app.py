"""An app whose committed batches can be replayed: its checkpoint, topology and topics."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kstreams.batch.io.open_feed import feed_of
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.checkpoint import Checkpoint, query_name
from kstreams.checkpoint.parameter_notes import misread_stores
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import OpenedQuery, opened_query
from kstreams.connection import Connection
from kstreams.errors import CheckpointMismatchError
from kstreams.global_tables.opening import open_global_tables
from kstreams.global_tables.versions import QueryTables
from kstreams.graph.topology import Topology, parameters_in, without_parameters
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams_explain.outside_calls import check_outside_calls, quiet_group
from kstreams_explain.unwritten import ReadOnlyIO

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ("ReplayedApp", "ReplayedQuery")


@dataclass(frozen=True)
class ReplayedQuery:
    """A query, open for replays.

    Attributes:
        opened: The query's plans, commits and durable log.
        settings: Settings of the query's tasks, with an `io` that writes nothing.
        tables: The global tables of the query.
    """

    opened: OpenedQuery
    settings: QuerySettings
    tables: QueryTables


@dataclass(frozen=True)
class ReplayedApp:
    """An app, running or stopped, whose batches can be replayed without locking the app.

    Args:
        checkpoint: The checkpoint of the app.
        topology: The topology of the app.
        connection: The connection to its topics.
        log: Settings of its durable log.
        repeat_calls: Whether a replay may call external services again.
    """

    checkpoint: Checkpoint
    topology: Topology
    connection: Connection
    log: ObjectStoreSettings
    repeat_calls: bool = False

    @cached_property
    def _opened(self) -> Mapping[str, OpenedQuery]:
        """The queries by name; `CheckpointMismatchError` if the app has run another topology."""
        recorded, shape = self.checkpoint.shape, self.topology.shape()
        is_other = without_parameters(recorded) != without_parameters(shape)
        if is_other or any(misread_stores(parameters_in(recorded), parameters_in(shape))):
            raise CheckpointMismatchError(
                f"the topology is not the last topology that app {self.checkpoint.app!r} has run",
                hint="pass the topology that the app runs. Batches before an upgrade cannot be "
                "replayed.",
            )
        return {
            query_name(groups): opened_query(
                self.checkpoint, tuple(map(quiet_group, groups)), self.log
            )
            for groups in self.topology.pipelines()
        }

    @contextmanager
    def query(self, name: str) -> Iterator[ReplayedQuery]:
        """Open a query for as long as the context lasts.

        Raises:
            CheckpointMismatchError: The topology is not the one that has run.
            ReplayError: A replay would call an external service.
            LogMismatchError: The durable log does not belong to the app.
        """
        opened = self._opened[name]
        if not self.repeat_calls:
            check_outside_calls(opened.groups)
        settings = AppSettings(
            self.checkpoint.app,
            self.checkpoint.home,
            state=Memory(log=self.log),
            max_bytes_per_batch=sys.maxsize,
        )
        sources = [node for group in opened.groups for node in group.sources]
        tables = open_global_tables(settings, self.topology, list(self._opened.values()))
        with closing(feed_of(self.connection, sources)) as feed:
            yield ReplayedQuery(
                opened,
                QuerySettings.of(
                    settings,
                    opened,
                    ReadOnlyIO(feed.io),
                    self.checkpoint.tasks,
                    width=1,
                    fingerprint=self.topology.fingerprint(),
                ),
                tables[name],
            )
