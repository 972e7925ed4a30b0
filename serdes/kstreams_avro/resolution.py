"""Schema resolution: the steps that read data of one schema as values of another.

Source: "Schema Resolution" of the Avro specification. If the reader cannot
read a branch of the writer's union, only values of this branch are errors.
"""

from __future__ import annotations

import pyarrow as pa

from kstreams_avro.datum import Malformed
from kstreams_avro.defaults import default_bytes
from kstreams_avro.nodes import (
    NO_DEFAULT,
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Node,
    Primitive,
    Record,
    Union,
    described,
    is_null,
)
from kstreams_avro.sizes import is_recursive, least_bytes
from kstreams_avro.steps.lists import ArrayStep, MapStep
from kstreams_avro.steps.records import DefaultStep, RecordStep
from kstreams_avro.steps.scalars import (
    BooleanStep,
    EnumStep,
    FixedStep,
    FloatStep,
    IntegerStep,
    NullStep,
    PiecesStep,
)
from kstreams_avro.steps.step import Step
from kstreams_avro.steps.unions import RefusedStep, UnionStep, named_step

__all__ = ("resolve",)

_PROMOTIONS = {
    "null": ("null",),
    "boolean": ("boolean",),
    "int": ("int", "long", "float", "double"),
    "long": ("long", "float", "double"),
    "float": ("float", "double"),
    "double": ("double",),
    "bytes": ("bytes", "string"),
    "string": ("string", "bytes"),
}
"""The types that each primitive type can be read as."""


def resolve(writer: Node, reader: Node) -> Step:
    """Return the step that creates values of `reader` from data of `writer`.

    Raises:
        Malformed: The schemas do not match. The message has the field and the reason.
    """
    return _Resolver().step(writer, reader)


class _Resolver:
    """Creates the decoding steps for a writer's schema and a reader's schema.

    The step for a pair of record types is created once and reused, because a record type may
    contain itself.
    """

    def __init__(self) -> None:
        self._records: dict[tuple[int, int], RecordStep] = {}
        self._failed: dict[tuple[int, int], str] = {}

    def step(self, writer: Node, reader: Node) -> Step:
        if isinstance(writer, Union):
            return self._from_union(writer, reader)
        if isinstance(reader, Union):
            return self._into_union(writer, reader)
        match writer, reader:
            case Primitive(), Primitive() if reader.name in _PROMOTIONS[writer.name]:
                return _primitive(writer, reader)
            case Fixed(), Fixed() if writer.size == reader.size and _same_name(writer, reader):
                return FixedStep(reader.size, reader.conversion)
            case Enum(), Enum() if _same_name(writer, reader):
                return _enum(writer, reader)
            case Array(), Array():
                return self._array(writer, reader)
            case Map(), Map():
                try:
                    return MapStep(self.step(writer.values, reader.values), reader.check)
                except Malformed as exc:
                    raise exc.within("[]") from None
            case Record(), Record() if _same_name(writer, reader):
                return self._record(writer, reader)
            case _:
                raise _unreadable(writer, reader)

    def _from_union(self, writer: Union, reader: Node) -> Step:
        steps: list[Step] = []
        problems: list[Malformed] = []
        for branch in writer.branches:
            try:
                steps.append(self.step(branch, reader))
            except Malformed as exc:
                problems.append(exc)
                steps.append(RefusedStep(str(exc)))
        if not any(
            not isinstance(step, RefusedStep) and (not is_null(branch) or len(steps) == 1)
            for branch, step in zip(writer.branches, steps, strict=True)
        ):
            raise problems[-1]
        return UnionStep(steps, self._column_type(reader))

    def _into_union(self, writer: Node, reader: Union) -> Step:
        for branch in sorted(reader.branches, key=lambda branch: _distance(writer, branch)):
            try:
                step = self.step(writer, branch)
            except Malformed:
                continue
            if isinstance(step, NullStep):
                return NullStep(self._column_type(reader))
            if reader.named and isinstance(branch, Record) and branch.shape is None:
                return named_step(branch.name, step)
            return step
        raise _unreadable(writer, reader)

    def _column_type(self, reader: Node) -> pa.DataType | None:
        """Return the column type of a reader's type; None if the type has no columns.

        A union has the column type of its only branch other than null, and none if it has several.
        """
        if not isinstance(reader, Union):
            return self.step(reader, reader).arrow
        others = [branch for branch in reader.branches if not is_null(branch)]
        return self.step(others[0], others[0]).arrow if len(others) == 1 else None

    def _array(self, writer: Array, reader: Array) -> Step:
        try:
            item = self.step(writer.items, reader.items)
        except Malformed as exc:
            raise exc.within("[]") from None
        if not least_bytes(writer.items):
            raise Malformed(
                "an array whose items take no bytes (nulls, or records of nulls) is not supported: "
                "its length would be unlimited"
            )
        return ArrayStep(item, reader.container, reader.check)

    def _record(self, writer: Record, reader: Record) -> Step:
        pair = id(writer), id(reader)
        if pair in self._failed:
            raise Malformed(self._failed[pair])
        if pair in self._records:
            return self._records[pair]
        before = len(self._records)
        step = RecordStep(
            [field.name for field in reader.fields], reader.shape, least_bytes(writer)
        )
        self._records[pair] = step
        try:
            parts = self._parts(writer, reader)
        except Malformed as exc:
            self._failed[pair] = str(exc)
            for made in list(self._records)[before:]:  # they may hold this one
                del self._records[made]
            raise
        step.fill(parts, recursive=is_recursive(writer) or is_recursive(reader))
        return step

    def _parts(self, writer: Record, reader: Record) -> list[tuple[str, Step, bool]]:
        """Return the name and step of each field, and whether the reader's record has the field.

        The writer's fields come first, in the order of their bytes; then the reader's fields that
        the writer lacks, with steps that return their defaults.
        """
        written = _matched(writer, reader)
        parts: list[tuple[str, Step, bool]] = []
        for field in writer.fields:
            wanted = written.get(field.name)
            try:
                found = self.step(field.type, wanted.type if wanted else field.type)
            except Malformed as exc:
                raise exc.within(field.name) from None
            parts.append((wanted.name if wanted else field.name, found, wanted is not None))
        here = {field.name for field in written.values()}
        parts += [
            (field.name, self._default(field), True)
            for field in reader.fields
            if field.name not in here
        ]
        return parts

    def _default(self, field: Field) -> Step:
        if field.default is NO_DEFAULT:
            raise Malformed(
                "the writer's schema lacks the field, and the reader's schema has no default for it"
            ).within(field.name)
        try:
            data = default_bytes(field.type, field.default)
            return DefaultStep(self.step(field.type, field.type), data)
        except Malformed as exc:
            raise exc.within(field.name) from None


def _unreadable(writer: Node, reader: Node) -> Malformed:
    return Malformed(f"written as {described(writer)}, which cannot be read as {described(reader)}")


def _matched(writer: Record, reader: Record) -> dict[str, Field]:
    """Return the reader's fields by the writer's field names, matched by name or alias."""
    written = {field.name for field in writer.fields}
    found: dict[str, Field] = {}
    for field in reader.fields:
        names = [name for name in (field.name, *field.aliases) if name in written]
        if names:
            found.setdefault(names[0], field)
    return found


def _primitive(writer: Primitive, reader: Primitive) -> Step:
    conversion, check = reader.conversion, reader.check
    match writer.name:
        case "null":
            return NullStep(pa.null())
        case "boolean":
            return BooleanStep()
        case "int" | "long":
            return IntegerStep(writer.name, reader.name, conversion, check)
        case "float" | "double":
            return FloatStep(writer.name, reader.name, check)
        case _:
            return PiecesStep(text=reader.name == "string", conversion=conversion, check=check)


def _enum(writer: Enum, reader: Enum) -> Step:
    symbols = [symbol if symbol in reader.symbols else reader.default for symbol in writer.symbols]
    if not any(symbols):
        raise Malformed(
            f"no symbol of enum {writer.name} as written ({', '.join(writer.symbols)}) "
            f"is one of the reader's symbols ({', '.join(reader.symbols)})"
        )
    members = [symbol and reader.members.get(symbol, symbol) for symbol in symbols]
    return EnumStep(symbols, members, writer.symbols, reader.check)


def _same_name(writer: Record | Enum | Fixed, reader: Record | Enum | Fixed) -> bool:
    """Return whether names match: without the namespace, or as an alias."""
    own = writer.name.rpartition(".")[2]
    return own == reader.name.rpartition(".")[2] or writer.name in reader.aliases


def _distance(writer: Node, reader: Node) -> int:
    """Return a measure of the difference of two types: 0 for the same kind and name."""
    if type(writer) is not type(reader):
        return 2
    if isinstance(writer, Primitive) and isinstance(reader, Primitive):
        return 0 if writer.name == reader.name else 2
    return 0 if getattr(writer, "name", "") == getattr(reader, "name", "") else 1
