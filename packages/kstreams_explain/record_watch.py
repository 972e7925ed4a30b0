"""Record the path of one record during a replay of the tasks of its batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kstreams.errors import KStreamsError
from kstreams.graph.nodes import RepartitionNode
from kstreams.ids import TaskId
from kstreams.record import Record
from kstreams.state.stores.spec import StoreSpec
from kstreams.task.contexts import TaskServices
from kstreams.task.records.queues import Queue
from kstreams.task.records.rows import RecordCall
from kstreams_explain.key_rows import KeyRows, Rows
from kstreams_explain.origins import UNDONE, Edges, EdgeWatch, Row

__all__ = ("Followed", "Place", "RecordWatch", "TracedStep")

Place = tuple[str, int, int]
"""Topic, partition and offset."""


@dataclass(frozen=True)
class TracedStep:
    """One step on the path of a record, or of a record that was derived from it.

    Attributes:
        task: The task that ran.
        depth: Number of nodes of the task above this one; 0 for the first node.
        node: The node.
        what: `entered` a processor, `wrote` to a store, `left` by a sink, a repartition edge or a
            loop, or `dropped`.
        record: The record, decoded; None if it could not be decoded.
        reason: The reason for a drop; empty for other steps.
        store: The store of a write; None for other steps.
        before: The rows of the record's key before the step.
        after: The rows of the record's key after the step.
        defined_at: The file and line that define the node; empty if not known.
    """

    task: TaskId
    depth: int
    node: str
    what: Literal["entered", "wrote", "left", "dropped"]
    record: Record[Any, Any] | None
    reason: str = ""
    store: KeyRows | None = None
    before: Rows = ()
    after: Rows = ()
    defined_at: str = ""


@dataclass
class Followed:
    """The traced record and the records derived from it, in all tasks of a batch.

    Attributes:
        place: Topic, partition and offset of the record.
        edges: For each record that an edge brought to a task, the input row of the sending task
            from which it derives.
        definitions: The file and line that define each node, by node.
        steps: The steps so far, in order.
    """

    place: Place
    edges: Edges
    definitions: Mapping[str, str] = field(default_factory=dict)
    steps: list[TracedStep] = field(default_factory=list)

    def is_of(self, row: Row | None) -> bool:
        """Return whether a row is the traced record, or derives from it through edges."""
        while row is not None:
            stream, number = row
            if not isinstance(stream.entry, RepartitionNode):
                found = stream.metadata(number)
                return (found.topic, found.partition, found.offset) == self.place
            row = self.edges.above(row)
        return False


class RecordWatch(EdgeWatch):
    """Records the path of a record in one task.

    Args:
        task: The task.
        followed: The record.
        stores: Names of the stores that each node writes to.
    """

    def __init__(
        self, task: TaskId, followed: Followed, stores: Mapping[str, Sequence[StoreSpec[Any]]]
    ) -> None:
        super().__init__(task, followed.edges)
        self._followed = followed
        self._stores = stores
        self._services: TaskServices | None = None
        self._under_way: list[tuple[str, Record[Any, Any]]] = []
        self._known: tuple[Row | None, bool] = (None, False)
        self._why = ""

    def begin(self, services: TaskServices) -> None:
        """Keep the services of the task, and its cursor, which knows the current input row."""
        super().begin(services)
        self._services = services

    def _is_followed(self) -> bool:
        """Return whether the current record is the traced record, or derives from it."""
        row = self.present()
        if row is None:
            return False
        if row != self._known[0]:
            self._known = row, self._followed.is_of(row)
        return self._known[1]

    def bind(self, node: str, task: TaskId, process: RecordCall) -> RecordCall:
        """Return a callback that records the step of a record at this node."""
        under_way, specs = self._under_way, self._stores.get(node, ())

        def watched(record: Record[Any, Any]) -> None:
            if not self._is_followed():
                process(record)
                return
            self._note(node, "entered", record)
            stores = [KeyRows(spec, record.key) for spec in specs]
            before = [self._rows(store) for store in stores]
            under_way.append((node, record))
            try:
                process(record)
            finally:
                under_way.pop()
            for store, rows in zip(stores, before, strict=True):
                found = self._rows(store)
                if found != rows:
                    self._note(node, "wrote", record, store=store, before=rows, after=found)

        return watched

    def _rows(self, store: KeyRows) -> Rows:
        """Return the rows of the record's key in a live store; empty for keys of another type."""
        assert self._services is not None  # noqa: S101  # begun before anything is bound
        try:
            return store.of(self._services.store(store.spec))
        except Exception:  # noqa: BLE001  # the record's key is not a key of the store
            return ()

    def bind_output(self, node: str, take: RecordCall, mark: Callable[[], int]) -> RecordCall:
        """Return a callback that records a step for each traced record that leaves the task.

        See `Watch.bind_output` for the arguments.
        """
        noted = super().bind_output(node, take, mark)

        def watched(record: Record[Any, Any]) -> None:
            if self._is_followed():
                self._note(node, "left", record)
            noted(record)

        return watched

    def failed(self, queue: Queue, row: int, error: KStreamsError) -> None:
        """Store the error message if the failed record is traced."""
        place = (queue.topic, queue.partition, queue.table.column("offset")[row].as_py())
        above = self._followed.edges.row_at(*place)
        if place == self._followed.place or self._followed.is_of(above):
            self._why = error.message

    def dropped(self, node: str, reason: str, count: int) -> None:
        """Add a step for the drop, if the dropped record is traced."""
        why, self._why = self._why, ""
        if why:
            self._note(node, "dropped", None, reason=f"{reason}: {why}")
        elif self._is_followed() and not reason.startswith(UNDONE):
            here = [record for name, record in self._under_way if name == node]
            self._note(node, "dropped", here[-1] if here else None, reason=reason)

    def _note(
        self,
        node: str,
        what: Literal["entered", "wrote", "left", "dropped"],
        record: Record[Any, Any] | None,
        **more: Any,  # noqa: ANN401  # fields of a step
    ) -> None:
        depth, place = len(self._under_way), self._followed.definitions.get(node, "")
        step = TracedStep(self.task, depth, node, what, record, defined_at=place, **more)
        self._followed.steps.append(step)
