"""The AMQP intake: properties, poison messages, and lost brokers."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from devtools.servers.rabbit import RabbitServer
from devtools.servers.skipping import or_skip
from kstreams import INT64, NONE, Embedded, Topic
from kstreams.errors import IntakeError, IntakeUnavailableError
from kstreams.intakes import MESSAGE_ID, Delivery, IntakeReport, IntakeRunner
from kstreams.topology import DeadLetter
from kstreams_amqp import AmqpQueue
from tests.connectors.kstreams_amqp.queues import RAW, Place, run
from tests.support.intakes.scripted_intake import records_of

pytestmark = pytest.mark.connectors

AT_ONCE = timedelta(0)


def test_record_has_properties_and_headers_of_message(place: Place, tmp_path: Path) -> None:
    place.publish(
        ("id-1", b"body"),
        timestamp=1_700_000_000,
        content_type="text/plain",
        type="paid",
        headers={
            "text": "größe",
            "number": 5,
            "none": None,
            "list": [1, {"a": True}],
            "raw": b"\xff",
        },
    )
    run(place.intake(), Embedded(tmp_path), lambda report: report.appended == 1)
    (record,) = records_of(tmp_path, "raw")
    headers = dict(record.headers)
    assert (record.value, record.timestamp) == (b"body", 1_700_000_000_000)
    assert (headers["text"], headers["number"]) == ("größe".encode(), b"5")
    assert (headers["none"], headers["raw"]) == (None, b"\xff")
    assert json.loads(headers["list"] or b"") == [1, {"a": True}]
    assert headers["amqp-routing-key"] == place.queue.encode()
    assert (headers["amqp-content-type"], headers["amqp-type"]) == (b"text/plain", b"paid")
    assert headers[MESSAGE_ID] == b"id-1"
    assert place.messages() == []


def test_unreadable_message_is_dead_lettered_and_intake_continues(
    place: Place, tmp_path: Path
) -> None:
    one = INT64.serialize(1)
    place.publish(("a", b"none"), ("b", one), ("c", b""), ("d", one))
    place.publish(("e", one), timestamp=2**60)
    topics = Embedded(tmp_path, default_partitions=1)

    def look(report: IntakeReport) -> None:
        if report.received == 5:
            runner.stop()

    numbers = Topic("numbers", key=NONE, value=INT64)
    runner = IntakeRunner(
        place.intake(), numbers, topics, on_error=DeadLetter("letters"), on_report=look
    )
    report = runner.run(timeout=timedelta(seconds=60))
    assert (report.appended, report.dead_letters) == (2, 3)
    aside = [record.value or b"" for record in records_of(tmp_path, "letters")]
    assert sorted(aside) == sorted([b"none", b"", one])
    assert place.messages() == []


def test_rejected_message_goes_to_the_dead_letter_exchange_of_the_queue(place: Place) -> None:
    dead = Place(place.url)
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead.queue}
    place.queue += "-with-letters"
    place.act(lambda c: c.queue_declare(place.queue, durable=True, arguments=arguments))
    place.publish(("a", b"none"))
    with place.intake().open(None) as receiver:
        (found,) = receiver.receive(1, timedelta(seconds=20))
        receiver.reject(found, "it is none")
    assert [body for _, body in dead.messages()] == [b"none"]


def test_intake_holds_at_most_prefetch_messages_in_memory(place: Place) -> None:
    place.publish(*[(str(number), b"x") for number in range(10)])
    with place.intake(prefetch=3).open(None) as receiver:
        found: list[Delivery] = []
        for _ in range(5):
            found += receiver.receive(10, timedelta(milliseconds=200))
        assert len(found) == 3
        receiver.settle(found[:2])
        more = receiver.receive(10, timedelta(seconds=20))
        assert 1 <= len(more) <= 2
    assert len(place.messages()) == 8


def test_broker_that_dies_and_restarts_loses_no_message(tmp_path: Path) -> None:
    with or_skip(RabbitServer) as server:
        place = Place(server.url)
        place.publish(*[(f"a{number}", b"a%d" % number) for number in range(50)])
        topics = Embedded(tmp_path)
        reports: list[IntakeReport] = []
        first = threading.Event()

        def look(report: IntakeReport) -> None:
            first.set() if report.appended >= 50 else None
            if report.appended >= 100:
                runner.stop()

        def take() -> None:
            reports.append(runner.run(timeout=timedelta(seconds=100)))

        runner = IntakeRunner(place.intake(), RAW, topics, on_report=look)
        thread = threading.Thread(target=take)
        thread.start()
        assert first.wait(60)
        server.kill()
        server.start()
        place.publish(*[(f"b{number}", b"b%d" % number) for number in range(50)])
        thread.join(100)
        (report,) = reports
        assert report.appended == 100
        values = [record.value for record in records_of(tmp_path, "raw")]
        assert len(values) == len(set(values)) == 100
        assert place.messages() == []


def test_deleted_queue_stops_the_intake_with_an_error(place: Place, tmp_path: Path) -> None:
    def look(report: IntakeReport) -> bool:
        if report.received == 1:
            place.act(lambda channel: channel.queue_delete(place.queue))
        return False

    place.publish(("a", b"a"))
    with pytest.raises(IntakeError, match="NOT_FOUND") as caught:
        run(place.intake(), Embedded(tmp_path), look)
    assert not isinstance(caught.value, IntakeUnavailableError)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"queue": "no-such"}, "NOT_FOUND"),
        ({"url": ("guest:guest", "guest:wr0ng-one")}, "refuses"),
    ],
)
def test_permanent_error_of_queue_is_raised_at_open_without_retry(
    place: Place, change: dict[str, Any], said: str
) -> None:
    url = place.url.replace(*change["url"]) if "url" in change else place.url
    with pytest.raises(IntakeError, match=said) as caught:
        AmqpQueue(url, change.get("queue", place.queue)).open(None)
    assert not isinstance(caught.value, IntakeUnavailableError)
    assert "wr0ng" not in str(caught.value)


def test_unreachable_broker_is_reported_without_the_password(tmp_path: Path) -> None:
    intake = AmqpQueue("amqp://app:s3cr%40t@127.0.0.1:9/", "q")
    with pytest.raises(IntakeUnavailableError) as caught:
        run(intake, Embedded(tmp_path), lambda _: False, give_up_after=AT_ONCE)
    for text in (str(caught.value), repr(intake), intake.name):
        assert "s3cr" not in text


@pytest.mark.parametrize("url", ["", "http://h/", "amqp://", "amqp://h:port/", "amqp://[::1/"])
def test_invalid_amqp_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="expected amqp://"):
        AmqpQueue(url, "q")
