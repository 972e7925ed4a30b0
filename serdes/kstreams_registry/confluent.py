"""Serdes of schemas in Confluent's wire format: the id of the writer's schema, then the datum."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.errors import DeserializationError
from kstreams.io import HeaderFrames
from kstreams.serde import FramedSerde, Schema, SchemaSerde, Serde
from kstreams_registry.client import Registered, SchemaRegistry
from kstreams_registry.difference import difference
from kstreams_registry.errors import SchemaRefusedError
from kstreams_registry.frames import Frame, Frames, frame_bytes, frames_of, parse_frame
from kstreams_registry.subjects import SubjectName, subject_of

__all__ = ("HEADER_IDS", "ConfluentSerde", "Register", "confluent")

Register = Literal["never", "if-compatible"]
"""The policy at the start of an app for a schema that is not registered."""

HEADER_IDS = HeaderFrames(key="__key_schema_id", value="__value_schema_id")
"""The framing of topics with schema ids in headers: GUIDs, which the registry must support.

Records without such headers are read with ids in front of the bytes.

Source: `io.confluent.kafka.serializers.schema.id.HeaderSchemaIdSerializer` and
`DualSchemaIdDeserializer`.
"""

T = TypeVar("T")
"""The type that a serde converts."""

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_END = (1 << 31) - 1
"""A stop for `binary_slice`, whose sizes overflow without one (pyarrow 22)."""

_Reading = Callable[[pa.Array], pa.Array]
"""Converts the bytes after a frame to bytes of the plain serde."""


def confluent(
    serde: Serde[T],
    registry: SchemaRegistry,
    *,
    subject: SubjectName | str = SubjectName.TOPIC,
    register: Register = "never",
    zigzag: bool = True,
) -> Serde[T]:
    """Return a serde that prepends schema ids to bytes, and reads bytes by their schema ids.

    For the values of a topic; read the guide before you use it for keys. At the start of an app,
    the driver requests the id of exactly the serde's schema for written topics, and checks for read
    topics that the last schema can be read. Workers request the schemas of new ids, once each.
    Stores, and records between processors, have the plain bytes without ids.

    Args:
        serde: A serde with a schema: `avro_serde`, `protobuf_serde`, `json_schema`.
        registry: The registry.
        subject: The rule for the subject; a text is the name of the subject.
        register: `"never"`: a missing schema fails the start, with the difference.
            `"if-compatible"`: a missing schema is registered, if the registry finds it compatible.
        zigzag: False for protobuf topics of Python clients before 2021, or with
            `use.deprecated.format`, which write message indexes without zigzag encoding.

    Raises:
        TypeError: The serde has no schema.

    Source: `io.confluent.kafka.serializers.KafkaAvroSerializer` and its siblings, which register
    schemas from any producer.
    """
    if not isinstance(serde, SchemaSerde):
        raise TypeError(
            f"confluent(...) needs a serde with a schema, and {serde!r} is not a SchemaSerde\n"
            "Hint: use avro_serde (in its binary encoding), "
            "protobuf_serde or json_schema."
        )
    if register not in ("never", "if-compatible"):
        raise ValueError(f"expected register= to be 'never' or 'if-compatible', got {register!r}")
    return ConfluentSerde(serde, registry, subject, register, zigzag=zigzag)


class ConfluentSerde(FramedSerde[T]):
    """The result of `confluent`. Compares and pickles by its options and its known ids."""

    def __init__(
        self,
        serde: SchemaSerde[T],
        registry: SchemaRegistry,
        subject: SubjectName | str,
        register: Register,
        *,
        zigzag: bool = True,
        place: tuple[str | None, str, bool] = (None, "value", False),
        written: bytes | None = None,
    ) -> None:
        super().__init__("confluent", serde)
        self._serde = serde
        self._registry = registry
        self._options = (subject, register, zigzag)
        self._topic, self._part, self._apart = self._place = place
        self._indexed = serde.schema.kind == "PROTOBUF"
        self._written = written
        self._readings: dict[bytes, _Reading | None] = {}
        self._lock = threading.Lock()

    @property
    def frame(self) -> bytes:
        """The frame with the schema's id; requested now if `prepare` was not called."""
        if self._written is None:
            self.prepare(writes=True)
        return self._written or b""

    # ----------------------------------------------------------------- the start

    def in_topic(self, topic: str, part: str, *, apart: bool) -> ConfluentSerde[T]:
        """Return the serde with the schema subject of a topic.

        Args:
            topic: The topic.
            part: The side of a record, "key" or "value".
            apart: Whether schema ids are in record headers instead of in front of the data.
        """
        place = (topic, part, apart)
        return self if place == self._place else self._anew(place, None)

    def prepare(self, *, writes: bool) -> None:
        """Request the id of the written schema, or check that the last schema can be read.

        Raises:
            SchemaRefusedError: The schema is not registered, is incompatible, or cannot be read.
            RegistryUnavailableError: The registry does not answer.
        """
        subject = self._subject()
        if not writes:
            self._check_readable(subject)
            return
        with self._lock:
            if self._written is None:
                self._written = self._frame_of(self._wanted(subject), subject)

    def _subject(self) -> str:
        try:
            return subject_of(self._options[0], self._serde.schema, self._topic, self._part)
        except ValueError as exc:
            raise SchemaRefusedError(
                f"the registry's subject for {self.name} is not known: {exc}",
                hint="name the subject: confluent(..., subject='orders-value').",
            ) from exc

    def _check_readable(self, subject: str) -> None:
        latest = self._registry.latest(subject)
        if latest is None:
            return
        indexes = self._serde.schema.message_indexes
        try:
            self._serde.reading(replace(latest.schema, message_indexes=indexes))
        except ValueError as exc:
            raise SchemaRefusedError(
                f"{self.plain.name} cannot read version {latest.version} of subject {subject!r}: "
                f"{exc}\n{difference(latest.schema, self._serde.schema)}",
                subject=subject,
                hint="give a default to each field that the registered schema lacks.",
            ) from exc

    def _wanted(self, subject: str) -> Registered:
        """Return the registered schema of the serde; register it first, if `register` allows it."""
        registry, schema = self._registry, self._serde.schema
        found = registry.find(subject, schema)
        if found is None and self._options[1] == "if-compatible":
            found = self._registered(subject)
        if found is None:
            raise self._unregistered(subject)
        if registry.level(subject) in (None, "NONE"):
            _LOG.warning(
                "subject %r of the registry at %s has no compatibility level: whoever writes a "
                "schema there may break its readers. Set one, such as BACKWARD",
                subject,
                registry.url,
            )
        return found

    def _registered(self, subject: str) -> Registered:
        registry, schema = self._registry, self._serde.schema
        latest = registry.latest(subject)
        misfits = () if latest is None else registry.misfits(subject, schema)
        if latest is not None and misfits:
            said = "".join(f"\n  {each}" for each in misfits[:5])
            raise SchemaRefusedError(
                f"the schema of {self.plain.name} is incompatible with subject {subject!r}:{said}\n"
                f"the difference from the last version, {latest.version} (- registry, + app):\n"
                f"{difference(latest.schema, schema)}",
                subject=subject,
                hint="make the schemas compatible (a default for each new field), or use another "
                "topic; nothing was registered.",
            )
        try:
            return registry.register(subject, schema)
        except ValueError as exc:
            raise SchemaRefusedError(
                f"the registry at {registry.url} rejects the schema of {self.plain.name} for "
                f"subject {subject!r}: {exc}",
                subject=subject,
                hint="nothing was registered.",
            ) from exc

    def _unregistered(self, subject: str) -> SchemaRefusedError:
        latest = self._registry.latest(subject)
        hint = (
            "register it when you deploy (SchemaRegistry.register), or let the app do so: "
            "confluent(..., register='if-compatible')."
        )
        if latest is None:
            return SchemaRefusedError(
                f"the registry at {self._registry.url} has no subject {subject!r}, which the app "
                f"needs to write {self.plain.name}",
                subject=subject,
                hint=hint,
            )
        return SchemaRefusedError(
            f"the schema of {self.plain.name} is not registered under subject {subject!r}\n"
            f"the difference from the last version, {latest.version} (- registry, + app):\n"
            f"{difference(latest.schema, self._serde.schema)}",
            subject=subject,
            hint=hint,
        )

    def _frame_of(self, found: Registered, subject: str) -> bytes:
        name: int | bytes = found.id
        if self._apart:
            if found.guid is None:
                raise SchemaRefusedError(
                    f"the registry at {self._registry.url} gives subject {subject!r} no GUID, "
                    "which schema ids in record headers require",
                    subject=subject,
                    hint="remove framing= from the topic, so that ids are prepended to the bytes.",
                )
            name = found.guid.bytes
        indexes = (self._serde.schema.message_indexes or (0,)) if self._indexed else None
        return frame_bytes(name, indexes, zigzag=self._options[2])

    # ----------------------------------------------------------------- reading

    def deserialize(self, data: bytes) -> T:
        """Deserialize the bytes after the frame with the writer's schema."""
        try:
            frame = parse_frame(data, indexed=self._indexed, zigzag=self._options[2])
        except ValueError as exc:
            raise DeserializationError(f"{self.name}: {exc}") from exc
        reading = self._reading(frame)
        rest = data[len(frame.data) :]
        if reading is None:
            return self._serde.deserialize(rest)
        (plain,) = reading(pa.array([rest], pa.binary()))
        return self._serde.deserialize(plain.as_py())

    def learn(self, data: pa.Array) -> None:
        """Request the schemas of all unknown ids of a column."""
        for frame in self._frames(data).frames:
            if frame.data not in self._readings and frame.data != self._written:
                self._registry.schema(frame.name)

    def to_plain(self, data: pa.Array) -> pa.Array:
        """Remove the schema ids; convert rows of other schemas to this serde's schema."""
        found = self._frames(data)
        bad = np.flatnonzero(found.numbers == -2)
        if len(bad):
            self.deserialize(data[int(bad[0])].as_py())  # raises the reason
        if not found.frames:
            return data
        if len(found.frames) == 1:
            return self._converted(found.frames[0], data)
        parts, rows = [], []
        for number, frame in enumerate(found.frames):
            own = np.flatnonzero(found.numbers == number)
            rows.append(own)
            parts.append(self._converted(frame, data.take(pa.array(own))))
        nulls = np.flatnonzero(found.numbers == -1)
        order = np.argsort(np.concatenate([*rows, nulls]), kind="stable")
        together = pa.concat_arrays([*parts, pa.nulls(len(nulls), pa.binary())])
        return together.take(pa.array(order))

    def _frames(self, data: pa.Array) -> Frames:
        return frames_of(data, indexed=self._indexed, zigzag=self._options[2])

    def _converted(self, frame: Frame, data: pa.Array) -> pa.Array:
        """Convert rows with the same frame, or null, to plain bytes of this serde's schema."""
        rest = pc.binary_slice(data, len(frame.data), _END)
        reading = self._reading(frame)
        return rest if reading is None else reading(rest)

    def _reading(self, frame: Frame) -> _Reading | None:
        """Return the conversion of data with this frame to the reader's schema; None if not needed.

        Raises:
            DeserializationError: The registry does not have the schema, or the schema cannot be
                read as this type.
            RegistryUnavailableError: The registry does not answer.
        """
        known = self._readings.get(frame.data, self)
        if known is not self:
            return known  # type: ignore[return-value]  # the serde replaces unknown values
        if frame.data == self._written:
            return None
        writer = self._registry.schema(frame.name)
        if writer is None:
            raise DeserializationError(
                f"{self.name}: the registry at {self._registry.url} has no schema with {frame}",
                hint="check whether the producer uses another registry. on_error='skip' or "
                "on_error=DeadLetter(topic) lets the source continue without such records.",
            )
        found = self._readings[frame.data] = self._reading_of(frame, writer)
        return found

    def _reading_of(self, frame: Frame, writer: Schema) -> _Reading | None:
        own = self._serde
        if self._indexed:
            writer = replace(writer, message_indexes=frame.indexes)
        try:
            serde = own.reading(writer)
        except ValueError as exc:
            raise DeserializationError(
                f"{self.name}: data with schema {frame} cannot be read as {own.name}: {exc}"
            ) from exc
        if serde is own or serde == own:
            return None
        return lambda data: own.rewritten(data, serde)

    # ----------------------------------------------------------------- as a value

    def _anew(
        self, place: tuple[str | None, str, bool], written: bytes | None
    ) -> ConfluentSerde[T]:
        subject, register, zigzag = self._options
        return ConfluentSerde(
            self._serde,
            self._registry,
            subject,
            register,
            zigzag=zigzag,
            place=place,
            written=written,
        )

    def _values(self) -> tuple[object, ...]:
        return self._serde, self._registry, self._options, self._place

    def __eq__(self, other: object) -> bool:
        """Compare the plain serde, the registry and the options."""
        return isinstance(other, ConfluentSerde) and self._values() == other._values()

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the arguments and the id that was looked up."""
        return _made, (self._serde, self._registry, self._options, self._place, self._written)


def _made(
    serde: SchemaSerde[T],
    registry: SchemaRegistry,
    options: tuple[SubjectName | str, Register, bool],
    place: tuple[str | None, str, bool],
    written: bytes | None,
) -> ConfluentSerde[T]:
    subject, register, zigzag = options
    return ConfluentSerde(
        serde, registry, subject, register, zigzag=zigzag, place=place, written=written
    )
