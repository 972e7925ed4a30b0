"""The columns of a row of CSV: how their text is read and written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import date, datetime, timezone
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc

from kstreams.errors import SerializationError
from kstreams.quoting import repr_of

__all__ = ("CsvColumn", "columns_of")

_NOTHING = object()
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_SHOWN = 40
_INT = re.compile(r"-?[0-9]{1,18}")
_FLOAT = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?")


@dataclass(frozen=True)
class _Kind:
    """A Python type of values, and how CSV text of this type is read and written.

    Args:
        arrow: The Arrow type of the values.
        classes: The Python classes of which a value may be an instance.
        text: Writes a value, always in the same form.
        read: Parses the most common texts as Arrow does; returns None for all other texts.
    """

    arrow: pa.DataType
    classes: tuple[type, ...]
    text: Callable[[Any], str]
    read: Callable[[str], object]


def _int(text: str) -> object:
    return int(text) if _INT.fullmatch(text) else None


def _float(text: str) -> object:
    return float(text) if _FLOAT.fullmatch(text) else None


def _bool(text: str) -> object:
    return {"true": True, "false": False}.get(text)


def _moment(value: datetime) -> str:
    if value.tzinfo is None:
        raise SerializationError(f"expected a datetime with a time zone, got {value!r}")
    return value.astimezone(timezone.utc).isoformat()


def _slowly(_: str) -> object:
    return None


_KINDS: dict[type, _Kind] = {
    str: _Kind(pa.string(), (str,), str, str),
    int: _Kind(pa.int64(), (int,), str, _int),
    float: _Kind(pa.float64(), (float, int), lambda value: repr(float(value)), _float),
    bool: _Kind(pa.bool_(), (bool,), lambda value: "true" if value else "false", _bool),
    date: _Kind(pa.date32(), (date,), date.isoformat, _slowly),
    datetime: _Kind(pa.timestamp("us", "UTC"), (datetime,), _moment, _slowly),
}


@dataclass(frozen=True)
class CsvColumn:
    """A column of CSV: one field of each row.

    Args:
        name: The field's name.
        python: The type of the field's values.
        nullable: Whether the field may be None, which is written as the empty text without quotes.
        default: The value if a row ends before the field; `_NOTHING` for a required field.
    """

    name: str
    python: type
    nullable: bool
    default: object = _NOTHING

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of the field's values."""
        return _KINDS[self.python].arrow

    @property
    def required(self) -> bool:
        """Whether each row must have the field."""
        return self.default is _NOTHING

    def __str__(self) -> str:
        """Return the column's part of a serde's name, such as `price float?`."""
        return f"{self.name} {self.python.__name__}{'?' * self.nullable}"

    def read(self, text: str) -> object:
        """Return the value of a text, or None if only Arrow can read it."""
        return _KINDS[self.python].read(text)

    def write(self, value: object, special: re.Pattern[str]) -> str:
        """Return the text of a value, quoted if needed.

        Args:
            value: The value of the field.
            special: A pattern for characters that need quotes.

        Raises:
            SerializationError: The value is of another type, or None in a column that is not
                nullable.
        """
        if value is None and self.nullable:
            return ""
        kind = _KINDS[self.python]
        if type(value) not in kind.classes:
            raise self._wrong(value)
        text = kind.text(value)
        if self.python is int and not _LEAST <= value <= _MOST:  # type: ignore[operator]  # an int
            raise self._wrong(value)
        if self.python is not str:
            return text
        quoted = special.search(text) or (self.nullable and not text)  # nothing alone is None
        return '"' + text.replace('"', '""') + '"' if quoted else text

    def texts(self, values: Sequence[object], special: re.Pattern[str]) -> pa.Array:
        """Return the results of `write` for each value, in one step if possible."""
        if self.python is int and set(map(type, values)) <= {int, NoneType}:
            with suppress(pa.ArrowException, OverflowError):
                numbers = pa.array(values, pa.int64())
                if self.nullable or not numbers.null_count:
                    return pc.fill_null(numbers.cast(pa.string()), "")
        if self.python is str and set(map(type, values)) == {str}:
            with suppress(UnicodeEncodeError):
                return self._quoted(pa.array(values, pa.string()), special)
        return pa.array([self.write(value, special) for value in values], pa.string())

    def _wrong(self, value: object) -> SerializationError:
        return SerializationError(
            f"expected {self}, got {type(value).__name__}: {repr_of(value, _SHOWN)}"
        )

    def _quoted(self, column: pa.Array, special: re.Pattern[str]) -> pa.Array:
        needs = pc.match_substring_regex(column, special.pattern)
        if self.nullable:  # nothing without quotes is None
            needs = pc.or_(needs, pc.equal(column, ""))
        if not pc.any(needs).as_py():
            return column
        doubled = pc.replace_substring(column, '"', '""')
        return pc.if_else(needs, pc.binary_join_element_wise('"', doubled, '"', ""), column)


def columns_of(type_: type) -> tuple[CsvColumn, ...]:
    """Return the columns of a type's rows, in the order of its fields.

    Raises:
        TypeError: The type has no fields, or a field's type is not supported.
    """
    hints = get_type_hints(type_)
    found = tuple(_column(type_, name, hints[name], default) for name, default in _fields(type_))
    if not found:
        raise TypeError(f"expected a dataclass, a NamedTuple or a Struct, got {type_!r}")
    late = [column.name for column in found if column.required]
    early = [column.name for column in found[: len(late)] if not column.required]
    if early:
        raise TypeError(
            f"{type_.__name__}.{early[0]} has a default, but later fields have none\n"
            "Hint: move the fields with defaults to the end."
        )
    return found


def _column(type_: type, name: str, hint: object, default: object) -> CsvColumn:
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = [option for option in options if option is not NoneType]
    python: Any = kinds[0] if len(kinds) == 1 else None
    if python not in _KINDS:
        names = ", ".join(kind.__name__ for kind in _KINDS)
        raise TypeError(
            f"{type_.__name__}.{name} has the type {hint}, which csv_row does not support\n"
            f"Hint: use one of {names}, or the union of one of them and None."
        )
    return CsvColumn(name, python, NoneType in options, default)


def _fields(type_: Any) -> Iterable[tuple[str, object]]:  # noqa: ANN401  # of several kinds
    if is_dataclass(type_):
        for each in fields(type_):
            made: Any = (
                each.default_factory
            )  # MISSING is another one where a class was sent by value
            default = each.default if isinstance(made, type(MISSING)) else made()
            yield each.name, _NOTHING if isinstance(default, type(MISSING)) else default
    elif hasattr(type_, "_field_defaults"):
        yield from ((name, type_._field_defaults.get(name, _NOTHING)) for name in type_._fields)
    elif hasattr(type_, "__struct_fields__"):
        names, defaults = type_.__struct_fields__, type_.__struct_defaults__
        lacking = len(names) - len(defaults)
        for place, name in enumerate(names):
            yield name, _NOTHING if place < lacking else defaults[place - lacking]
