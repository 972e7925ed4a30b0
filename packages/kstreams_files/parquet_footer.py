"""The footer of a Parquet file, checked before Arrow reads it.

Arrow builds a schema recursively: a file of a few hundred kilobytes, with groups nested ten
thousand levels deep, crashes the process.
"""

from __future__ import annotations

from kstreams.errors import DeserializationError
from kstreams_files.files import FileData

__all__ = ("check_footer",)

_MAGIC = b"PAR1"
_TAIL_BYTES = 8  # the footer's length, and the magic
_MOST_BYTES = 64 * 1024 * 1024
_MOST_DEPTH = 100
_MOST_COLUMNS = 100_000
_SCHEMA, _CHILDREN = 2, 5  # numbers of fields
_BOOLS, _BYTE, _VARINTS, _DOUBLE, _BINARY = (1, 2), 3, (4, 5, 6), 7, 8
_LISTS, _MAP, _STRUCT = (9, 10), 11, 12


def check_footer(data: FileData) -> None:
    """Check the size of a file's footer, and the depth of its schema.

    A file that is not Parquet passes: Arrow reports its error.

    Raises:
        DeserializationError: The size or the depth exceeds the limit.
    """
    tail = data.read(max(data.size - _TAIL_BYTES, 0), _TAIL_BYTES)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length + _TAIL_BYTES > data.size:
        return
    if length > _MOST_BYTES:
        raise DeserializationError(f"the footer has {length:,} bytes, more than {_MOST_BYTES:,}")
    try:
        _Footer(data.read(data.size - _TAIL_BYTES - length, length)).check()
    except IndexError:
        return  # cut short


class _Footer:
    """Reads Thrift's compact protocol.

    Args:
        data: The bytes.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def check(self) -> None:
        """Check the schema, which is the second field of the footer."""
        number = 0
        while (field := self._field(number)) is not None:
            number, kind = field
            if number == _SCHEMA and kind in _LISTS:
                self._check_schema(self._list()[0])
                return
            self._skip(kind)

    def _check_schema(self, count: int) -> None:
        """Check the schema elements, each of which is followed by its children."""
        if count > _MOST_COLUMNS:
            raise DeserializationError(
                f"the schema has {count:,} columns and groups, more than {_MOST_COLUMNS:,}"
            )
        left: list[int] = []
        for _ in range(count):
            while left and left[-1] == 0:
                left.pop()
            if left:
                left[-1] -= 1
            children = self._children()
            if children > 0:
                left.append(children)
            if len(left) > _MOST_DEPTH:
                raise DeserializationError(
                    f"the schema nests groups more than {_MOST_DEPTH} levels deep"
                )

    def _children(self) -> int:
        """Read a schema element; return its number of children."""
        number = found = 0
        while (field := self._field(number)) is not None:
            number, kind = field
            if number == _CHILDREN and kind in _VARINTS:
                found = self._varint() >> 1  # of a negative number, some positive one
            else:
                self._skip(kind)
        return found

    def _field(self, before: int) -> tuple[int, int] | None:
        """Read the head of a field: its number and type; None at the end of the struct.

        `before` is the number of the previous field, to which the head may be relative.
        """
        head = self._byte()
        if head == 0:
            return None
        delta, kind = head >> 4, head & 15
        return (before + delta if delta else self._varint() >> 1), kind

    def _skip(self, kind: int, depth: int = 0) -> None:
        if depth > _MOST_DEPTH:
            raise DeserializationError(
                f"the footer nests values more than {_MOST_DEPTH} levels deep"
            )
        if kind == _BYTE:
            self._at += 1
        elif kind in _VARINTS:
            self._varint()
        elif kind == _DOUBLE:
            self._at += 8
        elif kind == _BINARY:
            size = self._varint()
            self._at += size
        elif kind in _LISTS:
            count, inner = self._list()
            for _ in range(count):
                self._item(inner, depth)
        elif kind == _MAP:
            self._skip_map(depth)
        elif kind == _STRUCT:
            number = 0
            while (field := self._field(number)) is not None:
                number = field[0]
                self._skip(field[1], depth + 1)
        elif kind not in _BOOLS:
            raise DeserializationError(f"the footer has a field of the unknown type {kind}")

    def _skip_map(self, depth: int) -> None:
        count = self._varint()
        kinds = self._byte() if count else 0
        for _ in range(count):
            self._item(kinds >> 4, depth)
            self._item(kinds & 15, depth)

    def _item(self, kind: int, depth: int) -> None:
        """Skip an item of a list or a map, in which a bool takes a byte."""
        self._skip(_BYTE if kind in _BOOLS else kind, depth + 1)
        if self._at > len(self._data):
            raise IndexError

    def _list(self) -> tuple[int, int]:
        head = self._byte()
        count = head >> 4
        return (self._varint() if count == 15 else count), head & 15

    def _byte(self) -> int:
        found = self._data[self._at]
        self._at += 1
        return found

    def _varint(self) -> int:
        found = shift = 0
        while (byte := self._byte()) & 128:
            found |= (byte & 127) << shift
            shift += 7
        return found | byte << shift
