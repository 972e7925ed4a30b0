"""Intakes: sources whose messages come once, and a runner that takes them into a topic.

- `IntakeRunner(intake, topic, connection).run()`, or `kstreams intake MODULE:INTAKE`, in a process
  of its own: each message is in the topic, durably, before it is settled. Topologies read the
  topic. It returns an `IntakeReport`; `OnRefusal` says what becomes of messages that are none.
- `Webhook`: HTTP POST (extra `serve`), with a `Signature`: `HmacSignature`, `StandardWebhooks`.
  Installed with extras of their own: `kstreams_amqp` (docs/connectors.md lists all).
- For an intake of your own: an `Intake` opens a `Receiver`, which gives each `Delivery` and is told
  what became of it; `LastMessage` says where to go on, `Gaps` what may have been missed.
- `MESSAGE_ID`: the header with a message's id, for `deduplicate(by_header(MESSAGE_ID))`.

`kstreams.testing` has an `IntakeContract` to prove an intake by.

Example:
    >>> from kstreams.intakes import HmacSignature, Webhook
    >>> orders = Webhook(
    ...     "/orders", HmacSignature(("a secret of 26 characters",)), id_header="x-request-id"
    ... )
    >>> orders.name
    'webhook /orders'
"""

from __future__ import annotations

from kstreams_intake.contract import Delivery, Gaps, Intake, LastMessage, Receiver
from kstreams_intake.marks import MESSAGE_ID
from kstreams_intake.report import IntakeReport
from kstreams_intake.runner import IntakeRunner
from kstreams_intake.taking import OnRefusal
from kstreams_webhook.signature import HmacSignature, Signature, StandardWebhooks
from kstreams_webhook.webhook import Webhook

__all__ = (
    "MESSAGE_ID",
    "Delivery",
    "Gaps",
    "HmacSignature",
    "Intake",
    "IntakeReport",
    "IntakeRunner",
    "LastMessage",
    "OnRefusal",
    "Receiver",
    "Signature",
    "StandardWebhooks",
    "Webhook",
)
