"""Rows that are too large: the error names store and key, and other rows are unaffected."""

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
    """Stores as many bytes as the value of the record."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.store = context.store(BLOBS)

    def process(self, record: Record[str, int]) -> None:
        self.store.put(record.key, bytes(record.value))


def test_error_of_row_above_limit_names_store_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    # Only the limit is lowered: reaching the real one takes 6 GiB of memory.
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
    """Raise the error of Arrow for more than 2 GiB."""
    raise pa.ArrowCapacityError("array cannot contain more than 2147483646 bytes")


@pytest.mark.parametrize("serde", [BYTES, TEXT], ids=["bytes", "text"])
def test_rows_too_large_for_one_array_are_encoded_one_by_one(
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
