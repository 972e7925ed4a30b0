"""Dead letters are adapted to the limits of their topic and keep as much as possible."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import DeadLetter, Record
from kstreams.errors import ProcessingError
from kstreams.processors import Headers
from kstreams.task.failures.dead_letters import fitted, letter_of_record, letter_of_result
from kstreams.task.records.columns import rows_of
from kstreams.topic_limits import NO_LIMITS, TopicLimits
from tests.support.apps.one_task import Calls, OneTask, one_node, queue_of

WALL_MS = 50_000
ERROR = ProcessingError("it failed")


def letter(
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    timestamp: int = 7,
    headers: Headers = (),
) -> Record[bytes | None, bytes | None]:
    queue = queue_of([(key, value, timestamp)], headers=[headers], offsets=[9])
    return letter_of_record(queue, 0, ERROR, WALL_MS)


def test_dead_letter_within_limits_is_unchanged() -> None:
    limits = TopicLimits(least_time=1, after_ms=5, max_bytes=10_000, needs_key=True)
    assert fitted(letter(), limits, WALL_MS) == letter()


@pytest.mark.parametrize("timestamp", [0, -5, 2**60, 99_000])
def test_rejected_time_is_replaced_by_clock_and_kept_in_header(timestamp: int) -> None:
    found = fitted(letter(timestamp=timestamp), TopicLimits(least_time=1, after_ms=5), WALL_MS)
    assert found.timestamp == WALL_MS
    assert dict(found.headers)["kstreams-error-timestamp"] == b"%d" % timestamp
    assert (found.key, found.value) == (b"k", b"v")


def test_value_too_large_is_left_out_and_named_in_header() -> None:
    found = fitted(letter(value=b"x" * 9_000), TopicLimits(max_bytes=5_000), WALL_MS)
    error_headers = dict(found.headers)
    assert (found.key, found.value) == (b"k", None)
    assert error_headers["kstreams-error-left-out"] == b"value"
    place = [error_headers[f"kstreams-error-{part}"] for part in ("topic", "partition", "offset")]
    assert place == [b"in", b"0", b"9"]


def test_headers_and_key_too_large_are_left_out_after_value() -> None:
    limits, big = TopicLimits(max_bytes=5_000), b"x" * 9_000
    found = fitted(letter(headers=(("own", big),)), limits, WALL_MS)
    assert dict(found.headers)["kstreams-error-left-out"] == b"value, headers"
    assert "own" not in dict(found.headers)
    found = fitted(letter(key=big), limits, WALL_MS)
    assert dict(found.headers)["kstreams-error-left-out"] == b"value, headers, key"
    assert found.key == b"in/0/9"


def test_dead_letter_without_key_has_topic_partition_and_offset_as_key_if_required() -> None:
    assert fitted(letter(key=None), TopicLimits(needs_key=True), WALL_MS).key == b"in/0/9"


def test_header_name_with_nul_is_escaped() -> None:
    found = fitted(letter(headers=(("a\0b", b"1"),)), TopicLimits(plain_names=True), WALL_MS)
    assert found.headers[0] == ("a\\0b", b"1")


data = st.none() | st.binary(max_size=6_000)
own = st.sampled_from(["kstreams-error-offset", "kstreams-error-message", "a\0b", ""])
headers = st.lists(st.tuples(own | st.text(max_size=3), data), max_size=4).map(tuple)


@given(data, data, st.integers(-(2**63), 2**63 - 1), headers, st.booleans())
def test_any_dead_letter_is_fitted_to_limits(
    key: bytes | None, value: bytes | None, timestamp: int, headers: Headers, of_result: bool
) -> None:
    limits = TopicLimits(1, 1_000, 1_000, 20_000, needs_key=True, plain_names=True)
    if of_result:
        record = Record(key, value, timestamp, headers)
        made = letter_of_result(record, ERROR, node="sink", topic="out")
    else:
        made = letter(key, value, timestamp, headers)
    limits.check(fitted(made, limits, WALL_MS), WALL_MS)


def test_task_fits_dead_letter_to_limits_of_its_topic() -> None:
    def fail(*_: object) -> None:
        raise ValueError("x" * 2_000)

    def limits(topic: str) -> TopicLimits:
        return TopicLimits(max_bytes=5_000) if topic == "dlq" else NO_LIMITS

    task = OneTask(one_node(lambda: Calls(fail), on_error=DeadLetter("dlq")), limits=limits)
    output = task.run(queue_of([("k" * 5_000, 1, 1)]))
    (found,) = rows_of(output.dead_letters["dlq"])
    assert found.key == b"in/0/0"
