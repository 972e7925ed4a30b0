"""Headers by which an intake recognizes its records."""

from __future__ import annotations

from dataclasses import dataclass

from kstreams.record import Headers
from kstreams_intake.contract import Delivery

__all__ = ("MESSAGE_ID", "Mark", "Place", "mark_in", "marked")

MESSAGE_ID = "kstreams-message-id"
"""Header with a message's id, for `deduplicate(by_header(MESSAGE_ID))`."""
_NAME = "kstreams-intake"
_BATCH = "kstreams-intake-batch"
_OURS = "kstreams-"


@dataclass(frozen=True)
class Place:
    """The position of a record among the records that its intake has written.

    Attributes:
        batch: The number of the intake's batch, which increases also over restarts.
        row: The number of the record in the batch, from 0.
        count: The number of records in the batch; 0 if earlier messages may still be delivered
            again.
        before: The id of the last message before the batch that was, like all earlier messages, in
            the topic or rejected; None if unknown.
    """

    batch: int = 0
    row: int = 0
    count: int = 0
    before: str | None = None


@dataclass(frozen=True)
class Mark:
    """The origin of a record that an intake has written, as stored in the headers of the record.

    Attributes:
        intake: The name of the intake.
        id: The id of the message; None if it had none.
        place: The position of the record among the records of its intake.
    """

    intake: str
    id: str | None
    place: Place


def marked(delivery: Delivery, intake: str, place: Place) -> Headers:
    """Return the headers of a message's record: those of the message and those of its `Mark`."""
    own = tuple((name, value) for name, value in delivery.headers if not name.startswith(_OURS))
    text = f"{place.batch} {place.row} {place.count} {place.before or ''}".rstrip(" ")
    found = (*own, (_NAME, intake.encode()), (_BATCH, text.encode()))
    return found if delivery.id is None else (*found, (MESSAGE_ID, delivery.id.encode()))


def mark_in(headers: Headers) -> Mark | None:
    """Return the `Mark` in the headers of a record; None if it is missing or invalid."""
    found = {name: value for name, value in headers if value is not None}
    name, place, known = found.get(_NAME), found.get(_BATCH), found.get(MESSAGE_ID)
    if name is None or place is None:
        return None
    try:
        batch, row, count, *rest = place.decode().split(" ", 3)
        stands = Place(int(batch), int(row), int(count), rest[0] if rest else None)
        return Mark(name.decode(), None if known is None else known.decode(), stands)
    except ValueError:
        return None
