"""Objects as a source: which objects are read, and errors for objects that change."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from devtools.servers.gcs import GcsBucket
from kstreams import TEXT
from kstreams.errors import FileChangedError, SourceError
from kstreams.sources import FileInfo, FileLog, Lines, WhenRead
from kstreams.state import Directory
from kstreams_gcs import GCS, GcsAccessError, objects
from tests.support.files.finished_files_contract import FinishingContract

pytestmark = [pytest.mark.slow, pytest.mark.connectors]


def test_temporary_hidden_and_unmatched_objects_are_not_listed(gcs: GcsBucket, prefix: str) -> None:
    for name in ("a.txt", "b.log", "below/c.txt", "_temporary/d.txt", ".e.txt", "f.txt.part", "g/"):
        gcs.put(f"{prefix}/{name}", b"one\n")
    place = gcs.settings(prefix)
    for recursive, expected in ((True, ["a.txt", "below/c.txt"]), (False, ["a.txt"])):
        log = objects("lines", place, Lines(TEXT), pattern="*.txt", recursive=recursive)
        assert sorted(file.name for file in log.files.list()) == expected


@pytest.mark.parametrize("gone", [True, False])
def test_object_that_changes_after_it_was_planned_is_an_error(
    gcs: GcsBucket, prefix: str, *, gone: bool
) -> None:
    gcs.put(f"{prefix}/a", b"one\ntwo\n")
    log = objects("lines", gcs.settings(prefix), Lines(TEXT))
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        contents.ends()
        (piece,) = contents.pieces(0, 0, 2)
        gcs.delete(f"{prefix}/a")
        if not gone:
            gcs.put(f"{prefix}/a", b"ONE\nTWO\n")
        with pytest.raises(FileChangedError, match="'a'"):
            reader.read(piece, max_bytes=1 << 30)
        if not gone:
            with pytest.raises(FileChangedError, match="'a'"):
                contents.ends()


def test_large_object_is_read_by_several_requests(gcs: GcsBucket, prefix: str) -> None:
    rows = [f"{number:08}{'x' * 92}".encode() for number in range(30_000)]
    gcs.put(f"{prefix}/large", b"\n".join(rows))
    log = objects("lines", gcs.settings(prefix, part_bytes=1 << 20), Lines(TEXT))
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        (piece,) = contents.pieces(0, 0, contents.ends()[0])
        assert reader.read(piece, max_bytes=1 << 30)["value"].to_pylist() == rows


def test_open_refuses_names_outside_of_prefix(gcs: GcsBucket) -> None:
    files = objects("lines", gcs.settings("x"), Lines(TEXT)).files
    for name in ("../a", "_kstreams-lines/log.json", "", "/a"):
        with pytest.raises(SourceError, match="outside the prefix"):
            files.open(FileInfo(name, "1", 1, 0))


def test_missing_bucket_is_a_source_error(gcs: GcsBucket, tmp_path: Path) -> None:
    place = replace(gcs.settings("x"), url="gs://no-such-bucket/x")
    log = objects("lines", place, Lines(TEXT), index=Directory(str(tmp_path)))
    with pytest.raises(SourceError, match="no-such-bucket"), closing(log.contents()) as contents:
        contents.ends()


@pytest.mark.parametrize("data", [None, "{}", '{"private_key": "s3cret"}'])
def test_unreadable_credentials_are_reported_without_the_secret(
    tmp_path: Path, data: str | None
) -> None:
    file = tmp_path / "s3cret.json"
    if data is not None:
        file.write_text(data)
    place = GCS("gs://bucket", credentials_file=str(file))
    with pytest.raises(GcsAccessError, match="cannot be read") as told:
        place.open().get("a")
    assert "s3cret" not in f"{told.value} {place!r} {place.open()!r}"


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("s3://bucket", {}),
        ("gs://key:s3cret@bucket/x", {}),
        ("gs://bucket/a/../b", {}),
        ("gs://bucket/x?token=s3cret", {}),
        ("gs://bucket", {"endpoint_url": "http://key:s3cret@host"}),
        ("gs://bucket", {"anonymous": True, "credentials_file": "s3cret"}),
        ("gs://bucket", {"part_bytes": 5}),
    ],
)
def test_invalid_url_is_refused_without_showing_the_secret(
    url: str, options: dict[str, object]
) -> None:
    with pytest.raises(ValueError, match=r"GCS|object name") as told:
        GCS(url, **options)  # type: ignore[arg-type]
    assert "s3cret" not in str(told.value)


class TestFinished(FinishingContract):
    @pytest.fixture(autouse=True)
    def _place(self, gcs: GcsBucket, prefix: str, tmp_path: Path) -> None:
        self.bucket = gcs
        self.prefix = prefix
        self.index = Directory(str(tmp_path))

    def make(self, when_read: WhenRead) -> FileLog[None, str]:
        form = Lines(TEXT, max_record_bytes=50)
        place = self.bucket.settings(self.prefix)
        return objects("lines", place, form, index=self.index, when_read=when_read)

    def put(self, name: str, text: str) -> None:
        self.bucket.put(f"{self.prefix}/{name}", text.encode())

    def found(self) -> dict[str, str]:
        prefix = f"{self.prefix}/"
        keys = self.bucket.keys(prefix)
        return {key.removeprefix(prefix): self.bucket.get(key).decode() for key in keys}
