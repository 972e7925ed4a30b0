"""Who watches an app: what the app tells them, and when."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from kstreams.batch.progress import Doing
from kstreams.batch.report import AppState, BatchReport
from kstreams.connection import Connection
from kstreams.errors import KStreamsError
from kstreams.graph.nodes import SourceNode
from kstreams.ids import TopicPartition
from kstreams.telemetry.outline import Outline

__all__ = ("OpenApp", "OpenQuery", "Watcher", "Watchers")


@dataclass(frozen=True)
class OpenQuery:
    """A query that runs. Any thread may call its functions.

    Attributes:
        sources: What it reads.
        doing: Returns what it is doing.
        committed: Returns the last batch that was committed; None before any.
        positions: Returns the first offset of each partition that is not committed.
    """

    sources: tuple[SourceNode, ...]
    doing: Callable[[], Doing]
    committed: Callable[[], int | None]
    positions: Callable[[], Mapping[TopicPartition, int]]


@dataclass(frozen=True)
class OpenApp:
    """An app that was opened.

    Attributes:
        outline: Its topology.
        queries: By name.
        connection: Where its topics are.
        spark_ui: Where Spark shows what it does; None: nowhere.
    """

    outline: Outline
    queries: Mapping[str, OpenQuery]
    connection: Connection
    spark_ui: str | None = None


class Watcher(Protocol):
    """Is told what an app does, in the app's threads: it holds nobody up, and raises nothing."""

    def begin(self) -> None:
        """Hear that the app has its checkpoint to itself, and starts."""
        ...

    def opened(self, app: OpenApp) -> None:
        """Hear that its queries run."""
        ...

    def entered(self, state: AppState) -> None:
        """Hear into which state it has come."""
        ...

    def began(self, query: str, batch: int, planned_s: float) -> None:
        """Hear of a batch that begins, in the thread that runs it; planning it took some time.

        Args:
            query: Whose batch.
            batch: Its number.
            planned_s: How long it took to plan it, seconds.
        """
        ...

    def committed(self, report: BatchReport) -> None:
        """Hear of a batch that is committed and published."""
        ...

    def failed(self, error: KStreamsError) -> None:
        """Hear by what it has failed."""
        ...

    def close(self) -> None:
        """Hear that it lets go of its checkpoint; a second call does nothing."""
        ...


class Watchers(tuple[Watcher, ...]):
    """Several watchers, or none: a watcher, too."""

    __slots__ = ()

    def begin(self) -> None:
        """Tell all of them; see `Watcher`."""
        for each in self:
            each.begin()

    def opened(self, app: OpenApp) -> None:
        """Tell all of them; see `Watcher`."""
        for each in self:
            each.opened(app)

    def entered(self, state: AppState) -> None:
        """Tell all of them; see `Watcher`."""
        for each in self:
            each.entered(state)

    def began(self, query: str, batch: int, planned_s: float) -> None:
        """Tell all of them; see `Watcher`."""
        for each in self:
            each.began(query, batch, planned_s)

    def committed(self, report: BatchReport) -> None:
        """Tell all of them; see `Watcher`."""
        for each in self:
            each.committed(report)

    def failed(self, error: KStreamsError) -> None:
        """Tell all of them; see `Watcher`."""
        for each in self:
            each.failed(error)

    def close(self) -> None:
        """Tell all of them; see `Watcher`."""
        for each in self:
            each.close()
