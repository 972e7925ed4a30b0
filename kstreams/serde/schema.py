"""What a serde's bytes are, as schema registries and upgrades know it."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal, TypeVar

import pyarrow as pa

from kstreams.serde.base import Serde

__all__ = ("Schema", "SchemaKind", "SchemaReference", "SchemaSerde")

SchemaKind = Literal["AVRO", "PROTOBUF", "JSON"]
"""The languages of schemas, by the names that registries give them."""

T = TypeVar("T")
"""The type that a serde converts."""

_FINGERPRINT_DIGITS = 16


@dataclass(frozen=True)
class SchemaReference:
    """A schema that another one is written with, such as an imported file of messages.

    Args:
        name: What the other schema calls it: a full name in Avro, a path in protobuf.
        schema: What it is.
    """

    name: str
    schema: Schema


@dataclass(frozen=True)
class Schema:
    """A schema in its canonical text: equal schemas have equal texts.

    Args:
        kind: The language that it is written in.
        text: The schema, without comments, documentation and spaces that say nothing.
        record_name: Full name of the record or message that a datum is.
        message_indexes: Where the message stands in its file, from the outermost; protobuf alone.
        references: Schemas that the text names.
    """

    kind: SchemaKind
    text: str
    record_name: str = ""
    message_indexes: tuple[int, ...] = ()
    references: tuple[SchemaReference, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that differ where schemas do."""
        digest = hashlib.sha256(f"{self.kind}\n{self.record_name}\n{self.text}".encode())
        for reference in self.references:
            digest.update(f"\n{reference.name}\n{reference.schema.fingerprint}".encode())
        return digest.hexdigest()[:_FINGERPRINT_DIGITS]


class SchemaSerde(Serde[T]):
    """A serde whose bytes a schema describes. Its `name` holds the schema's fingerprint.

    So a store, whose definition records the names of its serdes, tells an upgrade that the
    schema of what it holds has changed.
    """

    __slots__ = ()

    schema: Schema
    """What `serialize` writes."""

    @abstractmethod
    def reading(self, writer: Schema) -> Serde[T]:
        """Return a serde that makes the same objects of what another schema has written.

        Bytes without a frame, in bulk and singly. It need not be able to write.

        Raises:
            ValueError: The objects cannot be made of it; the text says which field, and why.
        """

    def rewritten(self, data: pa.Array, reader: Serde[T]) -> pa.Array:
        """Turn a `binary` array that another schema has written into what this serde writes.

        Worth overriding where that takes no objects. Null stays null.

        Args:
            data: What the other schema has written.
            reader: What `reading` has returned for that schema.

        Raises:
            DeserializationError: As `deserialize_many` of the reader.
        """
        return self.serialize_many(reader.deserialize_many(data))
