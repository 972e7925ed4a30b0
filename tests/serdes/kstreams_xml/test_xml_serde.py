"""The XML serde passes the test suite; attributes, namespaces, nil; hostile documents."""

from __future__ import annotations

import math
import subprocess
import sys
import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, TypedDict

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import Serde
from kstreams.errors import DeserializationError, SerializationError
from kstreams.plugins import load_plugin
from kstreams.testing import SerdeContract, WrittenBytes
from kstreams_xml import ATTRIBUTE, CONTENT, xml_serde

characters = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]) | st.sampled_from(
    "\t\n\r<>&\"'"
)
text = st.text(characters.filter(lambda c: c not in "\ufffe\uffff"), max_size=8)
int64s = st.integers(-(2**63), 2**63 - 1)


class Price(msgspec.Struct, frozen=True):
    amount: Annotated[float, CONTENT]
    currency: Annotated[str, ATTRIBUTE] = "EUR"


@dataclass
class Item:
    name: str
    price: Price | None = None


@dataclass
class Order:
    id: Annotated[int, ATTRIBUTE]
    note: str | None
    items: list[Item] = field(default_factory=list)
    tags: frozenset[str] = frozenset()
    paid: bool = False
    due: date | None = date(2024, 1, 1)


class Renamed(msgspec.Struct, frozen=True, rename="camel"):
    unit_price: Decimal
    raw: bytes = b""


class Tree(msgspec.Struct):
    child: list[Tree] = []


class Row(TypedDict):
    key: str
    count: int


prices = st.builds(
    Price, st.floats(allow_nan=False), text
)  # `values` has NaN, and sets have no unique text
items = st.builds(Item, text, st.none() | prices)


class TestOrders(SerdeContract[Order]):
    recorded_name = "xml[Order at envelope/order]"

    def serde(self) -> Serde[Order]:
        return xml_serde(Order, path="envelope/order")

    def values(self) -> Sequence[Order]:
        return [
            Order(1, "", [Item("tea", Price(2.5)), Item("")], frozenset("ab"), True, None),
            Order(-(2**63), None),
            Order(
                2, '<&>"\r\n\t', [Item(" x ", Price(math.inf, '"\n')), Item("", Price(math.nan))]
            ),
        ]

    def strategy(self) -> st.SearchStrategy[Order]:
        lists = st.lists(items, max_size=3)
        sets = st.frozensets(text, max_size=3)
        days = st.none() | st.dates()
        return st.builds(Order, int64s, st.none() | text, lists, sets, st.booleans(), days)

    def wrong_objects(self) -> Sequence[object]:
        no_list: Any = 5
        return [{"id": 1}, Order(1, "\x00"), Order(1, "\ud800"), Order(1, "", no_list), Item("a")]

    def bad_bytes(self) -> Sequence[bytes]:
        return [
            b"",
            b"<envelope>",
            b"<order id='1'/>",
            b"<envelope/>",
            b"<envelope><order/><order/></envelope>",
            b"<envelope><order/></envelope>",
            b"<envelope><order id='one'/></envelope>",
            b"<envelope><order id='1'><note/><note/></order></envelope>",
            b"<envelope><order id='1'><note><b/></note></order></envelope>",
            b"<envelope><order id='1'><paid>maybe</paid></order></envelope>",
            b"<envelope><order id='1'><items/></order></envelope>",
            b"<envelope><order id='1'/></envelope> x",
            b"<envelope><order id='1'><note>\xff</note></order></envelope>",
            b"<envelope><order id='1'><note>&undefined;</note></order></envelope>",
        ]

    def written(self) -> Sequence[WrittenBytes[Order]]:
        utf16 = '<?xml version="1.0" encoding="UTF-16"?><envelope><order id="1"/></envelope>'
        return [
            WrittenBytes(
                b'<envelope><order id="1"><items><name>tea</name><price currency="EUR">2.5</price>'
                b"</items><paid>false</paid><due>2024-01-01</due></order></envelope>",
                Order(1, None, [Item("tea", Price(2.5))]),
                golden=True,
            ),
            WrittenBytes(
                b"<?xml version='1.0' encoding='utf-8'?>\n<!-- c --><envelope>\n <order id=' +01 '>"
                b"<later x='1'><y/></later><note><![CDATA[<b>]]>&#x41;<!-- c -->B<?p i?></note>"
                b"<paid> 1 </paid></order></envelope>\n",
                Order(1, "<b>AB", paid=True),
            ),
            WrittenBytes(utf16.encode("utf-16"), Order(1, None)),
        ]

    def fields(self) -> Mapping[str, pa.DataType]:
        return {"id": pa.int64(), "note": pa.string()}


class TestStructsWithANamespace(SerdeContract[Renamed]):
    recorded_name = "xml[Renamed]"

    def serde(self) -> Serde[Renamed]:
        return xml_serde(Renamed, namespace="urn:prices")

    def values(self) -> Sequence[Renamed]:
        return [Renamed(Decimal("1.10"), b"\xff\x00"), Renamed(Decimal(0))]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"<Renamed><unitPrice>1</unitPrice></Renamed>", b"<Renamed xmlns='urn:other'/>"]

    def written(self) -> Sequence[WrittenBytes[Renamed]]:
        return [
            WrittenBytes(
                b'<Renamed xmlns="urn:prices"><unitPrice>1.10</unitPrice><raw>/w==</raw></Renamed>',
                Renamed(Decimal("1.10"), b"\xff"),
                golden=True,
            ),
            WrittenBytes(
                b'<p:Renamed xmlns:p="urn:prices"><p:unitPrice>1</p:unitPrice></p:Renamed>',
                Renamed(Decimal(1)),
            ),
        ]


class TestDicts(SerdeContract[Row]):
    def serde(self) -> Serde[Row]:
        return xml_serde(Row, path="row")

    def values(self) -> Sequence[Row]:
        return [{"key": "a", "count": 1}, {"key": "", "count": 0}]


ENTITIES = b'<!DOCTYPE o [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
HOSTILE = {
    "entities": ENTITIES + b"<row><key>&b;</key><count>1</count></row>",
    "a bomb in an attribute": b'<!DOCTYPE o [<!ENTITY a "' + b"a" * 1000 + b'"><!ENTITY b "'
    + b"&a;" * 1000 + b'"><!ENTITY c "' + b"&b;" * 1000 + b'">]><row x="&c;"/>',
    "a file": b'<!DOCTYPE o [<!ENTITY x SYSTEM "file:///etc/passwd">]><row><key>&x;</key>'
    b"<count>1</count></row>",
    "an address": b'<!DOCTYPE row SYSTEM "http://127.0.0.1:1/x.dtd"><row><key/><count>1</count>'
    b"</row>",
    "parameter entities": b'<!DOCTYPE o [<!ENTITY % x SYSTEM "http://127.0.0.1:1/">%x;]><row/>',
    "a bare document type": b"<!DOCTYPE row><row><key/><count>1</count></row>",
    "in UTF-16": "<!DOCTYPE row><row><key/><count>1</count></row>".encode("utf-16"),
    "depth": b"<row>" + b"<x>" * 300 + b"</x>" * 300 + b"</row>",
    "endless depth": b"<row>" * 1_000_000,
    "a large text": b"<row><key>" + b"x" * 11_000_000 + b"</key><count>1</count></row>",
    "attributes without end": b"<row " + b"".join(b'a%d="" ' % n for n in range(200_000)),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_document_is_refused_in_bounded_memory(name: str) -> None:
    serde: Serde[Row] = xml_serde(Row, path="row")
    good = serde.serialize({"key": "a", "count": 1})
    tracemalloc.start()
    with pytest.raises(DeserializationError, match=r"expected xml\[Row at row\]"):
        serde.deserialize(HOSTILE[name])
    with pytest.raises(DeserializationError):
        serde.deserialize_many(pa.array([good, HOSTILE[name], good]))
    assert tracemalloc.get_traced_memory()[1] < 100 << 20
    tracemalloc.stop()
    assert serde.deserialize_many(pa.array([good])) == [{"key": "a", "count": 1}]


PIECES = [
    *("<row>", "</row>", "<key/>", "<count>1</count>", "<!--", "-->", "<?p", "?>", "<![CDATA["),
    *("]]>", "</all>", "<all>", "x", " ", "<row><key/><count>2</count></row>", "<!DOCTYPE row>"),
    *('<?xml version="1.0"?>', "<row><key>a</key><count>3</count></row>"),
]


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=5).map("".join), max_size=4))
def test_xml_bulk_reading_equals_reading_of_each_document(documents: list[str]) -> None:
    serde: Serde[Row] = xml_serde(Row, path="row")
    data = [document.encode() for document in documents]

    def outcome(read: Any) -> object:
        try:
            return read()
        except DeserializationError as exc:
            return exc.message

    singly = outcome(lambda: [serde.deserialize(each) for each in data])
    assert outcome(lambda: serde.deserialize_many(pa.array(data, pa.binary()))) == singly


def test_many_xml_documents_keep_their_order() -> None:
    serde: Serde[Row] = xml_serde(Row, path="row")
    rows: list[Row] = [{"key": f"{n}", "count": n} for n in range(2500)]
    assert serde.deserialize_many(serde.serialize_many(rows)) == rows


def test_xml_serde_supports_recursive_type() -> None:
    serde = xml_serde(Tree, path="tree")
    assert serde.serialize(Tree([Tree(), Tree([Tree()])])) == (
        b"<tree><child></child><child><child></child></child></tree>"
    )
    deep = Tree()
    for _ in range(2000):
        deep = Tree([deep])
    with pytest.raises(SerializationError, match="recursion"):
        serde.serialize(deep)


def test_none_is_written_as_xml_nil_if_absent_element_means_default() -> None:
    data = xml_serde(Order, path="order").serialize(Order(1, None, due=None))
    assert b'<due xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"/>' in data
    assert b"note" not in data


@pytest.mark.parametrize(
    ("hint", "problem"),
    [
        (dict[str, int], "cannot be an XML element"),
        (int | str, "a union of several types"),
        (list[int] | None, "a list and may be None"),
        (list[list[int]], "cannot be an XML element"),
        (Annotated[list[int], ATTRIBUTE], "marked as attribute"),
        (Annotated[Price, CONTENT], "marked as content, but is not a scalar"),
        (complex, "cannot be decoded from XML"),
    ],
    ids=str,
)
def test_type_without_xml_encoding_is_refused_at_the_call(hint: Any, problem: str) -> None:
    kind: Any = dataclass(type("Bad", (), {"__annotations__": {"x": hint}}))
    with pytest.raises(TypeError, match=problem):
        xml_serde(kind)


def test_xml_serde_refuses_scalar_as_document() -> None:
    with pytest.raises(TypeError, match="expected a dataclass"):
        xml_serde(int)


@pytest.mark.parametrize("path", ["", "a//b", "a/", "a b", "<a>"])
def test_invalid_xml_path_is_refused_at_the_call(path: str) -> None:
    with pytest.raises(ValueError, match="expected tags"):
        xml_serde(Item, path=path)


def test_xml_hooks_support_other_types() -> None:
    @dataclass
    class Wave:
        z: complex

    serde = xml_serde(Wave, enc_hook=str, dec_hook=lambda kind, value: kind(value))
    assert serde.serialize(Wave(1 + 2j)) == b"<Wave><z>(1+2j)</z></Wave>"
    assert serde.deserialize(b"<Wave><z>(1+2j)</z></Wave>") == Wave(1 + 2j)
    with pytest.raises(DeserializationError):
        serde.deserialize(b"<Wave><z>?</z></Wave>")


def test_xml_values_are_entered_and_printed_as_json() -> None:
    serde: Any = xml_serde(Item)
    shown = {"name": "tea", "price": {"amount": 2.5, "currency": "EUR"}}
    assert serde.to_json(Item("tea", Price(2.5))) == shown
    assert serde.from_json(shown) == Item("tea", Price(2.5))


def test_xml_serde_is_found_by_its_plugin_name() -> None:
    assert load_plugin("kstreams.serdes", "xml") is xml_serde


@pytest.mark.parametrize("missing", ["lxml", "msgspec"])
def test_missing_packages_error_names_the_extra(missing: str) -> None:
    code = f"import sys; sys.modules['{missing}'] = None; import kstreams_xml"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "XML needs lxml and msgspec: pip install 'kstreams-spark[xml]'" in done.stderr
