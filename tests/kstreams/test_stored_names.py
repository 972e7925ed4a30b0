"""Parts of stored names: functions, classes and durations."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.stored_names import function_part, kebab, named_part, span_part

UNITS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
spans = st.one_of(st.integers(0, 200_000_000), st.sampled_from(list(UNITS.values()))).map(
    lambda ms: timedelta(milliseconds=ms)
)


class CountWords:
    def __call__(self, value: str) -> int:
        return len(value.split())

    def words(self, value: str) -> int:
        return self(value)


class Named:
    name: Any = "Per Shift"


class Unnamed(Named):
    name = 7


class Nameless(Named):
    name = "—"


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("CountWords", "count-words"),
        ("customer_of", "customer-of"),
        ("_Private", "private"),
        ("top2Of", "top2-of"),
        ("a/../b\n<b>", "a-b-b"),
        ("Größe", "gr-e"),
        ("—", ""),
        ("", ""),
    ],
)
def test_kebab_returns_lower_case_letters_digits_and_dashes(name: str, part: str) -> None:
    assert kebab(name) == part


@pytest.mark.parametrize(
    ("function", "part"),
    [
        (add, "add"),
        (len, "len"),
        (partial(partial(add, 1)), "add"),
        (CountWords, "count-words"),
        (CountWords(), "count-words"),
        (CountWords().words, "words"),
        (lambda value: value, ""),
    ],
)
def test_function_part_is_the_name_of_the_function_or_class(function: object, part: str) -> None:
    assert function_part(function) == part


@pytest.mark.parametrize(
    ("value", "part"), [(Named(), "per-shift"), (Unnamed(), "unnamed"), (Nameless(), "nameless")]
)
def test_named_part_uses_the_class_if_the_name_is_not_usable(value: object, part: str) -> None:
    assert named_part(value) == part


@pytest.mark.parametrize(
    ("span", "part"),
    [
        (timedelta(0), "0s"),
        (timedelta(milliseconds=1_500), "1500ms"),
        (timedelta(seconds=90), "90s"),
        (timedelta(minutes=1), "1m"),
        (timedelta(minutes=90), "90m"),
        (timedelta(hours=36), "36h"),
        (timedelta(weeks=1), "7d"),
    ],
)
def test_span_part_uses_the_largest_unit_that_divides_the_span(span: timedelta, part: str) -> None:
    assert span_part(span) == part


@given(span=spans)
def test_span_part_of_a_span_can_be_read_back(span: timedelta) -> None:
    part = span_part(span)
    number = part.rstrip("dhms")
    assert timedelta(milliseconds=int(number) * UNITS[part.removeprefix(number)]) == span
