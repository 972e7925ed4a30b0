"""Types as XML elements, which are read from lxml's trees and written as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

try:
    import msgspec
    from lxml import etree
    from msgspec import inspect
except ImportError as exc:
    raise ImportError("XML needs lxml and msgspec: pip install 'kstreams-spark[xml]'") from exc

from kstreams_msgspec import SCALARS, EncHook, type_name

__all__ = ("ATTRIBUTE", "CONTENT", "Element", "Marker", "element_of")


@dataclass(frozen=True)
class Marker:
    """Marks a field that is not an element, as an argument of `Annotated`.

    Args:
        place: `attribute` or `content`.
    """

    place: str


ATTRIBUTE = Marker("attribute")
"""The field is an attribute: `currency: Annotated[str, ATTRIBUTE]`."""

CONTENT = Marker("content")
"""The field is the element's own text: `amount: Annotated[float, CONTENT]`."""

_NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"
_NIL_ATTRIBUTE = ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"'
_INT = re.compile(r"[+-]?[0-9]{1,4000}")
_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_VALUE = str.maketrans(
    {"&": "&amp;", "<": "&lt;", '"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
)
_SCALARS = tuple(kind for kind in SCALARS if kind is not inspect.NoneType)
_LISTS = (inspect.ListType, inspect.VarTupleType, inspect.SetType, inspect.FrozenSetType)
_OBJECTS = (inspect.StructType, inspect.DataclassType, inspect.TypedDictType)


@dataclass
class Element:
    """The content of the XML elements of a type.

    Attributes:
        is_text: Whether the type is a scalar, whose element has only text.
        is_number: Whether the type is a whole number, whose text may have a sign and leading zeros.
        is_exact: Whether spaces around the text are significant.
        attributes: The fields by the name of their attribute.
        content: The field that has the element's text; None if there is none.
        children: The fields by the tag of their elements.
    """

    is_text: bool = False
    is_number: bool = False
    is_exact: bool = False
    attributes: dict[str, _Field] = field(default_factory=dict)
    content: _Field | None = None
    children: dict[str, _Field] = field(default_factory=dict)

    def read(self, element: etree._Element) -> Any:  # noqa: ANN401  # input of msgspec.convert
        """Return text, a number or a dict for an element.

        Raises:
            ValueError: The element has invalid content.
        """
        if self.is_text:
            if len(element):
                raise ValueError(f"expected text in <{element.tag}>, got <{element[0].tag}>")
            return self.read_text(element.text or "")
        return self._read_fields(element)

    def read_text(self, text: str) -> str | int:
        """Return the value of a scalar's text; spaces around values other than text are removed."""
        if self.is_exact:
            return text
        bare = text.strip()
        return int(bare) if self.is_number and _INT.fullmatch(bare) else bare

    def _read_fields(self, element: etree._Element) -> dict[str, Any]:
        found: dict[str, Any] = {each.key: [] for each in self.children.values() if each.is_many}
        for name, each in self.attributes.items():
            text = element.get(name)
            if text is not None:
                found[each.key] = each.element.read_text(text)
        if self.content is not None:
            found[self.content.key] = self.content.element.read_text(element.text or "")
        children: dict[Any, _Field] = self.children
        for child in element:
            part = children.get(child.tag)
            if part is None:
                continue  # of a later version
            if part.is_nullable and child.get(_NIL) in ("true", "1"):
                value = None
            else:
                value = part.element.read(child)
            if part.is_many:
                found[part.key].append(value)
            elif part.key in found:
                raise ValueError(f"expected one <{child.tag}> in <{element.tag}>, got several")
            else:
                found[part.key] = value
        for each in (*self.attributes.values(), *self.children.values()):
            if each.is_nullable and each.is_required:
                found.setdefault(each.key, None)
        return found

    def write(self, value: Any, tag: str, out: list[str], enc_hook: EncHook | None) -> None:  # noqa: ANN401  # of any type
        """Append the text of an element.

        Args:
            value: The content.
            tag: The tag name, which a space and attributes may follow.
            out: The list to which the text is appended, in pieces.
            enc_hook: Converts an object of an unsupported type to a supported one.
        """
        name = tag.partition(" ")[0]
        if self.is_text:
            out.append(f"<{tag}>{_text(value, enc_hook).translate(_TEXT)}</{name}>")
            return
        get = value.__getitem__ if isinstance(value, dict) else value.__getattribute__
        out.append(f"<{tag}")
        for attribute, each in self.attributes.items():
            inner = get(each.name)
            if inner is not None:
                out.append(f' {attribute}="{_text(inner, enc_hook).translate(_VALUE)}"')
        out.append(">")
        if self.content is not None and (inner := get(self.content.name)) is not None:
            out.append(_text(inner, enc_hook).translate(_TEXT))
        for each in self.children.values():
            inner = get(each.name)
            items = (inner,) if not each.is_many else sorted(inner) if each.is_set else inner
            for item in items:
                if item is not None:
                    each.element.write(item, each.key, out, enc_hook)
                elif each.is_many or not each.defaults_to_none:
                    out.append(f"<{each.key}{_NIL_ATTRIBUTE}/>")
        out.append(f"</{name}>")


@dataclass(frozen=True)
class _Field:
    """A field of an object.

    Args:
        name: The name in Python.
        key: The name in XML, without a namespace.
        element: The content.
        is_many: Whether the field is a list, with one element for each item.
        is_set: Whether the field is a set, whose items are written in sorted order.
        is_nullable: Whether the field, or an item of it, may be None.
        is_required: Whether the field has no default.
        defaults_to_none: Whether a missing field is None.
    """

    name: str
    key: str
    element: Element
    is_many: bool = False
    is_set: bool = False
    is_nullable: bool = False
    is_required: bool = True
    defaults_to_none: bool = True


def element_of(shape: inspect.Type, namespace: str) -> Element:
    """Return the `Element` that describes the XML elements of a type.

    Args:
        shape: msgspec's description of the type.
        namespace: The namespace of all tags, in braces; or empty.

    Raises:
        TypeError: The type, or a field of it, cannot be an element.
    """
    return _made(shape, namespace, {})


def _made(shape: inspect.Type, namespace: str, known: dict[type, Element]) -> Element:
    while isinstance(shape, inspect.Metadata):
        shape = shape.type
    if isinstance(shape, _SCALARS) or _is_hooked(shape):
        return Element(
            is_text=True,
            is_number=isinstance(shape, inspect.IntType),
            is_exact=isinstance(shape, inspect.StrType | inspect.EnumType | inspect.LiteralType),
        )
    if not isinstance(shape, _OBJECTS):
        raise TypeError(
            f"{type(shape).__name__} cannot be an XML element\n"
            "Hint: use a dataclass or Struct whose fields are scalars, dataclasses, Structs, or "
            "lists of these."
        )
    if shape.cls in known:
        return known[shape.cls]
    element = known[shape.cls] = Element()
    hints = get_type_hints(shape.cls, include_extras=True)
    for each in shape.fields:
        _add(element, each, _marker(hints[each.name]), namespace, known)
    return element


def _add(
    element: Element,
    part: inspect.Field,
    marker: Marker | None,
    namespace: str,
    known: dict[type, Element],
) -> None:
    shape, nullable = _without_none(part.type, part.name)
    many = isinstance(shape, _LISTS)
    if many and (nullable or marker is not None):
        problem = "may be None" if nullable else f"is marked as {marker.place}" if marker else ""
        raise TypeError(f"field {part.name!r} is a list and {problem}, which XML cannot represent")
    inner = shape
    if isinstance(shape, _LISTS):
        inner, nullable = _without_none(shape.item_type, part.name)
    made = _Field(
        part.name,
        part.encode_name,
        _made(inner, namespace, known),
        is_many=many,
        is_set=isinstance(shape, inspect.SetType | inspect.FrozenSetType),
        is_nullable=nullable,
        is_required=part.required,
        defaults_to_none=part.required or part.default is None,
    )
    if marker is not None and not made.element.is_text:
        raise TypeError(f"field {part.name!r} is marked as {marker.place}, but is not a scalar")
    if marker == ATTRIBUTE:
        element.attributes[made.key] = made
    elif marker == CONTENT:
        element.content = made
    else:
        element.children[f"{namespace}{made.key}"] = made


def _without_none(shape: inspect.Type, name: str) -> tuple[inspect.Type, bool]:
    while isinstance(shape, inspect.Metadata):
        shape = shape.type
    if not isinstance(shape, inspect.UnionType):
        return shape, False
    kinds = [each for each in shape.types if not isinstance(each, inspect.NoneType)]
    if len(kinds) != 1:
        raise TypeError(f"field {name!r} is a union of several types, which XML cannot represent")
    return kinds[0], len(kinds) < len(shape.types)


def _marker(hint: object) -> Marker | None:
    metadata = getattr(hint, "__metadata__", ())
    return next((each for each in metadata if isinstance(each, Marker)), None)


def _is_hooked(shape: inspect.Type) -> bool:
    return isinstance(shape, inspect.CustomType)


def _text(value: Any, enc_hook: EncHook | None) -> str:  # noqa: ANN401  # of any scalar type
    if type(value) is str:
        return value
    plain: Any = msgspec.to_builtins(value, enc_hook=enc_hook)
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, float):
        return _FLOATS.get(str(plain), repr(plain))
    if isinstance(plain, (str, int)):
        return str(plain)
    raise TypeError(f"expected a scalar for the text of an element, got {type_name(type(value))}")


_FLOATS: Mapping[str, str] = {"nan": "NaN", "inf": "INF", "-inf": "-INF"}
