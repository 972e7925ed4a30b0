"""Concurrent calls of external systems, many records at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import ClassVar, Generic

from kstreams._types import V2, K, V
from kstreams.errors import ProcessingError
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.context import Origin, ProcessorContext
from kstreams.processors.event_loop import run_in
from kstreams.processors.retries import Retries, gave_up
from kstreams.processors.supplier import Supplier
from kstreams.record import Record

__all__ = ("call_async",)


def call_async(
    function: Callable[[Record[K, V]], Awaitable[V2]],
    *,
    at_once: int = 64,
    per_key: bool = False,
    retries: int = 3,
    backoff: timedelta = timedelta(milliseconds=100),
    max_backoff: timedelta = timedelta(seconds=10),
    retry_on: tuple[type[Exception], ...] = (OSError,),
    timeout: timedelta | None = None,
    loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
) -> Supplier[K, V, K, V2]:
    """Replace each value by the response of an external system, with many concurrent calls.

    The records of a micro-batch are buffered until its end, then all calls are made, and the
    results are forwarded in the order of the records. The calls run on the executor, with
    at-least-once semantics as in `call_external`. Coroutines run in one event loop per worker, in a
    separate thread. The loop continues across batches, so clients may be reused; coroutines cannot
    use stores.

    Args:
        function: A coroutine function that takes the whole record and returns the new value.
        at_once: The maximum number of concurrent calls, 1 or more.
        per_key: Whether calls for the same key run sequentially, in the order of the records.
        retries: The maximum number of retries of a failed call.
        backoff: The delay before the first retry; it doubles for each further retry.
        max_backoff: The maximum delay between two calls.
        retry_on: Exceptions that are retried; other exceptions fail at once. Name the exceptions of
            clients that do not derive them from `OSError`, such as httpx.
        timeout: The maximum time for all calls and delays of one record, after which a running call
            is cancelled. None: no limit.
        loop: Creates the event loop; a test passes `kstreams.testing.VirtualTimeLoop`.

    Raises:
        ValueError: `at_once` is below 1, or a delay is negative.
        ProcessingError: Raised by the processor if the last call fails. The source's `on_error`
            applies to the record; other records are forwarded.

    Source: ordered mode of Flink's `AsyncDataStream`, within a micro-batch.
    """
    if at_once < 1:
        raise ValueError(f"at_once is {at_once}, expected 1 or more")
    policy = Retries(retries, backoff, max_backoff, retry_on, timeout)
    calls = _Calls(function, policy, at_once, per_key)
    return partial(_CallAsync, calls, loop)


class _CallAsync(ClosureProcessor[K, V, K, V2]):
    calls_outside: ClassVar[bool] = True
    keeps_key: ClassVar[bool] = True

    def __init__(
        self, calls: _Calls[K, V, V2], loop: Callable[[], asyncio.AbstractEventLoop]
    ) -> None:
        self._calls = calls
        self._loop = loop

    def bind(self, context: ProcessorContext[K, V2]) -> Callable[[Record[K, V]], None]:
        forward, origin = context.forward, context.origin

        def release(held: Sequence[tuple[Record[K, V], Origin]]) -> None:
            records = [record for record, _ in held]
            answers = run_in(self._loop, lambda: self._calls.answers(records))
            for (record, source), answer in zip(held, answers, strict=True):
                if isinstance(answer, _Failure):
                    source.fail(answer.error)
                else:
                    forward(Record(record.key, answer, record.timestamp, record.headers))

        hold: Callable[[tuple[Record[K, V], Origin]], None] = context.hold(release)
        return lambda record: hold((record, origin()))


class _Failure:
    """A failed call, in place of a response."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class _Calls(Generic[K, V, V2]):
    """Makes the calls for a batch of records, with limited concurrency."""

    def __init__(
        self,
        function: Callable[[Record[K, V]], Awaitable[V2]],
        retries: Retries,
        at_once: int,
        per_key: bool,
    ) -> None:
        self._function = function
        self._retries = retries
        self._at_once = at_once
        self._per_key = per_key

    async def answers(self, records: Sequence[Record[K, V]]) -> list[V2 | _Failure]:
        """Return the response or the failure for each record, in order."""
        found: dict[int, V2 | _Failure] = {}
        waiting = iter(self._in_turn(records))

        async def work() -> None:
            for turn in waiting:  # shared: each worker gets the next free call
                for number in turn:
                    found[number] = await self._settled(records[number])

        takers = min(self._at_once, len(records))
        await asyncio.gather(*(work() for _ in range(takers)))
        return [found[number] for number in range(len(records))]

    def _in_turn(self, records: Sequence[Record[K, V]]) -> list[list[int]]:
        """Return groups of indexes of records; the calls of a group must run sequentially."""
        if not self._per_key:
            return [[number] for number in range(len(records))]
        turns: dict[object, list[int]] = {}
        for number, record in enumerate(records):
            turns.setdefault(_identity(record.key), []).append(number)
        return list(turns.values())

    async def _settled(self, record: Record[K, V]) -> V2 | _Failure:
        """Return the response for a record, or its failure, which does not affect other calls."""
        timeout = self._retries.timeout
        most_s = None if timeout is None else timeout.total_seconds()
        asking = asyncio.ensure_future(self._answer(record))
        try:
            await asyncio.wait((asking,), timeout=most_s)
            if timeout is not None and not asking.done():
                asking.cancel()
                await asyncio.wait((asking,))
                return _Failure(_late(timeout))
        finally:
            asking.cancel()  # in case this task is cancelled
        try:
            return asking.result()
        except asyncio.CancelledError:
            return _Failure(
                RuntimeError("the function of call_async cancelled itself (asyncio.CancelledError)")
            )
        except Exception as exc:  # noqa: BLE001  # user code
            return _Failure(exc)

    async def _answer(self, record: Record[K, V]) -> V2:
        calls = 1
        delays = self._retries.delays_ms()
        while True:
            try:
                return await self._function(record)
            except (KeyboardInterrupt, SystemExit) as exc:  # would end the loop of all
                raise RuntimeError(
                    f"the function of call_async raised an exception that ends the process: {exc!r}"
                ) from exc
            except self._retries.retry_on as exc:
                delay_ms = next(delays, None)
                if delay_ms is None:
                    raise gave_up(exc, calls, "no retries are left") from exc
            await asyncio.sleep(delay_ms / 1000)
            calls += 1


def _identity(key: object) -> object:
    """Return a hashable value that is equal for equal keys, also for unhashable keys."""
    try:
        hash(key)
    except TypeError:
        return repr(key)
    return key


def _late(timeout: timedelta) -> ProcessingError:
    return ProcessingError(
        f"the function of call_async did not return within timeout={timeout}",
        cause_type="asyncio.TimeoutError",
        hint="to continue without such records, set on_error='skip' or on_error=DeadLetter(topic) "
        "on the source.",
    )
