"""A sink that writes a Redis value or hash for each key of the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from typing_extensions import override

from kstreams import Record
from kstreams.sinks import CommitId, Guarantee, Results, Sink, Writer
from kstreams_redis.server import Script, Server, check_sink, check_url
from kstreams_redis.values import Scalar, Value, as_bytes, as_fields
from kstreams_rows.encoding import Change, fitting, lasts, made
from kstreams_rows.fence import Position, write_once
from kstreams_rows.refusing import Refusals

__all__ = ("RedisKeys",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

_Row = tuple[bytes, ...]
"""A single string, or alternating names and values of a hash."""

_ROWS_AT_ONCE = 1_000
_BYTES_AT_ONCE = 1024 * 1024
_WRITE = Script("""
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('APPEND', KEYS[1], '') -- a full server refuses before anything is written, not after
local at = 4
for i = 2, #KEYS do
    local kind, count = ARGV[at], tonumber(ARGV[at + 1])
    at = at + 2
    redis.call('DEL', KEYS[i])
    if kind == '=' then
        redis.call('SET', KEYS[i], ARGV[at])
    else
        for field = at, at + count - 1, 2 do
            redis.call('HSET', KEYS[i], ARGV[field], ARGV[field + 1])
        end
    end
    if count > 0 and ARGV[3] ~= '0' then redis.call('PEXPIRE', KEYS[i], ARGV[3]) end
    at = at + count
end
redis.call('SET', KEYS[1], ARGV[2])
return 1
""")


@dataclass(frozen=True, repr=False)
class RedisKeys(Sink[K, V]):
    """Writes the last value of each key to Redis, exactly once.

    The last result of a key in a batch is written; None, and a hash without fields, delete the key.
    Values that Redis cannot store (a bool, None in a hash, more than 512 MB) are rejected
    individually, before anything of the batch is written. Up to 1,000 rows are written by one
    script that also moves the task's fence, so readers see a large batch grow.

    The guarantee depends on the durability of the server: without `appendonly yes`, a crash can
    lose rows of committed batches. Fences never expire; a server that evicts keys when its memory
    is full must only evict keys with an expiry (`volatile-...`).

    Args:
        url: `redis://user:password@host:port/number`, `rediss://` or `unix://`. Logs and errors do
            not show it. It must be a single server, not a cluster.
        value: Builds the value of a key: text, bytes or a number, or a mapping of them, which is
            stored as a hash and replaces the old value.
        key: Builds the name of a key; by default the record's key is used.
        prefix: The prefix of the names of all keys.
        expire_after: The expiry of a key after it is written; by default keys do not expire.
        fence: The prefix of the sink's own keys, one per task, with the number of rows that the
            task has written, so that a repeated or late attempt changes nothing.
        give_up_after: The maximum time to retry while the server does not answer, is loading or
            full.

    Raises:
        ValueError: The URL is invalid, or a time is not positive.
    """

    url: str = field(repr=False)
    _: KW_ONLY
    value: Callable[[K, V], Value | None]
    key: Callable[[K], Scalar] | None = None
    prefix: str = ""
    expire_after: timedelta | None = None
    fence: str = "kstreams:"
    give_up_after: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        check_url(self.url)
        if not self.fence:
            raise ValueError(
                "fence= is empty: it is the prefix of the keys that record the last batches"
            )
        if self.expire_after is not None and self.expire_after < timedelta(milliseconds=1):
            raise ValueError(f"expire_after={self.expire_after}: must be at least 1 ms")

    def __repr__(self) -> str:
        """Return a text without the address and the functions."""
        return f"RedisKeys(prefix={self.prefix!r}, fence={self.fence!r})"

    @property
    @override
    def label(self) -> str:
        return f"redis keys {self.prefix}*"

    @property
    @override
    def guarantee(self) -> Guarantee:
        return "exactly-once"

    @override
    def prepare(self) -> None:
        check_sink(self.url, self.give_up_after)

    @override
    def open(self) -> Writer[K, V]:
        return _KeysWriter(self)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing, because rows are visible as soon as they are written."""


class _KeysWriter(Writer[K, V]):
    """A `Writer` that writes rows and the task's fence together, as `FencedPlace` requires."""

    def __init__(self, sink: RedisKeys[K, V]) -> None:
        self._sink = sink
        self._server = Server(sink.url, sink.give_up_after)
        expires = sink.expire_after or timedelta(0)
        self._expire_ms = int(expires / timedelta(milliseconds=1))

    @override
    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        found, wrong = made(results.records(), self._encoded)
        Refusals(results, "Redis").reject(wrong)
        rows = lasts(found)
        self._server.retried(lambda: write_once(self, commit, rows))
        return ()

    @override
    def close(self) -> None:
        self._server.close()

    def position(self, lane: str) -> Position | None:
        """Return the position of a task's fence; None before its first row.

        Args:
            lane: The id of epoch, sink and task; see `lane_of`.
        """
        found = self._server.command("GET", self._sink.fence + lane)
        return Position.of(found.decode()) if found else None

    def fitting(self, rows: Sequence[Change[bytes, _Row]], start: int) -> int:
        """Return the index after the last row that one script writes, beginning with row `start`.

        The size of a script is limited, because the server does nothing else while it runs.
        """
        return fitting(rows, start, _ROWS_AT_ONCE, _BYTES_AT_ONCE)

    def apply(
        self, lane: str, rows: Sequence[Change[bytes, _Row]], was: Position | None, now: Position
    ) -> bool:
        """Write rows and move the fence by one script; return whether the fence was at `was`."""
        keys: list[str | bytes] = [self._sink.fence + lane]
        given: list[str | bytes | int] = [str(was or ""), str(now), self._expire_ms]
        for change in rows:
            keys.append(change.key)
            row = change.row or ()
            given += ("=" if len(row) == 1 else "h", len(row), *row)
        return bool(self._server.run(_WRITE, keys, *given))

    def _encoded(self, record: Record[Any, Any]) -> Change[bytes, _Row]:
        sink = self._sink
        name = record.key if sink.key is None else sink.key(record.key)
        key = sink.prefix.encode() + as_bytes(name, "the key")
        if key.startswith(sink.fence.encode()):
            raise ValueError(
                f"the key begins with fence={sink.fence!r}, which is reserved for the sink: use "
                "another key, prefix= or fence="
            )
        value = sink.value(record.key, record.value)
        row: _Row | None
        match value:
            case None:
                row = None
            case Mapping():
                row = tuple(as_fields(value))
            case _:
                row = (as_bytes(value, "the value"),)
        return Change(key, row, len(key) + sum(map(len, row or ())))
