"""Headers by which an intake knows its records again."""

from __future__ import annotations

from dataclasses import dataclass

from kstreams.intake.contract import Delivery
from kstreams.record import Headers

__all__ = ("MESSAGE_ID", "Mark", "mark_in", "marked")

MESSAGE_ID = "kstreams-message-id"
"""Header with a message's id, for `deduplicate(by_header(MESSAGE_ID))`."""
_NAME = "kstreams-intake"
_BATCH = "kstreams-intake-batch"
_OURS = "kstreams-"


@dataclass(frozen=True)
class Mark:
    """What a record says of the message that it was.

    Attributes:
        intake: Name of its intake.
        id: Of the message; None if it had none.
        batch: Number of the batch that it was written in; rises, over restarts, too.
        before: Id of a message at which all of the batches before are in the topic; None if there
            was none.
    """

    intake: str
    id: str | None
    batch: int
    before: str | None


def marked(delivery: Delivery, intake: str, batch: int, before: str | None) -> Headers:
    """Return the headers of a message's record: its own, and its mark."""
    own = tuple((name, value) for name, value in delivery.headers if not name.startswith(_OURS))
    place = str(batch) if before is None else f"{batch} {before}"
    found = (*own, (_NAME, intake.encode()), (_BATCH, place.encode()))
    return found if delivery.id is None else (*found, (MESSAGE_ID, delivery.id.encode()))


def mark_in(headers: Headers) -> Mark | None:
    """Return the mark that a record has; None if it has none that can be read."""
    found = {name: value for name, value in headers if value is not None}
    name, place, known = found.get(_NAME), found.get(_BATCH), found.get(MESSAGE_ID)
    if name is None or place is None:
        return None
    try:
        number, _, before = place.decode().partition(" ")
        identity = None if known is None else known.decode()
        return Mark(name.decode(), identity, int(number), before or None)
    except ValueError:
        return None
