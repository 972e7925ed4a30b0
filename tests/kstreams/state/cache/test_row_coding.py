"""Rows that are too large: named by store and key, and no others are held up by them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kstreams import (
    BYTES,
    INT64,
    TEXT,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    TopologyBuilder,
)
from kstreams.errors import SerializationError
from kstreams.serde.base import Serde
from kstreams.state.cache.row_coding import RowCoding
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.testing import TopologyTestDriver

IN = Topic("in", TEXT, INT64)
BLOBS = key_value_store("blobs", key=TEXT, value=BYTES)


class Blob(FixedKeyProcessor[str, int, int]):
    """Keeps as many bytes as the value says."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.store = context.store(BLOBS)

    def process(self, record: Record[str, int]) -> None:
        self.store.put(record.key, bytes(record.value))


def test_a_row_beyond_the_limit_names_its_store_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing is lowered but the limit: a real one takes 6 GiB of memory to reach.
    monkeypatch.setattr("kstreams.state.cache.row_coding.MAX_ROW_BYTES", 1000)
    monkeypatch.setattr(type(BYTES), "serialize_many", refuse)
    builder = TopologyBuilder("t")
    builder.add_processor("blob", Blob, builder.add_source("in", IN), stores=[BLOBS])
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(IN, "small", 1000, timestamp=1)
        with pytest.raises(SerializationError, match="1,001 bytes; the maximum is 1,000") as failed:
            driver.pipe(IN, "large", 1001, timestamp=2)
        assert (failed.value.where.store, failed.value.where.key) == ("blobs", "large")
        assert "list store" in failed.value.hint


def refuse(*_: object) -> Any:
    """Do as Arrow does with more than 2 GiB."""
    raise pa.ArrowCapacityError("array cannot contain more than 2147483646 bytes")


@pytest.mark.parametrize("serde", [BYTES, TEXT], ids=["bytes", "text"])
def test_more_than_one_array_holds_is_coded_row_by_row(
    serde: Serde[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [BYTES, TEXT].index(serde)
    values = [(b"a", b"bb"), ("a", "bb")][rows]
    coding = RowCoding("s", serde, serde)
    monkeypatch.setattr(type(serde), "serialize_many", refuse)
    monkeypatch.setattr(type(serde), "deserialize_many", refuse)
    assert coding.encode_keys(list(values)) == [b"a", b"bb"]
    assert coding.encode_values([*values, None], [*values, "k"]) == [b"a", b"bb", None]
    assert coding.values([b"a", None, b"bb"], [b"a", b"b", b"c"]) == [values[0], None, values[1]]
