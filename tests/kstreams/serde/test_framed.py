"""Framed serdes: the frame belongs to a topic, and internal data is stored without it."""

from __future__ import annotations

import pickle

import pyarrow as pa

from kstreams import TEXT, Topic
from kstreams.durations import hours
from kstreams.serde import INT64
from kstreams.serde.composite import TupleSerde
from kstreams.serde.framed import frame_of, framed_in, plain_of
from kstreams.stores import key_value_store, timestamped_store
from kstreams.windows import TumblingWindows, windowed
from tests.support.serdes.versioned_frame import VersionedText

FRAMED = VersionedText()
HOURS = TumblingWindows(hours(1))


def test_framed_serde_writes_and_reads_after_its_frame() -> None:
    assert FRAMED.serialize("ab") == b"\x01ab"
    assert FRAMED.deserialize(b"\x02ab") == "ba"
    data = FRAMED.serialize_many(["ab", None, "c"])
    assert data.to_pylist() == [b"\x01ab", None, b"\x01c"]
    assert FRAMED.deserialize_many(data) == ["ab", None, "c"]
    assert FRAMED.to_arrow(data).to_pylist() == ["ab", None, "c"]
    assert FRAMED.from_arrow(pa.array(["ab", None])).to_pylist() == [b"\x01ab", None]
    assert FRAMED.name == "versioned(text)"


def test_plain_serde_of_composite_serde_has_inner_serdes_without_frames() -> None:
    assert FRAMED.plain is TEXT
    assert INT64.plain is INT64
    assert TupleSerde(INT64, FRAMED).plain == TupleSerde(INT64, TEXT)
    assert windowed(FRAMED, HOURS).plain == windowed(TEXT, HOURS)
    unframed: TupleSerde[tuple[int, str]] = TupleSerde(INT64, TEXT)
    assert unframed.plain is unframed


def test_composite_serde_removes_frames_of_inner_values_from_bytes() -> None:
    framed: TupleSerde[tuple[int, str]] = TupleSerde(INT64, FRAMED)
    plain: TupleSerde[tuple[int, str]] = TupleSerde(INT64, TEXT)
    data = framed.serialize_many([(1, "ab"), None])
    assert framed.to_plain(data) == plain.serialize_many([(1, "ab"), None])


def test_stores_keep_framed_values_without_frame() -> None:
    framed: TupleSerde[tuple[str, int]] = TupleSerde(FRAMED, INT64)
    plain: TupleSerde[tuple[str, int]] = TupleSerde(TEXT, INT64)
    store = key_value_store("s", key=FRAMED, value=framed)
    assert store.schema() == key_value_store("s", key=TEXT, value=plain).schema()
    assert timestamped_store("t", key=TEXT, value=FRAMED).value is TEXT


def test_topic_binds_framed_serde_to_its_name() -> None:
    topic = Topic("t", key=TEXT, value=FRAMED)
    assert topic.value is FRAMED
    assert pickle.loads(pickle.dumps(topic)) == topic


def test_windowed_key_has_frame_of_inner_key() -> None:
    key = windowed(FRAMED, HOURS)
    assert frame_of(key) == b"\x01"
    assert frame_of(TEXT) == b""
    assert list(framed_in(key)) == [FRAMED]


def test_value_that_is_not_a_serde_is_its_own_plain_form() -> None:
    assert plain_of("no serde") == "no serde"  # type: ignore[arg-type,comparison-overlap]  # the invalid argument
