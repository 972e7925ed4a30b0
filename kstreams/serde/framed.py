"""Framed serdes: they put a frame in front of the bytes of another serde.

A frame is bytes that say how to decode the rest, such as a schema id of a registry. Frames are only
in topics; see `FramedSerde`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from typing_extensions import override

from kstreams.errors import KStreamsError
from kstreams.serde.base import FieldType, Serde
from kstreams.serde.composite import CompositeSerde

__all__ = ("FramedSerde", "TopicPart", "frame_of", "framed_in", "in_topic", "plain_of", "prepare")

T = TypeVar("T")
"""The type that a serde converts."""

TopicPart = Literal["key", "value"]
"""The part of a topic's records that a serde is for."""


class FramedSerde(Serde[T]):
    """A serde whose bytes are a frame followed by the bytes of another serde: its `plain`.

    The frame belongs to the topic. Sources remove it before decoding, sinks prepend it after
    encoding; stores, edges and changelogs never have it. A typical frame is the id of a schema in a
    registry, which determines how to read the rest.

    Args:
        format: Name of the frame; `name` adds the plain serde's name in brackets.
        plain: Serde of the bytes after the frame.
    """

    def __init__(self, format: str, plain: Serde[T]) -> None:  # noqa: A002  # its best name
        self.name = f"{format}({plain.name})"
        self.type_token = plain.type_token
        self.immutable = plain.immutable
        self.arrow_type = plain.arrow_type
        self._plain = plain

    @property
    def plain(self) -> Serde[T]:
        """The serde of the bytes after the frame."""
        return self._plain

    @property
    @abstractmethod
    def frame(self) -> bytes:
        """The bytes that `serialize` prepends; the same for all objects."""

    @abstractmethod
    def to_plain(self, data: pa.Array) -> pa.Array:
        """Remove the frames, and convert bytes in other formats to the format of `plain`.

        Raises:
            DeserializationError: A frame, or the bytes after it, cannot be read.
            RegistryUnavailableError: The registry of the frames does not answer.
        """

    def learn(self, data: pa.Array) -> None:  # not all have to
        """Look up the meaning of each frame in a column, before a batch is decoded.

        Raises:
            RegistryUnavailableError: The registry of the frames does not answer.
        """

    def in_topic(self, topic: str, part: TopicPart, *, apart: bool) -> FramedSerde[T]:
        """Return the serde to use for keys or values of a topic; by default itself.

        Args:
            topic: The topic's name.
            part: The part of the records that the serde converts: key or value.
            apart: Whether the topic has a `Framing`, which stores frames apart from the key and
                value bytes, such as in headers.
        """
        return self

    def prepare(self, *, writes: bool) -> None:  # not all have to
        """Look up data that workers will need; called on the driver before an app starts.

        Args:
            writes: Whether the app writes the topic; False if it reads the topic.

        Raises:
            KStreamsError: The topic cannot be read or written with this serde.
        """

    def serialize(self, value: T) -> bytes:
        """Serialize the value and prepend the frame."""
        return self.frame + self._plain.serialize(value)

    def deserialize(self, data: bytes) -> T:
        """Remove the frame and deserialize the rest."""
        (plain,) = self.to_plain(pa.array([data], pa.binary()))
        return self._plain.deserialize(plain.as_py())

    @override
    def serialize_many(self, values: Sequence[T | None]) -> pa.Array:
        return self._framed(self._plain.serialize_many(values))

    @override
    def deserialize_many(self, data: pa.Array) -> list[T | None]:
        return self._plain.deserialize_many(self.to_plain(data))

    def to_arrow(self, data: pa.Array) -> pa.Array:
        """Remove the frames and decode; values that stay bytes in columns only lose their frame."""
        return self._plain.to_arrow(self.to_plain(data))

    def from_arrow(self, column: pa.Array) -> pa.Array:
        """Encode a column and prepend frames; values that are bytes already only get a frame."""
        return self._framed(self._plain.from_arrow(column))

    @override
    def field(self, column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
        return self._plain.field(column, name, kind)

    @property
    @override
    def field_types(self) -> Mapping[str, FieldType]:
        return self._plain.field_types

    @override
    def read_fields(
        self, column: pa.Array, kinds: Mapping[str, pa.DataType]
    ) -> dict[str, pa.Array]:
        return self._plain.read_fields(column, kinds)

    def _framed(self, data: pa.Array) -> pa.Array:
        if data.null_count == len(data):
            return data
        frame, nothing = (pa.scalar(each, pa.binary()) for each in (self.frame, b""))
        return pc.binary_join_element_wise(frame, data, nothing)


def framed_in(serde: Serde[Any]) -> Iterator[FramedSerde[Any]]:
    """Yield the `FramedSerde` objects of a serde: the serde itself, or parts of a composite one."""
    if isinstance(serde, FramedSerde):
        yield serde
    elif isinstance(serde, CompositeSerde):
        for part in serde.parts:
            yield from framed_in(part)


def prepare(*serdes: Serde[Any], writes: bool, node: str | None = None) -> None:
    """Look up data that serdes of a topic will need; see `FramedSerde.prepare`.

    Raises:
        KStreamsError: The topic cannot be read or written with these serdes. The error names the
            node.
    """
    try:
        for serde in serdes:
            for framed in framed_in(serde):
                framed.prepare(writes=writes)
    except KStreamsError as exc:
        raise exc.at(node=node) from exc.__cause__


def in_topic(serde: Serde[T], topic: str, part: TopicPart, *, apart: bool) -> Serde[T]:
    """Return a serde whose `FramedSerde` parts are replaced by those for a topic.

    The arguments are those of `FramedSerde.in_topic`, which replaces each part.
    """
    if isinstance(serde, FramedSerde):
        return serde.in_topic(topic, part, apart=apart)
    if isinstance(serde, CompositeSerde):
        return serde.of_parts(lambda each: in_topic(each, topic, part, apart=apart))
    return serde


def plain_of(serde: Serde[T]) -> Serde[T]:
    """Return the serde without frames; any other object is returned as it is."""
    given: object = serde
    return serde.plain if isinstance(given, Serde) else serde


def frame_of(serde: Serde[Any]) -> bytes:
    """Return the frame that a serde prepends; for a windowed key, the frame of the key."""
    while serde.tail_bytes and isinstance(serde, CompositeSerde):
        serde = serde.parts[0]
    return serde.frame if isinstance(serde, FramedSerde) else b""
