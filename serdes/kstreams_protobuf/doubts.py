"""Detection of column contents that no valid message has; such bytes are read one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import Descriptor, EnumDescriptor

from kstreams_protobuf.kinds import is_map

__all__ = ("Doubts",)


@dataclass(frozen=True)
class Doubts:
    """The invalid contents to search for in a column of one kind of message.

    The decoder of columns accepts invalid input: both members of a oneof, a repeated key of a map,
    a number that a closed enum does not have, a message without its required fields.

    Attributes:
        name: The name of the message.
        required: The required fields of each message.
        oneofs: The names of oneofs, each with its members.
        closed: The fields of closed enums, each with its numbers.
        maps: The fields that are maps.
        inner: The fields that are messages, with their own checks.
    """

    name: str
    required: tuple[str, ...]
    oneofs: tuple[tuple[str, tuple[str, ...]], ...]
    closed: tuple[tuple[str, pa.Array], ...]
    maps: tuple[str, ...]
    inner: tuple[tuple[str, Doubts], ...]

    @classmethod
    def of(cls, message: Descriptor, kind: pa.StructType) -> Doubts | None:
        """Return the checks, or None if none are needed.

        Args:
            message: The descriptor of the message type, which is not recursive.
            kind: The Arrow type of its columns.
        """
        fields = [field for field in message.fields if not is_map(field.message_type)]
        maps = tuple(field.name for field in message.fields if is_map(field.message_type))
        inner: list[tuple[str, Doubts]] = []
        for field in message.fields:
            own = kind.field(field.name).type
            element = own.value_type if pa.types.is_list(own) else own
            if field.message_type is None:
                continue
            if pa.types.is_map(own):
                element = pa.struct(
                    [own.key_field.with_name("key"), own.item_field.with_name("value")]
                )
            if pa.types.is_struct(element):
                found = cls.of(field.message_type, element)
                if found is not None:
                    inner.append((field.name, found))
        found = cls(
            message.full_name,
            tuple(field.name for field in fields if field.is_required),
            tuple(
                (oneof.name, tuple(field.name for field in oneof.fields))
                for oneof in message.oneofs
                if len(oneof.fields) > 1
            ),
            tuple(
                (field.name, _numbers(field.enum_type))
                for field in fields
                if field.enum_type is not None and field.enum_type.is_closed
            ),
            maps,
            tuple(inner),
        )
        checks = (found.required, found.oneofs, found.closed, found.maps, found.inner)
        return found if any(checks) else None

    def found(self, column: pa.StructArray) -> str | None:
        """Return the problem of a column of messages; None if they are valid.

        Args:
            column: All or some fields of the messages, without null.
        """
        given = {field.name: column.field(field.name) for field in column.type}
        for name in self.required:
            if name not in given or given[name].null_count:
                return f"{self.name} without its required field {name!r}"
        for name, members in self.oneofs:
            if _several([given[member] for member in members if member in given]):
                return f"{self.name} with more than one member of oneof {name!r}"
        for name, numbers in self.closed:
            if name in given and not _among(_elements(given[name]), numbers):
                return f"{self.name} with a number that the enum of {name!r} does not have"
        for name in self.maps:
            if name in given and _repeated_keys(given[name]):
                return f"{self.name} with a key more than once in map {name!r}"
        for name, inner in self.inner:
            values = _elements(given[name]) if name in given else ()
            problem = inner.found(values) if len(values) else None
            if problem is not None:
                return problem
        return None


def _numbers(enum: EnumDescriptor) -> pa.Array:
    return pa.array(sorted(enum.values_by_number), pa.int32())


def _among(values: pa.Array, numbers: pa.Array) -> bool:
    return bool(pc.all(pc.is_in(values, numbers), min_count=0).as_py())


def _several(members: list[pa.Array]) -> bool:
    present = [member for member in members if member.null_count < len(member)]
    if len(present) < 2:
        return False
    counts = sum(np.asarray(member.is_valid()).astype(np.int8) for member in present)
    return bool(np.any(np.asarray(counts) > 1))


def _elements(column: pa.Array) -> pa.Array:
    """Return the content of a field, without nulls: values, elements of lists, entries of maps."""
    if pa.types.is_map(column.type):
        first, last = column.offsets[0].as_py(), column.offsets[-1].as_py()
        entries = [column.keys[first:last], column.items[first:last]]
        return pa.StructArray.from_arrays(entries, ["key", "value"])
    return (column.flatten() if pa.types.is_list(column.type) else column).drop_null()


def _repeated_keys(column: pa.MapArray) -> bool:
    offsets = column.offsets.to_numpy()
    keys = column.keys[int(offsets[0]) : int(offsets[-1])]
    if len(keys) < 2:
        return False
    codes = keys.dictionary_encode()
    rows = np.repeat(np.arange(len(column)), np.diff(offsets))
    places = rows * len(codes.dictionary) + codes.indices.to_numpy()
    return len(np.unique(places)) < len(places)
