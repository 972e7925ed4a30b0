"""Authentication: tokens, origins and hosts are checked, and tokens in URLs are refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kstreams_serve.action import Action
from kstreams_serve.authentication import Authenticator
from kstreams_serve.problems import Problem
from kstreams_serve.request_times import RequestTimes
from kstreams_serve.roles import Role
from kstreams_serve.routes import actions_of, application
from kstreams_serve.settings import Limits, ServeError, ServeSettings, read_tokens
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.servers.query_server import (
    ACTING,
    ACTOR,
    TOKEN,
    TOKENS,
    VIEWER,
    Served,
    context_of,
    serving,
)

KEY = "/v1/apps/viewed/stores/counts/key?key=a"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("guarded")
    Committing(path, COUNTS).put([("a", 1)])
    limits = replace(Limits(), failures_a_minute=100)
    with serving((path, COUNTS), limits=limits, **ACTING) as found:
        yield found


_ACTIONS = [
    pytest.param(action, id=f"{action.method} {action.path}")
    for action in actions_of(context_of())
    if not (action.page and action.method == "POST")  # login and logout
]


def test_every_http_route_has_a_role() -> None:
    """A route without a role cannot be added."""
    actions = actions_of(context_of())
    routes = application(actions, RequestTimes()).routes
    assert [getattr(route, "path", None) for route in routes] == [a.path for a in actions]
    with pytest.raises(TypeError, match="role"):
        Action("GET", "/x", run=actions[0].run)  # type: ignore[call-arg]


@pytest.mark.parametrize("action", _ACTIONS)
def test_each_route_needs_its_role(served: Served, action: Any) -> None:
    path = action.path.format(app="viewed", store="counts")
    statuses = {
        token: served.ask(action.method, path, token=token).status for token in (None, VIEWER)
    }
    refused = 303 if action.page else 401  # redirect to the login page
    assert (statuses[None] == refused) == (action.role > Role.OPEN)
    assert (statuses[VIEWER] == 403) == (action.role > Role.VIEW)
    if not path.endswith("/follow"):  # the response does not end
        assert served.ask(action.method, path, token=ACTOR).status not in (401, 403)


def test_only_health_route_needs_no_token() -> None:
    actions = [each for each in actions_of(context_of()) if each.role is Role.OPEN]
    open_ = [each.path for each in actions if not each.path.startswith("/static/")]
    assert open_ == ["/health/live", "/health/ready", "/login", "/login", "/logout"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example@127.0.0.1"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "127.0.0.1/x"}, 421),
        ({"Host": "LOCALHOST:80"}, 200),
        ({"Host": "[::1]:80"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403),
        (
            {
                "Sec-Fetch-Site": "cross-site",
                "Sec-Fetch-Mode": "navigate",
                "Sec-Fetch-Dest": "document",
            },
            200,
        ),
        (
            {
                "Sec-Fetch-Site": "cross-site",
                "Sec-Fetch-Mode": "navigate",
                "Sec-Fetch-Dest": "iframe",
            },
            403,
        ),
        ({"X-Forwarded-Host": "evil.example", "X-Forwarded-For": "1.2.3.4"}, 200),
    ],
)
def test_forged_hosts_and_origins_are_refused(
    served: Served, headers: dict[str, str], status: int
) -> None:
    assert served.get(KEY, **headers).status == status


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer x", "Basic YTpi", f"Bearer {VIEWER}x"])
def test_missing_and_wrong_tokens_get_the_same_response(served: Served, given: str) -> None:
    answer = served.get(KEY, token=None, Authorization=given)
    assert (answer.status, "www-authenticate" in answer.headers) == (401, True)


@pytest.mark.parametrize("name", ["token", "access_token", "Token", "api_key"])
def test_token_in_a_url_is_refused(served: Served, name: str) -> None:
    answer = served.get(f"{KEY}&{name}=whatever")
    assert (answer.status, "there is a token in the address" in answer.json["detail"]) == (
        400,
        True,
    )


def test_wrong_tokens_of_an_address_get_429_and_a_valid_one_is_accepted(tmp_path: Path) -> None:
    Committing(tmp_path, COUNTS).put([("a", 1)])
    with serving((tmp_path, COUNTS)) as served:
        statuses = [served.get(KEY, token=f"guess-number-{n:06}").status for n in range(12)]
        assert statuses == [401] * 10 + [429] * 2
        assert served.get(KEY).status == 200  # others may share the address of a proxy
        assert served.get(KEY, token="guess-number-000013").status == 429
        assert served.get("/health/live", token=None).status == 200


@pytest.mark.parametrize("path", ["/nowhere", "/v1/apps/viewed/stores/counts/multi", "/v1/apps/x"])
def test_unknown_path_is_a_json_problem(served: Served, path: str) -> None:
    answer = served.get(path)
    assert (answer.status, answer.headers["content-type"]) in [
        (404, "application/problem+json"),
        (405, "application/problem+json"),
    ]
    assert answer.json["status"] == answer.status


def test_response_to_head_request_has_no_body(served: Served) -> None:
    for path in (KEY, "/v1/apps/viewed/stores/counts/follow"):
        answer = served.ask("HEAD", path)
        assert (answer.status, answer.data) == (200, b"")


# ---------------------------------------------------------------- browsers

FRIEND = "https://pages.example"


def test_other_origins_are_refused_unless_allowed(tmp_path: Path) -> None:
    Committing(tmp_path, COUNTS).put([("a", 1)])
    asked = {"Access-Control-Request-Method": "GET"}
    with serving((tmp_path, COUNTS), origins=(FRIEND,)) as served:
        friend = served.ask("OPTIONS", KEY, token=None, headers={"Origin": FRIEND, **asked})
        assert (friend.status, friend.headers["access-control-allow-origin"]) == (204, FRIEND)
        assert "access-control-allow-credentials" not in friend.headers
        answer = served.get(KEY, Origin=FRIEND, Sec_Fetch_Site="cross-site")
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, FRIEND)
        assert served.get(KEY, token=None, Origin=FRIEND).status == 401
        for stranger in (f"{FRIEND}.evil.example", "http://pages.example", f"{FRIEND}:1", "null"):
            headers = {"Origin": stranger, **asked}
            refused = served.ask("OPTIONS", KEY, token=None, headers=headers)
            assert refused.status == 403
            assert "access-control-allow-origin" not in refused.headers
            assert served.get(KEY, Origin=stranger).status == 403


@pytest.mark.parametrize(
    "origin", ["*", "null", "https://a.example/", "https://a.example/x", "a.example", "https://*.a"]
)
def test_request_origin_is_compared_exactly(origin: str) -> None:
    with pytest.raises(ServeError, match="is invalid; expected https"):
        ServeSettings(TOKENS, origins=(origin,))


def test_login_cookie_authenticates_like_token_and_does_not_contain_it(served: Served) -> None:
    authenticator = served.server.context.authenticator
    header = authenticator.log_in(VIEWER, "127.0.0.9")
    assert VIEWER not in header
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(header.split("; "))
    cookie = header.partition(";")[0]
    assert served.get("/v1/apps", token=None, Cookie=cookie).status == 200
    assert served.get(KEY, token=None, Cookie=cookie).status == 403
    for wrong in (
        cookie[:-2] + ("AA" if cookie[-2:] != "AA" else "BB"),
        f"{cookie}; {cookie}",
        "kstreams=",
        "kstreams=x",
        "kstreams=\xff",
    ):
        assert served.get("/v1/apps", token=None, Cookie=wrong).status == 401
    data = authenticator.log_in(TOKEN, "127.0.0.9").partition(";")[0]
    path, body = "/v1/apps/viewed/stores/counts/multi", b'{"keys": ["a"]}'
    own = {"Cookie": data, "Content-Type": "application/json"}
    assert served.ask("POST", path, token=None, headers=own, body=body).status == 403
    own["Origin"] = served.server.url
    assert served.ask("POST", path, token=None, headers=own, body=body).status == 200
    assert authenticator.log_out().startswith("kstreams=; Path=/; Max-Age=0;")


def test_browser_session_expires() -> None:
    now = [5.0]
    authenticator = Authenticator(ServeSettings(TOKENS), lambda: now[0])
    value = authenticator.log_in(TOKEN, "").partition(";")[0].partition("=")[2]
    assert authenticator.visitor_of_cookie(value).role is Role.DATA
    assert (
        Authenticator(ServeSettings(TOKENS), lambda: now[0]).visitor_of_cookie(value).role
        is Role.OPEN
    )
    now[0] += 12 * 3600
    assert authenticator.visitor_of_cookie(value).role is Role.OPEN


def test_cookie_over_tls_is_secure() -> None:
    authenticator = Authenticator(ServeSettings(TOKENS, behind_proxy=True), lambda: 0.0)
    header = authenticator.log_in(TOKEN, "")
    assert header.startswith("__Host-kstreams=")
    assert "Secure" in header.split("; ")


def test_wrong_tokens_at_the_login_get_429_and_a_valid_one_is_accepted() -> None:
    now = [0.0]
    authenticator = Authenticator(ServeSettings(TOKENS), lambda: now[0])
    statuses = []
    for number in range(12):
        with pytest.raises(Problem) as caught:
            authenticator.log_in(f"guess-number-{number:06}", "9.9.9.9")
        statuses.append(caught.value.status)
    assert statuses == [401] * 10 + [429] * 2
    authenticator.log_in(TOKEN, "9.9.9.9")
    now[0] = 60.0
    with pytest.raises(Problem) as caught:
        authenticator.log_in("guess-number-000013", "9.9.9.9")
    assert caught.value.status == 401


def test_responses_forbid_framing_sniffing_and_caching(served: Served) -> None:
    for path in (KEY, "/nowhere"):
        headers = served.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"tokens": {}}, "tokens is empty"),
        ({"tokens": {TOKEN: Role.DATA}, "allows_actions": True}, "no token has the role act"),
        ({"tokens": {"short": Role.DATA}}, "16 or more"),
        ({"tokens": {"with a\nline break in it": Role.DATA}}, "printable"),
        ({"host": "0.0.0.0"}, "without TLS"),  # noqa: S104  # on purpose
        ({"host": "::"}, "without TLS"),
        ({"host": "example.org"}, "without TLS"),
        ({"certificate": Path("c.pem")}, "key_file is missing"),
    ],
)
def test_server_without_authentication_on_a_public_address_does_not_start(
    changed: dict[str, Any], said: str
) -> None:
    given: dict[str, Any] = {"tokens": TOKENS, **changed}
    with pytest.raises(ServeError, match=said):
        ServeSettings(**given)


def test_settings_do_not_show_tokens() -> None:
    assert not any(token in repr(ServeSettings(TOKENS)) for token in TOKENS)


def test_token_file_readable_by_others_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("# of the team\nview viewer-viewer-viewer\nsomebody-somebody\n")
    file.chmod(0o640)
    with pytest.raises(ServeError, match="other users may read"):
        read_tokens(file)
    file.chmod(0o600)
    assert read_tokens(file) == (
        {"viewer-viewer-viewer": Role.VIEW, "somebody-somebody": Role.DATA}, {},
    )  # fmt: skip
    file.write_text("act somebody-somebody anna\n")
    assert read_tokens(file) == ({"somebody-somebody": Role.ACT}, {"somebody-somebody": "anna"})
    for wrong in ("open somebody-somebody", "act somebody-somebody anna b", "anna x y"):
        file.write_text(f"{wrong}\n")
        with pytest.raises(ServeError, match="line 1"):
            read_tokens(file)
