"""Shows the progress of a run of the suite in a terminal; prints plain lines without a terminal."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

import rich.console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ("Console",)


class Console:
    """A `Watcher` with two bars: all steps, and the records of the current step."""

    def __init__(self) -> None:
        self._bars = Progress(
            TextColumn("{task.description:44}"),
            BarColumn(),
            TextColumn("{task.completed:>11,.0f} of {task.total:,.0f}"),
            TimeElapsedColumn(),
            console=rich.console.Console(stderr=True),
        )
        self._all = self._bars.add_task("all", total=1, completed=0)
        self._one = self._bars.add_task("", total=1, visible=False)

    def __enter__(self) -> Console:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def begin(self, runs: int) -> None:
        """Set the number of runs."""
        self._bars.reset(self._all, total=runs)

    def step(self, title: str, total: int) -> Callable[[int], None]:
        """Begin a run or its preparation."""
        self._bars.reset(self._one, total=total or 1, description=title, visible=True)
        return lambda done: self._bars.update(self._one, completed=done)

    def done(self) -> None:
        """Count a completed run."""
        self._bars.advance(self._all)

    def say(self, text: str) -> None:
        """Print a line above the bars."""
        self._bars.console.print(text, markup=False, highlight=False)
