"""JSON with a JSON Schema, which is given or derived from a Python type."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from typing_extensions import override

try:
    import jsonschema_rs
    import msgspec
except ImportError as exc:
    raise ImportError(
        "JSON Schema needs jsonschema-rs and msgspec: pip install 'kstreams-spark[registry,json]'"
    ) from exc

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import Schema, SchemaSerde, Serde, objects_of

__all__ = ("JsonSchemaSerde", "json_schema")

T = TypeVar("T")
"""The type that JSON is decoded to."""

_SAYS_NOTHING = ("description", "$comment", "examples")
_SHOWN_BYTES = 40
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
"""The draft that `msgspec` uses; registries recognize JSON Schema by it."""


def json_schema(serde: Serde[T], schema: str | Mapping[str, Any] | None = None) -> SchemaSerde[T]:
    """Add a JSON Schema to a serde of JSON.

    Written data is checked against the schema; read data, too, if a schema is given, because a
    schema derived from the type adds no check to the type.

    Args:
        serde: `json_serde(T)`.
        schema: The JSON Schema, as text or an object, of any draft that `jsonschema-rs` supports;
            by default, `msgspec` derives it from the serde's type.

    Raises:
        TypeError: No schema is given, and none can be derived from the serde's type.
        ValueError: The schema is invalid.

    Example:
        >>> from dataclasses import dataclass
        >>> from kstreams_json import json_serde
        >>> @dataclass
        ... class Order:
        ...     item: str
        ...     count: int = 1
        >>> json_schema(json_serde(Order)).schema.record_name
        'Order'
    """
    return JsonSchemaSerde(serde, _text_of(serde, schema), given=schema is not None)


class JsonSchemaSerde(SchemaSerde[T]):
    """The result of `json_schema`. Compares and pickles by the serde and the schema."""

    def __init__(self, serde: Serde[T], text: str, *, given: bool) -> None:
        parsed = json.loads(text)
        title = parsed.get("title", "") if isinstance(parsed, dict) else ""
        self.schema = Schema("JSON", text, title if isinstance(title, str) else "")
        self.name = f"json-schema[{serde.name}]:{self.schema.fingerprint}"
        self.type_token = serde.type_token
        self.immutable = serde.immutable
        self.hashes_by_bytes = serde.hashes_by_bytes
        self.arrow_type = serde.arrow_type
        self._serde = serde
        self._given = given
        try:
            self._validator = jsonschema_rs.validator_for(parsed)
        except (ValueError, TypeError) as exc:
            raise ValueError(f"not a valid JSON Schema: {exc}") from exc

    def serialize(self, value: T) -> bytes:
        """Encode a value, and check the result against the schema."""
        data = self._serde.serialize(value)
        problem = self._problem(data)
        if problem:
            raise SerializationError(f"{self.name}: {problem}")
        return data

    @override
    def serialize_many(self, values: Sequence[T | None]) -> pa.Array:
        found = self._serde.serialize_many(values)
        problem = self._first_problem(found)
        if problem:
            raise SerializationError(f"{self.name}: {problem}")
        return found

    def deserialize(self, data: bytes) -> T:
        """Check data against the schema, and decode it."""
        if self._given:
            problem = self._problem(data)
            if problem:
                raise DeserializationError(f"{self.name}: {problem}")
        return self._serde.deserialize(data)

    def deserialize_many(self, data: pa.Array) -> list[T | None]:
        """Check a column of data against the schema, and decode it."""
        self._check(data)
        return self._serde.deserialize_many(data)

    def to_arrow(self, data: pa.Array) -> pa.Array:
        """Check a column of data against the schema, and decode it to Arrow."""
        self._check(data)
        return self._serde.to_arrow(data)

    @override
    def from_arrow(self, column: pa.Array) -> pa.Array:
        found = self._serde.from_arrow(column)
        problem = self._first_problem(found)
        if problem:
            raise SerializationError(f"{self.name}: {problem}")
        return found

    @override
    def field(self, column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
        return self._serde.field(column, name, kind)

    def reading(self, writer: Schema) -> Serde[T]:
        """Return this serde, which reads data of every JSON writer.

        JSON contains the names of fields, so decoding does not need the writer's schema.

        Raises:
            ValueError: The writer did not write JSON.
        """
        if writer.kind != "JSON":
            raise ValueError(f"{self.name} reads JSON, but the data was written as {writer.kind}")
        return self

    def _check(self, data: pa.Array) -> None:
        problem = self._first_problem(data) if self._given else None
        if problem:
            raise DeserializationError(f"{self.name}: {problem}")

    def _first_problem(self, data: pa.Array) -> str | None:
        decode, is_valid = msgspec.json.decode, self._validator.is_valid
        items: list[bytes | None] = objects_of(data)
        try:
            if all(item is None or is_valid(decode(item)) for item in items):
                return None
        except (ValueError, RecursionError):
            pass
        return next(filter(None, (self._problem(item) for item in items if item is not None)), None)

    def _problem(self, data: bytes) -> str | None:
        """Return the problem of a datum and its path; None if the datum is valid."""
        try:
            self._validator.validate(msgspec.json.decode(data))
        except jsonschema_rs.ValidationError as exc:
            place = "".join(f"[{step!r}]" for step in exc.instance_path)
            return f"{exc.message} at ${place}"[:500]
        except (ValueError, RecursionError) as exc:
            return f"the data is not JSON: {exc}; got {bytes(data[:_SHOWN_BYTES])!r}"
        return None

    def __eq__(self, other: object) -> bool:
        """Compare the serde and the schema."""
        return (
            isinstance(other, JsonSchemaSerde)
            and self._serde == other._serde
            and (self.schema, self._given) == (other.schema, other._given)
        )

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the serde and the schema."""
        return _made, (self._serde, self.schema.text, self._given)


def _made(serde: Serde[T], text: str, given: bool) -> JsonSchemaSerde[T]:
    return JsonSchemaSerde(serde, text, given=given)


def _text_of(serde: Serde[Any], schema: str | Mapping[str, Any] | None) -> str:
    if isinstance(schema, str):
        try:
            parsed: object = json.loads(schema)
        except ValueError as exc:
            raise ValueError(f"not a valid JSON Schema: {exc}") from exc
    elif schema is not None:
        parsed = dict(schema)
    elif serde.type_token is object:
        raise TypeError(
            f"{serde!r} accepts any type, which has no schema: give json_schema(...) a schema, "
            "or a serde of a type"
        )
    else:
        parsed = {"$schema": _DRAFT, **_rooted(msgspec.json.schema(serde.type_token))}
    return json.dumps(_canonical(parsed), sort_keys=True, separators=(",", ":"))


def _rooted(schema: dict[str, Any]) -> dict[str, Any]:
    """Replace the top-level reference to a schema's own type by the definition of the type."""
    prefix, own = "#/$defs/", schema.get("$ref", "")
    if set(schema) != {"$ref", "$defs"} or not own.startswith(prefix):
        return schema
    name, defs = own.removeprefix(prefix), schema["$defs"]
    rest = {key: value for key, value in defs.items() if key != name}
    if json.dumps(own) in json.dumps(defs):  # it refers to itself
        rest = defs
    return {**defs[name], **({"$defs": rest} if rest else {})}


def _canonical(schema: Any, *, names: bool = False) -> Any:  # noqa: ANN401  # whatever JSON has
    """Return a JSON Schema without the keywords that do not constrain values.

    With `names`, the keys of the given object are names of properties or definitions: no key is
    omitted.
    """
    if isinstance(schema, list):
        return [_canonical(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value
        if key in ("default", "const", "enum", "required")
        else _canonical(value, names=key in ("properties", "$defs", "definitions"))
        for key, value in schema.items()
        if names or key not in _SAYS_NOTHING
    }
