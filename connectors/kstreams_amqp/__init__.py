"""Queues and exchanges of RabbitMQ, or of another broker with the protocol AMQP 0-9-1.

`AmqpQueue` is an intake: its messages go into a topic before they are acknowledged. `AmqpExchange`
is a sink: a batch's results are published and confirmed before the batch is committed, each with an
id that stays the same when the message is repeated. Depends on pika and on the core's contracts.

Example:
    >>> from kstreams_amqp import AmqpExchange, AmqpQueue
    >>> orders = AmqpQueue("amqp://app:secret@broker/shop", "orders")
    >>> orders
    AmqpQueue(queue='orders')
    >>> bills = AmqpExchange(
    ...     "amqp://app:secret@broker/shop", "bills", body=lambda name, cents: b"%d" % cents
    ... )
    >>> bills.guarantee
    'at-least-once'
"""

from __future__ import annotations

from kstreams_amqp.exchange import AmqpExchange
from kstreams_amqp.queue import AmqpQueue

__all__ = ("AmqpExchange", "AmqpQueue")
