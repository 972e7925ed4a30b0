"""Text forms of foreign objects are safe to print, and have no side effects."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.errors import KStreamsError, Where
from kstreams.quoting import kind_of, one_line, repr_of, safe_end, safe_text, text_of, traceback_of

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)


class Mute(Exception):
    """An exception without text."""

    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class Leaving(Mute):
    """An exception that ends the process when its text is requested."""

    def __str__(self) -> str:
        raise SystemExit(3)

    __repr__ = __str__


class NoText(Mute):
    """An exception whose text is no text."""

    def __str__(self) -> str:
        nothing: Any = 5
        return nothing  # type: ignore[no-any-return]  # like hostile code

    __repr__ = __str__


class Deep(Mute):
    """An exception with infinite recursion."""

    def __str__(self) -> str:
        return str(self)

    __repr__ = __str__


@pytest.mark.parametrize("item", [Mute(), Leaving(), NoText(), Deep()], ids=kind_of)
def test_object_whose_repr_fails_is_shown_by_its_class(item: Exception) -> None:
    name = type(item).__name__
    assert text_of(item).startswith(f"<{name} whose str raises ")
    assert repr_of(item).startswith(f"<{name} whose repr raises ")
    assert name in traceback_of(item)
    assert name in str(KStreamsError("m", where=Where(key=item)))


@given(ANY_TEXT)
def test_safe_text_of_any_text_can_be_encoded_and_has_no_control_characters(text: str) -> None:
    for shown in (safe_text(text), safe_end(text), one_line(text), repr_of(text)):
        shown.encode()
        assert not [
            char for char in shown if unicodedata.category(char) == "Cc" and char not in "\n\t"
        ]
        assert not {"\x1b", "\r", "\x00", "\x9b", "\u202e", "\u2028"} & {*shown}
    assert not {"\n", "\t"} & {*one_line(text)}


@given(ANY_TEXT)
def test_safe_text_of_safe_text_is_unchanged(text: str) -> None:
    assert safe_text(safe_text(text)) == safe_text(text)


@given(ANY_TEXT, st.integers(1, 10))
def test_safe_text_is_truncated_to_its_limit(text: str, limit: int) -> None:
    for shown in (safe_text(text, limit), safe_end(text, limit), one_line(text, limit)):
        assert len(shown) <= limit
    assert len(repr_of(text, limit)) <= limit


def test_lines_of_quoted_text_do_not_begin_like_log_lines() -> None:
    error = KStreamsError("bad: x\n2026-01-01 ERROR all is lost\r\x1b[2J", hint="do\nthat")
    _, *others = str(error).split("\n")
    assert [line for line in others if not line.startswith("  ")] == ["Hint: do"]
    assert "\x1b" not in str(error)
    assert error.message.endswith("\x1b[2J")


def test_class_of_any_name_is_shown_as_safe_text() -> None:
    assert kind_of(type("a\n\x1b", (Exception,), {})()) == "a\\n\\x1b"
    assert len(kind_of(type("x" * 10_000, (Exception,), {})())) == 200
