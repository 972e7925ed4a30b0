"""The schema of a serde's bytes, for schema registries and upgrades."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal, TypeVar

import pyarrow as pa

from kstreams.options import checks_options
from kstreams.serde.base import Serde

__all__ = ("Schema", "SchemaKind", "SchemaReference", "SchemaSerde")

SchemaKind = Literal["AVRO", "PROTOBUF", "JSON"]
"""The schema languages, with their names in schema registries."""

T = TypeVar("T")
"""The type that a serde converts."""

_FINGERPRINT_DIGITS = 16


@dataclass(frozen=True)
class SchemaReference:
    """A schema that another schema refers to, such as an imported file of messages.

    Args:
        name: The name in the other schema: a full name in Avro, a path in protobuf.
        schema: The referenced schema.
    """

    name: str
    schema: Schema


@checks_options
@dataclass(frozen=True)
class Schema:
    """A schema in its canonical text: equal schemas have equal texts.

    Args:
        kind: The language of the schema.
        text: The schema, without comments, documentation and insignificant spaces.
        record_name: Full name of the record type or message that the values have.
        message_indexes: The position of the message in its file, from the outermost; protobuf only.
        references: Schemas that the text refers to.
    """

    kind: SchemaKind
    text: str
    record_name: str = ""
    message_indexes: tuple[int, ...] = ()
    references: tuple[SchemaReference, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits, different for different schemas."""
        digest = hashlib.sha256(f"{self.kind}\n{self.record_name}\n{self.text}".encode())
        for reference in self.references:
            digest.update(f"\n{reference.name}\n{reference.schema.fingerprint}".encode())
        return digest.hexdigest()[:_FINGERPRINT_DIGITS]


class SchemaSerde(Serde[T]):
    """A serde whose bytes a schema describes. Its `name` contains the schema's fingerprint.

    A store records the names of its serdes, so an upgrade detects a changed schema.
    """

    __slots__ = ()

    schema: Schema
    """The schema of the bytes that `serialize` writes."""

    @abstractmethod
    def reading(self, writer: Schema) -> Serde[T]:
        """Return a serde that reads the same objects from bytes of another schema.

        The serde reads bytes without a frame, in bulk and singly. It need not be able to write.

        Raises:
            ValueError: The objects cannot be created from data of the other schema. The message has
                the field and the reason.
        """

    def rewritten(self, data: pa.Array, reader: Serde[T]) -> pa.Array:
        """Convert a `binary` array of another schema to the bytes of this serde; null stays null.

        Override this method if the conversion does not need objects.

        Args:
            data: The bytes of the other schema.
            reader: The result of `reading` for that schema.

        Raises:
            DeserializationError: As `deserialize_many` of the reader.
        """
        return self.serialize_many(reader.deserialize_many(data))
