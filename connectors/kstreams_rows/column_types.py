"""The columns of a type, and the check that a table has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from datetime import date, datetime
from types import NoneType, UnionType
from typing import Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from kstreams.errors import SinkError
from kstreams_rows.columnar import Columns

__all__ = ("ToColumns", "check_columns", "missing_columns", "schema_of")

_SIMPLE: Mapping[object, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    date: pa.date32(),
    datetime: pa.timestamp("us", "UTC"),
}
_KINDS: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_date,
    lambda each: pa.types.is_list(each) or pa.types.is_large_list(each),
    pa.types.is_map,
    pa.types.is_struct,
    lambda each: pa.types.is_string(each) or pa.types.is_large_string(each),
    lambda each: pa.types.is_binary(each) or pa.types.is_large_binary(each),
    lambda each: pa.types.is_timestamp(each) and each.tz is None,
    lambda each: pa.types.is_timestamp(each) and each.tz is not None,
)


def schema_of(rows: type | pa.Schema) -> pa.Schema:
    """Return the columns of a dataclass; a schema is returned unchanged.

    A field is a column: `str`, `int` (64 bits), `float`, `bool`, `bytes`, `date`, `datetime` (an
    instant, in microseconds), `list[T]`, `dict[str, T]`, a dataclass; `T | None` is nullable.

    Raises:
        ValueError: There is no column, a field has another type, or a name is repeated.
    """
    if isinstance(rows, pa.Schema):
        schema = rows
    elif isinstance(rows, type) and is_dataclass(rows):
        schema = pa.schema(_fields(rows))
    else:
        raise ValueError(f"rows={rows!r}: expected a dataclass or a pyarrow.Schema")
    if not schema.names or len(set(schema.names)) < len(schema.names):
        raise ValueError(f"a table needs columns with different names, got {schema.names!r}")
    return schema


def _fields(rows: type) -> list[pa.Field]:
    hints = get_type_hints(rows)
    return [_field(rows, each.name, hints[each.name]) for each in fields(rows)]


def _field(owner: type, name: str, hint: object) -> pa.Field:
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    plain = [part for part in parts if part is not NoneType]
    found = _type(plain[0]) if len(plain) == 1 else None
    if found is None:
        raise ValueError(
            f"field {name!r} of {owner.__name__} has the type {hint}, which no type of column "
            "matches: give rows=pyarrow.schema(...) instead of the dataclass"
        )
    return pa.field(name, found, nullable=len(plain) < len(parts))


def _type(hint: object) -> pa.DataType | None:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (list, Sequence) or (origin is tuple and inner[1:] == (...,)):
        return pa.list_(_field(list, "element", inner[0]))
    if origin in (dict, Mapping) and inner[0] is str:
        return pa.map_(pa.string(), _field(dict, "value", inner[1]))
    if isinstance(hint, type) and is_dataclass(hint):
        return pa.struct(_fields(hint))
    return _SIMPLE.get(hint)


class ToColumns:
    """Converts rows, which are mappings or dataclass objects, to mappings by column.

    Args:
        schema: The schema of the rows; without nested columns, the values of objects are not
            copied.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._nested = any(pa.types.is_nested(each.type) for each in schema)
        self._names: dict[type, tuple[str, ...]] = {}

    def __call__(self, row: object) -> Columns:
        """Return a row as a mapping.

        Raises:
            TypeError: The row is neither a mapping nor a dataclass object.
        """
        names = self._names.get(type(row))
        if names is None:
            if isinstance(row, Mapping):
                return row
            if not is_dataclass(row) or isinstance(row, type):
                raise TypeError(
                    f"expected a mapping or a dataclass object, got a {type(row).__name__}"
                )
            if self._nested:
                return asdict(row)
            names = self._names[type(row)] = tuple(each.name for each in fields(row))
        return {name: getattr(row, name) for name in names}


def missing_columns(rows: pa.Schema, table: pa.Schema) -> list[pa.Field]:
    """Return the columns of rows that a table does not have."""
    return [each for each in rows if each.name not in table.names]


def check_columns(rows: pa.Schema, table: pa.Schema, name: str) -> None:
    """Check that a table can store rows with these columns.

    Args:
        rows: The columns of the rows.
        table: The columns of the table; its types may be wider or narrower than those of the rows.
        name: The name of the table.

    Raises:
        SinkError: A column is missing, has another kind of type, or requires a value that rows do
            not have.
    """
    problems = [f"the table has no column {each.name!r}" for each in missing_columns(rows, table)]
    for each in table:
        own = rows.field(each.name) if each.name in rows.names else None
        if own is None:
            if not each.nullable:
                problems.append(f"column {each.name!r} needs a value, but the rows lack the column")
        elif not _fit(own.type, each.type):
            problems.append(f"column {each.name!r} is {each.type}, but {own.type} in the rows")
    if problems:
        raise SinkError(
            f"table {name} cannot store the rows: {'; '.join(problems)}",
            hint='change the type of the rows or the table; new_columns="add" adds columns.',
        )


def _fit(own: pa.DataType, has: pa.DataType) -> bool:
    kind = next((kind for kind in _KINDS if kind(own)), None)
    if kind is None or not kind(has):
        return False
    if pa.types.is_list(own) or pa.types.is_large_list(own):
        return _fit(own.value_type, has.value_type)
    if pa.types.is_map(own):
        return _fit(own.item_type, has.item_type) and _fit(own.key_type, has.key_type)
    if pa.types.is_struct(own):
        inner = {each.name: each.type for each in has}
        return all(each.name in inner and _fit(each.type, inner[each.name]) for each in own)
    return True
