"""A record with unreadable headers is handled by the error policy of its source."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kstreams import DeadLetter
from kstreams.errors import DeserializationError
from kstreams.processors import Headers
from kstreams.raw_batch import HEADERS_TYPE, headers_array
from kstreams.task.records.columns import rows_of
from kstreams.task.records.queues import Queue
from tests.support.apps.one_task import Calls, OneTask, one_node, queue_of, values

NAME = b"\xff\xfe"


Pairs = list[tuple["str | None", "bytes | None"]]


def queue_with(*headers: Pairs | None) -> Queue:
    """Return a queue of records 0, 1, ... with headers; `BAD` headers have no readable name."""
    queue = queue_of([(f"k{n}", n, n) for n in range(len(headers))])
    column = pa.array(headers, HEADERS_TYPE)
    return queue.with_table(queue.table.set_column(4, "headers", column))


BAD: Pairs = [(None, NAME)]
GOOD: Pairs = [("name", b"x"), ("name", None), ("", b"")]


def run(on_error: Any, queue: Queue) -> Any:
    return OneTask(one_node(Calls, on_error=on_error)).run(queue)


def test_unreadable_header_fails_batch_with_place_name_and_hint() -> None:
    with pytest.raises(DeserializationError, match=r"name b'\\xff\\xfe' is not UTF-8") as caught:
        run("fail", queue_with(None, BAD))
    where = caught.value.where
    assert (where.topic, where.partition, where.offset, where.key) == ("in", 0, 1, b"k1")
    assert "on_error='skip'" in caught.value.hint


def test_record_with_unreadable_header_is_skipped_and_counted() -> None:
    output = run("skip", queue_with(GOOD, BAD, None, BAD, GOOD))
    assert values(output) == [0, 2, 4]
    assert output.dropped == {"skipped-DeserializationError": 2}


def test_record_with_unreadable_header_becomes_dead_letter_with_key_and_value() -> None:
    output = run(DeadLetter("dlq"), queue_with(None, BAD))
    (letter,) = rows_of(output.dead_letters["dlq"])
    assert (letter.key, letter.value, letter.timestamp) == (b"k1", (1).to_bytes(8, "big"), 1)
    assert all(name.startswith("kstreams-error-") for name, _ in letter.headers)
    assert dict(letter.headers)["kstreams-error-offset"] == b"1"


def test_unreadable_header_has_priority_over_dropped_null() -> None:
    queue = queue_with(BAD)
    table = queue.table.set_column(3, "value", pa.array([None], pa.binary()))
    assert run("skip", queue.with_table(table)).dropped == {"skipped-DeserializationError": 1}


def test_empty_and_duplicate_header_names_are_forwarded() -> None:
    headers: Headers = (("", None), ("a", b"1"), ("a", b"2"))
    output = OneTask(one_node(Calls)).run(queue_of([("k", 1, 1)], headers=[headers]))
    assert output.sinks["out"].column("headers").combine_chunks().equals(headers_array([headers]))
