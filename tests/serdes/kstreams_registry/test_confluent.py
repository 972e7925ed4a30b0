"""Serdes in the wire format: requests to the registry, and behavior without a reply."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from devtools.servers.fake_registry import FakeRegistry
from kstreams import TEXT, Serde, Topic
from kstreams.errors import DeserializationError, RegistryUnavailableError
from kstreams_registry import (
    HEADER_IDS,
    SchemaRefusedError,
    SchemaRegistry,
    SubjectName,
    confluent,
)
from kstreams_registry.confluent import ConfluentSerde
from tests.support.serdes.schema_serde import (  # a fixture
    Fields,
    Messages,
    guid_frame,
    schema_text,
)

V1, V2 = Fields("item", "n"), Fields("item", "n", "note?")


def registry(fake: FakeRegistry, **options: Any) -> SchemaRegistry:
    options = {"attempts": 2, "timeout": timedelta(seconds=5), **options}
    return SchemaRegistry(fake.url, **options)


def in_topic(serde: Serde[Any], part: str = "value", **options: Any) -> ConfluentSerde[Any]:
    topic = Topic("orders", serde if part == "key" else TEXT, serde, **options)
    found = topic.key if part == "key" else topic.value
    assert isinstance(found, ConfluentSerde)
    return found


def made(fake: FakeRegistry, serde: Any = V1, **options: Any) -> ConfluentSerde[Any]:
    return in_topic(confluent(serde, registry(fake), **options))


# --------------------------------------------------------------------------- bytes


def test_schema_id_precedes_the_data(fake: FakeRegistry) -> None:
    fake.add("orders-value", V1.schema.text, number=258)
    serde = made(fake)
    data = serde.serialize({"item": "tea", "n": "2"})
    assert data == b"\0\0\0\x01\x02tea,2"
    assert serde.deserialize(data) == {"item": "tea", "n": "2"}
    many = serde.serialize_many([{"item": "tea", "n": "2"}, None])
    assert many.to_pylist() == [data, None]
    assert serde.deserialize_many(many) == [{"item": "tea", "n": "2"}, None]


def test_rows_of_several_writer_schemas_keep_their_order(fake: FakeRegistry) -> None:
    old, new = fake.add("orders-value", V1.schema.text), fake.add("orders-value", V2.schema.text)
    other = fake.add("orders-value", schema_text("n", "item"))
    rows = [
        b"\0\0\0\0%ctea,1" % old,
        None,
        b"\0\0\0\0%c2,tea" % other,
        b"\0\0\0\0%ctea,3,hot" % new,
        guid_frame(fake, old) + b"tea,4",
    ]
    found = made(fake, V2).deserialize_many(pa.array([b"cut", *rows], pa.binary()).slice(1))
    assert [row and (row["n"], row["note?"]) for row in found] == [
        ("1", "-"),
        None,
        ("2", "-"),
        ("3", "hot"),
        ("4", "-"),
    ]


def test_stores_contain_data_in_schema_of_the_type(fake: FakeRegistry) -> None:
    old = fake.add("orders-value", V1.schema.text)
    serde = made(fake, V2)
    plain = serde.to_plain(pa.array([b"\0\0\0\0%ctea,1" % old], pa.binary()))
    assert plain.to_pylist() == [b"tea,1,-"]
    assert serde.plain is V2
    assert V2.schema.fingerprint in serde.plain.name
    assert serde.name == f"confluent({V2.name})"


def test_message_indexes_are_written_and_read(fake: FakeRegistry) -> None:
    number = fake.add("orders-value", "message A {}", "PROTOBUF")
    head = b"\0\0\0\0%c" % number
    first, inner = made(fake, Messages(0)), made(fake, Messages(1, 0))
    assert first.serialize(b"x") == head + b"\0x"
    assert inner.serialize(b"x") == head + b"\x04\x02\x00x"
    assert first.deserialize(head + b"\x02\x00x") == b"x"
    with pytest.raises(DeserializationError, match=r"message \[1, 0\] is another one"):
        first.deserialize(head + b"\x04\x02\x00x")
    data = pa.array([head + b"\x04\x02\x00x", None, head + b"\x04\x02\x00y"], pa.binary())
    assert inner.deserialize_many(data) == [b"x", None, b"y"]


def test_message_indexes_of_old_python_clients_are_read_with_an_option(fake: FakeRegistry) -> None:
    number = fake.add("orders-value", "message A {}", "PROTOBUF")
    data = b"\0\0\0\0%c\x01\x01x" % number
    old = made(fake, Messages(1), zigzag=False)
    assert old.serialize(b"x") == data
    assert old.deserialize(data) == b"x"
    with pytest.raises(DeserializationError, match="zigzag=False"):
        made(fake, Messages(1)).deserialize(data)


def test_header_schema_ids_are_guids(fake: FakeRegistry) -> None:
    number = fake.add("orders-value", V1.schema.text)
    topic = Topic("orders", TEXT, confluent(V1, registry(fake)), framing=HEADER_IDS)
    data = topic.value.serialize({"item": "tea", "n": "1"})
    _, value, headers = topic.framed(b"k", data, (("trace", b"t"),))
    assert value == b"tea,1"
    assert headers == (("trace", b"t"), ("__value_schema_id", guid_frame(fake, number)))
    _, value, headers = topic.unframed(b"k", value, headers)
    assert value is not None
    assert topic.value.deserialize(value) == {"item": "tea", "n": "1"}
    assert headers == (("trace", b"t"),)


def test_header_ids_with_registry_without_guids_are_refused(fake: FakeRegistry) -> None:
    fake.gives_guids = False
    fake.add("orders-value", V1.schema.text)
    serde = in_topic(confluent(V1, registry(fake)), framing=HEADER_IDS)
    with pytest.raises(SchemaRefusedError, match="gives subject 'orders-value' no GUID"):
        serde.prepare(writes=True)


# --------------------------------------------------------------------------- start


def test_unregistered_schema_is_refused_with_the_difference(fake: FakeRegistry) -> None:
    fake.add("orders-value", V1.schema.text)
    with pytest.raises(SchemaRefusedError) as caught:
        made(fake, V2).prepare(writes=True)
    assert '+  "note?"' in caught.value.message
    assert caught.value.subject == "orders-value"
    assert not [place for method, place in fake.requests if place.endswith("versions")]


def test_missing_registry_subject_is_reported(fake: FakeRegistry) -> None:
    fake.add("orders.RETRY-value", V1.schema.text)
    with pytest.raises(SchemaRefusedError, match="has no subject 'orders-value'"):
        made(fake).prepare(writes=True)


def test_compatible_schema_is_registered_with_the_option(fake: FakeRegistry) -> None:
    fake.add("orders-value", V1.schema.text)
    serde = made(fake, V2, register="if-compatible")
    assert serde.serialize({"item": "a", "n": "b", "note?": "c"}) == b"\0\0\0\0\x02a,b,c"
    posts = [place for method, place in fake.requests if method == "POST"]
    assert posts[1].startswith("/compatibility/subjects/orders-value/versions")
    assert posts[2] == "/subjects/orders-value/versions?normalize=true"


def test_incompatible_schema_is_not_registered(fake: FakeRegistry) -> None:
    fake.add("orders-value", V1.schema.text)
    fake.misfits = ["reader lacks 'n'"]
    with pytest.raises(SchemaRefusedError, match=r"(?s)is incompatible with.*reader lacks 'n'"):
        made(fake, V2, register="if-compatible").prepare(writes=True)
    assert not [
        place
        for _, place in fake.requests
        if place.startswith("/subjects/orders-value/v") and "latest" not in place
    ]


def test_first_schema_of_a_subject_is_registered_without_a_compatibility_check(
    fake: FakeRegistry,
) -> None:
    made(fake, register="if-compatible").prepare(writes=True)
    assert not [place for _, place in fake.requests if place.startswith("/compat")]


def test_subject_without_compatibility_level_logs_a_warning(
    fake: FakeRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    fake.add("orders-value", V1.schema.text)
    made(fake).prepare(writes=True)
    assert not caplog.records
    fake.levels["orders-value"] = "NONE"
    made(fake).prepare(writes=True)
    assert "'orders-value'" in caplog.text
    assert "no compatibility level" in caplog.text


def test_topic_whose_latest_schema_cannot_be_read_is_refused(fake: FakeRegistry) -> None:
    fake.add("orders-value", schema_text("item"))
    with pytest.raises(SchemaRefusedError, match="field 'n' has no default"):
        made(fake).prepare(writes=False)


def test_topic_without_a_subject_can_be_read(fake: FakeRegistry) -> None:
    made(fake).prepare(writes=False)


def test_referenced_schemas_are_found_by_name(fake: FakeRegistry) -> None:
    from kstreams.serde import Schema, SchemaReference

    unit = Schema("AVRO", '{"name": "Unit"}', "Unit")
    serde = Fields("item", references=(SchemaReference("Unit", unit),))
    with pytest.raises(SchemaRefusedError):
        made(fake, serde).prepare(writes=True)
    made(fake, serde, register="if-compatible").prepare(writes=True)
    again = made(fake, serde)
    again.prepare(writes=True)
    latest = registry(fake).latest("orders-value")
    assert latest is not None
    assert latest.schema.references == (SchemaReference("Unit", Schema("AVRO", unit.text)),)


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (SubjectName.TOPIC, "orders-value"),
        (SubjectName.RECORD, "Order"),
        (SubjectName.TOPIC_RECORD, "orders-Order"),
        ("my/own one", "my/own one"),
    ],
)
def test_subject_is_derived_from_the_naming_strategy(
    fake: FakeRegistry, subject: SubjectName | str, expected: str
) -> None:
    fake.add(expected, V1.schema.text)
    made(fake, subject=subject).prepare(writes=True)


def test_record_keys_have_separate_subject(fake: FakeRegistry) -> None:
    fake.add("orders-key", V1.schema.text)
    in_topic(confluent(V1, registry(fake)), "key").prepare(writes=True)


def test_serde_of_topic_chosen_per_record_needs_explicit_subject(fake: FakeRegistry) -> None:
    serde = confluent(V1, registry(fake))
    assert isinstance(serde, ConfluentSerde)
    with pytest.raises(SchemaRefusedError, match="chosen for each record"):
        serde.prepare(writes=True)


def test_serde_without_a_schema_is_refused_by_confluent(fake: FakeRegistry) -> None:
    with pytest.raises(TypeError, match="not a SchemaSerde"):
        confluent(TEXT, registry(fake))
    with pytest.raises(ValueError, match="'never' or 'if-compatible'"):
        confluent(V1, registry(fake), register="always")  # type: ignore[arg-type]  # a mistake


# --------------------------------------------------------------------------- workers


def test_worker_sends_no_request_for_ids_known_to_the_driver(fake: FakeRegistry) -> None:
    fake.add("orders-value", V1.schema.text)
    serde = made(fake)
    serde.prepare(writes=True)
    fake.requests.clear()
    there = pickle.loads(pickle.dumps(serde))
    assert there == serde
    assert there.serialize({"item": "a", "n": "1"}) == b"\0\0\0\0\x01a,1"
    assert there.deserialize(b"\0\0\0\0\x01a,1") == {"item": "a", "n": "1"}
    assert fake.requests == []


def test_each_schema_id_is_requested_once_per_process(fake: FakeRegistry) -> None:
    number = fake.add("orders-value", V1.schema.text)
    data = pa.array([b"\0\0\0\0%ca,1" % number] * 3, pa.binary())
    for serde in (made(fake, V2), made(fake, V2)):
        serde.learn(data)
        serde.deserialize_many(data)
    assert fake.requests == [("GET", "/schemas/ids/1")]


def test_record_with_unknown_schema_id_is_bad_and_id_is_requested_once(fake: FakeRegistry) -> None:
    serde = made(fake)
    for _ in range(3):
        with pytest.raises(DeserializationError, match="no schema with id 77"):
            serde.deserialize(b"\0\0\0\0\x4da,1")
    assert fake.requests == [("GET", "/schemas/ids/77")]


def test_unknown_schema_id_is_requested_again_after_a_minute(
    fake: FakeRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    serde = made(fake)
    with pytest.raises(DeserializationError):
        serde.deserialize(b"\0\0\0\0\x01a,1")
    fake.add("orders-value", V1.schema.text)
    with pytest.raises(DeserializationError):
        serde.deserialize(b"\0\0\0\0\x01a,1")
    now += 61
    assert serde.deserialize(b"\0\0\0\0\x01a,1") == {"item": "a", "n": "1"}


def test_record_with_schema_that_does_not_match_type_is_a_bad_record(fake: FakeRegistry) -> None:
    number = fake.add("orders-value", schema_text("item"))
    with pytest.raises(DeserializationError, match="field 'n' has no default"):
        made(fake).deserialize(b"\0\0\0\0%ca" % number)


def test_unavailable_registry_raises_error_instead_of_bad_record(fake: FakeRegistry) -> None:
    serde = made(fake)
    fake.fault = lambda _method, _path: (503, {})
    for act in (
        lambda: serde.deserialize(b"\0\0\0\0\x01a,1"),
        lambda: serde.learn(pa.array([b"\0\0\0\0\x01a,1"], pa.binary())),
        lambda: serde.prepare(writes=False),
        lambda: serde.serialize({"item": "a", "n": "1"}),
    ):
        with pytest.raises(RegistryUnavailableError, match="answers 503, 2 times"):
            act()
    fake.fault = lambda _method, _path: None
    fake.add("orders-value", V1.schema.text)
    assert serde.deserialize(b"\0\0\0\0\x01a,1") == {"item": "a", "n": "1"}
