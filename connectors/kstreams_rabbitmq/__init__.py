"""RabbitMQ streams as a source and an exactly-once sink.

`RabbitStreamLog` reads a stream, or the partitions of a super stream, by the offsets that the
broker gives. `RabbitStream` appends results to a stream after their commit, under names and numbers
by which the broker drops what it has already. Depends on rstream, of which it takes the frames of
the protocol, and on the core's contracts. Queues and exchanges are `kstreams_amqp`'s.

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
