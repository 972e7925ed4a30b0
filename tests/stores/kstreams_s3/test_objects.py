"""Objects of a bucket are a log, and satisfy the contract of logs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devtools.servers.s3 import READER_KEY, Bucket
from kstreams import TEXT
from kstreams.errors import FileChangedError, SourceError
from kstreams.sources import FileLog, Gzip, Lines, Log, MoveTo, WhenRead
from kstreams.state import Directory
from kstreams.testing import LogContract
from kstreams_s3 import S3, objects
from kstreams_s3.client import make_client
from tests.support.files.finished_files_contract import FinishingContract

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

pytestmark = pytest.mark.slow


class Put:
    """Writes objects below the test's prefix."""

    def __init__(self, place: S3) -> None:
        self.place = place
        self.client: S3Client = make_client(place)

    def __call__(self, name: str, data: bytes) -> None:
        key = self.place.prefix + name
        self.client.put_object(Bucket=self.place.bucket, Key=key, Body=data)

    def delete(self, name: str) -> None:
        self.client.delete_object(Bucket=self.place.bucket, Key=self.place.prefix + name)


@pytest.fixture
def put(bucket: Bucket, prefix: str) -> Put:
    return Put(bucket.settings(prefix))


def lines(place: S3, **options: Any) -> FileLog[None, str]:
    return objects("lines", place, Lines(TEXT), **options)


class TestObjects(LogContract[None, str]):
    @pytest.fixture(autouse=True)
    def _place(self, put: Put) -> None:
        self.put = put
        self.numbers = count()

    def make(self) -> Log[None, str]:
        return lines(self.put.place, partitions=2)

    def add(self, values: Sequence[str]) -> None:
        self.put(f"day={next(self.numbers):03}/part.txt", "\n".join(values).encode())


def test_temporary_hidden_and_unmatched_objects_are_not_listed(put: Put) -> None:
    for name in ("a.txt", "b.log", "below/c.txt", "_temporary/d.txt", ".e.txt", "f.txt.part", "g/"):
        put(name, b"one\n")
    for options, expected in (
        ({"pattern": "*.txt"}, ["a.txt", "below/c.txt"]),
        ({"pattern": "*.txt", "recursive": False}, ["a.txt"]),
    ):
        found = lines(put.place, **options).files.list()
        assert sorted(file.name for file in found) == expected


@pytest.mark.parametrize("gone", [True, False])
def test_object_that_changes_after_it_was_planned_is_an_error(put: Put, *, gone: bool) -> None:
    put("a", b"one\ntwo\n")
    log = lines(put.place)
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        contents.ends()
        (piece,) = contents.pieces(0, 0, 2)
        if gone:
            put.delete("a")
        else:
            put("a", b"ONE\nTWO\n")
        with pytest.raises(FileChangedError, match="'a'"):
            reader.read(piece, max_bytes=1 << 30)
        if not gone:
            with pytest.raises(FileChangedError, match="'a'"):
                contents.ends()


def test_large_object_is_read_by_several_requests(put: Put) -> None:
    rows = [f"{number:08}{'x' * 92}".encode() for number in range(170_000)]
    put("large", b"\n".join(rows))
    log = lines(put.place)
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        assert contents.ends() == {0: 170_000}
        (piece,) = contents.pieces(0, 0, 170_000)
        table = reader.read(piece, max_bytes=1 << 30)
        assert table.column("value").to_pylist() == rows


def test_file_log_of_read_only_user_stores_index_elsewhere(
    bucket: Bucket, prefix: str, put: Put, tmp_path: Path
) -> None:
    put("a", b"one\n")
    reading = bucket.settings(prefix, access_key=READER_KEY)
    with pytest.raises(SourceError, match="index=") as refused:
        lines(reading).contents()
    assert bucket.secret not in str(refused.value)
    index = Directory(str(tmp_path))
    with closing(lines(reading, index=index).contents()) as contents:
        assert contents.ends() == {0: 1}


def test_repr_and_errors_hide_secrets(put: Put) -> None:
    log = objects("lines", put.place, Gzip(Lines(TEXT)))
    secret = put.place.secret_key
    assert secret is not None
    assert secret not in f"{log!r} {log.label}"


def test_missing_bucket_is_a_source_error(put: Put, tmp_path: Path) -> None:
    place = replace(put.place, url="s3://no-such-bucket/x")
    log = lines(place, index=Directory(str(tmp_path)))
    with pytest.raises(SourceError, match="NoSuchBucket"), closing(log.contents()) as contents:
        contents.ends()


class TestFinished(FinishingContract):
    @pytest.fixture(autouse=True)
    def _place(self, put: Put, bucket: Bucket, tmp_path: Path) -> None:
        self.writer = put
        self.bucket = bucket
        self.index = Directory(str(tmp_path))

    def make(self, when_read: WhenRead) -> FileLog[None, str]:
        form = Lines(TEXT, max_record_bytes=50)
        return objects(
            "lines", self.writer.place, form, index=self.index, when_read=when_read, pattern="*"
        )

    def put(self, name: str, text: str) -> None:
        self.writer(name, text.encode())

    def found(self) -> dict[str, str]:
        prefix = self.writer.place.prefix
        return {
            key.removeprefix(prefix): self.text_of(key)
            for key in self.bucket.keys(prefix)
            if not key.endswith(".kstreams")
        }

    def text_of(self, key: str) -> str:
        found = self.bucket.client.get_object(Bucket=self.bucket.name, Key=key)
        return found["Body"].read().decode()

    def test_interrupted_move_is_completed(self) -> None:
        """The object was copied and not deleted."""
        self.put("a", "1\n")
        with self.contents(MoveTo("_done")) as contents:
            contents.ends()
            contents.committed({0: 1})
            assert self.found() == {"_done/a": "1\n"}
        again = self.make(MoveTo("_done")).files
        self.put("a", "1\n")
        (file,) = again.list()
        again.take_away(file, "_done/a")  # type: ignore[attr-defined]
        assert self.found() == {"_done/a": "1\n"}
