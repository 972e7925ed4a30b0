"""The in-memory backend fulfils the contract of working stores."""

from __future__ import annotations

from kstreams.state.backend.memory import Memory
from kstreams_testing.working_store import WorkingStoreContract


class TestMemory(WorkingStoreContract):
    def backend(self) -> Memory:
        return Memory()
