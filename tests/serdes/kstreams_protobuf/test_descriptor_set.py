"""Serdes of messages without generated classes, from descriptor sets."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from kstreams_protobuf import descriptor_serde, protobuf_serde
from kstreams_protobuf.descriptor_set import serialized_set
from kstreams_protobuf.kinds import descriptor_of
from tests.serdes.kstreams_protobuf.shapes_pb2 import Everything

NAME = "shapes.v1.Everything"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "shapes.desc"
    found.write_bytes(serialized_set(descriptor_of(Everything))[0])
    return found


def write(path: Path, *files: FileDescriptorProto) -> None:
    path.write_bytes(FileDescriptorSet(file=files).SerializeToString())


def test_descriptor_serde_equals_serde_of_generated_class_except_for_message_class(
    path: Path,
) -> None:
    serde, own = descriptor_serde(path, NAME), protobuf_serde(Everything)
    assert (serde.name, serde.arrow_type) == (own.name, own.arrow_type)
    value = Everything(an_int32=5, price={"units": 3})  # type: ignore[arg-type]  # as Money
    data = own.serialize(value)
    read = serde.deserialize(data)
    assert serde.serialize(read) == data
    assert serde.from_json(own.to_json(value)) == read
    assert serde.to_arrow(own.serialize_many([value])).to_pylist()[0]["price"]["units"] == 3
    assert serde != own


def test_descriptor_serde_is_pickled_with_its_descriptors(path: Path) -> None:
    serde = descriptor_serde(str(path), NAME)
    data = pickle.dumps(serde)
    path.unlink()
    copy = pickle.loads(data)
    assert copy == serde
    assert hash(copy) == hash(serde)
    assert copy.deserialize(b"\x18\x05") == serde.deserialize(b"\x18\x05")


def test_same_descriptor_set_gives_equal_serdes(path: Path) -> None:
    assert descriptor_serde(path, NAME) == descriptor_serde(path, NAME)
    assert descriptor_serde(path, "shapes.v1.Mapped") != descriptor_serde(path, NAME)


def test_descriptor_set_may_lack_the_files_of_protobuf_itself(tmp_path: Path) -> None:
    files = FileDescriptorSet.FromString(serialized_set(descriptor_of(Everything))[0])
    own = [file for file in files.file if not file.name.startswith("google/")]
    write(tmp_path / "own.desc", *own)
    assert descriptor_serde(tmp_path / "own.desc", NAME).name == protobuf_serde(Everything).name
    write(tmp_path / "part.desc", own[-1])
    with pytest.raises(ValueError, match=r"lacks '.*money.proto'[^H]*\nHint: .*--include_imports"):
        descriptor_serde(tmp_path / "part.desc", NAME)


def test_wrong_message_name_is_refused_with_similar_names(path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"no message 'Everything'\nHint: messages of the set: shapes"
    ):
        descriptor_serde(path, "Everything")
    with pytest.raises(ValueError, match=r"no message 'shapes.v1.Color'"):
        descriptor_serde(path, "shapes.v1.Color")


@pytest.mark.parametrize("data", [b"\xff\xff", b"\x0a\x05abc", b"#!/bin/sh", b"\x0a\x02\x0a\xff"])
def test_file_that_is_not_a_descriptor_set_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(ValueError, match=r"set of descriptors|no message"):
        descriptor_serde(tmp_path / "x", NAME)


def test_hostile_descriptor_sets_are_refused(tmp_path: Path) -> None:
    loop = [
        FileDescriptorProto(name="a.proto", dependency=["b.proto"]),
        FileDescriptorProto(name="b.proto", dependency=["a.proto"]),
    ]
    write(tmp_path / "loop", *loop)
    with pytest.raises(ValueError, match="imports itself"):
        descriptor_serde(tmp_path / "loop", "X")
    twice = FileDescriptorProto(name="a.proto")
    twice.message_type.add(name="X")
    twice.message_type.add(name="X")
    write(tmp_path / "twice", twice)
    with pytest.raises(ValueError, match=r"protobuf rejects file 'a.proto'"):
        descriptor_serde(tmp_path / "twice", "X")
    named = FileDescriptorProto(name="a.proto", dependency=["google/protobuf/../../os.proto"])
    write(tmp_path / "named", named)
    with pytest.raises(ValueError, match="lacks"):
        descriptor_serde(tmp_path / "named", "X")
    with pytest.raises(OSError, match="No such file"):
        descriptor_serde(tmp_path / "nowhere", "X")


def test_too_large_descriptor_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kstreams_protobuf.serde._MOST_SET_BYTES", 10)
    (tmp_path / "x").write_bytes(b"x" * 11)
    with pytest.raises(ValueError, match="at most 10 bytes"):
        descriptor_serde(tmp_path / "x", "X")
