"""The progress of a running app: a live table on a terminal, log lines elsewhere."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.logging import RichHandler
from rich.spinner import Spinner
from rich.table import Table

from kstreams_cli.consoles import counted, new_table
from kstreams_cli.json_log import JsonFormatter

if TYPE_CHECKING:
    from kstreams.batch.report import BatchReport

__all__ = ("Progress", "logging_to", "shown_live")

_WINDOW_SECONDS = 5.0
_LOG_SECONDS = 5.0
_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_NUMBERS = ("batches", "records", "records/s", "backlog")


@dataclass
class _Query:
    """The counts of one query since the start of the run."""

    batches: int = 0
    records: int = 0
    backlog: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    recent: deque[tuple[float, int]] = field(default_factory=deque)
    is_logged: bool = False
    logged_at: float = float("-inf")

    def rate(self, now: float) -> float:
        """Return the records per second of the last seconds, at the time `now`."""
        while self.recent and now - self.recent[0][0] > _WINDOW_SECONDS:
            self.recent.popleft()
        if not self.recent:
            return 0.0
        span = max(now - self.recent[0][0], 1.0)
        return sum(records for _, records in self.recent) / span


class Progress:
    """Counts the records of batch reports; thread-safe.

    Args:
        queries: The names of the queries, in their order.
        logs: Whether to log one line per query every few seconds.
    """

    def __init__(self, queries: Iterable[str], *, logs: bool) -> None:
        self._queries = {name: _Query() for name in queries}
        self._logs = logs
        self._mutex = threading.Lock()
        self._began = self._running_since = time.monotonic()
        self.status = "starting Spark"

    def begin(self) -> None:
        """Start the clock for rates and durations: the queries run now, after Spark's start."""
        self._running_since = time.monotonic()

    def note(self, report: BatchReport) -> None:
        """Add the counts of a committed batch."""
        now = time.monotonic()
        with self._mutex:
            query = self._queries.setdefault(report.query, _Query())
            query.batches += 1
            query.records += report.source_records
            query.backlog = report.backlog
            query.dropped.update(report.dropped)
            query.recent.append((now, report.source_records))
            query.is_logged = self._logs and now - query.logged_at >= _LOG_SECONDS
            if query.is_logged:
                query.logged_at = now
                _LOG.info("%s", self._line(report.query, query, query.rate(now)))

    def seconds(self) -> float:
        """Return the seconds since `begin`."""
        return time.monotonic() - self._began

    def table(self, *, final: bool = False) -> Table:
        """Return a table with one row per query.

        Args:
            final: Whether the run has ended, so that rates are those of the whole run.
        """
        now = time.monotonic()
        seconds = self._running_seconds()
        table = new_table("query", *_NUMBERS, "dropped", numbers=_NUMBERS)
        with self._mutex:
            for name, query in self._queries.items():
                rate = query.records / seconds if final else query.rate(now)
                table.add_row(
                    f"[cyan]{name}[/]",
                    f"{query.batches:,}",
                    f"{query.records:,}",
                    f"{rate:,.0f}",
                    f"{query.backlog:,}",
                    f"[yellow]{_reasons(query.dropped)}[/]" if query.dropped else "[dim]none[/]",
                )
        return table

    def lines(self) -> Iterator[str]:
        """Yield the summary as text: one line per query whose counts were not logged."""
        seconds = self._running_seconds()
        with self._mutex:
            for name, query in self._queries.items():
                if query.is_logged:
                    continue
                yield self._line(name, query, query.records / seconds)

    def _running_seconds(self) -> float:
        return max(time.monotonic() - self._running_since, 0.001)

    def _line(self, name: str, query: _Query, rate: float) -> str:
        return (
            f"{name}: {counted(query.batches, 'batch')}, {counted(query.records, 'record')} "
            f"({rate:,.0f}/s), "
            f"backlog {query.backlog:,}, dropped {_reasons(query.dropped) or 'none'}"
        )


def _reasons(dropped: Counter[str]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(dropped.items()))


@contextmanager
def shown_live(progress: Progress, console: Console, title: str) -> Iterator[None]:
    """Show a table of the progress at the bottom of the terminal; nothing without a terminal."""
    if not console.is_terminal:
        yield
        return
    spinner = Spinner("dots", style="green")

    def render() -> RenderableType:
        spinner.update(text=f"[bold]{title}[/] {progress.status}, {progress.seconds():,.0f} s")
        return Group(spinner, progress.table())

    with Live(
        get_renderable=render,
        console=console,
        refresh_per_second=8,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    ):
        yield


@contextmanager
def logging_to(console: Console, json_of: str | None = None) -> Iterator[None]:
    """Show the library's log lines, above the live table on a terminal.

    Args:
        console: The console.
        json_of: The app id for JSON lines; None for plain lines.
    """
    handler: logging.Handler
    if json_of is not None:
        handler = logging.StreamHandler(console.file)
        handler.setFormatter(JsonFormatter(json_of))
    elif console.is_terminal:
        handler = RichHandler(console=console, show_path=False, markup=False)
    else:
        handler = logging.StreamHandler(console.file)
        handler.setFormatter(
            logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
        )
    logger = logging.getLogger("kstreams")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
