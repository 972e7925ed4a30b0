"""A processor context that records forwarded records and drops, for tests of one processor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any

from kstreams import Processor, Record
from kstreams.ids import TaskId
from kstreams.processors import Cancellable, PunctuationType, RecordMetadata, Supplier
from kstreams.state.stores.spec import S, StoreSpec


class Recording:
    """Records forwarded records by child (`""` for all children), and reasons of drops."""

    def __init__(self) -> None:
        self.forwarded: list[tuple[str, Record[Any, Any]]] = []
        self.dropped: list[str] = []

    @property
    def node(self) -> str:
        return "node"

    @property
    def task(self) -> TaskId:
        return TaskId("group", 0)

    @property
    def stream_time(self) -> int:
        return -1

    @property
    def idle_time(self) -> int:
        return -1

    @property
    def wall_time(self) -> int:
        return 0

    def origin(self) -> Any:
        raise NotImplementedError

    @property
    def metadata(self) -> RecordMetadata | None:
        return None

    def reader(self, table: Any) -> Any:
        raise NotImplementedError

    def store(self, spec: StoreSpec[S]) -> S:
        raise AssertionError(f"Recording has no stores, but store {spec.name!r} was opened")

    def schedule(
        self,
        interval: timedelta,
        type: PunctuationType,  # noqa: A002  # the protocol's name
        callback: Callable[[int], None],
        *,
        name: str | None = None,
    ) -> Cancellable:
        raise AssertionError("Recording does not support schedule()")

    def hold(
        self,
        release: Callable[[Sequence[Any]], None],
        undo: Callable[[Sequence[Any]], None] | None = None,
    ) -> Callable[[Any], None]:
        raise AssertionError("Recording does not support hold()")

    def on_end_of_run(self, callback: Callable[[], None]) -> None:
        raise AssertionError("Recording does not support on_end_of_run()")

    @property
    def close_time(self) -> int:
        return -1

    def advance_close_time(self, time_ms: int) -> None:
        raise AssertionError("Recording does not support advance_close_time()")

    def drop(self, reason: str, count: int = 1) -> None:
        self.dropped += [reason] * count

    def forward(self, record: Record[Any, Any]) -> None:
        self.forwarded.append(("", record))

    def forward_to(self, child: str, record: Record[Any, Any]) -> None:
        self.forwarded.append((child, record))


def opened(
    supplier: Supplier[Any, Any, Any, Any],
) -> tuple[Processor[Any, Any, Any, Any], Recording]:
    """Create a processor and initialize it with a recording context."""
    processor = supplier()
    assert isinstance(processor, Processor)
    context = Recording()
    processor.init(context)
    return processor, context


def run(
    supplier: Supplier[Any, Any, Any, Any], records: Iterable[Record[Any, Any]]
) -> list[Record[Any, Any]]:
    """Return the records that a new processor forwards to all children."""
    processor, context = opened(supplier)
    for record in records:
        processor.process(record)
    assert all(child == "" for child, _ in context.forwarded)
    return [record for _, record in context.forwarded]
