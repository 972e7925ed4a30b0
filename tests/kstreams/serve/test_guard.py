"""Nobody without a token, no foreign page, no forged host; and no token ever in an address."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kstreams.serve.api import Api
from kstreams.serve.routes import actions_of
from kstreams.serve.settings import Limits, Role, ServeError, ServeSettings, read_tokens
from tests.kstreams.serve.serving import TOKENS, VIEWER, Served, serving
from tests.kstreams.views.committing import Committing
from tests.kstreams.views.counted import COUNTS

KEY = "/v1/apps/viewed/stores/counts/key?key=a"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("guarded")
    Committing(path, COUNTS).put([("a", 1)])
    limits = replace(Limits(), failures_a_minute=100)
    with serving((path, COUNTS), limits=limits) as found:
        yield found


_ACTIONS = [
    pytest.param(action, id=f"{action.method} {action.path}")
    for action in actions_of(Api({}, Limits(), b""))
]


@pytest.mark.parametrize("action", _ACTIONS)
def test_each_route_asks_for_its_role(served: Served, action: Any) -> None:
    path = action.path.format(app="viewed", store="counts")
    statuses = {
        token: served.ask(action.method, path, token=token).status for token in (None, VIEWER)
    }
    assert (statuses[None] == 401) == (action.role > Role.OPEN)
    assert (statuses[VIEWER] == 403) == (action.role > Role.VIEW)
    if not path.endswith("/follow"):  # which does not end
        assert served.ask(action.method, path).status not in (401, 403)


def test_only_health_is_open() -> None:
    found = actions_of(Api({}, Limits(), b""))
    open_ = [action.path for action in found if action.role is Role.OPEN]
    assert open_ == ["/health/live", "/health/ready"]


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
        ({"X-Forwarded-Host": "evil.example", "X-Forwarded-For": "1.2.3.4"}, 200),
    ],
)
def test_forged_hosts_and_origins_are_refused(
    served: Served, headers: dict[str, str], status: int
) -> None:
    assert served.get(KEY, **headers).status == status


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer x", "Basic YTpi", f"Bearer {VIEWER}x"])
def test_wrong_tokens_are_told_apart_from_none_by_nothing_but_the_text(
    served: Served, given: str
) -> None:
    answer = served.get(KEY, token=None, Authorization=given)
    assert (answer.status, "www-authenticate" in answer.headers) == (401, True)


@pytest.mark.parametrize("name", ["token", "access_token", "Token", "api_key"])
def test_a_token_in_an_address_is_refused(served: Served, name: str) -> None:
    answer = served.get(f"{KEY}&{name}=whatever")
    assert (answer.status, "there is a token in the address" in answer.json["detail"]) == (
        400,
        True,
    )


def test_who_guesses_is_not_heard_any_more(tmp_path: Path) -> None:
    Committing(tmp_path, COUNTS).put([("a", 1)])
    with serving((tmp_path, COUNTS)) as served:
        statuses = [served.get(KEY, token=f"guess-number-{n:06}").status for n in range(12)]
        assert statuses == [401] * 10 + [429] * 2
        assert served.get(KEY).status == 429  # with the right one too
        assert served.get("/health/live", token=None).status == 200


def test_answers_may_not_be_framed_sniffed_or_kept(served: Served) -> None:
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
        ({"tokens": {}}, "no token"),
        ({"tokens": {"short": Role.DATA}}, "16 or more"),
        ({"tokens": {"with a\nline break in it": Role.DATA}}, "printable"),
        ({"host": "0.0.0.0"}, "without TLS"),  # noqa: S104  # on purpose
        ({"host": "::"}, "without TLS"),
        ({"host": "example.org"}, "without TLS"),
        ({"certificate": Path("c.pem")}, "needs its key"),
    ],
)
def test_a_server_that_would_be_open_does_not_start(changed: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"tokens": TOKENS, **changed}
    with pytest.raises(ServeError, match=said):
        ServeSettings(**given)


def test_its_settings_do_not_show_tokens() -> None:
    assert not any(token in repr(ServeSettings(TOKENS)) for token in TOKENS)


def test_a_file_of_tokens_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("# of the team\nview viewer-viewer-viewer\nsomebody-somebody\n")
    file.chmod(0o640)
    with pytest.raises(ServeError, match="others may read"):
        read_tokens(file)
    file.chmod(0o600)
    assert read_tokens(file) == {
        "viewer-viewer-viewer": Role.VIEW, "somebody-somebody": Role.DATA,
    }  # fmt: skip
    file.write_text("act somebody-somebody\n")
    with pytest.raises(ServeError, match="line 1"):
        read_tokens(file)
