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
    """Streams of Redis, as a `Log`: each is a partition, each entry a record.

    Entries get numbers when they are found, once for all who read them: in a hash beside the
    stream, about 5 bytes an entry, by a script that the server runs whole. A group without
    consumers marks the stream as the one that is numbered. A record's time is that of its
    entry's id. Other readers and groups of the stream are left alone.

    What is deleted or trimmed before it was read is an error, which counts it: exactly on Redis
    7 and later, which counts what was added; before, "at least 1" where a stream was trimmed past
    all that had numbers. The server must be 6.2 or later, one, not a cluster, and let the app
    run scripts and write its hash. A place keeps what it says as well as its server does: numbers
    that a crash or a failover takes back may be given again, to others.

    Args:
        url: As for `RedisKeys`.
        name: Of its positions in checkpoints.
        streams: The keys of the streams, one a partition; their order is never to be changed.
            One that is not there is made, empty.
        key: Serde of the keys; `NONE` without a `key_field`.
        value: Serde of the values.
        key_field: The field that has the key.
        value_field: The field that has the value; all others are headers. Unless given, the value
            is a JSON object of all fields but the key's, as texts.
        deleted: `"fail"`, or `"pass"`: what is gone is left out with a warning. A batch that is
            read again may then have fewer records than before.
        index: What the keys of the numbers begin with; all who read the streams by it read the
            same offsets.
        look_every: How often to look for new entries; zero is at each batch.
        give_up_after: How long to try again while the server does not answer.

    Raises:
        ValueError: The url is none, there is no stream or one twice, or a time is negative.

    Source: a topic whose partitions are streams; ids are what Redis gives, offsets are ours.
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
            raise ValueError(f"log {self.name!r} needs streams, each once: {self.streams}")
        if self.deleted not in ("fail", "pass"):
            raise ValueError(f"deleted={self.deleted!r}: give 'fail' or 'pass'")
        if not self.index or min(self.look_every, self.give_up_after) < timedelta(0):
            raise ValueError("a RedisStreamLog needs an index, and times that are not negative")

    def __repr__(self) -> str:
        """Show all but the address."""
        return f"RedisStreamLog(name={self.name!r}, streams={self.streams!r})"

    @property
    def label(self) -> str:
        """The label of this node in pictures of the topology."""
        more = f" and {len(self.streams) - 1} more" if len(self.streams) > 1 else ""
        return f"redis stream {self.streams[0]}{more}"

    def contents(self) -> LogContents:
        """Open the driver's side."""
        every = self.look_every.total_seconds()
        return StreamContents(self._server(), self.streams, self.index, every)

    def reader(self) -> LogReader:
        """Open the worker's side."""
        form = EntryForm(self.key_field, self.value_field)
        passes = self.deleted == "pass"
        return StreamReader(self._server(), self.streams, self.index, form, passes=passes)

    def _server(self) -> Server:
        return Server(self.url, self.give_up_after, read=True)
