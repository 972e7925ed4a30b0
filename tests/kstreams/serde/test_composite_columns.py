"""Composite serdes give equal results for columns and single values, and fail equally."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import INT64, TEXT
from kstreams.durations import milliseconds
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.base import Serde
from kstreams.serde.stamped import StampedSerde
from kstreams.state.stores.window.rows import WindowKeySerde
from kstreams.windows import SessionWindows, TumblingWindows, Windowed, windowed

TUMBLING: Serde[Any] = windowed(TEXT, TumblingWindows(milliseconds(10)))
SESSION: Serde[Any] = windowed(TEXT, SessionWindows(milliseconds(10)))
STAMPED: Serde[Any] = StampedSerde(INT64)
STAMPED_TEXT: Serde[Any] = StampedSerde(TEXT)
WINDOW_KEY: Serde[Any] = WindowKeySerde(TEXT)

times = st.integers(-(1 << 62), 1 << 62)
keys = st.text("abä", max_size=3)
VALUES: dict[str, tuple[Serde[Any], st.SearchStrategy[Any]]] = {
    "stamped": (STAMPED, st.tuples(times, times)),
    "stamped-text": (STAMPED_TEXT, st.tuples(keys, times)),
    "window-key": (WINDOW_KEY, st.tuples(times, keys)),
    "tumbling": (TUMBLING, st.builds(lambda k, s: Windowed(k, s, s + 10), keys, times)),
    "session": (SESSION, st.builds(Windowed, keys, times, times)),
}


@pytest.mark.parametrize("name", sorted(VALUES))
@given(data=st.data())
def test_many_values_give_same_bytes_as_single_values(name: str, data: st.DataObject) -> None:
    serde, strategy = VALUES[name]
    values = data.draw(st.lists(strategy | st.none(), max_size=8))
    expected = [None if value is None else serde.serialize(value) for value in values]
    data_of = serde.serialize_many(values)
    assert data_of.to_pylist() == expected
    assert serde.deserialize_many(data_of) == values


@pytest.mark.parametrize(
    ("serde", "good", "bad"),
    [
        (STAMPED, (1, 2), (None, 2)),
        (STAMPED, (1, 2), (1, None)),
        (STAMPED, (1, 2), (1, 1.5)),
        (STAMPED, (1, 2), (1, 1 << 63)),
        (STAMPED, (1, 2), ("1", 2)),
        (WINDOW_KEY, (1, "a"), (1, None)),
        (WINDOW_KEY, (1, "a"), (1.5, "a")),
        (WINDOW_KEY, (1, "a"), (1 << 63, "a")),
        (TUMBLING, Windowed("a", 0, 10), Windowed("a", 0, 11)),
        (TUMBLING, Windowed("a", 0, 10), Windowed(None, 0, 10)),
        (TUMBLING, Windowed("a", 0, 10), Windowed("a", 1 << 63, (1 << 63) + 10)),
        (SESSION, Windowed("a", 0, 10), Windowed(None, 0, 10)),
        (SESSION, Windowed("a", 0, 10), Windowed("a", 0, 1 << 63)),
    ],
)
def test_value_refused_by_serialize_is_refused_by_serialize_many(
    serde: Serde[Any], good: Any, bad: Any
) -> None:
    with pytest.raises(SerializationError):
        serde.serialize(bad)
    with pytest.raises(SerializationError):
        serde.serialize_many([good, bad, None])


def test_truncated_row_raises_deserialization_error() -> None:
    with pytest.raises(DeserializationError, match="expected 8 bytes of time"):
        STAMPED_TEXT.deserialize_many(pa.array([bytes(8) + b"a", b"short"], pa.binary()))
