"""Exactly-once sinks and stream sources for Redis and servers with its protocol, such as Valkey.

Read `RedisKeys` first: a sink that keeps a value or a hash a key. `RedisStream` appends entries to
a stream, after the commit. A script does some rows together with a fence that says how far a task's
rows are written, so that an attempt that comes again, or late, changes nothing. `RedisStreamLog` is
a source: streams whose entries another script has numbered. Depends on redis and on the core's
contracts, on nothing of Spark.

Example:
    >>> from kstreams_redis import RedisKeys
    >>> totals = RedisKeys(
    ...     "redis://:secret@cache:6379/0",
    ...     prefix="totals:",
    ...     value=lambda word, total: str(total),
    ... )
    >>> totals.guarantee
    'exactly-once'
    >>> totals
    RedisKeys(prefix='totals:', fence='kstreams:')
"""

from __future__ import annotations

from kstreams_redis.keys import RedisKeys
from kstreams_redis.log import RedisStreamLog
from kstreams_redis.stream import RedisStream
from kstreams_redis.values import Fields, Scalar, Value

__all__ = ("Fields", "RedisKeys", "RedisStream", "RedisStreamLog", "Scalar", "Value")
