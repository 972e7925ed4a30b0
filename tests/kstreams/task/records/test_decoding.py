"""Nulls, undecodable bytes, and the place in their errors."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import INT64, NONE, TEXT, DeadLetter, Record, Serde, Topic, TopologyBuilder
from kstreams.errors import DeserializationError
from kstreams.processors import Headers
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.records.columns import rows_of
from tests.kstreams.state.cache.test_overlay import Json
from tests.support.apps.one_task import (
    OUT,
    Calls,
    OneTask,
    calls,
    one_node,
    queue_of,
    records,
    values,
)

_BAD = b"\xff\xff"
_MIXED = [("a", 1, 10), ("b", _BAD, 11), (_BAD, 3, 12), ("d", 4, 13), (_BAD, _BAD, 14)]


class Careless(Serde[int]):
    """A serde that raises an error outside of its contract."""

    name = "careless"
    immutable = True

    def serialize(self, value: int) -> bytes:
        return str(value).encode()

    def deserialize(self, data: bytes) -> int:
        return int(data)


@pytest.mark.parametrize(
    ("nulls", "null_keys", "expected", "dropped"),
    [
        ("drop", "drop", ["a1"], {"null-key": 2, "null-value": 1}),
        ("pass", "drop", ["a1", "aNone"], {"null-key": 2}),
        ("drop", "pass", ["a1", "None2"], {"null-value": 2}),
        ("pass", "pass", ["a1", "aNone", "None2", "NoneNone"], {}),
    ],
)
def test_nulls_are_passed_or_dropped_and_counted_by_option_of_topic(
    nulls: Any, null_keys: Any, expected: list[str], dropped: dict[str, int]
) -> None:
    seen: list[str] = []
    source: Any = Topic("in", TEXT, INT64, nulls=nulls, null_keys=null_keys)
    topology = one_node(
        calls(lambda _, record: seen.append(f"{record.key}{record.value}")), source=source
    )
    queue = queue_of([("a", 1, 0), ("a", None, 0), (None, 2, 0), (None, None, 0)])
    output = OneTask(topology).run(queue)
    assert (seen, output.dropped, output.records_in) == (expected, dropped, 4)


def test_keys_with_serde_none_are_none_whatever_their_bytes() -> None:
    source: Topic[None, int] = Topic("in", NONE, INT64)
    topology = one_node(calls(), source=source, sink=Topic("out", NONE, INT64))
    output = OneTask(topology).run(queue_of([(None, 1, 0), (_BAD, 2, 0)]))
    assert values(output) == [1, 2]
    assert output.dropped == {}


def test_undecodable_record_fails_batch_with_its_place() -> None:
    rows = [("a", 1, 10), ("b", _BAD, 11), (_BAD, 3, 12)]
    task = OneTask(one_node(calls(), on_error="fail"), partition=2)
    with pytest.raises(DeserializationError) as caught:
        task.run(queue_of(rows, partition=2, offsets=[5, 7, 9]))
    where = caught.value.where
    assert (where.group, where.node, where.topic, where.partition) == ("in", "in", "in", 2)
    assert (where.offset, where.timestamp, where.key) == (7, 11, b"b")
    assert "value: expected 8 bytes of int64" in str(caught.value)


def test_undecodable_records_are_skipped_and_counted() -> None:
    output = OneTask(one_node(calls(), on_error="skip")).run(queue_of(_MIXED))
    assert values(output) == [1, 4]
    assert output.dropped == {"skipped-DeserializationError": 3}


def test_dead_letters_have_record_and_reason() -> None:
    headers: list[Headers] = [(), (("h", b"own"), ("n", None)), (), (), ()]
    task = OneTask(one_node(calls(), on_error=DeadLetter("dlq")), partition=1)
    output = task.run(queue_of(_MIXED, partition=1, headers=headers))
    assert values(output) == [1, 4]
    letters = list(rows_of(output.dead_letters["dlq"]))
    assert [(r.key, r.value, r.timestamp) for r in letters] == [
        (b"b", _BAD, 11), (_BAD, INT64.serialize(3), 12), (_BAD, _BAD, 14)
    ]  # fmt: skip
    assert output.dead_letters["dlq"].column("topic").to_pylist() == ["dlq"] * 3
    first = letters[0].headers
    assert first[:2] == (("h", b"own"), ("n", None))
    reasons = dict(first[2:])
    assert reasons.pop("kstreams-error-message") == (
        b"value: expected 8 bytes of int64, got 2: b'\\xff\\xff'"
    )
    assert reasons == {
        "kstreams-error-class": b"DeserializationError",
        "kstreams-error-node": b"in",
        "kstreams-error-topic": b"in",
        "kstreams-error-partition": b"1",
        "kstreams-error-offset": b"1",
    }
    assert output.dropped == {"dead-letter-DeserializationError": 3}


def test_dead_letters_keep_order_of_records_whatever_their_failure() -> None:
    def fail_on_two(_: Any, record: Record[Any, Any]) -> None:
        if record.value == 2:
            raise ValueError("two")

    rows = [("a", 2, 0), ("b", _BAD, 1), ("c", 2, 2), (_BAD, 1, 3), ("e", 1, 4), ("f", _BAD, 5)]
    output = OneTask(one_node(calls(fail_on_two), on_error=DeadLetter("dlq"))).run(queue_of(rows))
    assert output.dead_letters["dlq"].column("timestamp").to_pylist() == [0, 1, 2, 3, 5]


def test_unexpected_error_of_serde_is_handled_as_bad_record() -> None:
    source = Topic("in", TEXT, Careless())
    for policy, dropped in (("skip", {"skipped-DeserializationError": 1}), ("fail", None)):
        task = OneTask(one_node(calls(), source=source, on_error=policy))
        queue = queue_of([("a", b"1", 0), ("b", b"x", 0)])
        if dropped is None:
            with pytest.raises(DeserializationError, match="value: ValueError: invalid literal"):
                task.run(queue)
        else:
            output = task.run(queue)
            assert (values(output), output.dropped) == ([1], dropped)


def run_json(function: Any, rows: list[Any], on_error: str = "fail") -> TaskOutput:
    topic = Topic("in", TEXT, Json(), nulls="pass")
    topology = one_node(calls(function), source=topic, sink=topic, on_error=on_error)
    return OneTask(topology).run(queue_of(rows))


def test_value_that_is_not_used_is_never_decoded() -> None:
    def forget_value(context: Any, record: Record[Any, Any]) -> None:
        context.forward_to("count", Record(record.key, 1, record.timestamp))

    builder = TopologyBuilder("t")
    source = builder.add_source("in", Topic("in", TEXT, Json()))
    node = builder.add_processor("node", lambda: Calls(forget_value, forward=False), source)
    builder.add_sink("count", OUT, node)
    assert values(OneTask(builder.build()).run(queue_of([("a", b"{", 0)])), "count") == [1]


def test_error_of_undecodable_value_in_use_names_its_record() -> None:
    with pytest.raises(DeserializationError) as caught:
        run_json(lambda _, record: record.value, [("a", b"[1]", 3), ("b", b"{", 4)])
    where = caught.value.where
    assert (where.node, where.topic, where.offset, where.key) == ("node", "in", 1, "b")


def test_lazily_decoded_records_equal_decoded_records() -> None:
    seen: list[Record[Any, Any]] = []
    rows = [("a", b"[1]", 3), ("b", None, 4)]
    output = run_json(lambda _, record: seen.append(record), rows)
    assert seen == [Record("a", [1], 3), Record("b", None, 4)]
    assert seen[0].value is seen[0].value
    assert seen[0].with_key("c") == Record("c", [1], 3)
    assert records(output.sinks["out"], Topic("out", TEXT, Json())) == seen


def test_mutable_value_changed_after_forwarding_is_forwarded_unchanged() -> None:
    def forward_then_change(context: Any, record: Record[Any, Any]) -> None:
        context.forward(record)
        record.value.append(99)

    output = run_json(forward_then_change, [("a", b"[1]", 3)])
    topic = Topic("out", TEXT, Json())
    assert [r.value for r in records(output.sinks["out"], topic)] == [[1], [1, 99]]
