"""The sink passes the test suites for sinks and for tables, on a disk and on a real S3 server."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from devtools.servers.s3 import Bucket
from kstreams import Record
from kstreams.sinks import Sink
from kstreams.testing import SinkContract
from kstreams_delta import DeltaTable
from kstreams_delta.log import DeltaLog
from tests.support.sinks.delta_tables import rows_of
from tests.support.sinks.lake_contract import LakeContract, Total
from tests.support.sinks.sink_writes import commit_of


class TestOnDisk(LakeContract):
    log = DeltaLog
    lost = deltalake.exceptions.CommitFailedError("the answer is lost")
    partition_by: tuple[str, ...] = ()

    def make(self) -> Sink[str, int]:
        return DeltaTable(str(self.folder), Total, row=Total, partition_by=self.partition_by)

    def seen(self) -> Iterable[tuple[str, int]]:
        for row in rows_of(str(self.folder)):
            yield row["word"], row["total"]

    def others_append(self) -> None:
        rows = pa.table({"word": ["other"], "total": [0]})
        deltalake.write_deltalake(str(self.folder), rows, mode="append")

    def test_batch_published_again_after_compaction_changes_nothing(self) -> None:
        """A file is recognized by its path only while it is in the table."""
        first = self.staged(commit_of(0), ("a", 1))
        self.make().publish(first)
        self.make().publish(self.staged(commit_of(1), ("b", 2)))
        deltalake.DeltaTable(str(self.folder)).optimize.compact()
        self.make().publish(first)
        assert sorted(self.seen()) == [("a", 1), ("b", 2)]


class TestPartitioned(TestOnDisk):
    partition_by = ("word",)


@pytest.mark.slow
class TestInS3(SinkContract):
    keeps_last = False
    bad = Record("a", 1 << 70, 5)

    @pytest.fixture(autouse=True)
    def _prefix(self, bucket: Bucket) -> None:
        self.uri = f"s3://{bucket.name}/{uuid.uuid4().hex}"
        self.options: dict[str, Any] = {
            "endpoint_url": bucket.endpoint,
            "allow_http": "true",
            "access_key_id": bucket.access,
            "secret_access_key": bucket.secret,
            "region": "us-east-1",
        }

    def make(self) -> Sink[str, int]:
        return DeltaTable(self.uri, Total, row=Total, options=self.options)

    def seen(self) -> Iterable[tuple[str, int]]:
        for row in rows_of(self.uri, self.options):
            yield row["word"], row["total"]
