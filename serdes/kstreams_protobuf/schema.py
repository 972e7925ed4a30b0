"""The schema of a message, from its descriptor."""

from __future__ import annotations

from functools import cache

from google.protobuf.descriptor import Descriptor, FileDescriptor

from kstreams.serde import Schema, SchemaReference
from kstreams_protobuf.kinds import file_proto
from kstreams_protobuf.proto_text import file_text

__all__ = ("known_everywhere", "schema_of")

_OF_PROTOBUF = "google/protobuf/"


@cache
def schema_of(descriptor: Descriptor) -> Schema:
    """Return the schema of a message: the text of its file, and its position in the file.

    Imported files are references, except protobuf's own files, which are known everywhere.
    """
    file = _schema_of_file(descriptor.file)
    return Schema(
        "PROTOBUF",
        file.text,
        record_name=descriptor.full_name,
        message_indexes=_indexes(descriptor),
        references=file.references,
    )


def known_everywhere(path: str) -> bool:
    """Return whether a file is part of protobuf."""
    return path.startswith(_OF_PROTOBUF)


@cache
def _schema_of_file(file: FileDescriptor) -> Schema:
    imported = sorted(file.dependencies, key=lambda other: other.name)
    return Schema(
        "PROTOBUF",
        file_text(file_proto(file)),
        references=tuple(
            SchemaReference(other.name, _schema_of_file(other))
            for other in imported
            if not known_everywhere(other.name)
        ),
    )


def _indexes(descriptor: Descriptor) -> tuple[int, ...]:
    place: tuple[int, ...] = ()
    inner = descriptor
    while inner.containing_type is not None:
        outer = inner.containing_type
        place = (list(outer.nested_types).index(inner), *place)
        inner = outer
    return (
        [message.name for message in file_proto(inner.file).message_type].index(inner.name),
        *place,
    )
