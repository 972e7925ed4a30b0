"""Avro schemas of Python types."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, get_origin

import msgspec
from msgspec import inspect

from kstreams_avro.conversions import conversion_of
from kstreams_avro.datum import Json, Malformed
from kstreams_avro.members import ARRAYS, RECORDS, RecordType, plain_type, record_fields, shown
from kstreams_avro.nodes import NO_DEFAULT, PRIMITIVES

__all__ = ("AVRO", "avro_type", "derived_schema")

AVRO = "avro"
"""The key of `msgspec.Meta.extra` under which `avro_type` keeps a schema."""

_IS_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
_SCALARS: dict[type[inspect.Type], object] = {
    inspect.NoneType: "null",
    inspect.BoolType: "boolean",
    inspect.IntType: "long",
    inspect.FloatType: "double",
    inspect.StrType: "string",
    inspect.BytesType: "bytes",
    inspect.DateTimeType: {"type": "long", "logicalType": "timestamp-micros"},
    inspect.DateType: {"type": "int", "logicalType": "date"},
    inspect.TimeType: {"type": "long", "logicalType": "time-micros"},
    inspect.UUIDType: {"type": "string", "logicalType": "uuid"},
}
_ANNOTATE = "annotate the type with avro_type(...)"
_NAMES = "expected letters, digits and _, and no digit first"
_JSON_TYPES = {bool: "boolean", int: "long", float: "double", str: "string"}


def avro_type(schema: str | Mapping[str, Any]) -> msgspec.Meta:
    """Return an annotation that gives a Python type another Avro schema than the derived one.

    Args:
        schema: The Avro type, such as `"int"` or `{"type": "long", "logicalType": ...}`.

    Example:
        >>> from decimal import Decimal
        >>> from typing import Annotated, NamedTuple
        >>> from kstreams_avro import avro_serde, avro_type
        >>> decimal = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
        >>> Amount = Annotated[Decimal, avro_type(decimal)]
        >>> Price = NamedTuple("Price", [("amount", Amount), ("cents", int)])
        >>> avro_serde(Price).serialize(Price(Decimal("1.25"), 7)).hex()
        '027d0e'
    """
    return msgspec.Meta(extra={AVRO: schema})


def derived_schema(type_: object, namespace: str) -> Json:
    """Return the schema of a type, as JSON.

    Raises:
        TypeError: The type, or a part of it, has no Avro equivalent. The message has the field.
    """
    return _Deriver(namespace).schema(inspect.type_info(type_))


class _Deriver:
    """Derives a schema; a class is defined at its first use, and named afterwards."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._named: dict[str, type] = {}

    def schema(self, info: inspect.Type) -> Json:
        if isinstance(info, inspect.Metadata):
            given = (info.extra or {}).get(AVRO)
            return self.schema(info.type) if given is None else given
        if type(info) in _SCALARS:
            return _SCALARS[type(info)]
        if isinstance(info, ARRAYS):
            return {"type": "array", "items": self.schema(info.item_type)}
        if isinstance(info, RECORDS):
            return self._record(info)
        match info:
            case inspect.EnumType(cls=cls):
                symbols = [member.name for member in cls]
                return self._named_type(cls, "enum", lambda: {"symbols": symbols})
            case inspect.LiteralType(values=values):
                return self._literal(values)
            case inspect.DictType(key_type=key, value_type=value):
                if not isinstance(plain_type(key), inspect.StrType):
                    raise TypeError(
                        f"keys of an Avro map must be str, not {shown(plain_type(key))}"
                    )
                return {"type": "map", "values": self.schema(value)}
            case inspect.UnionType(types=members):
                return self._union(members)
            case inspect.DecimalType():
                raise TypeError(f"a Decimal needs its precision and scale: {_ANNOTATE}")
            case _:
                raise TypeError(f"{shown(info)} has no equivalent in Avro: {_ANNOTATE}")

    def _union(self, members: tuple[inspect.Type, ...]) -> list[Any]:
        """Return a union with null as its first branch."""
        branches = [self.schema(each) for each in members]
        return sorted(branches, key=lambda branch: branch != "null")

    def _literal(self, values: tuple[object, ...]) -> str:
        if all(isinstance(value, str) for value in values):
            return "string"
        if all(isinstance(value, int) for value in values):
            return "long"
        raise TypeError(
            "a Literal has no equivalent in Avro unless all values are str, or all are int"
        )

    def _named_type(
        self, cls: type, kind: str, content: Callable[[], dict[str, Any]]
    ) -> str | dict[str, Any]:
        name = cls.__name__
        if _IS_NAME(name) is None:
            raise TypeError(f"class name {name!r} is invalid in Avro; {_NAMES}")
        if get_origin(cls) is not None or getattr(cls, "__parameters__", None):
            raise TypeError(
                f"{name} is generic, but an Avro name has one type: use a class without parameters"
            )
        full = f"{self._namespace}.{name}" if self._namespace else name
        if name in self._named:
            if self._named[name] is not cls:
                raise TypeError(f"two classes are called {name}: {self._named[name]!r} and {cls!r}")
            return full
        self._named[name] = cls
        return {"type": kind, "name": full, **content()}

    def _record(self, info: RecordType) -> str | dict[str, Any]:
        def fields() -> dict[str, Any]:
            return {"fields": [self._field(field) for field in record_fields(info)]}

        return self._named_type(info.cls, "record", fields)

    def _field(self, field: inspect.Field) -> dict[str, Any]:
        if _IS_NAME(field.encode_name) is None:
            raise TypeError(f"field name {field.encode_name!r} is invalid in Avro; {_NAMES}")
        try:
            schema = self.schema(field.type)
        except TypeError as exc:
            raise TypeError(f"field {field.encode_name!r}: {exc}") from None
        default = _default(schema, field)
        if default is NO_DEFAULT:
            return {"name": field.encode_name, "type": schema}
        if isinstance(schema, list):
            schema = _with_first(schema, default)
        return {"name": field.encode_name, "type": schema, "default": default}


def _with_first(union: list[Any], default: object) -> list[Any]:
    """Return a union with the branch of the default first, as older readers require."""
    if default is None:
        return union
    own = _JSON_TYPES.get(type(default))
    return sorted(union, key=lambda branch: (branch != own, branch == "null"))


def _default(schema: Json, field: inspect.Field) -> object:
    """Return a field's default as JSON; `NO_DEFAULT` if the schema cannot express it."""
    value = field.default
    if value is msgspec.NODEFAULT:
        if field.default_factory not in (list, dict, set, frozenset, tuple):
            return NO_DEFAULT  # another one may make another value each time
        value = field.default_factory()
    return _json(schema, value)


def _json(schema: Json, value: object) -> object:
    if isinstance(schema, list):
        if value is None:
            return None if "null" in schema else NO_DEFAULT
        found = (_json(branch, value) for branch in schema if branch != "null")
        return next((each for each in found if each is not NO_DEFAULT), NO_DEFAULT)
    if isinstance(schema, dict):
        conversion = conversion_of(schema["type"], schema)
        if conversion is not None:
            try:
                value = conversion.write(value)
            except Malformed:
                return NO_DEFAULT
        schema = schema["type"]
    if isinstance(value, Enum):  # of an enum that is defined here, or was before
        return value.name if schema not in PRIMITIVES else NO_DEFAULT
    if schema in ("array", "map"):
        return NO_DEFAULT if value else [] if schema == "array" else {}
    return _plain_json(schema, value)


def _plain_json(schema: str, value: Any) -> object:  # noqa: ANN401  # a default of any type
    match schema, value:
        case "null", None:
            return None
        case "boolean", bool():
            return value
        case "int" | "long", int() if not isinstance(value, bool):
            return value
        case "float" | "double", int() | float() if math.isfinite(value):
            return float(value)
        case "string", str():
            return value
        case "bytes" | "fixed", bytes():
            return value.decode("latin-1")
        case _:
            return NO_DEFAULT
