"""Intakes: sources that deliver each message once, and a runner that writes them to a topic.

- `IntakeRunner(intake, topic, connection).run()`, or `kstreams intake MODULE:INTAKE`, in a separate
  process: the runner writes each message durably to the topic before it settles the message.
  Topologies read the topic. The runner returns an `IntakeReport`; `OnRefusal` is the policy for
  invalid messages.
- `Webhook`: HTTP POST (extra `serve`), with a `Signature`: `HmacSignature`, `StandardWebhooks`.
  Other packages have more, such as `kstreams_amqp` (docs/connectors.md lists all).
- For your own intake: an `Intake` opens a `Receiver`, which returns each `Delivery` and gets its
  outcome; `LastMessage` is the position to resume at, and `Gaps` counts messages that may be lost.
- `MESSAGE_ID`: the header with a message's id, for `deduplicate(by_header(MESSAGE_ID))`.

`kstreams.testing` has an `IntakeContract` to test an intake.

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
