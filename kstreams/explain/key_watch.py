"""Watch which records change one key of a store while its task runs again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from kstreams.explain.key_rows import KeyRows, Rows
from kstreams.explain.origins import UNDONE, Edges, EdgeWatch, Row
from kstreams.ids import TaskId
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.state.backend.working import WorkingStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.store_overlay import StoreOverlay
from kstreams.task.contexts import TaskServices
from kstreams.task.rows import RecordCall

__all__ = ("KeyWatch", "Step", "TouchedKey")


@dataclass
class TouchedKey:
    """Tells whether a key of a store may have been written, at the price of a comparison.

    Attributes:
        store: Name of the store.
        key: The key.
        is_touched: Whether it may have been since this was last set to False.
        by_bytes: Whether rows were written as bytes: then any of them may be the key's.
    """

    store: str
    key: object
    is_touched: bool = False
    by_bytes: bool = False

    def overlay(self, base: WorkingStore) -> Overlay:
        """Return an overlay that tells of what is put."""
        return _TellingOverlay(self, base)

    def put(self, handle: object) -> None:
        """Hear that a row is written."""
        if not self.is_touched and _mentions(handle, self.key):
            self.is_touched = True

    def any(self) -> None:
        """Hear that any row may be written."""
        self.is_touched = True


class _TellingOverlay(Overlay):
    """Tells of what is put into one store."""

    def __init__(self, touched: TouchedKey, base: WorkingStore) -> None:
        super().__init__(base)
        self._touched = touched
        self._told = False

    def store(self, name: str, key: Serde[Any], value: Serde[Any]) -> StoreOverlay:
        """Return a store's part; that of the one store tells of puts."""
        found = super().store(name, key, value)
        if name == self._touched.store and not self._told:
            self._told = True
            _tell(found, self._touched)
        return found


def _tell(store: StoreOverlay, touched: TouchedKey) -> None:
    """Let a store's part tell of each way in which it is written."""
    put, put_many, keep_bytes = store.put, store.put_many, store.keep_bytes
    delete_range, delete_ranges = store.delete_range, store.delete_ranges

    def told_put(key: Any, value: Any) -> None:  # noqa: ANN401  # the store's own types
        touched.put(key)
        put(key, value)

    def told(call: Callable[..., None], *given: Any) -> None:  # noqa: ANN401  # as above
        touched.any()
        call(*given)

    def told_bytes() -> None:
        touched.by_bytes = True
        keep_bytes()

    store.put = told_put  # type: ignore[method-assign]  # bound by whoever opens the store
    store.put_many = partial(told, put_many)  # type: ignore[method-assign]
    store.delete_range = partial(told, delete_range)  # type: ignore[method-assign]
    store.delete_ranges = partial(told, delete_ranges)  # type: ignore[method-assign]
    store.keep_bytes = told_bytes  # type: ignore[method-assign]


def _mentions(handle: object, key: object) -> bool:
    """Tell whether the key of a row is a key, or has it in it: with a time, as a rule."""
    if isinstance(handle, tuple):
        return handle == key or any(_mentions(part, key) for part in handle)
    return bool(handle == key)


@dataclass(frozen=True)
class Step:
    """One record, and what it did to the key; or a drop; or a change that came of no record.

    Attributes:
        row: What was being processed; None for timers and the like.
        node: The node; empty where it is not known.
        record: As it came to the node; None where there was none.
        before: What the store had of the key.
        after: What it has since.
        dropped: Why the record was dropped; empty where it was not.
    """

    row: Row | None
    node: str
    record: Record[Any, Any] | None
    before: Rows
    after: Rows
    dropped: str = ""


class KeyWatch(EdgeWatch):
    """Notes each change of a key, with the record that has made it.

    Args:
        task: The task that has the key.
        edges: See `EdgeWatch`.
        rows: The key, and how it is read.
        owners: Nodes that write to the store.
        touched: Tells when the key may have changed.

    Attributes:
        steps: What has happened, in order.
        last: What the store has of the key.
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
        """Return what the task reads and writes its stores through."""
        self._base = base
        return self._touched.overlay(base)

    def begin(self, services: TaskServices) -> None:
        """Take the cursor and the live store of the task, and look at the key."""
        super().begin(services)
        self._live = partial(services.store, self._rows.spec)
        if self._base is not None:
            self.last = self._rows.stored(self._base, self.cursor)

    def bind(self, node: str, task: TaskId, process: RecordCall) -> RecordCall:
        """Return a call that looks at the key after each record that may have changed it."""
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
        """Note what has changed, as of the record that is under way."""
        self._touched.is_touched = False
        before, after = self.last, self._rows.of(self._live())
        self.last = after
        if before != after:
            node, record = self._under_way[-1] if self._under_way else ("", None)
            self.steps.append(Step(self.present(), node, record, before, after))

    def dropped(self, node: str, reason: str, count: int) -> None:
        """Note a drop of a record of this key; what a failed one has done is undone."""
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
