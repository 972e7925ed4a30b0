"""A checkpoint knows whose it is, and says what differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder, filter_
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.errors import CheckpointMismatchError
from kstreams.state.memory import Memory

A = Topic("a", TEXT, INT64)
B = Topic("b", TEXT, INT64)


def _topology(*topics: Topic[str, int]) -> Topology:
    builder = TopologyBuilder("shape")
    for topic in topics:
        source = builder.add_source(topic.name, topic)
        builder.add_processor(f"keep-{topic.name}", filter_(lambda k, v: True), source)
    return builder.build()


def _open(path: Path, topology: Topology, app: str = "app", tasks: int = 2) -> Checkpoint:
    counts = {group.name: tasks for group in topology.groups}
    return Checkpoint.open(path, app, topology, tasks=counts)


def test_a_checkpoint_is_found_again(tmp_path: Path) -> None:
    first = _open(tmp_path / "c", _topology(A))
    again = _open(tmp_path / "c", _topology(A))
    assert first == again
    assert first.incarnation != _open(tmp_path / "d", _topology(A)).incarnation


def test_another_apps_checkpoint_is_refused(tmp_path: Path) -> None:
    _open(tmp_path, _topology(A), "orders")
    with pytest.raises(CheckpointMismatchError) as caught:
        _open(tmp_path, _topology(A), "clicks")
    assert str(caught.value) == (
        f"checkpoint '{tmp_path}' belongs to app 'orders', not to 'clicks'\n"
        "Hint: give each app a checkpoint of its own"
    )


def test_another_format_is_refused(tmp_path: Path) -> None:
    _open(tmp_path, _topology(A))
    file = tmp_path / "app.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 99}))
    with pytest.raises(CheckpointMismatchError, match="has format 99, this version reads 3"):
        _open(tmp_path, _topology(A))


def test_a_checkpoint_that_was_begun_and_not_finished_begins_again(tmp_path: Path) -> None:
    (tmp_path / ".app-1.json").write_text("{")
    assert _open(tmp_path, _topology(A)).app == "app"
    assert Memory().log is None
