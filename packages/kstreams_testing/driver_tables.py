"""Global tables of the test driver, at their last commit."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kstreams.errors import NoCheckpointError
from kstreams.global_tables.open_tables import OpenTables
from kstreams.global_tables.opening import app_table_source
from kstreams.global_tables.sources import AppTableSource
from kstreams.global_tables.table import across, moving
from kstreams.graph.global_tables import GlobalDefinition
from kstreams.graph.topology import Topology
from kstreams.state.backend.memory import Memory, MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_access import TableAccess
from kstreams_testing.driver_task import DriverTask

__all__ = ("DriverTables",)


class DriverTables:
    """The global tables of a topology.

    Each batch is committed before the next one starts, so a table of the topology is read directly
    from its tasks. A table of another app is updated to its last commit before each batch.

    Args:
        topology: The topology.
        tasks: Returns the tasks of a group.

    Raises:
        CheckpointMismatchError: Another app does not have the table that the topology reads.
    """

    def __init__(self, topology: Topology, tasks: Callable[[str], list[DriverTask]]) -> None:
        self._topology = topology
        self._tasks = tasks
        self._tables = {table.store.name: table for table in topology.globals}
        self._apps: dict[str, AppTableSource] = {}
        self._missing: dict[str, NoCheckpointError] = {}
        for name, table in self._tables.items():
            if table.app is not None:
                try:
                    self._apps[name] = app_table_source(table, table.app)
                except NoCheckpointError as exc:  # a test may fill the table instead
                    self._missing[name] = exc
        self._opened = OpenTables(lambda settings: settings.open())
        self._now: dict[str, TableAccess] = {}
        self._filled: dict[str, Any] = {}
        self._read_apps()

    def is_of_app(self, store: str) -> bool:
        """Return whether a store is a table of another app."""
        table = self._tables.get(store)
        return table is not None and table.app is not None

    def fill(self, spec: StoreSpec[Any], rows: Mapping[Any, Any]) -> None:
        """Put rows into the table of another app, instead of reading the app's commits.

        Raises:
            StoreKindError: The store's kind cannot be filled.
        """
        name = spec.name
        self._apps.pop(name, None)
        self._missing.pop(name, None)
        store = self._filled.get(name)
        if store is None:
            own = self._tables[name].store
            store = self._filled[name] = own.open(Overlay(MemoryStore([name])))
            self._now[name] = own.kind.table(own, store)
        for key, value in rows.items():
            spec.kind.fill(store, key, value)

    def forget(self, store: str) -> None:
        """Discard the cached access to a table of the topology, because a test has filled it."""
        self._now.pop(store, None)

    def of(self, store: str) -> TableAccess:
        """Return the reader of a table; it remains valid for all batches."""
        return moving(self._tables[store].store, lambda: self._present(store))

    def refresh(self) -> None:
        """Update the tables of other apps to their last commits.

        Raises:
            NoCheckpointError: An app does not exist, and its table was not filled.
        """
        for missing in self._missing.values():
            raise missing.with_traceback(None)
        self._read_apps()

    def _read_apps(self) -> None:
        for name, source in self._apps.items():
            self._now[name] = self._opened.open(
                self._tables[name].store,
                source.at(source.newest()),
                backend=Memory(),
                home=_no_home,
                reader="driver",
            )

    def _present(self, store: str) -> TableAccess:
        found = self._now.get(store)
        if found is None:
            found = self._now[store] = self._own(self._tables[store])
        return found

    def _own(self, table: GlobalDefinition) -> TableAccess:
        spec, group = table.store, self._topology.group_of_store(table.store.name)
        parts = [spec.kind.table(spec, task.state.store(spec)) for task in self._tasks(group.name)]
        return across(spec, parts, group.sources[0].topic.partitioner)


def _no_home() -> Path:
    return Path(tempfile.gettempdir())
