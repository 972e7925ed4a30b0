"""The common sink tests on Redis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

import pytest

from kstreams.sinks import Sink
from kstreams_redis import RedisKeys, RedisStream
from tests.support.sinks.common_sink_tests import SECRET, Address, SinkTraps, address_of
from tests.support.sinks.redis_database import Place

pytestmark = pytest.mark.connectors


class _OnRedis(SinkTraps):
    bad: ClassVar[Mapping[str, object]] = {
        "too large": b"x" * 2_000_000,
        "of another type": [1],
        "a bool": True,
    }

    @pytest.fixture(autouse=True)
    def _place(self, redis: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("kstreams_redis.values._LARGEST_BYTES", 1 << 20)
        self.place = redis

    def address(self) -> Address:
        return address_of(self.place.url)

    def sink(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        login = urlsplit(self.place.url).netloc.rpartition("@")[0]
        return self.made(f"redis://{login}@{address[0]}:{address[1]}/0", give_up_after)

    def with_secret(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        url = f"redis://app:{quote(SECRET, safe='')}@{address[0]}:{address[1]}/0"
        return self.made(url, give_up_after)

    def made(self, url: str, give_up_after: timedelta) -> Sink[str, Any]:
        raise NotImplementedError


class TestKeys(_OnRedis):
    def made(self, url: str, give_up_after: timedelta) -> Sink[str, Any]:
        return RedisKeys(url, value=_number, prefix="totals:", give_up_after=give_up_after)

    def seen(self) -> Iterable[tuple[str, Any]]:
        return [(key, int(self.place.ask("GET", f"totals:{key}"))) for key in self.place.names()]


class TestStream(_OnRedis):
    keeps_last = False

    def made(self, url: str, give_up_after: timedelta) -> Sink[str, Any]:
        return RedisStream(url, stream="s", fields=_fields, give_up_after=give_up_after)

    def seen(self) -> Iterable[tuple[str, Any]]:
        return [(entry["k"], int(entry["n"])) for entry in self.place.entries("s")]


def _number(_key: str, value: Any) -> Any:
    return value


def _fields(key: str, value: Any) -> dict[str, Any]:
    return {"k": key, "n": value}
