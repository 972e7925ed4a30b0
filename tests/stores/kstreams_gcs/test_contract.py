"""A bucket satisfies the contracts of object stores, of logs, and of sinks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path

import pytest

from devtools.servers.gcs import GcsBucket
from kstreams import TEXT
from kstreams.sinks import Sink
from kstreams.sources import Lines, Log
from kstreams.testing import LogContract, ObjectStoreContract, SinkContract
from kstreams_gcs import objects
from kstreams_gcs.store import GcsObjectStore
from kstreams_objects import Columns, JsonLines, Objects

pytestmark = [pytest.mark.slow, pytest.mark.connectors]


class TestStore(ObjectStoreContract):
    races = 5

    @pytest.fixture(autouse=True)
    def _bucket(self, gcs: GcsBucket) -> None:
        self.bucket = gcs

    def open(self, place: Path) -> GcsObjectStore:
        return self.bucket.settings("/".join(place.parts[-2:])).open()


class TestLog(LogContract[None, str]):
    @pytest.fixture(autouse=True)
    def _place(self, gcs: GcsBucket, prefix: str) -> None:
        self.bucket = gcs
        self.prefix = prefix
        self.numbers = count()

    def make(self) -> Log[None, str]:
        return objects("lines", self.bucket.settings(self.prefix), Lines(TEXT), partitions=2)

    def add(self, values: Sequence[str]) -> None:
        key = f"{self.prefix}/day={next(self.numbers):03}/part.txt"
        self.bucket.put(key, "\n".join(values).encode())


def _row(word: str, total: int) -> Columns:
    return {"word": word, "total": total}


class TestSink(SinkContract):
    keeps_last = False

    @pytest.fixture(autouse=True)
    def _place(self, gcs: GcsBucket, prefix: str) -> None:
        self.bucket = gcs
        self.prefix = prefix

    def make(self) -> Sink[str, int]:
        return Objects(self.bucket.settings(self.prefix), format=JsonLines(), row=_row)

    def seen(self) -> Iterable[tuple[str, int]]:
        for key in self.bucket.keys(f"{self.prefix}/"):
            if not key.startswith(f"{self.prefix}/_"):
                for line in self.bucket.get(key).splitlines():
                    found = json.loads(line)
                    yield found["word"], found["total"]
