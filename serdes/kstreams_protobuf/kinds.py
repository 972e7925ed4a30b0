"""Properties of message types, from their descriptors."""

from __future__ import annotations

from functools import cache
from typing import cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import Message

from kstreams.serde import FieldType

__all__ = (
    "TIMES",
    "WRAPPERS",
    "descriptor_of",
    "field_types",
    "file_proto",
    "is_map",
    "is_number",
    "kinds_within",
    "syntax_of",
)

TIMES = ("google.protobuf.Timestamp", "google.protobuf.Duration")
WRAPPERS = tuple(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)


def descriptor_of(message: type[Message]) -> Descriptor:
    """Return the descriptor of a message class, with the type that this package uses."""
    return cast("Descriptor", message.DESCRIPTOR)


def kinds_within(message: Descriptor) -> tuple[Descriptor, ...]:
    """Return a message type and all message types within it, at any depth."""
    found = {message: None}
    waiting = [message]
    while waiting:
        for field in waiting.pop().fields:
            inner = field.message_type
            if inner is not None and inner not in found:
                found[inner] = None
                waiting.append(inner)
    return tuple(found)


def is_map(message: Descriptor | None) -> bool:
    """Return whether messages are the entries of a map."""
    return message is not None and message.GetOptions().map_entry


def is_number(field: FieldDescriptor) -> bool:
    """Return whether a field, or each element of a repeated field, is a number, bool or enum."""
    return field.cpp_type not in (FieldDescriptor.CPPTYPE_STRING, FieldDescriptor.CPPTYPE_MESSAGE)


def field_types(message: Descriptor) -> dict[str, FieldType]:
    """Return the types of a message's single numbers, bools and texts."""
    kinds: dict[int, FieldType] = {
        FieldDescriptor.CPPTYPE_BOOL: bool,
        FieldDescriptor.CPPTYPE_FLOAT: float,
        FieldDescriptor.CPPTYPE_DOUBLE: float,
        FieldDescriptor.CPPTYPE_STRING: str,
        FieldDescriptor.CPPTYPE_ENUM: int,
    }
    return {
        field.name: kinds.get(field.cpp_type, int)
        for field in message.fields
        if not field.is_repeated
        and field.cpp_type != FieldDescriptor.CPPTYPE_MESSAGE
        and field.type != FieldDescriptor.TYPE_BYTES
    }


def syntax_of(file: FileDescriptor) -> str:
    """Return `proto2`, `proto3` or `editions`."""
    return file_proto(file).syntax or "proto2"


@cache
def file_proto(file: FileDescriptor) -> FileDescriptorProto:
    """Return the descriptor of a file; do not change it."""
    proto = FileDescriptorProto()
    file.CopyToProto(proto)  # type: ignore[no-untyped-call]  # so in the stubs
    return proto
