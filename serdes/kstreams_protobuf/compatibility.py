"""The compatibility of a message with the schema of a writer."""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from kstreams.serde import Schema
from kstreams_protobuf.declared import Declared, DeclaredField, declared

__all__ = ("check_readable",)

_ALIKE = (
    ("int32", "int64", "uint32", "uint64", "bool", "enum"),
    ("sint32", "sint64"),
    ("fixed32", "sfixed32"),
    ("fixed64", "sfixed64"),
    ("string", "bytes"),
)
"""Groups of types that can be read as each other."""
_CLASSES = {kind: kinds[0] for kinds in _ALIKE for kind in kinds}
_TYPES = frozenset(FieldDescriptorProto.Type.keys())
_MESSAGE, _ENUM = "message", "enum"


def check_readable(message: Descriptor, writer: Schema) -> None:
    """Check that a message can read the data of a writer's schema, by field numbers.

    Fields that only one side has are allowed: they are ignored, or have their default.

    Raises:
        ValueError: A field would be skipped or lost; or the schema is of another message.
    """
    if writer.kind != "PROTOBUF":
        raise ValueError(
            f"{message.full_name} is a protobuf message, but the data was written as {writer.kind}"
        )
    found = declared(writer.text, *_imported(writer))
    name = writer.record_name or _name_at(found, writer.message_indexes or (0,))
    if name != message.full_name:
        raise ValueError(
            f"expected data of message {message.full_name}, got data of "
            f"{f'message {name}' if name else 'a message that its schema does not have'}"
        )
    if name not in found.messages:
        raise ValueError(f"the writer's schema has no message {name}")
    _Comparison(found).compare(message, name)


def _imported(schema: Schema) -> list[str]:
    """Return the texts of all files that a schema imports; imported files precede their users."""
    found: list[str] = []
    for reference in schema.references:
        found.extend([*_imported(reference.schema), reference.schema.text])
    return found


def _name_at(found: Declared, indexes: tuple[int, ...]) -> str:
    name = ""
    for index in indexes:
        inside = [each for each in found.nested(name) if not each.endswith("<>")]
        if index >= len(inside):
            return ""
        name = inside[index]
    return name


class _Comparison:
    def __init__(self, writers: Declared) -> None:
        self._writers = writers
        self._seen: set[tuple[Descriptor, str]] = set()

    def compare(self, reader: Descriptor, name: str) -> None:
        if (reader, name) in self._seen:
            return
        self._seen.add((reader, name))
        written = self._writers.messages[name]
        for field in reader.fields:
            theirs = written.get(field.number)
            if theirs is not None:
                self._field(field, theirs, name)
            elif field.is_required:
                raise ValueError(f"the writer's schema lacks the required field {field.full_name}")

    def _field(self, field: FieldDescriptor, theirs: DeclaredField, scope: str) -> None:
        kind, inner = self._kind(theirs, scope)
        own = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
        if kind is None:
            return  # of a file that the schema was sent without
        if _CLASSES.get(own, own) != _CLASSES.get(kind, kind):
            raise ValueError(
                f"field {field.full_name} = {field.number} is {own}, but was written as "
                f"{theirs.kind.lstrip('.')} ({theirs.name})"
            )
        if theirs.repeated and not field.is_repeated:
            raise ValueError(
                f"field {field.full_name} = {field.number} is not repeated, but was written as "
                "repeated"
            )
        if inner is not None and field.message_type is not None:
            self.compare(field.message_type, inner)

    def _kind(self, field: DeclaredField, scope: str) -> tuple[str | None, str | None]:
        """Return the type of a field, and the name of its message; None for unknown ones."""
        if f"TYPE_{field.kind.upper()}" in _TYPES:
            return field.kind, None
        name = self._writers.resolved(field.kind, scope)
        if name is None:
            return None, None
        return (_ENUM, None) if name in self._writers.enums else (_MESSAGE, name)
