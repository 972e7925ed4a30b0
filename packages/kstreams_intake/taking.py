"""Process batches of messages: write them, settle messages in the topic, and count each once."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from kstreams.clock import Clock
from kstreams.errors import KStreamsError, RecordRefusedError
from kstreams.processors.on_error import DeadLetter
from kstreams.quoting import kind_of, one_line, safe_text, text_of
from kstreams.record import Record
from kstreams.task.failures.dead_letters import fitted, letter_of_result
from kstreams.times import LATEST_MS
from kstreams.topic_limits import TopicLimits
from kstreams_intake.appending import Appender, is_of_message
from kstreams_intake.contract import Delivery, Receiver
from kstreams_intake.known_ids import TopicEnd
from kstreams_intake.marks import Place, marked

__all__ = ("NotWritten", "OnRefusal", "Rules", "Taking")

OnRefusal = Literal["fail", "skip", "reject"] | DeadLetter
"""The policy for a message that the topic rejects: stop (the message is delivered again), settle
and count it, reject it at the source, or write it to a dead-letter topic.
"""

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_LONGEST_ID = 1_000
_REASON_CHARS = 500
_SMALL = TopicLimits(least_time=1, max_bytes=2_000, needs_key=True, plain_names=True)
"""The limits for a dead letter if its topic rejects the full letter."""

_Bytes = Record["bytes | None", "bytes | None"]
_Failed = list[tuple[Delivery, KStreamsError]]


class NotWritten(KStreamsError):
    """Messages were given back because the topic does not answer; `__cause__` has the error."""


@dataclass(frozen=True)
class Rules:
    """The rules by which an intake processes messages.

    Attributes:
        intake: The name of the intake.
        topic: The name of the topic.
        on_error: The policy for rejected messages.
        complete: The user's function; None without one.
        clock: The clock for messages without a time.
    """

    intake: str
    topic: str
    on_error: OnRefusal
    complete: Callable[[Delivery], Delivery] | None
    clock: Clock

    def completed(self, given: Delivery) -> Delivery:
        """Return a delivery with the additions of the user's function, and a time.

        Raises:
            RecordRefusedError: The function fails, or an id or a time is invalid.
        """
        found = given
        if self.complete is not None:
            try:
                found = replace(self.complete(given), receipt=given.receipt)
            except Exception as exc:  # the user's code
                raise RecordRefusedError(
                    f"the function of complete= raised {kind_of(exc)}: {text_of(exc)}",
                    hint="correct the function, or set on_error= for messages that the function "
                    "rejects.",
                ) from exc
        if found.id is not None and not _is_id(found.id):
            raise RecordRefusedError(
                f"the id of the message is empty, not printable, or has more than {_LONGEST_ID:,} "
                "characters"
            )
        if found.timestamp is None:
            return replace(found, timestamp=self.clock.now_ms())
        if not 0 < found.timestamp <= LATEST_MS:
            raise RecordRefusedError(
                f"the time of the message is {found.timestamp} ms, expected 1 to {LATEST_MS} ms "
                "after the beginning of 1970"
            )
        return found

    def letters(self, delivery: Delivery, error: KStreamsError) -> tuple[_Bytes, _Bytes]:
        """Return the dead letter of a message, and a smaller letter that every topic accepts."""
        now = self.clock.now_ms()
        plain = replace(
            delivery,
            id=delivery.id if _is_id(delivery.id or "") else None,
            headers=tuple((one_line(name, 200), value) for name, value in delivery.headers),
        )
        headers = marked(plain, self.intake, Place())
        record = Record(delivery.key, delivery.value, now, headers)
        letter = letter_of_result(record, error, node=self.intake, topic=self.topic)
        return letter, fitted(letter, _SMALL, now)


@dataclass
class _Round:
    """Messages of one write, by outcome; their ids are distinct, except in `later`.

    Attributes:
        again: Messages that are already in the topic.
        later: Messages with the id of an earlier message of this write; the next write has them.
        fresh: Messages to write, with their records.
        refused: Invalid or rejected messages, with their errors.
        failed: Messages that could not be written for another reason, with their errors.
    """

    again: list[Delivery] = field(default_factory=list)
    later: list[Delivery] = field(default_factory=list)
    fresh: list[tuple[Delivery, _Bytes]] = field(default_factory=list)
    refused: _Failed = field(default_factory=list)
    failed: _Failed = field(default_factory=list)

    def fail(self, delivery: Delivery, error: KStreamsError) -> None:
        """Add a message that was not written, with the error."""
        (self.refused if is_of_message(error) else self.failed).append((delivery, error))


class Taking:
    """Processes batches of one open receiver.

    Args:
        rules: The rules.
        receiver: Receives the outcomes.
        appender: Writes the messages.
        end: The state of the topic at the start.
        counts: The numbers of messages, by outcome.
    """

    def __init__(
        self,
        rules: Rules,
        receiver: Receiver,
        appender: Appender,
        end: TopicEnd,
        counts: Counter[str],
    ) -> None:
        self.receiver = receiver
        self._rules = rules
        self._appender = appender
        self._counts = counts
        self._known = end.known
        self._batch = end.batch
        self._before = None if end.last is None else end.last.id
        self._owed: set[str | None] = set()  # ids of returned messages; None if one has no id

    def take(self, deliveries: Sequence[Delivery]) -> None:
        """Write messages, and settle those in the topic.

        Raises:
            NotWritten: Some messages were given back; the other messages are settled.
            KStreamsError: A message is rejected with the policy `fail`; the other messages are
                settled or given back.
        """
        self._counts["received"] += len(deliveries)
        rest: Sequence[Delivery] = deliveries
        failed: _Failed = []
        fatal: list[KStreamsError] = []
        while rest:
            found = self._sorted(rest)
            self._write(found)
            for delivery, error in found.refused:
                self._refuse(delivery, error, found.failed, fatal)
            failed += found.failed
            rest = found.later
        if failed:
            self._give_back([delivery for delivery, _ in failed])
        if fatal:
            raise fatal[0]
        if failed:
            raise NotWritten(
                f"{len(failed)} messages were not written to topic {self._rules.topic!r}, and were "
                "returned to the source"
            ) from failed[0][1]
        ids = [each.id for each in deliveries if each.id is not None and _is_id(each.id)]
        if ids and not self._owed:
            self._before = ids[-1]

    def _sorted(self, deliveries: Sequence[Delivery]) -> _Round:
        found = _Round()
        new: list[Delivery] = []
        pending: set[str] = set()
        for given in deliveries:
            try:
                delivery = self._rules.completed(given)
            except KStreamsError as exc:
                found.fail(given, exc)
                continue
            if delivery.id is not None and delivery.id in self._known:
                found.again.append(given)
            elif delivery.id is not None and delivery.id in pending:
                found.later.append(given)
            else:
                new.append(delivery)
                pending |= set() if delivery.id is None else {delivery.id}
        self._batch += 1
        count = 0 if self._owed else len(new)
        for row, delivery in enumerate(new):
            place = Place(self._batch, row, count, self._before)
            try:
                record = self._appender.checked(self._record(delivery, place))
            except KStreamsError as exc:
                found.fail(delivery, exc)
            else:
                found.fresh.append((delivery, record))
        return found

    def _record(self, delivery: Delivery, place: Place) -> _Bytes:
        headers = marked(delivery, self._rules.intake, place)
        return Record(delivery.key, delivery.value, delivery.timestamp or 0, headers)

    def _write(self, found: _Round) -> None:
        errors = self._appender.append([record for _, record in found.fresh])
        done = list(found.again)
        for (delivery, _), error in zip(found.fresh, errors, strict=True):
            if error is not None:
                found.fail(delivery, error)
                continue
            done.append(delivery)
            self._counts["bytes"] += len(delivery.value)
            if delivery.id is not None:
                self._known.add(delivery.id)
        self._counts["duplicates"] += len(found.again)
        self._counts["appended"] += len(done) - len(found.again)
        if done:
            self._settle(done)

    def _refuse(
        self, delivery: Delivery, error: KStreamsError, failed: _Failed, fatal: list[KStreamsError]
    ) -> None:
        policy = self._rules.on_error
        if policy == "fail":
            fatal.append(error)
            self._give_back([delivery])
            return
        if isinstance(policy, DeadLetter):
            failure = self._appender.set_aside(*self._rules.letters(delivery, error))
            if failure is not None:
                failed.append((delivery, failure))
                return
        reason = safe_text(text_of(error.message), _REASON_CHARS)
        _LOG.warning("intake %s: a message is refused: %s", self._rules.intake, reason)
        if policy == "reject":
            self._counts["rejected"] += 1
            self._owed.discard(delivery.id)
            self.receiver.reject(delivery, reason)
        else:
            self._counts["skipped" if policy == "skip" else "dead_letters"] += 1
            self._settle([delivery])

    def _settle(self, deliveries: Sequence[Delivery]) -> None:
        self._owed -= {each.id for each in deliveries if each.id is not None}
        self.receiver.settle(deliveries)

    def _give_back(self, deliveries: Sequence[Delivery]) -> None:
        self._owed |= {each.id for each in deliveries}
        self._counts["given_back"] += len(deliveries)
        self.receiver.give_back(deliveries)


def _is_id(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_ID and text.isprintable()
