"""Values as users type them and terminals print them, without control sequences."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Serde
from kstreams.serde import LINES, compressed, csv_row
from kstreams.windows import NEVER_ENDS, Windowed
from kstreams_admin.values import exact, json_line, parser_of, plain, printable, shown_by
from kstreams_json import json_serde
from kstreams_msgpack import msgpack_serde


@dataclass
class Order:
    id: int
    items: list[str]


class Point(NamedTuple):
    x: int
    y: int


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("serde", "text", "value"),
    [
        (TEXT, "tea", "tea"),
        (INT64, "-5", -5),
        (LINES, '["a", "b"]', ("a", "b")),
        (json_serde(Order), '{"id": 1, "items": ["tea"]}', Order(1, ["tea"])),
        (msgpack_serde(Order), '{"id": 1, "items": []}', Order(1, [])),
        (csv_row(Point), "[1, 2]", Point(1, 2)),  # a NamedTuple is a list in JSON
        (compressed(json_serde(Order)), '{"id": 1, "items": []}', Order(1, [])),
        (json_serde(object), '{"a": [null]}', {"a": [None]}),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_typed_text_is_parsed_to_value(serde: Serde[Any], text: str, value: object) -> None:
    parsed = parser_of(serde)(text)
    assert parsed == value
    assert serde.deserialize(serde.serialize(parsed)) == value


@pytest.mark.parametrize(
    ("serde", "text"),
    [(INT64, "x"), (LINES, '"a"'), (json_serde(Order), "{}"), (json_serde(Order), "{"), (TEXT, "")],
    ids=lambda value: getattr(value, "name", None),
)
def test_text_that_serde_cannot_parse_raises_value_error(serde: Serde[Any], text: str) -> None:
    if serde == TEXT:
        assert parser_of(serde)(text) == ""
        return
    with pytest.raises(ValueError, match=r"\w"):
        parser_of(serde)(text)


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ("a\x1b[2J\tb\u202e", "a\\x1b[2J\\tb\\u202e"),
        ("\ud800", "\\ud800"),
        (b"\xff\x1b", "b'\\xff\\x1b'"),
        (Order(1, ["\x1b"]), '{"id": 1, "items": ["\\u001b"]}'),
        (Point(1, 2), '{"x": 1, "y": 2}'),
        ({1: {b"\x1b": {2}}}, '{"1": {"b\'\\\\x1b\'": [2]}}'),
        ([math.nan, Decimal("1.10"), Colour.RED], '["nan", "1.10", "red"]'),
        ({"day": date(2024, 1, 2)}, '{"day": "2024-01-02"}'),
        ([UUID(int=1), 10**5000], '["00000000-0000-0000-0000-000000000001", "(16610 bits)"]'),
        (Windowed("a", 0, 10), "a@1970-01-01T00:00:00.000Z/1970-01-01T00:00:00.010Z"),
        (Windowed(b"a", 0, NEVER_ENDS), "b'a'@1970-01-01T00:00:00.000Z/never"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_value_is_printed_in_one_line_without_control_characters(value: object, shown: str) -> None:
    assert printable(value) == shown
    assert printable(value).isprintable()


def test_recursive_value_is_printed_to_limited_depth() -> None:
    assert printable(CYCLE).startswith("[[[[")
    assert len(printable(CYCLE)) < 1000


class Hostile:
    def __str__(self) -> str:
        return "\x1b[2J\n\u2028"

    def __repr__(self) -> str:
        raise RuntimeError


hostile = st.recursive(
    st.none() | st.floats() | st.text() | st.binary() | st.builds(Hostile),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


@given(hostile)
def test_any_value_is_printable_on_terminal(value: object) -> None:
    assert printable(value).isprintable()
    line = json_line({"value": value})
    assert line.isprintable()
    json.loads(line, parse_constant=pytest.fail)


class Shown(Serde[Any]):
    """A serde with its own parser and text form of values."""

    name = "shown"
    type_token = Hostile

    def __init__(self, *, broken: bool = False) -> None:
        self.broken = broken

    def serialize(self, value: Any) -> bytes:
        return b"x"

    def deserialize(self, data: bytes) -> Any:
        return Hostile()

    def to_json(self, value: Any) -> object:
        if self.broken:
            raise RuntimeError("\x1b]0;title\x07")
        return {"is": "hostile"}

    def from_json(self, content: object) -> Any:
        if content == "good":
            return Hostile()
        raise KeyError(content)


def test_serde_can_define_parser_and_text_form() -> None:
    assert isinstance(parser_of(Shown())('"good"'), Hostile)
    with pytest.raises(ValueError, match="not a value of serde shown: 'bad'"):
        parser_of(Shown())('"bad"')
    assert shown_by(Shown())(Hostile()) == '{"is": "hostile"}'
    assert shown_by(Shown())("text") == "text"
    assert plain(Hostile(), Shown()) == {"is": "hostile"}


def test_failing_text_form_of_serde_falls_back_to_default() -> None:
    assert shown_by(Shown(broken=True))(Hostile()) == "\\x1b[2J\\n\\u2028"
    assert plain(Hostile(), Shown(broken=True)) == "<Hostile whose repr raises RuntimeError>"
    assert shown_by(msgpack_serde(object))({(1, 2): b"x"}) == '{"[1, 2]": "b\'x\'"}'


def test_objects_of_any_struct_library_are_printed() -> None:
    struct = msgspec.defstruct("Thing", [("a", int), ("b", bytes)])
    assert printable(struct(1, b"\x00")) == '{"a": 1, "b": "b\'\\\\x00\'"}'


def test_windowed_key_is_json_object_with_times_in_utc() -> None:
    window = Windowed(("a", 2**60), 0, 60_000)
    times = {"start": "1970-01-01T00:00:00.000Z", "end": "1970-01-01T00:01:00.000Z"}
    assert plain(window) == {"key": ["a", 2**60], **times}
    assert exact([window]) == [{"key": ["a", str(2**60)], **times}]
