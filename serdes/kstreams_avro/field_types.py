"""The types of the fields of a class's objects, if columns of the fields have the same type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pyarrow as pa
from typing_extensions import is_typeddict

from kstreams.serde import FieldType

__all__ = ("field_types",)

_KINDS: tuple[tuple[Callable[[pa.DataType], bool], FieldType], ...] = (
    (pa.types.is_integer, int),
    (pa.types.is_floating, float),
    (pa.types.is_boolean, bool),
    (pa.types.is_string, str),
)


def field_types(
    token: object, columns: pa.DataType, names: Mapping[str, str]
) -> dict[str, FieldType]:
    """Return the types of the numbers, bools and texts among the fields of a class.

    Empty for dicts, and for classes that may change fields after decoding.

    Args:
        token: The class.
        columns: The struct of the schema's fields; another type if there are no columns.
        names: The name in the schema of each attribute.
    """
    if not (isinstance(token, type) and pa.types.is_struct(columns)) or is_typeddict(token):
        return {}
    if hasattr(token, "__post_init__"):
        return {}
    try:
        hints = get_type_hints(token)
    except (NameError, TypeError):
        return {}
    found: dict[str, FieldType] = {}
    for attribute, name in names.items():
        place = columns.get_field_index(name)
        kind = _kind_of(hints.get(attribute))
        for is_it, own in _KINDS:
            if kind is own and place >= 0 and is_it(columns.field(place).type):
                found[attribute] = own
    return found


def _kind_of(hint: Any) -> type | None:  # noqa: ANN401  # an annotation
    if get_origin(hint) in (Union, UnionType):
        others = [each for each in get_args(hint) if each is not NoneType]
        hint = others[0] if len(others) == 1 else None
    return hint if isinstance(hint, type) else None
