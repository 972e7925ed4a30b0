"""Sinks that are not topics, in a query that is killed and restarted."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams import TEXT, Emitter, Record, Topic, Topology, TopologyBuilder
from kstreams.batch.io.sink_publishing import publish_receipts
from kstreams.batch.messages.task_status import TaskStatus
from kstreams.ids import TaskId
from kstreams.sinks import CommitId, RefusedRow
from kstreams.state.log.fields import Fields
from kstreams.state.log.receipts import Receipts
from kstreams.testing import RecordingSink
from tests.support.apps.one_query import WholeQuery

WORDS = Topic("words", key=TEXT, value=TEXT)


def copied(sink: RecordingSink[str, str]) -> Topology:
    builder = TopologyBuilder("copied")
    builder.add_sink("out", sink, builder.add_source("words", WORDS))
    return builder.build()


def emit(query: WholeQuery, *values: str) -> None:
    with Emitter(WORDS, query.connection) as emitter:
        emitter.emit_many(Record(value, value, 1_000) for value in values)


def values(sink: RecordingSink[str, str]) -> list[str]:
    return [record.value for record in sink.records()]


def test_retried_batch_has_same_commit_id_and_is_published_to_sink_once(tmp_path: Path) -> None:
    sink: RecordingSink[str, str] = RecordingSink()
    query = WholeQuery(tmp_path, copied(sink))
    query.start()
    emit(query, "one", "two")
    query.batch(dies=True)
    assert (len(sink.writes), values(sink)) == (1, [])
    query.run()
    first, again = sink.writes
    assert first == again
    assert values(sink) == ["one", "two"]
    emit(query, "three")
    query.run()
    assert values(sink) == ["one", "two", "three"]
    earlier, later = sink.commits
    assert earlier.order < later.order
    assert {commit.epoch for commit in sink.commits} == {query.driver._settings.commit_epoch}


def test_sink_receipts_left_unpublished_by_crash_are_published_at_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink: RecordingSink[str, str] = RecordingSink()
    query = WholeQuery(tmp_path, copied(sink))
    query.start()
    emit(query, "one")
    with monkeypatch.context() as patch:
        patch.setattr(sink, "publish", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            query.run()
    assert values(sink) == []
    query.start()
    assert values(sink) == ["one"]
    assert query.driver.last is not None
    (receipts,) = query.driver.last.receipts
    assert (receipts.commit, receipts.names) == (next(iter(sink.commits)), ("staged",))
    query.start()
    assert values(sink) == ["one"]


def test_publish_receipts_of_removed_sink_logs_warning(caplog: pytest.LogCaptureFixture) -> None:
    publish_receipts({}, [Receipts(CommitId("epoch", "gone", 0, 1), ("a",))])
    assert "'gone'" in caplog.text
    assert "epoch/gone/0/1" in caplog.text


def test_sink_receipts_survive_conversion_of_task_status_to_json() -> None:
    commit = CommitId("epoch", "out", 3, 7, 2)
    status = TaskStatus(TaskId("words", 3), "{}", receipts=(Receipts(commit, ("a", "b")),))
    again = TaskStatus.from_json(Fields(status.to_json()))
    assert again == status


@pytest.mark.parametrize(
    "found",
    [1, ["epoch"], ["l", "s", 0, 1, 0, "a"], ["l", "s", -1, 1, 0, []], [1, "s", 0, 1, 0, []]],
)
def test_sink_receipts_of_wrong_types_are_rejected(found: object) -> None:
    status = TaskStatus(TaskId("words", 3), "{}").to_json()
    with pytest.raises(ValueError, match=r"."):
        TaskStatus.from_json(Fields({**status, "receipts": [found]}))


def test_commit_id_does_not_depend_on_topology() -> None:
    one = CommitId("epoch", "out", 0, 1, fingerprint="a")
    assert one == CommitId("epoch", "out", 0, 1, fingerprint="b")
    assert str(one) == "epoch/out/0/1"
    assert str(CommitId("epoch", "out", 0, 1, 2)) == "epoch/out/0/1.2"
    assert CommitId("epoch", "out", 0, 1, 2).order > one.order
    assert RefusedRow(1, "why", Record(None, None)).code == ""
