"""Redis and RabbitMQ streams as sources and sinks: rows per second and processor time of a task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

import pika

from benchmarks.measured import Times
from devtools.servers.rabbit import RabbitServer
from devtools.servers.redis import RedisServer
from kstreams import NONE, TEXT, Record
from kstreams.sinks import CommitId, Sink
from kstreams.sources import Log
from kstreams_rabbitmq import RabbitStream, RabbitStreamLog
from kstreams_redis import RedisStream, RedisStreamLog
from kstreams_testing.sink import GivenResults

__all__ = ("in_and_out",)

_BATCH = 20_000
_UNBOUNDED = 1 << 60


def in_and_out(count: int) -> Iterator[tuple[str, float]]:
    """Yield the figures for small records in batches of 20,000.

    "written" covers staging and publishing, "found" the driver's search for offsets before it plans
    a batch, and "read" the reads of a task. Seconds are processor time of the task, without the
    server.
    """
    with RedisServer() as server:
        sink: RedisStream[str, int] = RedisStream(
            server.url, stream="rows", fields=lambda word, total: {"word": word, "total": total}
        )
        log = RedisStreamLog(
            server.url, name="rows", streams=["rows"], key=NONE, value=TEXT, value_field="word"
        )
        yield from _both("Redis", sink, log, count)
    with RabbitServer() as broker:
        with closing(pika.BlockingConnection(pika.URLParameters(broker.url))) as connection:
            about = {"x-queue-type": "stream"}
            connection.channel().queue_declare("rows", durable=True, arguments=about)
        url = broker.stream_url
        messages: RabbitStream[str, int] = RabbitStream(
            url, stream="rows", body=lambda word, total: b"%s=%d" % (word.encode(), total)
        )
        stream = RabbitStreamLog(url, name="rows", stream="rows", key=NONE, value=TEXT)
        yield from _both("RabbitMQ", messages, stream, count)


def _both(
    place: str, sink: Sink[str, int], log: Log[None, str], count: int
) -> Iterator[tuple[str, float]]:
    written, found, read = Times(), Times(), Times()
    bounds = [*range(0, count, _BATCH), count]
    sink.prepare()
    with closing(sink.open()) as writer:
        for batch, (start, stop) in enumerate(pairwise(bounds)):
            records = [Record(f"word-{n}", n, 1_000 + n) for n in range(start, stop)]
            commit = CommitId("epoch", "out", 0, batch)
            with written:
                sink.publish({commit: writer.write(GivenResults(records), commit)})
    yield from _figures(f"{place}, written", written, count)
    rows = 0
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        with found:
            _, end = contents.log_id, contents.ends()[0]
        yield from _figures(f"{place}, found", found, count)
        for start, stop in pairwise([*range(0, end, _BATCH), end]):
            for piece in contents.pieces(0, start, stop):
                with read:
                    rows += reader.read(piece, max_bytes=_UNBOUNDED).num_rows
    if rows != count:
        raise RuntimeError(f"{rows} of {count} rows were read from {place}")
    yield from _figures(f"{place}, read", read, count)


def _figures(name: str, times: Times, count: int) -> Iterator[tuple[str, float]]:
    yield f"{name}: rows a second", count / sum(times.wall)
    yield f"{name}: processor s a million rows", sum(times.cpu) / count * 1e6
