"""Requests to a registry: retries, limits, and hidden secrets."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import pytest

from devtools.servers.fake_registry import FakeRegistry
from kstreams.errors import RegistryUnavailableError
from kstreams_registry import SchemaRegistry


def registry(fake: FakeRegistry, **options: Any) -> SchemaRegistry:
    return SchemaRegistry(fake.url, **{"attempts": 2, **options})


def test_failed_registry_request_is_retried(fake: FakeRegistry) -> None:
    number = fake.add("s", "{}")
    answers: list[Any] = [(500, {}), (429, {}), None]
    fake.fault = lambda _method, _path: answers.pop(0)
    found = registry(fake, attempts=3).schema(number)
    assert found is not None
    assert found.text == "{}"


def test_request_over_a_reset_connection_is_retried(fake: FakeRegistry) -> None:
    number = fake.add("s", "{}")
    faults = [True, False]

    def hang_up(_method: str, _path: str) -> None:
        if faults.pop(0):
            raise ConnectionResetError

    fake.fault = hang_up
    assert registry(fake).schema(number) is not None


def test_unreachable_registry_raises_unavailable_error() -> None:
    with FakeRegistry() as gone:
        url = gone.url
    with pytest.raises(RegistryUnavailableError, match=r"(?s)Connection.*2 times"):
        SchemaRegistry(url, attempts=2).schema(1)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((200, b"<html>"), "not JSON"),
        ((404, b"<html>"), "not that of a schema registry"),
        ((401, {"error_code": 401, "message": "no"}), "refuses this client"),
        ((403, b""), "refuses this client"),
        ((302, b"http://127.0.0.1:1/"), "answer 302 is not that of a schema registry"),
        ((422, {"error_code": 42201, "message": "what?"}), "422: what?"),
        ((200, ["a"]), "JSON that is not an object"),
        ((200, {"schemaType": "XML", "schema": ""}), "got str and schemaType 'XML'"),
        ((200, {"schema": 5}), "got int and schemaType 'AVRO'"),
        ((200, {"schema": "{}", "references": [{"name": "a"}]}), "reference that lacks a name"),
    ],
)
def test_invalid_registry_reply_raises_unavailable_error(
    fake: FakeRegistry, answer: Any, why: str
) -> None:
    fake.fault = lambda _method, _path: answer
    with pytest.raises(RegistryUnavailableError, match=why):
        registry(fake).schema(1)


def test_circular_schema_references_are_refused(fake: FakeRegistry) -> None:
    loop = {"name": "a", "subject": "a", "version": 1}
    fake.fault = lambda _method, _path: (200, {"schema": "{}", "references": [loop]})
    with pytest.raises(RegistryUnavailableError, match="more than 50 times"):
        registry(fake).schema(1)


def test_endless_registry_reply_is_refused(
    fake: FakeRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kstreams_registry import requests

    monkeypatch.setattr(requests, "_MOST_BYTES", 100)
    fake.fault = lambda _method, _path: (200, b" " * 200)
    with pytest.raises(RegistryUnavailableError, match="more than 100 bytes"):
        registry(fake).schema(1)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"user": "ann", "password": "s3cret"}, "Basic YW5uOnMzY3JldA=="),
        ({"token": "s3cret"}, "Bearer s3cret"),
    ],
)
def test_registry_secrets_are_sent_and_not_printed(
    fake: FakeRegistry, given: dict[str, str], sent: str
) -> None:
    asking = registry(fake, **given)
    asking.latest("none")
    assert fake.headers["Authorization"] == sent
    fake.fault = lambda _method, _path: (401, {"error_code": 40101, "message": "no"})
    with pytest.raises(RegistryUnavailableError) as caught:
        asking.latest("none")
    texts = [repr(asking), str(asking), repr(vars(asking)), str(caught.value), caught.value.hint]
    assert not [text for text in texts if "s3cret" in text]
    assert pickle.loads(pickle.dumps(asking)) == asking


@pytest.mark.parametrize(
    "options",
    [
        {"url": "http://ann:s3cret@host:8081"},
        {"url": "ann:s3cret@host:8081"},
        {"url": "file:///etc/passwd"},
        {"url": "host:8081"},
        {"user": "ann"},
        {"user": "ann", "password": "p", "token": "t"},
        {"certificate_file": "c"},
        {"attempts": 0},
        {"timeout": timedelta(0)},
    ],
)
def test_invalid_registry_settings_are_refused_without_showing_secrets(
    options: dict[str, Any],
) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        SchemaRegistry(**{"url": "http://host:8081", **options})
    assert "s3cret" not in str(caught.value)
