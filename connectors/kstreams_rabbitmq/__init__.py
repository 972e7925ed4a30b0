"""RabbitMQ streams as a source and an exactly-once sink.

`RabbitStreamLog` reads a stream, or the partitions of a super stream, by the broker's offsets.
`RabbitStream` appends results to a stream after their commit, with publisher names and publishing
ids, so the broker drops duplicates. Depends on rstream, for the protocol's frames, and on the
core's contracts. For queues and exchanges use `kstreams_amqp`.

Example:
    >>> from kstreams import NONE, TEXT
    >>> from kstreams_rabbitmq import RabbitStream, RabbitStreamLog
    >>> orders = RabbitStreamLog(
    ...     "rabbitmq-stream://app:secret@broker",
    ...     name="orders",
    ...     stream="orders",
    ...     key=NONE,
    ...     value=TEXT,
    ... )
    >>> orders
    RabbitStreamLog(name='orders', stream='orders')
    >>> bills = RabbitStream(
    ...     "rabbitmq-stream://app:secret@broker", stream="bills", body=lambda name, n: b"%d" % n
    ... )
    >>> bills.guarantee
    'exactly-once'
"""

from __future__ import annotations

from kstreams_rabbitmq.log import RabbitStreamLog
from kstreams_rabbitmq.stream import RabbitStream

__all__ = ("RabbitStream", "RabbitStreamLog")
