"""The custom backend of the examples satisfies the contract of backends."""

from __future__ import annotations

from custom_store import Sqlite

from kstreams.state.backend.working import StateBackend
from kstreams_testing.working_store import WorkingStoreContract


class TestSqlite(WorkingStoreContract):
    def backend(self) -> StateBackend:
        return Sqlite()
