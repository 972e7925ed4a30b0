"""Call a service with many questions: in batches, concurrently, with retries."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, TypeVar

from kstreams.errors import ProcessingError
from kstreams.joins.lookups.service import A, Q, Service
from kstreams.quoting import kind_of, text_of, traceback_of

__all__ = ("Answers", "ask_all")

T = TypeVar("T")
"""The result type of a coroutine."""

_LONGEST = timedelta(seconds=10)


@dataclass(frozen=True)
class Answers(Generic[Q, A]):
    """The answers of a service.

    Attributes:
        found: Answers by question; a question without an answer is missing.
        failed: Errors by question.
    """

    found: dict[Q, A] = field(default_factory=dict)
    failed: dict[Q, ProcessingError] = field(default_factory=dict)


def ask_all(service: Service[Q, A], questions: Sequence[Q]) -> Answers[Q, A]:
    """Ask a service distinct questions, and wait for the answers."""
    answers: Answers[Q, A] = Answers()
    if questions:
        _waited(_ask_all(service, questions, answers))
    return answers


async def _ask_all(service: Service[Q, A], questions: Sequence[Q], answers: Answers[Q, A]) -> None:
    free = asyncio.Semaphore(service.at_once)

    async def ask(some: Sequence[Q]) -> None:
        async with free:
            try:
                found = await _answers(service, some)
            except Exception as exc:  # noqa: BLE001  # user code; it is the records' failure
                error = _gave_up(service, some, exc)
                answers.failed.update(dict.fromkeys(some, error))
            else:
                answers.found.update((q, found[q]) for q in some if q in found)

    starts = range(0, len(questions), service.batch)
    await asyncio.gather(*(ask(questions[start : start + service.batch]) for start in starts))


async def _answers(service: Service[Q, A], questions: Sequence[Q]) -> Mapping[Q, A]:
    """Call the service, with retries."""
    delay, left = service.backoff, service.retries
    retry_on: tuple[type[Exception], ...] = (*service.retry_on, asyncio.TimeoutError)
    while True:
        try:
            found: object = await asyncio.wait_for(
                service.ask(questions), service.timeout.total_seconds()
            )
        except retry_on:
            if not left:
                raise
        else:
            if isinstance(found, Mapping):
                return found
            raise TypeError(
                f"the ask() function of a service returned {type(found).__name__}, expected a "
                f"mapping from questions to answers"
            )
        left -= 1
        await asyncio.sleep(delay.total_seconds())
        delay = min(delay * 2, _LONGEST)


def _gave_up(
    service: Service[Any, Any], questions: Sequence[Any], exc: Exception
) -> ProcessingError:
    timed_out = isinstance(exc, asyncio.TimeoutError)
    why = f"no answer within {service.timeout.total_seconds():g} s" if timed_out else text_of(exc)
    calls = service.retries + 1 if isinstance(exc, (*service.retry_on, asyncio.TimeoutError)) else 1
    error = ProcessingError(
        f"a service failed for {len(questions)} question{'s' * (len(questions) > 1)} after "
        f"{calls} call{'s' * (calls > 1)}: {kind_of(exc)}: {why}",
        cause_type=f"{type(exc).__module__}.{type(exc).__qualname__}",
        cause_traceback=traceback_of(exc),
        hint="to continue without such records, set on_error='skip' or on_error=DeadLetter(topic) "
        "on the source.",
    )
    error.__cause__ = exc
    return error


class _Loop:
    """An event loop in a daemon thread."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="kstreams-look-up", daemon=True).start()


_loop: _Loop | None = None


def _waited(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the process's event loop, and wait for its result."""
    global _loop  # noqa: PLW0603  # one a process; a fork has none of its threads
    if _loop is None or _loop.pid != os.getpid():
        _loop = _Loop()
    future = asyncio.run_coroutine_threadsafe(work, _loop.loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
