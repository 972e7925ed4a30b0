"""Settings of S3: a URL and options, without secrets in any text."""

from __future__ import annotations

import os
import pickle
from typing import Any

import pytest

from kstreams.plugins import load_plugin
from kstreams_s3 import S3, store
from kstreams_s3.client import make_client, secrets_of
from kstreams_s3.failures import without_secrets

SECRETS: Any = {
    "access_key": "public-abc",
    "secret_key": "hidden-abc",
    "session_token": "token-abc",
}


@pytest.mark.parametrize(
    ("url", "bucket", "prefix"),
    [
        ("s3://bucket", "bucket", ""),
        ("s3://bucket/", "bucket", ""),
        ("s3://bucket/apps", "bucket", "apps/"),
        ("s3://bucket/apps/counts/", "bucket", "apps/counts/"),
    ],
)
def test_s3_url_has_bucket_and_prefix(url: str, bucket: str, prefix: str) -> None:
    assert (S3(url).bucket, S3(url).prefix) == (bucket, prefix)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "bucket/x",
        "https://bucket/x",
        "s3://",
        "s3:///x",
        "s3://b/x?y",
        "s3://b/a//b",
        "s3://b/../x",
    ],
)
def test_invalid_s3_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"s3://bucket/prefix|object name"):
        S3(url)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"access_key": "a"}, "give both access_key= and secret_key="),
        ({"secret_key": "hidden"}, "give both access_key= and secret_key="),
        ({"session_token": "hidden"}, "session_token= needs"),
        ({"part_bytes": 1024}, "part_bytes=1024"),
        ({"endpoint_url": "localhost:9000"}, "http://host:port"),
        ({"endpoint_url": "http://user:hidden@host"}, "must not contain credentials"),
        ({"endpoint_url": "http://user:hid/den-hidden@host"}, "must not contain credentials"),
        ({"endpoint_url": "http:/user:hidden@host"}, "must not contain credentials"),
        ({"endpoint_url": "user:hidden@host:9000"}, "must not contain credentials"),
        ({"endpoint_url": "http://host:9000?token=hidden"}, "http://host:port"),
        ({"endpoint_url": "http://host:9000/#hidden"}, "http://host:port"),
    ],
)
def test_invalid_s3_options_are_refused_without_showing_keys(
    options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        S3("s3://bucket", **options)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "s3://key:hidden@bucket/x",
        "s3://key:hid/hidden@bucket/x",
        "s3:/key:hidden@bucket",
        "s3://bucket/x?token=hidden",
        "s3://bucket/x#hidden",
    ],
)
def test_url_with_credentials_is_refused_without_showing_them(url: str) -> None:
    with pytest.raises(ValueError, match=r"must not contain credentials|expected s3://") as caught:
        S3(url)
    assert "hidden" not in str(caught.value)


def test_s3_prefix_may_have_any_path_character() -> None:
    assert S3("s3://bucket/a@b/c:d").prefix == "a@b/c:d/"


def test_secrets_of_s3_client_include_those_found_by_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "make_client", make_client)  # not the shared client of the tests
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "public")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden-1/+")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "hidden-2")
    opened = S3("s3://bucket/x", region="us-east-1").open()
    assert set(secrets_of(opened._client)) == {"hidden-1/+", "hidden-2"}


def test_plain_and_encoded_secrets_are_removed_from_text() -> None:
    text = "for a/+b: http://u:p@proxy/?X-Amz-Security-Token=a%2F%2Bb 'https://u@h'"
    assert without_secrets(text, ["a/+b"]) == (
        "for ***: http://***@proxy/?X-Amz-Security-Token=*** 'https://***@h'"
    )


def test_repr_and_errors_of_settings_hide_secrets() -> None:
    settings = S3("s3://bucket/x", **SECRETS)
    for text in (repr(settings), str(settings), settings.place, repr(settings.open())):
        assert "abc" not in text
        assert "bucket" in text


def test_settings_and_open_storage_are_pickled_without_their_client() -> None:
    settings = S3("s3://bucket/x", region="us-east-1", **SECRETS)
    opened = settings.open()
    assert opened._client.meta.region_name == "us-east-1"
    assert pickle.loads(pickle.dumps(settings)) == settings
    copy = pickle.loads(pickle.dumps(opened))
    assert copy._settings == settings
    assert copy._made is None


def test_equal_s3_settings_have_equal_hashes() -> None:
    assert hash(S3("s3://bucket/x", **SECRETS)) == hash(S3("s3://bucket/x", **SECRETS))
    assert S3("s3://bucket/x") != S3("s3://bucket/x", **SECRETS)


def test_forked_process_makes_new_s3_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "make_client", make_client)  # not the shared client of the tests
    opened = S3("s3://bucket/x", region="us-east-1", **SECRETS).open()
    before = opened._client
    assert opened._client is before
    opened._made = (os.getpid() + 1, before)  # as in a forked child
    assert opened._client is not before


def test_s3_plugin_is_found_by_its_scheme() -> None:
    assert load_plugin("kstreams.stores", "s3") is S3
