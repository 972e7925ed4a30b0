from __future__ import annotations

import pickle

import pytest

from kstreams.kafka.client_options import ClientOptions, is_secret

SECRETS = [
    "sasl.password",
    "ssl.key.password",
    "ssl.keystore.password",
    "ssl.keystore.key",
    "ssl.key.pem",
    "sasl.jaas.config",
    "kafka.sasl.jaas.config",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.config",
    "basic.auth.user.info",
    "my.Access.Token",
]
OPEN = [
    "bootstrap.servers",
    "security.protocol",
    "sasl.username",
    "sasl.mechanism",
    "ssl.ca.location",
    "ssl.key.location",
    "ssl.keystore.location",
    "ssl.keystore.type",
    "client.id",
]


@pytest.mark.parametrize("name", SECRETS)
def test_secret_is_known_by_its_name_and_not_shown(name: str) -> None:
    options = ClientOptions({name: "hunter2"})
    assert is_secret(name)
    for shown in (repr(options), str(options), repr(pickle.loads(pickle.dumps(options)))):
        assert name in shown
        assert "hunter2" not in shown
    assert options[name] == "hunter2"


@pytest.mark.parametrize("name", OPEN)
def test_other_options_are_shown(name: str) -> None:
    assert not is_secret(name)
    assert repr({name: "shown"}) == repr(ClientOptions({name: "shown"}))


def test_values_become_text() -> None:
    given = ClientOptions({"a": True, "b": False, "c": 5, "d": 0.5, "e": "x"})
    assert given == {"a": "true", "b": "false", "c": "5", "d": "0.5", "e": "x"}


def test_equal_options_are_one_value_whatever_their_order() -> None:
    one, other = ClientOptions({"a": "1", "b": "2"}), ClientOptions({"b": "2", "a": "1"})
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == repr(other)
    assert one == pickle.loads(pickle.dumps(one))


def test_scrub_takes_every_secret_out_of_a_text() -> None:
    options = ClientOptions(
        {"sasl.password": "pw", "ssl.key.password": "pw-long", "client.id": "c"}
    )
    assert options.scrub("c: pw-long, pw.") == "c: [redacted], [redacted]."
