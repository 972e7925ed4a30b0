"""The records of a topic as a DataFrame, with the names of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from kstreams.errors import CompileError
from kstreams.serde.base import Serde
from kstreams.spark.frames.typed_columns import misfit
from kstreams.topic import Topic

__all__ = ("SourceFrame",)

_HEADERS = "array<struct<key: string, value: binary>>"
_BYTES = (BinaryType, StringType)
_TIMES = (TimestampType, TimestampNTZType, LongType)
_NUMBERS = (IntegerType, LongType)
_WALL = "unix_millis(current_timestamp())"
"""The time of the batch, which Spark's checkpoint stores: a repeated batch has an equal time."""


@dataclass(frozen=True)
class SourceFrame:
    """A DataFrame whose rows are a topic's records, and the names of its columns.

    A plain DataFrame is equivalent to a `SourceFrame` with the default names, which are those of
    Spark's Kafka source. Other columns are ignored.

    Args:
        frame: The DataFrame, streaming or bounded.
        key: The column of keys; without it all keys are null. `binary` and `string` hold bytes for
            the topic's serde. Any other type holds decoded keys: the Arrow type of the serde, or a
            narrower number; fields of structs are matched by name.
        value: The column of values, like that of keys; null is a tombstone.
        timestamp: The column of event times, `timestamp` or milliseconds since the epoch as
            `bigint`; null is a record without a time. Without the column all records have the time
            of the batch in Spark's checkpoint.
        headers: The column of headers, an array of structs of `key` and `value`.
        partition: The column that orders records of equal times, together with `offset`. Without
            the two columns, key and value do.
        offset: See `partition`.
    """

    frame: DataFrame
    key: str = "key"
    value: str = "value"
    timestamp: str = "timestamp"
    headers: str = "headers"
    partition: str = "partition"
    offset: str = "offset"

    def rows(self, topic: Topic[object, object]) -> DataFrame:
        """Return the available columns for `Pack`.

        Args:
            topic: The topic of the records, whose serdes determine the required types.

        Raises:
            CompileError: The column of values or a named column is missing, or has another type
                than required. The message names the column.
        """
        found = {field.name: field.dataType for field in self.frame.schema.fields}
        columns = _Columns(topic.name, self, found)
        placed = self.partition in found and self.offset in found
        expressions = (
            f"{_WALL} AS wall",
            columns.time(),
            columns.data("key", topic),
            columns.data("value", topic, required=True),
            columns.headers(),
            columns.one("partition", _NUMBERS, "int", given=placed),
            columns.one("offset", _NUMBERS, "bigint", given=placed),
        )
        return self.frame.selectExpr(*(each for each in expressions if each is not None))


@dataclass(frozen=True)
class _Columns:
    """Finds and checks the columns of a source's DataFrame, and returns them as SQL expressions."""

    topic: str
    source: SourceFrame
    found: dict[str, DataType]

    def data(
        self, role: Literal["key", "value"], topic: Topic[object, object], *, required: bool = False
    ) -> str | None:
        """Return the column of keys or values as SQL: bytes, or a type that the serde encodes.

        Args:
            role: The column: `key` or `value`.
            topic: The topic with the serdes.
            required: Whether a missing column is an error; otherwise the result is None.
        """
        name: str = getattr(self.source, role)
        kind = self.found.get(name)
        if kind is None or isinstance(kind, _BYTES):
            return self.one(role, _BYTES, "binary", required=required)
        serde: Serde[object] = topic.key if role == "key" else topic.value
        problem = _misfit(kind, serde)
        if topic.framing is not None:
            problem = "the topic has a framing, which needs a column of bytes"
        if problem is not None:
            raise CompileError(
                f"column {name!r} of topic {self.topic!r} is {kind.simpleString()}, but the {role} "
                f"has the serde {serde.name}: {problem}",
                hint="Cast or encode the column, or choose another: "
                f"SourceFrame(frame, {role}=...).",
            )
        return f"{_quoted(name)} AS {role}"

    def one(
        self,
        role: str,
        types: tuple[type[DataType], ...],
        target: str,
        *,
        required: bool = False,
        given: bool = True,
    ) -> str | None:
        """Return a column as SQL, cast to the required type; None without the column.

        Args:
            role: The name of the column in the result: `key`, `value`, `partition`, ...
            types: The accepted Spark types of the column.
            target: The SQL type of the result.
            required: Whether a missing column is an error.
            given: False leaves the column out.
        """
        found = self._cast(role, types, target, required=required) if given else None
        return None if found is None else f"{found} AS {role}"

    def headers(self) -> str | None:
        """Return the column of headers as SQL, with an empty list for a row without headers.

        Null lists would be slow: when Spark sends a row to Python, it fills in the offsets of all
        null lists before the row, so that ten thousand null lists take seconds.
        """
        found = self._cast("headers", (ArrayType,), _HEADERS)
        return (
            None if found is None else f"coalesce({found}, CAST(array() AS {_HEADERS})) AS headers"
        )

    def time(self) -> str:
        """Return the column of event times, ms since the epoch, as SQL; -1 without a time."""
        name = self.source.timestamp
        if not self._has("timestamp", name, required=False):
            return f"{_WALL} AS timestamp"
        kind, column = self.found[name], _quoted(name)
        if not isinstance(kind, _TIMES):
            raise self._wrong_type("timestamp", name, _TIMES)
        stamps = column if isinstance(kind, LongType) else f"unix_millis(timestamp({column}))"
        return f"coalesce({stamps}, -1L) AS timestamp"

    def _cast(
        self, role: str, types: tuple[type[DataType], ...], target: str, *, required: bool = False
    ) -> str | None:
        name: str = getattr(self.source, role)
        if not self._has(role, name, required=required):
            return None
        if not isinstance(self.found[name], types):
            raise self._wrong_type(role, name, types)
        return f"CAST({_quoted(name)} AS {target})"

    def _has(self, role: str, name: str, *, required: bool) -> bool:
        if name in self.found:
            return True
        if required or name != role:
            raise CompileError(
                f"the DataFrame of topic {self.topic!r} has no column {name!r} for the {role}; "
                f"it has {', '.join(map(repr, self.found)) or 'none'}",
                hint=f"Name the column: SourceFrame(frame, {role}=...).",
            )
        return False

    def _wrong_type(self, role: str, name: str, types: tuple[type[DataType], ...]) -> CompileError:
        wanted = " or ".join(each.typeName() for each in types)
        return CompileError(
            f"column {name!r} of topic {self.topic!r} is {self.found[name].simpleString()}, "
            f"expected {wanted} for the {role}",
            hint=f"Cast the column, or choose another: SourceFrame(frame, {role}=...).",
        )


def _misfit(kind: DataType, serde: Serde[object]) -> str | None:
    try:
        return misfit(to_arrow_type(kind), serde)
    except PySparkException:
        return "Arrow has no such type"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
