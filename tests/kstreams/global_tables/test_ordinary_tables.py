"""A global table is filled like any table: by its processor, error policy and commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder
from kstreams.errors import DeserializationError, TopicRecreatedError
from kstreams.joins import left
from kstreams.processors.on_error import OnError
from kstreams.stores import timestamped_store
from kstreams.views import View
from kstreams_rocksdb import RocksDB
from tests.kstreams.global_tables.test_pinned_versions import (
    OUT,
    TABLE,
    TEXTS,
    WORDS,
    planned,
    put,
    reading,
)
from tests.support.apps.stepped_app import PARTITIONS, ByHand

NUMBERS = Topic("words", TEXT, INT64)
STORE = timestamped_store("numbers", key=TEXT, value=INT64)


def _both(text: str, number: int | None) -> str:
    return f"{text}={number}"


def numbered(on_error: OnError) -> Topology:
    builder = TopologyBuilder("numbered")
    words = builder.add_global_table("words", NUMBERS, store=STORE, on_error=on_error)
    texts = builder.add_source("texts", TEXTS)
    found = builder.join_global("join", texts, words, left(_both), by=lambda _, text: text)
    builder.add_sink("out", OUT, found)
    return builder.build()


def test_undecodable_rows_are_skipped_by_policy_also_on_new_machine(
    tmp_path: Path,
) -> None:
    app = ByHand(tmp_path, numbered("skip"), state=RocksDB(directory=str(tmp_path / "one")))
    app.emit(NUMBERS, ("a", 1))
    app.emit(WORDS, ("b", "no number"), ("a", "none either"))
    assert app.queries["words.source"].step()
    app.queries["texts"].run(planned(app))
    other = ByHand(tmp_path, numbered("skip"), state=RocksDB(directory=str(tmp_path / "two")))
    other.queries["texts"].run(planned(other))
    assert app.values(OUT) == ["a=1", "a=1", "b=None", "b=None"]


def test_undecodable_row_fails_query_with_policy_fail(tmp_path: Path) -> None:
    app = ByHand(tmp_path, numbered("fail"))
    app.emit(WORDS, ("b", "no number"))
    with pytest.raises(DeserializationError, match="expected 8 bytes") as caught:
        app.queries["words.source"].step()
    assert (caught.value.where.topic, caught.value.where.offset) == ("words", 0)


def test_recreated_table_topic_is_rejected_and_committed_rows_stay_readable(tmp_path: Path) -> None:
    app = ByHand(tmp_path, reading())
    put(app, "old")
    log = app.connection.log()
    log.delete(WORDS.name)
    log.ensure(WORDS.name, PARTITIONS)
    app.emit(WORDS, *((key, "other") for key in "abcd"))
    with pytest.raises(TopicRecreatedError, match="deleted and created again"):
        app.queries["words.source"].step()
    app.queries["texts"].run(planned(app))
    assert app.values(OUT) == ["a=old", "b=old"]


def test_view_and_batch_of_same_commit_read_same_rows(tmp_path: Path) -> None:
    app = ByHand(tmp_path, reading(), state=RocksDB(directory=str(tmp_path / "local")))
    expected = []
    for number in range(4):
        put(app, f"value-{number}")
        plan = planned(app)
        put(app, f"later-{number}")
        pin = plan.globals[TABLE.name]
        assert pin.commit is not None
        view = View(tmp_path / "reading", TABLE, as_of=pin.commit.batch)
        found = {key: view.get(key) for key in "ab"}
        expected += [f"{key}={None if row is None else row[0]}" for key, row in found.items()]
        app.queries["texts"].run(plan)
        assert app.values(OUT) == sorted(expected)
        assert f"a=value-{number}" in expected
