"""Composite serdes are created from their recorded names."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import INT64, TEXT, Serde
from kstreams.serde.composite import FieldsSerde, TupleSerde
from kstreams.serde.sequences import FrozenSetSerde, SequenceSerde
from kstreams.serde.spans import SpansSerde
from kstreams.serde.stamped import StampedSerde
from kstreams_admin.composite_names import composite_named


class Named(Serde[bytes]):
    """A serde with a given name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def serialize(self, value: bytes) -> bytes:
        return value

    def deserialize(self, data: bytes) -> bytes:
        return data


ODD = Named("json[shop.Order(a, b)]")
KNOWN: dict[str, Serde[Any]] = {each.name: each for each in (INT64, TEXT, ODD)}


@pytest.mark.parametrize(
    "serde",
    [
        SequenceSerde(INT64),
        FrozenSetSerde(TEXT),
        StampedSerde(INT64),
        SpansSerde(TEXT),
        TupleSerde(TEXT),
        TupleSerde(TEXT, SequenceSerde(TupleSerde(INT64, TEXT)), ODD, INT64),
        FieldsSerde(("orders", "all"), INT64, SequenceSerde(FieldsSerde(("odd",), ODD))),
    ],
)
def test_composite_serde_is_found_by_its_name(serde: Serde[Any]) -> None:
    assert composite_named(serde.name, KNOWN.get) == serde


@pytest.mark.parametrize(
    "name",
    [
        *("int64", "sequence", "sequence()", "sequence(int64", "sequence(int64))", "other(int64)"),
        *("sequence(int64, text)", "tuple(int64,text)", "tuple(int64, other)", "tuple()", ")(", ""),
        *("fields(int64)", "fields(a: other)", "fields(a: int64", "fields()", "fields"),
        "fields(a: " * 10_000 + "int64" + ")" * 10_000,
        "sequence(" * 10_000 + "int64" + ")" * 10_000,
    ],
)
def test_unknown_or_malformed_name_has_no_serde(name: str) -> None:
    assert composite_named(name, KNOWN.get) is None
