"""Clean-ups that run while further batches run."""

from __future__ import annotations

import logging
import threading

import pytest

from kstreams.batch.sweep_thread import SweepThread
from kstreams.errors import StoreError


def _failing() -> None:
    raise StoreError("the disk cannot be written")


def _wait(event: threading.Event) -> None:
    event.wait(10)


def test_clean_up_runs_while_caller_continues() -> None:
    sweeps, may_end, ended = SweepThread("words"), threading.Event(), threading.Event()

    def sweep() -> None:
        may_end.wait(10)
        ended.set()

    sweeps.begin(sweep)
    sweeps.check()
    assert not ended.is_set()
    may_end.set()
    sweeps.finish(10)
    assert ended.is_set()


def test_second_clean_up_waits_for_first_one() -> None:
    sweeps, may_end, order = SweepThread("words"), threading.Event(), []

    def first() -> None:
        may_end.wait(10)
        order.append("first")

    sweeps.begin(first)
    threading.Timer(0.05, may_end.set).start()
    sweeps.begin(lambda: order.append("second"))
    sweeps.finish(10)
    assert order == ["first", "second"]


def test_error_of_clean_up_is_raised_once_by_check() -> None:
    sweeps = SweepThread("words")
    sweeps.begin(_failing)
    sweeps._join(10)
    with pytest.raises(StoreError, match="cannot be written"):
        sweeps.check()
    sweeps.check()


def test_error_of_clean_up_is_raised_by_next_begin_which_starts_none() -> None:
    sweeps, runs = SweepThread("words"), []
    sweeps.begin(_failing)
    with pytest.raises(StoreError, match="cannot be written"):
        sweeps.begin(lambda: runs.append(1))
    assert runs == []


def test_error_of_last_clean_up_is_logged_at_end_of_query(caplog: pytest.LogCaptureFixture) -> None:
    sweeps = SweepThread("words")
    sweeps.begin(_failing)
    with caplog.at_level(logging.WARNING):
        sweeps.finish(10)
    assert "query words: the clean-up failed: the disk cannot be written" in caplog.text


def test_clean_up_that_does_not_end_is_logged_at_end_of_query(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sweeps, may_end = SweepThread("words"), threading.Event()
    sweeps.begin(lambda: _wait(may_end))
    with caplog.at_level(logging.WARNING):
        sweeps.finish(0.01)
    may_end.set()
    assert "query words: the clean-up has not ended" in caplog.text
    sweeps.finish(10)
