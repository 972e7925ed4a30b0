"""The AMQP sink: published messages, refusals of the broker, and lost connections."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from kstreams import Record
from kstreams.errors import SinkError, SinkUnavailableError
from kstreams_amqp import AmqpExchange
from kstreams_testing.sink import GivenResults
from tests.connectors.kstreams_amqp.queues import Place
from tests.support.sinks.sink_writes import commit_of, given, write

pytestmark = pytest.mark.connectors

LONG = timedelta(seconds=20)


def test_published_message_has_id_time_and_headers(place: Place) -> None:
    record = Record("a", 1, 5_500, (("kind", b"new"),))
    write(place.exchange(content_type="text/plain"), GivenResults([record]), commit_of(7))
    ((properties, body),) = place.messages()
    assert body == b"a=1"
    assert (properties.message_id, properties.timestamp) == (f"{commit_of(7)}/0", 5)
    assert (properties.headers, properties.content_type) == ({"kind": b"new"}, "text/plain")
    assert properties.delivery_mode == 2


def test_many_messages_are_published_in_order(place: Place) -> None:
    pairs = [(str(number), number % 900) for number in range(2_500)]
    assert write(place.exchange(), given(*pairs)) == []
    assert place.seen() == pairs


def test_unroutable_message_is_refused_and_others_are_published(place: Place) -> None:
    sink = place.exchange(routing_key=lambda key, _: place.queue if key == "a" else "nowhere")
    refused = write(sink, given(("a", 1), ("b", 2), ("a", 3)))
    assert [(row.row, row.reason) for row in refused] == [(1, "312 NO_ROUTE")]
    assert place.seen() == [("a", 1), ("a", 3)]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (Record("k" * 300, 1), "255 bytes"),
        (Record("\ud800", 1), "UTF-8"),
        (Record("a", 1, 0, (("x" * 256, b""),)), "255 bytes"),
        (Record("a", 1, 0, (("x", b"1"), ("x", b"2"))), "the same name"),
    ],
    ids=["routing key", "surrogate", "name of a header", "headers of one name"],
)
def test_record_with_invalid_routing_key_or_headers_is_refused(
    place: Place, record: Record[str, int], said: str
) -> None:
    sink = place.exchange(
        routing_key=lambda key, _: place.queue if key == "a" else key,
        body=lambda _, value: b"%d" % value,
    )
    (refused,) = write(sink, GivenResults([record]))
    assert said in refused.reason


def test_exchange_sink_skips_results_without_body(place: Place) -> None:
    sink = place.exchange(body=lambda key, value: f"{key}={value}".encode() if value else None)
    assert write(sink, given(("a", 0), ("b", 2))) == []
    assert place.seen() == [("b", 2)]


def test_full_queue_fails_the_batch(place: Place) -> None:
    arguments = {"x-max-length": 1, "x-overflow": "reject-publish"}
    place.queue += "-full"
    place.act(lambda channel: channel.queue_declare(place.queue, arguments=arguments))
    with pytest.raises(SinkUnavailableError, match="confirm"):
        write(place.exchange(), given(("a", 1), ("b", 2), ("c", 3)))


def test_connection_closed_between_batches_is_reopened(place: Place) -> None:
    sink = place.exchange(give_up_after=LONG)
    writer = sink.open()
    writer.write(given(("a", 1)), commit_of(1))
    writer._publishing._connection._transport._sock.shutdown(2)  # type: ignore[attr-defined]
    writer.write(given(("a", 2)), commit_of(2))
    writer.close()
    assert place.seen() == [("a", 1), ("a", 2)]


def test_tasks_publish_to_exchange_concurrently(place: Place) -> None:
    failures: list[BaseException] = []

    def task(number: int) -> None:
        try:
            for batch in range(5):
                pairs = [(f"{number}-{batch}-{row}", row) for row in range(100)]
                write(
                    place.exchange(give_up_after=LONG), given(*pairs), commit_of(batch, task=number)
                )
        except BaseException as exc:
            failures.append(exc)

    threads = [threading.Thread(target=task, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(place.seen()) == 1_500


def test_missing_exchange_is_reported_at_the_start(place: Place) -> None:
    sink: AmqpExchange[str, int] = AmqpExchange(place.url, "no-such", body=lambda _, __: b"")
    with pytest.raises(SinkError, match="NOT_FOUND") as caught:
        sink.prepare()
    assert caught.value.code == "404"
    assert not isinstance(caught.value, SinkUnavailableError)


def test_unreachable_broker_is_reported_without_the_password() -> None:
    sink: AmqpExchange[str, int] = AmqpExchange(
        "amqp://app:s3cr%40t@127.0.0.1:9/", "", body=lambda _, __: b"", give_up_after=LONG / 100
    )
    with pytest.raises(SinkUnavailableError) as caught:
        sink.prepare()
    for text in (str(caught.value), repr(sink), sink.label):
        assert "s3cr" not in text
