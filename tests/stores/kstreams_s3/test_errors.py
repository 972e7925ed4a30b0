"""Each reason for a refusal has an error class of its own with a hint."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from devtools.servers.fault_proxy import Before, FaultProxy, Refuse
from devtools.servers.ports import free_ports
from devtools.servers.s3 import READER_KEY, Bucket
from kstreams.errors import ObjectMissingError, StoreOpenError
from kstreams_s3 import (
    AccessDeniedError,
    BucketMissingError,
    CredentialsError,
    CredentialsExpiredError,
    S3Error,
    StorageUnavailableError,
)
from kstreams_s3.store import S3ObjectStore
from tests.stores.kstreams_s3.conftest import ThroughProxy

pytestmark = pytest.mark.slow

CALLS: dict[str, Callable[[S3ObjectStore], Any]] = {
    "put": lambda store: store.put_if_absent("a/b", b"x"),
    "get": lambda store: store.get("a/b"),
    "get-range": lambda store: store.get("a/b", 1, 2),
    "list": lambda store: list(store.list("a")),
    "delete": lambda store: store.delete(["a/b"]),
}
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


def refused(call: Callable[[], Any], kind: type[S3Error], *words: str) -> S3Error:
    """Check that a call raises exactly one class, with a hint, and that the error survives
    pickling.
    """
    with pytest.raises(S3Error) as caught:
        call()
    error = caught.value
    assert type(error) is kind
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.code, copy.status) == (str(error), error.code, error.status)
    assert error.__cause__ is None
    assert error.hint
    for word in ("s3://", *words):
        assert word in str(error)
    assert "testsecret" not in str(error)
    return error


@each_call
def test_error_of_missing_bucket_names_it(
    bucket: Bucket, call: Callable[[S3ObjectStore], Any]
) -> None:
    settings = bucket.settings("x")
    other = replace(settings, url="s3://no-such-bucket/x")
    refused(lambda: call(other.open()), BucketMissingError, "no-such-bucket", bucket.endpoint)


@each_call
def test_unknown_access_key_is_refused_with_a_hint(
    bucket: Bucket, call: Callable[[S3ObjectStore], Any]
) -> None:
    store = bucket.settings("x", access_key="stranger").open()
    refused(lambda: call(store), CredentialsError, bucket.name, "access key")


@each_call
def test_wrong_secret_key_is_refused_with_a_hint(
    bucket: Bucket, call: Callable[[S3ObjectStore], Any]
) -> None:
    store = bucket.settings("x", secret_key="hidden-and-wrong").open()
    error = refused(lambda: call(store), CredentialsError, bucket.name, "secret key")
    assert "hidden" not in str(error)


def test_missing_credentials_are_refused_with_a_hint(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    store = bucket.settings("x", access_key=None, secret_key=None).open()
    refused(lambda: list(store.list("")), CredentialsError, "Give boto3 credentials")


def test_credentials_are_found_by_the_chain_of_boto3(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", bucket.access)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", bucket.secret)
    store = bucket.settings(prefix, access_key=None, secret_key=None).open()
    assert store.put_if_absent("a", b"x")


@pytest.mark.parametrize("name", ["put", "delete"])
def test_write_by_read_only_user_raises_typed_error(bucket: Bucket, prefix: str, name: str) -> None:
    bucket.settings(prefix).open().put_if_absent("a/b", b"x")
    store = bucket.settings(prefix, access_key=READER_KEY).open()
    assert store.get("a/b") == b"x"
    refused(lambda: CALLS[name](store), AccessDeniedError, "s3:PutObject")
    assert store.get("a/b") == b"x"


@each_call
def test_expired_token_is_refused_with_a_hint(
    faulty: ThroughProxy, proxy: FaultProxy, call: Callable[[S3ObjectStore], Any]
) -> None:
    proxy.inject(Refuse(400, "ExpiredToken", "token hidden-token has expired"), times=9)
    store = faulty(session_token="hidden-token").open()
    error = refused(lambda: call(store), CredentialsExpiredError, "Renew", "***")
    assert "hidden" not in str(error)
    assert len(proxy.seen) == 1


def test_expired_credentials_of_the_boto3_chain_are_named_with_their_origin(
    faulty: ThroughProxy, proxy: FaultProxy, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", bucket.access)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", bucket.secret)
    proxy.inject(Refuse(400, "ExpiredToken"), times=9)
    store = faulty(access_key=None, secret_key=None).open()
    refused(lambda: store.get("a"), CredentialsExpiredError, "AWS_ACCESS_KEY_ID", "each worker")


def test_unreachable_storage_is_reported_with_a_hint(bucket: Bucket) -> None:
    (port,) = free_ports(1)
    options = {"endpoint_url": f"http://127.0.0.1:{port}", "give_up_after": timedelta(seconds=0.2)}
    store = bucket.settings("x", **options).open()
    refused(lambda: store.get("a"), StorageUnavailableError, str(port), "give_up_after")


def test_storage_without_conditional_writes_is_refused(
    faulty: ThroughProxy, proxy: FaultProxy, bucket: Bucket
) -> None:
    """A deletion before each create makes the server answer like one that overwrites."""
    key = f"{faulty.prefix}/.kstreams"
    delete = partial(bucket.client.delete_object, Bucket=bucket.name, Key=key)
    proxy.inject(Before(delete), method="PUT", times=100)
    store = faulty().open()
    with pytest.raises(StoreOpenError, match="overwrites an object although"):
        store.put_if_absent("a", b"x")
    assert list(store.list("")) == []


def test_storage_that_rejects_conditional_writes_is_refused_at_once(
    faulty: ThroughProxy, proxy: FaultProxy
) -> None:
    proxy.inject(Refuse(501, "NotImplemented"), method="PUT", times=100)
    refused(lambda: faulty().open().put_if_absent("a", b"x"), S3Error, "If-None-Match")
    assert proxy.count("PUT") == 1


def test_error_of_missing_object_names_storage(bucket: Bucket, prefix: str) -> None:
    with pytest.raises(ObjectMissingError, match=f"'a/b' in s3://{bucket.name}/{prefix}/"):
        bucket.settings(prefix).open().get("a/b")
