"""Conversion of PostgreSQL's text values to JSON for typed decoders."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable

import msgspec

__all__ = ("ToJson", "json_of")

ToJson = Callable[[bytes], bytes]
"""Converts the text of a non-null value to JSON."""

_FINITE = frozenset(b"+-.0123456789e")
_OFFSET = re.compile(rb"[+-]\d\d$")
_PART = re.compile(rb'"((?:[^"\\]|\\.)*)"|([^,{}"]+)|([{},])', re.DOTALL)
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)


def _text(value: bytes) -> bytes:
    return msgspec.json.encode(value.decode())


def _bool(value: bytes) -> bytes:
    return b"true" if value == b"t" else b"false"


def _raw(value: bytes) -> bytes:
    return value


def _number(value: bytes) -> bytes:
    """Return a number unchanged; NaN and infinities, which JSON lacks, become texts."""
    return value if _FINITE.issuperset(value) else _text(value)


def _bytes(value: bytes) -> bytes:
    return b'"%s"' % b64encode(bytes.fromhex(value[2:].decode()))


def _time_with_zone(value: bytes) -> bytes:
    return _text(value + b":00" if _OFFSET.search(value) else value)


_BY_OID: dict[int, ToJson] = {
    16: _bool,
    17: _bytes,
    **dict.fromkeys((20, 21, 23, 26), _raw),
    **dict.fromkeys((700, 701, 1700), _number),
    **dict.fromkeys((114, 3802), _raw),
    1184: _time_with_zone,
    1266: _time_with_zone,
}
"""Conversions by oid: bool, bytea, integers, floats, numeric, json, timestamptz; else text."""

_ARRAYS = {
    1000: 16,
    1001: 17,
    1005: 21,
    1007: 23,
    1016: 20,
    1028: 26,
    1021: 700,
    1022: 701,
    1231: 1700,
    199: 114,
    3807: 3802,
    1185: 1184,
    1270: 1266,
    **dict.fromkeys((1002, 1003, 1009, 1014, 1015, 1115, 1182, 1183, 1187, 2951), 25),
}
"""The element types of array types, by oid."""


def json_of(type_oid: int) -> ToJson:
    """Return the function that converts values of a type to JSON."""
    if type_oid not in _ARRAYS:
        return _BY_OID.get(type_oid, _text)
    one = _BY_OID.get(_ARRAYS[type_oid], _text)
    return lambda value: _array(value, one)


def _array(value: bytes, one: ToJson) -> bytes:
    """Return an array of any number of dimensions as nested JSON lists."""
    body = value[value.index(b"=") + 1 :] if value.startswith(b"[") else value
    found: list[bytes] = []
    for quoted, plain, mark in _PART.findall(body):
        if mark:
            found.append(mark.translate(bytes.maketrans(b"{}", b"[]")))
        elif plain:
            found.append(b"null" if plain.upper() == b"NULL" else one(plain))
        else:
            found.append(one(_ESCAPED.sub(rb"\1", quoted)))
    return b"".join(found)
