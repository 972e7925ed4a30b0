"""Watchers of an app: the callbacks for its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from typing_extensions import override

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
    """A running query. Its functions may be called from any thread.

    Attributes:
        sources: The sources of the query.
        doing: Returns the current activity of the query.
        committed: Returns the last committed batch; None before the first commit.
        positions: Returns the first uncommitted offset of each partition.
    """

    sources: tuple[SourceNode, ...]
    doing: Callable[[], Doing]
    committed: Callable[[], int | None]
    positions: Callable[[], Mapping[TopicPartition, int]]


@dataclass(frozen=True)
class OpenApp:
    """An opened app.

    Attributes:
        outline: The topology of the app.
        queries: The queries by name.
        connection: The connection to the topics.
        spark_ui: Address of the Spark UI; None if there is none.
    """

    outline: Outline
    queries: Mapping[str, OpenQuery]
    connection: Connection
    spark_ui: str | None = None


class Watcher(Protocol):
    """Callbacks for the events of an app, in the app's threads; they must not block or raise."""

    def begin(self) -> None:
        """Handle the start of the app, after it has locked its checkpoint."""
        ...

    def opened(self, app: OpenApp) -> None:
        """Handle the start of the app's queries."""
        ...

    def entered(self, state: AppState) -> None:
        """Handle a new state of the app."""
        ...

    def began(self, query: str, batch: int, planned_s: float) -> None:
        """Handle the start of a batch, in the thread that runs it.

        Args:
            query: Name of the query.
            batch: Number of the batch.
            planned_s: Duration of planning, s.
        """
        ...

    def committed(self, report: BatchReport) -> None:
        """Handle a batch that was committed and published."""
        ...

    def failed(self, error: KStreamsError) -> None:
        """Handle a failure of the app."""
        ...

    def close(self) -> None:
        """Handle the release of the checkpoint; a second call does nothing."""
        ...


class Watchers(tuple[Watcher, ...], Watcher):
    """A watcher that forwards each event to several watchers, or to none."""

    __slots__ = ()

    @override
    def begin(self) -> None:
        for each in self:
            each.begin()

    @override
    def opened(self, app: OpenApp) -> None:
        for each in self:
            each.opened(app)

    @override
    def entered(self, state: AppState) -> None:
        for each in self:
            each.entered(state)

    @override
    def began(self, query: str, batch: int, planned_s: float) -> None:
        for each in self:
            each.began(query, batch, planned_s)

    @override
    def committed(self, report: BatchReport) -> None:
        for each in self:
            each.committed(report)

    @override
    def failed(self, error: KStreamsError) -> None:
        for each in self:
            each.failed(error)

    @override
    def close(self) -> None:
        for each in self:
            each.close()
