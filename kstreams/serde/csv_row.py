"""The serde of rows of CSV."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from typing_extensions import override

from kstreams.errors import DeserializationError, SerializationError
from kstreams.quoting import kind_of, repr_of, text_of
from kstreams.serde.base import Serde
from kstreams.serde.csv_columns import CsvColumn, columns_of
from kstreams.serde.csv_fields import has_more_fields
from kstreams.serde.object_type import ObjectType
from kstreams.serde.objects import objects_of

__all__ = ("CsvRowSerde", "RowType", "csv_row")

T = TypeVar("T")
"""The type of the rows."""

_BOM = b"\xef\xbb\xbf"
_SHOWN = 60


def csv_row(type_: type[T], *, delimiter: str = ",") -> Serde[T]:
    """Return a serde of CSV rows (RFC 4180): each value is one row, without a header.

    Fields are identified by position. A row may end before fields that have a default, so a type
    may get new fields at its end: this is how such rows evolve. More fields than the type has are
    a `DeserializationError`. Text is quoted if needed; a line end after the row is ignored. An
    empty field is None if the type allows it, and `""` is the empty text.

    Numbers, bools (`true`, `false`) and times are read as Arrow reads them; a `datetime` must have
    a time zone, and is returned in UTC.

    Args:
        type_: A dataclass, NamedTuple or `msgspec.Struct` with fields of str, int (64 bits),
            float, bool, date or datetime, or one of these with None.
        delimiter: The character between fields.

    Raises:
        TypeError: A field's type is not supported.
        ValueError: The delimiter is not a usable character.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Order:
        ...     item: str
        ...     count: int | None = None
        >>> orders = csv_row(Order)
        >>> orders.serialize(Order("tea, green", 2))
        b'"tea, green",2'
        >>> orders.deserialize(b"milk")
        Order(item='milk', count=None)
    """
    return CsvRowSerde(type_, delimiter)


class RowType(ObjectType):
    """The Arrow type of columns of structs, each of which represents a row's object.

    Args:
        row: The class of the objects.
        fields: Names and types of the fields.
    """

    def __init__(self, row: type, fields: Sequence[tuple[str, pa.DataType]]) -> None:
        self._row = row
        pa.ExtensionType.__init__(self, pa.struct(list(fields)), "kstreams.csv-row")

    def objects(self, storage: pa.StructArray) -> list[Any]:
        """Return the objects; None for null rows."""
        if not storage.null_count:
            return list(map(self._row, *map(objects_of, storage.flatten())))
        made = iter(self.objects(storage.drop_null()))
        valid = storage.is_valid().to_numpy(zero_copy_only=False).tolist()
        return [next(made) if good else None for good in valid]

    def __eq__(self, other: object) -> bool:
        """Compare the class of the objects."""
        return isinstance(other, RowType) and self._row is other._row

    def __hash__(self) -> int:
        """Hash the class of the objects."""
        return hash(self._row)


class _ApartError(Exception):
    """Rows must be parsed one by one, because joined rows could be split at other positions."""


_ARROW_PLACE = re.compile(r"(?:In CSV column #(\d+): |CSV parse error: )Row #\d+: ")
"""The position in Arrow's errors: columns are numbered from 0, rows that were read from 1."""


class CsvRowSerde(Serde[T]):
    """The serde that `csv_row` returns. Compares by type and delimiter, and pickles by them."""

    def __init__(self, type_: type[T], delimiter: str) -> None:
        if len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii():
            raise ValueError(
                f"delimiter is {delimiter!r}, expected one ASCII character other than a quotation "
                "mark or a line break"
            )
        self._row = type_
        self._columns = columns = columns_of(type_)
        self._delimiter = delimiter
        self._special = re.compile('["\r\n\ufeff' + re.escape(delimiter) + "]")
        names = [column.name for column in columns]
        self._values = attrgetter(*names) if len(names) > 1 else _tuple_of(names[0])
        mark = "" if delimiter == "," else repr(delimiter)
        self.name = f"csv{mark}[{', '.join(map(str, columns))}]"
        self.type_token = type_
        self.immutable = _is_frozen(type_)
        self.arrow_type = RowType(type_, [(column.name, column.arrow) for column in columns])

    def serialize(self, value: T) -> bytes:
        """Write a row; an object of another type is a `SerializationError`."""
        self._check(value)
        pairs = zip(self._columns, self._values(value), strict=True)
        try:
            return self._delimiter.join(c.write(each, self._special) for c, each in pairs).encode()
        except UnicodeEncodeError as exc:
            raise SerializationError(f"expected {self.name}: {exc}") from exc

    @override
    def serialize_many(self, values: Sequence[T | None]) -> pa.Array:
        rows = [value for value in values if value is not None]
        if set(map(type, rows)) != {self._row}:
            return super().serialize_many(values)
        try:
            parts = zip(*map(self._values, rows), strict=True)
            texts = [c.texts(p, self._special) for c, p in zip(self._columns, parts, strict=True)]
        except (SerializationError, UnicodeEncodeError):
            return super().serialize_many(values)
        written = pc.binary_join_element_wise(*texts, self._delimiter).view(pa.binary())
        return _spread(written, pa.array([value is not None for value in values], pa.bool_()))

    def deserialize(self, data: bytes) -> T:
        """Read a row; any other bytes are a `DeserializationError`."""
        values = self._plainly(data)
        if values is None:
            try:
                values = [objects_of(column)[0] for column in self._one(data)]
            except pa.ArrowException as exc:
                raise DeserializationError(
                    f"expected {self.name}: {self._problem(exc)}; got {data[:_SHOWN]!r}"
                ) from exc
        return self._made(values, data)

    def _problem(self, exc: pa.ArrowException) -> str:
        """Return Arrow's error message for one row, with the column's name instead of numbers."""
        text = str(exc)
        found = _ARROW_PLACE.match(text)
        if found is None:
            return text
        rest = text[found.end() :]
        return rest if found[1] is None else f"column {self._columns[int(found[1])].name!r}: {rest}"

    @override
    def deserialize_many(self, data: pa.Array) -> list[T | None]:
        try:
            found: list[T | None] = objects_of(self._struct(data))
        except Exception:  # noqa: BLE001  # of constructors too: single steps show which row
            return super().deserialize_many(data)
        return found

    @override
    def to_arrow(self, data: pa.Array) -> pa.Array:
        try:
            column = self._struct(data)
            if hasattr(self._row, "__post_init__"):  # may refuse a row
                objects_of(column)
        except Exception:  # noqa: BLE001  # as above
            return self._of_objects(super().deserialize_many(data))
        return column

    @override
    def from_arrow(self, column: pa.Array) -> pa.Array:
        if column.type == self.arrow_type and not column.null_count:
            parts = map(objects_of, column.storage.flatten())
            texts = [c.texts(p, self._special) for c, p in zip(self._columns, parts, strict=True)]
            return pc.binary_join_element_wise(*texts, self._delimiter).view(pa.binary())
        return self.serialize_many(objects_of(column))

    @override
    def field(self, column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
        found = pc.struct_field(column.storage, name)
        if found.type == kind:
            return found
        if not (_is_number(found.type) and _is_number(kind)):
            return super().field(column, name, kind)
        try:
            return found.cast(kind)
        except pa.ArrowInvalid as exc:
            raise DeserializationError(
                f"cannot convert field {name!r} of {self.name} to {kind}: {exc}"
            ) from exc

    # ------------------------------------------------------------ reading

    def _plainly(self, data: bytes) -> list[object] | None:
        """Return a row's values faster than Arrow does, or None if only Arrow can read the row."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        marks = text.count(self._delimiter)
        if marks != len(self._columns) - 1 or not marks or _is_special(text):
            return None
        texts = text.split(self._delimiter)
        values: list[object] = []
        for column, each in zip(self._columns, texts, strict=True):
            value = column.read(each) if each or not column.nullable else None
            if value is None and not (column.nullable and not each):
                return None
            values.append(value)
        return values

    def _one(self, data: bytes) -> list[pa.Array]:
        """Return the columns of one row, which may contain line breaks and quotes."""
        row = data.removesuffix(b"\n").removesuffix(b"\r")
        if has_more_fields(row, self._delimiter.encode(), len(self._columns)):
            raise pa.ArrowInvalid(f"the row has more than {len(self._columns)} fields")
        try:
            return self._read(row, 1, self._columns, inner_lines=True)
        except pa.ArrowInvalid:
            if all(column.required for column in self._columns):
                raise
            options = csv.ReadOptions(use_threads=False, autogenerate_column_names=True)
            count = csv.read_csv(
                pa.BufferReader(row + b"\n"), options, self._parsing(inner_lines=True)
            ).num_columns
            return self._read(row, 1, self._columns[:count], inner_lines=True)

    def _struct(self, data: pa.Array) -> pa.Array:
        """Parse encoded rows together; return a column of `arrow_type`, null for null."""
        items = [item for item in objects_of(data) if item is not None]
        if not items:
            return pa.nulls(len(data), self.arrow_type.storage_type).cast(self.arrow_type)
        rows = self._rows(items)
        struct = pa.StructArray.from_arrays(rows, [column.name for column in self._columns])
        return pa.ExtensionArray.from_storage(self.arrow_type, _spread(struct, data.is_valid()))

    def _rows(self, items: Sequence[bytes]) -> list[pa.Array]:
        """Return the columns of many rows; rows with equally many fields are parsed together."""
        joined = b"\n".join(items)
        if joined.count(b"\n") != len(items) - 1 or b"\r" in joined or _BOM in joined:
            raise _ApartError
        mark = self._delimiter.encode()
        if b'"' in joined or joined.count(mark) == len(items) * (len(self._columns) - 1):
            return self._read(joined, len(items), self._columns)
        lengths = [item.count(mark) + 1 for item in items]
        found: list[list[pa.Array]] = [[] for _ in self._columns]
        order: list[int] = []
        for length in sorted(set(lengths)):
            own = [n for n, each in enumerate(lengths) if each == length]
            rows = b"\n".join(items[n] for n in own)
            if length > len(self._columns):
                raise _ApartError
            for pieces, piece in zip(
                found, self._read(rows, len(own), self._columns[:length]), strict=True
            ):
                pieces.append(piece)
            order += own
        back = pc.sort_indices(pa.array(order))
        return [pa.concat_arrays(pieces).take(back) for pieces in found]

    def _read(
        self, rows: bytes, count: int, columns: Sequence[CsvColumn], *, inner_lines: bool = False
    ) -> list[pa.Array]:
        """Parse rows that have the given columns; return all columns, with defaults for the rest.

        Quoted text may contain line ends only with `inner_lines`.

        Raises:
            ArrowInvalid: The rows are invalid, or their number is not `count`.
        """
        lacking = self._columns[len(columns) :]
        if any(column.required for column in lacking):
            raise pa.ArrowInvalid(f"expected {len(self._columns)} columns, got {len(columns)}")
        table = csv.read_csv(
            pa.BufferReader(rows + b"\n"),
            csv.ReadOptions(
                use_threads=False,
                block_size=len(rows) + 2,
                column_names=[column.name for column in columns],
            ),
            self._parsing(inner_lines=inner_lines),
            csv.ConvertOptions(
                column_types={column.name: column.arrow for column in columns},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        if table.num_rows != count:
            raise pa.ArrowInvalid(f"expected {count} rows, got {table.num_rows}")
        found = [_whole(table.column(place)) for place in range(len(columns))]
        for place, column in enumerate(columns):
            if found[place].null_count and not column.nullable:
                if column.python is not str:
                    raise pa.ArrowInvalid(
                        f"a row has no value in the required column {column.name!r}"
                    )
                found[place] = found[place].fill_null("")
        return found + [pa.array([each.default] * count, each.arrow) for each in lacking]

    def _parsing(self, *, inner_lines: bool) -> csv.ParseOptions:
        return csv.ParseOptions(
            delimiter=self._delimiter, newlines_in_values=inner_lines, ignore_empty_lines=False
        )

    def _made(self, values: Sequence[object], data: bytes) -> T:
        try:
            return self._row(*values)
        except Exception as exc:  # the user's own constructor
            raise DeserializationError(
                f"expected {self.name}: {kind_of(exc)}: {text_of(exc)}; got {data[:_SHOWN]!r}"
            ) from exc

    # ------------------------------------------------------------ writing

    def _of_objects(self, rows: Sequence[T | None]) -> pa.Array:
        """Return a column of `arrow_type` from rows that were parsed one by one."""
        values = [None if row is None else self._values(row) for row in rows]
        names = [column.name for column in self._columns]
        dicts = [None if row is None else dict(zip(names, row, strict=True)) for row in values]
        struct = pa.array(dicts, self.arrow_type.storage_type)
        return pa.ExtensionArray.from_storage(self.arrow_type, struct)

    def _check(self, value: object) -> None:
        if type(value) is not self._row:
            raise SerializationError(
                f"expected {self._row.__name__}, got {type(value).__name__}: "
                f"{repr_of(value, _SHOWN)}"
            )

    def __eq__(self, other: object) -> bool:
        """Compare type and delimiter."""
        return isinstance(other, CsvRowSerde) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the constructor's arguments."""
        return type(self), (self._row, self._delimiter)


def _tuple_of(name: str) -> Any:  # noqa: ANN401  # as attrgetter of several names
    get = attrgetter(name)
    return lambda value: (get(value),)


def _is_special(text: str) -> bool:
    return '"' in text or "\n" in text or "\r" in text or "\ufeff" in text


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_frozen(type_: type) -> bool:
    settings = getattr(type_, "__dataclass_params__", getattr(type_, "__struct_config__", None))
    return bool(settings.frozen) if settings is not None else issubclass(type_, tuple)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _spread(dense: pa.Array, valid: pa.Array) -> pa.Array:
    """Return the elements of `dense` at the valid positions, and null at the other positions."""
    if len(dense) == len(valid):
        return dense
    places = pc.subtract(pc.cumulative_sum(valid.cast(pa.int64())), 1)
    return dense.take(pc.if_else(valid, places, pa.scalar(None, pa.int64())))
