"""Types that msgspec knows, and serdes of them: what JSON, MessagePack and others share.

Derive from `TypedSerde` for a format of msgspec's; `type_name`, `is_immutable` and
`has_value_bytes` say what a type promises, for formats of other libraries. No plugin: it offers
nothing by name, and plugins may import it.
"""

from __future__ import annotations

from kstreams_msgspec.one_field import OneField
from kstreams_msgspec.serde import Coding, DecHook, EncHook, TypedSerde
from kstreams_msgspec.shape import (
    SCALARS,
    classes_of,
    contains,
    has_value_bytes,
    is_immutable,
    parts_of,
    type_name,
)

__all__ = (
    "SCALARS",
    "Coding",
    "DecHook",
    "EncHook",
    "OneField",
    "TypedSerde",
    "classes_of",
    "contains",
    "has_value_bytes",
    "is_immutable",
    "parts_of",
    "type_name",
)
