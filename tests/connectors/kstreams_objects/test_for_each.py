"""A file for each result: the test suite for sinks in each place, and refused paths."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from devtools.servers.s3 import Bucket
from kstreams import Record, TopologyBuilder
from kstreams.errors import SinkUnavailableError
from kstreams.serde import BYTES
from kstreams.sinks import Sink
from kstreams.sources import Whole, Zip, folder
from kstreams.testing import SinkContract, TopologyTestDriver
from kstreams_objects import FileForEach
from kstreams_objects.place import Place
from tests.support.sinks.sink_writes import commit_of, given, write


def _path(record: Record[str, int]) -> str:
    return record.key if record.value < 1_000 else f"../{record.key}"


def _body(record: Record[str, int]) -> bytes:
    return b"%d" % record.value


class TestDirectory(SinkContract):
    bad = Record("a", 1_000, 5)

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    @property
    def place(self) -> str | Place:
        return str(self.folder)

    def make(self) -> Sink[str, int]:
        return FileForEach(self.place, path=_path, body=_body)

    def seen(self) -> Iterable[tuple[str, int]]:
        return [(path.name, int(path.read_text())) for path in self.folder.glob("[!._]*")]


@pytest.mark.slow
class TestS3(TestDirectory):
    @pytest.fixture(autouse=True)
    def _prefix(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self.prefix = uuid.uuid4().hex

    @property
    def place(self) -> str | Place:
        return self.bucket.settings(self.prefix)

    def seen(self) -> Iterable[tuple[str, int]]:
        for key in self.bucket.keys(f"{self.prefix}/"):
            name = key.removeprefix(f"{self.prefix}/")
            if not name.startswith(("_", ".")):
                found = self.bucket.client.get_object(Bucket=self.bucket.name, Key=key)
                yield name, int(found["Body"].read())


def _any(place: Path) -> FileForEach[str, Any]:
    return FileForEach(str(place), path=lambda record: record.key, body=lambda record: record.value)


def _files(place: Path) -> dict[str, bytes]:
    found = {str(path.relative_to(place)): path for path in place.rglob("*") if path.is_file()}
    return {n: p.read_bytes() for n, p in sorted(found.items()) if not n.startswith((".", "_"))}


HOSTILE = (
    *("../x", "/x", "a//b", "a/../b", "a/./b", ".", "..", "", ".hidden", "a/.b", "_staged", "a/_b"),
    *("nul\0", "line\n", "\x1b[31m", "é" * 130, "/".join(["x" * 200] * 5), "half \ud800", 5, None),
)


def test_record_with_path_outside_of_sink_directory_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "place"
    pairs = [("fine", b"1"), *((name, b"0") for name in HOSTILE), ("below/fine", b"2")]
    refused = write(_any(place), given(*pairs))
    assert [row.row for row in refused] == list(range(1, len(HOSTILE) + 1))
    assert _files(tmp_path) == {"place/fine": b"1", "place/below/fine": b"2"}


def test_record_with_path_blocked_by_file_or_directory_is_refused(tmp_path: Path) -> None:
    """After the commit nothing can be refused, and the app would stop."""
    write(_any(tmp_path), given(("a", b"1"), ("b/c", b"2")))
    pairs = [("a/x", b"0"), ("b", b"0"), ("d", b"3"), ("d/x", b"0"), ("e/x", b"4"), ("e", b"0")]
    refused = write(_any(tmp_path), given(*pairs), commit_of(1))
    assert [row.row for row in refused] == [0, 1, 3, 5]
    assert "there is a file 'a'" in refused[0].reason
    assert "there is a directory 'b'" in refused[1].reason
    assert "another result" in refused[2].reason
    assert _files(tmp_path) == {"a": b"1", "b/c": b"2", "d": b"3", "e/x": b"4"}


def test_last_file_of_a_path_is_kept_and_files_of_other_paths_too(tmp_path: Path) -> None:
    write(_any(tmp_path), given(("a", b"1"), ("a", b"2"), ("b", None), ("c", b"")))
    assert _files(tmp_path) == {"a": b"2", "c": b""}
    refused = write(_any(tmp_path), given(("a", b"3"), ("d", "text")), commit_of(1))
    assert ["returned a str" in row.reason for row in refused] == [True]
    assert _files(tmp_path) == {"a": b"3", "c": b""}
    assert not [path for path in (tmp_path / "_staged").rglob("*") if path.is_file()]


def test_directory_that_blocks_path_after_commit_fails_publish_until_removed(
    tmp_path: Path,
) -> None:
    sink = _any(tmp_path)
    receipts = sink.open().write(given(("a", b"1")), commit_of())
    (tmp_path / "a").mkdir()
    with pytest.raises(SinkUnavailableError, match=r"'a'|directory"):
        sink.publish({commit_of(): receipts})
    (tmp_path / "a").rmdir()
    sink.publish({commit_of(): receipts})
    assert _files(tmp_path) == {"a": b"1"}


def test_each_source_file_is_written_to_path_in_its_record_header(tmp_path: Path) -> None:
    """The path stays in a header whatever the record's key becomes; in an archive, the member's."""
    import zipfile

    incoming, outgoing = tmp_path / "in", tmp_path / "out"
    (incoming / "day=1").mkdir(parents=True)
    (incoming / "day=1" / "a.bin").write_bytes(b"\xff\x00")
    (incoming / "b.bin").write_bytes(b"")
    with zipfile.ZipFile(incoming / "c.zip", "w") as archive:
        archive.writestr("below/d.bin", b"member")
    for form, pattern in ((Whole(BYTES), "*.bin"), (Zip(Whole(BYTES)), "*.zip")):
        log = folder(pattern[2:], incoming, form, pattern=pattern, recursive=True)
        sink: FileForEach[str, bytes] = FileForEach(
            str(outgoing),
            path=lambda record: (dict(record.headers)["kstreams-file"] or b"").decode(),
            body=lambda record: record.value,
        )
        builder = TopologyBuilder("copies")
        builder.add_sink("out", sink, builder.add_source("in", log))
        with TopologyTestDriver(builder.build(), real_sources=True, real_sinks=True) as driver:
            driver.run()
    assert _files(outgoing) == {
        "day=1/a.bin": b"\xff\x00",
        "b.bin": b"",
        "c.zip/below/d.bin": b"member",
    }
