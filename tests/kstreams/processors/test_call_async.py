"""`call_async` makes many calls concurrently, and forwards results in order of the records."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder
from kstreams.errors import ProcessingError
from kstreams.operators import call_async
from kstreams.testing import TopologyTestDriver, VirtualTimeLoop
from kstreams.topology import DeadLetter, OnError

IN = Topic("in", key=TEXT, value=INT64)
OUT = Topic("out", key=TEXT, value=INT64)
MS = timedelta(milliseconds=1)


class FakeService:
    """A fake service whose calls take as many seconds as the value."""

    def __init__(self, fails: dict[int, int] | None = None) -> None:
        self.under_way = self.most = 0
        self.order: list[tuple[str, int]] = []
        self.ended_s: list[float] = []
        self.fails = dict(fails or {})
        self.threads: set[str] = set()

    async def ask(self, record: Record[str, int]) -> int:
        self.threads.add(threading.current_thread().name)
        self.order.append((record.key, record.value))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(record.value)
        finally:
            self.under_way -= 1
            self.ended_s.append(asyncio.get_running_loop().time())
        if self.fails.get(record.value, 0):
            self.fails[record.value] -= 1
            raise OSError(f"no answer for {record.value}")
        return record.value * 10


def run(
    ask: Callable[[Record[str, int]], Awaitable[int]],
    *records: tuple[str, int],
    on_error: OnError = "fail",
    batches: int = 1,
    **options: Any,
) -> tuple[list[tuple[str, int]], dict[str, int], list[Any]]:
    """Run one or more batches in virtual time; return results, drops and dead letters."""
    builder = TopologyBuilder("asking", on_error=on_error)
    given: dict[str, Any] = {"loop": VirtualTimeLoop, **options}
    node = builder.add_processor("ask", call_async(ask, **given), builder.add_source("in", IN))
    builder.add_sink("out", OUT, node)
    with TopologyTestDriver(builder.build()) as driver:
        for _ in range(batches):
            driver.pipe_batch(IN, [Record(key, value, 7, (("h", b"1"),)) for key, value in records])
        found = driver.read(OUT)
        assert {(record.timestamp, record.headers) for record in found} <= {(7, (("h", b"1"),))}
        letters = driver.read_rows("letters")
        return [(record.key, record.value) for record in found], driver.dropped, letters


def test_call_async_forwards_results_in_order_of_records() -> None:
    fake = FakeService()
    found, _, _ = run(fake.ask, ("a", 30), ("b", 10), ("c", 20))
    assert found == [("a", 300), ("b", 100), ("c", 200)]
    assert (fake.most, fake.under_way) == (3, 0)


@pytest.mark.parametrize("at_once", [1, 4, 100])
def test_number_of_concurrent_calls_is_limited(at_once: int) -> None:
    fake = FakeService()
    found, _, _ = run(fake.ask, *(("k", 5) for _ in range(12)), at_once=at_once)
    assert len(found) == 12
    assert fake.most == min(at_once, 12)
    took = fake.ended_s[-1] - fake.ended_s[0] + 5
    assert took == pytest.approx(5 * -(-12 // at_once))


def test_calls_of_one_key_are_sequential_with_per_key() -> None:
    fake = FakeService()
    records = [("a", 30), ("b", 1), ("a", 2), ("a", 3), ("b", 4)]
    found, _, _ = run(fake.ask, *records, per_key=True)
    assert found == [(key, value * 10) for key, value in records]
    assert [value for key, value in fake.order if key == "a"] == [30, 2, 3]
    assert fake.order.index(("a", 2)) > fake.order.index(("b", 4))
    assert fake.most == 2


def test_failed_calls_are_retried_after_growing_delays() -> None:
    fake = FakeService(fails={5: 2})
    found, _, _ = run(fake.ask, ("a", 5), ("b", 6), backoff=1000 * MS)
    assert found == [("a", 50), ("b", 60)]
    assert fake.order.count(("a", 5)) == 3
    assert fake.ended_s[-1] - fake.ended_s[0] == pytest.approx(5 + 5 + 1 + 2)


def test_failed_record_is_handled_by_policy_of_its_source() -> None:
    found, dropped, _ = run(
        FakeService(fails={5: 9}).ask, ("a", 5), ("b", 6), ("c", 7), on_error="skip", retries=1
    )
    assert found == [("b", 60), ("c", 70)]
    assert dropped == {"skipped-ProcessingError": 1}
    found, dropped, letters = run(
        FakeService(fails={6: 9}).ask, ("a", 5), ("b", 6), on_error=DeadLetter("letters"), retries=0
    )
    assert found == [("a", 50)]
    assert [letter.key for letter in letters] == [b"b"]
    with pytest.raises(ProcessingError, match="failed after 2 calls") as caught:
        run(FakeService(fails={5: 9}).ask, ("a", 5), retries=1)
    assert caught.value.where.node in ("ask", "in")


def test_asynchronous_call_beyond_timeout_is_cancelled() -> None:
    fake = FakeService()
    found, dropped, _ = run(
        fake.ask, ("a", 5), ("b", 600), ("c", 6), on_error="skip", timeout=10_000 * MS
    )
    assert found == [("a", 50), ("c", 60)]
    assert dropped == {"skipped-ProcessingError": 1}
    assert fake.under_way == 0


@pytest.mark.parametrize(
    ("raised", "why"),
    [
        (asyncio.CancelledError(), "cancelled itself"),
        (SystemExit(3), "ends the process"),
        (asyncio.TimeoutError("the client's own"), "the client's own"),
    ],
    ids=["cancelled", "exit", "timeout"],
)
def test_failing_call_does_not_affect_other_calls(raised: BaseException, why: str) -> None:
    async def ask(record: Record[str, int]) -> int:
        if record.key == "bad":
            raise raised
        return record.value

    options: dict[str, Any] = {"retries": 0, "timeout": 1_000 * MS, "retry_on": (ConnectionError,)}
    records = [("a", 1), ("bad", 2), ("c", 3)]
    found, _, letters = run(ask, *records, on_error=DeadLetter("letters"), **options)
    assert found == [("a", 1), ("c", 3)]
    ((_, message),) = [h for h in letters[0].headers if h[0] == "kstreams-error-message"]
    assert why in message.decode()


def test_call_async_keeps_event_loop_and_its_thread_between_batches() -> None:
    fake = FakeService()
    run(fake.ask, ("a", 1), batches=3)
    assert fake.threads == {"kstreams-async"}
    assert len(fake.ended_s) == 3
    assert fake.ended_s == sorted(fake.ended_s)


def test_call_async_works_if_caller_runs_in_event_loop() -> None:
    async def caller() -> list[tuple[str, int]]:
        return run(FakeService().ask, ("a", 1))[0]

    assert asyncio.run(caller()) == [("a", 10)]


def test_call_async_runs_calls_in_real_event_loop() -> None:
    async def ask(record: Record[str, int]) -> int:
        await asyncio.sleep(0.001)
        return record.value + 1

    assert run(ask, ("a", 1), ("b", 2), loop=asyncio.new_event_loop)[0] == [("a", 2), ("b", 3)]


def test_invalid_arguments_fail_at_the_call_and_supplier_can_be_pickled() -> None:
    with pytest.raises(ValueError, match="at_once is 0"):
        call_async(FakeService().ask, at_once=0)
    with pytest.raises(ValueError, match="timeout"):
        call_async(FakeService().ask, timeout=timedelta(0))
    pickle.loads(pickle.dumps(call_async(_echo)))


async def _echo(record: Record[str, int]) -> int:
    return record.value
