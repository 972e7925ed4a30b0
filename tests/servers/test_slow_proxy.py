"""The slow proxy forwards requests with a delay, and counts them."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from devtools.servers.s3 import Bucket, S3Server
from devtools.servers.slow_proxy import SlowProxy

pytestmark = pytest.mark.slow


def test_slow_proxy_forwards_and_counts_whole_requests(
    s3_server: S3Server, bucket: Bucket, tmp_path: Path
) -> None:
    name, body = uuid.uuid4().hex, bytes(range(256)) * 2_000
    with SlowProxy(tmp_path, s3_server.address, trip_ms=5) as proxy:
        store = bucket.settings("slow", endpoint_url=proxy.url).open()
        before = proxy.requests()
        assert store.put_if_absent(name, body)
        assert store.get(name) == body
        seen = proxy.requests() - before

    assert seen["PUT"] >= 1
    assert seen["GET"] == 1
    assert bucket.settings("slow").open().get(name) == body
