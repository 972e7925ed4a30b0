"""Exactly-once sinks and stream sources for Redis and servers with its protocol, such as Valkey.

Read `RedisKeys` first: a sink that writes one value or hash per key. `RedisStream` appends entries
to a stream after the commit. A script writes rows together with a fence that stores how many of a
task's rows are written, so a repeated or late attempt changes nothing. `RedisStreamLog` is a
source: streams whose entries another script numbers. Depends on redis and on the core's contracts,
not on Spark.

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
