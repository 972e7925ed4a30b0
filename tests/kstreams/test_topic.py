"""Topics are values with serdes and a partitioner."""

from __future__ import annotations

import pickle

import pytest

from kstreams import BYTES, INT64, TEXT, Record, Topic
from kstreams.io import topic_by
from kstreams.partitioner import FunctionPartitioner, Murmur2Partitioner

TOPIC = Topic("t", key=TEXT, value=INT64)


def first(key: bytes, partitions: int) -> int:
    return 0


def by_key(record: Record[str, int]) -> str:
    return record.key


def test_topic_has_default_options() -> None:
    assert (TOPIC.nulls, TOPIC.null_keys, TOPIC.partitioner) == (
        "drop",
        "drop",
        Murmur2Partitioner(),
    )
    assert repr(TOPIC) == "Topic('t', key=<serde text>, value=<serde int64>)"


@pytest.mark.parametrize(
    "other",
    [
        Topic("u", key=TEXT, value=INT64),
        Topic("t", key=BYTES, value=INT64),
        Topic("t", key=TEXT, value=TEXT),
        Topic("t", key=TEXT, value=INT64, nulls="pass"),
        Topic("t", key=TEXT, value=INT64, null_keys="pass"),
        Topic("t", key=TEXT, value=INT64, partitioner=FunctionPartitioner("f", first)),
    ],
    ids=["name", "key", "value", "nulls", "null keys", "partitioner"],
)
def test_topics_are_compared_by_value(other: object) -> None:
    assert other != TOPIC
    assert Topic("t", key=TEXT, value=INT64) == TOPIC
    assert hash(Topic("t", key=TEXT, value=INT64)) == hash(TOPIC)


def test_topic_can_be_pickled() -> None:
    topic = Topic("t", key=TEXT, value=INT64, nulls="pass")
    copy = pickle.loads(pickle.dumps(topic))
    assert copy == topic
    assert copy.key is TEXT


def test_topic_by_has_given_options_and_can_be_pickled() -> None:
    choice = topic_by(by_key, key=TEXT, value=INT64)
    assert (choice.choose, choice.nulls, choice.label) == (by_key, "drop", "chosen per record")
    assert pickle.loads(pickle.dumps(choice)) == choice
