"""Fixtures: a proxy before the S3 server, and settings whose requests go through the proxy."""

from __future__ import annotations

import dataclasses
import re
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from devtools.servers.fault_proxy import FaultProxy
from devtools.servers.s3 import Bucket, S3Server
from kstreams_s3 import S3, store
from kstreams_s3.client import make_client

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client


_CLIENTS: dict[S3, S3Client] = {}


@pytest.fixture(autouse=True)
def _shared_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use one client for all prefixes, because a new client takes longer than most tests."""

    def shared(settings: S3) -> S3Client:
        if settings.access_key is None:  # then the client depends on the test's environment
            return make_client(settings)
        of_all = dataclasses.replace(settings, url="s3://any")
        if of_all not in _CLIENTS:
            _CLIENTS[of_all] = make_client(settings)
        return _CLIENTS[of_all]

    monkeypatch.setattr(store, "make_client", shared)


@pytest.fixture(scope="session")
def running_proxy(s3_server: S3Server) -> Iterator[FaultProxy]:
    with FaultProxy(s3_server.address) as running:
        yield running


@pytest.fixture
def proxy(running_proxy: FaultProxy) -> Iterator[FaultProxy]:
    """The proxy without faults."""
    running_proxy.heal()
    yield running_proxy
    running_proxy.heal()


@pytest.fixture
def prefix(request: pytest.FixtureRequest) -> str:
    """A unique prefix for the test."""
    test = re.sub(r"[^A-Za-z0-9_-]+", "-", request.node.name)[:60]
    return f"{test}-{uuid.uuid4().hex[:8]}"


class ThroughProxy:
    """Makes settings of the test's prefix whose requests go through the proxy."""

    def __init__(self, bucket: Bucket, proxy: FaultProxy, prefix: str) -> None:
        self.bucket, self.proxy, self.prefix = bucket, proxy, prefix

    def __call__(self, **options: Any) -> S3:
        given: dict[str, Any] = {
            "endpoint_url": self.proxy.url,
            "give_up_after": timedelta(seconds=20),
            "read_timeout": timedelta(seconds=5),
            **options,
        }
        return self.bucket.settings(self.prefix, **given)


@pytest.fixture
def faulty(bucket: Bucket, proxy: FaultProxy, prefix: str) -> ThroughProxy:
    return ThroughProxy(bucket, proxy, prefix)
