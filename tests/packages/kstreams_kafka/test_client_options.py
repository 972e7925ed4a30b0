"""Options of Kafka clients: compared as values, printed without secrets."""

from __future__ import annotations

import logging
import pickle

import pytest

from kstreams_kafka.client_log import ClientLog
from kstreams_kafka.client_options import ClientOptions, is_secret

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
    "sasl.passwort",
    "sasl.oauthbearer.extensions",
    "sasl.kerberos.kinit.cmd",
    "registry.api-key",
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
def test_secret_option_is_recognized_by_name_and_hidden(name: str) -> None:
    options = ClientOptions({name: "hunter2"})
    assert is_secret(name)
    for shown in (repr(options), str(options), repr(pickle.loads(pickle.dumps(options)))):
        assert name in shown
        assert "hunter2" not in shown
    assert options[name] == "hunter2"


@pytest.mark.parametrize("name", OPEN)
def test_repr_shows_options_that_are_not_secret(name: str) -> None:
    assert not is_secret(name)
    assert repr({name: "shown"}) == repr(ClientOptions({name: "shown"}))


def test_client_option_values_are_converted_to_text() -> None:
    given = ClientOptions({"a": True, "b": False, "c": 5, "d": 0.5, "e": "x"})
    assert given == {"a": "true", "b": "false", "c": "5", "d": "0.5", "e": "x"}


def test_equal_options_are_equal_values_whatever_their_order() -> None:
    one, other = ClientOptions({"a": "1", "b": "2"}), ClientOptions({"b": "2", "a": "1"})
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == repr(other)
    assert one == pickle.loads(pickle.dumps(one))


def test_scrub_removes_every_secret_from_text() -> None:
    options = ClientOptions(
        {"sasl.password": "pw", "ssl.key.password": "pw-long", "client.id": "c"}
    )
    assert options.scrub("c: pw-long, pw.") == "c: [redacted], [redacted]."


def test_scrub_removes_quoted_parts_of_secrets() -> None:
    options = ClientOptions({"sasl.oauthbearer.config": "principal=me scope=read key=hunter2 x=1"})
    for quoted in ("scope=read key=hunter2 x=1", "non-integral: hunter2", "key=hunter2"):
        assert "hunter2" not in options.scrub(f"cannot read {quoted}")
    assert options.scrub("me at 1") == "me at 1"
    pem = ClientOptions({"ssl.key.pem": "-----BEGIN KEY-----\nhunter2\nhunter3\n-----END"})
    assert "hunter" not in pem.scrub("in line 2: hunter2, hunter3")
    spaced = ClientOptions({"sasl.password": "correct horse"})
    assert spaced.scrub("correct horse at a horse's gate") == "[redacted] at a horse's gate"


def test_login_in_url_is_secret_in_any_option() -> None:
    url = "https://user:hunter2@host:1/token?key=hunter3"
    for name in ("sasl.oauthbearer.token.endpoint.url", "some.url", "proxy"):
        options = ClientOptions({name: url})
        assert "hunter" not in repr(options)
        assert "host:1/token" in repr(options)
        for text in (url, "user:hunter2@host", "hunter2", "?key=hunter3", "key=hunter3"):
            assert "hunter" not in options.scrub(f"no token from {text!r}")


@pytest.mark.parametrize("level", [logging.DEBUG, logging.ERROR])
def test_log_lines_of_client_show_no_secret(level: int, caplog: pytest.LogCaptureFixture) -> None:
    log = ClientLog(ClientOptions({"sasl.password": "hunter2"}))
    with caplog.at_level(logging.DEBUG, "kstreams.kafka"):
        log.log(level, "%s [%s] %s", "CONF", "producer-1", "sasl.password = hunter2, 100%")
    assert caplog.messages == ["CONF [producer-1] sasl.password = [redacted], 100%"]
