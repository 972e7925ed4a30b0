"""`validate` separates invalid records, with a reason."""

from __future__ import annotations

import pickle

import pytest

from kstreams import Record
from kstreams.processors.validate import Validate
from kstreams.topology import Invalid
from tests.support.apps.recording_context import opened


def check(key: str, value: int) -> str | None:
    if value == 0:
        raise ValueError("zero")
    if value == 1:
        raise KeyError("one")
    return None if value > 0 else "negative"


def routed(value: int) -> tuple[str, object]:
    supplier = Validate.supplier("n", check)
    processor, context = opened(pickle.loads(pickle.dumps(supplier)))
    processor.process(Record("k", value, 5))
    ((child, record),) = context.forwarded
    assert (record.key, record.timestamp) == ("k", 5)
    return child, record.value


def test_validate_forwards_valid_record_unchanged() -> None:
    assert routed(7) == ("n.valid", 7)


def test_validate_forwards_invalid_record_with_reason() -> None:
    assert routed(-1) == ("n.invalid", Invalid(-1, "negative"))


def test_validate_uses_text_of_value_error_as_reason() -> None:
    assert routed(0) == ("n.invalid", Invalid(0, "ValueError: zero"))


def test_validate_raises_exception_of_function_other_than_value_error() -> None:
    with pytest.raises(KeyError):
        routed(1)
