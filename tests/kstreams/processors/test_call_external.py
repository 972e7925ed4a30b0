"""`call_external` retries with growing delays, and fails after the last retry."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kstreams import KStreamsError, Record
from kstreams.clock import FakeClock
from kstreams.errors import ProcessingError
from kstreams.operators import call_external
from tests.support.apps.recording_context import opened, run

RECORD = Record("k", "v", 1)
MS = timedelta(milliseconds=1)


class FakeService:
    """A fake service that fails some times, then answers; sleeps and calls advance the clock."""

    def __init__(
        self, *failures: Exception, clock: FakeClock | None = None, call: timedelta = 0 * MS
    ) -> None:
        self.failures = list(failures)
        self.clock = clock or FakeClock()
        self.call = call
        self.calls = 0
        self.slept: list[float] = []

    def ask(self, record: Record[str, str]) -> str:
        self.calls += 1
        self.clock.advance(self.call)
        if self.failures:
            raise self.failures.pop(0)
        return record.value.upper()

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.advance(timedelta(seconds=seconds))


def test_successful_first_call_does_not_sleep() -> None:
    fake = FakeService()
    assert run(call_external(fake.ask, sleep=fake.sleep), [RECORD]) == [Record("k", "V", 1)]
    assert (fake.calls, fake.slept) == (1, [])


def test_failed_call_is_retried_after_doubling_delays() -> None:
    fake = FakeService(OSError(), TimeoutError(), ConnectionError())
    supplier = call_external(fake.ask, backoff=100 * MS, sleep=fake.sleep)
    assert run(supplier, [RECORD]) == [Record("k", "V", 1)]
    assert fake.slept == [0.1, 0.2, 0.4]


def test_retry_delay_is_at_most_the_maximum() -> None:
    fake = FakeService(*[OSError()] * 5)
    supplier = call_external(
        fake.ask, retries=5, backoff=100 * MS, max_backoff=300 * MS, sleep=fake.sleep
    )
    run(supplier, [RECORD])
    assert fake.slept == [0.1, 0.2, 0.3, 0.3, 0.3]


def test_retries_are_counted_for_each_record() -> None:
    fake = FakeService(OSError(), OSError())
    supplier = call_external(fake.ask, retries=2, backoff=100 * MS, sleep=fake.sleep)
    processor, _ = opened(supplier)
    processor.process(RECORD)
    fake.failures = [OSError()]
    processor.process(RECORD)
    assert fake.slept == [0.1, 0.2, 0.1]


def test_processor_fails_after_last_retry_and_forwards_nothing() -> None:
    cause = OSError("no route")
    fake = FakeService(OSError(), cause)
    processor, context = opened(call_external(fake.ask, retries=1, sleep=fake.sleep))
    with pytest.raises(ProcessingError, match="failed after 2 calls") as caught:
        processor.process(RECORD)
    error = caught.value
    assert "OSError: no route" in error.message
    assert error.__cause__ is cause
    assert error.cause_type == "builtins.OSError"
    assert "in ask" in error.cause_traceback
    assert "on_error" in error.hint
    assert (fake.calls, context.forwarded) == (2, [])


def test_call_external_with_zero_retries_makes_one_call() -> None:
    fake = FakeService(OSError())
    processor, _ = opened(call_external(fake.ask, retries=0, sleep=fake.sleep))
    with pytest.raises(ProcessingError, match="failed after 1 call, and no retries are left"):
        processor.process(RECORD)
    assert (fake.calls, fake.slept) == (1, [])


def test_error_outside_retry_on_is_raised_without_retry() -> None:
    fake = FakeService(KeyError("x"))
    processor, _ = opened(call_external(fake.ask, sleep=fake.sleep))
    with pytest.raises(KeyError):
        processor.process(RECORD)
    assert fake.calls == 1


def test_errors_in_retry_on_are_retried() -> None:
    fake = FakeService(KeyError("x"))
    supplier = call_external(fake.ask, retry_on=(KeyError,), sleep=fake.sleep)
    assert run(supplier, [RECORD]) == [Record("k", "V", 1)]


@pytest.mark.parametrize(
    ("timeout", "calls"),
    [(100 * MS, 1), (101 * MS, 2), (300 * MS, 2), (301 * MS, 3), (10_000 * MS, 4)],
)
def test_call_external_begins_no_retry_after_timeout(timeout: timedelta, calls: int) -> None:
    fake = FakeService(*[OSError()] * 9)
    processor, _ = opened(
        call_external(
            fake.ask, backoff=100 * MS, timeout=timeout, sleep=fake.sleep, clock=fake.clock
        )
    )
    with pytest.raises(ProcessingError):
        processor.process(RECORD)
    assert fake.calls == calls


def test_call_external_timeout_includes_duration_of_calls() -> None:
    fake = FakeService(*[OSError()] * 9, call=150 * MS)
    processor, _ = opened(
        call_external(
            fake.ask, backoff=100 * MS, timeout=300 * MS, sleep=fake.sleep, clock=fake.clock
        )
    )
    with pytest.raises(ProcessingError, match="after the timeout of 300 ms"):
        processor.process(RECORD)
    assert fake.calls == 2


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"retries": -1}, "retries is -1"),
        ({"backoff": -1 * MS}, "cannot be negative"),
        ({"max_backoff": -1 * MS}, "cannot be negative"),
        ({"timeout": 0 * MS}, "expected more than 0"),
    ],
    ids=["retries", "backoff", "max_backoff", "timeout"],
)
def test_invalid_options_fail_at_the_call(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call_external(upper, **options)


def upper(record: Record[str, str]) -> str:
    return record.value.upper()


def test_default_options_of_call_external_can_be_pickled() -> None:
    supplier: Callable[[], Any] = pickle.loads(pickle.dumps(call_external(upper)))
    assert run(supplier, [RECORD]) == [Record("k", "V", 1)]


def test_call_external_error_is_library_error_and_survives_pickling() -> None:
    fake = FakeService(OSError("gone"))
    processor, _ = opened(call_external(fake.ask, retries=0))
    with pytest.raises(KStreamsError) as caught:
        processor.process(RECORD)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(copy, ProcessingError)
    assert str(copy) == str(caught.value)
