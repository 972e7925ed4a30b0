"""Properties of the values of a bound schema, determined once for a serde."""

from __future__ import annotations

from kstreams_avro.conversions import Conversion
from kstreams_avro.datum import Datum
from kstreams_avro.nodes import Array, Enum, Fixed, Map, Node, Primitive, Record, Union, is_null
from kstreams_avro.sizes import parts_of

__all__ = ("has_value_bytes", "is_immutable")


def is_immutable(node: Node) -> bool:
    """Return whether values are immutable: scalars, and frozen Structs of them."""
    return all(_is_frozen(part) for part in parts_of(node))


def has_value_bytes(node: Node) -> bool:
    """Return whether values are hashable, and equal exactly if their bytes are equal."""
    return all(_is_compared_by_bytes(part) for part in parts_of(node))


def _is_frozen(part: Node) -> bool:
    match part:
        case Record():
            config = _config(part)
            return config is not None and bool(config.frozen)
        case Array():
            return part.container in (tuple, frozenset)
        case Map():
            return False
        case _:
            return True


def _is_compared_by_bytes(part: Node) -> bool:
    match part:
        case Record():
            config = _config(part)
            return config is not None and bool(config.frozen and config.eq)
        case Array():
            return part.container is tuple
        case Primitive():
            return part.name not in ("float", "double") and _is_exact(part.conversion)
        case Fixed():
            return _is_exact(part.conversion)
        case Union():  # True equals 1, but is not written alike
            return sum(not is_null(branch) for branch in part.branches) <= 1
        case Enum():
            return True
        case Map():
            return False


def _is_exact(conversion: Conversion | None) -> bool:
    return conversion is None or conversion.name == "uuid"


def _config(record: Record) -> Datum:
    return getattr(record.shape and record.shape.cls, "__struct_config__", None)
