"""The directory store fulfils the contract of object stores."""

from __future__ import annotations

from pathlib import Path

from kstreams.state.log.directory import DirectoryObjectStore
from kstreams_testing.object_store import ObjectStoreContract


class TestDirectory(ObjectStoreContract):
    def open(self, place: Path) -> DirectoryObjectStore:
        return DirectoryObjectStore(place / "log")
