"""Serdes of topics whose bytes have a frame around what another serde writes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from kstreams.errors import KStreamsError
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde

__all__ = ("FramedSerde", "TopicPart", "frame_of", "framed_in", "in_topic", "plain_of", "prepare")

T = TypeVar("T")
"""The type that a serde converts."""

TopicPart = Literal["key", "value"]
"""What of a topic's records a serde is for."""


class FramedSerde(Serde[T]):
    """A serde whose bytes are a frame, and behind it the bytes of another one: its `plain`.

    The frame belongs to the topic. Sources take it off before anything decodes, sinks put it on
    when all is encoded; stores, edges and changelogs never see it. Made for ids of schemas in a
    registry, which say how the rest is to be read.

    Args:
        format: Name of the frame; `name` adds the plain serde's in brackets.
        plain: Serde of what is framed.
    """

    def __init__(self, format: str, plain: Serde[T]) -> None:  # noqa: A002  # its best name
        self.name = f"{format}({plain.name})"
        self.type_token = plain.type_token
        self.immutable = plain.immutable
        self.arrow_type = plain.arrow_type
        self._plain = plain

    @property
    def plain(self) -> Serde[T]:
        """The serde of what is framed."""
        return self._plain

    @property
    @abstractmethod
    def frame(self) -> bytes:
        """What `serialize` puts in front; the same for all objects."""

    @abstractmethod
    def to_plain(self, data: pa.Array) -> pa.Array:
        """Take the frames off; what was written otherwise than `plain` reads is written anew.

        Raises:
            DeserializationError: A frame, or what is behind it, is not to be read.
            RegistryUnavailableError: Where to ask what a frame means does not answer.
        """

    def learn(self, data: pa.Array) -> None:  # not all have to
        """Find out what each frame of a column means: before anything of a batch is decoded.

        Raises:
            RegistryUnavailableError: Where to ask does not answer.
        """

    def in_topic(self, topic: str, part: TopicPart, *, apart: bool) -> FramedSerde[T]:
        """Return the serde as it is in a topic; itself where that is no matter.

        Args:
            topic: Its name.
            part: What of its records.
            apart: Whether the topic keeps frames apart from the bytes, by a `Framing`.
        """
        return self

    def prepare(self, *, writes: bool) -> None:  # not all have to
        """Look up what workers will need; called on the driver before an app starts.

        Args:
            writes: Whether the app writes the topic, or reads it.

        Raises:
            KStreamsError: The topic cannot be read or written so.
        """

    def serialize(self, value: T) -> bytes:
        """Convert, behind the frame."""
        return self.frame + self._plain.serialize(value)

    def deserialize(self, data: bytes) -> T:
        """Convert what is behind the frame."""
        (plain,) = self.to_plain(pa.array([data], pa.binary()))
        return self._plain.deserialize(plain.as_py())

    def serialize_many(self, values: Sequence[T | None]) -> pa.Array:
        """Convert in one step."""
        return self._framed(self._plain.serialize_many(values))

    def deserialize_many(self, data: pa.Array) -> list[T | None]:
        """Convert in one step."""
        return self._plain.deserialize_many(self.to_plain(data))

    def to_arrow(self, data: pa.Array) -> pa.Array:
        """Convert in one step; undecoded bytes are those of `plain`."""
        return self._plain.to_arrow(self.to_plain(data))

    def from_arrow(self, column: pa.Array) -> pa.Array:
        """Convert in one step; undecoded bytes are those of `plain`."""
        return self._framed(self._plain.from_arrow(column))

    def field(self, column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
        """Take one field of a `to_arrow` column."""
        return self._plain.field(column, name, kind)

    def _framed(self, data: pa.Array) -> pa.Array:
        if data.null_count == len(data):
            return data
        frame, nothing = (pa.scalar(each, pa.binary()) for each in (self.frame, b""))
        return pc.binary_join_element_wise(frame, data, nothing)


def framed_in(serde: Serde[Any]) -> Iterator[FramedSerde[Any]]:
    """Yield a framed serde, or those that a serde is made of."""
    if isinstance(serde, FramedSerde):
        yield serde
    elif isinstance(serde, CompositeSerde):
        for part in serde.parts:
            yield from framed_in(part)


def prepare(*serdes: Serde[Any], writes: bool, node: str | None = None) -> None:
    """Look up what serdes of a topic will need; see `FramedSerde.prepare`.

    Raises:
        KStreamsError: The topic cannot be read or written so; names the node.
    """
    try:
        for serde in serdes:
            for framed in framed_in(serde):
                framed.prepare(writes=writes)
    except KStreamsError as exc:
        raise exc.at(node=node) from exc.__cause__


def in_topic(serde: Serde[T], topic: str, part: TopicPart, *, apart: bool) -> Serde[T]:
    """Return a serde as it is in a topic, and all that it is made of; see `FramedSerde`."""
    if isinstance(serde, FramedSerde):
        return serde.in_topic(topic, part, apart=apart)
    if isinstance(serde, CompositeSerde):
        return serde.of_parts(lambda each: in_topic(each, topic, part, apart=apart))
    return serde


def plain_of(serde: Serde[T]) -> Serde[T]:
    """Return what a serde is without frames; what is no serde is left to the checks."""
    given: object = serde
    return serde.plain if isinstance(given, Serde) else serde


def frame_of(serde: Serde[Any]) -> bytes:
    """Return what a serde puts in front of all that it writes; of a windowed key the key's."""
    while serde.tail_bytes and isinstance(serde, CompositeSerde):
        serde = serde.parts[0]
    return serde.frame if isinstance(serde, FramedSerde) else b""
