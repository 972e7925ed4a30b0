"""The building blocks `map_`, `filter_` and so on: their suppliers and lifecycle."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark import cloudpickle

from kstreams import Processor, Record, filter_, flat_map, map_, map_values, rekey
from kstreams.operators import (
    call_external,
    filter_not,
    flat_map_values,
    peek,
    transform,
    transform_values,
)
from kstreams.processors import Supplier
from tests.support.apps.recording_context import opened, run

HEADERS = (("a", b"1"), ("a", None))
RECORD: Record[str, str] = Record("k", "x y", 7, HEADERS)


def upper(value: str) -> str:
    return value.upper()


def swap(key: str, value: str) -> tuple[str, str]:
    return value, key


def split(key: str, value: str) -> Iterator[tuple[str, str]]:
    for word in value.split():
        yield word, key


def is_long(key: str, value: str) -> bool:
    return len(value) > len(key)


def stamped(record: Record[str, str]) -> Iterator[Record[int, str]]:
    yield Record(record.timestamp, record.key)
    yield record.with_key(0).with_timestamp(1)


def parts(record: Record[str, str]) -> list[int]:
    return [record.timestamp, len(record.headers)]


def ask(record: Record[str, str]) -> int:
    return len(record.value)


BLOCKS: dict[str, tuple[Supplier[Any, Any, Any, Any], list[Record[Any, Any]], bool]] = {
    "map": (map_(swap), [Record("x y", "k", 7, HEADERS)], False),
    "map_values": (map_values(upper), [Record("k", "X Y", 7, HEADERS)], True),
    "flat_map": (
        flat_map(split),
        [Record("x", "k", 7, HEADERS), Record("y", "k", 7, HEADERS)],
        False,
    ),
    "flat_map_values": (
        flat_map_values(str.split),
        [Record("k", "x", 7, HEADERS), Record("k", "y", 7, HEADERS)],
        True,
    ),
    "filter": (filter_(is_long), [RECORD], True),
    "filter_not": (filter_not(is_long), [], True),
    "peek": (peek(swap), [RECORD], True),
    "rekey": (rekey(swap), [Record(("x y", "k"), "x y", 7, HEADERS)], False),
    "transform": (transform(stamped), [Record(7, "k"), Record(0, "x y", 1, HEADERS)], False),
    "transform_values": (
        transform_values(parts),
        [Record("k", 7, 7, HEADERS), Record("k", 2, 7, HEADERS)],
        True,
    ),
    "call_external": (call_external(ask), [Record("k", 3, 7, HEADERS)], True),
}
cases = pytest.mark.parametrize("name", BLOCKS)


@cases
def test_operator_forwards_results_of_its_function(name: str) -> None:
    supplier, expected, _ = BLOCKS[name]
    assert run(supplier, [RECORD]) == expected
    assert run(supplier, [RECORD, RECORD]) == expected * 2


@cases
def test_operator_declares_whether_it_keeps_key(name: str) -> None:
    supplier, _, keeps_key = BLOCKS[name]
    assert supplier().keeps_key is keeps_key


@cases
def test_supplier_makes_new_processor_at_each_call(name: str) -> None:
    supplier, _, _ = BLOCKS[name]
    assert supplier() is not supplier()


@cases
def test_supplier_of_module_level_function_can_be_pickled(name: str) -> None:
    supplier, expected, _ = BLOCKS[name]
    assert run(pickle.loads(pickle.dumps(supplier)), [RECORD]) == expected


@cases
def test_operator_cannot_be_used_before_init(name: str) -> None:
    supplier, _, _ = BLOCKS[name]
    processor = supplier()
    assert isinstance(processor, Processor)
    with pytest.raises(RuntimeError, match="before init"):
        processor.process(RECORD)


@cases
def test_second_init_of_operator_binds_new_context(name: str) -> None:
    supplier, expected, _ = BLOCKS[name]
    processor, first = opened(supplier)
    _, second = opened(supplier)
    processor.init(second)
    processor.process(RECORD)
    assert first.forwarded == []
    assert [record for _, record in second.forwarded] == expected


def test_supplier_of_closure_can_be_pickled_by_cloudpickle() -> None:
    suffix = "!"
    supplier: Supplier[str, str, str, str] = map_values(lambda value: f"{value}{suffix}")
    data = cloudpickle.dumps(supplier)  # type: ignore[no-untyped-call]
    assert run(pickle.loads(data), [RECORD]) == [RECORD.with_value("x y!")]


def test_filter_and_peek_forward_the_same_record_object() -> None:
    for supplier in (filter_(is_long), peek(swap)):
        (forwarded,) = run(supplier, [RECORD])
        assert forwarded is RECORD


def test_peek_calls_function_before_forwarding() -> None:
    seen: list[str] = []
    processor, context = opened(peek(lambda k, v: seen.append(f"{k}={len(context.forwarded)}")))
    processor.process(RECORD)
    processor.process(RECORD)
    assert seen == ["k=0", "k=1"]


def test_results_before_failure_of_generator_are_forwarded() -> None:
    def failing(value: str) -> Iterator[str]:
        yield value
        raise ValueError("half way")

    processor, context = opened(flat_map_values(failing))
    with pytest.raises(ValueError, match="half way"):
        processor.process(RECORD)
    assert len(context.forwarded) == 1


def test_filtered_records_are_not_counted_as_dropped() -> None:
    processor, context = opened(filter_(lambda k, v: False))
    processor.process(RECORD)
    assert (context.forwarded, context.dropped) == ([], [])
