"""Defaults of fields: JSON in the schema, written as a datum of the field's type."""

from __future__ import annotations

import struct

from kstreams_avro.datum import Malformed
from kstreams_avro.nodes import (
    NO_DEFAULT,
    Array,
    Enum,
    Fixed,
    Map,
    Node,
    Primitive,
    Record,
    Union,
    described,
)
from kstreams_avro.varints import put_long

__all__ = ("default_bytes",)

_FLOATS = {"float": struct.Struct("<f"), "double": struct.Struct("<d")}
_BITS = {"int": 31, "long": 63}


def default_bytes(node: Node, default: object) -> bytes:
    """Write a default.

    Raises:
        Malformed: It is not of the field's type.
    """
    out = bytearray()
    try:
        _put(node, default, out)
    except (RecursionError, UnicodeEncodeError):
        raise Malformed("a default that cannot be written") from None
    return bytes(out)


def _put(node: Node, default: object, out: bytearray) -> None:
    match node, default:
        case Union(), _:
            _put_union(node, default, out)
        case Record(), dict():
            _put_record(node, default, out)
        case Array(), list():
            if default:
                put_long(out, len(default))
            for item in default:
                _put(node.items, item, out)
            put_long(out, 0)
        case Map(), dict():
            if default:
                put_long(out, len(default))
            for key, value in sorted(default.items()):
                _put_piece(key.encode(), out)
                _put(node.values, value, out)
            put_long(out, 0)
        case Enum(), str() if default in node.symbols:
            put_long(out, node.symbols.index(default))
        case Fixed(), str() if _is_latin(default) and len(default) == node.size:
            out += default.encode("latin-1")
        case Primitive(), _:
            _put_primitive(node, default, out)
        case _:
            raise _wrong(node, default)


def _put_primitive(node: Primitive, default: object, out: bytearray) -> None:
    match node.name, default:
        case "null", None:
            pass
        case "boolean", bool():
            out.append(default)
        case (("int" | "long"), int()) if _fits(default, _BITS[node.name]):
            put_long(out, default)
        case (("float" | "double"), int() | float()) if not isinstance(default, bool):
            try:
                out += _FLOATS[node.name].pack(default)
            except (OverflowError, struct.error) as exc:
                raise _wrong(node, default) from exc
        case "string", str():
            _put_piece(default.encode("utf-8", "strict"), out)
        case "bytes", str() if _is_latin(default):
            _put_piece(default.encode("latin-1"), out)
        case _:
            raise _wrong(node, default)


def _put_union(node: Union, default: object, out: bytearray) -> None:
    """Take the first branch that the default is of: the first one, as of old, or a later one."""
    for number, branch in enumerate(node.branches):
        data = bytearray()
        try:
            _put(branch, default, data)
        except Malformed:
            continue
        put_long(out, number)
        out += data
        return
    raise _wrong(node, default)


def _put_record(node: Record, default: dict[str, object], out: bytearray) -> None:
    for field in node.fields:
        value = default.get(field.name, field.default)
        if value is NO_DEFAULT:
            raise _wrong(node, default)
        _put(field.type, value, out)


def _put_piece(data: bytes, out: bytearray) -> None:
    put_long(out, len(data))
    out += data


def _fits(number: int, bits: int) -> bool:
    return not isinstance(number, bool) and -(1 << bits) <= number < 1 << bits


def _is_latin(text: str) -> bool:
    return all(ord(character) < 256 for character in text)


def _wrong(node: Node, default: object) -> Malformed:
    return Malformed(f"the default {default!r:.60} is no {described(node)}")
