"""Hostile requests: refused with a reason, limited in size and time, and without a trace."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kstreams import NONE, Embedded, Topic
from kstreams.connection import RawRecord
from kstreams.errors import IntakeError
from kstreams.intakes import MESSAGE_ID, Delivery, IntakeRunner, Webhook
from kstreams_json import json_serde
from tests.support.intakes.scripted_intake import records_of
from tests.support.intakes.webhook_senders import hook, running, sent, signed

ORDERS = Topic("orders", key=NONE, value=json_serde(dict[str, int]))
TOKEN = "a-token-of-the-tests"
GOOD = b'{"tea": 1}'
SOON = timedelta(seconds=0.3)


class Place:
    """A running webhook and its topic."""

    def __init__(self, webhook: Webhook, topics: Embedded) -> None:
        self.webhook, self.topics = webhook, topics

    def send(self, body: bytes, headers: dict[str, str] | None = None, **given: Any) -> int:
        named = signed(body) if headers is None else headers
        return sent(self.webhook.port, body, named, **given).status

    def records(self) -> list[RawRecord]:
        return records_of(str(self.topics.root), "orders")

    def raw(self, data: bytes) -> bytes:
        """Send bytes, and return the response until the server closes the connection."""
        found = b""
        with socket.create_connection(("127.0.0.1", self.webhook.port), timeout=20) as client:
            client.sendall(data)
            while more := client.recv(10_000):
                found += more
        return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    topics = Embedded(tmp_path_factory.mktemp("hostile"), default_partitions=1)
    webhook = hook(max_bytes=1_000, send_within=SOON, keep_headers=("x-kind",))
    with running(IntakeRunner(webhook, ORDERS, topics)):
        found = Place(webhook, topics)
        while True:
            try:
                assert found.send(b"", {}, path="/health/live", method="GET") == 200
                break
            except ConnectionError:
                continue
        yield found
    ids = [dict(record.headers)[MESSAGE_ID] for record in found.records() if record.value == GOOD]
    assert len(found.records()) == len(ids) == len(set(ids))


def test_valid_message_is_in_topic_before_its_sender_gets_response(place: Place) -> None:
    for _ in range(2):  # again, with the same id
        assert place.send(GOOD, {**signed(GOOD, "good"), "X-Kind": "new"}) == 204
    found = [dict(record.headers) for record in place.records()]
    (headers,) = [each for each in found if each[MESSAGE_ID] == b"good"]
    assert headers["x-kind"] == b"new"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"x-hub-signature-256": "sha256=" + "0" * 64, "x-id": "i"}, 401),
        ({"x-hub-signature-256": "0" * 64, "x-id": "i"}, 401),
        ({"x-hub-signature-256": "sha256=", "x-id": "i"}, 401),
        ({"x-hub-signature-256": "sha256=\xff", "x-id": "i"}, 401),
        ({**signed(b"other"), "x-id": "i"}, 401),
        ({"x-hub-signature-256": signed(GOOD)["x-hub-signature-256"]}, 400),
        ({**signed(GOOD), "x-id": ""}, 400),
        ({**signed(GOOD), "x-id": "x" * 1_001}, 422),
        ({**signed(GOOD), "x-id": "\xa0"}, 422),
        ({**signed(GOOD), "Host": "evil.example"}, 421),
        ({**signed(GOOD), "Origin": "http://evil.example"}, 403),
        ({**signed(GOOD), "Content-Encoding": "gzip"}, 415),
        ({**signed(GOOD), "X-Much": "x" * 17_000}, 431),
    ],
)
def test_invalid_request_head_is_refused(
    place: Place, headers: dict[str, str], status: int
) -> None:
    assert place.send(GOOD, headers) == status


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 422),
        (b"[1]", 422),
        (b'{"tea": "much"}', 422),
        (b'{"tea": NaN}', 422),
        (b"[" * 900, 422),
        (b"\xff\xfe", 422),
        (b'{"tea": 1}' + b" " * 1_000, 413),
    ],
)
def test_invalid_request_body_is_refused(place: Place, body: bytes, status: int) -> None:
    assert place.send(body, signed(body, "another")) == status


def test_webhook_refuses_other_paths_and_methods(place: Place) -> None:
    assert place.send(GOOD, path="/other") == 404
    assert place.send(GOOD, path="/orders/") == 404
    assert place.send(b"", {}, method="GET") == 405


def test_endless_chunked_body_is_refused(place: Place) -> None:
    head = b"POST /orders HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = place.raw(
        head + b"ff\r\n" + b"x" * 255 + b"\r\n" + (b"3e8\r\n" + b"x" * 1000 + b"\r\n")
    )
    assert b" 413 " in answer.split(b"\r\n")[0]


def test_too_many_headers_are_refused(place: Place) -> None:
    head = b"POST /orders HTTP/1.1\r\nHost: localhost\r\n"
    flood = b"".join(b"x-%d: y\r\n" % number for number in range(2_000))
    assert b" 431 " in place.raw(head + flood).split(b"\r\n")[0]


@pytest.mark.parametrize(
    "begun",
    [b"", b"POST /orders HTTP/1.1\r\n", b"POST /orders HTTP/1.1\r\nHost: localhost\r\nx"],
    ids=["nothing", "a line", "half a head"],
)
def test_incomplete_request_head_closes_connection_without_response(
    place: Place, begun: bytes
) -> None:
    assert place.raw(begun) == b""


def test_unfinished_webhook_body_gets_408(place: Place) -> None:
    head = b"POST /orders HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"
    with socket.create_connection(("127.0.0.1", place.webhook.port), timeout=20) as client:
        client.sendall(head)
        assert b" 408 " in client.recv(10_000).split(b"\r\n")[0]
    with socket.create_connection(("127.0.0.1", place.webhook.port), timeout=20) as client:
        client.sendall(head)  # and disconnects
    assert place.send(GOOD) == 204


def test_tokens_are_checked_before_the_body_is_read(tmp_path: Path) -> None:
    webhook = Webhook("/orders", tokens=(TOKEN,), port=0, max_bytes=10)
    with webhook.open(None) as receiver:
        port = _port(receiver)
        for headers in ({}, {"Authorization": "Bearer wrong-token-of-tests"}):
            assert sent(port, b"x" * 11, headers).status == 401
        assert sent(port, b"x" * 11, {"Authorization": f"Bearer {TOKEN}"}).status == 413
        assert sent(port, b"x", {}, path=f"/orders?token={TOKEN}").status == 400
    assert TOKEN not in repr(webhook)


def _statuses(webhook: Webhook, port: int, bodies: list[bytes]) -> list[int]:
    found: list[int] = []

    def send(body: bytes) -> None:
        found.append(sent(port, body, signed(body)).status)

    threads = [threading.Thread(target=send, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return sorted(found)


def _port(receiver: Any) -> int:
    return int(receiver.url.split(":")[2].partition("/")[0])


def test_total_size_of_concurrent_bodies_is_limited() -> None:
    webhook = hook(port=0, max_bytes=600, max_waiting_bytes=1_500, answer_within=SOON)
    with webhook.open(None) as receiver:
        port = _port(receiver)
        assert _statuses(webhook, port, [b"x" * 600] * 5) == [503] * 5  # three at once, two in time
        held = receiver.receive(10, SOON)
        assert 1 <= len(held) <= 2
        receiver.settle(held)
        late: list[Delivery] = []
        sender = threading.Thread(target=lambda: _statuses(webhook, port, [b"y" * 600]))
        sender.start()
        while not late:
            late += receiver.receive(1, SOON)
        receiver.settle(late)
        sender.join(20)
        assert [each.value for each in late] == [b"y" * 600]


def test_sender_that_waits_when_receiver_closes_gets_503() -> None:
    receiver = hook(port=0).open(None)
    found: list[int] = []
    port = _port(receiver)
    sender = threading.Thread(target=lambda: found.extend(_statuses(hook(), port, [b"x"])))
    sender.start()
    while not receiver.receive(1, SOON):
        pass
    receiver.close()
    sender.join(20)
    assert found == [503]


def test_webhook_on_port_in_use_raises_error() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(ValueError, match="cannot listen"):
            hook(port=other.getsockname()[1]).open(None)


def test_webhook_with_invalid_certificate_raises_error(tmp_path: Path) -> None:
    none = tmp_path / "none.pem"
    none.write_text("none")
    with pytest.raises(IntakeError, match="did not start"):
        hook(port=0, certificate=none, key_file=none).open(None)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"signature": None}, "anybody could write"),
        ({"path": "orders"}, "expected a path such as"),
        ({"path": "/{any}"}, "expected a path such as"),
        ({"path": "/health/live"}, "expected a path such as"),
        ({"max_bytes": 0}, "positive"),
        ({"max_waiting_bytes": 10}, "max_waiting_bytes at least"),
        ({"host": "192.0.2.1"}, "without TLS"),
        ({"tokens": ("short",)}, "16"),
    ],
)
def test_unsafe_or_invalid_settings_are_refused(given: dict[str, Any], said: str) -> None:
    known: dict[str, Any] = {"path": "/orders", "signature": hook().signature, **given}
    with pytest.raises(ValueError, match=said):
        Webhook(**known)
