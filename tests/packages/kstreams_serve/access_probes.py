"""Probes of guards of authentication and authorization."""

from __future__ import annotations

import asyncio
import re
from base64 import urlsafe_b64encode
from collections import deque
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn

from kstreams.checkpoint.pause import present_pause
from kstreams.checkpoint.savepoint.store_place import checkpoint_of
from kstreams_serve import (
    app_commands,
    authentication,
    guard,
    routes,
    settings,
)
from kstreams_serve.app_commands import Giver, Order, Orders
from kstreams_serve.authentication import Authenticator
from kstreams_serve.guard import Guard
from kstreams_serve.problems import Problem
from kstreams_serve.roles import Role, Visitor
from kstreams_serve.settings import Limits, Listening, ServeError, ServeSettings
from tests.packages.kstreams_serve.guards import KEY, STORE, an_app, holds, visiting
from tests.support.apps.counts_store import COUNTS
from tests.support.servers.query_server import (
    ACTING,
    ACTOR,
    SCRAPER,
    TOKEN,
    TOKENS,
    VIEWER,
    Answer,
    serving,
)

FRIEND = "https://pages.example"

# ---------------------------------------------------------------- the start


def refused_at_start(**given: Any) -> None:
    try:
        ServeSettings(**{"tokens": TOKENS, **given})
    except ServeError:
        return
    raise AssertionError(f"ServeSettings accepts {given}, expected ServeError")


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


def is_refused(answer: Answer) -> bool:
    """Return whether a client was refused, by a status or by a redirect to the login page."""
    led = answer.status == 303 and answer.headers["location"].startswith("/login?next=")
    return led or answer.status in (401, 403)


@holds(routes, "require")
def each_route_needs_its_role(path: Path) -> None:
    by_role = {
        Role.OPEN: None, Role.METRICS: SCRAPER, Role.VIEW: VIEWER, Role.DATA: TOKEN,
        Role.ACT: ACTOR,
    }  # fmt: skip
    with visiting(path, ACTING) as ask:
        for each in routes.actions_of(ask.server.context):
            place = each.path.format(app="viewed", store="counts")
            body: object = None if each.method == "GET" else {}
            for role, token in by_role.items():
                answer = ask(place, token=token, body=body)
                may = role >= each.role
                assert is_refused(answer) != may, (each.path, role, answer.status)


@holds(authentication, "compare_digest", lambda *_: True)
def wrong_tokens_are_told_apart(path: Path) -> None:
    with visiting(path) as ask:
        assert ask(KEY, token=TOKEN + "x").status == 401
        assert ask(KEY, token=TOKEN[:-1]).status == 401
        assert ask(KEY, token=None, headers={"Cookie": "kstreams=AAAA"}).status == 401


@holds(Authenticator, "_recent", lambda *_: deque())
def wrong_tokens_of_an_address_are_limited(path: Path) -> None:
    with visiting(path, failures_a_minute=3) as ask:
        statuses = [ask(KEY, token="x" * 20, address="9.9.9.9").status for _ in range(4)]
        assert statuses == [401, 401, 401, 429]
        assert ask(KEY, address="9.9.9.9").status == 200
        assert ask(KEY, token="x" * 20, address="9.9.9.8").status == 401


@holds(authentication, "_ADDRESSES", 10**9)
def guesses_of_many_addresses_take_no_memory(_: Path) -> None:
    found = Authenticator(ServeSettings(TOKENS), lambda: 0.0)
    for number in range(10_050):
        with suppress(Problem):
            found.visitor_of(["Bearer x"], f"10.0.{number // 250}.{number % 250}")
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
        cookie = ask.server.context.authenticator.log_in(TOKEN, "").partition(";")[0]
        answer = ask(f"{STORE}/multi", token=None, headers={"Cookie": cookie}, body={"keys": ["a"]})
        assert answer.status == 403


def form(cookie: str, **headers: str) -> dict[str, str]:
    """Return the headers of a form that a browser sends."""
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    return {**kind, "Cookie": cookie, **headers}


def is_paused(path: Path) -> bool:
    return present_pause(checkpoint_of(path / "c")) is not None


@holds(Guard, "_check_sender")
def no_other_page_gives_orders(path: Path) -> None:
    with visiting(path, {**ACTING, "origins": (FRIEND,)}) as ask:
        cookie = ask.server.context.authenticator.log_in(ACTOR, "").partition(";")[0]
        for headers in ({}, {"Origin": FRIEND}):
            given = form(cookie, **headers)
            answer = ask("/apps/viewed/orders", token=None, headers=given, body=b"order=pause")
            assert (answer.status, is_paused(path)) == (403, False), headers


@holds(Orders, "_check_allowed")
def orders_have_to_be_allowed(path: Path) -> None:
    with visiting(path) as ask:
        for place in ("/v1/apps/viewed/orders", "/apps/viewed/orders"):
            kind = {} if place.startswith("/v1") else form("")
            body = {"order": "pause"} if place.startswith("/v1") else b"order=pause"
            answer = ask(place, token=ACTOR, headers=kind, body=body)
            assert (answer.status, is_paused(path)) == (403, False), place


@holds(app_commands, "require")
def the_order_itself_asks_for_the_role(path: Path) -> None:
    with visiting(path, ACTING) as ask:
        context = ask.server.context
        giver = Giver(Visitor(Role.DATA), "")
        work = Orders(context).give(context.app("viewed"), Order("pause"), giver)
        with suppress(Problem):
            asyncio.run(work)
        assert not is_paused(path)


@holds(authentication, "_ATTRIBUTES", "")
def no_script_and_no_other_site_has_the_cookie(_: Path) -> None:
    found = Authenticator(ServeSettings(TOKENS), lambda: 0.0).log_in(TOKEN, "")
    assert {"HttpOnly", "SameSite=Strict"} <= set(found.split("; "))


@holds(Authenticator, "_mac", lambda *_: b"\0" * 32)
def cookies_are_signed(path: Path) -> None:
    note = b"\0" * 32 + b'[3, 99999999999, ""]'
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
    """Return uvicorn's settings without two settings of the server."""
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
