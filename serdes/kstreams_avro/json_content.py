"""Conversion of a binary datum to the content of Avro's JSON encoding."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, TypeAlias

from kstreams_avro.datum import Json
from kstreams_avro.json_datum import branch_name
from kstreams_avro.nodes import Array, Enum, Fixed, Map, Node, Primitive, Record, Union, is_null
from kstreams_avro.steps.step import read_long

__all__ = ("content_reader",)

_Read: TypeAlias = Callable[[bytes, int], tuple[Json, int]]
"""Takes a datum and the offset of a value; returns its content and the offset after it."""

_FLOAT = struct.Struct("<f")
_DOUBLE = struct.Struct("<d")


def content_reader(node: Node) -> Callable[[bytes], Json]:
    """Return a function that converts a binary datum to JSON content.

    The function does not check the datum, which this process must have written by `writer_of`.
    """
    read = _Readers().of(node)
    return lambda datum: read(datum, 0)[0]


class _Readers:
    """Creates reader functions, only one per record type, as a record may contain itself."""

    def __init__(self) -> None:
        self._records: dict[int, list[tuple[str, _Read]]] = {}

    def of(self, node: Node) -> _Read:
        match node:
            case Primitive():
                return _PRIMITIVES[node.name]
            case Fixed():
                return _fixed(node.size)
            case Enum():
                return _enum(node.symbols)
            case Array():
                return _array(self.of(node.items))
            case Map():
                return _map(self.of(node.values))
            case Union():
                return self._union(node)
            case Record():
                return self._record(node)

    def _union(self, node: Union) -> _Read:
        branches = [
            (None if is_null(branch) else branch_name(branch), self.of(branch))
            for branch in node.branches
        ]

        def read(datum: bytes, place: int) -> tuple[Json, int]:
            number, place = read_long(datum, place)
            name, value = branches[number]
            content, place = value(datum, place)
            return content if name is None else {name: content}, place

        return read

    def _record(self, node: Record) -> _Read:
        parts = self._records.get(id(node))
        if parts is None:
            parts = self._records[id(node)] = []
            parts += [(field.name, self.of(field.type)) for field in node.fields]
        fields = parts

        def read(datum: bytes, place: int) -> tuple[Json, int]:
            content = {}
            for name, value in fields:
                content[name], place = value(datum, place)
            return content, place

        return read


def _null(_: bytes, place: int) -> tuple[Json, int]:
    return None, place


def _boolean(datum: bytes, place: int) -> tuple[Json, int]:
    return datum[place] == 1, place + 1


def _float(datum: bytes, place: int) -> tuple[Json, int]:
    (number,) = _FLOAT.unpack_from(datum, place)
    return _finite_or_text(number), place + 4


def _double(datum: bytes, place: int) -> tuple[Json, int]:
    (number,) = _DOUBLE.unpack_from(datum, place)
    return _finite_or_text(number), place + 8


def _finite_or_text(number: float) -> Json:
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _bytes(datum: bytes, place: int) -> tuple[bytes, int]:
    size, place = read_long(datum, place)
    return datum[place : place + size], place + size


def _latin(datum: bytes, place: int) -> tuple[Json, int]:
    data, place = _bytes(datum, place)
    return data.decode("latin-1"), place


def _text(datum: bytes, place: int) -> tuple[str, int]:
    data, place = _bytes(datum, place)
    return data.decode(), place


_PRIMITIVES: dict[str, _Read] = {
    "null": _null,
    "boolean": _boolean,
    "int": read_long,
    "long": read_long,
    "float": _float,
    "double": _double,
    "bytes": _latin,
    "string": _text,
}


def _fixed(size: int) -> _Read:
    return lambda datum, place: (datum[place : place + size].decode("latin-1"), place + size)


def _enum(symbols: tuple[str, ...]) -> _Read:
    def read(datum: bytes, place: int) -> tuple[Json, int]:
        number, place = read_long(datum, place)
        return symbols[number], place

    return read


def _array(item: _Read) -> _Read:
    def read(datum: bytes, place: int) -> tuple[Json, int]:
        count, place = read_long(datum, place)
        content: list[Any] = []
        while count:
            for _ in range(count):
                value, place = item(datum, place)
                content.append(value)
            count, place = read_long(datum, place)
        return content, place

    return read


def _map(value: _Read) -> _Read:
    def read(datum: bytes, place: int) -> tuple[Json, int]:
        count, place = read_long(datum, place)
        content: dict[str, Any] = {}
        while count:
            for _ in range(count):
                key, place = _text(datum, place)
                content[key], place = value(datum, place)
            count, place = read_long(datum, place)
        return content, place

    return read
