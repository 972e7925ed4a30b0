"""The test helper `ObjectDict` fulfils the contract of object stores."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from kstreams_testing.object_store import ObjectStoreContract
from tests.support.storage.counting_object_store import ObjectDict


class TestObjectDict(ObjectStoreContract):
    @pytest.fixture(autouse=True)
    def _places(self) -> None:
        self.places: defaultdict[Path, ObjectDict] = defaultdict(ObjectDict)

    def open(self, place: Path) -> ObjectDict:
        return self.places[place]
