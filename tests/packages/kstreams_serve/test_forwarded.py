"""The address of a client behind proxies: the right-most address that is not a trusted proxy's."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams_serve.forwarded import TrustedProxies
from kstreams_serve.settings import ServeError, ServeSettings
from tests.packages.kstreams_serve.guards import KEY
from tests.packages.kstreams_serve.socketless_client import asked
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.servers.query_server import ACTOR, TOKENS

PROXIES = TrustedProxies(("10.0.0.0/8", "192.168.1.1", "fd00::/8"))
ADDRESSES = st.ip_addresses().map(str)


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        pytest.param("9.9.9.9", ["1.2.3.4"], "9.9.9.9", id="an untrusted peer"),
        pytest.param("10.0.0.1", [], "10.0.0.1", id="no header"),
        pytest.param("10.0.0.1", ["1.2.3.4"], "1.2.3.4", id="one proxy"),
        pytest.param("10.0.0.1", ["6.6.6.6, 1.2.3.4"], "1.2.3.4", id="a forged entry"),
        pytest.param("10.0.0.1", ["6.6.6.6", "1.2.3.4"], "1.2.3.4", id="a forged header"),
        pytest.param("10.0.0.1", ["1.2.3.4,10.7.7.7, 192.168.1.1"], "1.2.3.4", id="three proxies"),
        pytest.param("10.0.0.1", ["10.1.1.1, 10.2.2.2"], "10.1.1.1", id="a client inside"),
        pytest.param("10.0.0.1", ["1.2.3.4, unknown"], "10.0.0.1", id="no address"),
        pytest.param("10.0.0.1", ["1.2.3.4, x, 10.2.2.2"], "10.2.2.2", id="no address further"),
        pytest.param("10.0.0.1", [""], "10.0.0.1", id="an empty header"),
        pytest.param("10.0.0.1", ["1.2.3.4:567"], "1.2.3.4", id="a port"),
        pytest.param("10.0.0.1", ["[2001:db8::1]:567"], "2001:db8::1", id="a port of IPv6"),
        pytest.param("::ffff:10.0.0.1", ["1.2.3.4"], "1.2.3.4", id="IPv4 within IPv6"),
        pytest.param("fd00::5", ["2001:DB8:0::1"], "2001:db8::1", id="one spelling"),
        pytest.param("", ["1.2.3.4"], "", id="no peer"),
    ],
)
def test_rightmost_untrusted_forwarded_address_is_the_client(
    peer: str, forwarded: list[str], expected: str
) -> None:
    assert PROXIES.client_of(peer, forwarded) == expected


@given(peer=ADDRESSES, forwarded=st.lists(st.text() | ADDRESSES))
def test_forwarded_header_is_ignored_without_trusted_proxies(
    peer: str, forwarded: list[str]
) -> None:
    assert TrustedProxies(()).client_of(peer, forwarded) == peer


@given(forged=st.lists(st.text(alphabet=st.characters(exclude_characters=",")) | ADDRESSES))
def test_client_cannot_forge_its_address_by_forwarded_header(forged: list[str]) -> None:
    assert PROXIES.client_of("10.0.0.1", [*forged, "1.2.3.4"]) == "1.2.3.4"


@pytest.mark.parametrize("wrong", ["*", "", "10.0.0.1/8", "proxy.example", "10.0.0.0/33"])
def test_invalid_network_of_trusted_proxies_is_refused(wrong: str) -> None:
    with pytest.raises(ServeError, match="trusted proxy"):
        ServeSettings(TOKENS, forwarded_allow_ips=(wrong,))


def test_wrong_tokens_are_limited_per_client_and_not_per_proxy(tmp_path: Path) -> None:
    Committing(tmp_path, COUNTS).put([("a", 1)])
    settings = {"forwarded_allow_ips": ("10.0.0.1",)}
    with asked((tmp_path, COUNTS), settings=settings, failures_a_minute=2) as ask:

        def status(client: str, peer: str = "10.0.0.1") -> int:
            headers = {"X-Forwarded-For": client}
            return ask(KEY, token="x" * 20, headers=headers, address=peer).status

        assert [status("1.2.3.4") for _ in range(3)] == [401, 401, 429]
        assert status("5.5.5.5") == 401
        assert status("1.2.3.4, 5.5.5.5") == 401
        assert [status(f"7.7.7.{n}", "6.6.6.6") for n in range(3)] == [401, 401, 429]


def test_stored_author_of_app_command_has_address_of_client(tmp_path: Path) -> None:
    Committing(tmp_path, COUNTS).put([("a", 1)])
    settings = {
        "forwarded_allow_ips": ("10.0.0.1",),
        "allows_actions": True,
        "holders": {ACTOR: "anna"},
    }
    with asked((tmp_path, COUNTS), settings=settings) as ask:
        headers = {"X-Forwarded-For": "6.6.6.6, 1.2.3.4"}
        place = "/v1/apps/viewed/orders"
        body = {"order": "pause"}
        answer = ask(place, token=ACTOR, headers=headers, body=body, address="10.0.0.1")
    assert answer.json["paused"]["by"] == "anna, from 1.2.3.4"
