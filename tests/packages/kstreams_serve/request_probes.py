"""Probes of guards of requests: names, sizes, times."""

from __future__ import annotations

import asyncio
import re
import socket
import sys
import threading
from base64 import urlsafe_b64encode
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kstreams import INT64, TEXT
from kstreams.durations import milliseconds
from kstreams.state.stores.window.kind import window_store
from kstreams.windows import TumblingWindows, Windowed
from kstreams_serve import (
    action,
    paging,
    parameters,
    protocol,
    version_parameters,
)
from kstreams_serve.app_commands import Orders
from kstreams_serve.context import Context
from kstreams_serve.cursors import Cursors
from kstreams_serve.problem_responses import answer_of
from kstreams_serve.problems import Problem
from kstreams_serve.queries import Queries
from kstreams_serve.restoring import Restoring
from kstreams_serve.served_app import ServedApp
from kstreams_serve.settings import Limits
from kstreams_serve.streams import Streams
from tests.packages.kstreams_serve.guards import KEY, STORE, an_app, holds, nothing, visiting
from tests.packages.kstreams_serve.socketless_client import Asked, asked
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.servers.query_server import ACTING, ACTOR, SCRAPER, TOKEN, VIEWER, serving

WINDOWS = window_store("counts", key=TEXT, value=INT64, windows=TumblingWindows(milliseconds(10)))

# ---------------------------------------------------------------- contents of requests


@holds(parameters, "_HALF_ESCAPE", re.compile("(?!)"))
def half_an_escape_is_no_key(path: Path) -> None:
    with visiting(path) as ask:
        assert ask(f"{STORE}/key?key=a%").status == 400


@holds(version_parameters, "_BATCH", re.compile(r"\d+"))
def digits_of_other_scripts_are_no_batch(path: Path) -> None:
    with visiting(path) as ask:
        for text in ("%C2%B2", "%D9%A3", "99999999999999999999"):
            assert ask(f"{KEY}&as_of={text}").status == 404


@holds(Cursors, "_mac", lambda *_: b"\0" * 16)
def cursors_are_signed(path: Path) -> None:
    note = b'{"p":["viewed","counts"],"q":{},"v":0,"l":"x","k":"","n":0,"i":""}'
    with visiting(path) as ask:
        cursor = urlsafe_b64encode(b"\0" * 16 + note).decode()
        assert ask(f"{STORE}/rows?cursor={cursor}").status == 400


@holds(Context, "app", lambda self, _: next(iter(self.apps.values())))
def apps_are_looked_up(path: Path) -> None:
    with visiting(path) as ask:
        for name in ("..", "%2e%2e", "..%2f..", "x", "viewed%00", "Viewed", "v" * 5000):
            assert ask(f"/v1/apps/{name}").status in (400, 404)


@holds(ServedApp, "_check_name")
def stores_are_looked_up(path: Path) -> None:
    with visiting(path) as ask:
        for name in ("..", "%2e%2e", "..%2f..", "x", "counts%00", "Counts", "v" * 5000):
            assert ask(f"/v1/apps/viewed/stores/{name}").status in (400, 404)


@holds(action, "answer_of", lambda problem, **_: answer_of(problem, shows_details=True))
def texts_of_errors_need_the_role(path: Path) -> None:
    with visiting(path) as ask:
        (path / "c").rename(path / "gone")
        for token in (None, SCRAPER, VIEWER):
            answer = ask("/health/ready", token=token)
            assert (answer.status, str(path) in answer.data.decode()) == (503, False)


# ---------------------------------------------------------------- sizes and times


LIMITED = True
"""Whether probes of limits get the limit; without it, the refused request must succeed."""


def limited(name: str, value: float, ask_for: Callable[[Asked, int], int], status: int) -> None:
    """Register a guard that refuses one more than a limit."""

    def probe(path: Path) -> None:
        limits: dict[str, Any] = {name: value if LIMITED else 10**9}
        with visiting(path, None, **limits) as ask:
            assert ask_for(ask, int(value)) not in (status, 500)
            assert ask_for(ask, int(value) + 1) == status

    probe.__name__ = f"limit_of_{name}"
    holds(sys.modules[__name__], "LIMITED", gone=False)(probe)


limited("key_bytes", 30, lambda ask, n: ask(f"{STORE}/key?key={'k' * n}").status, 413)
limited("keys", 4, lambda ask, n: ask(f"{STORE}/multi", body={"keys": ["a"] * n}).status, 400)
limited("rows", 50, lambda ask, n: ask(f"{STORE}/rows?limit={n}").status, 400)
limited(
    "body_bytes",
    300,
    lambda ask, n: ask(f"{STORE}/multi", body=b'{"keys": ["a"]}' + b" " * (n - 15)).status,
    413,
)


@holds(Orders, "_check_room")
def savepoints_are_few(path: Path) -> None:
    """Each savepoint protects its version from clean-up: no token can fill the log with them."""
    with visiting(path, ACTING, savepoints=2) as ask:
        orders = [{"order": "savepoint", "name": name} for name in ("a", "b", "c")]
        found = [ask("/v1/apps/viewed/orders", token=ACTOR, body=each) for each in orders]
        assert [each.status for each in found] == [200, 200, 409]
        assert "--delete" in found[-1].json["hint"]


def socket_of(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=5)


def ends(connection: socket.socket) -> bool:
    """Return whether the other side closes the connection within a second."""
    connection.settimeout(1)
    try:
        while connection.recv(100_000):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


@holds(protocol.BoundedProtocol, "_await_head")
def who_does_not_finish_a_head_is_hung_up_on(path: Path) -> None:
    limits = replace(Limits(), head_seconds=0.2)
    with serving((an_app(path), COUNTS), limits=limits) as served:
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "):
            with socket_of(served.port) as slow:
                slow.sendall(sent)
                assert ends(slow)


@holds(protocol.BoundedProtocol, "_refuse")
def heads_are_bounded(path: Path) -> None:
    with serving((an_app(path), COUNTS)) as served:
        assert served.get("/health/live", X_Much="x" * 16_000).status == 200
        for sent in (b"GET /" + b"x" * 17_000, b"GET / HTTP/1.1\r\nX: " + b"x" * 17_000):
            with socket_of(served.port) as large:
                large.sendall(sent)
                assert ends(large)


@holds(protocol.BoundedProtocol, "pause_writing", HttpToolsProtocol.pause_writing)
def who_reads_nothing_is_hung_up_on(path: Path) -> None:
    spec = replace(COUNTS, value=TEXT)
    app = Committing(path / "c", spec)
    app.put((f"k{n}", "v" * 50_000) for n in range(200))  # type: ignore[misc]  # text
    limits = replace(Limits(), send_seconds=0.2, answer_bytes=8_000_000)
    with serving((path / "c", spec), limits=limits) as served, socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", served.port))
        head = f"GET {STORE}/rows?limit=1000 HTTP/1.1\r\nHost: localhost\r\n"
        slow.sendall(f"{head}Authorization: Bearer {TOKEN}\r\n\r\n".encode())
        slow.settimeout(5)
        assert slow.recv(10)
        threading.Event().wait(1.0)
        size = 10
        with suppress(ConnectionError):
            while data := slow.recv(1_000_000):
                size += len(data)
                if size > 8_000_000:
                    raise AssertionError("all of it was kept for who did not read")


@holds(Streams, "enter")
def followers_are_few(path: Path) -> None:
    with visiting(path, streams=0) as ask:
        assert ask(f"{STORE}/follow").status == 503


@holds(Queries, "_one_more", lambda _: nullcontext())
def pages_at_once_are_few(path: Path) -> None:
    with visiting(path, pages=0) as ask:
        assert ask(f"{STORE}/rows").status == 503


@holds(Queries, "_check_size")
def answers_of_many_keys_are_bounded(path: Path) -> None:
    with visiting(path, answer_bytes=40) as ask:
        assert ask(f"{STORE}/multi", body={"keys": ["a"] * 9}).status == 413


@holds(Restoring, "_check_line")
def restores_wait_in_a_short_line(path: Path) -> None:
    async def run() -> None:
        held = threading.Event()
        restoring = Restoring(1, 2, 0.01)
        try:
            for number in range(2):
                with pytest.raises(Problem):
                    await restoring.result(number, held.wait)
            with pytest.raises(Problem) as caught:
                await restoring.result("one more", nothing)
            assert "too many requests" in caught.value.detail
        finally:
            held.set()
            restoring.close()

    asyncio.run(run())


@holds(paging, "_CHECK_EVERY", 10**9)
def scan_for_a_rare_key_ends_page_at_time_limit(path: Path) -> None:
    """A page ends at the time limit, even if the scanned rows of a window store have other keys."""
    app = Committing(path / "c", WINDOWS)
    app.commit(lambda s, p: [s.put(Windowed(f"k{n}", n, n + 10), n) for n in range(0, 9000, 10)])
    with asked((path / "c", WINDOWS), read_seconds=-1.0) as ask:
        found = ask(f"{STORE}/rows?start=zzz").json
        assert (found["rows"], found["cursor"] is None) == ([], False)
