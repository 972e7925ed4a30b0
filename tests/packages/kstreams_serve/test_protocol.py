"""Limits of a connection: invalid bodies, pipelined requests and open connections."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from kstreams_serve.routes import actions_of
from kstreams_serve.settings import Limits
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.servers.query_server import TOKEN, Served, context_of, serving
from tests.support.servers.raw_sockets import (
    MIB,
    answer_to,
    bounded_memory,
    connected,
    flood,
    status_of,
)

FORM = "application/x-www-form-urlencoded"
LINE = b"x: " + b"y" * 60_000 + b"\r\n"
ROUTES = sorted({(each.method, each.path) for each in actions_of(context_of())})
LIMITS = replace(Limits(), head_seconds=3.0, send_seconds=2.0)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("sockets")
    Committing(path, COUNTS).put([("a", 1)])
    with serving((path, COUNTS), limits=LIMITS) as found:
        yield found


def head(method: str, path: str, *more: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *more, "", ""]
    return "\r\n".join(lines).encode()


def chunked(method: str, path: str) -> bytes:
    return head(method, path, "Transfer-Encoding: chunked", f"Content-Type: {FORM}")


@pytest.mark.parametrize(("method", "path"), ROUTES, ids=[" ".join(each) for each in ROUTES])
@pytest.mark.parametrize("token", [True, False], ids=["token", "no token"])
def test_request_trailers_are_not_buffered(
    served: Served, method: str, path: str, token: bool
) -> None:
    place = path.format(app="viewed", store="counts")
    more = (f"Authorization: Bearer {TOKEN}",) if token else ()
    begun = head(method, place, "Transfer-Encoding: chunked", f"Content-Type: {FORM}", *more)
    with bounded_memory(4 * MIB), connected(served.port) as client:
        client.sendall(begun + b"1\r\na\r\n0\r\n")
        sent = flood(client, LINE)
    assert sent < 20 * MIB


@pytest.mark.parametrize(
    ("begun", "piece"),
    [
        pytest.param(b"1\r\na\r\n0\r\nx: ", b"y" * 60_000, id="one endless trailer"),
        pytest.param(b"1\r\na\r\n0\r\n", b"x: y\r\n" * 10_000, id="many small trailers"),
        pytest.param(b"1;x=", b"y" * 60_000, id="an endless chunk extension"),
        pytest.param(b"0" * 20, b"0" * 60_000, id="an endless chunk size"),
    ],
)
def test_request_with_too_much_chunk_framing_is_rejected(
    served: Served, begun: bytes, piece: bytes
) -> None:
    with bounded_memory(4 * MIB), connected(served.port) as client:
        client.sendall(chunked("POST", "/login") + begun)
        assert flood(client, piece) < 20 * MIB


def test_small_request_trailer_is_ignored(served: Served) -> None:
    own = f"Authorization: Bearer {TOKEN}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    answer = answer_to(
        served.port,
        [
            head("GET", "/v1/apps", "Transfer-Encoding: chunked", "Connection: close")
            + b"1\r\na\r\n0\r\n"
            + own.encode()
        ],
    )
    assert status_of(answer) == 401  # a token in a trailer does not count


def test_size_of_request_head_sent_during_another_request_is_limited(served: Served) -> None:
    path = "/v1/apps/viewed/stores/counts/follow"
    with bounded_memory(4 * MIB), connected(served.port) as client:
        client.sendall(head("GET", path, f"Authorization: Bearer {TOKEN}"))
        assert b" 200 " in client.recv(1000)
        client.sendall(b"GET / HTTP/1.1\r\n")
        assert flood(client, LINE) < 20 * MIB


def test_number_of_pipelined_requests_is_limited(served: Served) -> None:
    path = "/v1/apps/viewed/stores/counts/follow"
    with bounded_memory(8 * MIB), connected(served.port) as client:
        client.sendall(head("GET", path, f"Authorization: Bearer {TOKEN}"))
        assert b" 200 " in client.recv(1000)
        assert flood(client, head("GET", "/health/live") * 1000) < 20 * MIB


def test_connections_above_limit_get_503_and_others_are_served(tmp_path: Path) -> None:
    path = tmp_path
    Committing(path, COUNTS).put([("a", 1)])
    limits = replace(Limits(), connections=5)
    with serving((path, COUNTS), limits=limits) as served, ExitStack() as opened:
        clients = [opened.enter_context(connected(served.port)) for _ in range(5)]
        time.sleep(0.1)
        assert status_of(answer_to(served.port, [])) == 503
        for client in clients:
            client.sendall(head("GET", "/health/live"))
            assert status_of(client.recv(1000)) == 200


def test_connection_of_client_that_reads_no_response_is_closed(served: Served) -> None:
    """Many small responses fill the socket; the closed connection must not linger."""
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", served.port))
        slow.settimeout(0.5)
        request = head("GET", "/openapi.json", f"Authorization: Bearer {TOKEN}")
        flood(slow, request, 400 * len(request))
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if _is_reset(slow):
                return
            time.sleep(0.1)
    raise AssertionError("the connection is still open")


def _is_reset(client: socket.socket) -> bool:
    try:
        client.sendall(b"x")
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return False
