"""An app closed in its own callbacks, in other threads, twice, and by exceptions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kstreams import App
from kstreams.app import AppState
from kstreams.errors import ExecutionError
from tests.support.spark.bench import WORDS, Bench, counting

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

RECORDS = [(f"k{n}", "x") for n in range(40)]


class Closed:
    """An app with at most one record in a batch, and a callback that acts on the app."""

    def __init__(self, bench: Bench, act: Callable[[App], object], **options: Any) -> None:
        bench.create(WORDS)
        bench.emit(WORDS, RECORDS)
        self.batches: list[int] = []
        self.records = 0
        self.raised: list[BaseException] = []
        self._act = act
        self.app = bench.app(
            counting(),
            on_batch=self._note,
            max_records_per_batch=1,
            trigger=timedelta(0),
            **options,
        )

    def _note(self, report: Any) -> None:
        self.batches.append(report.batch)
        self.records += report.source_records
        try:
            self._act(self.app)
        except BaseException as exc:
            self.raised.append(exc)


def _close(app: App) -> None:
    app.close()


def test_close_in_on_batch_stops_run_after_batch(bench: Bench) -> None:
    closed = Closed(bench, _close)
    closed.app.run(until="end", timeout=timedelta(seconds=60))
    assert (closed.batches, closed.raised) == ([0], [])
    assert closed.app.state is AppState.STOPPED
    bench.run(counting())  # the checkpoint is unlocked, and nothing is lost
    assert sum(report.source_records for report in bench.reports) == len(RECORDS) - closed.records


def test_close_in_on_batch_closes_app_running_in_background(bench: Bench) -> None:
    closed = Closed(bench, _close)
    stopped = threading.Event()
    closed.app.on_state_change(lambda _, new: stopped.set() if new is AppState.STOPPED else None)
    closed.app.start()
    assert stopped.wait(60)
    assert closed.batches == [0]
    closed.app.close()
    closed.app.close()


def test_close_in_on_batch_closes_draining_app(bench: Bench) -> None:
    closed = Closed(bench, _close)
    with closed.app as app:
        app.open()
        app.drain()
        assert app.state is AppState.STOPPED
    assert closed.batches == [0]


@pytest.mark.parametrize("state", list(AppState)[1:5])
def test_close_in_listener_stops_app(bench: Bench, state: AppState) -> None:
    closed = Closed(bench, lambda app: None)
    states: list[AppState] = []

    def listen(_: AppState, new: AppState) -> None:
        states.append(new)
        if new is state:
            closed.app.close()

    closed.app.on_state_change(listen)
    closed.app.run(until="end" if state in {AppState.STOPPING, AppState.STOPPED} else None)
    assert states == list(AppState)[1:5]


@pytest.mark.parametrize("call", ["run", "drain", "open"])
def test_callback_that_runs_the_app_is_rejected_with_hint(bench: Bench, call: str) -> None:
    def act(app: App) -> None:
        getattr(app, call)()

    closed = Closed(bench, act)
    closed.app.run(until="end", timeout=timedelta(seconds=60))
    assert isinstance(closed.raised[0], ExecutionError)
    assert "a callback of app 'counting' called" in closed.raised[0].message
    assert "close()" in closed.raised[0].hint


def test_close_in_another_thread_ends_run_and_returns_when_app_is_closed(bench: Bench) -> None:
    seen: list[AppState] = []

    def close() -> None:
        closed.app.close()
        seen.append(closed.app.state)

    thread = threading.Thread(target=close)
    closed = Closed(bench, lambda _: thread.start() if not thread.ident else None)
    closed.app.run()
    thread.join(60)
    assert seen == [AppState.STOPPED]
    assert len(closed.batches) < len(RECORDS)


def test_concurrent_close_calls_close_app_once(bench: Bench) -> None:
    closed = Closed(bench, lambda app: None)
    states: list[AppState] = []
    closed.app.on_state_change(lambda _, new: states.append(new))
    closed.app.start()
    threads = [threading.Thread(target=closed.app.close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert states == list(AppState)[1:5]


def test_exception_in_with_block_closes_app_and_is_raised(bench: Bench) -> None:
    closed = Closed(bench, lambda app: None)

    def fail() -> None:
        with closed.app as app:
            app.start()
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert closed.app.state is AppState.STOPPED


def test_callback_that_waits_for_closing_thread_delays_stop_until_timeout(
    bench: Bench,
) -> None:
    refused: list[str] = []

    def close() -> None:
        try:
            closed.app.close(timedelta(seconds=1))
        except ExecutionError as exc:
            refused.append(exc.message)

    def act(_: App) -> None:
        thread = threading.Thread(target=close)
        thread.start()
        thread.join(30)
        assert not thread.is_alive()

    closed = Closed(bench, act)
    closed.app.run(timeout=timedelta(seconds=60))
    assert closed.app.state is AppState.STOPPED
    assert (closed.batches, closed.raised) == ([0], [])


def test_close_with_timeout_returns_while_callback_takes_longer(bench: Bench) -> None:
    ended = threading.Event()
    closer: list[threading.Thread] = []

    def act(app: App) -> None:
        thread = threading.Thread(target=app.close, args=(timedelta(seconds=1),))
        closer.append(thread)
        thread.start()
        ended.wait(60)

    closed = Closed(bench, act)
    closed.app.open()
    closed.app._run.run()  # like run(), which calls close() too
    try:
        closer[0].join(20)
        assert not closer[0].is_alive()
        assert closed.app.state is AppState.STOPPED
    finally:
        ended.set()
