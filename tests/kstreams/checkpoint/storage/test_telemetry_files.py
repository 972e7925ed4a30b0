"""Telemetry files of an app: documents and bounded lines, in directories and object stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams.checkpoint.storage import directory_telemetry, object_telemetry
from kstreams.checkpoint.storage.directory_telemetry import DirectoryTelemetry
from kstreams.checkpoint.storage.object_telemetry import ObjectTelemetry
from kstreams.checkpoint.storage.telemetry_files import TelemetryFiles
from kstreams.state.log.traffic import CountedObjects, Traffic
from kstreams_testing.resident_objects import ResidentObjects


@pytest.fixture(params=["directory", "objects"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> TelemetryFiles:
    if request.param == "directory":
        return DirectoryTelemetry(tmp_path / "telemetry")
    return ObjectTelemetry(ResidentObjects())


def test_missing_telemetry_files_are_read_as_empty(files: TelemetryFiles) -> None:
    assert files.read("live.json") is None
    assert files.lines("reports/q.jsonl", 10) == []


def test_replace_overwrites_telemetry_document(files: TelemetryFiles) -> None:
    files.replace("live.json", b"1")
    files.replace("live.json", b"2")
    assert files.read("live.json") == b"2"


def test_requested_number_of_last_telemetry_lines_is_returned_oldest_first(
    files: TelemetryFiles,
) -> None:
    for n in range(5):
        files.append("reports/q.jsonl", [b"%d" % n, b"%d'" % n])
    assert files.lines("reports/q.jsonl", 3) == [b"3'", b"4", b"4'"]
    assert len(files.lines("reports/q.jsonl", 100)) == 10
    assert files.lines("reports/other.jsonl", 3) == []


def test_telemetry_files_of_lines_have_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory_telemetry, "_MOST_BYTES", 100)
    monkeypatch.setattr(directory_telemetry, "_PIECE", 16)
    files = DirectoryTelemetry(tmp_path)
    for n in range(50):
        files.append("m.jsonl", [b"line %06d" % n])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.jsonl", "m.jsonl.1"]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 224
    found = files.lines("m.jsonl", 12)
    assert found == [b"line %06d" % n for n in range(38, 50)]


def test_append_after_line_cut_by_kill_begins_new_line(tmp_path: Path) -> None:
    files = DirectoryTelemetry(tmp_path)
    (tmp_path / "m.jsonl").write_bytes(b'{"f":1}\n{"f":')
    files.append("m.jsonl", [b'{"f":2}'])
    assert files.lines("m.jsonl", 9) == [b'{"f":1}', b'{"f":', b'{"f":2}']


def test_links_in_telemetry_directory_are_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"secret")
    for name in ("live.json", "m.jsonl"):
        (tmp_path / name).symlink_to(other)
    files = DirectoryTelemetry(tmp_path)
    for attempt in (
        lambda: files.read("live.json"),
        lambda: files.lines("m.jsonl", 9),
        lambda: files.append("m.jsonl", [b"x"]),
    ):
        with pytest.raises(OSError, match="symbolic"):
            attempt()
    files.replace("live.json", b"own")
    assert (other.read_bytes(), (tmp_path / "live.json").is_symlink()) == (b"secret", False)


def test_append_to_bucket_makes_one_put_and_removes_old_objects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(object_telemetry, "_MOST_PARTS", 3)
    kept = ResidentObjects()
    counted = CountedObjects(kept)
    files = ObjectTelemetry(counted)
    for n in range(5):
        files.replace("live.json", b"%d" % n)
        files.append("m.jsonl", [b"%d" % n])
    assert counted.take() == Traffic(10, 10, 0, 0, lists=2, deletes=4 + 2)
    assert len(list(kept.list("telemetry/"))) == 1 + 3
    later = ObjectTelemetry(kept)  # after a restart
    later.replace("live.json", b"5")
    later.append("m.jsonl", [b"5"])
    assert (files.read("live.json"), files.lines("m.jsonl", 9)) == (b"5", [b"3", b"4", b"5"])


def test_two_drivers_append_telemetry_without_overwriting_each_other() -> None:
    kept = ResidentObjects()
    older, newer = ObjectTelemetry(kept), ObjectTelemetry(kept)
    for n in range(3):
        older.replace("live.json", b"older %d" % n)
        newer.replace("live.json", b"newer %d" % n)
    assert newer.read("live.json") == b"newer 2"
