"""S3 satisfies the contract of object stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools.servers.s3 import Bucket
from kstreams_s3.store import S3ObjectStore
from kstreams_testing.object_store import ObjectStoreContract


@pytest.mark.slow
class TestS3(ObjectStoreContract):
    """The contract of every durable storage, on a real server."""

    races = 3  # SeaweedFS makes losers wait for seconds

    @pytest.fixture(autouse=True)
    def _bucket(self, any_bucket: Bucket) -> None:
        self.bucket = any_bucket

    def open(self, place: Path) -> S3ObjectStore:
        return self.bucket.settings("/".join(place.parts[-2:])).open()
