"""The HTTP sink: bodies, order and idempotency keys of its requests, for all responses."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from devtools.servers.ports import free_ports
from kstreams import Record
from kstreams.errors import RecordRefusedError, SinkError, SinkUnavailableError
from kstreams_http import HttpPost
from tests.support.sinks.sink_writes import commit_of, given, write

SHORT = timedelta(milliseconds=200)


class Receiver:
    """A server that keeps its requests, and sends the configured responses."""

    def __init__(self) -> None:
        self.got: list[tuple[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answers: list[int] = []
        self.refuses: list[object] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/in"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler) -> int:
        """Keep a request; return the status of the response, or 0 to close the connection."""
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        status = self.answers.pop(0) if self.answers else 204
        rows = body if isinstance(body, list) else [body]
        if any(row in self.refuses for row in rows):
            status = 422
        self.headers.append(dict(handler.headers))
        self.paths.append(handler.path)
        if status < 300:
            self.got.append((handler.headers["Idempotency-Key"], body))
        return 0 if status == 200 else status

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            if status := receiver.answer(self):
                self.send_response(status)
                self.send_header("Content-Length", "2" if status >= 400 else "0")
                self.end_headers()
                self.wfile.write(b"no" if status >= 400 else b"")
            else:
                self.close_connection = True

        def log_message(self, *said: object) -> None:
            pass

    return Handler


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def _value(_key: str, value: Any) -> Any:
    return value


def test_results_are_posted_in_order_with_stable_idempotency_keys(receiver: Receiver) -> None:
    sink: HttpPost[str, Any] = HttpPost(f"{receiver.url}?q=1", body=_value, headers={"X-A": "b"})
    rows = given(("a", {"n": 1}), ("b", None), ("c", [2]), ("d", '"text"'), ("e", b"5"))
    for _ in range(2):
        assert write(sink, rows, commit_of(7, task=2)) == []
    names = [f"epoch/out/2/7/{number}" for number in (0, 2, 3, 4)]
    expected = list(zip(names, [{"n": 1}, [2], "text", 5], strict=True))
    assert receiver.got == [*expected, *expected]
    assert {(h["X-A"], h["Content-Type"]) for h in receiver.headers} == {("b", "application/json")}
    assert set(receiver.paths) == {"/in?q=1"}


def test_temporary_failure_is_retried_with_the_same_idempotency_key(receiver: Receiver) -> None:
    sink: HttpPost[str, int] = HttpPost(receiver.url, body=_value)
    receiver.answers = [503, 200, 429, 409, 204]
    write(sink, given(("a", 1), ("b", 2)))
    assert [name for name, _ in receiver.got] == [
        "epoch/out/0/0/0",  # the response was lost
        "epoch/out/0/0/0",
        "epoch/out/0/0/1",
    ]


def test_refused_result_affects_no_other_result_of_batch(receiver: Receiver) -> None:
    sink: HttpPost[str, Any] = HttpPost(receiver.url, body=_value)
    receiver.refuses = [2]
    refused = write(sink, given(("a", 1), ("b", 2), ("c", math.nan), ("d", object()), ("e", 5)))
    assert [(row.row, row.code) for row in refused] == [(1, "422"), (2, ""), (3, "")]
    assert refused[0].reason == "status 422: no"
    assert [body for _, body in receiver.got] == [1, 5]
    with pytest.raises(RecordRefusedError, match="422"):
        write(sink, given(("b", 2), fails=True))


def test_batch_is_posted_in_one_request_and_split_in_halves_if_refused(receiver: Receiver) -> None:
    def body(records: Sequence[Record[str, int]]) -> list[int]:
        return [record.value for record in records]

    sink: HttpPost[str, int] = HttpPost.of_batches(receiver.url, body=body)
    write(sink, given(*((str(n), n) for n in range(5))), commit_of(3))
    assert receiver.got == [("epoch/out/0/3", [0, 1, 2, 3, 4])]
    receiver.got.clear()
    receiver.refuses = [2]
    refused = write(sink, given(*((str(n), n) for n in range(5))), commit_of(4))
    assert [(row.row, row.code) for row in refused] == [(2, "422")]
    assert receiver.got == [("epoch/out/0/4/0-1", [0, 1]), ("epoch/out/0/4/3-4", [3, 4])]


@pytest.mark.parametrize("status", [301, 401, 403, 404, 405, 410])
def test_wrong_url_or_credentials_fail_the_batch(receiver: Receiver, status: int) -> None:
    receiver.answers = [status]
    sink: HttpPost[str, int] = HttpPost(receiver.url, body=_value)
    with pytest.raises(SinkError, match=f"refuses: status {status}") as told:
        write(sink, given(("a", 1)))
    assert told.value.code == str(status)
    assert not isinstance(told.value, SinkUnavailableError)


def test_busy_or_unreachable_server_is_reported_without_the_secret(receiver: Receiver) -> None:
    (port,) = free_ports(1)
    receiver.answers = [500] * 50
    for url in (receiver.url, f"http://127.0.0.1:{port}/in"):
        login = url.replace("//", "//app:s3cr%40t@") + "?token=s3cret-too"
        sink: HttpPost[str, int] = HttpPost(
            login, body=_value, headers={"X-Token": "Bearer s3cret-three"}, give_up_after=SHORT
        )
        with closing(sink.open()) as writer, pytest.raises(SinkUnavailableError) as told:
            writer.write(given(("a", 1)), commit_of())
        for each in (told.value, sink, sink.label):
            assert "s3cr" not in str(each) + repr(each)


@pytest.mark.parametrize(
    "url", ["ftp://h/s3cret", "s3cret", "http://h:s3cret/", "http://h/s3cret\r\nX: y", "http:///x"]
)
def test_error_of_invalid_url_does_not_contain_the_url(url: str) -> None:
    with pytest.raises(ValueError, match="the url is invalid") as told:
        HttpPost[str, int](url, body=_value)
    assert "s3cret" not in str(told.value)


def test_line_breaks_in_headers_are_refused() -> None:
    with pytest.raises(ValueError, match="only printable ASCII"):
        HttpPost[str, int]("http://h", body=_value, headers={"X": "a\r\nY: s3cret"})
