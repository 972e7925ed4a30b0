"""Streams of Redis as a source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Generic, Literal, TypeVar

from kstreams import Serde
from kstreams.sources import LogContents, LogReader
from kstreams_redis.entries import EntryForm
from kstreams_redis.log_contents import StreamContents
from kstreams_redis.log_reader import StreamReader
from kstreams_redis.server import Server, check_url

__all__ = ("RedisStreamLog",)

K = TypeVar("K")
"""Type of the keys."""
V = TypeVar("V")
"""Type of the values."""


@dataclass(frozen=True, repr=False)
class RedisStreamLog(Generic[K, V]):
    """Redis streams as a `Log`: each stream is a partition, each entry a record.

    An atomic script numbers each entry once, for all readers. The numbers are in a hash next to the
    stream, about 5 bytes per entry. A consumer group without consumers marks the numbered stream. A
    record's time is the time in its entry's id. Other readers and groups of the stream are not
    affected.

    If entries are deleted or trimmed before they are read, the app fails with an error that states
    their number, unless `deleted` is `"pass"`. The number is exact on Redis 7 and later; before, it
    is "at least 1" if a stream was trimmed past all numbered entries. The server must be 6.2 or
    later, a single server and not a cluster, and allow the app to run scripts and write the hash.
    The guarantee depends on the durability of the server: numbers that a crash or a failover loses
    may be assigned again, to other entries.

    Args:
        url: The URL of the server; see `RedisKeys`.
        name: The name of the log's positions in checkpoints.
        streams: The keys of the streams, one per partition; their order must never change. A stream
            that does not exist is created, empty.
        key: The serde of the keys; `NONE` without a `key_field`.
        value: The serde of the values.
        key_field: The field with the key.
        value_field: The field with the value; all others are headers. By default, the value is a
            JSON object of all fields except the key, as texts.
        deleted: `"fail"`, or `"pass"`: deleted entries are skipped with a warning. A batch that is
            read again may then have fewer records than before.
        index: The key prefix of the hashes with the numbers of entries, one hash per stream; all
            readers with the same prefix read the same offsets.
        look_every: The interval between polls for new entries; zero polls at each batch.
        give_up_after: The maximum time to retry while the server does not answer.

    Raises:
        ValueError: The URL is invalid, no stream is given or one is given twice, or a time is
            negative.

    Source: a topic whose partitions are streams; Redis assigns ids, the library assigns offsets.
    """

    url: str = field(repr=False)
    _: KW_ONLY
    name: str
    streams: Sequence[str]
    key: Serde[K]
    value: Serde[V]
    key_field: str | None = None
    value_field: str | None = None
    deleted: Literal["fail", "pass"] = "fail"
    index: str = "kstreams:log:"
    look_every: timedelta = timedelta(0)
    give_up_after: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        """Check the arguments."""
        check_url(self.url)
        object.__setattr__(self, "streams", tuple(self.streams))
        if not all(self.streams) or len(set(self.streams)) != max(len(self.streams), 1):
            raise ValueError(
                f"log {self.name!r}: streams={self.streams}: expected one or more names, each once"
            )
        if self.deleted not in ("fail", "pass"):
            raise ValueError(f"log {self.name!r}: deleted={self.deleted!r}: give 'fail' or 'pass'")
        if not self.index or min(self.look_every, self.give_up_after) < timedelta(0):
            raise ValueError(
                f"log {self.name!r}: index={self.index!r} must not be empty, and "
                f"look_every={self.look_every} and give_up_after={self.give_up_after} must not be "
                "negative"
            )

    def __repr__(self) -> str:
        """Return a text without the address."""
        return f"RedisStreamLog(name={self.name!r}, streams={self.streams!r})"

    @property
    def label(self) -> str:
        """The label of the source or sink in diagrams of the topology."""
        more = f" and {len(self.streams) - 1} more" if len(self.streams) > 1 else ""
        return f"redis stream {self.streams[0]}{more}"

    def contents(self) -> LogContents:
        """Return the driver's reader of the log's offsets, which also plans its batches."""
        every = self.look_every.total_seconds()
        return StreamContents(self._server(), self.streams, self.index, every)

    def reader(self) -> LogReader:
        """Return a reader of the log's records in a worker."""
        form = EntryForm(self.key_field, self.value_field)
        passes = self.deleted == "pass"
        return StreamReader(self._server(), self.streams, self.index, form, passes=passes)

    def _server(self) -> Server:
        return Server(self.url, self.give_up_after, read=True)
