"""Windowed keys have the bytes of Kafka Streams."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from kstreams import INT64, TEXT
from kstreams.durations import milliseconds, seconds
from kstreams.errors import DeserializationError, SerializationError
from kstreams.windows import (
    CalendarWindows,
    HoppingWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    UnlimitedWindows,
    Windowed,
    windowed,
)

TUMBLING = TumblingWindows(seconds(10))
DAY = 86_400_000

# TimeWindowedSerializer: key, start. SessionWindowedSerializer: key, end, start.
GOLDEN: dict[str, tuple[Any, Windowed[str], str]] = {
    "tumbling": (TUMBLING, Windowed("key", 20_000, 30_000), "6b6579 0000000000004e20"),
    "hopping": (
        HoppingWindows(milliseconds(10), milliseconds(3)),
        Windowed("a", 3, 13),
        "61 0000000000000003",
    ),
    "sliding": (SlidingWindows(milliseconds(10)), Windowed("", 1, 11), "0000000000000001"),
    "session": (
        SessionWindows(seconds(5)),
        Windowed("key", 1, 1_700_000_000_000),
        "6b6579 0000018bcfe56800 0000000000000001",
    ),
    "calendar": (
        CalendarWindows("day"),
        Windowed("k", DAY, 2 * DAY),
        "6b 0000000005265c00 000000000a4cb800",
    ),
    "unlimited": (UnlimitedWindows(), Windowed("k", 0, (1 << 63) - 1), "6b 0000000000000000"),
}


@pytest.mark.parametrize("kind", GOLDEN)
def test_windowed_keys_have_same_bytes_as_in_kafka_streams(kind: str) -> None:
    windows, key, data = GOLDEN[kind]
    serde = windowed(TEXT, windows)
    assert serde.serialize(key) == bytes.fromhex(data)
    assert serde.deserialize(bytes.fromhex(data)) == key
    assert pickle.loads(pickle.dumps(serde)) == serde
    assert serde.type_token is Windowed


@pytest.mark.parametrize("kind", GOLDEN)
def test_truncated_windowed_key_is_rejected(kind: str) -> None:
    windows, _, _ = GOLDEN[kind]
    with pytest.raises(DeserializationError):
        windowed(TEXT, windows).deserialize(b"1234567")


def test_windowed_serdes_are_compared_by_key_serde_and_windows() -> None:
    assert windowed(TEXT, TUMBLING) == windowed(TEXT, TumblingWindows(seconds(10)))
    assert windowed(TEXT, TUMBLING) != windowed(TEXT, TumblingWindows(seconds(9)))
    other: Any = windowed(INT64, TUMBLING)
    assert windowed(TEXT, TUMBLING) != other
    session = windowed(TEXT, SessionWindows(seconds(1)))
    assert session != windowed(TEXT, CalendarWindows("day"))


def test_key_of_other_windows_is_rejected_by_windowed_serde() -> None:
    with pytest.raises(SerializationError, match="is not a window of"):
        windowed(TEXT, TUMBLING).serialize(Windowed("k", 0, 5_000))
    with pytest.raises(SerializationError):
        windowed(TEXT, SessionWindows(seconds(1))).serialize(Windowed("k", 0, 1 << 63))


def test_windowed_keys_can_be_compared_hashed_and_pickled() -> None:
    key = Windowed("k", 1, 2)
    assert key == Windowed("k", 1, 2) != Windowed("k", 1, 3)
    assert hash(key) == hash(Windowed("k", 1, 2))
    assert (str(key), repr(key)) == ("k@1/2", "Windowed('k', 1, 2)")
    assert pickle.loads(pickle.dumps(key)) == key
    assert key != ("k", 1, 2)
