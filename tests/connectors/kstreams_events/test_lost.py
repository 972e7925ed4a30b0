"""Lost connections, refusals and invalid responses of servers, and counted gaps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kstreams import BYTES, Embedded, Topic
from kstreams.errors import IntakeError, IntakeUnavailableError
from kstreams.intakes import Intake, IntakeReport, IntakeRunner, LastMessage, Receiver
from kstreams_events import EventStream, WebSocket
from kstreams_events.parsing import events_of
from tests.connectors.kstreams_events.servers import EventServer, SocketServer
from tests.support.intakes.scripted_intake import records_of

RAW = Topic("raw", key=BYTES, value=BYTES, null_keys="pass")
pytestmark = pytest.mark.slow

SOON = timedelta(milliseconds=10)
WAIT = timedelta(milliseconds=50)
AWAY = timedelta(seconds=100)


@pytest.fixture
def events() -> Iterator[EventServer]:
    server = EventServer()
    yield server
    server.close()


@pytest.fixture
def sockets() -> Iterator[SocketServer]:
    server = SocketServer()
    yield server
    server.close()


def take(receiver: Receiver, count: int) -> list[bytes]:
    """Receive and settle a number of messages; return their values."""
    found: list[bytes] = []
    end = time.monotonic() + 20
    while len(found) < count and time.monotonic() < end:
        came = receiver.receive(10, WAIT)
        receiver.settle(came)
        found += [each.value for each in came]
    return found


def run(intake: Intake, place: Path, done: Callable[[IntakeReport], bool]) -> IntakeReport:
    def look(report: IntakeReport) -> None:
        if done(report):
            runner.stop()

    runner = IntakeRunner(intake, RAW, Embedded(place), on_report=look)
    return runner.run(timeout=timedelta(seconds=30))


def test_event_stream_reconnects_after_the_last_event_id(events: EventServer) -> None:
    with EventStream(events.url, pause=SOON).open(None) as receiver:
        events.send([("a", b"1"), ("b", b"2"), (None, b"3")])
        assert take(receiver, 3) == [b"1", b"2", b"3"]
        events.cut()
        assert take(receiver, 1) == [b"3"]  # an event without an id is sent again
        events.send([("c", b"4")])
        assert take(receiver, 1) == [b"4"]
        assert events.asked == [None, "b"]
        assert receiver.gaps.count == 0


def test_restarted_intake_resumes_event_stream_after_last_event_in_topic(
    events: EventServer, tmp_path: Path
) -> None:
    stream = EventStream(events.url, pause=SOON)
    events.send([(str(number), b"%d" % number) for number in range(5)])
    run(stream, tmp_path, lambda report: report.appended == 5)
    events.send([("5", b"5")])
    run(stream, tmp_path, lambda report: report.appended == 1)
    events.send([("6", b"6")])
    report = run(stream, tmp_path, lambda report: report.appended == 1)
    assert events.asked == [None, "4", "5"]
    assert report.gaps.count == 0
    values = [record.value for record in records_of(tmp_path, "raw")]
    assert sorted(map(bytes, filter(None, values))) == [b"%d" % number for number in range(7)]


def test_event_stream_without_ids_counts_disconnections_as_gaps(events: EventServer) -> None:
    last = LastMessage(None, AWAY)
    with EventStream(events.url, pause=SOON).open(last) as receiver:
        assert (receiver.gaps.count, receiver.gaps.seconds >= 100) == (1, True)
        events.send([(None, b"1")])
        take(receiver, 1)
        events.cut()
        take(receiver, 1)  # the event is sent again
        assert receiver.gaps.count == 2


def test_websocket_counts_disconnections_as_gaps(sockets: SocketServer) -> None:
    socket = WebSocket(sockets.url, pause=SOON, greetings=('{"subscribe": 1}',))
    with socket.open(LastMessage("a", AWAY)) as receiver:
        assert (receiver.gaps.count, receiver.gaps.seconds >= 100) == (1, True)
        sockets.send(["größe", b"\xff"])
        assert take(receiver, 2) == ["größe".encode(), b"\xff"]
        sockets.cut()
        with pytest.raises(IntakeUnavailableError):
            take(receiver, 1)
        sockets.send(["2"])
        assert take(receiver, 1) == [b"2"]
        assert receiver.gaps.count == 2
        with sockets.changed:
            assert sockets.changed.wait_for(lambda: len(sockets.greetings) == 2, 20)
    assert sockets.greetings == [{"subscribe": 1}] * 2


def test_message_returned_to_websocket_receiver_is_received_again(sockets: SocketServer) -> None:
    with WebSocket(sockets.url).open(None) as receiver:
        sockets.send(["1"])
        came = list(receiver.receive(1, timedelta(seconds=20)))
        receiver.give_back(came)
        assert take(receiver, 1) == [b"1"]


@pytest.mark.parametrize("kind", [EventStream, WebSocket])
def test_receiver_buffers_at_most_prefetch_messages(
    events: EventServer, sockets: SocketServer, kind: Any
) -> None:
    values = [b"%d" % number + b" " * 10_000 for number in range(300)]
    events.send([(str(number), value) for number, value in enumerate(values)])
    sockets.send(values)
    with kind(events.url if kind is EventStream else sockets.url, prefetch=2).open(
        None
    ) as receiver:
        time.sleep(0.2)
        assert len(receiver._reader._inbox) <= 2
        assert take(receiver, 300) == values


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"status": 401}, IntakeError),
        ({"status": 404}, IntakeError),
        ({"status": 204}, IntakeError),
        ({"status": 429}, IntakeUnavailableError),
        ({"status": 500}, IntakeUnavailableError),
        ({"kind": "text/html"}, IntakeError),
    ],
    ids=str,
)
def test_response_of_other_content_type_than_event_stream_raises_intake_error(
    events: EventServer, change: dict[str, Any], error: type[Exception]
) -> None:
    vars(events).update(change)
    stream = EventStream(f"{events.url}?key=s3cret", headers={"Authorization": "s3cret"})
    with pytest.raises(IntakeError) as caught:
        stream.open(None)
    assert type(caught.value) is error
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "raw",
    [[b"data: " + b"x" * 5_000], [b"data: " + b"x" * 900 + b"\n"] * 2, [b":" + b"x" * 5_000]],
    ids=["endless line", "endless event", "endless comment"],
)
def test_event_longer_than_max_bytes_raises_intake_error(
    events: EventServer, raw: list[bytes]
) -> None:
    events.raw = raw
    with (
        EventStream(events.url, max_bytes=1_000).open(None) as receiver,
        pytest.raises(IntakeError, match="1,000 bytes") as caught,
    ):
        take(receiver, 1)
    assert not isinstance(caught.value, IntakeUnavailableError)


def test_websocket_message_above_max_bytes_raises_intake_error(sockets: SocketServer) -> None:
    with WebSocket(sockets.url, max_bytes=1_000).open(None) as receiver:
        sockets.send([b"x" * 1_001])
        with pytest.raises(IntakeError, match="too large") as caught:
            take(receiver, 1)
        assert not isinstance(caught.value, IntakeUnavailableError)


@pytest.mark.parametrize("kind", [EventStream, WebSocket])
def test_unreachable_server_is_reported_without_the_secret(kind: Any) -> None:
    scheme = "http" if kind is EventStream else "ws"
    with pytest.raises(IntakeUnavailableError) as caught:
        kind(f"{scheme}://127.0.0.1:9/x?key=s3cret").open(None)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["", "ftp://h/", "http://", "http://u:p@h/", "ws://u@h/", "http://h:port/"]
)
@pytest.mark.parametrize("kind", [EventStream, WebSocket])
def test_invalid_event_stream_or_websocket_url_is_refused(kind: Any, url: str) -> None:
    with pytest.raises(ValueError, match="url= is not valid"):
        kind(url)


@pytest.mark.parametrize("size", [1, 2, 3, 1_000])
def test_events_are_parsed_as_in_html_standard(size: int) -> None:
    text = (
        b"\xef\xbb\xbf: a comment\r\nid: 1\r\ndata: a\r\ndata:  b\r\n\r\n"
        b"event: paid\rdata\rdata:c:d\r\r"
        b"id: x\0y\nid\ndata: e\nretry: 5\nother: f\n\n"
        b"id: lost\n\ndata: not ended\n"
    )
    chunks = [text[start : start + size] for start in range(0, len(text), size)]
    found = [(each.value, each.id, each.headers) for each in events_of(chunks, 100)]
    assert found == [
        (b"a\n b", "1", ()),
        (b"\nc:d", None, (("sse-event", b"paid"),)),
        (b"e", None, ()),
    ]
