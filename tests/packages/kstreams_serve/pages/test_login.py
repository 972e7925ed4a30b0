"""The login for browsers: a token in a form, never in a URL; no redirect to other sites."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, urlencode

import pytest

from kstreams.clock import SystemClock
from tests.support.servers.query_server import TOKEN, Answer, Served
from tests.support.servers.showcase_pages import html, showcase, showing


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    app = showcase(tmp_path_factory.mktemp("app"), SystemClock().now_ms(), 1)
    with showing(app) as found:
        yield found


def _post(served: Served, path: str, fields: dict[str, str], **headers: str) -> Answer:
    named = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Origin": f"http://127.0.0.1:{served.port}",
        **headers,
    }
    return served.ask("POST", path, token=None, headers=named, body=urlencode(fields).encode())


def test_login_exchanges_a_token_for_a_cookie_hidden_from_scripts(served: Served) -> None:
    answer = _post(served, "/login", {"token": f" {TOKEN} ", "next": "/apps/word-count?a=b"})
    assert (answer.status, answer.headers["location"]) == (303, "/apps/word-count?a=b")
    cookie = answer.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=Strict", "Path=/"))
    assert TOKEN not in cookie
    own = cookie.partition(";")[0]
    assert served.get("/apps/word-count", token=None, Cookie=own).status == 200
    assert served.get("/apps/word-count", token=None, Cookie=f"{own}x").status == 303
    left = _post(served, "/logout", {}, Cookie=own)
    assert (left.status, left.headers["location"]) == (303, "/login")
    assert "Max-Age=0" in left.headers["set-cookie"]


def test_login_with_wrong_token_shows_error_text(served: Served) -> None:
    answer = _post(served, "/login", {"token": "wrong-wrong-wrong-wrong", "next": "/"})
    assert answer.status == 401
    assert b"The token is not valid for this server." in answer.data
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "after",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "evil", "/a b", "/\nx", ""],
)
def test_login_redirects_only_to_pages_of_the_server(served: Served, after: str) -> None:
    assert _post(served, "/login", {"token": TOKEN, "next": after}).headers["location"] == "/"
    if not after.isprintable():
        assert served.get(f"/login?next={quote(after)}", token=None).status == 400
    elif after:
        page = html(served, f"/login?next={quote(after)}")
        assert page.one("input", name="next").attributes["value"] == "/"


def test_login_forms_of_other_sites_have_no_effect(served: Served) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = _post(served, "/login", {"token": TOKEN, "next": "/"}, **headers)
        assert (answer.status, "set-cookie" in answer.headers) == (403, False)


def test_link_from_another_site_opens_login_page_that_continues_with_one_click(
    served: Served,
) -> None:
    way = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    answer = served.get("/apps/word-count", token=None, Sec_Fetch_Dest="document", **way)
    assert answer.status == 303
    page = html(served, answer.headers["location"])
    assert page.one("a", href="/apps/word-count").text == "Continue"


def test_token_in_a_url_is_refused_and_forms_have_a_size_limit(served: Served) -> None:
    assert served.get(f"/login?token={TOKEN}", token=None).status == 400
    assert _post(served, "/login", {"token": "x" * 9000}).status == 413
    assert _post(served, "/login", {}, **{"Content-Type": "application/json"}).status == 415
