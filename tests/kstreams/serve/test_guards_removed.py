"""Each guard holds, and its probe is red where the guard is taken out: none is there for nothing.

A row of `GUARDS` is what takes a guard out, and what a hostile visitor does against it.
"""

from __future__ import annotations

import asyncio
import re
import socket
import sys
import threading
from base64 import urlsafe_b64encode
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kstreams import INT64, TEXT
from kstreams.durations import milliseconds
from kstreams.serve import (
    action,
    as_of,
    doors,
    guard,
    paging,
    parameters,
    protocol,
    routes,
    settings,
)
from kstreams.serve.context import Context
from kstreams.serve.cursors import Cursors
from kstreams.serve.doors import Doors
from kstreams.serve.guard import Guard
from kstreams.serve.problems import Problem, answer_of
from kstreams.serve.queries import Queries
from kstreams.serve.restoring import Restoring
from kstreams.serve.roles import Role
from kstreams.serve.served_app import ServedApp
from kstreams.serve.settings import Limits, Listening, ServeError, ServeSettings
from kstreams.serve.streams import Streams
from kstreams.state.stores.window.kind import window_store
from kstreams.windows import TumblingWindows, Windowed
from tests.kstreams.serve.asked import Asked, asked
from tests.kstreams.serve.serving import SCRAPER, TOKEN, TOKENS, VIEWER, serving
from tests.kstreams.views.committing import Committing
from tests.kstreams.views.counted import COUNTS

STORE = "/v1/apps/viewed/stores/counts"
KEY = f"{STORE}/key?key=a"
FRIEND = "https://pages.example"
WINDOWS = window_store("counts", key=TEXT, value=INT64, windows=TumblingWindows(milliseconds(10)))
Probe = Callable[[Path], None]


def nothing(*_: Any, **__: Any) -> None:
    """Stand where a guard was."""


@dataclass
class Guarded:
    """A guard.

    Attributes:
        place: What has it.
        name: Under which name.
        gone: What stands there when it is taken out.
        probe: What a visitor does, in an empty directory; it asserts that the guard is there.
    """

    place: Any
    name: str
    gone: Any
    probe: Probe


GUARDS: dict[str, Guarded] = {}


def holds(place: Any, name: str, gone: Any = nothing) -> Callable[[Probe], Probe]:
    """Add a probe of a guard."""

    def add(probe: Probe) -> Probe:
        GUARDS[probe.__name__] = Guarded(place, name, gone, probe)
        return probe

    return add


def an_app(path: Path, rows: int = 1) -> Path:
    app = Committing(path / "c", COUNTS)
    app.put([("a", 1), *((f"k{n:04}", n) for n in range(rows))])
    return path / "c"


@contextmanager
def visiting(path: Path, given: dict[str, Any] | None = None, **limits: Any) -> Iterator[Asked]:
    """Ask a server of an app, which answers who may ask."""
    with asked((an_app(path), COUNTS), settings=given, **limits) as ask:
        assert ask(KEY).status == 200
        yield ask


# ---------------------------------------------------------------- the start


def refused_at_start(**given: Any) -> None:
    try:
        ServeSettings(**{"tokens": TOKENS, **given})
    except ServeError:
        return
    raise AssertionError(f"it would start with {given}")


@holds(Listening, "is_loopback", property(lambda _: True))
def elsewhere_needs_tls(_: Path) -> None:
    refused_at_start(host="0.0.0.0")  # noqa: S104  # on purpose
    refused_at_start(host="192.168.0.1")


@holds(settings, "_SHORTEST_TOKEN", 0)
def tokens_are_not_short(_: Path) -> None:
    refused_at_start(tokens={"fifteen-letters": Role.DATA})
    refused_at_start(tokens={"": Role.DATA})


@holds(ServeSettings, "__post_init__")
def there_is_a_token(_: Path) -> None:
    refused_at_start(tokens={})


@holds(settings, "_ORIGIN", re.compile(".*"))
def origins_are_exact(_: Path) -> None:
    refused_at_start(origins=("*",))


@holds(settings, "_OTHERS", 0)
def token_files_are_private(path: Path) -> None:
    file = path / "tokens"
    file.write_text("somebody-somebody\n")
    for mode in (0o640, 0o604, 0o620):
        file.chmod(mode)
        with suppress(ServeError):
            settings.read_tokens(file)
            raise AssertionError(f"mode {mode:o} is taken")


# ---------------------------------------------------------------- tokens and roles


@holds(routes, "require")
def each_route_needs_its_role(path: Path) -> None:
    by_role = {Role.OPEN: None, Role.METRICS: SCRAPER, Role.VIEW: VIEWER, Role.DATA: TOKEN}
    with visiting(path) as ask:
        for each in routes.actions_of(ask.server.context):
            place = each.path.format(app="viewed", store="counts")
            body: object = None if each.method == "GET" else {}
            for role, token in by_role.items():
                status = ask(place, token=token, body=body).status
                may = role >= each.role
                assert (status not in (401, 403)) == may, (each.path, role, status)


@holds(doors, "compare_digest", lambda *_: True)
def wrong_tokens_are_told_apart(path: Path) -> None:
    with visiting(path) as ask:
        assert ask(KEY, token=TOKEN + "x").status == 401
        assert ask(KEY, token=TOKEN[:-1]).status == 401
        assert ask(KEY, token=None, headers={"Cookie": "kstreams=AAAA"}).status == 401


@holds(Doors, "_recent", lambda *_: deque())
def who_guesses_is_not_heard(path: Path) -> None:
    with visiting(path, failures_a_minute=3) as ask:
        statuses = [ask(KEY, token="x" * 20, address="9.9.9.9").status for _ in range(4)]
        assert statuses == [401, 401, 401, 429]
        assert ask(KEY, address="9.9.9.9").status == 429
        assert ask(KEY, address="9.9.9.8").status == 200


@holds(doors, "_ADDRESSES", 10**9)
def guesses_of_many_addresses_take_no_memory(_: Path) -> None:
    found = Doors(ServeSettings(TOKENS), lambda: 0.0)
    for number in range(10_050):
        with suppress(Problem):
            found.role_of(["Bearer x"], f"10.0.{number // 250}.{number % 250}")
    assert len(found._failures) <= 10_000


@holds(guard, "_TOKEN_IN_URL", re.compile(rb"(?!)"))
def no_token_is_in_an_address(path: Path) -> None:
    with visiting(path) as ask:
        for name in ("token", "access_token", "api_key"):
            answer = ask(f"/v1/apps?{name}={TOKEN}")
            assert (answer.status, "in the address" in answer.json.get("detail", "")) == (400, True)
            assert TOKEN.encode() not in answer.data


# ---------------------------------------------------------------- browsers


@holds(Guard, "_check_host")
def forged_hosts_are_refused(path: Path) -> None:
    with visiting(path) as ask:
        for host in ("evil.example", "127.0.0.1.evil.example", "a@127.0.0.1", "", "127.0.0.1/x"):
            assert ask(KEY, headers={"Host": host}).status == 421, host


@holds(Guard, "_check_origin")
def foreign_origins_are_refused(path: Path) -> None:
    with visiting(path) as ask:
        for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "127.0.0.1"):
            assert ask(KEY, headers={"Origin": origin}).status == 403, origin


@holds(Guard, "_check_site")
def foreign_sites_are_refused(path: Path) -> None:
    with visiting(path) as ask:
        for site in ("cross-site", "same-site", "x"):
            assert ask(KEY, headers={"Sec-Fetch-Site": site}).status == 403


@holds(Guard, "_check_sender")
def a_cookie_alone_sends_nothing(path: Path) -> None:
    with visiting(path) as ask:
        cookie = ask.server.context.doors.log_in(TOKEN, "").partition(";")[0]
        answer = ask(f"{STORE}/multi", token=None, headers={"Cookie": cookie}, body={"keys": ["a"]})
        assert answer.status == 403


@holds(doors, "_ATTRIBUTES", "")
def no_script_and_no_other_site_has_the_cookie(_: Path) -> None:
    found = Doors(ServeSettings(TOKENS), lambda: 0.0).log_in(TOKEN, "")
    assert {"HttpOnly", "SameSite=Strict"} <= set(found.split("; "))


@holds(Doors, "_mac", lambda *_: b"\0" * 32)
def cookies_are_signed(path: Path) -> None:
    note = b"\0" * 32 + b"[3, 99999999999]"
    with visiting(path) as ask:
        cookie = f"kstreams={urlsafe_b64encode(note).decode()}"
        assert ask(KEY, token=None, headers={"Cookie": cookie}).status == 401


@holds(Guard, "_shared", lambda _, headers: headers.get("origin", "").encode())
def answers_are_for_named_origins_alone(path: Path) -> None:
    with visiting(path, {"origins": (FRIEND,)}) as ask:
        for stranger in ("https://evil.example", FRIEND + ".evil.example", FRIEND + ":444"):
            for method in ("GET", "OPTIONS"):
                found = ask(KEY, method=method, headers={"Origin": stranger})
                assert "access-control-allow-origin" not in found.headers
        assert ask(KEY, headers={"Origin": FRIEND}).status == 200


@holds(guard, "_safe", lambda given, _: given)
def answers_are_not_framed_sniffed_or_kept(path: Path) -> None:
    with visiting(path) as ask:
        for place in (KEY, "/nowhere", f"{KEY}&x=1"):
            headers = ask(place).headers
            assert "frame-ancestors 'none'" in headers.get("content-security-policy", "")
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"


def as_uvicorn_does(*given: Any, **named: Any) -> uvicorn.Config:
    """Return uvicorn's settings without two of ours."""
    return _Config(*given, **{**named, "proxy_headers": True, "server_header": True})


_Config = uvicorn.Config


@holds(uvicorn, "Config", as_uvicorn_does)
def what_proxies_say_is_not_believed(path: Path) -> None:
    limits = replace(Limits(), failures_a_minute=2)
    with serving((an_app(path), COUNTS), limits=limits) as served:
        found = [
            served.get(KEY, token="x" * 20, X_Forwarded_For=f"1.2.3.{number}").status
            for number in range(3)
        ]
        assert found == [401, 401, 429]
        assert "server" not in served.get("/health/live").headers


# ---------------------------------------------------------------- what a request may say


@holds(parameters, "_HALF_ESCAPE", re.compile("(?!)"))
def half_an_escape_is_no_key(path: Path) -> None:
    with visiting(path) as ask:
        assert ask(f"{STORE}/key?key=a%").status == 400


@holds(as_of, "_BATCH", re.compile(r"\d+"))
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
            assert ask(f"/v1/apps/{name}").status == 404


@holds(ServedApp, "_check_name")
def stores_are_looked_up(path: Path) -> None:
    with visiting(path) as ask:
        for name in ("..", "%2e%2e", "..%2f..", "x", "counts%00", "Counts", "v" * 5000):
            assert ask(f"/v1/apps/viewed/stores/{name}").status == 404


@holds(action, "answer_of", lambda problem, **_: answer_of(problem, tells=True))
def texts_of_errors_need_the_role(path: Path) -> None:
    with visiting(path) as ask:
        (path / "c").rename(path / "gone")
        for token in (None, SCRAPER, VIEWER):
            answer = ask("/health/ready", token=token)
            assert (answer.status, str(path) in answer.data.decode()) == (503, False)


# ---------------------------------------------------------------- sizes and times


LIMITED = True
"""Whether probes of limits are given those; without, what they refuse has to be let through."""


def limited(name: str, value: float, ask_for: Callable[[Asked, int], int], status: int) -> None:
    """Add a guard that refuses one more than a limit."""

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


def socket_of(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=5)


def ends(connection: socket.socket) -> bool:
    """Return whether the other side hangs up within a second."""
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
            assert "too much" in caught.value.detail
        finally:
            held.set()
            restoring.close()

    asyncio.run(run())


@holds(paging, "_CHECK_EVERY", 10**9)
def a_rare_key_holds_nobody_up(path: Path) -> None:
    """A window store is looked through for it, in slices, and the page ends in time."""
    app = Committing(path / "c", WINDOWS)
    app.commit(lambda s, p: [s.put(Windowed(f"k{n}", n, n + 10), n) for n in range(0, 9000, 10)])
    with asked((path / "c", WINDOWS), read_seconds=-1.0) as ask:
        found = ask(f"{STORE}/rows?start=zzz").json
        assert (found["rows"], found["cursor"] is None) == ([], False)


@pytest.mark.parametrize("name", GUARDS)
def test_it_holds(name: str, tmp_path: Path) -> None:
    GUARDS[name].probe(tmp_path)


@pytest.mark.parametrize("name", GUARDS)
def test_its_probe_is_red_without_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = GUARDS[name]
    monkeypatch.setattr(found.place, found.name, found.gone)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        found.probe(tmp_path)
