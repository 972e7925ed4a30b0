"""The sinks pass the test suite for sinks, and the source the one for logs, on a real server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from kstreams import NONE, TEXT, Record
from kstreams.sinks import Sink
from kstreams.sources import Log
from kstreams.testing import LogContract, SinkContract
from kstreams_redis import Fields, RedisKeys, RedisStream, RedisStreamLog
from tests.support.sinks.redis_database import Place

pytestmark = pytest.mark.slow


class _OnRedis(SinkContract):
    bad = Record("a", 1_000, 5)

    @pytest.fixture(autouse=True)
    def _place(self, redis: Place) -> None:
        self.place = redis


class TestKeys(_OnRedis):
    def make(self) -> Sink[str, int]:
        return RedisKeys(self.place.url, value=_small, prefix="totals:")

    def seen(self) -> Iterable[tuple[str, int]]:
        return [(key, int(self.place.ask("GET", f"totals:{key}"))) for key in self.place.names()]


class TestHashes(_OnRedis):
    def make(self) -> Sink[str, int]:
        return RedisKeys(self.place.url, value=_fields, prefix="totals:")

    def seen(self) -> Iterable[tuple[str, int]]:
        return [
            (key, int(self.place.ask("HGET", f"totals:{key}", "total")))
            for key in self.place.names()
        ]


class TestStream(_OnRedis):
    keeps_last = False

    def make(self) -> Sink[str, int]:
        return RedisStream(self.place.url, stream="totals", fields=_fields)

    def seen(self) -> Iterable[tuple[str, int]]:
        return [(entry["word"], int(entry["total"])) for entry in self.place.entries("totals")]


class TestStreamLog(LogContract[None, str]):
    streams: Sequence[str] = ("orders",)

    @pytest.fixture(autouse=True)
    def _place(self, redis: Place) -> None:
        self.place = redis

    def make(self) -> Log[None, str]:
        return RedisStreamLog(
            self.place.url,
            name="orders",
            streams=self.streams,
            key=NONE,
            value=TEXT,
            value_field="value",
        )

    def add(self, values: Sequence[str]) -> None:
        for number, value in enumerate(values):
            self.place.ask("XADD", self.streams[number % len(self.streams)], "*", "value", value)


class TestStreamsLog(TestStreamLog):
    streams = ("orders-0", "orders-1")


def _small(_word: str, total: int) -> int:
    if total >= 1_000:
        raise ValueError("too large")
    return total


def _fields(word: str, total: int) -> Fields:
    return {"word": word, "total": _small(word, total)}
