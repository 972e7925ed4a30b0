"""Serdes by what is typed to name them, and values as people type and read them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import INT64, TEXT, KStreamsError, Serde, plugins
from kstreams.cli.formats import Format, find_format, find_serde, offered_names, recorded_serde
from kstreams.cli.usage import WrongUsageError
from kstreams.cli.values import json_line, parser_of, plain, printable, shown_by
from kstreams.errors import DeserializationError
from kstreams.serde import LINES, SerdeByText, SerdeRequest, compressed, csv_row
from kstreams.windows import Windowed
from kstreams_json import json_serde
from kstreams_msgpack import msgpack_serde
from tests.kstreams.cli.terminal import kstreams, say


@dataclass
class Order:
    id: int
    items: list[str]


class Point(NamedTuple):
    x: int
    y: int


class Colour(Enum):
    RED = "red"


class Cents(Serde[int]):
    """A serde of a package: cents as text, asked for with a currency."""

    name = "cents"
    type_token = int

    def __init__(self, request: SerdeRequest) -> None:
        self.request = request

    def serialize(self, value: int) -> bytes:
        return b"%d" % value

    def deserialize(self, data: bytes) -> int:
        if data == b"panic":
            raise SystemExit
        return int(data)


def make_cents(request: SerdeRequest) -> Serde[int]:
    if not request.text:
        raise ValueError("which currency?")
    return Cents(request)


CENTS = SerdeByText("cents:CURRENCY", "money", make_cents, lambda name: None)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let an installed package offer a serde, a thing that is none, and one that is broken."""
    group = "kstreams.serde_texts"
    offers = {"cents": f"{__name__}:CENTS", "odd": f"{__name__}:TEXT", "broken": "no_such_module:X"}
    points = [EntryPoint(name, value, group) for name, value in offers.items()]
    monkeypatch.setattr(
        plugins, "entry_points", lambda group: EntryPoints([p for p in points if p.group == group])
    )
    plugins._found.cache_clear()
    yield
    plugins._found.cache_clear()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *(("text", "text"), ("json", "json"), ("int64", "int64"), ("lines", "lines")),
        *(("gzip:int64", "gzip(int64)"), ("gzip", "gzip(text)")),
        ("zstd:gzip:json", "zstd(gzip(json))"),
        ("msgpack", "msgpack[Any]"),
    ],
)
def test_a_name_means_a_serde(text: str, name: str) -> None:
    assert find_serde(text).name == name


def test_a_package_offers_serdes_by_text(package: None) -> None:
    found: Any = find_serde("cents:EUR", topic="t", part="key", registry="http://r")
    asked = found.request
    assert (asked.text, asked.topic, asked.part, asked.registry) == ("EUR", "t", "key", "http://r")
    assert find_serde("gzip:cents:EUR").name == "gzip(cents)"
    assert offered_names()[-3:] == ["broken", "cents", "odd"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cents", "serde 'cents': which currency?; say cents:CURRENCY"),
        ("gzip:cents", "which currency?"),
        ("odd", "expected a SerdeByText by 'odd'"),
        ("broken", "No module named 'no_such_module'"),
        ("cent", "there is no serde 'cent'; did you mean 'cents'?"),
        ("unheard-of", "expected text, json, int64"),
        ("text:UTF-16", "takes nothing behind the name, got 'UTF-16'; say text"),
        ("gzip:jsn", "there is no serde 'jsn'; did you mean 'json'?"),
        ("no_such_module:ORDERS", "there is no module 'no_such_module'"),
    ],
)
def test_what_means_nothing_says_what_would(package: None, text: str, problem: str) -> None:
    with pytest.raises(WrongUsageError) as caught:
        find_serde(text)
    assert problem in caught.value.message


def test_a_serde_that_needs_its_type_says_so() -> None:
    with pytest.raises(WrongUsageError, match="'xml' needs its type"):
        find_serde("xml")


@pytest.mark.parametrize(
    ("recorded", "name"),
    [
        *(("text", "text"), ("int64", "int64"), ("lines", "lines"), ("json[Order]", "json")),
        *(("gzip(json[Order])", "gzip(json)"), ("zstd(text)", "zstd(text)")),
        ("msgpack[Order]", "msgpack[Any]"),
        ("msgpack-by-place[Point]", "msgpack[Any]"),
    ],
)
def test_a_recorded_name_means_what_reads_it(recorded: str, name: str) -> None:
    found = recorded_serde(recorded)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("recorded", ["point", "zstd:1a2b3c4d(text)", "gzip(point)", "json[", ""])
def test_a_recorded_name_may_be_unknown(recorded: str) -> None:
    assert recorded_serde(recorded) is None


# ------------------------------------------------------------ values


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
def test_values_are_typed_in(serde: Serde[Any], text: str, value: object) -> None:
    parsed = parser_of(serde)(text)
    assert parsed == value
    assert serde.deserialize(serde.serialize(parsed)) == value


@pytest.mark.parametrize(
    ("serde", "text"),
    [(INT64, "x"), (LINES, '"a"'), (json_serde(Order), "{}"), (json_serde(Order), "{"), (TEXT, "")],
    ids=lambda value: getattr(value, "name", None),
)
def test_text_that_means_no_value_is_a_value_error(serde: Serde[Any], text: str) -> None:
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
        (Windowed("a", 0, 10), "a@0/10"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_value_is_shown_on_one_line_that_does_nothing(value: object, shown: str) -> None:
    assert printable(value) == shown
    assert printable(value).isprintable()


def test_what_holds_itself_is_shown_to_some_depth() -> None:
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
def test_whatever_it_is_a_terminal_only_shows_it(value: object) -> None:
    assert printable(value).isprintable()
    line = json_line({"value": value})
    assert line.isprintable()
    json.loads(line, parse_constant=pytest.fail)


class Shown(Serde[Any]):
    """A serde that says how its values are typed and shown."""

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


def test_a_serde_may_say_how_its_values_are_typed_and_shown() -> None:
    assert isinstance(parser_of(Shown())('"good"'), Hostile)
    with pytest.raises(ValueError, match="no shown: 'bad'"):
        parser_of(Shown())('"bad"')
    assert shown_by(Shown())(Hostile()) == '{"is": "hostile"}'
    assert shown_by(Shown())("text") == "text"
    assert plain(Hostile(), Shown()) == {"is": "hostile"}


def test_a_serde_that_fails_to_show_a_value_breaks_nothing() -> None:
    shown = shown_by(Shown(broken=True))(Hostile())
    assert shown == "(Hostile, of which RuntimeError: \\x1b]0;title\\x07)"


def test_bytes_that_are_no_value_come_back_as_they_are(package: None) -> None:
    cents = find_format("cents:EUR")
    assert cents.read(b"5") == (5, True)
    for data in (b"five", b"panic"):
        assert cents.read(data) == (data, False)
    assert cents.read(None) == (None, True)


def test_what_does_not_answer_is_no_bad_record() -> None:
    class Away(Shown):
        def deserialize(self, data: bytes) -> Any:
            if data == b"bad":
                raise DeserializationError("bad")
            raise KStreamsError("the registry is away")

    assert Format(Away()).read(b"bad") == (b"bad", False)
    with pytest.raises(KStreamsError, match="away"):
        Format(Away()).read(b"good")


# ------------------------------------------------------------ commands


MODULE = """
from dataclasses import dataclass
import msgspec
from kstreams.serde import compressed, csv_row
from kstreams.windows import Windowed
from kstreams_json import json_serde
from kstreams_msgpack import msgpack_serde
from kstreams_xml import xml_serde

@dataclass
class Order:
    id: int
    item: str | None = None

JSON, MSGPACK, CSV = json_serde(Order), msgpack_serde(Order), csv_row(Order)
XML, PACKED = xml_serde(Order, path="order"), compressed(json_serde(Order))
"""


@pytest.mark.parametrize("name", ["JSON", "MSGPACK", "CSV", "XML", "PACKED"])
def test_objects_are_produced_and_shown_as_json(name: str) -> None:
    Path("shop.py").write_text(MODULE)
    say("topics", "create", "t", "-p", "1")
    line = '{"id": 1, "item": "tea"}'
    serde = ("--value-serde", f"shop:{name}")
    say("topics", "produce", "t", *serde, given=f"a\t{line}\n")
    shown = say("topics", "tail", "t", *serde).split("\t")[4]
    assert json.loads(shown) == json.loads(line)
    row = json.loads(say("topics", "tail", "t", *serde, "--format", "json"))
    assert row["value"] == json.loads(line)
    wrong = kstreams("topics", "produce", "t", *serde, given='a\t{"id": "one"}\n')
    assert wrong.exit_code == 1
    assert "line 1: no " in wrong.stderr


def test_the_serdes_are_listed(package: None) -> None:
    rows = [line.split() for line in say("serdes").splitlines()]
    assert ["cents:CURRENCY", "money"] in rows
    assert ["gzip:SERDE", "what", "another", "serde", "writes,", "compressed"] in rows
    assert next(row for row in rows if row[0] == "broken")[1:3] == ["No", "module"]
    assert next(row for row in rows if row[0] == "odd")[1:3] == ["expected", "a"]


def test_options_say_where_to_look() -> None:
    for command in ("produce", "tail"):
        text = " ".join(say("topics", command, "--help").split())
        assert "kstreams serdes" in text
        assert "KSTREAMS_REGISTRY" in text


def test_structs_of_any_package_are_shown() -> None:
    struct = msgspec.defstruct("Thing", [("a", int), ("b", bytes)])
    assert printable(struct(1, b"\x00")) == '{"a": 1, "b": "b\'\\\\x00\'"}'
