"""An app whose committed batches can be run again: its checkpoint, topology and topics."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kstreams.batch.open_feed import feed_of
from kstreams.batch.stage_settings import QuerySettings
from kstreams.checkpoint.app_settings import AppSettings
from kstreams.checkpoint.checkpoint import Checkpoint, query_name
from kstreams.checkpoint.opening import OpenedQuery, opened_query
from kstreams.connection import Connection
from kstreams.errors import CheckpointMismatchError
from kstreams.explain.outside_calls import check_outside_calls, quiet_group
from kstreams.explain.unwritten import ReadOnlyIO
from kstreams.global_tables.opening import open_global_tables
from kstreams.global_tables.versions import QueryTables
from kstreams.graph.topology import Topology
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.objects import ObjectStoreSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ("ReplayedApp", "ReplayedQuery")


@dataclass(frozen=True)
class ReplayedQuery:
    """One query, ready to run its batches again.

    Attributes:
        opened: Its parts of the checkpoint.
        settings: What its tasks know; whose `io` writes nothing.
        tables: The global tables that it reads.
    """

    opened: OpenedQuery
    settings: QuerySettings
    tables: QueryTables


@dataclass(frozen=True)
class ReplayedApp:
    """An app, whether it runs or not; nothing of it is changed, and no lock is taken.

    Args:
        checkpoint: The app's.
        topology: What it runs.
        connection: Where its topics are.
        log: Where its durable log is.
        repeat_calls: Whether parties outside may be asked once more.
    """

    checkpoint: Checkpoint
    topology: Topology
    connection: Connection
    log: ObjectStoreSettings
    repeat_calls: bool = False

    @cached_property
    def _opened(self) -> Mapping[str, OpenedQuery]:
        """The queries by name; `CheckpointMismatchError` where they are another topology's."""
        if self.checkpoint.shape != self.topology.shape():
            raise CheckpointMismatchError(
                f"the topology is not the one that app {self.checkpoint.app!r} has run last",
                hint="give the topology that the app runs. After an upgrade, batches of before "
                "it cannot be run again.",
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
            ReplayError: It would call outside.
            LogMismatchError: The durable log is not the app's.
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
