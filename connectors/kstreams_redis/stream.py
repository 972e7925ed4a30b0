"""A sink that appends entries to a Redis stream after the commit."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import uuid4

from typing_extensions import override

from kstreams import Record
from kstreams.errors import SinkError
from kstreams.sinks import CommitId, Guarantee, Results, Sink, Writer
from kstreams_redis.server import Script, Server, check_sink, check_url
from kstreams_redis.values import Fields, as_fields
from kstreams_rows.encoding import Change, fitting, made
from kstreams_rows.fence import Position, lane_of, write_once
from kstreams_rows.refusing import Refusals

__all__ = ("RedisStream",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

_ENTRIES_AT_ONCE = 500
_BYTES_AT_ONCE = 1024 * 1024
_GONE = -1
_SHOW = Script("""
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
local first, stop = tonumber(ARGV[3]), tonumber(ARGV[4])
local entries = redis.call('LRANGE', KEYS[3], first, stop - 1)
if #entries < stop - first then return -1 end
for _, entry in ipairs(entries) do
    local add, at = {'XADD', KEYS[2]}, 1
    if ARGV[5] ~= '0' then
        add = {'XADD', KEYS[2], 'MAXLEN', '~', ARGV[5]}
    end
    add[#add + 1] = '*'
    while at <= #entry do
        local size = struct.unpack('>I4', entry, at)
        add[#add + 1] = string.sub(entry, at + 4, at + 3 + size)
        at = at + 4 + size
    end
    redis.call(unpack(add))
end
redis.call('SET', KEYS[1], ARGV[2])
return 1
""")


@dataclass(frozen=True, repr=False)
class RedisStream(Sink[K, V]):
    """Appends results to a Redis stream after their commit, exactly once and in order.

    A task's entries are staged in a separate list, and added to the stream when the batch commits,
    up to 500 at once, together with a fence; the server assigns their ids. The durability limits of
    `RedisKeys` apply here too.

    Args:
        url: The URL of the server; see `RedisKeys`.
        stream: The name of the stream; created with its first entry.
        fields: Builds the fields of an entry from key and value, at least one and at most 1,000;
            None skips the result.
        most: The approximate number of entries the stream keeps; older entries are trimmed. By
            default, all entries are kept.
        fence: The prefix of the sink's own keys: the number of entries that each task has added,
            and the staged entries.
        give_up_after: The maximum time to retry while the server does not answer, is loading or
            full.

    Raises:
        ValueError: The URL is invalid, a name is empty, or `most` is not positive.
    """

    url: str = field(repr=False)
    _: KW_ONLY
    stream: str
    fields: Callable[[K, V], Fields | None]
    most: int | None = None
    fence: str = "kstreams:"
    give_up_after: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        check_url(self.url)
        if not self.stream or not self.fence:
            raise ValueError("stream= and fence= of a RedisStream must not be empty")
        if self.most is not None and self.most < 1:
            raise ValueError(f"most={self.most}: must be positive")

    def __repr__(self) -> str:
        """Return a text without the address and the function."""
        return f"RedisStream(stream={self.stream!r}, fence={self.fence!r})"

    @property
    @override
    def label(self) -> str:
        return f"redis stream {self.stream}"

    @property
    @override
    def guarantee(self) -> Guarantee:
        return "exactly-once"

    @override
    def prepare(self) -> None:
        check_sink(self.url, self.give_up_after)

    @override
    def open(self) -> Writer[K, V]:
        return _StreamWriter(self)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Add the entries of a batch's tasks to the stream, in the order of tasks.

        Raises:
            SinkUnavailableError: The server does not answer.
            SinkError: The server no longer has the staged entries.
        """
        server = Server(self.url, self.give_up_after)
        try:
            for commit in sorted(receipts, key=lambda each: (each.task, each.order)):
                for receipt in receipts[commit]:
                    staged, count = _read(receipt)
                    server.retried(partial(self._show, server, commit, staged, count))
        finally:
            server.close()

    def _show(self, server: Server, commit: CommitId, staged: str, count: int) -> None:
        write_once(_Shown(server, self, staged), commit, range(count))
        server.command("DEL", staged)
        server.command("SREM", _lane_key(self, commit), staged)


@dataclass(frozen=True)
class _Shown(Generic[K, V]):
    """Adds staged entries to the stream once, as a `FencedPlace` with their numbers as rows."""

    server: Server
    sink: RedisStream[K, V]
    staged: str

    def position(self, lane: str) -> Position | None:
        """Return the position of a task's fence; None before its first row.

        Args:
            lane: The id of epoch, sink and task; see `lane_of`.
        """
        found = self.server.command("GET", self.sink.fence + lane)
        return Position.of(found.decode()) if found else None

    def fitting(self, rows: Sequence[int], start: int) -> int:
        """Return the index after the last row for one script: scripts block the server."""
        return min(len(rows), start + _ENTRIES_AT_ONCE)

    def apply(self, lane: str, rows: Sequence[int], was: Position | None, now: Position) -> bool:
        """Add entries and move the fence by one script; return whether the fence was at `was`."""
        keys = (self.sink.fence + lane, self.sink.stream, self.staged)
        bounds = (rows[0], rows[-1] + 1)
        done = self.server.run(_SHOW, keys, str(was or ""), str(now), *bounds, self.sink.most or 0)
        if done == _GONE:
            raise SinkError(
                f"the entries of task {lane} that were staged as {self.staged!r} no longer exist",
                hint="the server has lost or evicted them: reset the app.",
            )
        return bool(done)


class _StreamWriter(Writer[K, V]):
    """A `Writer` that stages entries."""

    def __init__(self, sink: RedisStream[K, V]) -> None:
        self._sink = sink
        self._server = Server(sink.url, sink.give_up_after)

    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        """Stage a batch's results; return the receipt of their list."""
        found, wrong = made(results.records(), self._encoded)
        Refusals(results, "Redis").reject(wrong)
        entries = [entry for _, entry in found]
        if not entries:
            return ()
        return (self._server.retried(lambda: self._stage(entries, commit)),)

    @override
    def close(self) -> None:
        self._server.close()

    def _stage(self, found: Sequence[Change[int, bytes]], commit: CommitId) -> str:
        """Stage entries in a new list, and return its receipt.

        The name of the list is first added to the set of the task's staged lists.
        """
        lane = _lane_key(self._sink, commit)
        self._remove_older(lane, commit)
        staged = f"{lane}:{commit.batch}:{uuid4().hex}"
        self._server.command("SADD", lane, staged)
        start = 0
        while start < len(found):
            stop = fitting(found, start, _ENTRIES_AT_ONCE, _BYTES_AT_ONCE)
            entries = [change.row or b"" for change in found[start:stop]]
            self._server.command("RPUSH", staged, *entries)
            start = stop
        return json.dumps([staged, len(found)])

    def _remove_older(self, lane: str, commit: CommitId) -> None:
        """Delete staged data of earlier batches: these are published, or were never committed."""
        for name in self._server.command("SMEMBERS", lane):
            batch = name.decode().rsplit(":", 2)[1]
            if int(batch) < commit.batch:
                self._server.command("DEL", name)
                self._server.command("SREM", lane, name)

    def _encoded(self, record: Record[Any, Any]) -> Change[int, bytes] | None:
        fields = self._sink.fields(record.key, record.value)
        if fields is None:
            return None
        if not fields:
            raise ValueError("fields= returned no fields; expected at least one, or None")
        entry = b"".join(struct.pack(">I", len(part)) + part for part in as_fields(fields))
        return Change(0, entry, len(entry))


def _lane_key(sink: RedisStream[Any, Any], commit: CommitId) -> str:
    return f"{sink.fence}staged:{lane_of(commit)}"


def _read(receipt: str) -> tuple[str, int]:
    try:
        staged, count = json.loads(receipt)
        return str(staged), int(count)
    except (ValueError, TypeError):
        raise SinkError(
            f"the checkpoint has {receipt!r} where staged entries were expected",
            hint="a different sink with this node name wrote the checkpoint: rename this node.",
        ) from None
