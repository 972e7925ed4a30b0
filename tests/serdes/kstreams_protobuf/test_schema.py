"""The schema of a message: its canonical text, and the schemas that it can read."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from kstreams.serde.schema import Schema, SchemaReference
from kstreams_protobuf import protobuf_serde
from kstreams_protobuf.descriptor_set import message_class
from kstreams_protobuf.serde import ProtobufSerde
from tests.serdes.kstreams_protobuf.legacy_pb2 import Legacy
from tests.serdes.kstreams_protobuf.money_pb2 import Money
from tests.serdes.kstreams_protobuf.shapes_pb2 import Everything, Mapped, Nothing
from tests.serdes.kstreams_protobuf.trees_pb2 import Egg

FILES = Path(__file__).parent
MONEY = """\
syntax = "proto3";
package shapes.v1;
option java_package = "org.example.shapes";
message Money {
  reserved 3, 5 to 7;
  reserved "cents";
  string currency = 1;
  sint64 units = 2;
}
"""


def changed(change: Callable[[FileDescriptorProto], object]) -> ProtobufSerde[Any]:
    """Return a serde of Money after a change to its file."""
    proto = FileDescriptorProto()
    Money.DESCRIPTOR.file.CopyToProto(proto)
    change(proto)
    files = FileDescriptorSet(file=[proto])
    return ProtobufSerde(message_class(files.SerializeToString(), "shapes.v1.Money"))


def test_protobuf_schema_text_is_canonical() -> None:
    schema = protobuf_serde(Money).schema
    assert schema.text == MONEY
    assert (schema.kind, schema.record_name) == ("PROTOBUF", "shapes.v1.Money")
    assert schema.message_indexes == (0,)
    assert schema.references == ()


def test_schema_text_of_proto2_message_equals_recorded_text() -> None:
    text = protobuf_serde(Legacy).schema.text
    assert text.startswith('syntax = "proto2";\npackage shapes.v1;\nmessage Legacy {\n')
    assert '  optional string text = 7 [default = "a \\"b\\"\\012\\001"];\n' in text
    assert '  optional bytes blob = 8 [default = "\\000\\377"];\n' in text
    assert "  optional .shapes.v1.Size size = 3 [default = LARGE];\n" in text
    assert "  extensions 100 to 199;\n" in text
    assert "  optional group Body = 2 {\n    optional int32 x = 1;\n  }\n" in text


def test_imports_are_references_except_those_of_protobuf_itself() -> None:
    schema = protobuf_serde(Everything).schema
    name = "tests/serdes/kstreams_protobuf/money.proto"
    assert schema.references == (SchemaReference(name, Schema("PROTOBUF", MONEY)),)
    assert 'import "google/protobuf/timestamp.proto";' in schema.text


@pytest.mark.parametrize(
    ("kind", "indexes"),
    [(Everything, (0,)), (Everything.Inner, (0, 0)), (Mapped, (1,)), (Nothing, (3,)), (Egg, (2,))],
    ids=lambda case: getattr(case, "__name__", None),
)
def test_message_indexes_give_the_position_of_the_message(
    kind: Any, indexes: tuple[int, ...]
) -> None:
    assert protobuf_serde(kind).schema.message_indexes == indexes


def test_protobuf_serde_name_changes_with_schema() -> None:
    serde = protobuf_serde(Money)
    assert serde.name == f"protobuf[shapes.v1.Money:{serde.schema.fingerprint}]"
    assert serde.name == "protobuf[shapes.v1.Money:67193dc2b4dc9191]"

    def add(proto: FileDescriptorProto) -> None:
        proto.message_type[0].field.add(name="more", number=9, type=5, label=1)

    assert changed(add).name != serde.name
    assert changed(add).schema.text.count("int32 more = 9;") == 1


def test_comments_and_order_of_fields_do_not_change_the_schema() -> None:
    def shuffle(proto: FileDescriptorProto) -> None:
        fields = list(proto.message_type[0].field)[::-1]
        del proto.message_type[0].field[:]
        proto.message_type[0].field.extend(fields)
        location = proto.source_code_info.location.add()
        location.leading_comments = "a comment"

    assert changed(shuffle).name == protobuf_serde(Money).name


def wrote(body: str, **rest: Any) -> Schema:
    return Schema(
        "PROTOBUF",
        f'syntax = "proto3"; package shapes.v1; message Money {{ {body} }}',
        record_name="shapes.v1.Money",
        **rest,
    )


@pytest.mark.parametrize(
    "body",
    [
        "string currency = 1; sint64 units = 2;",
        "",
        "sint64 units = 2; // as it was\n",
        "bytes currency = 1; /* as wide */ string more = 17 [deprecated = true, (own.x) = {a: 1}];",
        'option deprecated = true; reserved 9, 10 to max; reserved "x"; string other = 1;',
        "oneof either { option (o) = 1; string currency = 1; sint64 units = 2; }",
        "enum E { A = 0; } message M { E e = 1; } M m = 5; map<string, M> ms = 6;",
        "missing.Type currency = 1;",
        "optional group Body = 7 { optional int32 x = 1; } extensions 100 to 200;",
    ],
)
def test_compatible_writer_schema_is_read_by_the_serde_itself(body: str) -> None:
    serde = protobuf_serde(Money)
    assert serde.reading(wrote(body)) is serde


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("int64 units = 2;", "units = 2 is sint64, but was written as int64"),
        ("string units = 2;", "was written as string"),
        ("repeated sint64 units = 2;", "was written as repeated"),
        ("message M {} M currency = 1;", "is string, but was written as M"),
        ("enum E { A = 0; } E units = 2;", "was written as E"),
        ("map<string, string> currency = 1;", "currency = 1 is string"),
    ],
)
def test_writer_schema_whose_fields_would_be_lost_is_refused(body: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        protobuf_serde(Money).reading(wrote(body))


def test_compatibility_check_compares_fields_of_nested_messages() -> None:
    schema = protobuf_serde(Everything).schema
    serde = protobuf_serde(Everything)
    assert serde.reading(schema) is serde
    worse = Schema("PROTOBUF", MONEY.replace("sint64 units", "fixed64 units"))
    other = Schema(
        "PROTOBUF",
        schema.text,
        schema.record_name,
        references=(SchemaReference(schema.references[0].name, worse),),
    )
    with pytest.raises(ValueError, match=r"Money.units = 2 is sint64, but was written as fixed64"):
        serde.reading(other)


def test_writer_schema_without_a_required_field_is_refused() -> None:
    text = protobuf_serde(Legacy).schema.text.replace("required int64 id = 1;", "")
    with pytest.raises(ValueError, match=r"lacks the required field shapes.v1.Legacy.id"):
        protobuf_serde(Legacy).reading(Schema("PROTOBUF", text, "shapes.v1.Legacy"))


@pytest.mark.parametrize("name", ["shapes", "money", "legacy", "trees"])
def test_proto_files_are_read_as_schemas(name: str) -> None:
    kinds = {"shapes": Mapped, "money": Money, "legacy": Legacy, "trees": Egg}
    serde: Any = protobuf_serde(kinds[name])
    text = (FILES / f"{name}.proto").read_text()
    full = serde.schema.record_name
    assert serde.reading(Schema("PROTOBUF", text, full)) is serde
    assert serde.reading(Schema("PROTOBUF", text, message_indexes=serde.schema.message_indexes))


def test_base64_descriptor_is_read_as_a_schema() -> None:
    serde = protobuf_serde(Money)
    text = b64encode(Money.DESCRIPTOR.file.serialized_pb).decode()
    assert serde.reading(Schema("PROTOBUF", text, "shapes.v1.Money")) is serde


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (Schema("AVRO", "{}"), "was written as AVRO"),
        (Schema("PROTOBUF", 'syntax = "proto3";'), "a message that its schema does not have"),
        (Schema("PROTOBUF", "message Other {}"), "got data of message Other"),
        (
            Schema("PROTOBUF", MONEY, message_indexes=(3,)),
            "a message that its schema does not have",
        ),
        (Schema("PROTOBUF", "package x;", "shapes.v1.Money"), "has no message shapes.v1.Money"),
        (Schema("PROTOBUF", "message Money {"), "ends too early"),
        (Schema("PROTOBUF", "message Money { string a = b; }"), "expected a field number, got 'b'"),
        (Schema("PROTOBUF", "message Money = 1;"), "expected '{'"),
        (Schema("PROTOBUF", "message " + "M { message " * 500), "more than 100 levels"),
        (Schema("PROTOBUF", "\x00\x01"), "not a valid protobuf schema"),
        (Schema("PROTOBUF", " " * 10_000_001), "at most 10,000,000 characters"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_invalid_schema_is_refused(schema: Schema, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        protobuf_serde(Money).reading(schema)
