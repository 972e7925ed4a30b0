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
def test_with_methods_of_record_return_copy_with_one_changed_field(
    changed: Record[object, object], expected: Record[object, object]
) -> None:
    assert changed == expected
    assert Record("k", 1, 5, (("h", b"1"),)) == RECORD


def test_records_are_compared_by_all_fields() -> None:
    assert Record("k", 1, 5, (("h", None),)) != RECORD
    assert Record("k", 1, 6, (("h", b"1"),)) != RECORD
    assert RECORD.__eq__("k") is NotImplemented
    assert len({RECORD, Record("k", 1, 5, (("h", b"1"),))}) == 1


def test_record_of_unhashable_value_is_unhashable() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Record("k", []))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_record_can_be_pickled(protocol: int) -> None:
    assert pickle.loads(pickle.dumps(RECORD, protocol)) == RECORD


def test_record_repr_shows_headers_if_any() -> None:
    assert repr(Record("k", 1, 5)) == "Record('k', 1, timestamp=5)"
    assert repr(RECORD) == "Record('k', 1, timestamp=5, headers=(('h', b'1'),))"


def test_record_rejects_other_attributes() -> None:
    with pytest.raises(AttributeError):
        Record("k", 1).extra = 1  # type: ignore[attr-defined]  # the invalid attribute


def test_record_metadata_is_compared_by_value() -> None:
    assert RecordMetadata("t", 0, 1, 2) == RecordMetadata("t", 0, 1, 2, ())
