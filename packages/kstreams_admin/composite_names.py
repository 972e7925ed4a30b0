"""Composite serdes by their recorded names, such as `sequence(int64)` or `tuple(text, double)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from kstreams.serde.base import Serde
from kstreams.serde.composite import FieldsSerde, TupleSerde
from kstreams.serde.sequences import FrozenSetSerde, SequenceSerde
from kstreams.serde.spans import SpansSerde
from kstreams.serde.stamped import StampedSerde

__all__ = ("composite_named",)

_FORMATS: Mapping[str, Callable[..., Serde[Any]]] = {
    "sequence": SequenceSerde,
    "set": FrozenSetSerde,
    "spans": SpansSerde,
    "stamped": StampedSerde,
    "tuple": TupleSerde,
}
_OPENING, _CLOSING = "([{<", ")]}>"
_DEEPEST = 16


def composite_named(
    name: str, find: Callable[[str], Serde[Any] | None], depth: int = 0
) -> Serde[Any] | None:
    """Return the composite serde of a recorded name; None if a part of the name is unknown.

    Args:
        name: The recorded name, from an untrusted source.
        find: Returns the serde of a name that is not composite.
        depth: The nesting depth: the number of enclosing composite serdes.
    """
    format_, opened, rest = name.partition("(")
    if format_ == "fields" and depth < _DEEPEST:
        return _fields_named(name, rest.removesuffix(")"), partial(_part, find=find, depth=depth))
    make = _FORMATS.get(format_)
    if make is None or not opened or not rest.endswith(")") or depth == _DEEPEST:
        return None
    parts = [_part(part, find=find, depth=depth) for part in _divided(rest[:-1])]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or (make is not TupleSerde and len(parts) != 1):
        return None
    found = make(*known)
    return found if found.name == name else None


def _fields_named(
    name: str, fields: str, part_named: Callable[[str], Serde[Any] | None]
) -> Serde[Any] | None:
    """Return the serde of a name such as `fields(orders: int64)`; None if a part is unknown.

    Args:
        name: The whole name.
        fields: The text in its brackets, such as `orders: int64`.
        part_named: Returns the serde of the name of a field's serde; None if it is unknown.
    """
    pairs = [field.partition(": ") for field in _divided(fields)]
    parts = [part_named(part) for _, _, part in pairs]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    found: Serde[Any] = FieldsSerde(tuple(field for field, _, _ in pairs), *known)
    return found if found.name == name else None


def _part(name: str, *, find: Callable[[str], Serde[Any] | None], depth: int) -> Serde[Any] | None:
    return composite_named(name, find, depth + 1) or find(name)


def _divided(text: str) -> list[str]:
    """Split text at each `, ` outside of brackets."""
    parts, begin, depth = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if depth == 0 and text.startswith(", ", place):
            parts.append(text[begin:place])
            begin = place + 2
    return [*parts, text[begin:]]
