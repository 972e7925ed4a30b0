"""The sink passes the test suites for sinks and for tables, on a disk and on a real S3 server."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitStateUnknownException

from devtools.servers.s3 import Bucket
from kstreams import Record
from kstreams.sinks import Sink
from kstreams.testing import SinkContract
from kstreams_iceberg import IcebergTable
from kstreams_iceberg.log import IcebergLog
from tests.support.sinks.iceberg_catalogs import NAME, catalog_in, opened, rows_of
from tests.support.sinks.lake_contract import LakeContract, Total


class TestOnDisk(LakeContract):
    log = IcebergLog
    lost = CommitStateUnknownException("the answer is lost")

    @pytest.fixture(autouse=True)
    def _catalog(self, tmp_path: Path, _folder: None) -> None:
        self.catalog = catalog_in(tmp_path / "lake")
        self.folder = tmp_path / "lake" / "shop" / "totals"

    def make(self) -> Sink[str, int]:
        return IcebergTable(NAME, Total, row=Total, catalog=self.catalog)

    def seen(self) -> Iterable[tuple[str, int]]:
        for row in rows_of(self.catalog):
            yield row["word"], row["total"]

    def others_append(self) -> None:
        with opened(self.catalog) as catalog:
            table = catalog.load_table(NAME)
            table.append(
                pa.Table.from_pylist(
                    [{"word": "other", "total": 0}], schema=table.schema().as_arrow()
                )
            )


@pytest.mark.slow
class TestInS3(SinkContract):
    keeps_last = False
    bad = Record("a", 1 << 70, 5)

    @pytest.fixture(autouse=True)
    def _catalog(self, tmp_path: Path, bucket: Bucket) -> None:
        self.catalog = catalog_in(
            tmp_path,
            f"s3://{bucket.name}/{uuid.uuid4().hex}",
            **{
                "s3.endpoint": bucket.endpoint,
                "s3.access-key-id": bucket.access,
                "s3.secret-access-key": bucket.secret,
                "s3.region": "us-east-1",
            },
        )

    def make(self) -> Sink[str, int]:
        return IcebergTable(NAME, Total, row=Total, catalog=self.catalog)

    def seen(self) -> Iterable[tuple[str, int]]:
        for row in rows_of(self.catalog):
            yield row["word"], row["total"]
