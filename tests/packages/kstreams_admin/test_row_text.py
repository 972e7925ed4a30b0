"""The size of rows as JSON text."""

from __future__ import annotations

import pytest

from kstreams import TEXT
from kstreams.stores import key_value_store
from kstreams_admin.row_text import RowText, bytes_of


def test_sized_text_returns_number_of_bytes_not_of_characters() -> None:
    spec = key_value_store("s", key=TEXT, value=TEXT)
    text, size = RowText(spec, TEXT, ("key", "value")).sized_text(("é", "日本"))
    assert text == '{"key": "é", "value": "日本"}'
    assert size == len(text.encode()) == len(text) + 5


@pytest.mark.parametrize(("text", "expected"), [("", 0), ("ab", 2), ("é", 2), ("\ud800", 3)])
def test_bytes_of_returns_number_of_bytes_of_text_in_utf_8(text: str, expected: int) -> None:
    assert bytes_of(text) == expected
