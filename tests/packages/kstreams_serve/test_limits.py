"""Each limit, and one above it; and invalid addresses."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kstreams_serve.settings import Limits
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.servers.query_server import TOKEN, Served, serving

STORE = "/v1/apps/viewed/stores/counts"
LIMITS = replace(Limits(), head_seconds=0.3, streams=2, keys=5, key_bytes=50, answer_bytes=400)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("limited")
    Committing(path, COUNTS).put((f"k{n:03}", n) for n in range(100))
    with serving((path, COUNTS), limits=LIMITS) as found:
        yield found


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{STORE}/key?key=" + "k" * 50, 404),
        (f"{STORE}/key?key=" + "k" * 51, 413),
        (f"{STORE}/key", 400),
        (f"{STORE}/key?key=a&key=b", 400),
        (f"{STORE}/key?key=a&other=b", 400),
        (f"{STORE}/key?key=%ff", 400),
        (f"{STORE}/key?key=%", 400),
        (f"{STORE}/key?key=a&key_format=pickle", 400),
        (f"{STORE}/key?key=!&key_format=base64", 400),
        (f"{STORE}/key?key=a&as_of=%C2%B2", 404),
        (f"{STORE}/key?key=a&as_of=..%2F..%2Fetc%2Fpasswd", 400),
        (f"{STORE}/key?key=a&as_of=%00", 400),
        (f"{STORE}/key?key=a&as_of=99999999999999999999", 404),
        (f"{STORE}/key?key=a&from=%C2%B2", 400),
        (f"{STORE}/rows?limit=0", 400),
        (f"{STORE}/rows?limit=1001", 400),
        (f"{STORE}/rows?limit=1000", 200),
        (f"{STORE}/rows?cursor=YWJj", 400),
        (f"{STORE}/rows?reverse=1", 400),
        ("/v1/apps/viewed/stores/..%2fcounts/key?key=a", 404),
        ("/v1/apps/../apps/viewed", 404),
        ("/v1/apps/%2e%2e/stores/counts/key?key=a", 400),
        ("/v1/apps/viewed%00/stores/counts/key?key=a", 400),
        ("/v1/apps/" + "x" * 5000, 400),
    ],
)
def test_invalid_request_path_is_refused(served: Served, path: str, status: int) -> None:
    assert served.get(path).status == status


def test_page_of_rows_ends_at_size_limit(served: Served) -> None:
    page = served.get(f"{STORE}/rows?limit=1000").json
    assert 0 < len(page["rows"]) < 30
    assert page["cursor"]


def test_request_body_above_size_limit_is_refused(served: Served) -> None:
    path = f"{STORE}/multi"
    assert served.post(path, {"keys": ["a"] * 5}).status == 200
    assert served.post(path, {"keys": ["a"] * 6}).status == 400
    assert served.post(path, {"keys": ["a"], "more": 1}).status == 400
    assert served.post(path, {"keys": {}}).status == 400
    assert served.post(path, b"[]").status == 400
    assert served.post(path, b"[" * 100_000).status == 400
    assert served.post(path, b'{"keys": ["' + b"a" * LIMITS.body_bytes + b'"]}').status == 413
    assert served.post(path, {"keys": ["a"]}, **{"content-type": "text/plain"}).status == 415


@pytest.mark.parametrize("size", [9_000, 17_000])
def test_request_head_above_size_limit_is_refused(served: Served, size: int) -> None:
    answer = served.get("/v1/apps", X_Much="x" * size)
    assert answer.status == (200 if size < LIMITS.head_bytes else 431)


@pytest.mark.long
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n",
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\nGET /again HTTP/1.1\r\n",
    ],
    ids=["nothing", "half a head", "a second half"],
)
def test_unfinished_request_head_closes_connection(served: Served, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as slow:
        slow.sendall(sent)
        while slow.recv(10_000):
            pass


def test_unfinished_request_body_gets_408(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as slow:
        head = f"POST {STORE}/multi HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}"
        slow.sendall(
            f"{head}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{{".encode()
        )
        assert b" 408 " in slow.recv(10_000).split(b"\r\n")[0]


def _follow(served: Served) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    connection.request("GET", f"{STORE}/follow", headers={"Authorization": f"Bearer {TOKEN}"})
    return connection, connection.getresponse()


def test_number_of_concurrent_follow_requests_is_limited(served: Served) -> None:
    connections = [_follow(served) for _ in range(2)]
    assert [answer.status for _, answer in connections] == [200, 200]
    assert served.get(f"{STORE}/follow").status == 503
    for connection, answer in connections:
        answer.close()
        connection.close()
    again = [_follow(served) for _ in range(1)]
    for connection, answer in again:
        answer.close()
        connection.close()


def test_follow_of_a_key_sends_an_event_when_the_key_changes(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1)])
    with serving((tmp_path, COUNTS)) as served:
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
        headers = {"Authorization": f"Bearer {TOKEN}"}
        connection.request("GET", f"{STORE}/follow?key=a", headers=headers)
        answer = connection.getresponse()
        name, data, _ = [answer.readline() for _ in range(3)]
        assert name.startswith(b"id: ")
        assert data == b'data: {"version": 0, "rows": [{"value": 1}]}\n'
        app.put([("b", 1)])
        app.put([("a", 2)])
        found = b""
        while not found.startswith(b"data"):
            found = answer.readline()
        assert found == b'data: {"version": 2, "rows": [{"value": 2}]}\n'
        answer.close()
        connection.close()
