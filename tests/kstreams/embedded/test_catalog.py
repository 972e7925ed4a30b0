"""Embedded topics are created, found and deleted atomically."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kstreams.embedded.log import EmbeddedLog
from kstreams.errors import ExecutionError, TopicExistsError, UnknownTopicError
from kstreams.errors.topics import InvalidTopicError, TopicFormatError
from tests.kstreams.embedded.sample_tables import rows, values


@pytest.fixture
def log(tmp_path: Path) -> EmbeddedLog:
    return EmbeddedLog(tmp_path / "topics")


def test_log_without_root_has_no_topics(log: EmbeddedLog) -> None:
    assert log.topics() == ()
    with pytest.raises(UnknownTopicError, match="There are no topics yet"):
        log.topic("orders")


def test_topic_has_name_partitions_and_config_of_its_creation(log: EmbeddedLog) -> None:
    log.create("orders", 3, config={"retention.ms": "-1"})
    log.create("clicks", 1)
    (log.root / "not-a-topic").mkdir()
    assert log.topics() == ("clicks", "orders")
    info = EmbeddedLog(log.root).topic("orders")
    assert (info.name, info.partitions, info.config) == ("orders", 3, {"retention.ms": "-1"})


def test_second_creation_of_topic_is_rejected(log: EmbeddedLog) -> None:
    log.create("orders", 3)
    with pytest.raises(TopicExistsError) as caught:
        log.create("orders", 3)
    assert caught.value.where.topic == "orders"


def test_concurrent_creation_makes_one_topic(log: EmbeddedLog) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda n: log.ensure("t", n).topic_id, range(1, 33)))
    assert found == {log.topic("t").topic_id}
    assert [path.name for path in log.root.iterdir()] == ["t"]


def test_create_is_rejected_if_directory_without_topic_description_exists(log: EmbeddedLog) -> None:
    (log.root / "t" / "x").mkdir(parents=True)
    with pytest.raises(ExecutionError, match="cannot create the topic"):
        log.create("t", 1)
    assert [path.name for path in log.root.iterdir()] == ["t"]


@pytest.mark.parametrize("name", ["", ".", "..", ".staged", "a/b", "a b", "é", "x" * 250, "a\n"])
def test_invalid_topic_names_are_rejected(log: EmbeddedLog, name: str) -> None:
    with pytest.raises(InvalidTopicError):
        log.create(name, 1)
    with pytest.raises(UnknownTopicError):
        log.topic(name)


def test_topic_without_partitions_is_rejected(log: EmbeddedLog) -> None:
    with pytest.raises(InvalidTopicError, match="partition count is 0"):
        log.create("t", 0)


def test_unknown_topic_error_suggests_nearest_name(log: EmbeddedLog) -> None:
    log.create("orders", 1)
    with pytest.raises(UnknownTopicError, match="Did you mean 'orders'") as caught:
        log.segments("order", 0)
    assert caught.value.where.topic == "order"
    with pytest.raises(UnknownTopicError, match="There are: orders"):
        log.segments("zzz", 0)


def test_deleted_topic_can_be_created_again(log: EmbeddedLog) -> None:
    log.create("t", 1)
    log.append("t", 0, rows(1, 2), producer="p", batch=0)
    log.delete("t")
    assert log.topics() == ()
    with pytest.raises(UnknownTopicError):
        log.delete("t")
    log.create("t", 1)
    assert values(log, "t") == []
    log.append("t", 0, rows(3), producer="p", batch=0)
    assert values(log, "t") == [3]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param('{"format": 2}', "is of format 2, expected 1", id="newer"),
        pytest.param('{"format": 1}', "cannot be read", id="incomplete"),
        pytest.param("{", "cannot be read", id="cut"),
        pytest.param("[]", "cannot be read", id="no object"),
        pytest.param("\xff", "cannot be read", id="not text"),
    ],
)
def test_topic_description_of_another_format_is_rejected(
    log: EmbeddedLog, content: str, message: str
) -> None:
    log.create("t", 1)
    (log.root / "t" / "topic.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(TopicFormatError, match=message) as caught:
        log.segments("t", 0)
    assert caught.value.where.topic == "t"


def test_topic_description_is_plain_json(log: EmbeddedLog) -> None:
    info = log.create("t", 2)
    assert json.loads((log.root / "t" / "topic.json").read_text()) == {
        "format": 1,
        "id": info.topic_id,
        "partitions": 2,
        "config": {},
    }
