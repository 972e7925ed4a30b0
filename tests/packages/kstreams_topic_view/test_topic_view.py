"""A view of a topic has the last value of each key, through any writes and restarts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Embedded, Emitter, Topic, TopologyBuilder
from kstreams.connection import Connection
from kstreams.durations import hours, milliseconds, seconds
from kstreams.errors import (
    DeserializationError,
    ExecutionError,
    StoreError,
    StoreOpenError,
    UnknownTopicError,
)
from kstreams.state import Memory
from kstreams.state.backend.working import StateBackend
from kstreams.testing import FakeClock, TopologyTestDriver
from kstreams.views import RowChange, RowChanges, TopicView
from kstreams_json import json_serde
from kstreams_rocksdb import RocksDB
from tests.support.apps.counts_store import BACKENDS

STOCK = Topic("stock", key=TEXT, value=INT64, nulls="pass")
_OUT = Topic("out", key=TEXT, value=INT64, nulls="pass")
_NUMBERED: Topic[int, dict[str, int] | None] = Topic(
    "numbered", key=json_serde(int), value=json_serde(dict[str, int]), nulls="pass"
)


@pytest.fixture
def topics(tmp_path: Path) -> Embedded:
    made = Embedded(tmp_path / "topics")
    made.admin().create("stock", 3)
    return made


def emit(connection: Connection, *pairs: tuple[str, int | None]) -> None:
    with Emitter(STOCK, connection) as emitter:
        emitter.emit_many(pairs)


@BACKENDS
def test_topic_view_reads_include_records_written_before(
    topics: Embedded, backend: StateBackend
) -> None:
    emit(topics, ("a", 1), ("b", 2), ("a", 3))
    with TopicView(STOCK, topics, backend=backend) as view:
        assert (view.get("a"), view.get("b"), view.get("c"), view.version) == (3, 2, None, 3)
        emit(topics, ("b", None), *((f"k{n}", n) for n in range(9)))
        assert (view.has("b"), view.get("k7")) == (False, 7)
        assert dict(view.items()) == {"a": 3, **{f"k{n}": n for n in range(9)}}
        scan = view.range("k2", "k8")
        emit(topics, ("k7", 70))
        assert scan.seek("k6")
        assert list(scan) == [("k6", 6), ("k7", 7)]
        assert [key for key, _ in view.prefix_scan(b"k8")] == ["k8"]
        view.evict("k1")
        assert view.get("k1") is None
        emit(topics, ("k1", 10))
        assert (view.get("k1"), view.get("k7")) == (10, 70)
    with pytest.raises(StoreError, match="view of topic 'stock' is closed"):
        view.get("a")


def test_topic_view_recovery_reports_progress(topics: Embedded) -> None:
    emit(topics, *((f"k{n}", n) for n in range(50)))
    with TopicView(STOCK, topics) as view:
        before = view.recovered, sum(each.lag for each in view.progress().values())
        view.wait_recovered(seconds(20))
        assert (before, view.recovered) == ((False, 50), True)
        assert sum(each.lag for each in view.progress().values()) == 0
        assert sum(each.end for each in view.progress().values()) == 50


def test_wait_for_recovery_ends_after_timeout(topics: Embedded) -> None:
    with Emitter(STOCK, topics) as emitter:
        for n in range(12_000):
            emitter._bulk.enqueue("stock", 1, b"%d" % n, bytes(8), 0)  # type: ignore[union-attr]  # quick
    with TopicView(STOCK, topics) as view:
        with pytest.raises(ExecutionError, match="has not caught up within 0:00:00"):
            view.wait_recovered(seconds(0))
        assert view.progress()[1].lag == 7_000
        view.wait_recovered()
        assert (view.recovered, view.progress()[1].lag) == (True, 0)


def test_close_ends_recovery_and_local_copy_keeps_records_read_so_far(
    topics: Embedded, tmp_path: Path
) -> None:
    with Emitter(STOCK, topics) as emitter:
        for n in range(22_000):
            emitter._bulk.enqueue("stock", 1, b"%d" % n, bytes(8), 0)  # type: ignore[union-attr]  # quick
    options: dict[str, Any] = {"backend": RocksDB(), "directory": tmp_path / "view"}
    with TopicView(STOCK, topics, **options) as view:
        view._reading.end()  # like close in another thread during a read
        view.refresh()
        assert (view.recovered, view.progress()[1].offset) == (False, 5_000)
    with TopicView(STOCK, topics, **options) as view:
        assert view.progress()[1].offset == 5_000
        assert sum(1 for _ in view.items()) == 22_000


def test_topic_view_callbacks_receive_updates_and_tombstones(topics: Embedded) -> None:
    emit(topics, ("a", 1), ("b", 2))
    seen: list[list[RowChange[str, int | None]]] = []
    changed = threading.Condition()

    def note(changes: RowChanges[str, int | None]) -> None:
        rows = sorted(changes, key=lambda row: row.key)
        with changed:
            seen.append(rows)
            changed.notify_all()

    with TopicView(STOCK, topics) as view, view.follow_rows(note, poll=milliseconds(5)):
        with changed:
            assert changed.wait_for(lambda: len(seen) == 1, 20)
        with Emitter(STOCK, topics) as emitter:
            emitter.emit("a", 5).result()
            with changed:
                assert changed.wait_for(lambda: len(seen) == 2, 20)
            emitter.emit("b", None).result()
            with changed:
                assert changed.wait_for(lambda: len(seen) == 3, 20)
    assert seen == [
        [RowChange("a", None, 1), RowChange("b", None, 2)],
        [RowChange("a", 1, 5)],
        [RowChange("b", 2, None)],
    ]


def test_background_thread_of_topic_view_reads_topic(topics: Embedded) -> None:
    emit(topics, ("a", 1))
    with TopicView(STOCK, topics, advance_every=milliseconds(5)) as view:
        assert view.get("a") == 1
        seen = threading.Event()
        emit(topics, ("a", 2))
        with view.follow(lambda version: seen.set() if version >= 2 else None):
            assert seen.wait(20)
        assert view.get("a") == 2


def test_topic_view_with_max_age_sends_fewer_requests(topics: Embedded) -> None:
    emit(topics, ("a", 1))
    with TopicView(STOCK, topics, max_age=hours(1)) as view:
        assert view.get("a") == 1
        emit(topics, ("a", 2))
        assert view.get("a") == 1
        view.refresh()
        assert view.get("a") == 2


def test_keys_whose_bytes_sort_differently_are_read_in_key_order(tmp_path: Path) -> None:
    topics = Embedded(tmp_path)
    with Emitter(_NUMBERED, topics) as emitter:
        emitter.emit_many([(n, {"n": n}) for n in (10, 9, -3, 100)])
    with TopicView(_NUMBERED, topics) as view:
        assert view.get(9) == {"n": 9}
        assert sorted(key for key, _ in view.items()) == [-3, 9, 10, 100]


def test_keys_placed_by_another_partitioner_are_found(topics: Embedded) -> None:
    with Emitter(STOCK, topics) as emitter:
        for n in range(6):
            emitter.emit(f"k{n}", n, partition=n % 3)
    with TopicView(STOCK, topics) as view:
        view.refresh()
        assert [view.get(f"k{n}") for n in range(6)] == list(range(6))


def test_view_of_topic_of_test_driver_follows_its_batches() -> None:
    builder = TopologyBuilder("passing")
    builder.add_sink("out", _OUT, builder.add_source("in", STOCK))
    with (
        TopologyTestDriver(builder.build(), partitions=3) as driver,
        driver.emitter(STOCK) as emitter,
        TopicView(_OUT, driver.connection) as view,
    ):
        emitter.emit("a", 1)
        emitter.emit_many([("b", 2), ("a", 3)])
        assert dict(view.items()) == {"a": 3, "b": 2}
        emitter.emit("b", None)
        assert view.get("b") is None


# ------------------------------------------------------------ restarts


@pytest.mark.parametrize("backend", [RocksDB(), Memory()], ids=lambda b: b.name)
def test_reopened_local_copy_continues_at_its_offsets(
    topics: Embedded, tmp_path: Path, backend: StateBackend
) -> None:
    place = tmp_path / "view"
    emit(topics, ("a", 1), ("b", 2), ("c", 3))
    with TopicView(STOCK, topics, backend=backend, directory=place) as view:
        assert len(dict(view.items())) == 3
        with pytest.raises(StoreOpenError, match="another view uses the directory"):
            TopicView(STOCK, topics, backend=backend, directory=place)
    emit(topics, ("b", None), ("d", 4))
    with TopicView(STOCK, topics, backend=backend, directory=place) as view:
        assert sum(each.offset for each in view.progress().values()) == 3
        assert dict(view.items()) == {"a": 1, "c": 3, "d": 4}


def _spoil_nothing(place: Path, topics: Embedded) -> None:
    (place / "saved.json").unlink()  # like after a kill


def _spoil_file(place: Path, topics: Embedded) -> None:
    (place / "saved.json").write_bytes(b'{"f": 1, "topic": 7')


def _spoil_mark(place: Path, topics: Embedded) -> None:
    saved = json.loads((place / "saved.json").read_bytes())
    (place / "saved.json").write_text(json.dumps({**saved, "mark": "other"}))


def _spoil_topic(place: Path, topics: Embedded) -> None:
    topics.admin().delete("stock")
    topics.admin().create("stock", 3)
    emit(topics, ("b", 2), ("d", 4), ("e", 5), ("f", 6), ("g", 7))


@pytest.mark.parametrize(
    "spoil", [_spoil_nothing, _spoil_file, _spoil_mark, _spoil_topic], ids=lambda f: f.__name__
)
def test_local_copy_that_does_not_match_topic_is_rebuilt(
    topics: Embedded, tmp_path: Path, spoil: Callable[[Path, Embedded], None]
) -> None:
    place = tmp_path / "view"
    emit(topics, ("a", 1), ("b", 2), ("c", 3))
    with TopicView(STOCK, topics, backend=RocksDB(), directory=place) as view:
        view.evict("a")
    spoil(place, topics)
    with (
        TopicView(STOCK, topics, backend=RocksDB(), directory=place) as view,
        TopicView(STOCK, topics) as fresh,
    ):
        assert sum(each.offset for each in view.progress().values()) == 0
        assert dict(view.items()) == dict(fresh.items())


def test_local_copy_older_than_retention_of_tombstones_is_rebuilt(
    topics: Embedded, tmp_path: Path
) -> None:
    emit(topics, ("a", 1))
    clock = FakeClock()
    options: dict[str, Any] = {"directory": tmp_path / "view", "backend": RocksDB()}
    with TopicView(STOCK, topics, clock=clock, **options) as view:
        assert view.get("a") == 1
    clock.advance(hours(23))
    with TopicView(STOCK, topics, clock=clock, **options) as view:
        assert sum(each.offset for each in view.progress().values()) == 1
    clock.advance(hours(25))
    with TopicView(STOCK, topics, clock=clock, **options) as view:
        assert {each.offset for each in view.progress().values()} == {0}


def test_view_of_recreated_topic_starts_over(topics: Embedded) -> None:
    emit(topics, ("a", 1), ("b", 2))
    with TopicView(STOCK, topics) as view:
        assert view.get("a") == 1
        topics.admin().delete("stock")
        topics.admin().create("stock", 2)
        emit(topics, ("c", 3))
        assert dict(view.items()) == {"c": 3}


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(
    steps=st.lists(
        st.dictionaries(st.sampled_from("abcdef"), st.none() | st.integers(0, 9), max_size=4)
        | st.sampled_from(["close", "kill", "look"]),
        max_size=14,
    )
)
def test_topic_view_equals_a_dictionary_through_any_writes_and_restarts(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any]
) -> None:
    path = tmp_path_factory.mktemp("topic-view")
    topics = Embedded(path / "topics", default_partitions=2, durable=False)
    topics.ensure("stock")
    model: dict[str, int] = {}

    def opened() -> TopicView[str, int | None]:
        return TopicView(STOCK, topics, backend=RocksDB(), directory=path / "view")

    view = opened()
    try:
        for step in steps:
            if isinstance(step, dict):
                emit(topics, *step.items())
                after: dict[str, int | None] = {**model, **step}
                model = {key: value for key, value in after.items() if value is not None}
            elif step == "look":
                assert dict(view.items()) == model
            else:
                view.close()
                if step == "kill":
                    (path / "view" / "saved.json").unlink()
                view = opened()
        assert dict(view.items()) == model
    finally:
        view.close()


# ------------------------------------------------------------ bad input


def test_topic_view_of_missing_topic_raises(topics: Embedded) -> None:
    with pytest.raises(UnknownTopicError):
        TopicView(Topic("nosuch", key=TEXT, value=INT64), topics)
    with pytest.raises(ValueError, match="on_error is 'Skip', expected 'fail' or 'skip'"):
        TopicView(STOCK, topics, on_error="Skip")  # type: ignore[arg-type]  # the invalid argument


def test_undecodable_records_fail_or_are_counted(topics: Embedded) -> None:
    with closing(topics.writer()) as writer:
        writer.write("stock", 1, b"a", b"no int", 0)
        writer.write("stock", 1, None, bytes(8), 0)
        writer.write("stock", 1, b"b", (5).to_bytes(8, "big"), 0)
    with TopicView(STOCK, topics) as view:
        with pytest.raises(DeserializationError, match="stock"):
            view.get("b")
        with pytest.raises(DeserializationError, match="stock") as failed:  # a second time
            view.get("b")
        assert (failed.value.where.partition, failed.value.where.offset) == (1, 0)
    with TopicView(STOCK, topics, on_error="skip") as view:
        assert dict(view.items()) == {"b": 5}
        assert view.progress()[1].skipped == 2


def test_failure_in_background_thread_is_raised_by_reads(topics: Embedded) -> None:
    with closing(topics.writer()) as writer:
        writer.write("stock", 1, b"a", b"no int", 0)
    with (
        TopicView(STOCK, topics, advance_every=milliseconds(5)) as view,
        pytest.raises(DeserializationError),
    ):
        view.get("a")
