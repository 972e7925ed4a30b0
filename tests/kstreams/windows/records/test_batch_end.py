"""The last result of each window is forwarded at the end of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kstreams import Record
from kstreams.serde.numbers import DOUBLE
from kstreams.serde.text import TEXT
from kstreams.windowed import Windowed
from kstreams.windows.records.emission.batch_end import BatchEndEmitter
from tests.support.apps.recording_context import Recording


class Batch(Recording):
    """A context whose batch can be ended."""

    def hold(
        self,
        release: Callable[[Sequence[Any]], None],
        undo: Callable[[Sequence[Any]], None] | None = None,
    ) -> Callable[[Any], None]:
        self.held: list[Any] = []
        self.end = lambda: release(self.held)
        return self.held.append


@pytest.mark.parametrize(("serde", "key"), [(TEXT, "a"), (DOUBLE, 1.5)], ids=["text", "double"])
def test_batch_end_emitter_skips_temporary_sessions_and_forwards_deletions_first(
    serde: Any, key: Any
) -> None:
    context: Any = Batch()
    emitter = BatchEndEmitter(context, serde, lambda state: state * 10, context.forward)
    record = Record(key, 0, 0)
    emitter.update(record, 1, 5, None)  # existed before the batch
    emitter.update(record, 1, 7, (1, 7))
    emitter.update(record, 1, 7, None)  # created and deleted in this batch
    emitter.update(record, 1, 9, (2, 9))
    emitter.update(record, 0, 0, (3, 0))
    context.end()
    assert [record for _, record in context.forwarded] == [
        Record(Windowed(key, 1, 5), None, 5),
        Record(Windowed(key, 0, 0), 30, 0),
        Record(Windowed(key, 1, 9), 20, 9),
    ]
