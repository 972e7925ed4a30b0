"""JSON content as the binary datum of a schema: defaults of fields, and Avro's JSON encoding.

The two forms differ in unions: a default belongs to the first matching branch, while the JSON
encoding names the branch, as in `{"long": 7}`.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod

from kstreams_avro.datum import MAX_DEPTH, Json, Malformed, TooDeepError
from kstreams_avro.nodes import (
    NO_DEFAULT,
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Node,
    Primitive,
    Record,
    Union,
    described,
    is_null,
)
from kstreams_avro.varints import put_long

__all__ = ("DEFAULT", "TAGGED", "JsonForm", "branch_name")

_FLOATS = {"float": struct.Struct("<f"), "double": struct.Struct("<d")}
_BITS = {"int": 31, "long": 63}
_NOT_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
"""The texts that Avro's Java library uses for numbers that JSON cannot represent."""


def branch_name(branch: Node) -> str:
    """Return the name of a union's branch in the JSON encoding, such as `long` or `shop.Order`."""
    match branch:
        case Array():
            return "array"
        case Map():
            return "map"
        case Union():
            raise Malformed("a union must not directly contain a union")
        case _:
            return branch.name


class JsonForm(ABC):
    """Writes JSON content as a datum; subclasses choose the branch of a union.

    Attributes:
        unknown_fields: Whether records may have fields that are not in the schema.
    """

    unknown_fields: bool

    def write(self, node: Node, content: Json) -> bytes:
        """Return the binary datum of JSON content.

        Raises:
            Malformed: The content does not fit the schema; the error names the field.
        """
        out = bytearray()
        try:
            self._put(node, content, out, 0)
        except UnicodeEncodeError:
            raise Malformed("text with a lone surrogate cannot be encoded as UTF-8") from None
        except RecursionError:
            raise TooDeepError from None
        return bytes(out)

    @abstractmethod
    def _branch(self, node: Union, content: Json, depth: int) -> tuple[int, bytes]:
        """Return the number of the branch, and the datum of its content."""

    def _branch_datum(self, branch: Node, content: Json, depth: int) -> bytes:
        data = bytearray()
        self._put(branch, content, data, depth)
        return bytes(data)

    def _put(self, node: Node, content: Json, out: bytearray, depth: int) -> None:
        match node, content:
            case Union(), _:
                number, data = self._branch(node, content, depth)
                put_long(out, number)
                out += data
            case Record(), dict():
                self._put_record(node, content, out, depth)
            case Array(), list():
                self._put_array(node, content, out, depth)
            case Map(), dict():
                self._put_map(node, content, out, depth)
            case Enum(), str() if content in node.symbols:
                put_long(out, node.symbols.index(content))
            case Fixed(), str() if _is_latin(content) and len(content) == node.size:
                out += content.encode("latin-1")
            case Primitive(), _:
                _put_primitive(node, content, out)
            case _:
                raise _wrong(node, content)

    def _put_array(self, node: Array, content: list[Json], out: bytearray, depth: int) -> None:
        if content:
            put_long(out, len(content))
        for place, item in enumerate(content):
            try:
                self._put(node.items, item, out, depth)
            except Malformed as exc:
                raise exc.within(f"[{place}]") from None
        put_long(out, 0)

    def _put_map(self, node: Map, content: dict[str, Json], out: bytearray, depth: int) -> None:
        if content:
            put_long(out, len(content))
        for key, value in sorted(content.items()):
            _put_piece(key.encode(), out)
            try:
                self._put(node.values, value, out, depth)
            except Malformed as exc:
                raise exc.within(f"[{key!r:.40}]") from None
        put_long(out, 0)

    def _put_record(
        self, node: Record, content: dict[str, Json], out: bytearray, depth: int
    ) -> None:
        if depth >= MAX_DEPTH:
            raise TooDeepError
        if not self.unknown_fields:
            unknown = content.keys() - {field.name for field in node.fields}
            if unknown:
                raise Malformed(f"record {node.name} has no field {min(unknown)!r:.60}")
        for field in node.fields:
            try:
                if field.name in content:
                    self._put(field.type, content[field.name], out, depth + 1)
                else:
                    out += _default_datum(field)
            except Malformed as exc:
                raise exc.within(field.name) from None


class _DefaultForm(JsonForm):
    """Converts the default of a field in a schema: a union's value has its first matching type."""

    unknown_fields = True

    def _branch(self, node: Union, content: Json, depth: int) -> tuple[int, bytes]:
        for number, branch in enumerate(node.branches):
            try:
                return number, self._branch_datum(branch, content, depth)
            except Malformed:
                continue
        raise _wrong(node, content)


class _TaggedForm(JsonForm):
    """Writes Avro's JSON encoding: a union is null, or an object whose key names the branch."""

    unknown_fields = False

    def _branch(self, node: Union, content: Json, depth: int) -> tuple[int, bytes]:
        for number, branch in enumerate(node.branches):
            if content is None and is_null(branch):
                return number, b""
            if isinstance(content, dict) and content.keys() == {branch_name(branch)}:
                name = branch_name(branch)
                try:
                    return number, self._branch_datum(branch, content[name], depth)
                except Malformed as exc:
                    raise exc.within(name) from None
        forms = ("null" if is_null(b) else f'{{"{branch_name(b)}": ...}}' for b in node.branches)
        raise Malformed(f"expected {' or '.join(forms)}, got {content!r:.60}")


DEFAULT = _DefaultForm()
"""The form that writes field defaults."""

TAGGED = _TaggedForm()
"""The form that writes content in Avro's JSON encoding."""


def _default_datum(field: Field) -> bytes:
    if field.default is NO_DEFAULT:
        raise Malformed("missing, and it has no default")
    return DEFAULT.write(field.type, field.default)


def _put_primitive(node: Primitive, content: Json, out: bytearray) -> None:
    match node.name, content:
        case "null", None:
            pass
        case "boolean", bool():
            out.append(content)
        case (("int" | "long"), int()) if _fits(content, _BITS[node.name]):
            put_long(out, content)
        case (("float" | "double"), int() | float()) if not isinstance(content, bool):
            try:
                out += _FLOATS[node.name].pack(content)
            except (OverflowError, struct.error) as exc:
                raise _wrong(node, content) from exc
        case (("float" | "double"), str()) if content in _NOT_FINITE:
            out += _FLOATS[node.name].pack(_NOT_FINITE[content])
        case "string", str():
            _put_piece(content.encode("utf-8", "strict"), out)
        case "bytes", str() if _is_latin(content):
            _put_piece(content.encode("latin-1"), out)
        case _:
            raise _wrong(node, content)


def _put_piece(data: bytes, out: bytearray) -> None:
    put_long(out, len(data))
    out += data


def _fits(number: int, bits: int) -> bool:
    return not isinstance(number, bool) and -(1 << bits) <= number < 1 << bits


def _is_latin(text: str) -> bool:
    return not text or max(text) < "\u0100"


def _wrong(node: Node, content: Json) -> Malformed:
    return Malformed(f"expected {described(node)}, got {content!r:.60}")
