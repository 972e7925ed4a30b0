"""The serde of tuples of text lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from typing_extensions import override

from kstreams.errors import SerializationError
from kstreams.serde.base import Serde
from kstreams.serde.object_type import ObjectType
from kstreams.serde.objects import objects_of
from kstreams.serde.text import TEXT

__all__ = ("LINES", "LinesSerde", "LinesType")

_LISTS = pa.list_(pa.string())


class LinesType(ObjectType):
    """The Arrow type of columns of lists of lines; each list represents a tuple."""

    def __init__(self) -> None:
        pa.ExtensionType.__init__(self, _LISTS, "kstreams.lines")

    @override
    def objects(self, storage: pa.ListArray) -> list[Any]:
        starts = storage.offsets.to_pylist()
        lines = objects_of(storage.values)
        return [tuple(lines[start:end]) for start, end in pairwise(starts)]

    @classmethod
    @override
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, _: bytes) -> LinesType:
        return cls()


class LinesSerde(Serde["tuple[str, ...]"]):
    r"""The serde of tuples of lines: UTF-8, with a line feed after each line.

    A reader also accepts `\r\n` as line end, and a last line without a line end. A line that
    contains `\r` or `\n` is a `SerializationError`.
    """

    __slots__ = ()
    name = "lines"
    type_token = tuple
    immutable = True
    arrow_type = LinesType()

    def serialize(self, value: tuple[str, ...]) -> bytes:
        """Join the lines; anything but a tuple of single lines is a `SerializationError`."""
        if not isinstance(value, tuple):
            raise SerializationError(f"expected a tuple of lines, got {value!r:.100}")
        for line in value:
            if type(line) is not str or "\n" in line or "\r" in line:
                raise SerializationError(f"expected one line of text, got {line!r:.100}")
        return TEXT.serialize("".join(f"{line}\n" for line in value))

    def deserialize(self, data: bytes) -> tuple[str, ...]:
        """Split the bytes into lines; bytes that are not UTF-8 are a `DeserializationError`."""
        lines = TEXT.deserialize(data).split("\n")
        if not lines[-1]:
            lines.pop()
        return tuple(line.removesuffix("\r") for line in lines)

    @override
    def deserialize_many(self, data: pa.Array) -> list[tuple[str, ...] | None]:
        values: list[tuple[str, ...] | None] = objects_of(self.to_arrow(data))
        return values

    @override
    def serialize_many(self, values: Sequence[tuple[str, ...] | None]) -> pa.Array:
        if set(map(type, values)) <= {tuple, type(None)}:
            try:
                lists = pa.array(values)  # of the type found: given text, Arrow takes bytes too
                if lists.type in (_LISTS, pa.list_(pa.null()), pa.null()):
                    return self._joined(lists.cast(_LISTS))
            except (pa.ArrowException, TypeError, UnicodeEncodeError, SerializationError):
                pass
        return super().serialize_many(values)

    @override
    def to_arrow(self, data: pa.Array) -> pa.Array:
        text = TEXT.to_arrow(data)
        ended, nothing = pc.ends_with(text, "\n"), pc.equal(text, "")
        if pc.any(pc.match_substring(text, "\r")).as_py():
            text = pc.replace_substring_regex(text, "\r(\n|$)", "\\1")
        text = pc.if_else(ended, pc.utf8_slice_codeunits(text, 0, -1), text)
        lists = pc.split_pattern(text, "\n")
        if pc.any(nothing).as_py():
            lists = pc.if_else(nothing, pa.scalar([], lists.type), lists)
        return pa.ExtensionArray.from_storage(self.arrow_type, lists)

    def from_arrow(self, column: pa.Array) -> pa.Array:
        """Join the lines in one step; also accepts columns of lists of text."""
        lists = column.storage if isinstance(column.type, LinesType) else column
        if lists.type == _LISTS:
            return self._joined(lists)
        return super().from_arrow(column)

    def _joined(self, lists: pa.ListArray) -> pa.Array:
        counts = pc.list_value_length(lists)
        text = pc.binary_join(lists, "\n")
        text = pc.if_else(pc.equal(counts, 0), text, pc.binary_join_element_wise(text, "\n", ""))
        ends = pc.sum(pc.count_substring(text, "\n")).as_py()
        if text.null_count > lists.null_count or ends != pc.sum(counts).as_py():
            raise SerializationError(
                "expected lists of single lines, got a line that is null or has a line feed"
            )
        if pc.any(pc.match_substring(text, "\r")).as_py():
            raise SerializationError(
                "expected lists of single lines, got a line with a carriage return"
            )
        return TEXT.from_arrow(text)

    def __reduce__(self) -> str:
        """Pickle as the constant `LINES`."""
        return "LINES"


LINES = LinesSerde()
"""The serde of tuples of text lines, each followed by a line feed."""
