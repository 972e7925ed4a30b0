"""Buttons for commands need the role `act`; forms of other sites have no effect."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from devtools.showcase import Showcase
from kstreams.checkpoint.pause import present_pause, resume
from kstreams.clock import SystemClock
from tests.support.servers.query_server import ACTING, ACTOR, TOKEN, Answer, Served
from tests.support.servers.showcase_pages import html, showcase, showing

BASE = "/apps/word-count"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Showcase:
    return showcase(tmp_path_factory.mktemp("app"), SystemClock().now_ms(), 1)


@pytest.fixture(scope="module")
def served(app: Showcase) -> Iterator[Served]:
    with showing(app, **ACTING) as found:
        yield found


def send(served: Served, fields: dict[str, str], **headers: str) -> Answer:
    """Send a form like a browser that is logged in."""
    cookie = served.server.context.authenticator.log_in(ACTOR, "").partition(";")[0]
    own = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Origin": f"http://127.0.0.1:{served.port}",
        "Cookie": cookie,
        **headers,
    }
    body = urlencode(fields).encode()
    return served.ask("POST", f"{BASE}/orders", token=None, headers=own, body=body)


def forms(served: Served, path: str, token: str) -> list[str]:
    page = html(served, path, token=token)
    assert {form.attributes["action"] for form in page.all("form", class_="order")} <= {
        f"{BASE}/orders"
    }
    return [each.attributes["value"] for each in page.all("input", name="order")]


def test_page_buttons_pause_and_resume_app(app: Showcase, served: Served) -> None:
    assert forms(served, BASE, ACTOR) == ["pause"]
    answer = send(served, {"order": "pause", "reason": "<b>moving</b>"})
    assert (answer.status, answer.headers["location"]) == (303, BASE)
    page = html(served, BASE, token=ACTOR)
    assert "<b>moving</b> (by anna, from 127.0.0.1)" in page.text
    assert forms(served, f"{BASE}/stores", ACTOR) == ["resume"]
    assert "kstreams resume" in html(served, BASE, token=TOKEN).text
    assert send(served, {"order": "resume", "reason": ""}).status == 303
    assert present_pause(app.checkpoint.home) is None


def test_page_button_makes_savepoint(served: Served) -> None:
    assert forms(served, f"{BASE}/versions", ACTOR) == ["savepoint"]
    answer = send(served, {"order": "savepoint", "name": "Dienstag früh"})
    assert (answer.status, answer.headers["location"]) == (303, f"{BASE}/versions")
    assert "Dienstag früh" in html(served, f"{BASE}/versions", token=ACTOR).text
    again = send(served, {"order": "savepoint", "name": "Dienstag früh"})
    assert (again.status, b"Action not possible" in again.data) == (409, True)


def test_page_without_the_role_act_shows_commands_instead_of_buttons(
    app: Showcase, served: Served
) -> None:
    for path, command in (
        (BASE, "kstreams pause"),
        (f"{BASE}/versions", "kstreams state savepoint"),
    ):
        assert forms(served, path, TOKEN) == []
        assert command in html(served, path, token=TOKEN).text
    with showing(app) as closed:
        assert forms(closed, BASE, ACTOR) == []
        assert send(closed, {"order": "pause"}).status == 403


def test_form_from_another_site_has_no_effect(app: Showcase, served: Served) -> None:
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "same-site"},
        {"Content-Type": "text/plain"},
    ):
        assert send(served, {"order": "pause"}, **headers).status in (403, 415)
    assert send(served, {"order": "pause"}, Cookie="kstreams=x").status == 303
    assert present_pause(app.checkpoint.home) is None


def test_expired_login_redirects_to_an_existing_page(served: Served) -> None:
    answer = send(served, {"order": "resume"}, Cookie="kstreams=x")
    assert (answer.status, answer.headers["location"]) == (303, "/login?next=%2F")


@pytest.fixture(autouse=True)
def _goes_on(app: Showcase) -> Iterator[None]:
    yield
    resume(app.checkpoint.home)
