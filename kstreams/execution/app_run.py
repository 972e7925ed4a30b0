"""One run of an app: its lifecycle states and its queries."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

from kstreams.batch.report import AppState
from kstreams.checkpoint.pause import PauseWatch
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.clock import Clock, steady_ms
from kstreams.errors import ExecutionError, KStreamsError
from kstreams.execution.app_parts import AppParts
from kstreams.execution.query_loop import QueryLoop, typed
from kstreams.execution.start import start

__all__ = ("AppRun", "shortened")

_LOG = logging.getLogger(__name__)
_TICK_SECONDS = 0.02
_PATIENCE = timedelta(seconds=60)
_MARGIN = timedelta(seconds=5)
"""The additional time for another thread that closes the app, after its batch has ended."""
_PROGRESS_MS = 5_000


class AppRun:
    """Starts the queries of an app, plans their batches, and stops them.

    A failure of one query fails the app: all queries are stopped, the checkpoint is released, and
    the typed error is raised.

    Args:
        settings: The settings of the app.
        parts: The shared objects of the app.

    Attributes:
        state: The state of the app.
        failure: The error that made the app fail; None without a failure.
        stop: An event; set it to stop the app after the current batches.
        listeners: The functions that are called with the old and the new state at each change.
        paused: Reads the note in the checkpoint which pauses the app.
    """

    def __init__(self, settings: AppSettings, parts: AppParts) -> None:
        self._settings = settings
        self._parts = parts
        self._queries: tuple[QueryLoop, ...] = ()
        self._background: threading.Thread | None = None
        self._tables_filled = False
        self._lock = threading.RLock()  # held by the thread that runs, opens or closes the app
        self._holder: int | None = None  # the identity of that thread
        self._patience = _PATIENCE
        self.paused = PauseWatch(settings.checkpoint, settings.app_id)
        self.state = AppState.CREATED
        self.failure: KStreamsError | None = None
        self.stop = threading.Event()
        self.listeners: list[Callable[[AppState, AppState], None]] = []

    def open(self) -> None:
        """Start the queries; on a running app, do nothing.

        Raises:
            ExecutionError: The app has run before, or a callback of the app calls this method.
            KStreamsError: The app cannot start.
        """
        with self._locked("open"):
            if self.state is AppState.RUNNING:
                return
            if self.state is not AppState.CREATED:
                raise ExecutionError(
                    f"app {self._settings.app_id!r} is {self.state.value} and cannot "
                    "be opened again",
                    hint="create a new App for another run.",
                )
            self._enter(AppState.STARTING)
            with self._failing():
                self._queries = self._started()
            self._enter(AppState.RUNNING)

    def _started(self) -> tuple[QueryLoop, ...]:
        """Start the engine and the queries; return the loops of the queries."""
        self._parts.engine.begin()
        return start(self._settings, self._parts)

    def run(self, timeout: timedelta | None = None, *, close_windows: bool = False) -> None:
        """Run until the app is stopped, the timeout has passed, or all sources have ended.

        Args:
            timeout: The maximum time to run.
            close_windows: Whether to close open windows when all sources have ended.

        Raises:
            ExecutionError: A callback of the app calls this method.
            KStreamsError: A query failed.
        """
        deadline = _Deadline(self._parts.clock, timeout)
        with self._locked("run"), self._failing():
            self._fill_tables(deadline, must_end=False)
            while not self.stop.is_set() and not deadline.passed():
                if not self._is_held():
                    for query in self._queries:
                        query.resume()
                    if self._is_finished():
                        self._to_end(_Deadline(self._parts.clock, None), close_windows)
                        break
                self._wait()
            for query in self._queries:
                query.pause()

    def _is_finished(self) -> bool:
        """Return whether the sources of all queries have ended.

        Queries that only fill global tables do not count, unless there are no others.
        """
        fed = [query for query in self._queries if not query.fills_tables]
        return all(query.is_finished() for query in fed or self._queries)

    def _is_held(self) -> bool:
        """Return whether the app is paused; if it is, also pause the planning of all queries.

        Raises:
            KStreamsError: A query has failed.
        """
        if self.paused.present() is None:
            return False
        for query in self._queries:
            query.pause()
            query.check()
        return True

    def _refuse_pause(self) -> None:
        """Raise an `ExecutionError` if the app is paused: a run to the end would wait forever."""
        found = self.paused.present()
        if found is not None:
            raise ExecutionError(
                f"app {self._settings.app_id!r} is paused, so a run to the end cannot finish: "
                f"{found.shown}",
                hint=f"resume the app first: `kstreams resume {self._settings.app_id}`.",
            )

    def run_in_background(self) -> None:
        """Call `run` in a new thread, which also closes the app if a callback has called `close`.

        An error of the run is logged and stored in `failure`.
        """

        def run() -> None:
            try:
                self.run()
            except KStreamsError as exc:
                _LOG.error("app %s failed", self._settings.app_id, exc_info=shortened(exc))
            self.finish_if_asked()

        name = f"app-{self._settings.app_id}"
        self._background = threading.Thread(target=run, name=name, daemon=True)
        self._background.start()

    def drain(self, timeout: timedelta | None, *, close_windows: bool) -> None:
        """Process all records that the source topics have now, and the records derived from them.

        Args:
            timeout: The maximum time; None: no limit.
            close_windows: Whether to close the open windows afterwards, query by query.

        Raises:
            KStreamsError: A query failed.
            ExecutionError: The timeout has passed, the app is not open, or runs in the background.
        """
        deadline = _Deadline(self._parts.clock, timeout)
        background = self._background
        if background is not None and background.is_alive() and not self._is_in_callback():
            raise ExecutionError(
                f"drain() was called while app {self._settings.app_id!r} runs in the background",
                hint="call open() instead of start() before drain().",
            )
        with self._locked("drain"):
            if self.state is not AppState.RUNNING:
                raise ExecutionError(
                    f"drain() needs a running app, but app {self._settings.app_id!r} is "
                    f"{self.state.value}",
                    hint="call open() before drain(), or call run(until='end') instead.",
                )
            self._drain(deadline, close_windows=close_windows)

    def _drain(self, deadline: _Deadline, *, close_windows: bool) -> None:
        with self._failing():
            self._fill_tables(deadline, must_end=True)
            self._to_end(deadline, close_windows)

    def _fill_tables(self, deadline: _Deadline, *, must_end: bool) -> None:
        """Fill the global tables up to the current end of their topics, before other queries run.

        Args:
            deadline: The time until which the tables must be filled.
            must_end: For a run to the end: raise an error if the time has passed or the app is
                paused. If False, return when the time has passed, and wait while the app is paused.
        """
        fillers = [query for query in self._queries if query.fills_tables]
        if self._tables_filled or not fillers:
            return
        clock, wall = self._parts.clock, self._parts.clock.now_ms()
        ends = [(query, query.end()) for query in fillers]
        total = sum(query.left(end) for query, end in ends)
        said = steady_ms(clock)
        _LOG.info("app %s: %d records of global tables to read", self._settings.app_id, total)
        while not all(query.reached(end, wall) for query, end in ends):
            if self.stop.is_set() or (deadline.passed() and not must_end):
                return
            deadline.check("the global tables were not filled")
            if must_end:
                self._refuse_pause()
            elif self._is_held():
                self._wait()
                continue
            for query in self._queries:
                query.check()
            for query, end in ends:
                query.resume(until=end)
            self._wait()
            if steady_ms(clock) - said >= _PROGRESS_MS:
                said = steady_ms(clock)
                left = sum(query.left(end) for query, end in ends)
                name = self._settings.app_id
                _LOG.info("app %s: %d of %d records of global tables left", name, left, total)
        for query in fillers:
            query.pause()
        self._tables_filled = True
        _LOG.info("app %s: the global tables are filled", self._settings.app_id)

    def _to_end(self, deadline: _Deadline, close_windows: bool) -> None:
        self._run_to_end(deadline)
        for query in self._queries if close_windows else ():
            query.close_windows()
            self._run_to_end(deadline)

    def _run_to_end(self, deadline: _Deadline) -> None:
        wall = self._parts.clock.now_ms()
        quiet = False
        self._refuse_pause()
        while not quiet:
            quiet = True
            for query in self._queries:
                end = query.end()
                while not query.reached(end, wall):
                    if self.stop.is_set():
                        return
                    deadline.check(f"query {query.name!r} has not reached the end")
                    self._refuse_pause()
                    query.resume(until=end)
                    self._wait()
                    quiet = False
                query.pause()

    def _wait(self) -> None:
        """Wait until a query has committed a batch or has failed, for at most `_TICK_SECONDS`."""
        changed = self._parts.changed
        changed.wait(_TICK_SECONDS)
        changed.clear()

    def close(self, timeout: timedelta) -> None:
        """Stop the app after its current batches.

        In a callback of the app, the call only requests the stop and returns: the thread that runs
        the app closes it after the current batch.

        Args:
            timeout: The maximum time to wait for the current batches.

        Raises:
            ExecutionError: Another thread still uses the app after the timeout.
            KStreamsError: The app failed in the thread of `run_in_background`.
        """
        self._patience = timeout  # the thread that runs the app may close it first
        self.stop.set()
        self._parts.changed.set()
        if self._is_in_callback():
            for query in self._queries:
                query.begin_stop()
            return
        background, self._background = self._background, None
        self._finish(timeout)
        if background is not None:
            background.join(timeout.total_seconds())
            if self.failure is not None:
                raise self.failure

    def finish_if_asked(self) -> None:
        """Close the app if `close` was called in a callback; in a callback, do nothing."""
        if self.stop.is_set() and not self._is_in_callback():
            self._finish(self._patience)

    def _finish(self, timeout: timedelta) -> None:
        """Stop the queries and release the checkpoint, unless the app does not run."""
        with self._locked("close", timeout=timeout + _MARGIN):
            if self.state in (AppState.STOPPED, AppState.CREATED, AppState.FAILED):
                return
            self._enter(AppState.STOPPING)
            self._release(timeout, AppState.STOPPED)
            self._enter(AppState.STOPPED)

    def _is_in_callback(self) -> bool:
        """Return whether this thread runs a callback of the app, such as `on_batch`."""
        this = threading.get_ident()
        return this == self._holder or this in self._parts.callers

    @contextmanager
    def _locked(self, call: str, timeout: timedelta | None = None) -> Iterator[None]:
        """Hold the lock with which one thread at a time opens, runs or closes the app.

        Args:
            call: The name of the called method, for errors.
            timeout: Maximum time to wait for the lock; None: no limit.

        Raises:
            ExecutionError: A callback of the app calls the method, or the timeout has passed.
        """
        if self._is_in_callback():
            raise ExecutionError(
                f"a callback of app {self._settings.app_id!r} called {call}() of the same app",
                hint=f"call {call}() outside of callbacks; a callback can stop the app with "
                "close().",
            )
        if not self._lock.acquire(timeout=-1 if timeout is None else timeout.total_seconds()):
            raise ExecutionError(
                f"app {self._settings.app_id!r} has not stopped within {timeout}",
                hint="a batch or a callback such as on_batch takes longer: call close() with "
                "a longer timeout=.",
            )
        self._holder = threading.get_ident()
        try:
            yield
        finally:
            self._holder = None
            self._lock.release()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Make the app fail if the block raises an exception; raise it as a `KStreamsError`."""
        try:
            yield
        except Exception as exc:  # the JVM's end, a full disk, ...
            error = typed(exc)
            self._fail(error)
            if error is exc:
                raise
            raise error from error.__cause__

    def _fail(self, error: KStreamsError) -> None:
        self.failure = error.at(app=self._settings.app_id)
        self._parts.watchers.failed(self.failure)
        self._release(timedelta(seconds=10), AppState.FAILED)
        if self.state is not AppState.FAILED:
            self._enter(AppState.FAILED)

    def _release(self, timeout: timedelta, ends_as: AppState) -> None:
        """Stop the queries and release the checkpoint, even if a step fails."""
        with ExitStack() as steps:
            steps.callback(self._parts.lock.release)
            steps.callback(self._parts.watchers.close)
            steps.callback(self._parts.watchers.entered, ends_as)
            steps.callback(self._parts.engine.close)
            for query in reversed(self._queries):
                steps.callback(query.stop, timeout)
        self._queries = ()
        self._parts.callers.clear()

    def _enter(self, state: AppState) -> None:
        before, self.state = self.state, state
        self._parts.watchers.entered(state)
        for listener in self.listeners:
            listener(before, state)


def shortened(error: KStreamsError) -> KStreamsError:
    """Return an error without its traceback, which is logged at level DEBUG."""
    _LOG.debug("the app failed here:", exc_info=error)
    return error.with_traceback(None)


class _Deadline:
    def __init__(self, clock: Clock, timeout: timedelta | None) -> None:
        self._clock = clock
        self._end = None if timeout is None else steady_ms(clock) + timeout.total_seconds() * 1000
        self._timeout = timeout

    def passed(self) -> bool:
        return self._end is not None and steady_ms(self._clock) > self._end

    def check(self, what: str) -> None:
        if self.passed():
            raise ExecutionError(f"{what} within {self._timeout}")
