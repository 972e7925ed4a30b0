"""Invalid texts in every path part, parameter and field of every route: never a status of 5xx.

The routes are those of the route table. The parameters are all that a route reads from
`Parameters` and from bodies while it runs. A new route or parameter is tested without a change
here.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_from_bytes, urlencode

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from devtools.showcase import Showcase
from devtools.shown_runs import shown_runs
from kstreams.clock import SystemClock
from kstreams_serve.action import Action
from kstreams_serve.parameters import Parameters
from kstreams_serve.problem_responses import PROBLEM
from kstreams_serve.routes import actions_of
from kstreams_serve.settings import Limits
from tests.packages.kstreams_serve.socketless_client import Asked, asked_of
from tests.support.servers.query_server import ACTING, ACTOR, Answer, context_of
from tests.support.servers.showcase_pages import server_of, showcase

NO_NAMES = ("\0", "a\0b", "a\nb", "\x1b[2J", "\x7f", "\u2028", "a\rb")
"""Texts that are never valid names."""
NO_STEPS = ("..", ".", "../../etc/passwd", "a/../../b", "x" * 1_001)
"""Texts that name no app, store or savepoint."""
ODD = st.sampled_from(
    [*NO_NAMES, *NO_STEPS, "", " ", "%", "%00", "²", "-1", "0", "1", "9" * 400, "1e999", "NaN",
     "null", "true", "[]", "{}", "[[", "\u202e", "\ufffd", "\U0001f600", "<script>", "'\"",
     "json", "base64", "text", "@0", "2026-01-01", "99999-01-01T00:00:00Z"]
) | st.text(max_size=8)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=3),
    max_leaves=6,
)
ACTIONS = [pytest.param(each, id=f"{each.method} {each.path}") for each in actions_of(context_of())]
FORM_FIELDS = ("order", "reason", "name", "token", "next", "from")


@dataclass
class Routes:
    """A server, and the parameters that its routes read."""

    ask: Asked
    app: Showcase
    asked_for: set[str] = field(default_factory=set)
    of_routes: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def path(self, action: Action, **parts: str) -> str:
        names = {"app": self.app.names.app, "store": self.app.names.counts, **parts}
        found = action.path
        for name, value in names.items():
            found = found.replace(f"{{{name}}}", quote(value, safe="", errors="surrogatepass"))
        return found

    def known(self, action: Action) -> list[str]:
        """Return the parameters that a route reads, by running it without any."""
        place = action.method, action.path
        if place not in self.of_routes:
            self.asked_for.clear()
            self.send(action)
            self.of_routes[place] = sorted(self.asked_for | set(action.query))
        return self.of_routes[place]

    def send(
        self,
        action: Action,
        query: str = "",
        body: object = None,
        headers: Mapping[str, str] | None = None,
        **parts: str,
    ) -> Answer:
        path = self.path(action, **parts) + (f"?{query}" if query else "")
        if action.method == "GET":
            return self.ask(path, token=ACTOR, headers=headers)
        form = {"Content-Type": "application/x-www-form-urlencoded"} if action.page else {}
        if body is None:
            body = b"" if action.page else {}
        return self.ask(path, token=ACTOR, headers={**form, **(headers or {})}, body=body)


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Routes]:
    app = showcase(tmp_path_factory.mktemp("hostile"), SystemClock().now_ms(), 2)
    limits = replace(Limits(), wait_seconds=0.01, failures_a_minute=10**6, savepoints=3)
    with asked_of(server_of(app, **ACTING, limits=limits)) as ask, shown_runs(app):
        found = Routes(ask, app)
        real = Parameters.of

        def noted(text: bytes, known: Collection[str]) -> Parameters:
            found.asked_for.update(known)
            return real(text, known)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Parameters, "of", noted)
            yield found


def check(answer: Answer, action: Action) -> None:
    # 504: the request waited for a version
    assert answer.status < 500 or answer.status == 504, answer
    if answer.status >= 400 and not action.page:
        assert answer.headers["content-type"] == PROBLEM
        assert json.loads(answer.data)["status"] == answer.status


@pytest.mark.parametrize("action", ACTIONS)
def test_invalid_name_in_a_path_gets_400(routes: Routes, action: Action) -> None:
    for part in ("app", "store"):
        if f"{{{part}}}" not in action.path:
            continue
        query = "key=a&topic=a&partition=0&offset=0&query=a&number=0&name=a&before=0"
        known = routes.known(action)
        wanted = "&".join(each for each in query.split("&") if each.split("=")[0] in known)
        for text in (*NO_NAMES, *(each for each in NO_STEPS if "/" not in each)):
            body: object = None
            if action.method == "POST":
                body = b"order=pause" if action.page else dict.fromkeys(action.needed, 0)
            answer = routes.send(action, wanted, body, None, **{part: text})
            assert answer.status == 400, (part, text, answer)
            check(answer, action)


@pytest.mark.parametrize("action", ACTIONS)
def test_invalid_name_in_a_parameter_gets_400(routes: Routes, action: Action) -> None:
    for name in routes.known(action):
        for text in NO_NAMES:
            query = urlencode({name: text})
            answer = routes.send(action, query)
            if name in ("key", "start", "end", "prefix", "find"):  # any text is valid
                check(answer, action)
            else:
                assert answer.status == 400, (name, text, answer)
        for wrong in (b"\xff", b"\xed\xa0\x80"):  # invalid UTF-8, half a surrogate pair
            answer = routes.send(action, f"{name}={quote_from_bytes(wrong)}")
            assert answer.status == 400, (name, wrong)
        assert routes.send(action, f"{name}=1&{name}=1").status == 400
        assert routes.send(action, f"{name}=%").status == 400


@pytest.mark.parametrize("action", ACTIONS)
@settings(
    deadline=None,
    max_examples=15,
    phases=(Phase.explicit, Phase.generate),  # requests take too long to shrink
)
@given(data=st.data())
def test_no_request_causes_a_server_error(
    routes: Routes, action: Action, data: st.DataObject
) -> None:
    known = routes.known(action)
    query = [
        (name, data.draw(ODD, label=name))
        for name in known
        if name in action.needed or data.draw(st.booleans())
    ]
    query += data.draw(st.lists(st.tuples(st.sampled_from([*known, "x"]), ODD), max_size=1))
    body: Any = None
    if action.method == "POST" and action.page:
        drawn = data.draw(st.dictionaries(st.sampled_from(FORM_FIELDS), ODD, max_size=3))
        form = urlencode(drawn, errors="surrogatepass").encode()
        body = data.draw(st.sampled_from([form, b"\xff", b"a=%ff", b"&" * 50]))
    elif action.method == "POST":
        fields = dict.fromkeys(action.body, VALUES)
        body = data.draw(st.fixed_dictionaries({}, optional=fields) | VALUES | st.binary())
    headers = data.draw(
        st.dictionaries(
            st.sampled_from(["If-None-Match", "Last-Event-ID", "Accept", "Cookie"]),
            st.sampled_from(["", "*", "x", "\xff", 'W/"a"', "text/event-stream"]),
            max_size=2,
        )
    )
    text = urlencode(query, errors="surrogatepass")
    check(routes.send(action, text, body, headers), action)


def test_invalid_name_in_a_body_gets_400(routes: Routes) -> None:
    app = routes.app.names
    base = f"/v1/apps/{quote(app.app, safe='')}"
    for text in (*NO_NAMES, "..", ".hidden", "../../x"):
        for path, body in (
            ("/read", {"reads": [{"store": app.counts, "key": "a"}], "as_of": text}),
            (f"/stores/{quote(app.counts, safe='')}/multi", {"keys": ["a"], "as_of": text}),
            ("/orders", {"order": "savepoint", "name": text}),
        ):
            answer = routes.ask(base + path, token=ACTOR, body=body)
            assert answer.status == 400, (path, body, answer)


def test_invalid_store_in_a_body_gets_400(routes: Routes) -> None:
    path = f"/v1/apps/{quote(routes.app.names.app, safe='')}/read"
    for text in (*NO_NAMES, *NO_STEPS):
        body = {"reads": [{"store": text, "key": "a"}]}
        assert routes.ask(path, token=ACTOR, body=body).status == 400, text


def test_all_routes_are_tested_with_hostile_requests(routes: Routes, tmp_path: Path) -> None:
    served = {(each.method, each.path) for each in actions_of(routes.ask.server.context)}
    assert served == {(p.values[0].method, p.values[0].path) for p in ACTIONS}  # type: ignore[union-attr]
    assert not list(tmp_path.iterdir())
