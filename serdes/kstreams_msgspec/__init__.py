"""Types that msgspec supports, and their serdes: the common part of JSON, MessagePack and others.

Derive from `TypedSerde` for a format of msgspec; `type_name`, `is_immutable` and `has_value_bytes`
return properties of a type, for formats of other libraries. Not a plugin: the package has no entry
points, and plugins may import it.
"""

from __future__ import annotations

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
    "TypedSerde",
    "classes_of",
    "contains",
    "has_value_bytes",
    "is_immutable",
    "parts_of",
    "type_name",
)
