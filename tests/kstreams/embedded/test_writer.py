"""The writer of embedded topics collects records into segments and reports durability."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait
from datetime import timedelta
from pathlib import Path

import pytest

from kstreams.connection import Appended, RawRecord
from kstreams.embedded.log import EmbeddedLog
from kstreams.embedded.reader import EmbeddedReader
from kstreams.embedded.writer import EmbeddedWriter
from kstreams.errors import ExecutionError, UnknownTopicError
from kstreams.errors.topics import RowsRefusedError, UnknownPartitionError
from kstreams.io import Batching

NEVER = timedelta(hours=1)


@pytest.fixture
def log(tmp_path: Path) -> EmbeddedLog:
    return EmbeddedLog(tmp_path, durable=False)


@pytest.fixture
def patient(log: EmbeddedLog) -> Iterator[EmbeddedWriter]:
    """Return a writer that flushes only on request or when its buffer is full."""
    writer = EmbeddedWriter(
        log,
        default_partitions=2,
        batching=Batching(linger=NEVER, max_linger=NEVER, max_records=5, max_bytes=1_000),
    )
    yield writer
    writer.close()


def test_written_record_is_read_unchanged(log: EmbeddedLog, patient: EmbeddedWriter) -> None:
    headers = (("a", b"1"), ("a", None), ("b", b""))
    futures = [
        patient.write("t", 1, b"k", None, 7, headers),
        patient.write("t", 1, None, b"v", 5),
        patient.write("t", 0, b"", b"", 0),
    ]
    patient.flush()
    assert [future.result(0) for future in futures] == [
        Appended("t", 1, 0),
        Appended("t", 1, 1),
        Appended("t", 0, 0),
    ]
    assert list(EmbeddedReader(log).read("t", 1, 0, 9)) == [
        RawRecord("t", 1, 0, 7, b"k", None, headers),
        RawRecord("t", 1, 1, 5, None, b"v"),
    ]
    assert len(log.segments("t", 1)) == 1


def test_append_waits_until_linger_ends(log: EmbeddedLog, patient: EmbeddedWriter) -> None:
    future = patient.write("t", 0, b"k", b"v", 1)
    assert not future.done()
    assert not future.cancel()
    assert log.end_offset("t", 0) == 0
    patient.flush()
    assert future.done()


def test_single_record_is_appended_after_linger_without_flush(log: EmbeddedLog) -> None:
    writer = EmbeddedWriter(log, batching=Batching(linger=timedelta(milliseconds=1)))
    for offset in range(3):
        assert writer.write("t", 0, b"k", b"v", 1).result(30).offset == offset
    writer.close()


@pytest.mark.parametrize("size", [1, 600], ids=["records", "bytes"])
def test_writer_appends_full_buffer_immediately(patient: EmbeddedWriter, size: int) -> None:
    futures = [patient.write("t", n % 2, b"k", b"v" * size, n) for n in range(20)]
    done, _ = wait(futures[:15], timeout=30)
    assert len(done) == 15


def test_records_of_each_thread_keep_their_order(log: EmbeddedLog) -> None:
    writer = EmbeddedWriter(log, batching=Batching(max_records=50))

    def write_all(name: int) -> None:
        for n in range(300):
            writer.write("t", 0, b"%d" % name, b"%d" % n, n)

    threads = [threading.Thread(target=write_all, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    found: dict[bytes | None, list[int]] = {}
    for record in EmbeddedReader(log).read("t", 0, 0, 1_000):
        found.setdefault(record.key, []).append(int(record.value or b""))
    assert list(found.values()) == [list(range(300))] * 3


def test_invalid_arguments_of_writer_fail_at_the_call(patient: EmbeddedWriter) -> None:
    with pytest.raises(RowsRefusedError, match="-1 ms is negative"):
        patient.write("t", 0, b"k", b"v", -1)
    with pytest.raises(UnknownPartitionError, match="expected 0 to 1"):
        patient.write("t", 2, b"k", b"v", 1)


def test_failed_append_fails_flush_and_futures_of_its_partition_only(
    log: EmbeddedLog, patient: EmbeddedWriter
) -> None:
    bad: list[Future[Appended]] = [
        patient.write("t", 0, b"k", [1], 1),  # type: ignore[arg-type]  # the fault under test
        patient.write("t", 0, b"k", b"v", 1),
    ]
    good = patient.write("t", 1, b"k", b"v", 1)
    with pytest.raises(RowsRefusedError) as caught:
        patient.flush()
    assert (caught.value.where.topic, caught.value.where.partition) == ("t", 0)
    assert [future.exception(0) for future in bad] == [caught.value] * 2
    assert good.result(0) == Appended("t", 1, 0)
    patient.write("t", 0, b"k", b"v", 1)
    patient.flush()
    assert log.end_offset("t", 0) == 1


def test_failed_enqueued_record_raises_at_flush(patient: EmbeddedWriter) -> None:
    patient.enqueue("t", 0, b"k", [1], 1)  # type: ignore[arg-type]  # the fault under test
    with pytest.raises(RowsRefusedError):
        patient.flush()


def test_unexpected_errors_of_append_are_set_on_futures(
    log: EmbeddedLog, patient: EmbeddedWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    future = patient.write("t", 0, b"k", b"v", 1)
    monkeypatch.setattr(log, "append", broken)
    with pytest.raises(ExecutionError, match="ZeroDivisionError"):
        patient.flush()
    assert isinstance(future.exception(0), ExecutionError)


def test_write_after_topic_was_deleted_creates_topic_again(
    log: EmbeddedLog, patient: EmbeddedWriter
) -> None:
    patient.write("t", 0, b"k", b"v", 1)
    log.delete("t")
    with pytest.raises(UnknownTopicError):
        patient.flush()
    future = patient.write("t", 0, b"k", b"v", 1)
    patient.flush()
    assert future.result(0).offset == 0


def test_close_flushes_and_can_be_repeated(log: EmbeddedLog, patient: EmbeddedWriter) -> None:
    future = patient.write("t", 0, b"k", b"v", 1)
    patient.close()
    assert future.result(0).offset == 0
    patient.close()
    with pytest.raises(ExecutionError, match="closed"):
        patient.write("t", 0, b"k", b"v", 1)
    assert log.end_offset("t", 0) == 1


def test_unclosed_writer_is_flushed_at_process_exit(tmp_path: Path) -> None:
    program = f"""
from datetime import timedelta
from kstreams.embedded import Batching, Embedded
hour = timedelta(hours=1)
writer = Embedded({str(tmp_path)!r}, batching=Batching(linger=hour, max_linger=hour)).writer()
writer.write("t", 0, b"k", b"v", 1)
"""
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", program], check=True, cwd=root, timeout=60)
    assert EmbeddedLog(tmp_path).end_offset("t", 0) == 1
