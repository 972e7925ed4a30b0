"""Temporary errors are retried, and no error shows a secret."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kstreams.errors import SinkError, SinkUnavailableError
from kstreams_rows.retrying import Faults, hidden, retried

SOON = timedelta(milliseconds=250)
FAULTS = Faults(
    "the place",
    (OSError, ValueError),
    lambda exc: isinstance(exc, OSError),
    lambda exc: type(exc).__name__,
    lambda exc: hidden(str(exc), ("s3cr/t",)),
    "look at it.",
)


class _Work:
    def __init__(self, *raised: BaseException) -> None:
        self.raised = list(raised)
        self.forgotten = 0

    def __call__(self) -> str:
        if self.raised:
            raise self.raised.pop(0)
        return "done"

    def forget(self) -> None:
        self.forgotten += 1


def test_temporary_error_is_retried_with_a_new_connection() -> None:
    work = _Work(OSError("lost"), OSError("lost again"))
    assert retried(work, FAULTS, SOON * 10, work.forget) == "done"
    assert work.forgotten == 2


def test_temporary_error_becomes_unavailable_after_the_time_limit() -> None:
    work = _Work(*[OSError("no s3cr/t, no s3cr%2Ft")] * 20)
    with pytest.raises(
        SinkUnavailableError, match=r"does not answer: no \*\*\*, no \*\*\*"
    ) as told:
        retried(work, FAULTS, SOON, work.forget)
    assert told.value.code == "OSError"
    assert told.value.__cause__ is None
    assert work.raised


def test_refusal_is_raised_without_retry() -> None:
    work = _Work(ValueError("no such table"))
    with pytest.raises(SinkError, match="the place refuses: no such table") as told:
        retried(work, FAULTS, SOON, work.forget)
    assert not isinstance(told.value, SinkUnavailableError)
    assert told.value.hint == "look at it."


def test_error_of_any_kind_closes_connection() -> None:
    work = _Work(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        retried(work, FAULTS, SOON, work.forget)
    assert work.forgotten == 1
