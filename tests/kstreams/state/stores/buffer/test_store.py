"""The buffer store, compared with a dict."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import INT64, TEXT
from kstreams.errors import DeserializationError
from kstreams.record import Record
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.buffer.rows import BufferRows
from kstreams.state.stores.kept import KeptSerde

SPEC = buffer_store("b", key=TEXT, value=INT64)
KEYS = st.sampled_from(["", "a", "b", "\x00"])
TIMES = st.integers(-5, 5)
HEADERS = st.lists(st.tuples(st.text(max_size=2), st.none() | st.binary(max_size=2)), max_size=2)
RECORDS = st.builds(Record, KEYS, st.none() | st.integers(0, 9), TIMES, HEADERS.map(tuple))

steps = st.lists(
    st.tuples(st.just("put"), RECORDS, TIMES)
    | st.tuples(st.just("delete"), KEYS)
    | st.tuples(st.just("until"), TIMES)
    | st.sampled_from([("first",), ("commit",)]),
    max_size=25,
)


@given(steps)
def test_records_are_released_in_order_of_time_and_key(steps: list[Any]) -> None:
    base = MemoryStore(["b"])
    overlay = Overlay(base)
    store: BufferRows[str, int] = BufferRows.of(SPEC.open(overlay))
    model: dict[str, tuple[int, Record[str, int | None]]] = {}
    for step in steps:
        in_order = sorted(model, key=lambda key: (model[key][0], key))
        match step:
            case ("put", record, time):
                kept = model[record.key][0] if record.key in model else time
                assert store.put(record, time) == kept
                model[record.key] = kept, record
            case ("delete", key):
                store.delete(key)
                model.pop(key, None)
            case ("until", time):
                due = [key for key in in_order if model[key][0] <= time]
                assert store.take_until(time) == [model.pop(key)[1] for key in due]
            case ("first",):
                expected = model.pop(in_order[0])[1] if in_order else None
                assert store.take_first() == expected
            case _:
                base.write(overlay.changes())
                overlay.committed()
                overlay.forget()
        assert store.count() == len(model)
        assert store.next_timer() == min((time for time, _ in model.values()), default=None)


@given(RECORDS)
def test_truncated_row_of_buffer_store_is_rejected(record: Record[str, int | None]) -> None:
    serde = KeptSerde(INT64)
    data = serde.serialize((record.value, record.timestamp, record.headers))
    with pytest.raises(DeserializationError):
        serde.deserialize(data[:-1])
