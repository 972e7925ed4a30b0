"""Texts of several lines as tuples."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import Serde
from kstreams.errors import SerializationError
from kstreams.serde import LINES
from kstreams.testing import SerdeContract, WrittenBytes

Lines = tuple[str, ...]
single = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=5)


class TestLines(SerdeContract[Lines]):
    recorded_name = "lines"

    def serde(self) -> Serde[Lines]:
        return LINES

    def values(self) -> Sequence[Lines]:
        return [(), ("",), ("", ""), ("a", "", "grüße"), ("a\x85b\u2028",)]

    def strategy(self) -> st.SearchStrategy[Lines]:
        return st.lists(single, max_size=4).map(tuple)

    def wrong_objects(self) -> Sequence[object]:
        return [("a\nb",), ("a\r",), ["a"], "a", (b"a",), ("a", None), ("a", 1), ("\ud800",)]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"\xff", b"a\n\xed\xa0\x80\n"]

    def written(self) -> Sequence[WrittenBytes[Lines]]:
        return [
            WrittenBytes(b"a\nb\n", ("a", "b"), golden=True),
            WrittenBytes(b"a\nb", ("a", "b")),
            WrittenBytes(b"a\r\nb\r\n", ("a", "b")),
            WrittenBytes(b"a\r\nb\r", ("a", "b")),
            WrittenBytes(b"a\rb\n", ("a\rb",)),
        ]


@given(st.lists(st.text("a\r\n", max_size=6), max_size=4))
def test_lines_with_any_kind_of_line_end_are_read_equally(texts: list[str]) -> None:
    data = [text.encode() for text in texts]
    assert LINES.deserialize_many(pa.array(data, pa.binary())) == list(map(LINES.deserialize, data))


def test_lines_serde_accepts_list_columns() -> None:
    lists = pa.array([["a", "b"], [], None], pa.list_(pa.string()))
    assert LINES.from_arrow(lists).to_pylist() == [b"a\nb\n", b"", None]
    for wrong in ([["a\nb"]], [["a", None]], [["a\r"]]):
        with pytest.raises(SerializationError, match=r"expected (lists of|lines without)"):
            LINES.from_arrow(pa.array(wrong, pa.list_(pa.string())))
