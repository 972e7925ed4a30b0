"""The serdes of a schema registry that options of the command line can name."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from kstreams import Serde
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import Schema, SerdeByText, SerdeRequest
from kstreams_registry.client import SchemaRegistry
from kstreams_registry.confluent import confluent
from kstreams_registry.frames import frame_bytes, parse_frame

__all__ = ("BY_TEXT",)


class _ByWriters(Serde[Any]):
    """Reads data of any schema in the registry; writes with the last schema of a subject.

    Values are JSON.

    Args:
        registry: The registry.
        subject: The subject whose last schema is used to write.
        any_json: The serde of any JSON.
    """

    def __init__(self, registry: SchemaRegistry, subject: str, any_json: Serde[Any]) -> None:
        self.name = "registry"
        self._registry = registry
        self._subject = subject
        self._any_json = any_json
        self._known: dict[int | bytes, Serde[Any]] = {}

    def deserialize(self, data: bytes) -> object:
        """Read data with the schema whose id precedes the data."""
        try:
            frame = parse_frame(data, indexed=False)
        except ValueError as exc:
            raise DeserializationError(str(exc)) from exc
        serde = self._known.get(frame.name)
        if serde is None:
            schema = self._registry.schema(frame.name)
            if schema is None:
                raise DeserializationError(
                    f"the schema registry at {self._registry.url} has no schema with {frame}"
                )
            serde = self._known[frame.name] = self._of(schema, DeserializationError)
        value = serde.deserialize(data[len(frame.data) :])
        to_json = getattr(serde, "to_json", None)
        found: object = value if to_json is None else to_json(value)
        return found

    def serialize(self, value: object) -> bytes:
        """Write a value with the subject's last schema."""
        latest = self._registry.latest(self._subject)
        if latest is None:
            raise SerializationError(
                f"the schema registry at {self._registry.url} has no subject {self._subject!r}",
                hint="register a schema under the subject first.",
            )
        serde = self._of(latest.schema, SerializationError)
        from_json = getattr(serde, "from_json", None)
        content = value if from_json is None else from_json(value)
        return frame_bytes(latest.id, None) + serde.serialize(content)

    def _of(self, schema: Schema, error: type[Exception]) -> Serde[Any]:
        match schema.kind:
            case "JSON":
                return self._any_json
            case "AVRO":
                offered = entry_points(group="kstreams.serdes", name="avro")
                made: Any = next(iter(offered)).load()  # of the same distribution
                found: Serde[Any] = made(schema=schema.text)
                return found
            case "PROTOBUF":
                raise error("the registered schema is protobuf: use registry:protobuf:FILE#MESSAGE")


def _make(request: SerdeRequest) -> Serde[Any]:
    if request.registry is None:
        raise ValueError("a schema registry is required: give --registry URL")
    registry = _registry(request.registry)
    if request.text:
        return confluent(request.inner(request.text), registry)
    if request.topic is None:
        raise ValueError(
            "without a topic, expected a serde after 'registry:', such as "
            "registry:protobuf:FILE#MESSAGE"
        )
    return _ByWriters(registry, f"{request.topic}-{request.part}", request.inner("json"))


def _registry(url: str) -> SchemaRegistry:
    """Return the registry of a URL, which may contain user and password."""
    parts = urlsplit(url)
    if parts.username is None:
        return SchemaRegistry(url)
    place = parts.netloc.rpartition("@")[2]
    return SchemaRegistry(
        urlunsplit((parts.scheme, place, *parts[2:])),
        user=unquote(parts.username),
        password=unquote(parts.password or ""),
    )


BY_TEXT = SerdeByText(
    "registry[:SERDE]",
    "Avro and JSON with schema ids of a registry, or schema ids with another serde",
    _make,
)
"""The serde of the text `registry`."""
