"""Calls of external systems, with retries."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import ClassVar

from kstreams._types import V2, K, V
from kstreams.clock import Clock, SystemClock, steady_ms, to_ms
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.context import ProcessorContext
from kstreams.processors.retries import Retries, gave_up
from kstreams.processors.supplier import Supplier
from kstreams.record import Record

__all__ = ("call_external",)


def call_external(
    function: Callable[[Record[K, V]], V2],
    *,
    retries: int = 3,
    backoff: timedelta = timedelta(milliseconds=100),
    max_backoff: timedelta = timedelta(seconds=10),
    retry_on: tuple[type[Exception], ...] = (OSError,),
    timeout: timedelta | None = None,
    sleep: Callable[[float], object] = time.sleep,
    clock: Clock | None = None,
) -> Supplier[K, V, K, V2]:
    """Replace each value by the response of an external system, with retries.

    Calls run on the executor, one record after another, with at-least-once semantics: a retried
    batch repeats its calls, so pass the external system an id by which it can recognize a repeated
    request. Key, timestamp and headers do not change.

    Args:
        function: Calls the external system: takes the whole record and returns the new value.
        retries: The maximum number of retries of a failed call.
        backoff: The delay before the first retry; it doubles for each further retry.
        max_backoff: The maximum delay between two calls.
        retry_on: Exceptions that are retried; other exceptions are raised unchanged. `OSError`
            covers the connection errors and timeouts of most clients.
        timeout: The maximum time for all calls and delays of one record; None: no limit. A running
            call is not interrupted: configure a timeout in the client, too.
        sleep: Waits for a number of seconds; tests may pass another function.
        clock: The clock that measures `timeout`; by default the machine's clock.

    Raises:
        ProcessingError: Raised by the processor if the last call fails, with the exception as its
            cause. The source's `on_error` applies to the record.
    """
    policy = Retries(retries, backoff, max_backoff, retry_on, timeout)
    return partial(_CallExternal, function, policy, sleep, clock or SystemClock())


class _CallExternal(ClosureProcessor[K, V, K, V2]):
    calls_outside: ClassVar[bool] = True
    keeps_key: ClassVar[bool] = True

    def __init__(
        self,
        function: Callable[[Record[K, V]], V2],
        retries: Retries,
        sleep: Callable[[float], object],
        clock: Clock,
    ) -> None:
        self._function = function
        self._retries = retries
        self._sleep = sleep
        self._clock = clock

    def bind(self, context: ProcessorContext[K, V2]) -> Callable[[Record[K, V]], None]:
        forward, function, retries = context.forward, self._function, self._retries
        retry_on, again = retries.retry_on, self._again
        now_ms = _no_time if retries.timeout is None else partial(steady_ms, self._clock)

        def process(record: Record[K, V]) -> None:
            started_ms = now_ms()
            try:
                value = function(record)
            except retry_on as exc:
                value = again(record, exc, started_ms)
            forward(Record(record.key, value, record.timestamp, record.headers))

        return process

    def _again(self, record: Record[K, V], failure: Exception, started_ms: int) -> V2:
        calls = 1
        for delay_ms in self._retries.delays_ms():
            self._check_time(failure, calls, started_ms, delay_ms)
            self._sleep(delay_ms / 1000)
            calls += 1
            try:
                return self._function(record)
            except self._retries.retry_on as exc:
                failure = exc
        raise gave_up(failure, calls, "no retries are left") from failure

    def _check_time(self, failure: Exception, calls: int, started_ms: int, delay_ms: int) -> None:
        if self._retries.timeout is None:
            return
        limit_ms = to_ms(self._retries.timeout)
        if steady_ms(self._clock) - started_ms + delay_ms >= limit_ms:
            reason = f"the next call would begin after the timeout of {limit_ms} ms"
            raise gave_up(failure, calls, reason) from failure


def _no_time() -> int:
    return 0
