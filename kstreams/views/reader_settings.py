"""The settings of a view's reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from kstreams.clock import Clock
from kstreams.errors import PluginError
from kstreams.partitioner import Partitioner
from kstreams.plugins import load_plugin
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.working import StateBackend
from kstreams.views.state_source import StateSource

__all__ = ("ReaderSettings",)

_IN_MEMORY_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class ReaderSettings:
    """The settings of a reader; `View` documents those with the same name.

    Attributes:
        in_background: Background mode: whether a background thread calls `Reader.advance`; reads
            then use the newest version that is ready.
        kept: Number of versions before the newest that stay readable; only in the background mode.
    """

    source: StateSource
    as_of: int | str | None
    max_age_ms: int
    backend: StateBackend | None
    partitioner: Partitioner | None
    clock: Clock
    in_background: bool = False
    kept: int = 0

    def backend_for(self, state_bytes: int) -> StateBackend:
        """Return the configured backend; by default memory.

        The default is RocksDB, if it is installed, for state of more than 64 MiB.
        """
        if self.backend is not None:
            return self.backend
        if state_bytes <= _IN_MEMORY_BYTES:
            return Memory()
        try:
            make = load_plugin("kstreams.stores", "rocksdb")
        except (PluginError, ImportError):
            return Memory()
        return cast("Callable[[], StateBackend]", make)()
