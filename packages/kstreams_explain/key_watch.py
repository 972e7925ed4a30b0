"""Record which records change one key of a store during a replay of its task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from typing_extensions import override

from kstreams.ids import TaskId
from kstreams.record import Record
from kstreams.state.backend.working import WorkingStore
from kstreams.state.cache.overlay import CachedRows, Overlay
from kstreams.state.cache.store_overlay import StoreOverlay
from kstreams.task.contexts import TaskServices
from kstreams.task.records.rows import RecordCall
from kstreams_explain.key_rows import KeyRows, Rows
from kstreams_explain.origins import UNDONE, Edges, EdgeWatch, Row

__all__ = ("KeyWatch", "Step", "TouchedKey")


@dataclass
class TouchedKey:
    """Detects, by one comparison for each write, whether a key of a store may have changed.

    Attributes:
        store: Name of the store.
        key: The key.
        is_touched: Whether the key may have changed since this was last set to False.
        by_bytes: Whether rows were written as bytes; any of those rows may belong to the key.
    """

    store: str
    key: object
    is_touched: bool = False
    by_bytes: bool = False

    def overlay(self, base: WorkingStore) -> Overlay:
        """Return an overlay that passes each write of a row on to this object."""
        return _ObservedOverlay(self, base)

    def put(self, handle: object) -> None:
        """Set `is_touched` if a written row may belong to the key; `handle` is the row's key."""
        if not self.is_touched and _mentions(handle, self.key):
            self.is_touched = True

    def any(self) -> None:
        """Set `is_touched`, because a write may have changed any row."""
        self.is_touched = True


class _ObservedOverlay(Overlay):
    """An overlay that reports writes to one store to a `TouchedKey`."""

    def __init__(self, touched: TouchedKey, base: WorkingStore) -> None:
        super().__init__(base)
        self._touched = touched

    @override
    def new_store(self, name: str, known: CachedRows) -> StoreOverlay:
        if name != self._touched.store:
            return super().new_store(name, known)
        return _ObservedStore(self._touched, name, known, self._base)


class _ObservedStore(StoreOverlay):
    """The overlay of one store, which reports each write before applying the write."""

    def __init__(
        self, touched: TouchedKey, name: str, known: CachedRows, base: WorkingStore
    ) -> None:
        super().__init__(
            name,
            known.key,
            known.value,
            base,
            known.rows,
            encoded=known.encoded,
            resident=known.resident,
        )
        self._touched = touched

    @override
    def put(self, key: Any, value: Any) -> None:
        self._touched.put(key)
        super().put(key, value)

    @override
    def put_many(self, keys: Sequence[Any], values: Sequence[Any]) -> None:
        self._touched.any()
        super().put_many(keys, values)

    @override
    def delete_range(self, start: bytes, end: bytes) -> None:
        self._touched.any()
        super().delete_range(start, end)

    @override
    def delete_ranges(
        self, ranges: Sequence[tuple[bytes, bytes]], covers: Callable[[Any], bool]
    ) -> None:
        self._touched.any()
        super().delete_ranges(ranges, covers)

    @override
    def keep_bytes(self) -> None:
        self._touched.by_bytes = True
        super().keep_bytes()


def _mentions(handle: object, key: object) -> bool:
    """Return whether a row's key (`handle`) is the given key, or a tuple that contains it."""
    if isinstance(handle, tuple):
        return handle == key or any(_mentions(part, key) for part in handle)
    return bool(handle == key)


@dataclass(frozen=True)
class Step:
    """One record and its effect on the key, a dropped record, or a change without a record.

    Attributes:
        row: The row that was processed; None for timers.
        node: The node; empty if it is not known.
        record: The record that the node received; None without a record.
        before: The rows of the key before the step.
        after: The rows of the key after the step.
        dropped: The reason why the record was dropped; empty if it was not.
    """

    row: Row | None
    node: str
    record: Record[Any, Any] | None
    before: Rows
    after: Rows
    dropped: str = ""


class KeyWatch(EdgeWatch):
    """Records each change of a key, with the record that caused it.

    Args:
        task: The task that owns the key.
        edges: The input rows from which edge records derive; see `EdgeWatch`.
        rows: The key, with a function to read its rows.
        owners: The nodes that write to the store.
        touched: Detects that the key may have changed.

    Attributes:
        steps: The steps so far, in order.
        last: The current rows of the key.
    """

    def __init__(
        self,
        task: TaskId,
        edges: Edges,
        rows: KeyRows,
        owners: frozenset[str],
        touched: TouchedKey,
    ) -> None:
        super().__init__(task, edges)
        self.steps: list[Step] = []
        self._rows = rows
        self._owners = owners
        self._touched = touched
        self.last: Rows = ()
        self._base: WorkingStore | None = None
        self._live: Callable[[], object] = tuple
        self._under_way: list[tuple[str, Record[Any, Any]]] = []

    def overlay(self, base: WorkingStore) -> Overlay:
        """Return the overlay through which the task reads and writes its stores."""
        self._base = base
        return self._touched.overlay(base)

    def begin(self, services: TaskServices) -> None:
        """Keep access to the task's current row and live store, and read the rows of the key."""
        super().begin(services)
        self._live = partial(services.store, self._rows.spec)
        if self._base is not None:
            self.last = self._rows.stored(self._base, self.cursor)

    def bind(self, node: str, task: TaskId, process: RecordCall) -> RecordCall:
        """Return a callback that reads the key again after each record that may have changed it."""
        under_way, owns, touched = self._under_way, node in self._owners, self._touched

        def watched(record: Record[Any, Any]) -> None:
            if touched.is_touched:
                self.settle()
            under_way.append((node, record))
            try:
                process(record)
                if owns and (touched.is_touched or touched.by_bytes):
                    self.settle()
            finally:
                under_way.pop()

        return watched

    def settle(self) -> None:
        """Add a step if the key has changed, with the current record as its cause."""
        self._touched.is_touched = False
        before, after = self.last, self._rows.of(self._live())
        self.last = after
        if before != after:
            node, record = self._under_way[-1] if self._under_way else ("", None)
            self.steps.append(Step(self.present(), node, record, before, after))

    def dropped(self, node: str, reason: str, count: int) -> None:
        """Add a step for a dropped record of this key; changes of a failed record were undone."""
        row = self.present()
        if row is not None and reason.startswith(UNDONE):
            while self.steps and self.steps[-1].row == row and not self.steps[-1].dropped:
                self.last = self.steps.pop().before
            self._touched.is_touched = True
        here = [record for name, record in self._under_way if name == node]
        key = here[-1].key if here else None if row is None else row[0].keys[row[1]]
        if key == self._rows.key:
            record = here[-1] if here else None
            self.steps.append(Step(row, node, record, self.last, self.last, reason))
