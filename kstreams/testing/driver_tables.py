"""How the tasks of the test driver read global tables: at what was committed last."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from kstreams.global_tables.open_tables import OpenTables
from kstreams.global_tables.opening import app_table_source
from kstreams.global_tables.sources import AppTableSource
from kstreams.global_tables.table import across, moving
from kstreams.graph.global_tables import GlobalDefinition
from kstreams.graph.topology import Topology
from kstreams.state.backend.memory import Memory
from kstreams.state.stores.table_access import TableAccess
from kstreams.testing.driver_task import DriverTask

__all__ = ("DriverTables",)


class DriverTables:
    """The global tables of a topology.

    A batch is kept before the next one begins, so that a table of the topology is simply read
    from its tasks; another app's is brought to its newest commit before each batch.

    Args:
        topology: What is run.
        tasks: Returns the tasks of a group.

    Raises:
        NoCheckpointError: The app whose table is to be read is not there.
    """

    def __init__(self, topology: Topology, tasks: Callable[[str], list[DriverTask]]) -> None:
        self._topology = topology
        self._tasks = tasks
        self._tables = {table.store.name: table for table in topology.globals}
        self._apps: dict[str, AppTableSource] = {
            name: app_table_source(table, table.app)
            for name, table in self._tables.items()
            if table.app is not None
        }
        self._opened = OpenTables(lambda settings: settings.open())
        self._now: dict[str, TableAccess] = {}
        self.refresh()

    def of(self, store: str) -> TableAccess:
        """Return what reads a table, from batch to batch."""
        return moving(self._tables[store].store, lambda: self._present(store))

    def refresh(self) -> None:
        """Bring the tables of other apps to what these have committed."""
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
