"""Bulk decoding of JSON documents equals decoding of each document."""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import Serde
from kstreams.errors import DeserializationError
from kstreams_json import json_serde


class Order(msgspec.Struct):
    item: str
    tags: list[str] = []


PIECES = st.sampled_from(
    [b"{", b"}", b"[", b"]", b",", b'"item": "a"', b'"tags": ["b"]', b'{"item": "c"}', b"\n", b" "]
)
DOCUMENTS = st.one_of(
    st.builds(lambda text: msgspec.json.encode(Order(text, [text])), st.text(max_size=3)),
    st.lists(PIECES, max_size=5).map(b"".join),
)


def alone(serde: Serde[Any], documents: list[bytes]) -> object:
    """Decode documents one by one; return the values, or the text of the first error."""
    try:
        return [serde.deserialize(document) for document in documents]
    except DeserializationError as exc:
        return str(exc)


def together(serde: Serde[Any], column: pa.Array) -> object:
    """Decode documents in bulk."""
    try:
        return serde.deserialize_many(column)
    except DeserializationError as exc:
        return str(exc)


@pytest.mark.long
@pytest.mark.parametrize("type_", [Order, dict, object, list], ids=str)
@given(documents=st.lists(DOCUMENTS, max_size=5), cut=st.integers(0, 2))
def test_json_bulk_decoding_equals_single_decoding(
    type_: type, documents: list[bytes], cut: int
) -> None:
    serde: Serde[Any] = json_serde(type_)
    column = pa.array(documents, pa.binary())

    assert together(serde, column[cut:]) == alone(serde, documents[cut:])


@pytest.mark.parametrize(
    "documents",
    [
        [b'{"item": "a"}{"item": "b"}', b""],
        [b'{"item": "a"} {"item": "b"}', b" "],
        [b'{"item": "a"}{"item": "b"}', b'{"item":', b'"c"}'],
        [b'{"item": "a"}{"item": "b"}', b'{"item": "c", "tags": ["d"]', b"}"],
    ],
    ids=["and none", "and a blank", "and one in two", "and one cut between fields"],
)
def test_column_with_document_of_two_json_values_is_refused(
    documents: list[bytes],
) -> None:
    serde: Serde[Any] = json_serde(Order)
    column = pa.array(documents, pa.binary())

    with pytest.raises(DeserializationError, match="trailing characters"):
        serde.deserialize_many(column)
    with pytest.raises(DeserializationError, match="trailing characters"):
        serde.field(column, "item", pa.string())


@pytest.mark.parametrize("type_", [Order, object, dict[str, str], msgspec.Raw], ids=str)
@given(texts=st.lists(st.text(max_size=4), max_size=5))
def test_json_bulk_encoding_equals_single_encoding(type_: Any, texts: list[str]) -> None:
    serde: Serde[Any] = json_serde(type_)
    made: dict[Any, Any] = {
        Order: lambda text: Order(text, [text, "\n"]),
        msgspec.Raw: lambda text: msgspec.Raw(b'{\n"a": ' + msgspec.json.encode(text) + b"}"),
    }
    values = [made.get(type_, lambda text: {text: text})(text) for text in texts]

    assert serde.serialize_many(values).to_pylist() == [serde.serialize(each) for each in values]
