"""Random requests, valid by the server's description or not: none gets a server error."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams_serve.openapi import openapi
from kstreams_serve.routes import actions_of
from tests.packages.kstreams_serve.socketless_client import Asked, asked
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.servers.query_server import SCRAPER, TOKEN, VIEWER, context_of

PLANTED = "a-secret-that-nobody-may-see"
NAMES = {"app": "viewed", "store": "counts"}
JUNK = st.sampled_from(
    ["", "a", "²", "..", "../../etc/passwd", "\x00", "-1", "0", "1", "99999999999999999999",
     "null", "true", "false", "json", "base64", "text", "%", "@0", "2026-01-01", "\u202e", "{}",
     "[[", "9" * 400, "<script>", "=", "k1"]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | JUNK | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(JUNK, inner, max_size=3),
    max_leaves=6,
)
OPERATIONS = [
    (path, method, operation)
    for path, methods in openapi(actions_of(context_of()))["paths"].items()
    for method, operation in methods.items()
]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    path = tmp_path_factory.mktemp("drawn")
    app = Committing(path, COUNTS)
    for value in range(3):
        app.put([("k1", value), ("a", value), ("", value)])
    with asked((path, COUNTS), wait_seconds=0.01, failures_a_minute=10**6) as found:
        yield found


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, object, dict[str, str]]:
    path, method, operation = draw(st.sampled_from(OPERATIONS))
    query: list[str] = []
    for parameter in operation["parameters"]:
        name = parameter["name"]
        if parameter["in"] == "path":
            value = draw(st.sampled_from([NAMES[name]] * 4) | JUNK)
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        elif parameter["required"] or draw(st.booleans()):
            value = draw(JUNK | st.text(max_size=5).filter(lambda t: t.isprintable()))
            query.append(f"{name}={quote(value, safe='', errors='replace')}")
    query += draw(st.lists(st.sampled_from(["x=1", "key=a", "&", "=", "%zz", "a"]), max_size=1))
    body = None
    if method == "post":
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        fields: dict[str, Any] = dict.fromkeys(schema["properties"], VALUES)
        for name in ("keys", "reads"):
            if name in fields:
                read = st.fixed_dictionaries(
                    {"store": st.sampled_from(["counts", "x", 5]), "key": VALUES},
                    optional={"key_format": JUNK},
                )
                fields[name] = st.lists(read if name == "reads" else VALUES, max_size=4) | VALUES
        if "partition" in fields:
            fields["partition"] = st.integers(-1, 4) | VALUES
        drawn = st.fixed_dictionaries({}, optional=fields)
        body = draw(drawn | VALUES | st.binary(max_size=20))
    headers = draw(
        st.dictionaries(
            st.sampled_from(["If-None-Match", "Last-Event-ID", "Accept", "Cookie", "Origin", "Host",
                             "Sec-Fetch-Site", "Content-Type"]),
            st.sampled_from(["", "*", "x", "kstreams=x", 'W/"a"', "127.0.0.1", "\xff"]),
            max_size=2,
        )
    )  # fmt: skip
    text = "?" + "&".join(query) if query else ""
    return path + text, method.upper(), body, headers


@settings(deadline=None, max_examples=150)
@given(request=requests(), token=st.sampled_from([TOKEN] * 5 + [VIEWER, SCRAPER, None, PLANTED]))
def test_random_request_gets_no_server_error(
    ask: Asked, request: tuple[str, str, object, dict[str, str]], token: str | None
) -> None:
    path, method, body, headers = request
    answer = ask(path, method=method, token=token, headers=headers, body=body)
    assert answer.status < 500 or answer.status == 504, answer
    if answer.status >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert json.loads(answer.data)["status"] == answer.status
    for secret in (TOKEN, VIEWER, SCRAPER, PLANTED):
        assert secret.encode() not in answer.data
        assert secret not in str(answer.headers)


@pytest.mark.long
def test_no_response_or_log_line_has_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Errors, too, show nothing of the environment, tokens and settings."""
    monkeypatch.setenv("KSTREAMS_PLANTED", PLANTED)
    caplog.set_level(logging.DEBUG)
    Committing(tmp_path / "c", COUNTS).put([("a", 1)])
    seen = b""
    with asked((tmp_path / "c", COUNTS)) as ask:
        for broken in (False, True):
            if broken:
                (tmp_path / "c").rename(tmp_path / "gone")
            for each in actions_of(ask.server.context):
                path = each.path.format(app="viewed", store="counts")
                for query in ("", "?key=a", f"?key={PLANTED[:5]}&as_of=x"):
                    for token in (TOKEN, VIEWER, SCRAPER, None, f"wrong-{PLANTED[:9]}"):
                        body = None if each.method == "GET" else {"keys": ["a"], "partition": 0}
                        answer = ask(path + query, token=token, body=body)
                        seen += answer.data + str(answer.headers).encode()
    seen += caplog.text.encode()
    for secret in (PLANTED, TOKEN, VIEWER, SCRAPER):
        assert secret.encode() not in seen
