"""What Spark's checkpoint says of Kafka's offsets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka")

from kstreams.spark.kafka_feed import committed_offsets


def _batch(checkpoint: Path, number: int, *sources: str) -> None:
    for folder in ("offsets", "commits"):
        (checkpoint / folder).mkdir(parents=True, exist_ok=True)
    lines = ["v1", json.dumps({"batchWatermarkMs": 0}), *sources]
    (checkpoint / "offsets" / str(number)).write_text("\n".join(lines))


def test_nothing_is_committed_before_the_first_batch(tmp_path: Path) -> None:
    assert committed_offsets(tmp_path) == {}
    _batch(tmp_path, 0, json.dumps({"a": {"0": 5}}))
    assert committed_offsets(tmp_path) == {}


def test_the_newest_committed_batch_counts(tmp_path: Path) -> None:
    _batch(tmp_path, 9, json.dumps({"logOffset": 3}), json.dumps({"a": {"0": 5, "1": 0}}))
    _batch(tmp_path, 10, json.dumps({"logOffset": 4}), json.dumps({"a": {"0": 7, "1": 1}}), "-")
    _batch(tmp_path, 11, json.dumps({"logOffset": 5}), json.dumps({"a": {"0": 8, "1": 2}}))
    for number in (9, 10):
        (tmp_path / "commits" / str(number)).write_text("v1\n{}")
    (tmp_path / "commits" / ".11.crc").write_text("")
    assert committed_offsets(tmp_path) == {"a/0": 7, "a/1": 1}


def test_sources_of_several_stages_are_put_together(tmp_path: Path) -> None:
    _batch(tmp_path, 0, json.dumps({"a": {"0": 5}}), json.dumps({"b": {"0": 1}, "c": {"2": 3}}))
    (tmp_path / "commits" / "0").write_text("v1\n{}")
    assert committed_offsets(tmp_path) == {"a/0": 5, "b/0": 1, "c/2": 3}
