"""`Embedded` is a connection: a value that can be pickled, with reader, writer and admin."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from kstreams import Embedded
from kstreams.connection import Connection, RawRecord
from kstreams.embedded.log import EmbeddedLog
from kstreams.errors import TopicExistsError, UnknownTopicError
from tests.kstreams.embedded.sample_tables import rows


def test_embedded_settings_can_be_pickled(tmp_path: Path) -> None:
    connection: Connection = Embedded(tmp_path, default_partitions=2, durable=False)
    assert pickle.loads(pickle.dumps(connection)) == connection
    assert hash(connection) == hash(Embedded(str(tmp_path), default_partitions=2, durable=False))


def test_root_does_not_depend_on_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Embedded("data/") == Embedded(tmp_path / "data")


def test_invalid_settings_are_rejected() -> None:
    with pytest.raises(ValueError, match="not a directory of this machine"):
        Embedded("s3://bucket/data")
    with pytest.raises(ValueError, match="default_partitions is 0"):
        Embedded("data", default_partitions=0)


def test_admin_creates_lists_and_describes_topics(tmp_path: Path) -> None:
    connection = Embedded(tmp_path)
    admin = connection.admin()
    admin.create("t", 2, config={"a": "b"})
    with pytest.raises(TopicExistsError):
        admin.create("t", 2)
    connection.log().append("t", 1, rows(1, 2), producer="p", batch=0)
    assert admin.topics() == ("t",)
    assert admin.partition_count("t") == 2
    assert admin.beginning_offsets("t") == {0: 0, 1: 0}
    assert admin.end_offsets("t") == {0: 0, 1: 2}
    assert admin.offsets_at("t", 1_001) == {0: 0, 1: 1}
    admin.delete("t")
    for call in (admin.partition_count, admin.beginning_offsets, admin.end_offsets, admin.delete):
        with pytest.raises(UnknownTopicError):
            call("t")
    admin.close()


def test_write_creates_missing_topic_and_read_does_not(tmp_path: Path) -> None:
    connection = Embedded(tmp_path, default_partitions=3)
    reader = connection.reader()
    with pytest.raises(UnknownTopicError, match="or write to it first"):
        reader.read("t", 0, 0, 1)
    writer = connection.writer()
    writer.write("t", 2, b"k", b"v", 1)
    writer.close()
    assert connection.admin().partition_count("t") == 3
    assert connection.ensure("t") == 3
    assert connection.ensure("u") == 3


def test_embedded_reader_returns_records_of_offset_range(tmp_path: Path) -> None:
    connection = Embedded(tmp_path)
    log: EmbeddedLog = connection.log()
    log.create("t", 1)
    log.append("t", 0, rows(0, 1, 2), producer="p", batch=0)
    log.append("t", 0, rows(3, 4, 5), producer="p", batch=1)
    reader = connection.reader()
    found = [record.offset for record in reader.read("t", 0, 2, 5)]
    assert found == [2, 3, 4]
    assert next(reader.read("t", 0, 4, 5)) == RawRecord("t", 0, 4, 1_001, b"4", b"4")
    assert list(reader.read("t", 0, 6, 99)) == []
    reader.close()


def test_embedded_package_needs_no_pyspark() -> None:
    program = "import sys, kstreams.embedded, kstreams.emitter; sys.exit('pyspark' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[3])
