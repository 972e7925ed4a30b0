"""The sink passes the test suite for sinks, in a directory and on S3, in each format."""

from __future__ import annotations

import csv
import gzip
import io
import json
import uuid
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from devtools.servers.s3 import Bucket
from kstreams import Record
from kstreams.sinks import Sink
from kstreams.testing import SinkContract
from kstreams_objects import Columns, CsvTable, FileFormat, JsonLines, Objects, Parquet

SCHEMA = pa.schema([pa.field("word", pa.string()), pa.field("total", pa.int8())])


def _row(word: str, total: int) -> Columns:
    return {"word": word, "total": total if total < 1_000 else {1, 2}}


class TestJsonLines(SinkContract):
    keeps_last = False
    bad = Record("a", 1_000, 5)
    format: FileFormat = JsonLines()

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make(self) -> Sink[str, int]:
        return Objects(str(self.folder), format=self.format, row=_row)

    def seen(self) -> Iterable[tuple[str, int]]:
        for path in sorted(self.folder.glob("[!._]*")):
            yield from self.read(path.read_bytes())

    def read(self, data: bytes) -> Iterable[tuple[str, int]]:
        for line in data.splitlines():
            found = json.loads(line)
            yield found["word"], found["total"]


class TestZippedJsonLines(TestJsonLines):
    format = JsonLines(gzip=True)

    def read(self, data: bytes) -> Iterable[tuple[str, int]]:
        return super().read(gzip.decompress(data))


class TestCsv(TestJsonLines):
    format = CsvTable(("word", "total"))

    def read(self, data: bytes) -> Iterable[tuple[str, int]]:
        for found in csv.DictReader(io.StringIO(data.decode())):
            yield found["word"], int(found["total"])


class TestParquet(TestJsonLines):
    format = Parquet(SCHEMA)

    def read(self, data: bytes) -> Iterable[tuple[str, int]]:
        for found in pq.read_table(pa.BufferReader(data)).to_pylist():
            yield found["word"], found["total"]


@pytest.mark.slow
class TestInS3(TestJsonLines):
    @pytest.fixture(autouse=True)
    def _prefix(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self.prefix = uuid.uuid4().hex

    def make(self) -> Sink[str, int]:
        return Objects(self.bucket.settings(self.prefix), format=self.format, row=_row)

    def seen(self) -> Iterable[tuple[str, int]]:
        for key in self.bucket.keys(f"{self.prefix}/"):
            if not key.startswith((f"{self.prefix}/_", f"{self.prefix}/.")):
                found = self.bucket.client.get_object(Bucket=self.bucket.name, Key=key)
                yield from self.read(found["Body"].read())
