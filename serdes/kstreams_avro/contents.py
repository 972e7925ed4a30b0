"""Extraction of the fields of a value that is written as a record, in schema order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from kstreams_avro.datum import Datum, Malformed
from kstreams_avro.defaults import default_bytes
from kstreams_avro.nodes import NO_DEFAULT, Record
from kstreams_avro.resolution import resolve

__all__ = ("contents_of",)


def contents_of(record: Record) -> Callable[[Any], Sequence[Any]]:
    """Return a function that extracts the field values of a record, in schema order.

    The function raises `Malformed` for an object that is not a value of the record.
    """
    shape = record.shape
    if shape is None:
        return _of_dicts(record, [field.name for field in record.fields])
    if shape.cls is dict:
        return _of_dicts(record, list(shape.attributes))
    return _of_objects(shape.cls, shape.attributes)


def _of_objects(cls: type, attributes: tuple[str, ...]) -> Callable[[Any], Sequence[Any]]:
    take = attrgetter(*attributes) if attributes else lambda _: ()

    def contents(value: Datum) -> Sequence[Any]:
        if type(value) is not cls:
            text = f"expected {cls.__qualname__}, got {type(value).__name__}: {value!r:.40}"
            raise Malformed(text)
        try:
            found = take(value)
        except AttributeError as exc:  # deleted, or never set
            raise Malformed(str(exc)) from exc
        return found if len(attributes) != 1 else (found,)

    return contents


def _of_dicts(record: Record, keys: list[str]) -> Callable[[Any], Sequence[Any]]:
    known = set(keys)

    def contents(value: Datum) -> Sequence[Any]:
        if not isinstance(value, Mapping):
            text = f"expected a dict, got {type(value).__name__}: {value!r:.40}"
            raise Malformed(text)
        if value.keys() == known:
            return [value[key] for key in keys]
        unknown = sorted(map(repr, value.keys() - known))
        if unknown:
            raise Malformed(f"record {record.name} has no field {unknown[0]}")
        return [
            value[key] if key in value else _default(record, number)
            for number, key in enumerate(keys)
        ]

    return contents


def _default(record: Record, number: int) -> object:
    field = record.fields[number]
    if field.default is NO_DEFAULT:
        raise Malformed("missing, and it has no default").within(field.name)
    data = default_bytes(field.type, field.default)
    return resolve(field.type, field.type).read(data, 0, 0)[0]
