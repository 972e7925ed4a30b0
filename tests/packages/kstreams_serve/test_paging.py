"""A page of rows ends after a time limit, even without a matching row; the next page continues."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams_serve.paging import OpenRows, OpenScans, take_page
from kstreams_serve.problems import Problem
from kstreams_serve.settings import Limits

FAST = Limits()
AT_ONCE = replace(Limits(), read_seconds=-1.0, slice_seconds=-1.0)


def open_rows(rows: list[tuple[Any, ...] | None]) -> OpenRows:
    return OpenRows(iter(rows), lambda key: str(key).encode())


def made(row: tuple[Any, ...]) -> tuple[object, int]:
    return row[0], len(str(row[0]))


@given(
    st.lists(st.none() | st.tuples(st.integers(0, 9)), max_size=30),
    st.integers(1, 7),
    st.sampled_from([FAST, AT_ONCE, replace(Limits(), answer_bytes=3)]),
    st.booleans(),
)
def test_pages_together_have_each_row_once(
    rows: list[tuple[int] | None], count: int, limits: Limits, lost: bool
) -> None:
    """Also if the page before has left nothing but its position."""

    async def read() -> list[object]:
        seen: list[object] = []
        here = open_rows(rows)
        while True:
            skip = here.looked
            if lost:
                here = open_rows(rows)
            page = await take_page(here, skip, count, limits, made)
            seen += page.rows
            assert len(page.rows) <= count
            if page.ended:
                return seen
            assert here.looked > skip

    assert asyncio.run(read()) == [row[0] for row in rows if row is not None]


def test_event_loop_is_not_blocked_by_scan_without_matches() -> None:
    others = 0

    async def run() -> None:
        nonlocal others

        async def other() -> None:
            nonlocal others
            while True:
                others += 1
                await asyncio.sleep(0)

        task = asyncio.ensure_future(other())
        limits = replace(Limits(), slice_seconds=-1.0)
        page = await take_page(open_rows([None] * 6400), 0, 10, limits, made)
        task.cancel()
        assert page.ended

    asyncio.run(run())
    assert others >= 100


def test_page_position_not_reached_within_time_limit_is_an_error() -> None:
    def endless() -> Iterator[None]:
        while True:
            yield None

    limits = replace(Limits(), wait_seconds=0.0)
    rows = OpenRows(endless(), lambda _: b"")
    with pytest.raises(Problem) as caught:
        asyncio.run(take_page(rows, 10**9, 1, limits, made))
    assert caught.value.status == 410


def test_number_of_open_scans_is_limited_and_scan_continues_only_from_its_position() -> None:
    async def run() -> None:
        scans = OpenScans()
        for number in range(20):
            scans.put(str(number), open_rows([(1,)]))
        assert scans.take("3", 0) is None  # the oldest were closed
        assert scans.take("19", 1) is None
        assert scans.take("19", 0) is not None
        assert scans.take("19", 0) is None

    asyncio.run(run())
