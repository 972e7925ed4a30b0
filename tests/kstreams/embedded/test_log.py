"""Segments of an embedded topic: staged, published once, read by offset."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from kstreams.embedded.catalog import STAGING
from kstreams.embedded.log import EmbeddedLog
from kstreams.embedded.reading import read_segment
from kstreams.embedded.segment import APPENDING, Staged
from kstreams.errors import DataLossError, ExecutionError
from kstreams.errors.topics import CorruptSegmentError, RowsRefusedError, UnknownPartitionError
from tests.kstreams.embedded.sample_tables import rows, values

ALWAYS = 2**53


@pytest.fixture
def log(tmp_path: Path) -> EmbeddedLog:
    made = EmbeddedLog(tmp_path)
    made.create("t", 2)
    return made


def staged_files(log: EmbeddedLog) -> list[Path]:
    return list((log.root / "t" / STAGING).glob("*/*"))


@pytest.mark.parametrize("durable", [True, False])
def test_appended_segments_have_consecutive_offsets(tmp_path: Path, durable: bool) -> None:
    log = EmbeddedLog(tmp_path, durable=durable)
    log.create("t", 2)
    first = log.append("t", 0, rows(1, 2, 3), producer="p", batch=0)
    second = log.append("t", 0, rows(4), producer="p", batch=1)
    other = log.append("t", 1, rows(5), producer="p", batch=1)
    assert [(s.first_offset, s.count) for s in (first, second, other)] == [(0, 3), (3, 1), (0, 1)]
    assert log.segments("t", 0) == (first, second)
    assert (log.beginning_offset("t", 0), log.end_offset("t", 0)) == (0, 4)
    assert values(log, "t", 0) == [1, 2, 3, 4]
    assert staged_files(log) == []


def test_segments_returns_segments_from_the_one_that_contains_start_offset(
    log: EmbeddedLog,
) -> None:
    made = [log.append("t", 0, rows(n, n), producer="p", batch=n) for n in range(3)]
    assert [len(log.segments("t", 0, start)) for start in range(8)] == [3, 3, 2, 2, 1, 1, 0, 0]
    assert log.segments("t", 0, 3) == tuple(made[1:])


def test_repeated_append_of_batch_writes_nothing_and_returns_first_segment(
    log: EmbeddedLog,
) -> None:
    first = log.append("t", 0, rows(1, 2), producer="p", batch=0)
    before = sorted(os.walk(log.root))
    for reader in (log, EmbeddedLog(log.root)):
        assert reader.append("t", 0, rows(9), producer="p", batch=0) == first
    assert sorted(os.walk(log.root)) == before
    assert log.append("t", 0, rows(3), producer="q", batch=0).first_offset == 2
    assert log.append("t", 1, rows(3), producer="p", batch=0).first_offset == 0


def test_staged_rows_are_visible_once_published(log: EmbeddedLog) -> None:
    staged = log.stage("t", 0, rows(1, 2), owner="own")
    assert log.segments("t", 0) == ()
    segment = EmbeddedLog(log.root).publish("t", 0, staged, producer="p", batch=0)
    assert log.segments("t", 0) == (segment,)
    assert values(log, "t") == [1, 2]
    assert staged_files(log) == []


def test_first_published_attempt_of_batch_is_visible(log: EmbeddedLog) -> None:
    won, lost = log.stage("t", 0, rows(1), owner="own"), log.stage("t", 0, rows(2), owner="own")
    assert won != lost
    segment = log.publish("t", 0, won, producer="p", batch=0)
    assert log.publish("t", 0, lost, producer="p", batch=0) == segment
    assert log.publish("t", 0, won, producer="p", batch=0) == segment
    assert values(log, "t") == [1]
    assert staged_files(log) == []


def test_publish_of_missing_staged_file_raises_and_log_stays_usable(log: EmbeddedLog) -> None:
    staged = log.stage("t", 0, rows(1), owner="own")
    staged_files(log)[0].unlink()
    with pytest.raises(ExecutionError, match="is gone") as caught:
        log.publish("t", 0, staged, producer="p", batch=0)
    assert (caught.value.where.topic, caught.value.where.partition) == ("t", 0)
    with pytest.raises(ValueError, match="expected a result of `stage`"):
        log.publish("t", 0, "../x", producer="p", batch=0)
    assert log.append("t", 0, rows(1), producer="p", batch=0).first_offset == 0


def test_sweep_removes_staged_files_of_given_owners_only(
    log: EmbeddedLog,
) -> None:
    log.append("t", 0, rows(1), producer="p", batch=0)
    log.stage("t", 0, rows(2), owner="own")
    others = log.stage("t", 1, rows(3), owner="another")
    assert log.sweep_staged(["own", "gone"], older_than_ms=ALWAYS) == 1
    assert [file.name for file in staged_files(log)] == [others]
    assert values(log, "t") == [1]
    assert log.publish("t", 1, others, producer="another", batch=0).count == 1


def test_sweep_removes_old_unfinished_appends_and_topics(log: EmbeddedLog) -> None:
    staging = log.root / "t" / STAGING / "0"
    old, new = (staging / Staged(APPENDING + f"{n:032x}", 1, 1).name for n in range(2))
    before = staging / Staged(f"{0:032x}", 1, 1).name  # of a version without owners
    topic = log.root / ".creating-1"
    topic.mkdir()
    for file in (old, new, before):
        file.write_bytes(b"")
    for left in (old, before, topic):
        os.utime(left, (1_000, 1_000))
    assert log.sweep_staged([], older_than_ms=1_000_000) == 0
    assert log.sweep_staged([], older_than_ms=1_000_001) == 2
    assert sorted(staged_files(log)) == sorted([new, before])


def test_offsets_at_returns_first_offset_at_or_after_time(log: EmbeddedLog) -> None:
    assert log.offsets_at("t", 0) == {0: 0, 1: 0}
    log.append("t", 0, rows(1, 2, timestamp=2_000), producer="p", batch=0)
    log.append("t", 0, rows(3, 4, timestamp=1_000), producer="p", batch=1)
    log.append("t", 0, rows(5, 6, timestamp=3_000), producer="p", batch=2)
    found = {at: log.offsets_at("t", at)[0] for at in (0, 2_000, 2_001, 2_002, 3_001, 3_002)}
    assert found == {0: 0, 2_000: 0, 2_001: 1, 2_002: 4, 3_001: 5, 3_002: 6}


def test_offset_range_is_limited_to_segment(log: EmbeddedLog) -> None:
    log.append("t", 0, rows(0, 1), producer="p", batch=0)
    segment = log.append("t", 0, rows(2, 3, 4), producer="p", batch=1)

    def read(start: int | None, stop: int | None) -> list[int]:
        return log.read(segment, start, stop).column("offset").to_pylist()  # type: ignore[no-any-return]  # pyarrow is untyped

    assert read(None, None) == read(0, 99) == [2, 3, 4]
    assert (read(3, None), read(None, 3), read(3, 4)) == ([3, 4], [2], [3])
    assert read(0, 1) == read(9, 10) == read(4, 3) == []


def test_segment_can_be_read_without_log(log: EmbeddedLog) -> None:
    segment = log.append("t", 0, rows(1), producer="p", batch=0)
    travelled = pickle.loads(pickle.dumps(segment))
    assert read_segment(log.root, travelled) == log.read(segment)


def test_unknown_partition_raises_typed_error(log: EmbeddedLog) -> None:
    for partition in (2, -1):
        with pytest.raises(UnknownPartitionError, match="expected 0 to 1") as caught:
            log.append("t", partition, rows(1), producer="p", batch=0)
        assert (caught.value.where.topic, caught.value.where.partition) == ("t", partition)
    with pytest.raises(RowsRefusedError, match="batch number is -1"):
        log.append("t", 0, rows(1), producer="p", batch=-1)


def damage(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 0x10
    file.write_bytes(content)


@pytest.mark.parametrize("how", ["flip", "cut", "empty", "other"])
def test_damaged_segment_raises_typed_error_with_place(log: EmbeddedLog, how: str) -> None:
    log.append("t", 0, rows(*range(10)), producer="p", batch=0)
    segment = log.append("t", 0, rows(*range(100)), producer="p", batch=1)
    other = log.append("t", 1, rows(1), producer="p", batch=0)
    file = log.root / "t" / "0" / segment.name
    if how == "flip":
        damage(file, file.stat().st_size // 4)
    elif how == "other":
        file.write_bytes((log.root / "t" / "1" / other.name).read_bytes())
    else:
        file.write_bytes(file.read_bytes()[: 20 if how == "cut" else 0])
    with pytest.raises(CorruptSegmentError) as caught:
        log.read(segment)
    where = caught.value.where
    assert (where.topic, where.partition, where.offset) == ("t", 0, 10)
    assert pickle.loads(pickle.dumps(caught.value)).where == where


def test_missing_segment_raises_data_loss_error(log: EmbeddedLog) -> None:
    made = [log.append("t", 0, rows(n), producer="p", batch=n) for n in range(3)]
    (log.root / "t" / "0" / made[1].name).unlink()
    with pytest.raises(DataLossError) as caught:
        log.read(made[1])
    assert caught.value.where.offset == 1
    with pytest.raises(DataLossError, match="offsets 1 to 1 are gone") as caught:
        EmbeddedLog(log.root).segments("t", 0)
    assert caught.value.where.offset == 1
    (log.root / "t" / "0" / made[0].name).unlink()
    assert EmbeddedLog(log.root).beginning_offset("t", 0) == 2


def test_two_segments_with_one_first_offset_raise_corrupt_segment_error(log: EmbeddedLog) -> None:
    made = [log.append("t", 0, rows(n), producer="p", batch=n) for n in range(2)]
    file = log.root / "t" / "0" / made[1].name
    os.link(file, file.with_name(file.name.replace("-1.rows", "-7.rows")))
    with pytest.raises(CorruptSegmentError, match="begins at offset 1, but"):
        EmbeddedLog(log.root).segments("t", 0)


def test_append_to_full_or_read_only_disk_raises_typed_error(
    log: EmbeddedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", refuse)
        with pytest.raises(ExecutionError, match="No space left") as caught:
            log.append("t", 1, rows(1), producer="p", batch=0)
    assert (caught.value.where.topic, caught.value.where.partition) == ("t", 1)
    assert staged_files(log) == []
    assert log.append("t", 1, rows(1), producer="p", batch=0).first_offset == 0
