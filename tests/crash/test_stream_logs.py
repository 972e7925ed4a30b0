"""Crashes of an app that reads streams: each entry counts once, as planned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis as client

from devtools.servers.rabbit import RabbitServer
from devtools.servers.redis import RedisServer
from kstreams import TEXT, Topology, TopologyBuilder
from kstreams.partitioner import partition_of
from kstreams.sources import Log
from kstreams.state import Memory
from kstreams.state.log.directory import Directory
from kstreams_rabbitmq import RabbitStreamLog
from kstreams_redis import RedisStreamLog, numbering
from tests.support.crash.failpoints import Point
from tests.support.crash.harness import Harness, Recovery
from tests.support.crash.marking_app import COUNTS, LAST, MARKS, OUT, PARTITIONS, Mark
from tests.support.sinks.rabbitmq_streams import Place

POINTS = (
    Point("found-and-not-numbered", "before index", dies="driver"),
    Point("numbered-and-not-planned", "after index", dies="driver"),
    Point("amid-records", "process", nth=3),
    Point("all-done-and-no-commit", "before put commit", dies="driver"),
    Point("reply-of-commit-lost", "lost reply of put commit", dies="nobody"),
    Point("cut-and-not-run", "after replace plan", dies="driver", max_bytes=400),
)


class StreamHarness(Harness):
    """The app of the crash matrix, whose records come in streams; those of a key are in one stream.

    Attributes:
        log_of_streams: The source of the records.
        put: Appends a record to the stream of a partition.
    """

    log_of_streams: Log[str, str]
    put: Callable[[int, str, str], object]

    def append(self, records: Sequence[tuple[str, str]], number: int) -> None:
        for key, value in records:
            self.put(partition_of(key.encode(), PARTITIONS), key, value)

    def build(self) -> Topology:
        builder = TopologyBuilder("marking")
        words = builder.add_source("words", self.log_of_streams)
        node = builder.add_processor("mark", Mark, words, stores=[LAST, COUNTS, MARKS])
        builder.add_sink("marks", OUT, node)
        return builder.build()

    def behind(self, query: str | None = None) -> bool:
        found = [True]
        self.guarded(lambda: found.append(super(StreamHarness, self).behind(query)))
        return found[-1]


class RedisHarness(StreamHarness):
    """A harness with streams of Redis, whose entries are numbered by the app."""

    def __init__(self, server: RedisServer, *given: Any) -> None:
        name = f"words-{uuid4().hex[:8]}"
        streams = [f"{name}-{n}" for n in range(PARTITIONS)]
        self.log_of_streams = RedisStreamLog(
            server.url,
            name="words",
            streams=streams,
            key=TEXT,
            value=TEXT,
            key_field="word",
            value_field="what",
        )
        asked = client.Redis.from_url(server.url)
        self.put = lambda n, key, value: asked.xadd(streams[n], {"word": key, "what": value})
        super().__init__(*given)

    def _patch_once(self) -> None:
        super()._patch_once()

        def looked(*given: Any) -> Any:
            self.faults.reach("before index")
            found = numbering.look(*given)
            self.faults.reach("after index")
            return found

        self._patch.setattr("kstreams_redis.log_contents.look", looked)


class RabbitHarness(StreamHarness):
    """A harness with a super stream of RabbitMQ: the broker assigns offsets, one to the mark."""

    gaps = PARTITIONS

    def __init__(self, server: RabbitServer, *given: Any) -> None:
        parts = [Place(server.stream_url, server.url) for _ in range(PARTITIONS)]
        name = parts[0].bind(*parts[1:])
        self.log_of_streams = RabbitStreamLog(
            server.stream_url,
            name="words",
            stream=name,
            super_stream=True,
            key=TEXT,
            value=TEXT,
            key_property="word",
        )
        self.put = lambda n, key, value: parts[n].add_by_amqp(value.encode(), {"word": key})
        super().__init__(*given)


@pytest.mark.slow
@pytest.mark.parametrize("recovery", ["retry", "restart"])
@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_each_redis_entry_counts_once_after_a_crash(
    point: Point,
    recovery: Recovery,
    redis_server: RedisServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = Memory(directory=str(tmp_path / "local"))
    log = Directory(str(tmp_path / "log"))
    harness = RedisHarness(redis_server, tmp_path, state, log, point, recovery, monkeypatch)
    harness.die_and_go_on(before=1)


@pytest.mark.connectors
@pytest.mark.parametrize("recovery", ["retry", "restart"])
@pytest.mark.parametrize("point", POINTS[2:], ids=lambda point: point.name)
def test_each_rabbitmq_message_counts_once_after_a_crash(
    point: Point,
    recovery: Recovery,
    rabbit: RabbitServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = Memory(directory=str(tmp_path / "local"))
    log = Directory(str(tmp_path / "log"))
    harness = RabbitHarness(rabbit, tmp_path, state, log, point, recovery, monkeypatch)
    harness.die_and_go_on(before=1)
