"""Records are immutable values."""

from __future__ import annotations

import pickle

import pytest

from kstreams import Record
from kstreams.processors import RecordMetadata

RECORD = Record("k", 1, 5, (("h", b"1"),))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (RECORD.with_key(2), Record(2, 1, 5, (("h", b"1"),))),
        (RECORD.with_value("v"), Record("k", "v", 5, (("h", b"1"),))),
        (RECORD.with_timestamp(6), Record("k", 1, 6, (("h", b"1"),))),
        (RECORD.with_headers(()), Record("k", 1, 5)),
    ],
    ids=["key", "value", "timestamp", "headers"],
)
def test_with_changes_one_part_of_a_copy(
    changed: Record[object, object], expected: Record[object, object]
) -> None:
    assert changed == expected
    assert Record("k", 1, 5, (("h", b"1"),)) == RECORD


def test_records_compare_by_all_parts() -> None:
    assert Record("k", 1, 5, (("h", None),)) != RECORD
    assert Record("k", 1, 6, (("h", b"1"),)) != RECORD
    assert RECORD.__eq__("k") is NotImplemented
    assert len({RECORD, Record("k", 1, 5, (("h", b"1"),))}) == 1


def test_a_record_of_what_cannot_be_hashed_cannot_be_hashed() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Record("k", []))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_record_pickles(protocol: int) -> None:
    assert pickle.loads(pickle.dumps(RECORD, protocol)) == RECORD


def test_headers_are_shown_when_there_are_some() -> None:
    assert repr(Record("k", 1, 5)) == "Record('k', 1, timestamp=5)"
    assert repr(RECORD) == "Record('k', 1, timestamp=5, headers=(('h', b'1'),))"


def test_a_record_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError):
        Record("k", 1).extra = 1  # type: ignore[attr-defined]  # what is tested


def test_metadata_compares_by_value() -> None:
    assert RecordMetadata("t", 0, 1, 2) == RecordMetadata("t", 0, 1, 2, ())
