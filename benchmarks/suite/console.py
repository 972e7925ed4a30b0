"""Shows in a terminal how a run of the suite gets on; plain lines where there is none."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

import rich.console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ("Console",)


class Console:
    """A `Watcher` with two bars: all steps, and the records of the present one."""

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
        """Note how many runs there are."""
        self._bars.reset(self._all, total=runs)

    def step(self, title: str, total: int) -> Callable[[int], None]:
        """Begin a run, or what comes before."""
        self._bars.reset(self._one, total=total or 1, description=title, visible=True)
        return lambda done: self._bars.update(self._one, completed=done)

    def done(self) -> None:
        """Note that a run is over."""
        self._bars.advance(self._all)

    def say(self, text: str) -> None:
        """Print a line above the bars."""
        self._bars.console.print(text, markup=False, highlight=False)
