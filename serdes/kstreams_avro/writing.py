"""Write values by their schema, and reject values that the schema does not allow.

fastavro's writer accepts 1.5 for an `int` (and writes 1), "1.5" for a `double`, any object for a
`boolean`, and uses the machine's time zone for times without a zone; so this module writes values
itself.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from enum import Enum as PythonEnum
from typing import Any, TypeAlias

from kstreams_avro.branches import branch_finder
from kstreams_avro.contents import contents_of
from kstreams_avro.conversions import Conversion
from kstreams_avro.datum import MAX_DEPTH, Datum, Malformed, TooDeepError
from kstreams_avro.nodes import (
    Array,
    Enum,
    Fixed,
    Map,
    Node,
    Primitive,
    Record,
    Union,
)
from kstreams_avro.varints import put_long

__all__ = ("Write", "writer_of")

Write: TypeAlias = Callable[[Any, bytearray, int], None]
"""Takes a value, the bytearray to append its bytes to, and the depth of enclosing records.
Raises `Malformed`."""

_FLOAT = struct.Struct("<f").pack
_DOUBLE = struct.Struct("<d").pack
_SHOWN = 40


def writer_of(node: Node) -> Write:
    """Return a function that writes values of a type."""
    return _Writers().of(node)


class _Writers:
    """Creates writers, one per record type, because a record type may contain itself."""

    def __init__(self) -> None:
        self._records: dict[int, _RecordWriter] = {}

    def of(self, node: Node) -> Write:
        match node:
            case Primitive():
                write = _PRIMITIVES[node.name]
                return write if node.conversion is None else _converted(write, node.conversion)
            case Fixed():
                write = _fixed(node.size)
                return write if node.conversion is None else _converted(write, node.conversion)
            case Enum():
                return _enum(node)
            case Array():
                return _array(self.of(node.items), node.container)
            case Map():
                return _map(self.of(node.values))
            case Union():
                return self._union(node)
            case Record():
                return self._record(node)

    def _union(self, node: Union) -> Write:
        find = branch_finder(node)
        writers = [self.of(branch) for branch in node.branches]
        heads = []
        for number in range(len(writers)):
            head = bytearray()
            put_long(head, number)
            heads.append(bytes(head))

        def write(value: Datum, out: bytearray, depth: int) -> None:
            number, content = find(value)
            out += heads[number]
            writers[number](content, out, depth)

        return write

    def _record(self, node: Record) -> Write:
        known = self._records.get(id(node))
        if known is None:
            known = self._records[id(node)] = _RecordWriter(node)
            known.parts = tuple((field.name, self.of(field.type)) for field in node.fields)
        return known.write


class _RecordWriter:
    """Writes the fields of a record in order.

    `parts` has the name and the writer of each field. It is set after the creation of the object,
    because a record may contain itself.
    """

    def __init__(self, node: Record) -> None:
        self.parts: tuple[tuple[str, Write], ...] = ()
        self._values = contents_of(node)

    def write(self, value: Datum, out: bytearray, depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise TooDeepError
        depth += 1
        values = self._values(value)
        name = ""
        try:
            for (name, write), content in zip(  # noqa: B007  # names what fails
                self.parts, values, strict=True
            ):
                write(content, out, depth)
        except Malformed as exc:
            raise exc.within(name) from None


def _converted(write: Write, conversion: Conversion) -> Write:
    convert = conversion.write

    def writes(value: Datum, out: bytearray, depth: int) -> None:
        write(convert(value), out, depth)

    return writes


def _array(write: Write, container: type) -> Write:
    ordered = not issubclass(container, (set, frozenset))

    def writes(value: Datum, out: bytearray, depth: int) -> None:
        if not isinstance(value, container):
            raise _wrong(container.__name__, value)
        items: Any = value
        if items:
            put_long(out, len(items))
            if ordered:
                _put_items(items, write, out, depth)
            else:  # equal sets have equal bytes
                out += b"".join(sorted(_item_bytes(item, write, depth) for item in items))
        out.append(0)

    return writes


def _put_items(items: Datum, write: Write, out: bytearray, depth: int) -> None:
    number = 0
    try:
        for number, item in enumerate(items):  # noqa: B007  # as above
            write(item, out, depth)
    except Malformed as exc:
        raise exc.within(f"[{number}]") from None


def _item_bytes(item: Datum, write: Write, depth: int) -> bytes:
    out = bytearray()
    write(item, out, depth)
    return bytes(out)


def _map(write: Write) -> Write:
    def writes(value: Datum, out: bytearray, depth: int) -> None:
        if not isinstance(value, Mapping):
            raise _wrong("dict", value)
        if value:
            put_long(out, len(value))
            try:
                keys = sorted(value)  # equal dicts have equal bytes
            except TypeError:
                keys = list(value)  # one of them is no text, and refused
            for key in keys:
                _put_text(key, out, depth)
                try:
                    write(value[key], out, depth)
                except Malformed as exc:
                    raise exc.within(f"[{key!r:.40}]") from None
        out.append(0)

    return writes


def _enum(node: Enum) -> Write:
    numbers = {
        node.members.get(symbol, symbol): number for number, symbol in enumerate(node.symbols)
    }

    def writes(value: Datum, out: bytearray, _: int) -> None:
        number = numbers.get(value) if isinstance(value, (str, PythonEnum)) else None
        if number is None:
            raise _wrong(f"one of {', '.join(node.symbols)}", value)
        put_long(out, number)

    return writes


def _fixed(size: int) -> Write:
    def writes(value: Datum, out: bytearray, _: int) -> None:
        if type(value) is not bytes or len(value) != size:
            raise _wrong(f"{size} bytes", value)
        out += value

    return writes


def _put_null(value: Datum, _: bytearray, __: int) -> None:
    if value is not None:
        raise _wrong("None", value)


def _put_boolean(value: Datum, out: bytearray, _: int) -> None:
    if value is True:
        out.append(1)
    elif value is False:
        out.append(0)
    else:
        raise _wrong("bool", value)


def _put_int(value: Datum, out: bytearray, _: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not -(1 << 31) <= value < 1 << 31:
        raise _wrong("int of 32 bits", value)
    put_long(out, value)


def _put_long(value: Datum, out: bytearray, _: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not -(1 << 63) <= value < 1 << 63:
        raise _wrong("int of 64 bits", value)
    put_long(out, value)


def _put_float(value: Datum, out: bytearray, _: int) -> None:
    try:
        out += _FLOAT(_number(value))
    except OverflowError as exc:
        raise _wrong("float of 32 bits", value) from exc


def _put_double(value: Datum, out: bytearray, _: int) -> None:
    try:
        out += _DOUBLE(_number(value))
    except (OverflowError, struct.error) as exc:
        raise _wrong("float", value) from exc


def _number(value: Datum) -> float:
    if isinstance(value, bool) or not isinstance(value, (float, int)):
        raise _wrong("float", value)
    return value


def _put_bytes(value: Datum, out: bytearray, _: int) -> None:
    if type(value) is not bytes:
        raise _wrong("bytes", value)
    put_long(out, len(value))
    out += value


def _put_text(value: Datum, out: bytearray, _: int) -> None:
    try:
        data = str.encode(value)
    except (TypeError, UnicodeEncodeError) as exc:
        raise _wrong("text", value) from exc
    put_long(out, len(data))
    out += data


def _wrong(expected: str, value: object) -> Malformed:
    return Malformed(f"expected {expected}, got {type(value).__name__}: {value!r:.{_SHOWN}}")


_PRIMITIVES: dict[str, Write] = {
    "null": _put_null,
    "boolean": _put_boolean,
    "int": _put_int,
    "long": _put_long,
    "float": _put_float,
    "double": _put_double,
    "bytes": _put_bytes,
    "string": _put_text,
}
