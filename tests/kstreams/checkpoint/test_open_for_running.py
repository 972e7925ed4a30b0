"""`open_for_running`: opens a checkpoint and returns all data that a start needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder, filter_, key_value_store
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import OpenedQuery, open_for_running
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.errors import CheckpointMismatchError
from kstreams.ids import TaskId, TopicPartition
from kstreams.state.log.commits import SEED, Commit, Output
from kstreams.state.log.pointer import Pointer

COUNTS = key_value_store("counts", key=TEXT, value=INT64)
STAGED = Output("out", 0, "staged", "producer")


def topology(*names: str, stores: Sequence[Any] = ()) -> Topology:
    builder = TopologyBuilder("app")
    for name in names:
        source = builder.add_source(name, Topic(name, TEXT, INT64))
        builder.add_processor(f"keep-{name}", filter_(lambda _, __: True), source, stores=stores)
        stores = ()
    return builder.build()


class Start:
    """Starts of an app on one checkpoint, with the receipts that they publish."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.published: list[tuple[Sequence[Output], int]] = []

    def open(self, wanted: Topology, **given: Any) -> tuple[OpenedQuery, ...]:
        tasks = {group.name: 1 for group in wanted.groups}
        settings = AppSettings("app", home_of(self.home / "checkpoint"), **given)
        return open_for_running(settings, wanted, tasks, run="run", publish=self._publish)

    def _publish(self, commit: Commit) -> None:
        self.published.append((commit.outputs, commit.batch))


@pytest.fixture
def start(tmp_path: Path) -> Start:
    return Start(tmp_path)


def commit(query: OpenedQuery, batch: int) -> Commit:
    read = {TopicPartition(query.name, 0): batch + 1}
    tasks = {TaskId(query.name, 0): Pointer.empty().to_json()}
    return query.commits.append(Commit(batch, "run", 5, tasks, outputs=(STAGED,), positions=read))


def test_new_checkpoint_has_queries_in_order_of_topology(start: Start) -> None:
    opened = start.open(topology("b", "a"))
    assert [query.name for query in opened] == ["b", "a"]
    assert [query.resumed.last for query in opened] == [None, None]
    saved = Checkpoint.load(home_of(start.home / "checkpoint"))
    assert set(saved.begun) == {"a", "b"}
    assert {query.state_name for query in opened} == {saved.state_name("a"), saved.state_name("b")}


def test_query_resumes_after_its_last_commit(start: Start) -> None:
    (first,) = start.open(topology("a"))
    last = commit(first, 0)
    (again,) = start.open(topology("a"))
    assert again.resumed.last == last
    assert again.resumed.positions == {TopicPartition("a", 0): 1}
    assert (again.epoch, again.state_name) == (first.epoch, first.state_name)
    assert start.published == []


def test_sink_receipts_left_by_crash_are_published_before_upgrade(start: Start) -> None:
    (first,) = start.open(topology("a", stores=[COUNTS]))
    commit(first, 3)
    with pytest.raises(CheckpointMismatchError, match="counts"):
        start.open(topology("a"))
    assert start.published == [((STAGED,), 3)]


def test_epoch_after_upgrade_begins_at_positions_of_last_commit(start: Start) -> None:
    (first,) = start.open(topology("a", stores=[COUNTS]))
    commit(first, 3)
    (made,) = start.open(topology("a"), reset=frozenset({"counts"}))
    assert made.epoch != first.epoch
    assert made.resumed.last is not None
    assert made.resumed.last.batch == SEED
    assert made.resumed.positions == {TopicPartition("a", 0): 4}
