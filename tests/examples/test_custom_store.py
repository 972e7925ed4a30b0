from __future__ import annotations

from pathlib import Path

from examples.custom_store import Sqlite
from kstreams.state.backend.working import StateBackend
from kstreams.testing.working_store import WorkingStoreContract


class TestSqlite(WorkingStoreContract):
    def backend(self) -> StateBackend:
        return Sqlite()


def test_the_example_fits_on_two_screens() -> None:
    example = Path(__file__, "../../../examples/custom_store.py").resolve()
    assert len(example.read_text().splitlines()) < 100
