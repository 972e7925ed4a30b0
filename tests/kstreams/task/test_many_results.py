"""Many results of few records: bounded memory, correct order and rollback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from kstreams import BYTES, TEXT, DeadLetter, Processor, Record, Topic, TopologyBuilder, flat_map
from kstreams.errors import SerializationError
from kstreams.task.output import collector
from tests.support.apps.one_task import IN, OneTask, one_node, queue_of, values

MANY = 200_000


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "_HELD_BYTES", 1 << 20)


class Explode(Processor[Any, Any, Any, Any]):
    """Forwards as many results as its value, and fails after them if the value is negative."""

    def process(self, record: Record[Any, Any]) -> None:
        for number in range(abs(record.value)):
            self.context.forward(record.with_value(number))
        if record.value < 0:
            raise ValueError("no")


def test_many_results_of_one_record_are_complete_and_in_order(little_memory: None) -> None:
    def many(key: str, count: int) -> Iterator[tuple[str, int]]:
        for number in range(count):
            yield key, number

    task = OneTask(one_node(flat_map(many)))
    output = task.run(queue_of([("a", MANY, 1), ("b", 3, 2)]))
    assert values(output) == [*range(MANY), 0, 1, 2]


@pytest.mark.long
def test_memory_is_bounded_while_one_record_forwards_many_results(
    little_memory: None,
) -> None:
    peaks: list[int] = []
    before = pa.total_allocated_bytes()

    def many(key: str, count: int) -> Iterator[tuple[str, int]]:
        for number in range(count):
            if number % 10_000 == 0:
                peaks.append(pa.total_allocated_bytes() - before)
            yield key, number

    output = OneTask(one_node(flat_map(many))).run(queue_of([("a", 5 * MANY, 1)]))
    table = output.sinks["out"]
    assert table.nbytes > 20 << 20
    assert max(peaks) < 12 << 20
    assert pa.total_allocated_bytes() - before < 12 << 20


@pytest.mark.long
@pytest.mark.parametrize("policy", ["skip", DeadLetter("dead")], ids=["skip", "dead-letter"])
def test_record_that_fails_after_many_results_leaves_no_result(
    little_memory: None, policy: Any
) -> None:
    task = OneTask(one_node(Explode, on_error=policy))
    rows = [("a", 100, 1), ("b", -MANY, 2), ("c", 7, 3), ("d", -10, 4), ("e", MANY, 5)]
    output = task.run(queue_of(rows))
    assert values(output) == [*range(100), *range(7), *range(MANY)]
    assert sum(output.dropped.values()) == 2
    assert {t: table.num_rows for t, table in output.dead_letters.items()} == (
        {"dead": 2} if isinstance(policy, DeadLetter) else {}
    )


def test_result_unfit_for_sink_is_attributed_to_its_record() -> None:
    def mixed(key: str, count: int) -> Iterator[tuple[str, Any]]:
        for number in range(count):
            yield key, "text" if key == "wrong" and number == 1 else number

    rows = [("a", 10, 1), ("wrong", 2, 2), ("b", 1_000, 3)]
    with pytest.raises(SerializationError) as caught:
        OneTask(one_node(flat_map(mixed))).run(queue_of(rows))
    assert (caught.value.where.node, caught.value.where.key) == ("out", "wrong")
    assert caught.value.where.offset is None


def test_full_disk_fails_batch_and_drops_no_record(
    little_memory: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    task = OneTask(one_node(Explode, on_error="skip"))
    with pytest.raises(Exception, match="No space left"):
        task.run(queue_of([("a", MANY, 1)]))


def test_large_results_are_encoded_in_small_groups(little_memory: None) -> None:
    peaks: list[int] = []
    before = pa.total_allocated_bytes()

    def many(key: str, count: int) -> Iterator[tuple[str, bytes]]:
        for number in range(count):
            peaks.append(pa.total_allocated_bytes() - before)
            yield key, bytes(20_000 if number > 300 else 10)

    builder = TopologyBuilder("t")
    node = builder.add_processor("many", flat_map(many), builder.add_source("in", IN))
    builder.add_sink("out", Topic("out", TEXT, BYTES), node)
    output = OneTask(builder.build()).run(queue_of([("a", 10_000, 1)]))
    assert output.sinks["out"].nbytes > 180 << 20
    assert max(peaks) < 150 << 20
