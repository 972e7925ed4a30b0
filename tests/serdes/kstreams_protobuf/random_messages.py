"""Random protobuf messages, and their expected columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from hypothesis import strategies as st

from kstreams_protobuf.kinds import is_map

__all__ = ("canonical_text", "in_columns", "may_differ", "messages", "plain")

_TIMES = ("google.protobuf.Timestamp", "google.protobuf.Duration")
_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, (1 << 32) - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, (1 << 64) - 1),
}


def messages(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for messages of a class, with any of their fields."""
    return _fields(kind.DESCRIPTOR, 0).map(lambda fields: kind(**fields))


def _fields(message: Descriptor, depth: int) -> st.SearchStrategy[dict[str, Any]]:
    if message.full_name in _TIMES:
        seconds = st.integers(-62_135_596_800, 253_402_300_799)
        if message.name == "Duration":
            return st.builds(lambda s: {"seconds": s}, seconds)
        micros = st.integers(0, 999_999)
        return st.builds(lambda s, us: {"seconds": s, "nanos": us * 1_000}, seconds, micros)
    each = {field.name: _values(field, depth) for field in message.fields if depth < 3}
    wanted = {field.name: each[field.name] for field in message.fields if field.is_required}
    optional = {name: values for name, values in each.items() if name not in wanted}
    return st.fixed_dictionaries(wanted, optional=optional)


def _values(field: FieldDescriptor, depth: int) -> st.SearchStrategy[Any]:
    inner = field.message_type
    if is_map(inner):
        key, value = (_value(inner.fields_by_name[name], depth) for name in ("key", "value"))
        return st.dictionaries(key, value, max_size=3)
    one = _value(field, depth)
    return st.lists(one, max_size=3) if field.is_repeated else one


def _value(field: FieldDescriptor, depth: int) -> st.SearchStrategy[Any]:
    if field.message_type is not None:
        return _fields(field.message_type, depth + 1)
    if field.enum_type is not None:
        known = st.sampled_from(sorted(field.enum_type.values_by_number))
        return known if field.enum_type.is_closed else known | st.integers(-9, 1 << 30)
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_BOOL:
            return st.booleans()
        case FieldDescriptor.CPPTYPE_DOUBLE | FieldDescriptor.CPPTYPE_FLOAT:
            width = 64 if field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE else 32
            numbers = st.floats(width=width, allow_nan=False)  # type: ignore[arg-type]  # 32 or 64
            return numbers.map(lambda number: number + 0.0)  # -0.0 is 0.0 in columns
        case FieldDescriptor.CPPTYPE_STRING if field.type == FieldDescriptor.TYPE_BYTES:
            return st.binary(max_size=5)
        case FieldDescriptor.CPPTYPE_STRING:
            return st.text(max_size=5)
        case kind:
            return st.integers(*_INTEGERS[kind])


def in_columns(message: Any) -> Any:
    """Return the value of a message in a column, in the form of `plain`."""
    if message.DESCRIPTOR.full_name in _TIMES:
        # Rounded towards zero, and limited to 64 bits.
        exact = message.seconds * 1_000_000 + int(message.nanos / 1_000)
        return max(-(1 << 63), min((1 << 63) - 1, exact))
    if message.DESCRIPTOR.file.name == "google/protobuf/wrappers.proto":
        return message.value
    return {field.name: _in_column(message, field) for field in message.DESCRIPTOR.fields}


def _in_column(message: Message, field: FieldDescriptor) -> Any:
    value = getattr(message, field.name)
    inner = field.message_type
    if is_map(inner):
        return {key: in_columns(v) if isinstance(v, Message) else v for key, v in value.items()}
    if field.is_repeated:
        return [in_columns(each) if isinstance(each, Message) else each for each in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return in_columns(value) if isinstance(value, Message) else value


def plain(column: pa.Array) -> list[Any]:
    """Return the Python objects of a column, with times as int and maps as dicts."""
    kind = column.type
    rows: list[Any]
    if pa.types.is_struct(kind):
        fields = {kind.field(n).name: plain(column.field(n)) for n in range(kind.num_fields)}
        rows = [{name: values[n] for name, values in fields.items()} for n in range(len(column))]
    elif pa.types.is_map(kind):
        rows = [dict(zip(*_entries(each), strict=True)) for each in column]
    elif pa.types.is_list(kind):
        rows = [[] if each.values is None else plain(each.values) for each in column]
    elif pa.types.is_temporal(kind):
        return column.cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]  # untyped
    else:
        return column.to_pylist()  # type: ignore[no-any-return]  # as above
    return [
        row if there else None
        for row, there in zip(rows, column.is_valid().to_pylist(), strict=True)
    ]


def _entries(each: Any) -> tuple[list[Any], list[Any]]:
    if each.values is None:
        return [], []
    return plain(each.values.field(0)), plain(each.values.field(1))


def canonical_text(value: Any) -> str:
    """Return text that is equal for equal values, including NaN, whatever the order of keys."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(sorted(f"{k!r}: {canonical_text(v)}" for k, v in value.items())) + "}"
        )
    return (
        "[" + ", ".join(map(canonical_text, value)) + "]"
        if isinstance(value, list)
        else repr(value)
    )


def may_differ(kind: Any, data: bytes) -> bool:
    """Return whether columns may read bytes differently from objects.

    Columns keep an entry of a map that has additional fields; the parser of messages treats such an
    entry as unknown.
    """
    if not any(is_map(field.message_type) for field in kind.DESCRIPTOR.fields):
        return False
    try:
        message = kind.FromString(data)
    except DecodeError:
        return False
    whole = message.ByteSize()
    message.DiscardUnknownFields()
    return bool(message.ByteSize() < whole)
