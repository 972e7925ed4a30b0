"""The serde of XML, which is typed; it ignores all parts of a document that are not data."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
from lxml import etree
from typing_extensions import override

from kstreams import Serde
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import objects_of
from kstreams_msgspec import (
    DecHook,
    EncHook,
    classes_of,
    contains,
    has_value_bytes,
    is_immutable,
    type_name,
)
from kstreams_xml.documents import element_at, parsed, parsed_together
from kstreams_xml.elements import element_of

__all__ = ("XmlSerde", "xml_serde")

T = TypeVar("T")
"""The type that XML is decoded to."""

_SHOWN_BYTES = 60
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ENCODE_ERRORS = (TypeError, ValueError, RecursionError, LookupError, AttributeError)
_DECODE_ERRORS = (*_ENCODE_ERRORS, ArithmeticError)


def xml_serde(
    type_: type[T],
    *,
    path: str | None = None,
    namespace: str = "",
    name: str | None = None,
    enc_hook: EncHook | None = None,
    dec_hook: DecHook | None = None,
) -> Serde[T]:
    r"""Return a serde of XML documents with one object of a type each.

    A field is an element of its name with its text; or an attribute, or the text of the element,
    with a marker: `Annotated[str, ATTRIBUTE]`, `Annotated[float, CONTENT]`. A list is one element
    for each item; a dataclass or Struct is an element of its fields. None is no element, or an
    element with `xsi:nil` if a missing element means a default. Unknown elements and attributes,
    comments, and text between elements are skipped, as are spaces around numbers, bools and times.

    Documents are untrusted: a document with a document type is rejected, so there are no entities,
    files or addresses; so is one that is nested deeper than 255 elements, or has a text of 10 MB.

    Equal objects have equal bytes: in UTF-8, without a declaration, with fields in order.

    Args:
        type_: A dataclass, `msgspec.Struct` or TypedDict of scalars, lists, and other such types.
        path: The tags from the root to the object's element, such as `envelope/body/order`; the
            name of the type by default.
        namespace: The namespace of all elements, such as `urn:orders`; attributes have none.
        name: The name recorded with the state instead of the type's name.
        enc_hook: Converts an object of an unsupported type to a scalar.
        dec_hook: Converts the text back, given the type and the text.

    Raises:
        TypeError: XML cannot represent a field: a dictionary, a union, a list that may be None.
        ValueError: The path has no tags.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Order:
        ...     id: int
        ...     item: list[str]
        >>> orders = xml_serde(Order, path="order")
        >>> orders.serialize(Order(7, ["tea", "salt & pepper"]))
        b'<order><id>7</id><item>tea</item><item>salt &amp; pepper</item></order>'
        >>> orders.deserialize(b"<order><id>8</id><item>milk</item><later/></order>")
        Order(id=8, item=['milk'])
    """
    return XmlSerde(type_, path, namespace, name, enc_hook, dec_hook)


class XmlSerde(Serde[T]):
    """The result of `xml_serde`. Compares by its arguments, and pickles by them."""

    def __init__(
        self,
        type_: type[T],
        path: str | None,
        namespace: str,
        name: str | None,
        enc_hook: EncHook | None,
        dec_hook: DecHook | None,
    ) -> None:
        shape = msgspec.inspect.type_info(type_)
        if dec_hook is None and contains(shape, msgspec.inspect.CustomType):
            raise TypeError(
                f"{type_name(type_)} cannot be decoded from XML\n"
                "Hint: use a dataclass, or give enc_hook= and dec_hook=."
            )
        tags = (_name_of(type_) if path is None else path).split("/")
        if not all(map(_NAME.fullmatch, tags)):
            raise ValueError(
                f"expected tags separated by /, such as path='orders/order', got {'/'.join(tags)!r}"
            )
        space = f"{{{namespace}}}" if namespace else ""
        self._arguments = (type_, path, namespace, name, enc_hook, dec_hook)
        self._element = element_of(shape, space)
        if self._element.is_text:
            raise TypeError(f"expected a dataclass, Struct or TypedDict, got {type_name(type_)}")
        self._tags = tags
        self._path = [f"{space}{tag}" for tag in tags]
        self._opening = f' xmlns="{namespace}"' if namespace else ""
        place = "" if path is None else f" at {path}"
        self.name = f"xml[{type_name(type_)}{place}]" if name is None else name
        self.type_token = type_
        self.immutable = is_immutable(shape)
        self.hashes_by_bytes = has_value_bytes(shape)
        self._classes = classes_of(shape)

    def serialize(self, value: T) -> bytes:
        """Write a document; an object of another type is a `SerializationError`."""
        if not isinstance(value, self._classes):
            raise SerializationError(
                f"expected {self.name}, got {type(value).__name__}: {value!r:.{_SHOWN_BYTES}}"
            )
        out: list[str] = []
        outer, inner = self._tags[:-1], self._tags[-1]
        try:
            self._element.write(value, self._tag(inner, outermost=not outer), out, self._enc_hook)
            text = "".join(out)
        except _ENCODE_ERRORS as exc:
            raise SerializationError(f"expected {self.name}: {exc}") from exc
        wrong = _FORBIDDEN.search(text)
        if wrong is not None:
            raise SerializationError(
                f"expected {self.name}: XML cannot represent the character {wrong[0]!r}"
            )
        for place in reversed(range(len(outer))):
            text = f"<{self._tag(outer[place], outermost=place == 0)}>{text}</{outer[place]}>"
        return text.encode()

    def deserialize(self, data: bytes) -> T:
        """Parse a document; an invalid or unexpected document is a `DeserializationError`."""
        try:
            return self._converted(parsed(data))
        except _DECODE_ERRORS as exc:
            raise DeserializationError(
                f"expected {self.name}: {exc}; got {data[:_SHOWN_BYTES]!r}"
            ) from exc

    @override
    def deserialize_many(self, data: pa.Array) -> list[T | None]:
        items: list[bytes | None] = objects_of(data)
        try:
            roots = iter(parsed_together([item for item in items if item is not None]))
            return [None if item is None else self._converted(next(roots)) for item in items]
        except _DECODE_ERRORS:
            return super().deserialize_many(data)

    def to_json(self, value: T) -> object:
        """Return the JSON form of an object, for output to people."""
        return msgspec.to_builtins(value, str_keys=True, enc_hook=self._enc_hook)

    def from_json(self, content: object) -> T:
        """Convert the result of `to_json` back; `ValueError` if the content is invalid."""
        type_, *_, dec_hook = self._arguments
        value: T = msgspec.convert(content, type_, dec_hook=dec_hook)
        return value

    @property
    def _enc_hook(self) -> EncHook | None:
        return self._arguments[-2]

    def _tag(self, tag: str, *, outermost: bool) -> str:
        return f"{tag}{self._opening}" if outermost else tag

    def _converted(self, root: etree._Element) -> T:
        content = self._element.read(element_at(root, self._path))
        type_, *_, dec_hook = self._arguments
        value: T = msgspec.convert(content, type_, strict=False, dec_hook=dec_hook)
        return value

    def __eq__(self, other: object) -> bool:
        """Compare the arguments."""
        return isinstance(other, XmlSerde) and self._arguments == other._arguments

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle by the arguments."""
        return XmlSerde, self._arguments


def _name_of(type_: object) -> str:
    """Return the name of a type, without its module."""
    return type_name(type_).rpartition(".")[2]
