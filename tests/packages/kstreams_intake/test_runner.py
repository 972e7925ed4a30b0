"""The intake runner: messages are in the topic before they are settled, and counted once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest

from kstreams import INT64, NONE, TEXT, Embedded, Topic
from kstreams.clock import FakeClock
from kstreams.errors import (
    DeliveryError,
    DeserializationError,
    IntakeError,
    IntakeUnavailableError,
    KStreamsError,
    RecordRefusedError,
    UnknownTopicError,
)
from kstreams.intakes import (
    MESSAGE_ID,
    Delivery,
    Gaps,
    IntakeReport,
    IntakeRunner,
    LastMessage,
)
from kstreams.serde import BYTES
from kstreams.topology import DeadLetter
from tests.support.intakes.scripted_intake import FailingTopics, Scripted, records_of

RAW = Topic("raw", key=BYTES, value=BYTES, null_keys="pass")
NUMBERS = Topic("numbers", key=NONE, value=INT64)
ONE, TWO = INT64.serialize(1), INT64.serialize(2)
AT_ONCE = timedelta(0)


def run(
    source: Scripted, topic: Topic[Any, Any], connection: Any, rounds: int = 1, **given: Any
) -> IntakeReport:
    """Run until the source was polled without a message `rounds` times, and each message is
    counted.
    """
    left = [rounds]

    def look(_: IntakeReport) -> None:
        if not source.queue and not source.errors:
            left[0] -= 1
            if left[0] <= 0:
                runner.stop()

    runner = IntakeRunner(source, topic, connection, on_report=look, **given)
    report = runner.run(timeout=timedelta(seconds=30))
    sums = (report.appended, report.duplicates, report.rejected, report.skipped)
    assert report.received == sum(sums) + report.dead_letters + report.given_back
    return report


def values(place: Path, topic: str) -> list[bytes | None]:
    return [record.value for record in records_of(place, topic)]


def test_intake_settles_messages_once_they_are_in_topic(tmp_path: Path) -> None:
    source = Scripted()
    source.put(b"a", b"b", b"c")
    report = run(source, RAW, Embedded(tmp_path, default_partitions=1), batch=2)
    assert values(tmp_path, "raw") == source.settled == [b"a", b"b", b"c"]
    assert (report.received, report.appended, report.bytes) == (3, 3, 3)
    assert source.closed == 1


def test_record_has_key_time_and_headers_of_the_message_without_reserved_ones(
    tmp_path: Path,
) -> None:
    source = Scripted()
    forged = (("kstreams-message-id", b"forged"), ("kstreams-intake", b"other"), ("type", b"x"))
    source.add(Delivery(b"v", 0, "id-1", b"k", 5_000, forged))
    source.add(Delivery(b"w", 0))
    run(source, RAW, Embedded(tmp_path, default_partitions=1), clock=FakeClock(7_000))
    first, second = records_of(tmp_path, "raw")
    assert (first.key, first.value, first.timestamp) == (b"k", b"v", 5_000)
    assert first.headers == (
        ("type", b"x"),
        ("kstreams-intake", b"scripted"),
        ("kstreams-intake-batch", b"0 0 2"),
        (MESSAGE_ID, b"id-1"),
    )
    assert second.timestamp == 7_000
    assert MESSAGE_ID not in dict(second.headers)


def test_messages_with_repeated_ids_are_settled_and_not_written(tmp_path: Path) -> None:
    source, topics = Scripted(), Embedded(tmp_path)
    source.put(b"a", b"b", b"a", ids=["1", "2", "1"])
    assert run(source, RAW, topics).duplicates == 1
    source.put(b"a", b"c", ids=["1", "3"])
    report = run(source, RAW, topics)  # another process
    assert (report.appended, report.duplicates) == (1, 1)
    assert sorted(map(bytes, map(_given, values(tmp_path, "raw")))) == [b"a", b"b", b"c"]
    assert source.settled.count(b"a") == 3


def _given(value: bytes | None) -> bytes:
    assert value is not None
    return value


def test_intake_remembers_at_most_given_number_of_ids(tmp_path: Path) -> None:
    source, topics = Scripted(), Embedded(tmp_path, default_partitions=1)
    source.put(*[b"x"] * 5, ids="abcde")
    run(source, RAW, topics, remember=3, batch=1)
    source.put(*[b"x"] * 5, ids="abcde"[::-1])
    assert run(source, RAW, topics, remember=3, batch=1).duplicates == 3


def test_message_ids_of_another_intake_are_ignored(tmp_path: Path) -> None:
    topics = Embedded(tmp_path)
    for name in ("one", "two"):
        source = Scripted(name)
        source.put(b"a", ids=["1"])
        assert run(source, RAW, topics).appended == 1


def test_messages_without_ids_are_all_written(tmp_path: Path) -> None:
    source = Scripted()
    source.put(b"a", b"a")
    assert run(source, RAW, Embedded(tmp_path)).appended == 2


def test_intake_start_passes_last_message_of_topic_to_source(tmp_path: Path) -> None:
    source, topics = Scripted(), Embedded(tmp_path, default_partitions=3)
    source.put(*[b"x"] * 5, ids="abcde")
    run(source, RAW, topics, batch=2, clock=FakeClock(5_000))
    run(source, RAW, topics, clock=FakeClock(7_000))
    assert source.opened == [None, LastMessage("e", timedelta(seconds=2))]


@pytest.mark.parametrize("lost", [b"0", b"1", b"2", b"3"])
def test_intake_start_continues_before_first_message_missing_in_topic(
    tmp_path: Path, lost: bytes
) -> None:
    source, topics = Scripted(), Embedded(tmp_path, default_partitions=3)
    source.put(b"0", b"1", b"2", b"3", ids="abcd")
    away = DeliveryError("nobody answers", "_MSG_TIMED_OUT")
    failing = FailingTopics(topics, lambda _, value: away if value == lost else None)
    runner = IntakeRunner(source, RAW, failing, batch=2, on_report=lambda _: None)
    thread = threading.Thread(target=runner.run)
    thread.start()
    while len(source.settled) < 3:
        time.sleep(0.01)
    runner.stop()
    thread.join(30)
    run(Scripted(), RAW, topics)
    source.opened.clear()
    source.queue.clear()
    run(source, RAW, topics)
    (last,) = source.opened
    assert last is not None
    assert last.id == (None if lost in (b"0", b"1") else "b")


def test_bad_value_stops_intake_after_other_messages_are_written(tmp_path: Path) -> None:
    source = Scripted()
    source.put(ONE, b"none", TWO)
    with pytest.raises(DeserializationError):
        run(source, NUMBERS, Embedded(tmp_path, default_partitions=1))
    assert values(tmp_path, "numbers") == [ONE, TWO] == source.settled
    assert source.returned == [b"none"]


def test_bad_value_is_skipped_rejected_or_dead_lettered_by_policy(tmp_path: Path) -> None:
    topics = Embedded(tmp_path, default_partitions=1)
    source = Scripted()
    source.put(b"none", ONE)
    assert run(source, NUMBERS, topics, on_error="skip").skipped == 1
    assert source.settled == [ONE, b"none"]
    source.put(b"none")
    assert run(source, NUMBERS, topics, on_error="reject").rejected == 1
    assert [value for value, _ in source.rejected] == [b"none"]
    source.add(Delivery(b"none", 0, "id-7", b"k"))
    assert run(source, NUMBERS, topics, on_error=DeadLetter("letters")).dead_letters == 1
    (letter,) = records_of(tmp_path, "letters")
    headers = dict(letter.headers)
    assert (letter.key, letter.value) == (b"k", b"none")
    assert headers["kstreams-error-class"] == b"DeserializationError"
    assert headers["kstreams-error-node"] == b"scripted"
    assert headers["kstreams-error-topic"] == b"numbers"
    assert headers[MESSAGE_ID] == b"id-7"
    assert values(tmp_path, "numbers") == [ONE]


def test_intake_that_replies_to_senders_rejects_bad_values_by_default(tmp_path: Path) -> None:
    class Telling(Scripted):
        tells_sender: ClassVar[bool] = True

    source = Telling()
    source.put(b"none")
    assert run(source, NUMBERS, Embedded(tmp_path)).rejected == 1


def _fails_for(text: bytes, *errors: KStreamsError) -> Callable[..., KStreamsError | None]:
    left = list(errors)

    def fail(_: str, value: bytes | None) -> KStreamsError | None:
        if value != text or not left:
            return None
        return left.pop(0) if len(left) > 1 else left[0]

    return fail


def test_record_refused_with_its_batch_affects_no_other_record(tmp_path: Path) -> None:
    failed: list[bytes | None] = []

    def fail(_: str, value: bytes | None) -> KStreamsError | None:
        if value in failed and value != b"b":
            return None
        failed.append(value)
        return RecordRefusedError("too large", "MSG_SIZE_TOO_LARGE")

    source = Scripted()
    source.put(b"a", b"b", b"c")
    topics = FailingTopics(Embedded(tmp_path, default_partitions=1), fail)
    report = run(source, RAW, topics, on_error="skip")
    assert (report.appended, report.skipped) == (2, 1)
    assert values(tmp_path, "raw") == [b"a", b"c"]


def test_refused_dead_letter_is_written_without_its_value(tmp_path: Path) -> None:
    source = Scripted()
    source.put(b"x" * 100_000)
    refused = RecordRefusedError("too large", "MSG_SIZE_TOO_LARGE")
    topics = FailingTopics(Embedded(tmp_path), _fails_for(b"x" * 100_000, refused))
    assert run(source, RAW, topics, on_error=DeadLetter("letters")).dead_letters == 1
    (letter,) = records_of(tmp_path, "letters")
    assert letter.value is None
    assert dict(letter.headers)["kstreams-error-left-out"] == b"value"


def test_intake_retries_temporary_write_error(tmp_path: Path) -> None:
    source = Scripted()
    source.put(b"a", b"b", ids="12")
    away = DeliveryError("nobody answers", "_MSG_TIMED_OUT")
    left = [away, away]

    def fail(_: str, value: bytes | None) -> KStreamsError | None:
        return left.pop() if value == b"a" and left else None

    report = run(source, RAW, FailingTopics(Embedded(tmp_path, default_partitions=1), fail))
    assert (report.appended, report.given_back, report.duplicates) == (2, 2, 0)
    assert values(tmp_path, "raw") == [b"b", b"a"]
    assert source.settled == [b"b", b"a"]


def test_intake_raises_after_time_limit_if_topic_is_unavailable(tmp_path: Path) -> None:
    source = Scripted()
    source.put(b"a")
    away = DeliveryError("nobody answers", "_MSG_TIMED_OUT")
    topics = FailingTopics(Embedded(tmp_path), lambda *_: away)
    with pytest.raises(DeliveryError):
        run(source, RAW, topics, give_up_after=AT_ONCE)
    assert (source.settled, source.returned, source.closed) == ([], [b"a"], 1)


def test_intake_retries_unavailable_source_and_raises_after_time_limit(tmp_path: Path) -> None:
    source = Scripted()
    source.put(b"a")
    source.errors.extend([IntakeUnavailableError("away"), IntakeUnavailableError("away")])
    assert run(source, RAW, Embedded(tmp_path)).appended == 1
    source.errors.append(IntakeUnavailableError("away"))
    with pytest.raises(IntakeUnavailableError):
        run(source, RAW, Embedded(tmp_path), give_up_after=AT_ONCE)
    source.errors.append(IntakeError("there is no such queue"))
    with pytest.raises(IntakeError, match="no such queue"):
        run(source, RAW, Embedded(tmp_path))


def test_complete_function_sets_key_id_and_time_or_refuses_message(tmp_path: Path) -> None:
    def complete(delivery: Delivery) -> Delivery:
        key, _, rest = delivery.value.partition(b"=")
        if not rest:
            raise ValueError("no pair")
        return replace(delivery, key=key, id=rest.decode(), timestamp=9_000, receipt=99)

    source = Scripted()
    source.put(b"k=1", b"none", b"k=1")
    report = run(source, RAW, Embedded(tmp_path), complete=complete, on_error="reject")
    assert (report.appended, report.duplicates, report.rejected) == (1, 1, 1)
    assert "ValueError: no pair" in source.rejected[0][1]
    (record,) = records_of(tmp_path, "raw")
    assert (record.key, record.timestamp) == (b"k", 9_000)


@pytest.mark.parametrize(
    "wrong",
    [
        Delivery(b"v", 0, "x" * 1_001),
        Delivery(b"v", 0, "a\nb"),
        Delivery(b"v", 0, "\ud800"),
        Delivery(b"v", 0, timestamp=-1),
        Delivery(b"v", 0, timestamp=2**70),
        Delivery(b"v", 0, headers=(("\ud800", b""),)),
    ],
    ids=["long id", "line in id", "surrogate in id", "time before", "time after", "header"],
)
def test_message_that_no_topic_accepts_is_dead_lettered(tmp_path: Path, wrong: Delivery) -> None:
    source, topics = Scripted(), Embedded(tmp_path, default_partitions=1)
    source.add(wrong)
    source.put(b"good")
    report = run(source, RAW, topics, on_error=DeadLetter("letters"))
    assert (report.appended, report.dead_letters) == (1, 1)
    assert values(tmp_path, "raw") == [b"good"]


def test_key_is_required_if_readers_drop_records_without_one(tmp_path: Path) -> None:
    source = Scripted()
    source.put(b"v")
    keyed = Topic("keyed", key=TEXT, value=TEXT)
    with pytest.raises(RecordRefusedError, match="no key"):
        run(source, keyed, Embedded(tmp_path))


def test_intake_report_has_gaps_of_source(tmp_path: Path) -> None:
    source = Scripted(gaps=Gaps(2, 3.5))
    report = run(source, RAW, Embedded(tmp_path))
    assert report.gaps == Gaps(2, 3.5)
    assert str(report) == "0 received, 0 appended, 2 gaps of 4 s"


def test_missing_topic_is_an_error_before_the_source_is_opened(tmp_path: Path) -> None:
    source = Scripted()
    source.put(b"a")
    with pytest.raises(UnknownTopicError):
        run(source, RAW, _WithoutCreation(Embedded(tmp_path)))
    assert source.opened == []


class _WithoutCreation:
    def __init__(self, inner: Embedded) -> None:
        self.admin, self.reader, self.writer = inner.admin, inner.reader, inner.writer


def test_stop_from_another_thread_returns_unwritten_messages_to_source(tmp_path: Path) -> None:
    source = Scripted()
    runner = IntakeRunner(source, RAW, Embedded(tmp_path))
    thread = threading.Thread(target=runner.run)
    thread.start()
    runner.stop()
    thread.join(20)
    assert not thread.is_alive()


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"remember": -1}])
def test_intake_refuses_invalid_limits(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(ValueError, match="batch of 1 or more"):
        IntakeRunner(Scripted(), RAW, Embedded(tmp_path), **wrong)
