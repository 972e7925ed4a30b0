"""Compare `call_async` with `call_external` for calls of a slow service."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from benchmarks.measured import Times
from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder
from kstreams.operators import call_async, call_external
from kstreams.testing import TopologyTestDriver

__all__ = ("calls",)

IN = Topic("in", key=TEXT, value=INT64)
_TAKES_S = 0.02


async def ask(record: Record[str, int]) -> int:
    """Return an answer after a fixed delay."""
    await asyncio.sleep(_TAKES_S)
    return record.value


def ask_and_wait(record: Record[str, int]) -> int:
    """Return an answer after the same delay, but block the thread."""
    time.sleep(_TAKES_S)
    return record.value


def calls(count: int, at_once: int) -> dict[str, float]:
    """Return calls per second, 20 ms each: one by one, concurrently, and the ratio of both."""
    one = count // 20 / _seconds(lambda: call_external(ask_and_wait), count // 20)
    many = count / _seconds(lambda: call_async(ask, at_once=at_once), count)
    return {"one by one": one, f"{at_once} at once": many, "times": many / one}


def _seconds(supplier: Callable[[], Any], count: int) -> float:
    builder = TopologyBuilder("asking")
    asked = builder.add_processor("ask", supplier(), builder.add_source("in", IN))
    builder.add_sink("out", Topic("out", key=TEXT, value=INT64), asked)
    times = Times()
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(IN, "first", 0)  # starts the event loop
        with times:
            driver.pipe_batch(IN, [Record("k", number) for number in range(count)])
    return min(times.wall)
